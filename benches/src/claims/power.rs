//! Is a known slowdown found? Duels of the reference server with itself, one side slowed by planted work;
//! compared with the usual method: run wrk twice and compare the numbers.

use crate::claims::external::Tool;
use crate::claims::verdicts::{Drawn, RESAMPLED, duel};
use crate::error::{Error, Result};
use crate::place::Rig;
use crate::prony;
use crate::table::Table;
use prony_record::verdict::{Bands, Quantity, Values, Verdict};
use serde::Serialize;
use std::fmt;
use std::process::Command;
use std::time::Instant;

/// The length of each measurement of a duel, in seconds.
const MEASURED: f64 = 1.0;
/// Planted slowdowns: a share of the time, or of the CPU time, that a request takes.
const PLANTED: [(Quantity, f64); 2] = [(Quantity::Throughput, 0.03), (Quantity::Cpu, 0.01)];

/// A server slowed by a known amount: how often is it caught?
#[derive(Debug, Serialize)]
pub struct Power {
    per_request_ns: f64,
    cpu_ns: f64,
    cases: Vec<Case>,
}

#[derive(Debug, Serialize)]
struct Case {
    of: Quantity,
    slowed_percent: f64,
    busy_ns: u64,
    duels: u32,
    throughput: u32,
    cpu: u32,
    wrong_way: u32,
    rounds: u32,
    seen_throughput_percent: f64,
    seen_cpu_percent: f64,
    drawn_rounds: u32,
    drawn_throughput: usize,
    drawn_cpu: usize,
    wrk_pairs: u32,
    wrk_right: u32,
    wrk_wrong: u32,
}

impl Case {
    /// CPU time is compared alone, as one would when looking for a difference of 1%.
    fn only(&self) -> Option<&'static str> {
        (self.of == Quantity::Cpu).then_some("cpu")
    }

    fn new(of: Quantity, share: f64, whole_ns: f64) -> Self {
        Self {
            of,
            slowed_percent: share * 100.0,
            busy_ns: (share * whole_ns).round() as u64,
            duels: 0,
            throughput: 0,
            cpu: 0,
            wrong_way: 0,
            rounds: 0,
            seen_throughput_percent: 0.0,
            seen_cpu_percent: 0.0,
            drawn_rounds: 0,
            drawn_throughput: 0,
            drawn_cpu: 0,
            wrk_pairs: 0,
            wrk_right: 0,
            wrk_wrong: 0,
        }
    }
}

