//! Duels: servers that are started together and loaded in turns, so that whatever else happens on
//! the machine happens to all of them.
//!
//! In a round every side is started anew; then all of them are warmed up, and loaded in short
//! segments in an order and its reverse (A B B A): a drift of the machine within the round adds the
//! same to each. A server that is not loaded sleeps.

use crate::contract::Depth;
use crate::event::{Event, Journal, JournalError, Observer};
use crate::generator::Generator;
use crate::host::Host;
use crate::recording::{Slot, Whole, findings};
use crate::side::{Ask, Side};
use crate::trial::{Doing, Lab, Measured, Progress, Up, part_of};
use jiff::Timestamp;
use prony_record::verdict::{Comparison, Quantity, Terms, Values};
use prony_record::{Durations, Failure, Load};
use prony_stats::StatsError;
use prony_verdict::duel::{common_rate, lower_rate, may_end, may_give_up, plan};
use prony_verdict::outlook::{ENOUGH, Outlook, outlook, throughput_is_too_coarse};
use prony_verdict::seen::Seen;
use rand::seq::SliceRandom;
use std::time::{Duration, Instant};

/// Segments of a part of a round: the order, and its reverse.
const SEGMENTS: u32 = 2;
/// Rounds in a row in which a side misses the common rate before it is lowered.
const MISSES: usize = 2;
/// Windows of a warm-up, and of a segment.
pub const WINDOW: Duration = Duration::from_millis(100);

/// How all sides are loaded.
#[derive(Debug, Clone)]
pub struct Manner {
    /// What is asked.
    pub ask: Ask,
    /// The load, but for rate and length.
    pub load: Load,
    /// How long each side is loaded in each part of a round.
    pub duration: Duration,
}

/// The parts of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// As fast as answers come.
    pub saturation: bool,
    /// At this rate, in requests per second.
    pub rate: Option<f64>,
}

/// A side in a round.
#[derive(Debug)]
pub struct Bout {
    /// What it was loaded with, in order, and what was measured.
    pub parts: Vec<(Load, Measured)>,
    /// Its command line; empty when another program has started it.
    pub command: String,
    /// When its round began.
    pub started: Timestamp,
    /// How long its start, its verification and its end took.
    pub durations: Durations,
}

impl Bout {
    /// Answers per second, as fast as they came.
    #[must_use]
    pub fn throughput(&self) -> Option<f64> {
        let saturation = self.parts.iter().find(|(load, _)| load.rate.is_none());
        saturation.map(|(_, measured)| measured.seen.throughput())
    }
}

/// What can end a duel before its time.
#[derive(Debug, thiserror::Error)]
pub enum DuelError {
    /// A side failed.
    #[error("{side}: {failure}")]
    Side {
        /// Its name.
        side: String,
        /// At which step, and why.
        failure: Failure,
    },
    /// The sides are too slow to have a common rate.
    #[error(
        "no common rate was found: the slowest side gives less than two answers a second; give one with --rate"
    )]
    NoRate,
    /// What was measured could not be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// More rounds than a plan can have.
    #[error(transparent)]
    Rounds(#[from] StatsError),
}

/// Which parts a round must have for these quantities: as fast as answers come, and at a common rate.
#[must_use]
pub fn parts_for(quantities: &[Quantity]) -> (bool, bool) {
    let throughput = quantities.contains(&Quantity::Throughput);
    let fixed = quantities.iter().any(|q| *q != Quantity::Throughput);
    (throughput, fixed)
}

/// A duel.
#[derive(Debug)]
pub struct Duel<'a, H, G> {
    /// With what it is measured.
    pub lab: Lab<'a, H, G>,
    /// Who takes part; the others are compared with the first.
    pub sides: &'a [Side],
    /// How they are loaded.
    pub manner: &'a Manner,
    /// How it is decided.
    pub terms: &'a Terms,
    /// The common rate, when it is given.
    pub rate: Option<f64>,
    /// No round is begun that would end after this.
    pub deadline: Option<Instant>,
}

/// How a duel goes on.
#[derive(Debug)]
struct Course {
    /// What the next round has.
    parts: Parts,
    /// How long the longest round took.
    longest: Duration,
}

