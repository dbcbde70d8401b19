//! `prony capacity`: the highest rate that a server keeps within limits, and its latency below that.

use super::duel::sides;
use crate::Ended;
use crate::args::{Capacity, Places};
use crate::kept::{self, Row};
use crate::live::Live;
use crate::measured::{part_findings, response};
use crate::place::{bench, on_signal};
use miette::{IntoDiagnostic, Result, miette};
use prony_engine::Arrival;
use prony_lab::duel::{Manner, Now, Part, Side, Up};
use prony_lab::placement::{Placement, allowed_cpus};
use prony_lab::trial::{Bench, Failure, Interrupt};
use prony_notebook::{Notebook, RunId, RunStatus};
use prony_report::capacity::{CapacityReport, Limits, Step};
use prony_report::kept::About;
use prony_report::latency::Percentiles;
use prony_report::show;
use std::sync::Arc;
use std::time::Duration;

/// The first rate, unless a trial needs more answers for its percentile: so small that every server
/// that answers at all keeps it.
const FIRST: f64 = 100.0;
/// A rate is given up when it is not kept this often: once may be somebody else's doing.
const TRIES: u32 = 2;
/// The search ends when the rates that are kept and broken are this close.
const CLOSE: f64 = 0.01;
/// At the boundary a rate is kept when it is kept this often.
const BOUNDARY: u32 = 3;
/// A rate that is not kept at the boundary is lowered by this.
const BACK: f64 = 0.97;
/// Parts of the capacity at which latency is shown.
const CURVE: [f64; 4] = [0.1, 0.5, 0.8, 0.9];

pub fn main(places: &Places, args: &Capacity) -> Result<Ended> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let (side, manner) = sides::one(places, args)?;
    let (bench, _scratch) = bench(Arc::clone(&interrupt), Placement::split(&allowed_cpus()))?;
    let mut notebook = places.notebook()?;
    let names = [side.name.clone()];
    let about = About {
        contract: kept::asked(&manner),
        service: Some(limits(args)),
        ..About::default()
    };
    let id = kept::begin(&mut notebook, "capacity", &names, about, &bench)?;
    let title = format!(
        "capacity {} · p{} within {}",
        side.name,
        args.percentile,
        show::time(args.within.0.as_nanos() as f64)
    );
    let spare = bench.placement.spare(args.threads);
    let mut search = Search {
        args,
        live: Live::begin(title, args.shown, spare),
        bench: &bench,
        manner: &manner,
        side: &side,
        notebook: &mut notebook,
        id,
        steps: Vec::new(),
    };
    let outcome = search.carry_out();
    let steps = std::mem::take(&mut search.steps);
    // The live view ends before the result is printed.
    drop(search);
    let status = match &outcome {
        Err(_) => RunStatus::Failed,
        Ok(_) if interrupt.fired() => RunStatus::Interrupted,
        Ok(_) => RunStatus::Finished,
    };
    notebook
        .finish_run(id, status, jiff::Timestamp::now())
        .into_diagnostic()?;
    let found = outcome?;
    let report = CapacityReport {
        run: id.0,
        server: side.name.clone(),
        limits: limits(args),
        capacity: found.as_ref().map(|(rate, _)| *rate),
        curve: found.map_or_else(Vec::new, |(_, curve)| curve),
        steps,
        interrupted: interrupt.fired(),
    };
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        print!("{}", report.text());
        eprintln!("\nkept as run {id}: `prony report {id}`");
    }
    if interrupt.fired() || report.capacity.is_none() {
        return Ok(Ended::Incomplete);
    }
    let missed = args
        .at_least
        .zip(report.capacity)
        .is_some_and(|(wanted, found)| found < wanted);
    if missed {
        eprintln!(
            "the capacity is below the {} that were asked for",
            show::rate(args.at_least.unwrap_or(0.0))
        );
        return Ok(Ended::Broken);
    }
    Ok(Ended::Done)
}

fn limits(args: &Capacity) -> Limits {
    Limits {
        percentile: args.percentile,
        within_ms: args.within.0.as_secs_f64() * 1e3,
        errors: args.errors.0,
    }
}

struct Search<'a> {
    args: &'a Capacity,
    live: Live,
    bench: &'a Bench,
    manner: &'a Manner,
    side: &'a Side,
    notebook: &'a mut Notebook,
    id: RunId,
    steps: Vec<Step>,
}

