//! Capacity: the highest rate that a server keeps within limits, its latency below that, and what it does
//! beyond it.

pub mod overload;

use crate::contract::Depth;
use crate::duel::{Manner, label};
use crate::event::{Event, Journal, JournalError, Observer};
use crate::generator::Generator;
use crate::host::Host;
use crate::recording::{Slot, Whole, findings};
use crate::side::Side;
use crate::trial::{Lab, Measured, Progress, Up};
use jiff::Timestamp;
use prony_record::service::{Known, Limits, Outcome, Overload, RateStep, Unclear};
use prony_record::{Durations, Failure, Finding, Load, Percentiles};
use prony_verdict::capacity::{
    CONTRADICTS, CURVE, Next, POINT_TRIES, Search, Shown, capacity, first_rate, judge, round,
};
use std::time::Duration;

/// Checks about the host and the generator. Of a trial that the server broke only these are told: the
/// others say in their own way that it was too much, as it was meant to be.
const OF_THE_HOST: [&str; 6] = [
    "noisy-host",
    "schedule-lag",
    "generator-saturated",
    "co-located",
    "wrong-answers",
    "unsolicited",
];

/// A capacity search.
#[derive(Debug)]
pub struct Capacity<'a, H, G> {
    /// With what it is measured.
    pub lab: Lab<'a, H, G>,
    /// The server.
    pub side: &'a Side,
    /// How it is loaded; the duration is that of a trial while searching.
    pub manner: &'a Manner,
    /// What is to be kept.
    pub limits: Limits,
    /// Up to which share of the capacity, above 1, it is loaded beyond it; none: not beyond it.
    pub beyond: Option<f64>,
}

/// What a search has found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The highest rate that is kept, in requests per second; none if no rate is, if it is not known, or
    /// if the user interrupted the search.
    pub capacity: Option<f64>,
    /// Between which rates it lies.
    pub known: Known,
    /// What the checks found.
    pub checks: Vec<Finding>,
    /// Every rate that was tried, in order.
    pub steps: Vec<RateStep>,
    /// Latency at parts of the capacity, or else of the highest rate that is known to be kept.
    pub curve: Vec<RateStep>,
    /// What it does beyond that.
    pub beyond: Vec<Overload>,
}

/// What can end a search before its time.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// The server failed.
    #[error(transparent)]
    Server(#[from] Failure),
    /// It failed at a rate.
    #[error("at {rate:.0} requests/s: {failure}")]
    Rate {
        /// The rate.
        rate: f64,
        /// At which step, and why.
        failure: Failure,
    },
    /// What was measured could not be kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A search under way.
struct Session<'a, 'o, H: Host, G> {
    capacity: &'a Capacity<'a, H, G>,
    up: Up<'a, H, G>,
    journal: &'a mut dyn Journal,
    observer: Observer<'o>,
    /// Trials that were recorded.
    recorded: u32,
    steps: Vec<RateStep>,
    /// What the checks found, each once, and in how many steps.
    raised: Vec<(Finding, u32)>,
}

impl<H: Host, G: Generator> Capacity<'_, H, G> {
    /// Carries it out, until it is done or the user interrupts it. Every trial is recorded.
    ///
    /// # Errors
    /// When the server fails, or what was measured cannot be kept.
    pub fn carry_out(
        &self,
        journal: &mut dyn Journal,
        observer: Observer<'_>,
    ) -> Result<Found, CapacityError> {
        let Manner {
            ask,
            load,
            given,
        } = self.manner;
        let duration = given.duration.unwrap_or(Duration::from_secs(2));
        let name = &self.side.name;
        let mut told = |progress: Progress<'_>| observer(Event::Progress(name, progress));
        let brought = self
            .lab
            .bring_up(self.side, ask, None, load, Depth::Full, &mut told)
            .and_then(|mut up| {
                up.warm_up(&part_of(load, None, crate::duel::WINDOW), &mut told)?;
                Ok(up)
            });
        let up = match brought {
            Err(_) if self.lab.interrupt.fired() => return Ok(Found::default()),
            other => other?,
        };
        let session = Session {
            capacity: self,
            up,
            journal,
            observer,
            recorded: 0,
            steps: Vec::new(),
            raised: Vec::new(),
        };
        session.carry_out(duration)
    }

    fn judge(&self, rate: f64, measured: &Measured, checks: &[Finding]) -> RateStep {
        let times = &measured.seen.times;
        let judged = judge(
            &self.limits,
            &Shown {
                rate,
                seconds: measured.seen.seconds(),
                response: &times.response,
                late: &times.late,
                outcomes: &measured.seen.outcomes,
                resources: &measured.used,
                checks,
            },
        );
        RateStep {
            rate,
            seconds: measured.seen.seconds(),
            achieved: measured.seen.throughput(),
            limited: judged.limited,
            latency: Percentiles::of(&times.response)
                .with_intervals(&times.response, &times.effective),
            errors: judged.errors,
            cpu_us_per_request: measured.cpu_per_request().map(|ns| ns / 1e3),
            kept: judged.broken.is_empty(),
            broken: judged.broken,
            unclear: judged.unclear,
        }
    }
}

