//! A pilot: a few seconds with each server that show how it is to be measured. How long does it take for one request, and from how
//! many connections on does it give no more?

use crate::contract::Depth;
use crate::duel::{DuelError, LoadSpec, WINDOW};
use crate::event::{Event, Observer};
use crate::recording::no_answer;
use crate::side::Side;
use crate::trial::{Lab, MeasuredTrial, OnProgress, Progress, TrialActivity, Up};
use prony_record::design::{Design, Pilot, PilotStep};
use prony_record::{Extent, Failure, Load, Nanos, SECOND, Span, Step};
use prony_verdict::design::{Given, LONGEST_TIMEOUT, crowd, design, more_threads, next_step};
use std::time::{Duration, Instant};

/// How long a server is first asked by one connection, and the shortest of its other measurements.
const SHORT: Duration = Duration::from_millis(200);
/// Response times that it is asked by one connection, unless that takes longer than [`PATIENCE`].
const ALONE: u32 = 5;
/// Response times before and in each step.
const LEAD_IN: u32 = 2;
const LENGTH: u32 = 3;
/// No step is shorter.
const LEAST_STEP: Duration = Duration::from_millis(100);
/// Factor by which a measurement without any answer is made longer when it is repeated.
const AGAIN: u32 = 4;
/// A measurement alone is not made longer than this for the sake of its precision.
const PATIENCE: Duration = Duration::from_secs(2);
/// Connections that warm it up: some, for servers that begin more processes or threads under load, and few, because a slow server
/// may work on one request after the other.
const WARM: u32 = 8;
/// How long a server is asked by more connections than it needs, and how long a request is waited for then.
const CROWD: Duration = Duration::from_millis(500);
const CROWD_TIMEOUT: Duration = Duration::from_secs(1);
/// Beyond this response time a server is not warmed up: the first request has done that.
const SLOW: Duration = Duration::from_secs(1);

/// Starts the sides, one after the other, and sees how they are to be measured in rounds with these parts. None when the user
/// interrupts it.
///
/// # Errors
/// When a side fails, or they have no common rate.
pub fn survey(
    lab: Lab<'_>,
    sides: &[Side],
    spec: &LoadSpec,
    parts: (bool, bool),
    observer: Observer<'_>,
) -> Result<Option<Design>, DuelError> {
    let mut pilots = Vec::new();
    for side in sides {
        let mut on_progress =
            |progress: Progress<'_>| observer(Event::Progress(&side.name, progress));
        match one(lab, side, spec, &mut on_progress) {
            _ if lab.interrupt.fired() => return Ok(None),
            Ok(pilot) => {
                observer(Event::Piloted(&pilot));
                pilots.push(pilot);
            }
            Err(failure) => {
                return Err(DuelError::Side {
                    side: side.name.clone(),
                    failure,
                });
            }
        }
    }
    let design = design(pilots, &spec.given, parts);
    design.map(Some).ok_or(DuelError::NoRate)
}

/// Starts a server, asks it, and ends it.
fn one(
    lab: Lab<'_>,
    side: &Side,
    spec: &LoadSpec,
    on_progress: OnProgress<'_>,
) -> Result<Pilot, Failure> {
    let begun = Instant::now();
    let mut up = lab.bring_up(
        side,
        &spec.workload,
        None,
        &spec.load,
        Depth::Full,
        on_progress,
    )?;
    let asked = pilot(
        (&mut up, begun),
        &side.name,
        &spec.load,
        &spec.given,
        on_progress,
    );
    let ending = Instant::now();
    up.take_down();
    asked.map(|pilot| Pilot {
        start_ns: pilot.start_ns + ending.elapsed().as_nanos() as Nanos,
        ..pilot
    })
}