impl Search<'_> {
    /// The capacity and the curve below it; `None` when no rate is kept, or the user has had enough.
    fn carry_out(&mut self) -> Result<Option<(f64, Vec<Step>)>> {
        let failed = |failure: Failure| match failure.output.as_str() {
            "" => miette!("{failure}"),
            output => miette!("{failure}\n{output}"),
        };
        let mut up = Up::start(self.bench, self.side, self.manner, &mut |_, now| {
            told(&self.live, &now);
        })
        .map_err(failed)?;
        let short = self.manner.duration;
        // Double until it breaks.
        let first = self.first_rate(short);
        let (mut kept, mut broken) = (None, first);
        while self.keeps(&mut up, broken, short)? == Some(true) {
            kept = Some(broken);
            self.between(kept, None);
            broken *= 2.0;
        }
        let Some(mut kept) = kept else {
            return Ok(None);
        };
        // Bisect.
        while (broken - kept) / kept > CLOSE {
            self.between(Some(kept), Some(broken));
            let middle = round_rate((kept * broken).sqrt());
            match self.keeps(&mut up, middle, short)? {
                None => return Ok(None),
                Some(true) => kept = middle,
                Some(false) => broken = middle,
            }
        }
        // Longer and repeated at the boundary: a rate is not kept because it was kept once.
        let long = short * 2;
        loop {
            let mut all = true;
            for _ in 0..BOUNDARY {
                match self.try_rate(&mut up, kept, long)? {
                    None => return Ok(None),
                    Some(step) => all &= step.kept,
                }
                if !all {
                    break;
                }
            }
            if all {
                break;
            }
            kept = round_rate(kept * BACK);
            if kept < first {
                return Ok(None);
            }
        }
        let mut curve = Vec::new();
        for part in CURVE {
            match self.try_rate(&mut up, round_rate(kept * part), long)? {
                None => return Ok(None),
                Some(step) => curve.push(step),
            }
        }
        Ok(Some((kept, curve)))
    }

    /// Shows what is known of the capacity: it is at least this, and less than that.
    fn between(&self, kept: Option<f64>, broken: Option<f64>) {
        let least = kept.map_or(String::new(), |rate| {
            format!("at least {}", show::rate(rate))
        });
        let most = broken.map_or(String::new(), |rate| {
            format!(", less than {}", show::rate(rate))
        });
        let known = vec![("capacity".to_owned(), format!("{least}{most}"))];
        self.live.change(move |frame| frame.known = known);
    }

    /// A rate at which a trial of this length has answers enough for the percentile.
    fn first_rate(&self, length: Duration) -> f64 {
        let needed = 10.0 / (1.0 - self.args.percentile / 100.0);
        round_rate((1.2 * needed / length.as_secs_f64()).max(FIRST))
    }

    /// Is this rate kept? `None` when interrupted.
    fn keeps(&mut self, up: &mut Up<'_>, rate: f64, length: Duration) -> Result<Option<bool>> {
        for _ in 0..TRIES {
            match self.try_rate(up, rate, length)? {
                None => return Ok(None),
                Some(step) if step.kept => return Ok(Some(true)),
                Some(_) => {}
            }
        }
        Ok(Some(false))
    }

    /// One trial at a rate; `None` when interrupted.
    fn try_rate(&mut self, up: &mut Up<'_>, rate: f64, length: Duration) -> Result<Option<Step>> {
        if self.bench.interrupt.fired() {
            return Ok(None);
        }
        let doing = format!("trying {} for {length:?}", show::rate(rate));
        let live = &self.live;
        live.change(move |frame| {
            frame.doing = doing;
            frame.load = crate::live::frame::Load::default();
        });
        let arrival = Arrival::Constant(rate);
        let part = up
            .load(self.bench, self.manner, arrival, length, &mut |_, now| {
                told(live, &now);
            })
            .map_err(|failure| miette!("at {}: {failure}", show::rate(rate)))?;
        if self.bench.interrupt.fired() {
            return Ok(None);
        }
        let checks = part_findings(&part, &self.bench.placement);
        let step = self.judge(rate, &part, &checks);
        let place = (self.steps.len() as u32, self.steps.len() as u32);
        let (command, asked) = (up.command(), kept::asked(self.manner));
        let row = Row {
            place,
            side: &self.side.name,
            asked: &asked,
            command: &command,
            rss_peak: up.rss_peak(),
            part: &part,
            checks: &checks,
        };
        kept::add(self.notebook, self.id, &kept::label(&part), &row)?;
        self.live.say(&step.line());
        self.steps.push(step.clone());
        Ok(Some(step))
    }

    fn judge(&self, rate: f64, part: &Part, checks: &[prony_report::facts::Finding]) -> Step {
        let times = response(part);
        let share = self.args.percentile / 100.0;
        let supported = prony_stats::percentile::supported(times.len() as f64, share);
        let at = supported.then(|| times.value_at_quantile(share) as f64 / 1e6);
        let outcomes = &part.segments[0].outcomes;
        let finished = outcomes.finished().max(1) as f64;
        let errors = (finished - outcomes.ok as f64) / finished;
        let limits = limits(self.args);
        let mut broken = Vec::new();
        match at {
            Some(ms) if ms <= limits.within_ms => {}
            Some(ms) => broken.push(format!(
                "p{} was {}",
                self.args.percentile,
                show::time(ms * 1e6)
            )),
            None => broken.push(format!("too few answers for p{}", self.args.percentile)),
        }
        if errors > limits.errors {
            broken.push(format!("{:.2} % errors", errors * 100.0));
        }
        // The generator's own lateness is in the response times, so the limit counts it already.
        let counts = ["rate-missed", "wrong-answers"];
        let raised = checks
            .iter()
            .filter(|check| counts.contains(&check.name.as_str()));
        broken.extend(raised.map(|check| check.name.clone()));
        Step {
            rate,
            achieved: part.throughput(),
            at_percentile_ms: at,
            latency: Percentiles::of(&times),
            errors,
            cpu_us_per_request: part.cpu_per_request().map(|ns| ns / 1e3),
            kept: broken.is_empty(),
            broken,
        }
    }
}

/// The server tells how it goes with it.
fn told(live: &Live, now: &Now<'_>) {
    match *now {
        Now::Step(step) => live.change(move |frame| step.clone_into(&mut frame.doing)),
        Now::Window { window, warmup } => live.window(window, warmup),
        Now::Used(cpus) => live.change(move |frame| frame.load.server = Some(cpus)),
    }
}

/// Three significant digits: nobody knows a capacity better than that.
fn round_rate(rate: f64) -> f64 {
    let unit = 10_f64.powf(rate.log10().floor() - 3.0);
    (rate / unit).round() * unit
}
