//! Capacity: the highest rate that a server keeps within limits, its latency below that, and what it does
//! beyond it.
//!
//! A pilot gives the first guess. Then the server is started several times, and each start climbs from rate to rate until it
//! breaks a limit ([`prony_verdict::capacity`]). One more start shows the latency at parts of the capacity, and whether the server
//! still keeps them after an overload.

mod curve;
pub mod overload;

use crate::contract::Depth;
use crate::duel::{LoadSpec, label};
use crate::event::{Event, Journal, JournalError, Observer};
use crate::pilot::pilot;
use crate::recording::{Scope, TrialHeader, findings};
use crate::side::{Side, What};
use crate::trial::{Beside, Lab, MeasuredTrial, Progress, Up};
use crate::warmup::{ANSWERS, LEAD_IN};
use jiff::Timestamp;
use prony_record::design::{Pilot, Segment};
use prony_record::load::Assignment;
use prony_record::service::{
    AfterOverload, CapacityBounds, Limits, Overload, RateOutcome, RateStep,
};
use prony_record::{
    CheckId, Design, Durations, Extent, Failure, Finding, Load, Percentiles, Phase, Span, Window,
};
use prony_verdict::capacity::{
    Next, RateMeasurements, RateTrial, Search, is_hopeless, judge, lowest_rate, needed,
};
use prony_verdict::design::{connections_for, highest};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Checks about the host and the generator. Of a trial that the server broke only these are told: the
/// others say in their own way that it was too much, as it was meant to be.
const OF_THE_HOST: [CheckId; 8] = [
    CheckId::NoisyHost,
    CheckId::ScheduleLag,
    CheckId::GeneratorSaturated,
    CheckId::CoLocated,
    CheckId::SmtShared,
    CheckId::NumaCrossed,
    CheckId::WrongAnswers,
    CheckId::Unsolicited,
];
/// A trial lasts for so long, unless the user says otherwise; or longer where answers are slow or few.
pub const TRIAL: Duration = Duration::from_secs(6);
/// While the search does not know where to look it lasts for one part of that.
const ROUGH: u32 = 3;
/// A trial lasts for so many times the longest latency limit: a server that is a little too slow for its rate breaks the limit only
/// when its queue has grown to that, and where requests vary, queues grow to it now and then.
const LIMITS: f64 = 30.0;
/// No trial is made longer than this for the sake of its percentiles and its limits.
const LONGEST: Duration = Duration::from_secs(30);
/// The part of what a server reaches in a closed loop that is tried first.
const GUESS: f64 = 0.7;
/// No trial begins with fewer connections, unless the user says so: clients do not share one.
const LEAST_CONNECTIONS: u32 = 16;
/// At a high rate an answer takes longer than alone: so much longer where it is not known.
const BUSY: u32 = 3;
/// No lead-in is shorter: connections are spread by then.
const LEAST_LEAD_IN: Duration = Duration::from_millis(50);
/// Lengths of a trial that the curve takes about.
const CURVE: u32 = 6;
/// A server that prony does not start rests for so long after it was overloaded.
const REST: Duration = Duration::from_secs(1);

/// A capacity search.
#[derive(Debug)]
pub struct Capacity<'a> {
    /// With what it is measured.
    pub lab: Lab<'a>,
    /// The server.
    pub side: &'a Side,
    /// How it is loaded; the duration is that of a trial.
    pub spec: &'a LoadSpec,
    /// The most connections that a rate may need.
    pub max_connections: u32,
    /// Limits that the server must keep.
    pub limits: Limits,
    /// Starts of the server whose capacity is bracketed, at least 1.
    pub starts: u32,
    /// Up to which share of the capacity, above 1, it is loaded beyond it; none: not beyond it.
    pub beyond: Option<f64>,
    /// No trial is begun that would end after this; none: as long as it takes.
    pub max_time: Option<Duration>,
}