pub fn run(rig: Rig, duels: u32, seconds: f64) -> Result<Power> {
    // What a request costs: from one duel of equals.
    let equal = duel(0, seconds.min(30.0), MEASURED, None, None)?;
    let mean_of = |quantity| {
        let values = equal.values.iter().flatten();
        let values: Vec<f64> = values.filter_map(|v: &Values| v.of(quantity)).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let per_request_ns = 1e9 / mean_of(Quantity::Throughput);
    let cpu_ns = mean_of(Quantity::Cpu);
    let mut cases = Vec::new();
    for (quantity, share) in PLANTED {
        let whole = match quantity {
            Quantity::Cpu => cpu_ns,
            _ => per_request_ns,
        };
        let mut case = Case::new(quantity, share, whole);
        planted(&mut case, duels, seconds)?;
        wrk(rig, &mut case)?;
        cases.push(case);
    }
    Ok(Power {
        per_request_ns,
        cpu_ns,
        cases,
    })
}

/// Duels with this work planted. The equivalence margin is half of what is planted: a user who looks for
/// 1% would not choose a margin of 1%.
fn planted(case: &mut Case, duels: u32, seconds: f64) -> Result<()> {
    let band = case.slowed_percent / 200.0;
    let mut recorded: Vec<Vec<Values>> = Vec::new();
    let begun = Instant::now();
    for number in 1..=duels {
        let duel = duel(case.busy_ns, seconds, MEASURED, Some(band), case.only())?;
        case.duels += 1;
        case.throughput += u32::from(duel.calls(Quantity::Throughput) == Some("slower"));
        case.cpu += u32::from(duel.calls(Quantity::Cpu) == Some("more expensive"));
        let wrong = [(Quantity::Throughput, "faster"), (Quantity::Cpu, "cheaper")];
        case.wrong_way += u32::from(wrong.iter().any(|(q, word)| duel.calls(*q) == Some(word)));
        case.rounds += duel.rounds;
        recorded.extend(duel.values);
        eprintln!(
            "power: {:.0}%, duel {number} of {duels}: slower {}, more expensive {}",
            case.slowed_percent, case.throughput, case.cpu
        );
    }
    let spent = begun.elapsed().as_secs_f64();
    let seen = |quantity| {
        let logs = recorded.iter().filter_map(|round| {
            let ratio = round[1].of(quantity)? / round[0].of(quantity)?;
            Some(ratio.ln())
        });
        let logs: Vec<f64> = logs.collect();
        100.0 * ((logs.iter().sum::<f64>() / logs.len() as f64).exp() - 1.0)
    };
    case.seen_throughput_percent = seen(Quantity::Throughput);
    case.seen_cpu_percent = seen(Quantity::Cpu);
    // Each has a round more, which finds the common rate. Those that were settled ended early.
    let each = spent / f64::from(case.rounds + case.duels);
    case.drawn_rounds = ((seconds / each) as u32).saturating_sub(1).max(3);
    let quantities = match case.of {
        Quantity::Cpu => &[Quantity::Cpu][..],
        _ => &Quantity::ALL,
    };
    let mut drawn = Drawn::new(&recorded, case.drawn_rounds, quantities, Bands::all(band))?;
    for _ in 0..RESAMPLED {
        let comparisons = drawn.duel(false)?;
        let says = |quantity, wanted: Verdict| {
            let found = comparisons.iter().find(|c| c.quantity == quantity);
            usize::from(found.is_some_and(|c| c.verdict == wanted))
        };
        case.drawn_throughput += says(Quantity::Throughput, Verdict::Slower);
        case.drawn_cpu += says(Quantity::Cpu, Verdict::MoreExpensive);
    }
    Ok(())
}

/// Two runs of wrk, one against each server, and the larger number wins: a difference of more than half
/// of what was planted is reported.
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
        .args(["serve", "http-echo", "--listen", &port.to_string()])
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
            "a request takes the reference server {:.0} ns when there are always more, and {:.0} ns of CPU time at the common rate\n",
            self.per_request_ns, self.cpu_ns
        )?;
        let mut table = Table::new([
            "planted",
            "busy work",
            "duels",
            "rounds",
            "seen: rate",
            "CPU",
            "slower by throughput",
            "more expensive by CPU",
            "the wrong way",
            "drawn: rounds",
            "slower",
            "more expensive",
            "wrk twice: right",
            "wrong way",
        ]);
        for case in &self.cases {
            let of = |n: u32, all: u32| format!("{n} of {all}");
            let seen = |percent: f64| match percent.is_finite() {
                true => format!("{percent:+.2}%"),
                false => "–".to_owned(),
            };
            let drawn = |n: usize| format!("{:.1}%", 100.0 * n as f64 / RESAMPLED as f64);
            let what = match case.of {
                Quantity::Cpu => "CPU",
                _ => "time",
            };
            table.row([
                format!("{:.0}% of the {what}", case.slowed_percent),
                format!("{} ns", case.busy_ns),
                case.duels.to_string(),
                case.rounds.to_string(),
                seen(case.seen_throughput_percent),
                seen(case.seen_cpu_percent),
                of(case.throughput, case.duels),
                of(case.cpu, case.duels),
                of(case.wrong_way, case.duels),
                case.drawn_rounds.to_string(),
                drawn(case.drawn_throughput),
                drawn(case.drawn_cpu),
                of(case.wrk_right, case.wrk_pairs),
                of(case.wrk_wrong, case.wrk_pairs),
            ]);
        }
        writeln!(f, "{table}")?;
        write!(
            f,
            "CPU time is compared alone (--only cpu). Drawn: of {RESAMPLED} duels of as many rounds at most as \
             there is time for,\ndrawn from all that were measured"
        )
    }
}
