//! The shape of a load, from the command line.

use crate::args::LoadArgs;
use crate::args::capacity::MAX_CONNECTIONS;
use crate::args::pace::Pace;
use miette::Result;
use prony_engine::descriptors;
use prony_record::load::Assignment;
use prony_record::stages::due_in;
use prony_record::{Extent, Spacing, Span};
use std::time::Duration;

/// The length of a measurement when nothing is said.
const LENGTH: Duration = Duration::from_secs(10);
/// Windows of a load that changes, which is shown window by window: more of them where each is still long.
const WINDOWS: u32 = 20;
const MOST_WINDOWS: u32 = 40;
const LONG_WINDOW: Duration = Duration::from_millis(250);
const SHORTEST_WINDOW: Duration = Duration::from_millis(50);

/// Returns the load that the command line describes.
///
/// # Errors
/// Options that contradict each other.
pub fn load(args: &LoadArgs) -> Result<prony_record::Load> {
    let given = args.duration.unwrap_or(Span(LENGTH));
    let rate = args.rate.as_ref();
    let changing = [("rate", rate), ("connections", Some(&args.connections))]
        .into_iter()
        .find_map(|(option, pace)| Some((option, pace.filter(|pace| pace.changes())?)));
    let length = changing
        .map(|(option, pace)| length(args, option, pace, given))
        .transpose()?;
    let stages = rate.map_or_else(Vec::new, |rate| rate.stages(given));
    let extent = match (args.requests, length) {
        (Some(n), _) => Extent::Requests(n),
        (None, None) => Extent::Duration(given),
        (None, Some(length)) => Extent::Duration(Span(length)),
    };
    let window = match length {
        None => extent.window(),
        Some(length) => window(length),
    };
    let mean = |seconds: f64| due_in(&stages, seconds) / seconds;
    let rate = match (rate, length) {
        (Some(Pace::Steady(rate)), _) => Some(*rate),
        (Some(_), Some(length)) => Some(mean(length.as_secs_f64())),
        _ => None,
    };
    if rate.is_none() && args.replay.is_none() {
        args.shape.closed()?;
    }
    Ok(prony_record::Load {
        connections: args.connections.most() as u32,
        connection_stages: args.connections.stages(given),
        max_connections: max_connections(args),
        rate,
        stages,
        extent,
        timeout: args.timeout,
        warmup: args.warmup,
        window: Span(window),
        ..args.shape.load(Spacing::Constant, &args.protocol)
    })
}

/// The most connections of an open loop: as said, or usual, if so many can be open at once.
fn max_connections(args: &LoadArgs) -> Option<u32> {
    let open = args.rate.is_some() || args.replay.is_some();
    if !open || args.shape.assignment != Assignment::Any {
        return None;
    }
    let first = args.connections.most() as u32;
    let usual = || {
        let usual = MAX_CONNECTIONS.max(first);
        descriptors::reserve(u64::from(usual)).ok().map(|()| usual)
    };
    args.shape.max_connections.or_else(usual)
}

/// The windows in which a load of this length is shown that changes.
pub fn window(length: Duration) -> Duration {
    (length / MOST_WINDOWS)
        .max(LONG_WINDOW)
        .min(length / WINDOWS)
        .max(SHORTEST_WINDOW)
}

/// How long a load lasts whose `option` changes. A ramp takes all of the `given` time.
fn length(args: &LoadArgs, option: &str, pace: &Pace, given: Span) -> Result<Duration> {
    if args.duration.is_some() && matches!(pace, Pace::Stages(_)) {
        return Err(usage!(
            "the stages of --{option} say how long the load lasts: leave out --duration"
        ));
    }
    if args.requests.is_some() {
        return Err(usage!(
            help = "-d TIME says how long the load lasts",
            "--requests needs the same --{option} throughout: stages and ramps last for a time, not for a number of requests"
        ));
    }
    let stages = pace.stages(given);
    Ok(stages.iter().map(|stage| stage.duration.0).sum())
}