/// Asks a server that is up, begun at `begun`; the time that its end takes is not known yet.
///
/// # Errors
/// When it ends under the load, or answers nothing.
pub(crate) fn pilot(
    (up, begun): (&mut Up<'_>, Instant),
    name: &str,
    base: &Load,
    given: &Given,
    on_progress: OnProgress<'_>,
) -> Result<Pilot, Failure> {
    let timeout = given
        .timeout
        .unwrap_or(Duration::from_secs_f64(LONGEST_TIMEOUT));
    let base = Load {
        rate: None,
        timeout: Span(timeout),
        warmup: Span(given.warmup.unwrap_or(base.warmup.0)),
        ..base.clone()
    };
    on_progress(Progress::Doing(TrialActivity::Pilot));
    let first = alone(up, &base, SHORT, on_progress)?;
    let warm = !base.warmup.is_zero() && first < SLOW;
    if warm {
        let connections = given.connections.unwrap_or(WARM).min(WARM);
        let load = Load {
            warmup: base.warmup,
            ..asked(&base, connections, Duration::ZERO, WINDOW)
        };
        up.warm_up(&load, on_progress)?;
        on_progress(Progress::Doing(TrialActivity::Pilot));
    }
    // Its start is over.
    let start = begun.elapsed();
    let again = (first * ALONE).min(PATIENCE).max(SHORT).max(first);
    let time = alone(up, &base, again, on_progress)?;
    let mut pilot = Pilot {
        name: name.to_owned(),
        alone_ns: time.as_nanos() as Nanos,
        steps: Vec::new(),
        threads: given.threads.unwrap_or(1),
        start_ns: start.as_nanos() as Nanos,
    };
    // What is not answered as expected at all is told here, before anything is decided by it.
    let mut response = time;
    while let Some(connections) = next_step(&pilot.steps, time.as_secs_f64(), given.connections) {
        // If it works on one request after the other, its response time grows as the connections do.
        let before = pilot.steps.last().map_or(1, |step| step.connections);
        let longest = response * connections / before.max(1);
        let (lead_in, length) = (
            response * LEAD_IN,
            (longest.min(response * 2) * LENGTH).max(LEAST_STEP),
        );
        let (measured, p50_ns) = loop {
            let load = Load {
                threads: pilot.threads.min(connections),
                ..asked(&base, connections, lead_in, length)
            };
            let (measured, p50_ns) = answered(up, load, on_progress)?;
            // Agents have as many threads as was said.
            let most = match (given.threads, measured.seen.by_host.as_slice()) {
                (None, []) => up.generator_cpus().min(connections),
                _ => 0,
            };
            match more_threads(pilot.threads, measured.seen.generator.busy, most) {
                Some(more) => pilot.threads = more,
                None => break (measured, p50_ns),
            }
        };
        pilot
            .steps
            .push(step(connections, &measured, p50_ns, timeout));
        response = Duration::from_nanos(p50_ns);
    }
    if let (None, Some(connections)) = (given.connections, crowd(&pilot)) {
        let load = Load {
            threads: pilot.threads.min(connections),
            timeout: Span(timeout.min(CROWD_TIMEOUT)),
            ..asked(&base, connections, response * LEAD_IN, CROWD)
        };
        let (measured, p50_ns) = answered(up, load, on_progress)?;
        pilot
            .steps
            .push(step(connections, &measured, p50_ns, CROWD_TIMEOUT));
    }
    Ok(pilot)
}

fn step(connections: u32, measured: &MeasuredTrial, p50_ns: Nanos, timeout: Duration) -> PilotStep {
    let outcomes = &measured.seen.outcomes;
    let waiting = outcomes.timeout + outcomes.unanswered_at_end > 0;
    let longest = measured.seen.times.response.max();
    PilotStep {
        connections,
        rate: measured.seen.throughput(),
        p50_ns,
        longest_ns: match waiting {
            true => longest.max(timeout.as_nanos() as Nanos),
            false => longest,
        },
    }
}

/// The median response time to one request after the other, in a measurement of this length.
fn alone(
    up: &mut Up<'_>,
    base: &Load,
    length: Duration,
    on_progress: OnProgress<'_>,
) -> Result<Duration, Failure> {
    let (_, median) = answered(up, asked(base, 1, Duration::ZERO, length), on_progress)?;
    Ok(Duration::from_nanos(median.max(1)))
}

/// A measurement in which something is answered, with the median response time. While nothing fails it is made again for longer:
/// others may have had the CPUs for all of the time.
fn answered(
    up: &mut Up<'_>,
    mut load: Load,
    on_progress: OnProgress<'_>,
) -> Result<(MeasuredTrial, Nanos), Failure> {
    loop {
        let measured = up.measure(&load, on_progress)?;
        if let Some(median) = median(&measured) {
            return Ok((measured, median));
        }
        let Extent::Duration(Span(length)) = load.extent else {
            return Err(nothing(&measured));
        };
        let failed = measured.seen.outcomes.failed() + measured.seen.outcomes.unanswered_at_end;
        if failed > 0 || length > PATIENCE {
            return Err(nothing(&measured));
        }
        load.extent = Extent::Duration(Span(length * AGAIN));
    }
}

/// Load as fast as responses come, over `connections` connections, for `length` after `lead_in`.
fn asked(base: &Load, connections: u32, lead_in: Duration, length: Duration) -> Load {
    Load {
        connections,
        threads: 1,
        warmup: Span(Duration::ZERO),
        lead_in: Span(lead_in),
        extent: Extent::Duration(Span(length)),
        window: Span(WINDOW),
        ..base.clone()
    }
}

/// The median response time of what was due in a measurement; none if nothing of that was answered as it should be.
fn median(measured: &MeasuredTrial) -> Option<Nanos> {
    let times = &measured.seen.times.response;
    let outcomes = &measured.seen.outcomes;
    // What was in flight at the end is waited for.
    let answered = outcomes.ok + outcomes.in_flight_at_end > outcomes.unanswered_at_end;
    (answered && !times.is_empty()).then(|| times.value_at_quantile(0.5))
}

fn nothing(measured: &MeasuredTrial) -> Failure {
    let seconds = measured.seen.measured_ns as f64 / SECOND as f64;
    let message = format!(
        "in {seconds:.1} s with few connections {}",
        no_answer(&measured.seen)
    );
    Failure::new(Step::Load, message)
}
