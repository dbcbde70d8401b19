//! How servers are measured in rounds, so that it fits them: from what a pilot has seen, or as their user says.
//!
//! Times are in seconds, rates in requests per second.

use crate::duel::common_rate;
use prony_record::design::{Design, Pilot, PilotStep, Segment};
use prony_record::{SECOND, Span};
use std::time::Duration;

/// The most connections that a pilot tries. More raise the throughput of few servers, and the response times of all.
pub const MOST_CONNECTIONS: u32 = 64;
/// Where an answer takes longer than this alone, a pilot tries fewer numbers of connections.
const SLOW: f64 = 0.1;
/// Throughput that grows by less than this share with more connections has stopped growing: twice the scatter of a step.
const GROWS: f64 = 0.1;
/// The connections that reach this share of the highest throughput keep a server busy.
const BUSY: f64 = 0.9;
/// With this many times as many, a request waits whenever the server has finished another.
const SPARE: u32 = 2;
/// Times the response time that fair turns would give, beyond which a request was left waiting; and the shortest such time, in
/// seconds: collecting garbage takes less.
const STARVED: f64 = 20.0;
const LEAST_STARVED: f64 = 0.25;
/// Median response times that are not measured at first, and those that are. See [`Segment`].
pub const LEAD_IN: f64 = 5.0;
/// See [`LEAD_IN`].
pub const LENGTH: f64 = 20.0;
/// No lead-in is shorter: the watch of the server's processes has begun by then, and connections are spread.
const LEAST_LEAD_IN: f64 = 0.05;
/// No segment is shorter: CPU time and interruptions of some milliseconds would decide it.
const LEAST_LENGTH: f64 = 0.5;
/// Requests in a segment at a rate, from which its CPU time per request is known to some percent; but no such segment is made
/// longer than this for their sake.
const REQUESTS: f64 = 50.0;
const LONGEST_FOR_REQUESTS: f64 = 5.0;
/// At half of its capacity a server that works on one request after the other lets them wait for half of their time (M/D/1).
const WAITS: f64 = 1.5;
/// Requests in flight at a rate are about Poisson distributed: so many standard deviations of connections are spare.
const DEVIATIONS: f64 = 4.0;
/// Segments of each kind per start at most: more say nothing about other starts.
const MOST_SEGMENTS: u32 = 8;
/// Segments that are shorter come in twos (A B B A), so that a drift of the machine within a round adds the same to each side.
const SHORT: f64 = 2.0;
/// Median response times after which a warm-up is over at the latest, unless the user says otherwise, and the shortest limit.
const WARMUP: f64 = 20.0;
const LEAST_WARMUP: f64 = 3.0;
/// Median response times after which a request is given up, unless the user says otherwise, with the limits of that.
const TIMEOUT: f64 = 10.0;
const LEAST_TIMEOUT: f64 = 5.0;
/// A pilot waits for an answer no longer than this.
pub const LONGEST_TIMEOUT: f64 = 60.0;
/// A duel whose time the user has not said has time for so many rounds.
const ROUNDS: u32 = 4;
/// Rounds that are planned at most beyond those that there is time for: they may become shorter.
const SLACK: f64 = 1.2;

/// No server is stopped for longer than this while it rests, in seconds. Programs watch each other by the clock: gunicorn
/// kills a worker after 30 s of silence, and an idle worker may have been silent for 15 s before it is stopped.
const LONGEST_PAUSE: f64 = 12.0;

/// A generator thread that is busy for a larger share of the time than this is nearly the limit of what it loads.
const TIGHT: f64 = 0.7;

/// Options that the user has given.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Given {
    /// Connections.
    pub connections: Option<u32>,
    /// Generator threads.
    pub threads: Option<u32>,
    /// How long each side is loaded in each part of a round.
    pub duration: Option<Duration>,
    /// The longest warm-up.
    pub warmup: Option<Duration>,
    /// After which a request is given up.
    pub timeout: Option<Duration>,
    /// The common rate.
    pub rate: Option<f64>,
    /// Servers that rest go on while another one is measured.
    pub no_pause: bool,
    /// CPU time is compared at other rates than the common one too.
    pub other_rates: bool,
}

