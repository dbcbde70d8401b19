//! Duels: servers that are started together and loaded in turns, so that whatever else happens on
//! the machine happens to all of them.
//!
//! A pilot shows how they are to be measured. In a round every side is started anew; then all of them are warmed up, and
//! loaded in segments in an order and its reverse (A B B A): a drift of the machine within the round adds the
//! same to each. A server that is not loaded rests: its processes are stopped, where that can be done.

use crate::contract::Depth;
use crate::event::{Event, Journal, JournalError, Observer};
use crate::pilot::survey;
use crate::recording::{Scope, TrialHeader, findings};
use crate::rest::{Rest, alone};
use crate::side::Side;
use crate::trial::{Lab, MeasuredTrial, Progress, TrialActivity, Up};
use crate::workload::Workload;
use jiff::Timestamp;
use prony_record::verdict::{Comparison, Quantity, Terms, Values};
use prony_record::{Design, Durations, Failure, Load, Span};
use prony_stats::StatsError;
use prony_verdict::design::{Given, best_segments, components, few_rounds, rounds, time_for};
use prony_verdict::duel::{lower_rate, may_end, may_give_up, other_rates, plan};
use prony_verdict::outlook::{ENOUGH, Outlook, outlook, throughput_is_too_coarse};
use prony_verdict::seen::DuelObservations;
use rand::seq::SliceRandom;
use std::time::{Duration, Instant};

/// Rounds in a row in which a side misses the common rate before it is lowered.
const MISSES: usize = 2;
/// Rounds after which it is planned how many there are: before the first look at what they say.
const PLANNED_AFTER: u32 = 2;
/// Windows of a warm-up.
pub const WINDOW: Duration = Duration::from_millis(100);

/// How all sides are loaded.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// Requests that all sides get.
    pub workload: Workload,
    /// The load, but for what a [`Design`] says.
    pub load: Load,
    /// Settings that the user gave.
    pub given: Given,
}

/// The parts of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// Saturation: requests as fast as answers come.
    pub saturation: bool,
    /// At this rate, in requests per second.
    pub rate: Option<f64>,
    /// At lower and higher rates too, for CPU time.
    pub other_rates: bool,
}

impl Parts {
    /// Rates of its measurements in their order, none: as fast as answers come; each with the activity.
    fn in_order(self) -> Vec<(Option<f64>, TrialActivity)> {
        let saturation = self.saturation.then_some((None, TrialActivity::Saturation));
        let common = self
            .rate
            .map(|rate| (Some(rate), TrialActivity::CommonRate));
        let others = self.rate.filter(|_| self.other_rates);
        let others = others.into_iter().flat_map(other_rates).flatten();
        let others = others.map(|rate| (Some(rate), TrialActivity::OtherRate));
        saturation.into_iter().chain(common).chain(others).collect()
    }
}

/// A side in a round.
#[derive(Debug)]
pub struct SideRound {
    /// Parts of the round in order, each with its load and its measurement.
    pub parts: Vec<RoundPart>,
    /// Command line of the server; empty when another program has started it.
    pub command: String,
    /// When its round began.
    pub started: Timestamp,
    /// How long its start, its verification and its end took.
    pub durations: Durations,
}

/// A part of a side's round: its segments of one kind.
#[derive(Debug)]
pub struct RoundPart {
    /// The load of each.
    pub load: Load,
    /// All of them together.
    pub measured: MeasuredTrial,
    /// Value of each segment: throughput, or at a rate CPU time per request in nanoseconds; none where it is not known.
    pub segments: Vec<Option<f64>>,
}

impl RoundPart {
    fn add(&mut self, segment: &MeasuredTrial) {
        self.segments.push(value(&self.load, segment));
        self.measured.merge(segment);
    }
}

