//! Capacity: the highest rate that a server keeps within limits, and its latency below that.

use crate::contract::Depth;
use crate::duel::{Manner, label, part_recording};
use crate::event::{Event, Journal, JournalError, Observer};
use crate::generator::Generator;
use crate::host::Host;
use crate::side::Side;
use crate::trial::{Lab, Measured, Progress, Slot, Up, Whole, findings, part_of};
use jiff::Timestamp;
use prony_record::service::{Limits, RateStep};
use prony_record::{Durations, Failure, Finding, Load, Percentiles};
use prony_stats::percentile::supported;
use prony_verdict::capacity::{CURVE, Next, Search, first_rate, round};
use std::time::Duration;

/// Checks that break a rate, besides its limits: the generator's own lateness is in the response times,
/// so the limit counts it already.
const BREAKING: [&str; 2] = ["rate-missed", "wrong-answers"];

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
}

/// What a search has found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The highest rate that is kept, in requests per second; none if no rate is, or if the user
    /// interrupted the search.
    pub capacity: Option<f64>,
    /// Every rate that was tried, in order.
    pub steps: Vec<RateStep>,
    /// Latency at parts of the capacity.
    pub curve: Vec<RateStep>,
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
    steps: Vec<RateStep>,
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
            duration,
        } = self.manner;
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
        let mut session = Session {
            capacity: self,
            up,
            journal,
            observer,
            steps: Vec::new(),
        };
        let found = session.search(*duration)?;
        let mut curve = Vec::new();
        for part in CURVE {
            let Some(capacity) = found else { break };
            match session.try_rate(round(capacity * part), *duration * 2)? {
                None => break,
                Some(step) => curve.push(step),
            }
        }
        Ok(Found {
            capacity: found,
            curve,
            steps: session.steps,
        })
    }

    fn judge(&self, rate: f64, measured: &Measured, checks: &[Finding]) -> RateStep {
        let times = &measured.seen.times.response;
        let Limits {
            percentile,
            within_ms,
            errors: tolerated,
        } = self.limits;
        let share = percentile / 100.0;
        let at = supported(times.len() as f64, share)
            .then(|| times.value_at_quantile(share) as f64 / 1e6);
        let outcomes = &measured.seen.outcomes;
        let finished = outcomes.finished().max(1) as f64;
        let errors = (finished - outcomes.ok as f64) / finished;
        let mut broken = Vec::new();
        match at {
            Some(ms) if ms <= within_ms => {}
            Some(ms) => broken.push(format!("p{percentile} was {ms:.3} ms")),
            None => broken.push(format!("too few answers for p{percentile}")),
        }
        if errors > tolerated {
            broken.push(format!("{:.2} % errors", errors * 100.0));
        }
        let raised = checks
            .iter()
            .filter(|check| BREAKING.contains(&check.name.as_str()));
        broken.extend(raised.map(|check| check.name.clone()));
        RateStep {
            rate,
            achieved: measured.seen.throughput(),
            at_percentile_ms: at,
            latency: Percentiles::of(times).with_intervals(times, &measured.seen.times.effective),
            errors,
            cpu_us_per_request: measured.cpu_per_request().map(|ns| ns / 1e3),
            kept: broken.is_empty(),
            broken,
        }
    }
}

impl<H: Host, G: Generator> Session<'_, '_, H, G> {
    /// The capacity; none when no rate is kept, or the user has interrupted it.
    fn search(&mut self, length: Duration) -> Result<Option<f64>, CapacityError> {
        let first = first_rate(self.capacity.limits.percentile, length.as_secs_f64());
        let mut search = Search::from(first);
        loop {
            let (rate, long) = match search.next() {
                Next::Found(found) => return Ok(found),
                Next::Try { rate, long } => (rate, long),
            };
            let length = if long { length * 2 } else { length };
            let Some(step) = self.try_rate(rate, length)? else {
                return Ok(None);
            };
            search.tried(step.kept);
            let (least, most) = search.between();
            (self.observer)(Event::Between(least, most));
        }
    }

    /// One trial at a rate; none when interrupted.
    fn try_rate(&mut self, rate: f64, length: Duration) -> Result<Option<RateStep>, CapacityError> {
        let Capacity {
            lab, side, manner, ..
        } = self.capacity;
        if lab.interrupt.fired() {
            return Ok(None);
        }
        (self.observer)(Event::Trying(rate, length));
        let load = part_of(&manner.load, Some(rate), length);
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
        let step = self.capacity.judge(rate, &measured, &found);
        let ordinal = self.steps.len() as u32;
        let slot = Slot {
            ordinal,
            round: ordinal,
            server: side.name.clone(),
            workers: 1,
            cell: label(&load),
            load: Load {
                contract: Some(manner.ask.to_string()),
                ..load
            },
            started,
            command: self.up.command(),
            version: side.version().to_owned(),
        };
        let recording = part_recording(&slot, &measured, Durations::default(), found);
        self.journal.add(&recording)?;
        (self.observer)(Event::Tried(&step));
        self.steps.push(step.clone());
        Ok(Some(step))
    }
}
