//! Recordings of trials, and the findings of the checks in them.

use crate::placement::Placement;
use crate::trial::MeasuredTrial;
use jiff::Timestamp;
use prony_checks::{Evidence, examine};
use prony_record::by_request::RequestReport;
use prony_record::by_session::SessionReport;
use prony_record::trial::Figures;
use prony_record::{
    AddressShare, CheckId, CpuQuota, Durations, Failure, Finding, HostShare, Load, Measurement,
    MedianAndP99, Observation, Recording, ServiceUse, Step, StreamFigures, Trial, TrialStatus,
};

/// A trial's place in its run, and what it is a trial of.
#[derive(Debug, Clone)]
pub struct TrialHeader {
    /// Place of the trial in its run, from 0.
    pub ordinal: u32,
    /// Round of the trial, from 0.
    pub round: u32,
    /// The server's name, or the side's.
    pub server: String,
    /// Number of the server's workers.
    pub workers: u32,
    /// The load.
    pub load: Load,
    /// The load's label.
    pub cell: String,
    /// When it began.
    pub started: Timestamp,
    /// The server's command line.
    pub command: String,
    /// Version of the server, such as that of its runtime, its image or its commit; empty when it is not known.
    pub version: String,
    /// The rig that it is measured on, where there are several.
    pub rig: Option<String>,
}

/// Role of a trial in its run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// A measurement that stands for itself.
    All,
    /// One short part of many: how many there are decides whether there were enough.
    Partial,
}

/// Checks that judge how long was measured: in a duel the number of rounds decides that.
const OF_LENGTH: [CheckId; 2] = [CheckId::TooShort, CheckId::TooFewSamples];

/// Server and generator that together use a larger share of their CPUs than this take time from each other.
const FULL: f64 = 0.9;

/// Returns the findings of the checks in a measurement. `workers` is the number of the server's workers, if prony has
/// started it.
pub fn findings(
    load: &Load,
    measured: &MeasuredTrial,
    workers: Option<u32>,
    placement: &Placement,
    scope: Scope,
) -> Vec<Finding> {
    // A server that runs already may keep one CPU busy; whether it can keep more busy is not known.
    let cpus = placement.server.len().min(workers.unwrap_or(1) as usize) as f64;
    let quota = placement.limits.cpus.map(CpuQuota::cpus);
    let cpus = quota.map_or(cpus, |quota| cpus.min(quota));
    let [server_nodes, generator_nodes] = placement.nodes();
    let mut evidence = Evidence {
        warmed_up: Some(measured.warm_up.steady),
        workers,
        server_cpus: Some(placement.server.len() as u32),
        // The CPUs of a server that runs already are not divided: what counts is whether they sufficed for both.
        co_located: Some(
            placement.co_located() && (workers.is_some() || used(measured, placement) > FULL),
        ),
        shared_cores: placement.shared_cores(),
        server_nodes,
        generator_nodes,
        at_rest: measured.rested.cpus(),
        statements: statements(measured),
        ..Evidence::of(load, &measured.seen).with_resources(&measured.used, cpus)
    };
    if measured.used.watched_ns == 0 && !measured.seen.by_host.is_empty() {
        // Neither end of the connections is here.
        evidence.tcp = None;
    }
    if scope == Scope::Partial {
        // Its windows lie apart, with the other sides' between them: they show no course over time.
        evidence.window_rates.clear();
    }
    let mut found = examine(&evidence);
    if scope == Scope::Partial {
        found.retain(|finding| !OF_LENGTH.contains(&finding.name));
    }
    found
}

/// Statements per second that right answers need at the least, and those that databases counted; None where there are none
/// of the one, or no counts.
fn statements(measured: &MeasuredTrial) -> Option<(f64, f64)> {
    let services = measured.used.services.values();
    let counted = services.filter_map(ServiceUse::statement_rate);
    let counted = counted.reduce(|a, b| a + b)?;
    let needed = measured.least_statements as f64 / measured.seen.seconds();
    (needed > 0.0).then_some((needed, counted))
}

/// The share of their CPUs that server and generator used, 0 to 1; 0 where nothing was watched.
fn used(measured: &MeasuredTrial, placement: &Placement) -> f64 {
    let (seen, used) = (&measured.seen, &measured.used);
    let time = used.watched_ns as f64 * placement.all().len() as f64;
    if time == 0.0 {
        return 0.0;
    }
    let generator = seen.generator.work_ns + seen.generator.spin_ns;
    let ours = used.server_cpu_ns + used.upstream_cpu_ns + used.services_cpu_ns() + generator;
    ours as f64 / time
}