/// Least scattered quantity of a segment: throughput, or at a rate CPU time per request in nanoseconds; none where it
/// is not known.
fn value(load: &Load, segment: &MeasuredTrial) -> Option<f64> {
    let value = match load.rate {
        None => Some(segment.seen.throughput()),
        Some(_) => segment.cpu_per_request(),
    };
    value.filter(|value| *value > 0.0)
}

impl SideRound {
    /// Answers per second, as fast as they came.
    #[must_use]
    pub fn throughput(&self) -> Option<f64> {
        let saturation = self.parts.iter().find(|part| part.load.rate.is_none());
        saturation.map(|part| part.measured.seen.throughput())
    }
}

/// Reasons for a duel to end before its time.
#[derive(Debug, thiserror::Error)]
pub enum DuelError {
    /// A side failed.
    #[error("{side}: {failure}")]
    Side {
        /// Name of the side.
        side: String,
        /// At which step, and why.
        failure: Failure,
    },
    /// The sides are too slow to have a common rate.
    #[error("no common rate was found: the slowest side gives less than two answers a second")]
    NoRate,
    /// The journal could not keep the results.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// More rounds than a plan can have.
    #[error(transparent)]
    Rounds(#[from] StatsError),
}

/// Returns which parts a round must have for these quantities: as fast as answers come, and at a common rate.
#[must_use]
pub fn parts_for(quantities: &[Quantity]) -> (bool, bool) {
    let throughput = quantities.contains(&Quantity::Throughput);
    let fixed = quantities.iter().any(|q| *q != Quantity::Throughput);
    (throughput, fixed)
}

/// How long a duel may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// No limit: the duel takes as long as its rounds.
    Unlimited,
    /// No round is begun that would end after this.
    AtMost(Duration),
    /// The same, but for a few rounds at least.
    Usually(Duration),
}

/// A duel.
#[derive(Debug)]
pub struct Duel<'a> {
    /// With what it is measured.
    pub lab: Lab<'a>,
    /// Servers that take part; the others are compared with the first.
    pub sides: &'a [Side],
    /// How they are loaded.
    pub spec: &'a LoadSpec,
    /// How it is decided; it may be planned for fewer rounds.
    pub terms: &'a Terms,
    /// How long it may take, its pilot included.
    pub time: Time,
}

/// How a duel goes on.
#[derive(Debug)]
struct DuelState {
    design: Design,
    terms: Terms,
    /// Parts of the next round.
    parts: Parts,
    /// No round is begun that would end after this.
    deadline: Option<Instant>,
    /// How long the longest round took; before the first one, how long it is expected to take.
    longest: Duration,
    /// For each kind of part, each other side and each round: ln(its value ÷ the first side's) in each segment.
    segments: [Vec<Vec<f64>>; 2],
}