/// Result of a search.
#[derive(Debug, Clone, Default)]
pub struct CapacityResult {
    /// The rate at which the median start is just at the limits, in requests per second; none if no rate is kept, if it is not known,
    /// or if the user interrupted the search.
    pub capacity: Option<f64>,
    /// Confidence interval of the capacity, or the rates that bound it.
    pub known: CapacityBounds,
    /// Result of the pilot; none if the user interrupted it.
    pub pilot: Option<Pilot>,
    /// Findings of the checks.
    pub checks: Vec<Finding>,
    /// Every rate that was tried, in order.
    pub steps: Vec<RateStep>,
    /// Latency at parts of the capacity, or else of the highest rate that is known to be kept.
    pub curve: Vec<RateStep>,
    /// Rates that the server keeps after an overload, without a restart; none where that was not tried, or interrupted.
    pub after_overload: Option<AfterOverload>,
    /// Behaviour at each rate beyond the capacity; empty if none was tried.
    pub beyond: Vec<Overload>,
    /// The time limit ended the search before its end.
    pub timed_out: bool,
}

/// Reasons for a search to end before its time.
#[derive(Debug, thiserror::Error)]
pub enum CapacityError {
    /// The server failed.
    #[error(transparent)]
    Server(#[from] Failure),
    /// The server failed at a rate.
    #[error("at {rate:.0} requests/s: {failure}")]
    Rate {
        /// The rate.
        rate: f64,
        /// At which step, and why.
        failure: Failure,
    },
    /// The journal could not keep the results.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A search under way.
struct CapacitySearch<'a, 'o> {
    capacity: &'a Capacity<'a>,
    pilot: Pilot,
    up: Option<Up<'a>>,
    journal: &'a mut dyn Journal,
    observer: Observer<'o>,
    /// Trials that were recorded.
    recorded: u32,
    /// No trial is begun that would end after this.
    deadline: Option<Instant>,
    /// How long an answer takes, as far as is known: in the last trial that was kept.
    response: Duration,
    steps: Vec<RateStep>,
    /// Findings of the checks, each once, with the number of steps that raised it.
    raised: Vec<(Finding, u32)>,
}

impl Capacity<'_> {
    /// Carries it out, until it is done or the user interrupts it. Every trial is recorded.
    ///
    /// # Errors
    /// When the server fails, or what was measured cannot be kept.
    pub fn carry_out(
        &self,
        journal: &mut dyn Journal,
        observer: Observer<'_>,
    ) -> Result<CapacityResult, CapacityError> {
        let name = &self.side.name;
        let mut on_progress = |progress: Progress<'_>| observer(Event::Progress(name, progress));
        let begun = Instant::now();
        let spec = self.spec;
        let brought = self
            .lab
            .bring_up(
                self.side,
                &spec.workload,
                None,
                &spec.load,
                Depth::Full,
                &mut on_progress,
            )
            .and_then(|mut up| {
                let load = &spec.load;
                let seen = pilot((&mut up, begun), name, load, &spec.given, &mut on_progress)?;
                Ok((up, seen))
            });
        let (up, pilot) = match brought {
            _ if self.lab.interrupt.fired() => return Ok(CapacityResult::default()),
            other => other?,
        };
        observer(Event::Piloted(&pilot));
        let session = CapacitySearch {
            capacity: self,
            deadline: self.max_time.map(|time| begun + time),
            response: Duration::from_nanos(pilot.alone_ns),
            pilot,
            up: Some(up),
            journal,
            observer,
            recorded: 0,
            steps: Vec::new(),
            raised: Vec::new(),
        };
        session.carry_out()
    }

    fn judge(
        &self,
        (start, rate): (u32, f64),
        measured: &MeasuredTrial,
        checks: &[Finding],
    ) -> RateStep {
        let times = &measured.seen.times;
        let judged = judge(
            &self.limits,
            &RateMeasurements {
                rate,
                seconds: measured.seen.seconds(),
                times: &|of| times.timed(of),
                good: measured.seen.good,
                late: &times.late,
                outcomes: &measured.seen.outcomes,
                resources: &measured.used,
                checks,
            },
        );
        RateStep {
            start,
            rate,
            seconds: measured.seen.seconds(),
            achieved: measured.seen.throughput(),
            limited: judged.limited,
            latency: Percentiles::of(&times.response, measured.seen.outcomes.untimed())
                .with_intervals(&times.response, &times.effective),
            good: judged.good,
            errors: judged.errors,
            excess: judged.excess,
            cpu_us_per_request: measured.cpu_per_request().map(|ns| ns / 1e3),
            services: (measured.used)
                .service_costs(measured.seen.served(), measured.seen.measured_ns),
            kept: judged.broken.is_empty(),
            broken: judged.broken,
            unclear: judged.unclear,
        }
    }

    /// How long a trial is of those that decide.
    fn trial(&self) -> Duration {
        self.spec.given.duration.unwrap_or(TRIAL)
    }

    /// Is it started by prony, so that it can be started anew?
    fn starts(&self) -> bool {
        matches!(self.side.what, What::Started { .. })
    }
}

impl CapacitySearch<'_, '_> {
    fn carry_out(mut self) -> Result<CapacityResult, CapacityError> {
        let percentile = self.capacity.limits.highest_percentile();
        let longest = LONGEST.max(self.capacity.trial()).as_secs_f64();
        let guess = GUESS * highest(&self.pilot);
        let mut search = match self.is_impossible() {
            // One trial shows it: more of them, at lower rates, would take long and show the same.
            true => Search::once(guess),
            false => Search::from(guess, lowest_rate(percentile, longest)),
        }
        .of_starts(self.capacity.starts);
        let mut whole = self.search(&mut search)?;
        let in_time = self.has_time_for(Duration::ZERO);
        let for_curve = self.has_time_for(CURVE * self.capacity.trial());
        let (mut curve, mut after_overload) = (Vec::new(), None);
        let top = |search: &Search| {
            let known = search.known();
            known.estimate.or(known.low)
        };
        if let Some(top) = top(&search).filter(|_| whole && for_curve) {
            whole = self.begin()?;
            if whole {
                let start = search.start() + 1;
                (curve, after_overload) = self.curve(&mut search, start, top)?;
                whole = !self.capacity.lab.interrupt.fired();
            }
        }
        let known = search.known();
        let beyond = match (top(&search), self.capacity.beyond) {
            (Some(top), Some(most)) if whole && for_curve && self.begin()? => {
                self.beyond(top, most)?
            }
            _ => Vec::new(),
        };
        if let Some(up) = self.up.as_mut().filter(|_| whole) {
            // After all loads it must still answer as it must.
            let (observer, name) = (&mut self.observer, &self.capacity.side.name);
            up.verify_again(&mut |progress| observer(Event::Progress(name, progress)))?;
        }
        // What is above belongs to a capacity that the curve has corrected.
        curve.retain(|step| {
            known
                .estimate
                .or(known.low)
                .is_some_and(|top| step.rate < top)
        });
        Ok(CapacityResult {
            capacity: known.estimate.filter(|_| whole),
            known,
            checks: self.checks(),
            pilot: Some(self.pilot),
            steps: self.steps,
            curve,
            after_overload,
            beyond,
            timed_out: !in_time,
        })
    }

