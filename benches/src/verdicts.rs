//! Can prony's verdicts be relied on? Duels of a server with itself, and with itself slowed by a known
//! amount; beside them what people do today: run wrk twice and compare the numbers.

use crate::error::{Error, Result};
use crate::external::Tool;
use crate::place::Rig;
use crate::prony;
use crate::table::Table;
use prony_report::band::Bands;
use prony_report::duel::{Quantity, Values, compare, settled};
use prony_stats::compare::BAND;
use prony_stats::sequential::Plan;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::process::Command;

/// Duels that are drawn from recorded rounds.
const RESAMPLED: usize = 2_000;
/// Rounds of a resampled duel at most, as `prony duel` has them.
const MOST: u32 = 60;

/// What a duel printed, as far as it is needed here.
#[derive(Debug, Deserialize)]
struct Duel {
    rounds: u32,
    comparisons: Vec<Called>,
    values: Vec<Vec<Values>>,
}

#[derive(Debug, Deserialize)]
struct Called {
    quantity: Quantity,
    verdict: String,
}

impl Duel {
    fn calls(&self, quantity: Quantity) -> Option<&str> {
        let found = self.comparisons.iter().find(|c| c.quantity == quantity);
        found.map(|c| c.verdict.as_str())
    }

    fn differs(&self) -> bool {
        self.comparisons.iter().any(|c| is_difference(&c.verdict))
    }
}

fn is_difference(verdict: &str) -> bool {
    !["same", "inconclusive"].contains(&verdict)
}

/// One duel of the reference server with itself, the second side slowed by `busy` for each request.
fn duel(busy_ns: u64, max_time: f64, duration: f64) -> Result<Duel> {
    let prony = prony::program()?;
    let server = |extra: &str| {
        format!(
            "'{}' serve http-echo --port {{port}}{extra}",
            prony.display()
        )
    };
    let slowed = server(&format!(" --busy {busy_ns}ns"));
    let plain = server(" --busy 0ns");
    let scratch = tempfile::tempdir().map_err(Error::io("no temporary folder"))?;
    let mut command = Command::new(&prony);
    command
        .args([
            "duel",
            &plain,
            &slowed,
            "--contract",
            "http-echo",
            "--json",
            "--quiet",
        ])
        .args(["--max-time", &format!("{max_time}s"), "--warmup", "300ms"])
        .args(["-d", &format!("{}ms", (duration * 1e3) as u64)])
        .env("PRONY_NOTEBOOK", scratch.path().join("notebook.db"));
    prony::json(&mut command)
}

/// Identical servers: how often is a difference called?
#[derive(Debug, Serialize)]
pub struct Equal {
    duels: u32,
    called: u32,
    rounds: u32,
    by_quantity: Vec<(Quantity, u32)>,
    resampled: usize,
    resampled_called: usize,
}

pub fn aa(_rig: Rig, duels: u32, seconds: f64) -> Result<Equal> {
    let mut shown = Equal {
        duels: 0,
        called: 0,
        rounds: 0,
        by_quantity: Quantity::ALL.map(|quantity| (quantity, 0)).to_vec(),
        resampled: 0,
        resampled_called: 0,
    };
    let mut recorded: Vec<Vec<Values>> = Vec::new();
    for number in 1..=duels {
        let duel = duel(0, seconds, 0.1)?;
        shown.duels += 1;
        shown.called += u32::from(duel.differs());
        shown.rounds += duel.rounds;
        for (quantity, count) in &mut shown.by_quantity {
            *count += u32::from(duel.calls(*quantity).is_some_and(is_difference));
        }
        recorded.extend(duel.values);
        eprintln!(
            "aa: duel {number} of {duels}: {} called so far",
            shown.called
        );
    }
    (shown.resampled, shown.resampled_called) = resample(&recorded)?;
    Ok(shown)
}