impl TrialHeader {
    /// Returns the recording of a measurement.
    #[must_use]
    pub fn recording(
        &self,
        measured: &MeasuredTrial,
        durations: Durations,
        checks: Vec<Finding>,
        interrupted: bool,
    ) -> Recording {
        let (seen, used) = (&measured.seen, &measured.used);
        let figures = Figures::of(seen, used);
        let observation = Measurement {
            outcomes: seen.outcomes.clone(),
            ends: seen.ends,
            backlog: seen.backlog,
            pool: seen.pool,
            generator: seen.generator.clone(),
            resources: used.clone(),
            durations: Durations {
                warmup_ns: measured.warm_up.length,
                measured_ns: seen.measured_ns,
                ..durations
            },
            warmed_up: measured.warm_up.steady,
            errors: seen.errors.clone(),
            wrong_answers: seen.wrong_answers.clone(),
            unsolicited: seen.unsolicited.clone(),
            tls: seen.tls.clone(),
            requests: RequestReport::all(&seen.by_request),
            sessions: SessionReport::all(&seen.by_session),
            first_byte: MedianAndP99::of_first_bytes(seen),
            good: seen.good,
            streams: StreamFigures::of(seen),
            idle: seen.idle,
            per_connection: seen.per_connection_range(),
            addresses: seen.by_address.iter().map(AddressShare::from).collect(),
            generators: seen.by_host.iter().map(HostShare::from).collect(),
            rig: self.rig.clone(),
            checks,
        };
        let (status, failure) = match (interrupted, figures.throughput.is_some()) {
            (true, _) => (TrialStatus::Interrupted, None),
            (false, true) => (TrialStatus::Ok, None),
            (false, false) => (
                TrialStatus::Failed,
                Some(Failure::new(Step::Load, no_answer(seen))),
            ),
        };
        Recording {
            trial: Trial {
                status,
                failure,
                figures,
                observation: Some(observation),
                ..self.blank()
            },
            windows: seen.windows.clone(),
            histograms: seen.times.clone(),
        }
    }

    /// A trial that failed, or was not tried, as it is recorded.
    #[must_use]
    pub fn failed(&self, status: TrialStatus, failure: Failure) -> Recording {
        Recording {
            trial: Trial {
                status,
                failure: Some(failure),
                ..self.blank()
            },
            windows: Vec::new(),
            histograms: prony_record::Distributions::default(),
        }
    }

    fn blank(&self) -> Trial {
        Trial {
            ordinal: self.ordinal,
            round: self.round,
            server: self.server.clone(),
            workers: Some(self.workers),
            load: self.load.clone(),
            cell: self.cell.clone(),
            status: TrialStatus::Skipped,
            failure: None,
            started: self.started,
            command_line: self.command.clone(),
            server_version: Some(self.version.clone()).filter(|version| !version.is_empty()),
            figures: Figures::default(),
            observation: None,
        }
    }
}

/// Describes a load without a right answer: how the requests ended, the errors, the first wrong answer, and the first
/// bytes that came unasked.
pub(crate) fn no_answer(seen: &Observation) -> String {
    let kinds = seen
        .outcomes
        .failures()
        .map(|(kind, n)| format!("{kind} {n}"));
    let errors = seen.errors.iter().map(|(text, n)| format!("{text} ×{n}"));
    let wrong = seen.wrong_answers.first();
    let wrong = wrong.map(|text| format!("the first wrong one: {text}"));
    let unasked = seen.unsolicited.first();
    let unasked = unasked.map(|text| format!("the first bytes that came unasked: {text}"));
    let told = kinds.chain(errors).chain(wrong).chain(unasked);
    let list: Vec<String> = told.collect();
    let outcomes = &seen.outcomes;
    if outcomes.failed() == 0 && seen.streams.open > 0 {
        return format!(
            "no stream ended: {} were open at the end of the measurement of {:.2} s, with {} events; \
             say when prony ends them",
            seen.streams.open,
            seen.seconds(),
            seen.streams.events
        );
    }
    if outcomes.failed() == 0 && outcomes.in_flight_at_end > 0 {
        return prony_record::observation::none_answered(outcomes, seen.seconds());
    }
    let plain = "no request was answered as expected";
    match list.as_slice() {
        [] => plain.into(),
        list => format!("{plain}: {}", list.join("; ")),
    }
}