    /// Is there time for so much more?
    fn has_time_for(&self, length: Duration) -> bool {
        self.deadline
            .is_none_or(|deadline| Instant::now() + length < deadline)
    }

    /// Does one request alone take longer than a limit allows for most of them?
    fn is_impossible(&self) -> bool {
        let alone = self.pilot.alone_ns as f64 / 1e6;
        let limits = self.capacity.limits.latency.iter();
        limits
            .filter(|limit| limit.percentile >= 50.0 && limit.of.is_response())
            .any(|limit| limit.within_ms < alone)
    }

    /// Starts the server anew, and warms it up; one that prony does not start rests. False: interrupted.
    fn begin(&mut self) -> Result<bool, CapacityError> {
        let Capacity {
            lab, side, spec, ..
        } = self.capacity;
        if lab.interrupt.fired() {
            return Ok(false);
        }
        let warm_up = self.warm_up();
        let (observer, name) = (&mut self.observer, &side.name);
        let mut on_progress = |progress: Progress<'_>| observer(Event::Progress(name, progress));
        if !self.capacity.starts() {
            std::thread::sleep(REST);
            return Ok(!lab.interrupt.fired());
        }
        if let Some(up) = self.up.take() {
            up.take_down();
        }
        let up = lab.bring_up(
            side,
            &spec.workload,
            None,
            &spec.load,
            Depth::Quick,
            &mut on_progress,
        );
        let up = up.and_then(|mut up| {
            up.warm_up(&warm_up, &mut on_progress)?;
            Ok(up)
        });
        match up {
            _ if lab.interrupt.fired() => Ok(false),
            Ok(up) => {
                self.up = Some(up);
                Ok(true)
            }
            Err(failure) => Err(failure.into()),
        }
    }