impl<H: Host, G: Generator> Duel<'_, H, G> {
    /// Carries it out: rounds until it is decided, its rounds or its time are over, or the user
    /// interrupts it. Every part of every round is recorded. Gives what was seen in whole rounds.
    ///
    /// # Errors
    /// When a side fails, there is no common rate, or what was measured cannot be kept; what was
    /// recorded until then is.
    pub fn carry_out(
        &self,
        journal: &mut dyn Journal,
        observer: Observer<'_>,
    ) -> Result<Seen, DuelError> {
        let names = self.sides.iter().map(|side| side.name.clone()).collect();
        let mut seen = Seen::nothing(names);
        let mut depth = Depth::Full;
        let Some(parts) = self.parts(&mut seen, &mut depth, observer)? else {
            return Ok(seen);
        };
        let plan = plan(self.terms, self.sides.len())?;
        let mut course = Course {
            parts,
            longest: Duration::ZERO,
        };
        let mut ordinal = 0;
        while (seen.rounds.len() as u32) < self.terms.most {
            let begun = Instant::now();
            let number = seen.rounds.len() as u32;
            observer(Event::Round(Some(number)));
            let Some(bouts) = self.round(course.parts, depth, observer)? else {
                break;
            };
            // Everything once; later starts of the same program only have to show that they answer.
            depth = Depth::Quick;
            self.keep(&bouts, number, &mut ordinal, &mut seen, journal)?;
            let comparisons = seen.compare(&plan, self.terms)?;
            observer(Event::Compared {
                comparisons: &comparisons,
                findings: &seen.findings(),
            });
            course.longest = course.longest.max(begun.elapsed());
            let end = self.last_round(number + 1, course.longest);
            let outlook = outlook(&self.terms.quantities, &seen.rounds, &plan, end);
            if self.is_over(&seen, &comparisons, &outlook, end) {
                break;
            }
            self.leave_out(&mut course, &outlook, (number + 1, end), observer);
            self.lower_rate(&mut course, &seen, &bouts);
        }
        Ok(seen)
    }

    /// The parts of its rounds, with the common rate; none when the user interrupts it. Unless the rate is
    /// given, a round that is not counted finds it.
    fn parts(
        &self,
        seen: &mut Seen,
        depth: &mut Depth,
        observer: Observer<'_>,
    ) -> Result<Option<Parts>, DuelError> {
        let (saturation, fixed) = parts_for(&self.terms.quantities);
        // A rate is of no use where nothing that is compared is measured at it.
        seen.rate = self.rate.filter(|_| fixed);
        if seen.rate.is_none() && fixed {
            let parts = Parts {
                saturation: true,
                rate: None,
            };
            observer(Event::Round(None));
            let Some(bouts) = self.round(parts, *depth, observer)? else {
                return Ok(None);
            };
            *depth = Depth::Quick;
            seen.rate = common_rate(bouts.iter().filter_map(Bout::throughput));
        }
        match (saturation, seen.rate) {
            (false, None) => Err(DuelError::NoRate),
            (saturation, rate) => Ok(Some(Parts { saturation, rate })),
        }
    }

    /// Is there nothing more to do, or no time for it? `end` is the last round that there is time for.
    fn is_over(
        &self,
        seen: &Seen,
        comparisons: &[Comparison],
        outlook: &[Outlook],
        end: u32,
    ) -> bool {
        let rounds = seen.rounds.len() as u32;
        may_end(self.terms, rounds, comparisons)
            || end == rounds
            || may_give_up(self.terms, &seen.names, comparisons, outlook)
    }

    /// Leaves throughput out of the rounds to come if the time is better spent at the common rate; says
    /// once what the duel can find. `(rounds, end)`: the rounds made, and the last one there is time for.
    fn leave_out(
        &self,
        course: &mut Course,
        outlook: &[Outlook],
        (rounds, end): (u32, u32),
        observer: Observer<'_>,
    ) {
        let dropped = course.parts.saturation
            && course.parts.rate.is_some()
            && throughput_is_too_coarse(self.terms, outlook);
        if dropped {
            course.parts.saturation = false;
            // Of two parts one is left.
            course.longest /= 2;
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
    fn lower_rate(&self, course: &mut Course, seen: &Seen, bouts: &[Bout]) {
        let missed = |round: &&Vec<Values>| {
            let mut sides = round.iter();
            sides.any(|values| values.missed && values.rate == course.parts.rate)
        };
        let in_a_row = seen.rounds.iter().rev().take_while(missed).count();
        if in_a_row >= MISSES && self.rate.is_none() {
            let reached = bouts.iter().filter_map(Bout::throughput);
            course.parts.rate = course.parts.rate.and_then(|rate| lower_rate(rate, reached));
        }
    }

    /// The last round that there is time for, after `rounds` of which the longest took this long.
    fn last_round(&self, rounds: u32, longest: Duration) -> u32 {
        let Some(deadline) = self.deadline else {
            return self.terms.most;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let more = (left.as_secs_f64() / longest.as_secs_f64().max(1e-3)) as u32;
        rounds.saturating_add(more).min(self.terms.most)
    }

    fn round(
        &self,
        parts: Parts,
        depth: Depth,
        observer: Observer<'_>,
    ) -> Result<Option<Vec<Bout>>, DuelError> {
        match round(self.lab, self.sides, self.manner, parts, depth, observer) {
            Ok(bouts) => Ok(bouts),
            Err(_) if self.lab.interrupt.fired() => Ok(None),
            Err((side, failure)) => Err(DuelError::Side { side, failure }),
        }
    }

    /// Records what a round has shown.
    fn keep(
        &self,
        bouts: &[Bout],
        round: u32,
        ordinal: &mut u32,
        seen: &mut Seen,
        journal: &mut dyn Journal,
    ) -> Result<(), JournalError> {
        let placement = self.lab.host.placement();
        let mut all = Vec::new();
        for (i, (bout, side)) in bouts.iter().zip(self.sides).enumerate() {
            let mut values = Values::default();
            for (load, measured) in &bout.parts {
                let found = findings(load, measured, side.workers(), placement, Whole::Part);
                let slot = Slot {
                    ordinal: *ordinal,
                    round,
                    server: side.name.clone(),
                    workers: 1,
                    cell: label(load),
                    load: Load {
                        contract: Some(self.manner.ask.to_string()),
                        over: side.over(),
                        key: side.key.unwrap_or_default(),
                        ..load.clone()
                    },
                    started: bout.started,
                    command: bout.command.clone(),
                    version: side.version().to_owned(),
                    rig: None,
                };
                *ordinal += 1;
                let recording = slot.recording(measured, bout.durations, found, false);
                values.add(&recording.trial);
                seen.add(i, &recording.trial);
                journal.add(&recording)?;
            }
            all.push(values);
        }
        seen.rate = all.iter().find_map(|values| values.rate).or(seen.rate);
        seen.rounds.push(all);
        Ok(())
    }
}

/// What tells a part from others of its side.
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
pub fn round<H: Host, G: Generator>(
    lab: Lab<'_, H, G>,
    sides: &[Side],
    manner: &Manner,
    parts: Parts,
    depth: Depth,
    observer: Observer<'_>,
) -> Result<Option<Vec<Bout>>, (String, Failure)> {
    let started = Timestamp::now();
    let mut order: Vec<usize> = (0..sides.len()).collect();
    order.shuffle(&mut rand::rng());
    let mut up: Vec<Option<Up<'_, H, G>>> = sides.iter().map(|_| None).collect();
    let failed = |i: usize| move |failure| (sides[i].name.clone(), failure);
    for &i in &order {
        let mut told = |progress: Progress<'_>| observer(Event::Progress(&sides[i].name, progress));
        let one = lab.bring_up(&sides[i], &manner.ask, None, &manner.load, depth, &mut told);
        up[i] = Some(one.map_err(failed(i))?);
    }
    let mut up: Vec<Up<'_, H, G>> = up.into_iter().flatten().collect();
    for &i in &order {
        let mut told = |progress: Progress<'_>| observer(Event::Progress(&sides[i].name, progress));
        up[i]
            .warm_up(&part_of(&manner.load, None, WINDOW), &mut told)
            .map_err(failed(i))?;
    }
    let mut measured: Vec<Vec<(Load, Measured)>> = sides.iter().map(|_| Vec::new()).collect();
    let wanted = [
        parts.saturation.then_some((None, Doing::Saturation)),
        parts.rate.map(|rate| (Some(rate), Doing::CommonRate)),
    ];
    for (rate, doing) in wanted.into_iter().flatten() {
        let load = part_of(&manner.load, rate, manner.duration / SEGMENTS);
        let mut all: Vec<Option<Measured>> = sides.iter().map(|_| None).collect();
        for &i in order.iter().chain(order.iter().rev()) {
            if lab.interrupt.fired() {
                return Ok(None);
            }
            let name = &sides[i].name;
            observer(Event::Progress(name, Progress::Doing(doing)));
            let mut told = |progress: Progress<'_>| observer(Event::Progress(name, progress));
            let segment = up[i].measure(&load, &mut told).map_err(failed(i))?;
            match &mut all[i] {
                None => all[i] = Some(segment),
                Some(sum) => sum.merge(&segment),
            }
        }
        for (side, sum) in measured.iter_mut().zip(all) {
            side.extend(sum.map(|sum| (load.clone(), sum)));
        }
    }
    for &i in &order {
        let mut told = |progress: Progress<'_>| observer(Event::Progress(&sides[i].name, progress));
        up[i].verify_again(&mut told).map_err(failed(i))?;
    }
    let bouts = up.into_iter().zip(measured).map(|(up, parts)| Bout {
        parts,
        command: up.command(),
        started,
        durations: up.take_down(),
    });
    Ok(Some(bouts.collect()))
}