impl Given {
    fn names(&self) -> Vec<String> {
        let all = [
            ("connections", self.connections.is_some()),
            ("threads", self.threads.is_some()),
            ("duration", self.duration.is_some()),
            ("warmup", self.warmup.is_some()),
            ("timeout", self.timeout.is_some()),
            ("rate", self.rate.is_some()),
            ("no-pause", self.no_pause),
            ("cpu-rates", self.other_rates),
        ];
        let given = all.into_iter().filter(|(_, given)| *given);
        given.map(|(name, _)| name.to_owned()).collect()
    }
}

/// How many connections a pilot tries next, after these, of a server that answers alone in `alone`; none when its throughput has
/// stopped growing, or there is nothing more to try. The user's own number is the only one that is tried.
#[must_use]
pub fn next_step(steps: &[PilotStep], alone: f64, given: Option<u32>) -> Option<u32> {
    if let Some(given) = given {
        return steps.is_empty().then_some(given);
    }
    let factor = if alone > SLOW { 4 } else { 2 };
    let Some(last) = steps.last() else {
        return Some(factor);
    };
    // What one connection gives is known from its response time.
    let first = 1.0 / alone;
    let before = steps.iter().rev().skip(1).map(|step| step.rate);
    let best = before.chain([first]).fold(0.0, f64::max);
    let next = last.connections * factor;
    (next <= MOST_CONNECTIONS && last.rate > best * (1.0 + GROWS)).then_some(next)
}

/// How many generator threads take the place of so many, of which one was busy for this share of the time, 0 to 1; none when
/// that leaves time to spare, or there are no more than `most`.
#[must_use]
pub fn more_threads(threads: u32, busy: f64, most: u32) -> Option<u32> {
    (busy > TIGHT && threads < most).then(|| (threads * 2).min(most))
}

fn alone(pilot: &Pilot) -> f64 {
    seconds(pilot.alone_ns.max(1))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / SECOND as f64
}

/// The highest throughput that a pilot saw, in requests per second.
#[must_use]
pub fn highest(pilot: &Pilot) -> f64 {
    let steps = pilot.steps.iter().map(|step| step.rate);
    steps.fold(1.0 / alone(pilot), f64::max)
}

/// The response time of a server that is kept busy by so many connections: as measured, or by Little's law.
fn response(pilot: &Pilot, connections: u32) -> f64 {
    let measured = pilot
        .steps
        .iter()
        .find(|step| step.connections == connections);
    let busy = f64::from(connections) / highest(pilot);
    measured
        .map_or(busy, |step| seconds(step.p50_ns))
        .max(alone(pilot))
}

/// The throughput of a server with so many connections: as measured, or the highest, where more were not worth trying.
fn throughput(pilot: &Pilot, connections: u32) -> f64 {
    let measured = pilot
        .steps
        .iter()
        .find(|step| step.connections == connections);
    measured.map_or_else(|| highest(pilot), |step| step.rate)
}

/// The fewest connections that keep a server busy.
fn needed(pilot: &Pilot) -> u32 {
    let enough = BUSY * highest(pilot);
    let first = (1, 1.0 / alone(pilot));
    let steps = pilot.steps.iter().map(|step| (step.connections, step.rate));
    let mut all: Vec<(u32, f64)> = std::iter::once(first).chain(steps).collect();
    all.sort_by_key(|&(connections, _)| connections);
    let found = all.into_iter().find(|&(_, rate)| rate >= enough);
    found.map_or(1, |(connections, _)| connections)
}