    /// Load of a warm-up: as fast as responses come, over as many connections as the pilot tried last.
    fn warm_up(&self) -> Load {
        let spec = self.capacity.spec;
        let last = self.pilot.steps.last().map_or(1, |step| step.connections);
        Load {
            connections: last,
            threads: self.pilot.threads.clamp(1, last.max(1)),
            warmup: Span(spec.given.warmup.unwrap_or(spec.load.warmup.0)),
            window: Span(crate::duel::WINDOW),
            ..spec.load.clone()
        }
    }

    /// Tries rates until the search or its time is over; false when the user has interrupted it.
    fn search(&mut self, search: &mut Search) -> Result<bool, CapacityError> {
        loop {
            match search.next() {
                Next::Over => return Ok(true),
                _ if !self.has_time_for(self.capacity.trial() / ROUGH) => {
                    // So that what comes after finds no time either.
                    self.deadline = Some(Instant::now());
                    return Ok(true);
                }
                Next::Restart => {
                    if !self.begin()? {
                        return Ok(false);
                    }
                    search.restarted();
                }
                Next::Try(rate) => {
                    let length = match search.is_near() {
                        true => self.capacity.trial(),
                        false => self.capacity.trial() / ROUGH,
                    };
                    let Some(step) = self.try_rate((search.start(), rate), length)? else {
                        return Ok(false);
                    };
                    search.tried(RateTrial::from(&step));
                    let known = search.known();
                    (self.observer)(Event::Between(known.low, known.high));
                }
            }
        }
    }

    /// One trial at a rate, on a start; none when interrupted.
    fn try_rate(
        &mut self,
        at: (u32, f64),
        length: Duration,
    ) -> Result<Option<RateStep>, CapacityError> {
        let Some((measured, found)) = self.measure(at, length, None)? else {
            return Ok(None);
        };
        let step = self.capacity.judge(at, &measured, &found);
        if step.kept && !measured.seen.times.response.is_empty() {
            let median = measured.seen.times.response.value_at_quantile(0.5);
            self.response = Duration::from_nanos(median);
        }
        self.raise(&step, found);
        (self.observer)(Event::Tried(&step));
        self.steps.push(step.clone());
        Ok(Some(step))
    }

    /// Keeps what the checks found in a step, unless it only says that the rate was too much.
    fn raise(&mut self, step: &RateStep, found: Vec<Finding>) {
        let any = step.outcome() != RateOutcome::Broken;
        for finding in found {
            let check = finding.name;
            if check == CheckId::RateMissed || !(any || OF_THE_HOST.contains(&check)) {
                continue;
            }
            match self.raised.iter_mut().find(|(same, _)| same.name == check) {
                Some((_, times)) => *times += 1,
                None => self.raised.push((finding, 1)),
            }
        }
    }

    /// Findings of the checks, each with the number of trials that raised it.
    fn checks(&self) -> Vec<Finding> {
        let all = self.steps.len();
        let on_progress = |(finding, times): &(Finding, u32)| Finding {
            text: format!("in {times} of {all} trials: {}", finding.text),
            ..finding.clone()
        };
        self.raised.iter().map(on_progress).collect()
    }