impl<H: Host, G: Generator> Session<'_, '_, H, G> {
    fn carry_out(mut self, length: Duration) -> Result<Found, CapacityError> {
        let percentile = self.capacity.limits.highest_percentile();
        let mut search = Search::from(first_rate(percentile, length.as_secs_f64()));
        let mut curve = Vec::new();
        let mut whole = self.search(&mut search, length)?;
        while whole {
            let Some(low) = search.known().low else { break };
            let (points, contradiction) = self.curve(&mut search, low, length * 2)?;
            curve = points;
            whole = !self.capacity.lab.interrupt.fired();
            match contradiction {
                // What was found is not what it keeps: goes on below, and shows the latency below that.
                Some(rate) if whole && search.take_back(rate) => {
                    whole = self.search(&mut search, length)?;
                }
                _ => break,
            }
        }
        let known = search.known();
        // What is above belongs to a capacity that was taken back.
        curve.retain(|step| known.low.is_some_and(|low| step.rate < low));
        let beyond = match (known.low, self.capacity.beyond) {
            (Some(low), Some(most)) if whole => self.beyond(low, most, length * 2)?,
            _ => Vec::new(),
        };
        if whole {
            self.verify_again()?;
        }
        Ok(Found {
            capacity: capacity(&known).filter(|_| whole),
            known,
            checks: self.checks(),
            steps: self.steps,
            curve,
            beyond,
        })
    }

    /// Proves, after all loads, that it still answers as it must.
    fn verify_again(&mut self) -> Result<(), Failure> {
        let (observer, name) = (&mut self.observer, &self.capacity.side.name);
        let mut told = |progress: Progress<'_>| observer(Event::Progress(name, progress));
        self.up.verify_again(&mut told)
    }

    /// Tries rates until the search is over; false when the user has interrupted it.
    fn search(&mut self, search: &mut Search, length: Duration) -> Result<bool, CapacityError> {
        while let Next::Try { rate, long } = search.next() {
            let length = if long { length * 2 } else { length };
            let Some(step) = self.try_rate(rate, length)? else {
                return Ok(false);
            };
            search.tried(step.outcome());
            let (least, most) = search.between();
            (self.observer)(Event::Between(least, most));
        }
        Ok(true)
    }

    /// The latency at parts of a rate, up to the first that the server breaks, which contradicts it.
    fn curve(
        &mut self,
        search: &mut Search,
        top: f64,
        length: Duration,
    ) -> Result<(Vec<RateStep>, Option<f64>), CapacityError> {
        let mut points = Vec::new();
        for part in CURVE {
            let rate = round(top * part);
            let Some((step, broken)) = self.point(search, rate, length)? else {
                break;
            };
            if broken && part >= CONTRADICTS {
                return Ok((points, Some(rate)));
            }
            points.push(step);
        }
        Ok((points, None))
    }