/// The step of a pilot with which some requests were left waiting far longer than the others: more connections than the server
/// serves at a time, and no turns.
#[must_use]
pub fn starved(pilot: &Pilot) -> Option<&PilotStep> {
    let starves = |step: &&PilotStep| {
        let fair = f64::from(step.connections) / step.rate;
        seconds(step.longest_ns) > (STARVED * fair).max(LEAST_STARVED)
    };
    pilot.steps.iter().find(starves)
}

/// Connections to try after the steps, since a design would use so many of them: more than it takes to keep the server busy.
/// None where it would not, or they have been tried.
#[must_use]
pub fn crowd(pilot: &Pilot) -> Option<u32> {
    let wanted = connections(std::slice::from_ref(pilot));
    let tried = pilot.steps.iter().map(|step| step.connections).max();
    tried.filter(|tried| wanted > *tried).map(|_| wanted)
}

/// Number of connections that keeps every server busy, twice over. It is larger, up to [`MOST_CONNECTIONS`], as long as
/// a segment need not be longer for it, and no server leaves some of them waiting.
fn connections(pilots: &[Pilot]) -> u32 {
    let least = pilots.iter().map(needed).max().unwrap_or(1);
    let least = (SPARE * least).min(MOST_CONNECTIONS);
    if pilots.iter().any(|pilot| starved(pilot).is_some()) {
        return least;
    }
    let short = |connections: u32| {
        let longest = pilots.iter().map(|pilot| response(pilot, connections));
        LENGTH * longest.fold(0.0, f64::max) <= LEAST_LENGTH
    };
    let more = std::iter::successors(Some(MOST_CONNECTIONS), |n| Some(n / 2).filter(|n| *n > 0));
    more.take_while(|n| *n > least)
        .find(|n| short(*n))
        .unwrap_or(least)
}

/// Connections that a rate needs when answers take this long, with spare ones for its ups and downs.
#[must_use]
pub fn connections_for(rate: f64, response: f64) -> u32 {
    let in_flight = rate * response;
    (in_flight + DEVIATIONS * in_flight.sqrt() + DEVIATIONS).ceil() as u32
}

/// How these servers are measured, in rounds with a part as fast as responses come (`saturation`) and one at a common rate
/// (`at_rate`). None when one of them is too slow to have a common rate.
#[must_use]
pub fn design(
    pilots: Vec<Pilot>,
    given: &Given,
    (saturation, at_rate): (bool, bool),
) -> Option<Design> {
    let connections = given.connections.unwrap_or_else(|| connections(&pilots));
    let longest = |of: &dyn Fn(&Pilot) -> f64| pilots.iter().map(of).fold(0.0, f64::max);
    let busy = longest(&|pilot| response(pilot, connections));
    let reached = pilots.iter().map(|pilot| throughput(pilot, connections));
    let rate = match at_rate {
        true => Some(given.rate.or_else(|| common_rate(reached))?),
        false => None,
    };
    let calm = WAITS * longest(&alone);
    let needed = match pilots.iter().any(|pilot| starved(pilot).is_some()) {
        // A rate opens more where requests have to wait for a connection.
        true => 1,
        false => rate.map_or(1, |rate| connections_for(rate, calm)),
    };
    let wanted = rate.map_or(0.0, |rate| (REQUESTS / rate).min(LONGEST_FOR_REQUESTS));
    let mut design = Design {
        saturation: segment(connections, busy, 0.0, given.duration),
        at_rate: segment(
            given
                .connections
                .unwrap_or(connections.max(needed.min(MOST_CONNECTIONS))),
            calm,
            wanted,
            given.duration,
        ),
        rate,
        threads: pilots.iter().map(|pilot| pilot.threads).fold(1, u32::max),
        segments: 1,
        warmup: Span(
            given
                .warmup
                .unwrap_or_else(|| time((WARMUP * busy).max(LEAST_WARMUP))),
        ),
        timeout: Span(
            given
                .timeout
                .unwrap_or_else(|| time((TIMEOUT * busy).clamp(LEAST_TIMEOUT, LONGEST_TIMEOUT))),
        ),
        paused: false,
        round: Span(Duration::ZERO),
        given: given.names(),
        pilots,
    };
    let starts: f64 = design
        .pilots
        .iter()
        .map(|pilot| seconds(pilot.start_ns))
        .sum();
    design.segments = match given.duration {
        Some(_) => 2,
        None => segments(&design, starts, (saturation, at_rate)),
    };
    design.paused = !given.no_pause && may_pause(&design);
    design.round = Span(time(
        starts + once(&design, (saturation, at_rate)).0 * f64::from(design.segments),
    ));
    Some(design)
}