impl Duel<'_> {
    /// Carries it out: a pilot, and rounds until it is decided, its rounds or its time are over, or the user
    /// interrupts it. Every part of every round is recorded. Gives what was seen in whole rounds, and how that is decided.
    ///
    /// # Errors
    /// When a side fails, there is no common rate, or what was measured cannot be kept; what was
    /// recorded until then is.
    pub fn carry_out(
        &self,
        journal: &mut dyn Journal,
        observer: Observer<'_>,
    ) -> Result<(DuelObservations, Terms), DuelError> {
        let begun = Instant::now();
        let names = self.sides.iter().map(|side| side.name.clone()).collect();
        let mut seen = DuelObservations::nothing(names);
        let kinds = parts_for(&self.terms.quantities);
        observer(Event::Round(None));
        let Some(design) = survey(self.lab, self.sides, self.spec, kinds, observer)? else {
            return Ok((seen, self.terms.clone()));
        };
        let mut state = self.state(design, kinds, begun);
        journal.designed(&state.design, &state.terms)?;
        observer(state.event(begun));
        let mut plan = plan(&state.terms, self.sides.len())?;
        let mut ordinal = 0;
        let rounds_begun = Instant::now();
        while (seen.rounds.len() as u32) < state.terms.most {
            let began = Instant::now();
            let number = seen.rounds.len() as u32;
            observer(Event::Round(Some(number)));
            let round = round(
                self.lab,
                self.sides,
                self.spec,
                (&state.design, state.parts),
                observer,
            );
            let side_rounds = match round {
                Ok(Some(side_rounds)) => side_rounds,
                Ok(None) => break,
                Err(_) if self.lab.interrupt.fired() => break,
                Err((side, failure)) => return Err(DuelError::Side { side, failure }),
            };
            self.keep(&side_rounds, number, &mut ordinal, &mut seen, journal)?;
            state.longest = match number {
                0 => began.elapsed(),
                _ => state.longest.max(began.elapsed()),
            };
            state.compare_segments(&side_rounds);
            if number == 0 && matches!(self.time, Time::Usually(_)) {
                state.make_room(rounds_begun);
            }
            if number + 1 == PLANNED_AFTER && state.plan(rounds_begun.elapsed()) {
                plan = prony_verdict::duel::plan(&state.terms, self.sides.len())?;
                journal.designed(&state.design, &state.terms)?;
            }
            let comparisons = seen.compare(&plan, &state.terms)?;
            observer(Event::Compared {
                comparisons: &comparisons,
                findings: &seen.findings(),
            });
            let end = state.last_round(number + 1);
            let outlook = outlook(&state.terms.quantities, &seen.rounds, &plan, end);
            if is_over(&state.terms, &seen, &comparisons, &outlook, end) {
                break;
            }
            self.leave_out(&mut state, &outlook, (number + 1, end), observer);
            self.lower_rate(&mut state, &seen, &side_rounds);
            if number + 1 == ENOUGH && self.spec.given.duration.is_none() {
                state.divide(rounds_begun.elapsed() / ENOUGH);
                journal.designed(&state.design, &state.terms)?;
            }
        }
        seen.design = Some(state.design);
        Ok((seen, state.terms))
    }

    /// How it begins.
    fn state(&self, design: Design, (saturation, _): (bool, bool), begun: Instant) -> DuelState {
        let time = match self.time {
            Time::Unlimited => None,
            Time::AtMost(time) => Some(time),
            Time::Usually(time) => {
                Some(begun.elapsed() + time_for(&design, time.saturating_sub(begun.elapsed())))
            }
        };
        let mut state = DuelState {
            parts: Parts {
                saturation,
                rate: design.rate,
                other_rates: self.spec.given.other_rates,
            },
            deadline: time.map(|time| begun + time),
            longest: design.round.0,
            design,
            terms: self.terms.clone(),
            segments: [Vec::new(), Vec::new()],
        };
        // Of what a round cannot show nothing is compared.
        let p99 = self.terms.exact || state.shows_p99();
        let shown = |quantity: &Quantity| *quantity != Quantity::P99 || p99;
        state.terms.quantities.retain(shown);
        state.plan(Duration::ZERO);
        state
    }

    /// Leaves throughput out of the rounds to come if the time is better spent at the common rate; says
    /// once what the duel can find. `(rounds, end)`: the rounds made, and the last one there is time for.
    fn leave_out(
        &self,
        state: &mut DuelState,
        outlook: &[Outlook],
        (rounds, end): (u32, u32),
        observer: Observer<'_>,
    ) {
        let dropped = state.parts.saturation
            && state.parts.rate.is_some()
            && throughput_is_too_coarse(&state.terms, outlook);
        if dropped {
            state.parts.saturation = false;
            // Of two parts one is left.
            state.longest /= 2;
        }
        if dropped || rounds == ENOUGH {
            observer(Event::Outlook {
                outlook,
                end,
                dropped,
            });
        }
    }

    /// Lowers the common rate when a side has missed it several times in a row: once may be another
    /// program's doing. A rate that the user gave stays.
    fn lower_rate(
        &self,
        state: &mut DuelState,
        seen: &DuelObservations,
        side_rounds: &[SideRound],
    ) {
        let missed = |round: &&Vec<Values>| {
            let mut sides = round.iter();
            sides.any(|values| values.missed && values.rate == state.parts.rate)
        };
        let in_a_row = seen.rounds.iter().rev().take_while(missed).count();
        if in_a_row >= MISSES && self.spec.given.rate.is_none() {
            let reached = side_rounds.iter().filter_map(SideRound::throughput);
            state.parts.rate = state.parts.rate.and_then(|rate| lower_rate(rate, reached));
        }
    }

    /// Records what a round has shown.
    fn keep(
        &self,
        side_rounds: &[SideRound],
        round: u32,
        ordinal: &mut u32,
        seen: &mut DuelObservations,
        journal: &mut dyn Journal,
    ) -> Result<(), JournalError> {
        let placement = self.lab.host.placement();
        for (i, (side_round, side)) in side_rounds.iter().zip(self.sides).enumerate() {
            for RoundPart { load, measured, .. } in &side_round.parts {
                let found = findings(load, measured, side.workers(), placement, Scope::Partial);
                let header = TrialHeader {
                    ordinal: *ordinal,
                    round,
                    server: side.name.clone(),
                    workers: 1,
                    cell: label(load),
                    load: Load {
                        contract: Some(self.spec.workload.to_string()),
                        over: side.over(),
                        key: side.key.unwrap_or_default(),
                        ..load.clone()
                    },
                    started: side_round.started,
                    command: side_round.command.clone(),
                    version: side.version().to_owned(),
                    rig: None,
                };
                *ordinal += 1;
                let recording = header.recording(measured, side_round.durations, found, false);
                seen.add(i, &recording.trial);
                journal.add(&recording)?;
            }
        }
        Ok(())
    }
}