    /// A part of the capacity, tried again a few times while it is not kept: once may be an accident. And
    /// whether the server broke it in the end. None when the user has interrupted it.
    fn point(
        &mut self,
        search: &mut Search,
        rate: f64,
        length: Duration,
    ) -> Result<Option<(RateStep, bool)>, CapacityError> {
        let mut broken = false;
        for tries in 1.. {
            let Some(step) = self.try_rate(rate, length)? else {
                break;
            };
            search.note(rate, step.outcome());
            broken |= step.outcome() == Outcome::Broken;
            let few = step.unclear == Some(Unclear::TooFewAnswers);
            if step.kept || few || tries >= POINT_TRIES {
                let broken = broken && !step.kept;
                return Ok(Some((step, broken)));
            }
        }
        Ok(None)
    }

    /// One trial at a rate; none when interrupted.
    fn try_rate(&mut self, rate: f64, length: Duration) -> Result<Option<RateStep>, CapacityError> {
        let Some((measured, found)) = self.measure(rate, length, None)? else {
            return Ok(None);
        };
        let step = self.capacity.judge(rate, &measured, &found);
        self.raise(&step, found);
        (self.observer)(Event::Tried(&step));
        self.steps.push(step.clone());
        Ok(Some(step))
    }

    /// Keeps what the checks found in a step, unless it only says that the rate was too much.
    fn raise(&mut self, step: &RateStep, found: Vec<Finding>) {
        let any = step.outcome() != Outcome::Broken;
        for finding in found {
            let name = finding.name.as_str();
            if name == "rate-missed" || !(any || OF_THE_HOST.contains(&name)) {
                continue;
            }
            match self.raised.iter_mut().find(|(same, _)| same.name == name) {
                Some((_, times)) => *times += 1,
                None => self.raised.push((finding, 1)),
            }
        }
    }

    /// What the checks found, and in how many trials.
    fn checks(&self) -> Vec<Finding> {
        let all = self.steps.len();
        let told = |(finding, times): &(Finding, u32)| Finding {
            text: format!("in {times} of {all} trials: {}", finding.text),
            ..finding.clone()
        };
        self.raised.iter().map(told).collect()
    }

    /// Loads it at a rate and records that; none when interrupted. `name`: what the load is called when it
    /// says nothing about the capacity.
    fn measure(
        &mut self,
        rate: f64,
        length: Duration,
        name: Option<&str>,
    ) -> Result<Option<(Measured, Vec<Finding>)>, CapacityError> {
        let Capacity {
            lab, side, manner, ..
        } = self.capacity;
        if lab.interrupt.fired() {
            return Ok(None);
        }
        (self.observer)(Event::Trying(rate, length));
        let load = Load {
            name: name.map(str::to_owned),
            ..part_of(&manner.load, Some(rate), length)
        };
        let started = Timestamp::now();
        let observer = &mut self.observer;
        let mut told = |progress: Progress<'_>| observer(Event::Progress(&side.name, progress));
        let measured = self
            .up
            .measure(&load, &mut told)
            .map_err(|failure| CapacityError::Rate { rate, failure })?;
        if lab.interrupt.fired() {
            return Ok(None);
        }
        let found = findings(
            &load,
            &measured,
            side.workers(),
            lab.host.placement(),
            Whole::Part,
        );
        let slot = Slot {
            ordinal: self.recorded,
            round: self.recorded,
            server: side.name.clone(),
            workers: 1,
            cell: match name {
                Some(name) => format!("{name} {}", label(&load)),
                None => label(&load),
            },
            load: Load {
                contract: Some(manner.ask.to_string()),
                over: side.over(),
                key: side.key.unwrap_or_default(),
                ..load
            },
            started,
            command: self.up.command(),
            version: side.version().to_owned(),
            rig: None,
        };
        let recording = slot.recording(&measured, Durations::default(), found.clone(), false);
        self.journal.add(&recording)?;
        self.recorded += 1;
        Ok(Some((measured, found)))
    }
}

fn part_of(load: &Load, rate: Option<f64>, length: Duration) -> Load {
    Load {
        rate,
        extent: prony_record::Extent::Duration(prony_record::Span(length)),
        ..load.clone()
    }
}