fn time(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds)
}

/// A segment of a load under which an answer takes so long. What the user says is divided between two of them.
fn segment(connections: u32, response: f64, wanted: f64, given: Option<Duration>) -> Segment {
    let length = (LENGTH * response).max(LEAST_LENGTH).max(wanted);
    Segment {
        connections,
        lead_in: Span(time((LEAD_IN * response).max(LEAST_LEAD_IN))),
        length: Span(given.map_or_else(|| time(length), |given| given / 2)),
    }
}

/// How long one segment of each kind takes of all servers, and how much of that is measured.
fn once(design: &Design, (saturation, at_rate): (bool, bool)) -> (f64, f64) {
    let kinds = [(design.saturation, saturation), (design.at_rate, at_rate)];
    let servers = design.pilots.len() as f64;
    let kinds = kinds.into_iter().filter(|(_, is)| *is);
    kinds.fold((0.0, 0.0), |(all, measured), (segment, _)| {
        let length = segment.length.0.as_secs_f64();
        let lead_in = segment.lead_in.0.as_secs_f64();
        (
            all + servers * (length + lead_in),
            measured + servers * length,
        )
    })
}

/// May servers be stopped while they rest? One that is measured first in an order, and last in its reverse, rests for two
/// segments of each of the others.
fn may_pause(design: &Design) -> bool {
    let others = design.pilots.len().saturating_sub(1) as f64;
    let kinds = [design.saturation, design.at_rate].into_iter();
    let lengths = kinds.map(|kind| (kind.lead_in.0 + kind.length.0).as_secs_f64());
    others > 0.0 && 2.0 * others * lengths.fold(0.0, f64::max) <= LONGEST_PAUSE
}

/// Number of segments of each kind per start with which half of a round is measured, when all of its starts take
/// `starts` seconds together.
fn segments(design: &Design, starts: f64, kinds: (bool, bool)) -> u32 {
    let (all, measured) = once(design, kinds);
    let rest = all - measured;
    let half = (starts / (measured - rest).max(f64::MIN_POSITIVE)).ceil();
    let in_twos = design
        .saturation
        .length
        .0
        .as_secs_f64()
        .min(design.at_rate.length.0.as_secs_f64())
        < SHORT;
    let least = if in_twos { 2.0 } else { 1.0 };
    let n = half.max(least).min(f64::from(MOST_SEGMENTS)) as u32;
    if in_twos { n.next_multiple_of(2) } else { n }
}

/// Segments of each kind per start that learn the most in a given time (Kalibera & Jones, ISMM 2013): √(cost of a start ÷ cost of a
/// segment × variance within starts ÷ variance between them). The variances are those of the logarithms of one start's value:
/// `within` of a single segment, `between` of starts without it.
#[must_use]
pub fn best_segments(start: f64, segment: f64, within: f64, between: f64) -> u32 {
    let cost = start / segment.max(f64::MIN_POSITIVE);
    let best = (cost * within / between.max(f64::MIN_POSITIVE))
        .sqrt()
        .ceil();
    best.clamp(1.0, f64::from(MOST_SEGMENTS)) as u32
}