/// Duels of rounds drawn from those that were recorded, each looked at after every round as `prony
/// duel` does it, until it is settled or has had [`MOST`] rounds. Sides are exchanged at random, so
/// that what differs between first and second does not count as their difference.
fn resample(recorded: &[Vec<Values>]) -> Result<(usize, usize)> {
    if recorded.len() < 20 {
        return Ok((0, 0));
    }
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1);
    let unusable = |error: prony_stats::StatsError| Error::Unusable(error.to_string());
    let plan = Plan::up_to(MOST).map_err(unusable)?;
    let plan = plan.among(Quantity::ALL.len() as u32);
    let names = ["a".to_owned(), "b".to_owned()];
    let mut called = 0;
    for _ in 0..RESAMPLED {
        let mut rounds: Vec<Vec<Values>> = Vec::new();
        while (rounds.len() as u32) < MOST {
            let mut round = recorded[rng.random_range(0..recorded.len())].clone();
            if rng.random() {
                round.swap(0, 1);
            }
            rounds.push(round);
            if rounds.len() < 3 {
                continue;
            }
            let comparisons =
                compare(&names, &rounds, &plan, &Bands::all(BAND)).map_err(unusable)?;
            if settled(&comparisons) || rounds.len() as u32 == MOST {
                called += usize::from(comparisons.iter().any(|c| is_difference(&c.verdict)));
                break;
            }
        }
    }
    Ok((RESAMPLED, called))
}

impl fmt::Display for Equal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |part: usize, all: usize| 100.0 * part as f64 / all.max(1) as f64;
        writeln!(
            f,
            "{} duels of identical servers, {} rounds in all: a difference was called in {} ({:.1} %; at most 5 % is asked)",
            self.duels,
            self.rounds,
            self.called,
            share(self.called as usize, self.duels as usize)
        )?;
        for (quantity, count) in &self.by_quantity {
            writeln!(f, "  {}: {count}", quantity.name())?;
        }
        writeln!(
            f,
            "{} duels of rounds drawn from these: called in {} ({:.1} %)",
            self.resampled,
            self.resampled_called,
            share(self.resampled_called, self.resampled)
        )
    }
}

/// A server slowed by a known amount: how often is it caught?
#[derive(Debug, Serialize)]
pub struct Power {
    per_request_ns: f64,
    cases: Vec<Case>,
}

#[derive(Debug, Serialize)]
struct Case {
    slowed_percent: f64,
    busy_ns: u64,
    duels: u32,
    throughput: u32,
    cpu: u32,
    wrong_way: u32,
    mean_rounds: f64,
    wrk_pairs: u32,
    wrk_right: u32,
    wrk_wrong: u32,
}

pub fn power(rig: Rig, duels: u32, seconds: f64) -> Result<Power> {
    // What a request costs the server: from one duel of equals.
    let equal = duel(0, seconds.min(20.0), 0.5)?;
    let rates: Vec<f64> = equal
        .values
        .iter()
        .flatten()
        .filter_map(|v| v.throughput)
        .collect();
    let per_request_ns = 1e9 * rates.len() as f64 / rates.iter().sum::<f64>();
    let mut cases = Vec::new();
    for slowed in [0.03, 0.01] {
        let busy_ns = (slowed * per_request_ns).round() as u64;
        let mut case = Case {
            slowed_percent: slowed * 100.0,
            busy_ns,
            duels,
            throughput: 0,
            cpu: 0,
            wrong_way: 0,
            mean_rounds: 0.0,
            wrk_pairs: 0,
            wrk_right: 0,
            wrk_wrong: 0,
        };
        for number in 1..=duels {
            let duel = duel(busy_ns, seconds, 1.0)?;
            case.throughput += u32::from(duel.calls(Quantity::Throughput) == Some("slower"));
            case.cpu += u32::from(duel.calls(Quantity::Cpu) == Some("dearer"));
            let wrong = [(Quantity::Throughput, "faster"), (Quantity::Cpu, "cheaper")];
            case.wrong_way += u32::from(wrong.iter().any(|(q, word)| duel.calls(*q) == Some(word)));
            case.mean_rounds += f64::from(duel.rounds) / f64::from(duels);
            eprintln!(
                "power: {:.0} %, duel {number} of {duels}: slower {}, dearer {}",
                case.slowed_percent, case.throughput, case.cpu
            );
        }
        wrk(rig, &mut case)?;
        cases.push(case);
    }
    Ok(Power {
        per_request_ns,
        cases,
    })
}

/// Two runs of wrk, one against each server, and the larger number wins: whoever differs by more than
/// half of what was planted is called.
fn wrk(rig: Rig, case: &mut Case) -> Result<()> {
    let Some(program) = Tool::Wrk.find() else {
        return Ok(());
    };
    const PAIRS: u32 = 20;
    for _ in 0..PAIRS {
        let plain = wrk_once(rig, &program, 0)?;
        let slowed = wrk_once(rig, &program, case.busy_ns)?;
        case.wrk_pairs += 1;
        let change = slowed / plain - 1.0;
        let half = case.slowed_percent / 200.0;
        case.wrk_right += u32::from(change < -half);
        case.wrk_wrong += u32::from(change > half);
    }
    Ok(())
}