    /// The load of a trial at a rate: long enough for its answers and its percentiles, over as many connections as it needs.
    fn load(&self, rate: f64, length: Duration) -> Load {
        let Capacity {
            spec,
            limits,
            max_connections,
            ..
        } = self.capacity;
        let alone = Duration::from_nanos(self.pilot.alone_ns);
        let response = self.response.clamp(alone, alone * BUSY);
        let few = Duration::try_from_secs_f64(needed(limits.highest_percentile()) / rate);
        let part = length.as_secs_f64() / self.capacity.trial().as_secs_f64();
        let limits = Duration::try_from_secs_f64(part * LIMITS * limits.longest_ms().0 / 1e3);
        let limits = limits.unwrap_or(LONGEST);
        let wanted = few.unwrap_or(LONGEST).max(limits).min(LONGEST);
        let given = &spec.given;
        let connections = given.connections.unwrap_or_else(|| {
            let needed = connections_for(rate, response.as_secs_f64());
            needed.clamp(LEAST_CONNECTIONS, *max_connections)
        });
        let segment = Segment {
            connections,
            lead_in: Span((response * LEAD_IN as u32).max(LEAST_LEAD_IN)),
            length: Span(length.max(response * ANSWERS as u32).max(wanted)),
        };
        let design = Design {
            pilots: Vec::new(),
            saturation: segment,
            at_rate: segment,
            rate: Some(rate),
            threads: self.pilot.threads,
            segments: 1,
            warmup: spec.load.warmup,
            timeout: Span(given.timeout.unwrap_or(spec.load.timeout.0)),
            paused: false,
            round: Span(Duration::ZERO),
            given: Vec::new(),
        };
        let shared = spec.load.assignment == Assignment::Any;
        Load {
            max_connections: shared.then_some((*max_connections).max(connections)),
            ..design.load(&spec.load, Some(rate))
        }
    }

    /// Loads it at a rate and records that; none when interrupted. `name`: what the load is called when it
    /// says nothing about the capacity.
    fn measure(
        &mut self,
        (start, rate): (u32, f64),
        length: Duration,
        name: Option<&str>,
    ) -> Result<Option<(MeasuredTrial, Vec<Finding>)>, CapacityError> {
        let Capacity {
            lab, side, spec, ..
        } = self.capacity;
        let mut load = Load {
            name: name.map(str::to_owned),
            ..self.load(rate, length)
        };
        if name == Some(overload::RECOVERY) {
            // How soon it recovers is seen from the beginning.
            load.lead_in = Span(Duration::ZERO);
        }
        let Some(up) = self.up.as_mut().filter(|_| !lab.interrupt.fired()) else {
            return Ok(None);
        };
        let seconds = match load.extent {
            Extent::Duration(span) => span.0,
            Extent::Requests(_) => length,
        };
        (self.observer)(Event::Trying(rate, seconds));
        let started = Timestamp::now();
        let observer = &mut self.observer;
        let mut on_progress =
            |progress: Progress<'_>| observer(Event::Progress(&side.name, progress));
        // Before the measurement, how many are unanswered when it begins.
        let before = Cell::new(0);
        let limits = &self.capacity.limits;
        let hopeless = |window: &Window| match window.phase {
            Phase::Warmup => {
                before.set(window.outstanding);
                false
            }
            Phase::Measure => {
                let asked = (rate, seconds.as_secs_f64());
                name.is_none() && is_hopeless(limits, asked, before.get(), window.outstanding)
            }
        };
        let beside = Beside {
            enough: &hopeless,
            ..Beside::default()
        };
        let measured = up
            .measure_beside(&load, &mut on_progress, &beside)
            .map_err(|failure| CapacityError::Rate { rate, failure })?;
        if lab.interrupt.fired() {
            return Ok(None);
        }
        let found = findings(
            &load,
            &measured,
            side.workers(),
            lab.host.placement(),
            Scope::Partial,
        );
        let header = TrialHeader {
            ordinal: self.recorded,
            // A start is to a search what a round is to a duel.
            round: start,
            server: side.name.clone(),
            workers: 1,
            cell: match name {
                Some(name) => format!("{name} {}", label(&load)),
                None => label(&load),
            },
            load: Load {
                contract: Some(spec.workload.to_string()),
                over: side.over(),
                key: side.key.unwrap_or_default(),
                ..load
            },
            started,
            command: up.command(),
            version: side.version().to_owned(),
            rig: None,
        };
        let recording = header.recording(&measured, Durations::default(), found.clone(), false);
        self.journal.add(&recording)?;
        self.recorded += 1;
        Ok(Some((measured, found)))
    }
}