/// Is there nothing more to do, or no time for it? `end` is the last round that there is time for.
fn is_over(
    terms: &Terms,
    seen: &DuelObservations,
    comparisons: &[Comparison],
    outlook: &[Outlook],
    end: u32,
) -> bool {
    let rounds = seen.rounds.len() as u32;
    may_end(terms, rounds, comparisons)
        || end == rounds
        || may_give_up(terms, &seen.names, comparisons, outlook)
}

impl DuelState {
    fn event(&self, begun: Instant) -> Event<'_> {
        Event::Designed {
            design: &self.design,
            most: self.terms.most,
            time: self.deadline.map(|deadline| deadline - begun),
        }
    }

    /// A first round that took far longer than the pilot let expect (a server that leaves requests unanswered is waited for)
    /// must not be the only one.
    fn make_room(&mut self, rounds_begun: Instant) {
        let few = rounds_begun + few_rounds(self.longest);
        self.deadline = self.deadline.map(|deadline| deadline.max(few));
    }

    /// Are there enough requests in a round for their 99th percentile?
    fn shows_p99(&self) -> bool {
        let seconds = self.design.at_rate.length.0.as_secs_f64() * f64::from(self.design.segments);
        let requests = self.design.rate.unwrap_or(0.0) * seconds;
        prony_stats::percentile::supported(requests, 0.99)
    }

    /// Plans its rounds by the time there is, after those that took so long; true when there are fewer than were planned.
    fn plan(&mut self, so_far: Duration) -> bool {
        let Some(deadline) = self.deadline.filter(|_| !self.terms.exact) else {
            return false;
        };
        let made = if so_far.is_zero() { 0 } else { PLANNED_AFTER };
        let each = match made {
            0 => self.longest,
            made => so_far / made,
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let most = self.terms.most;
        // A plan has two rounds at least; the time may end it after one.
        self.terms.most = (made + rounds(most.saturating_sub(made), left, each)).max(2);
        self.terms.most != most
    }

    /// The last round that there is time for, after so many.
    fn last_round(&self, rounds: u32) -> u32 {
        let Some(deadline) = self.deadline else {
            return self.terms.most;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let more = (left.as_secs_f64() / self.longest.as_secs_f64().max(1e-3)) as u32;
        rounds.saturating_add(more).min(self.terms.most)
    }

    /// Keeps how the segments of a round compare.
    fn compare_segments(&mut self, side_rounds: &[SideRound]) {
        let Some((first, others)) = side_rounds.split_first() else {
            return;
        };
        for other in others {
            let common = |part: &&RoundPart| {
                part.load
                    .rate
                    .is_none_or(|rate| Some(rate) == self.parts.rate)
            };
            let pairs = other
                .parts
                .iter()
                .filter(common)
                .zip(first.parts.iter().filter(common));
            for (ours, theirs) in pairs {
                let pairs = ours.segments.iter().zip(&theirs.segments);
                let both = pairs.filter_map(|(ours, theirs)| (*ours).zip(*theirs));
                let logs: Vec<f64> = both.map(|(ours, theirs)| (ours / theirs).ln()).collect();
                self.segments[usize::from(ours.load.rate.is_some())].push(logs);
            }
        }
    }

    /// Divides each start into as many segments as the components of variance ask for, when a round takes so long.
    fn divide(&mut self, round: Duration) {
        let (saturation, at_rate) = (self.parts.saturation, self.parts.rate.is_some());
        let sides = self.design.pilots.len();
        let measured = self
            .design
            .measured(sides, saturation, at_rate)
            .as_secs_f64();
        let segment = measured / f64::from(self.design.segments);
        let start = (round.as_secs_f64() - measured).max(0.0);
        let components = self.segments.iter().filter_map(|starts| components(starts));
        let best = components
            .map(|(within, between)| best_segments(start, segment, within, between))
            .max();
        // No fewer than measure for half of the time.
        let more = best.filter(|best| *best > self.design.segments);
        self.design.segments = more.unwrap_or(self.design.segments);
    }
}

/// Label that distinguishes a part from the others of its side: `saturation`, or its rate.
#[must_use]
pub fn label(load: &Load) -> String {
    match load.rate {
        None => "saturation".to_owned(),
        Some(rate) => format!("{rate}/s"),
    }
}

/// One round: every side started, warmed up, and loaded in turns; in the order of `sides`.
///
/// # Errors
/// The side that failed, and how. An interrupt is no failure: `None`.
pub fn round(
    lab: Lab<'_>,
    sides: &[Side],
    spec: &LoadSpec,
    (design, parts): (&Design, Parts),
    observer: Observer<'_>,
) -> Result<Option<Vec<SideRound>>, (String, Failure)> {
    let started = Timestamp::now();
    let mut order: Vec<usize> = (0..sides.len()).collect();
    order.shuffle(&mut rand::rng());
    let mut up: Vec<Option<Up<'_>>> = sides.iter().map(|_| None).collect();
    let failed = |i: usize| move |failure| (sides[i].name.clone(), failure);
    let warm = warm_up(design, &spec.load);
    for &i in &order {
        let mut on_progress =
            |progress: Progress<'_>| observer(Event::Progress(&sides[i].name, progress));
        // The pilot has verified everything: later starts of the same program only have to show that they answer.
        let one = lab.bring_up(
            &sides[i],
            &spec.workload,
            None,
            &warm,
            Depth::Quick,
            &mut on_progress,
        );
        up[i] = Some(one.map_err(failed(i))?);
    }
    let mut up: Vec<Up<'_>> = up.into_iter().flatten().collect();
    for &i in &order {
        let mut on_progress =
            |progress: Progress<'_>| observer(Event::Progress(&sides[i].name, progress));
        up[i].warm_up(&warm, &mut on_progress).map_err(failed(i))?;
    }
    let seed = rand::random();
    for one in &mut up {
        one.draw_from(seed);
    }
    let mut measured: Vec<Vec<RoundPart>> = sides.iter().map(|_| Vec::new()).collect();
    let mut rested = vec![Rest::default(); sides.len()];
    for (kind, (rate, doing)) in parts.in_order().into_iter().enumerate() {
        let load = design.load(&spec.load, rate);
        for segment in 0..design.segments {
            // Forwards, and backwards: a drift of the machine adds the same to each.
            let mut turn = order.clone();
            if segment % 2 == 1 {
                turn.reverse();
            }
            for i in turn {
                if lab.interrupt.fired() {
                    return Ok(None);
                }
                let name = &sides[i].name;
                observer(Event::Progress(name, Progress::Doing(doing)));
                let mut on_progress =
                    |progress: Progress<'_>| observer(Event::Progress(name, progress));
                let (segment, rests) = alone(&mut up, i, design.paused, |one| {
                    one.measure(&load, &mut on_progress)
                });
                let segment = segment.map_err(failed(i))?;
                for (rested, rest) in rested.iter_mut().zip(rests) {
                    rested.add(rest);
                }
                match measured[i].get_mut(kind) {
                    Some(part) => part.add(&segment),
                    None => measured[i].push(RoundPart {
                        segments: vec![value(&load, &segment)],
                        load: load.clone(),
                        measured: segment,
                    }),
                }
            }
        }
        for (parts, rested) in measured.iter_mut().zip(&mut rested) {
            if let Some(part) = parts.get_mut(kind) {
                part.measured.rested = std::mem::take(rested);
            }
        }
    }
    for &i in &order {
        let mut on_progress =
            |progress: Progress<'_>| observer(Event::Progress(&sides[i].name, progress));
        up[i].verify_again(&mut on_progress).map_err(failed(i))?;
    }
    let side_rounds = up.into_iter().zip(measured).map(|(up, parts)| SideRound {
        parts,
        command: up.command(),
        started,
        durations: up.take_down(),
    });
    Ok(Some(side_rounds.collect()))
}

/// The load that warms a start up: as fast as responses come.
pub fn warm_up(design: &Design, base: &Load) -> Load {
    Load {
        window: Span(WINDOW),
        ..design.load(base, None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::design::{Pilot, PilotStep};
    use prony_record::verdict::Bands;
    use prony_verdict::design::{design, few_rounds};

    #[test]
    fn a_first_round_that_took_far_longer_than_expected_is_not_the_only_one() {
        let step = PilotStep {
            connections: 4,
            rate: 1_000.0,
            p50_ns: 4_000_000,
            longest_ns: 0,
        };
        let pilot = Pilot {
            alone_ns: 1_000_000,
            start_ns: 1_000_000_000,
            steps: vec![step],
            ..Pilot::default()
        };
        let begun = Instant::now();
        let took = Duration::from_secs(100);
        let mut state = DuelState {
            design: design(vec![pilot.clone(), pilot], &Given::default(), (true, true)).unwrap(),
            terms: Terms {
                quantities: Quantity::ALL.to_vec(),
                most: 20,
                exact: false,
                precision: None,
                band: 0.01,
                bands: Bands::all(0.01),
            },
            parts: Parts {
                saturation: true,
                rate: None,
                other_rates: false,
            },
            deadline: Some(begun + Duration::from_secs(20)),
            longest: took,
            segments: [Vec::new(), Vec::new()],
        };
        assert_eq!(state.last_round(1), 1, "there was time for the first only");
        state.make_room(begun);
        assert_eq!(state.deadline, Some(begun + few_rounds(took)));
        assert!(state.last_round(1) > 1);
        // There is no plan for less than two rounds, however little time there is.
        state.terms.most = 20;
        state.deadline = Some(begun);
        state.plan(Duration::ZERO);
        assert_eq!((state.terms.most, state.last_round(1)), (2, 1));
        // A deadline that leaves room stays.
        let far = Some(begun + Duration::from_secs(10_000));
        state.deadline = far;
        state.make_room(begun);
        assert_eq!(state.deadline, far);
    }
}