/// The variance within starts and between them, of the same quantity measured in several segments of each start: the mean squares
/// of a one-way analysis of variance, with starts as the random factor. None from less than two starts with two segments.
#[must_use]
pub fn components(starts: &[Vec<f64>]) -> Option<(f64, f64)> {
    let starts: Vec<&Vec<f64>> = starts.iter().filter(|start| start.len() > 1).collect();
    let n: usize = starts.iter().map(|start| start.len()).sum();
    let freedom = (n - starts.len()) as f64;
    if starts.len() < 2 {
        return None;
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let means: Vec<f64> = starts.iter().map(|start| mean(start)).collect();
    let squares = starts
        .iter()
        .zip(&means)
        .flat_map(|(start, mean)| start.iter().map(move |value| (value - mean).powi(2)));
    let within = squares.sum::<f64>() / freedom;
    let grand = mean(&means);
    let between = means.iter().map(|mean| (mean - grand).powi(2)).sum::<f64>();
    let between = between / (means.len() - 1) as f64;
    // A start's mean scatters by its segments too.
    let each = n as f64 / starts.len() as f64;
    Some((within, (between - within / each).max(0.0)))
}

/// How long a duel may take, when its user has not said so: `usual`, or as long as a few rounds take.
#[must_use]
pub fn time_for(design: &Design, usual: Duration) -> Duration {
    usual.max(few_rounds(design.round.0))
}

/// The time of the fewest rounds that a duel should have, if each takes this long.
#[must_use]
pub fn few_rounds(each: Duration) -> Duration {
    each * ROUNDS
}

/// How many rounds are planned, of `most` at most, when there is time for them, and each takes so long: a little more than that,
/// since the next may be shorter.
#[must_use]
pub fn rounds(most: u32, left: Duration, each: Duration) -> u32 {
    let fit = left.as_secs_f64() / each.as_secs_f64().max(1e-3);
    most.min((fit * SLACK).ceil().max(1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: (bool, bool) = (true, true);

    /// A server that works on `places` requests at once, each for `time`.
    fn pilot(time: f64, places: u32, given: Option<u32>) -> Pilot {
        let ns = |seconds: f64| (seconds * SECOND as f64) as u64;
        let mut pilot = Pilot {
            name: "it".into(),
            alone_ns: ns(time),
            start_ns: ns(1.0),
            ..Pilot::default()
        };
        while let Some(connections) = next_step(&pilot.steps, time, given) {
            let at_once = f64::from(connections.min(places));
            pilot.steps.push(PilotStep {
                connections,
                rate: at_once / time,
                p50_ns: ns(time * f64::from(connections) / at_once),
                longest_ns: ns(time * f64::from(connections) / at_once),
            });
        }
        pilot
    }

    fn of(pilots: &[Pilot]) -> Design {
        design(pilots.to_vec(), &Given::default(), BOTH).unwrap()
    }

    #[test]
    fn threads_double_while_one_has_no_time_to_spare() {
        assert_eq!(more_threads(1, 0.95, 6), Some(2));
        assert_eq!(more_threads(4, 0.95, 6), Some(6));
        assert_eq!(more_threads(6, 0.95, 6), None);
        assert_eq!(more_threads(1, 0.5, 6), None);
        assert_eq!(more_threads(1, 1.0, 0), None);
        // The side that needs most of them decides for all.
        let calm = pilot(0.000_02, 1_000, None);
        let fast = Pilot {
            threads: 4,
            ..calm.clone()
        };
        assert_eq!(of(&[calm, fast]).threads, 4);
    }

    #[test]
    fn a_pilot_stops_where_throughput_stops_growing() {
        let tried = |time, places| -> Vec<u32> {
            let steps = pilot(time, places, None).steps;
            steps.iter().map(|step| step.connections).collect()
        };
        assert_eq!(tried(0.02, 1), [2]);
        assert_eq!(tried(0.02, 4), [2, 4, 8]);
        assert_eq!(tried(0.000_02, 1_000), [2, 4, 8, 16, 32, 64]);
        assert_eq!(tried(0.2, 1_000), [4, 16, 64]);
        assert_eq!(pilot(0.02, 1, Some(100)).steps[0].connections, 100);
        assert_eq!(pilot(0.02, 1, Some(100)).steps.len(), 1);
    }

    #[test]
    fn servers_are_stopped_while_they_rest_unless_they_rest_for_long() {
        let fast = pilot(0.000_02, 2, None);
        assert!(of(&[fast.clone(), fast.clone()]).paused);
        assert!(!of(std::slice::from_ref(&fast)).paused, "it never rests");
        let given = Given {
            no_pause: true,
            ..Given::default()
        };
        let told = design(vec![fast.clone(), fast.clone()], &given, BOTH).unwrap();
        assert_eq!(
            (told.paused, told.given.as_slice()),
            (false, &["no-pause".to_owned()][..])
        );
        // Twice 20 × 0.3 s, and the lead-ins: longer than programs are silent.
        let slow = pilot(0.3, 64, None);
        assert!(!of(&[slow.clone(), slow]).paused);
        // Among many each rests for longer.
        assert!(!of(&vec![fast; 15]).paused);
    }

    #[test]
    fn one_process_at_20_ms_gets_few_connections_and_long_segments() {
        let it = of(&[pilot(0.02, 1, None), pilot(0.022, 1, None)]);
        assert_eq!(it.saturation.connections, 2);
        // 20 × 44 ms.
        assert!(
            (it.saturation.length.0.as_secs_f64() - 0.88).abs() < 0.01,
            "{it:?}"
        );
        assert_eq!(it.rate, Some(22.0));
        assert!(it.at_rate.length.0.as_secs_f64() * 22.0 >= 50.0, "{it:?}");
        assert!(it.at_rate.connections >= 4, "requests may come together");
    }

    #[test]
    fn fast_servers_are_loaded_as_ever() {
        let it = of(&[pilot(0.000_02, 2, None), pilot(0.000_03, 2, None)]);
        assert_eq!(it.saturation.connections, MOST_CONNECTIONS);
        assert_eq!(it.saturation.length.0, Duration::from_millis(500));
        assert_eq!(it.saturation.lead_in.0, Duration::from_millis(50));
        assert_eq!(it.warmup.0, Duration::from_secs(3));
        assert_eq!(it.timeout.0, Duration::from_secs(5));
    }

    #[test]
    fn servers_that_only_wait_keep_all_their_connections() {
        let it = of(&[pilot(0.2, 1_000, None), pilot(0.24, 1_000, None)]);
        assert_eq!(it.saturation.connections, 64);
        assert!(
            (it.saturation.length.0.as_secs_f64() - 4.8).abs() < 0.01,
            "{it:?}"
        );
        assert!((it.saturation.lead_in.0.as_secs_f64() - 1.2).abs() < 0.01);
        assert_eq!(it.segments, 1, "long segments come one by one");
        assert_eq!(it.rate, Some(130.0));
        let load = it.load(&prony_record::Load::default(), it.rate);
        assert!(load.max_connections() >= 130, "{load:?}");
        assert!(load.check().is_ok());
    }

    #[test]
    fn half_of_a_round_is_measured() {
        for (time, places, start) in [
            (0.000_02, 2, 0.1),
            (0.003, 1, 3.0),
            (0.02, 1, 2.0),
            (1.0, 64, 1.0),
        ] {
            let mut one = pilot(time, places, None);
            one.start_ns = (start * SECOND as f64) as u64;
            let it = of(&[one.clone(), one]);
            let share = it.measured(2, true, true).as_secs_f64() / it.round.0.as_secs_f64();
            assert!(
                share >= 0.5 || it.segments == MOST_SEGMENTS,
                "{time}: {share} {it:?}"
            );
        }
    }

    #[test]
    fn a_server_that_leaves_connections_waiting_gets_few() {
        let fair = pilot(0.000_2, 2, None);
        assert_eq!(crowd(&fair), Some(64));
        let with = |connections, rate, longest| {
            let mut pilot = fair.clone();
            pilot.steps.push(PilotStep {
                connections,
                rate,
                p50_ns: 400_000,
                longest_ns: (longest * SECOND as f64) as u64,
            });
            pilot
        };
        assert_eq!(crowd(&with(64, 10_000.0, 0.1)), None, "tried");
        assert_eq!(of(&[with(64, 10_000.0, 0.1)]).saturation.connections, 64);
        let unfair = with(64, 10_000.0, 2.0);
        assert_eq!(starved(&unfair).map(|step| step.connections), Some(64));
        let it = of(&[fair.clone(), unfair]);
        assert_eq!((it.saturation.connections, it.at_rate.connections), (4, 4));
        // A server that is slow for everybody starves nobody.
        assert_eq!(starved(&with(64, 100.0, 2.0)), None);
        assert_eq!(
            crowd(&pilot(0.02, 1, None)),
            None,
            "more would make segments longer"
        );
    }

    #[test]
    fn what_the_user_says_wins() {
        let given = Given {
            connections: Some(7),
            threads: None,
            duration: Some(Duration::from_millis(300)),
            warmup: Some(Duration::ZERO),
            timeout: Some(Duration::from_secs(1)),
            rate: Some(10.0),
            no_pause: false,
            other_rates: false,
        };
        let it = design(vec![pilot(0.2, 1, Some(7))], &given, BOTH).unwrap();
        assert_eq!((it.saturation.connections, it.at_rate.connections), (7, 7));
        assert_eq!(
            it.saturation.length.0 * it.segments,
            Duration::from_millis(300)
        );
        assert_eq!(
            (it.warmup.0, it.timeout.0),
            (Duration::ZERO, Duration::from_secs(1))
        );
        assert_eq!(it.rate, Some(10.0));
        assert_eq!(it.given.len(), 5);
        // Its lead-in fits the server all the same.
        assert!(it.saturation.lead_in.0 >= Duration::from_secs(7));
    }

    #[test]
    fn what_is_too_slow_has_no_common_rate() {
        let slow = pilot(10.0, 1, None);
        assert_eq!(design(vec![slow.clone()], &Given::default(), BOTH), None);
        assert!(design(vec![slow], &Given::default(), (true, false)).is_some());
    }

    #[test]
    fn segments_follow_from_the_components_of_variance() {
        // A start that costs nine segments, and scatters as much as one of them.
        assert_eq!(best_segments(9.0, 1.0, 1e-4, 1e-4), 3);
        assert_eq!(
            best_segments(9.0, 1.0, 1e-4, 1e-2),
            1,
            "starts differ: more of them"
        );
        assert_eq!(best_segments(9.0, 1.0, 1e-4, 0.0), MOST_SEGMENTS);
    }

    #[test]
    fn variance_is_told_apart_within_and_between_starts() {
        // Starts differ by 0.1, their segments by 0.01.
        let starts: Vec<Vec<f64>> = [-0.1, 0.0, 0.1]
            .map(|start| vec![start - 0.01, start + 0.01])
            .to_vec();
        let (within, between) = components(&starts).unwrap();
        assert!((within - 0.0002).abs() < 1e-12, "{within}");
        assert!((between - 0.0099).abs() < 1e-12, "{between}");
        assert_eq!(components(&starts[..1]), None);
        assert_eq!(components(&[vec![1.0], vec![2.0]]), None);
    }

    #[test]
    fn rounds_are_planned_by_the_time_there_is() {
        let seconds = Duration::from_secs;
        assert_eq!(rounds(60, seconds(180), seconds(10)), 22);
        assert_eq!(rounds(60, seconds(180), seconds(1)), 60);
        assert_eq!(rounds(60, seconds(1), seconds(10)), 1);
        let slow = of(&[pilot(1.0, 1_000, None), pilot(1.2, 1_000, None)]);
        assert!(
            time_for(&slow, seconds(180)) > seconds(180),
            "{:?}",
            slow.round
        );
        let fast = of(&[pilot(0.001, 1, None)]);
        assert_eq!(time_for(&fast, seconds(180)), seconds(180));
    }
}