fn wrk_once(rig: Rig, program: &std::path::Path, busy_ns: u64) -> Result<f64> {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").map_err(Error::io("no port"))?;
    let port = listener.local_addr().map_err(Error::io("no port"))?.port();
    drop(listener);
    let mut server = Command::new("taskset")
        .args(["-c", &rig.server.to_string()])
        .arg(prony::program()?)
        .args(["serve", "http-echo", "--port", &port.to_string()])
        .args(["--busy", &format!("{busy_ns}ns")])
        .stderr(std::process::Stdio::null())
        .spawn()
        .map_err(Error::io("cannot start prony serve"))?;
    std::thread::sleep(std::time::Duration::from_millis(200));
    let output = Command::new("taskset")
        .args(["-c", &rig.client.to_string()])
        .arg(program)
        .args(["-t1", "-c64", "-d2s", &format!("http://127.0.0.1:{port}/")])
        .output()
        .map_err(Error::io("cannot start wrk"));
    let _ = server.kill();
    let _ = server.wait();
    let text = String::from_utf8_lossy(&output?.stdout).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix("Requests/sec:")?.trim().parse().ok())
        .ok_or_else(|| Error::process("wrk", format!("printed no rate: {text}")))
}

impl fmt::Display for Power {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "a request takes the reference server {:.0} ns\n",
            self.per_request_ns
        )?;
        let mut table = Table::new([
            "slowed by",
            "busy work",
            "duels",
            "slower by throughput",
            "dearer by CPU",
            "the wrong way",
            "rounds",
            "wrk twice: right",
            "wrong way",
        ]);
        for case in &self.cases {
            let of = |n: u32, all: u32| format!("{n} of {all}");
            table.row([
                format!("{:.0} %", case.slowed_percent),
                format!("{} ns", case.busy_ns),
                case.duels.to_string(),
                of(case.throughput, case.duels),
                of(case.cpu, case.duels),
                of(case.wrong_way, case.duels),
                format!("{:.1}", case.mean_rounds),
                of(case.wrk_right, case.wrk_pairs),
                of(case.wrk_wrong, case.wrk_pairs),
            ]);
        }
        write!(f, "{table}")
    }
}

/// Planted series of windows: how often is the class right?
#[derive(Debug, Serialize)]
pub struct Warmups {
    planted: u32,
    right: u32,
    by_shape: Vec<(String, u32, u32)>,
}

pub fn warmups(_rig: Rig, series: u32) -> Result<Warmups> {
    use prony_stats::compare::Better;
    use prony_stats::warmup_class::planted::{Shape, plant};
    use prony_stats::warmup_class::{Class, classify};
    // Another seed than that of the tests, on which nothing was tuned.
    let mut rng = rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(20_261_121);
    let mut shown = Warmups {
        planted: 0,
        right: 0,
        by_shape: Vec::new(),
    };
    for shape in Shape::ALL {
        let mut right = 0;
        for number in 0..series {
            let windows = [40, 60, 100][number as usize % 3];
            let noise = rng.random_range(0.01..0.08);
            let it = plant(shape, windows, noise, number as usize % 3, &mut rng);
            let class = classify(&it.rates, Better::Higher)
                .map_err(|error| Error::Unusable(error.to_string()))?;
            let fits = matches!(
                (shape, class),
                (Shape::Flat, Class::Flat)
                    | (Shape::Step | Shape::Ramp, Class::WarmUp { .. })
                    | (Shape::Slowdown, Class::Slowdown { .. })
                    | (
                        Shape::Cycle | Shape::Wave | Shape::Drift,
                        Class::NoSteadyState
                    )
            );
            right += u32::from(fits);
        }
        shown.by_shape.push((format!("{shape:?}"), right, series));
        shown.right += right;
        shown.planted += series;
    }
    Ok(shown)
}

impl fmt::Display for Warmups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = 100.0 * f64::from(self.right) / f64::from(self.planted);
        writeln!(
            f,
            "{} of {} planted series have the right class ({share:.1} %)",
            self.right, self.planted
        )?;
        for (shape, right, all) in &self.by_shape {
            writeln!(f, "  {shape}: {right} of {all}")?;
        }
        Ok(())
    }
}
