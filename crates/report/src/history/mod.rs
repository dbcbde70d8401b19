//! A cell over time: what the same server gave under the same load, run after run.
//!
//! Pure: [`cells`] sorts what the notebook has, [`change`] says what became of it.

pub mod change;

use jiff::Timestamp;
use prony_notebook::{PastRun, PastTrial, RunId, TrialId};
use prony_record::trial::label;
use std::collections::{BTreeMap, HashMap};

/// Measure of a cell that is examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Right answers per second.
    Throughput,
    /// The 99th percentile of the response time, in nanoseconds: the mean of the trials'.
    P99,
    /// CPU time of the server per request that was served, in nanoseconds.
    Cpu,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Throughput, Self::P99, Self::Cpu];

    /// A short name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::P99 => "p99",
            Self::Cpu => "cpu",
        }
    }

    /// Title of the measure, for people.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Throughput => "Throughput",
            Self::P99 => "p99 of the response time",
            Self::Cpu => "CPU time per request",
        }
    }
}

/// Figures of a cell in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct Visit {
    /// The run's number.
    pub run: i64,
    /// When the run began.
    pub started: Timestamp,
    /// The server's version, or the commit that it was built from; empty when that is not known.
    pub version: String,
    /// prony's version.
    pub prony: String,
    /// The kernel.
    pub kernel: String,
    /// Answers per second, by trial.
    pub throughput: Vec<f64>,
    /// The p99 in nanoseconds, of the trials that have one.
    pub p99: Vec<f64>,
    /// CPU nanoseconds per answer, of the trials that have it.
    pub cpu: Vec<f64>,
}

impl Visit {
    /// Values of a measure, by trial.
    pub fn values(&self, measure: Measure) -> &[f64] {
        match measure {
            Measure::Throughput => &self.throughput,
            Measure::P99 => &self.p99,
            Measure::Cpu => &self.cpu,
        }
    }
}

/// A server under a load in an experiment on a host, over all runs.
#[derive(Debug, Clone, PartialEq)]
pub struct CellHistory {
    /// The first trial of it, which names it.
    pub first: TrialId,
    /// The server's label.
    pub server: String,
    /// The load's label.
    pub load: String,
    /// The experiment's name.
    pub experiment: String,
    /// Contract or requests that the servers had to answer, in words.
    pub contract: String,
    /// The host's processor, processors and memory, and the limits of servers.
    pub host: String,
    /// The runs, in the order of their numbers.
    pub visits: Vec<Visit>,
}

impl CellHistory {
    /// Other changes from run to run, in words, in the order of runs. A change of the figures at the same place may be
    /// their effect.
    pub fn circumstances(&self) -> Vec<String> {
        let mut all = Vec::new();
        for pair in self.visits.windows(2) {
            let (old, new) = (&pair[0], &pair[1]);
            for (what, old, new_value) in [
                ("version", &old.version, &new.version),
                ("prony", &old.prony, &new.prony),
                ("kernel", &old.kernel, &new.kernel),
            ] {
                if old != new_value && !old.is_empty() && !new_value.is_empty() {
                    let day = new.started.strftime("%Y-%m-%d");
                    all.push(format!(
                        "{what} {new_value} since {day} (run {}), before that {old}",
                        new.run
                    ));
                }
            }
        }
        all
    }
}

/// The cells of these trials, those with the most runs first. Cells of different hosts (processor,
/// number of processors, memory), limits, experiments or contracts are different ones: their figures are no
/// history. Nor are those of capacity searches, which try rates.
pub fn cells(trials: &[PastTrial], runs: &HashMap<RunId, PastRun>) -> Vec<CellHistory> {
    type Key = (String, String, String, String, String);
    let mut cells: BTreeMap<Key, CellHistory> = BTreeMap::new();
    // A run is described once, not by each of its trials.
    let known: HashMap<RunId, (String, String)> = runs
        .iter()
        .map(|(id, run)| (*id, (host(run), run.experiment.contract.clone())))
        .collect();
    for trial in trials {
        // A run may have been removed between the two readings.
        let (Some(run), Some((host, contract))) = (runs.get(&trial.run), known.get(&trial.run))
        else {
            continue;
        };
        if run.experiment.service.is_some() {
            continue;
        }
        let server = label(&trial.server, trial.workers.unwrap_or(1));
        let key = (
            run.name.clone(),
            contract.clone(),
            server.clone(),
            trial.cell.clone(),
            host.clone(),
        );
        let cell = cells.entry(key).or_insert_with(|| CellHistory {
            first: trial.id,
            server,
            load: trial.cell.clone(),
            experiment: run.name.clone(),
            contract: contract.clone(),
            host: host.clone(),
            visits: Vec::new(),
        });
        let at = cell.visits.iter().rposition(|v| v.run == run.id.0);
        let at = at.unwrap_or_else(|| {
            cell.visits.push(Visit {
                run: run.id.0,
                started: run.started,
                version: trial.version.clone().unwrap_or_default(),
                prony: run.prony_version.clone(),
                kernel: run.host.kernel.clone(),
                throughput: Vec::new(),
                p99: Vec::new(),
                cpu: Vec::new(),
            });
            cell.visits.len() - 1
        });
        let visit = &mut cell.visits[at];
        visit.throughput.push(trial.throughput);
        visit.p99.extend(trial.p99_ns.map(|ns| ns as f64));
        visit.cpu.extend(trial.cpu_ns_per_request);
    }
    let mut all: Vec<CellHistory> = cells.into_values().collect();
    for cell in &mut all {
        cell.visits.sort_by_key(|visit| visit.run);
    }
    all.sort_by_key(|cell| std::cmp::Reverse(cell.visits.len()));
    all
}

/// The cell that this trial belongs to, of those that [`cells`] has made.
pub fn cell_of<'a>(
    cells: &'a [CellHistory],
    trial: &PastTrial,
    runs: &HashMap<RunId, PastRun>,
) -> Option<&'a CellHistory> {
    let run = runs.get(&trial.run)?;
    let contract = run.experiment.contract.clone();
    let host = host(run);
    let server = label(&trial.server, trial.workers.unwrap_or(1));
    cells.iter().find(|cell| {
        cell.server == server
            && cell.load == trial.cell
            && cell.experiment == run.name
            && cell.contract == contract
            && cell.host == host
    })
}

/// Properties that two hosts must have in common for their figures to be compared, as for a calibration. The kernel may
/// differ, and is reported.
fn host(run: &PastRun) -> String {
    let host = &run.host;
    let memory = crate::show::bytes(host.memory as f64);
    let limits = match run.experiment.limits {
        limits if limits.is_none() => String::new(),
        limits => format!(", servers {limits}"),
    };
    format!("{}, {} CPUs, {memory}{limits}", host.cpu, host.cpus)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::{Host, Subject};

    fn run(id: i64, name: &str, cpu: &str, prony: &str) -> (RunId, PastRun) {
        let run = PastRun {
            id: RunId(id),
            name: name.into(),
            started: Timestamp::from_second(86_400 * id).unwrap(),
            experiment: Subject {
                contract: "http-echo".into(),
                ..Subject::default()
            },
            host: Host {
                cpu: cpu.into(),
                cpus: 2,
                memory: 8 << 30,
                kernel: "Linux 6.1".into(),
                ..Host::default()
            },
            prony_version: prony.into(),
        };
        (RunId(id), run)
    }

    fn trial(id: i64, run: i64, workers: Option<u32>, rate: f64) -> PastTrial {
        PastTrial {
            id: TrialId(id),
            run: RunId(run),
            server: "it".into(),
            workers,
            version: Some(format!("v{run}")),
            cell: "c64".into(),
            throughput: rate,
            cpu_ns_per_request: None,
            p99_ns: Some(5),
        }
    }

    #[test]
    fn only_what_is_comparable_is_one_history() {
        let runs = HashMap::from([
            run(1, "a", "X", "1"),
            run(2, "a", "X", "1"),
            run(3, "a", "Y", "1"),
            run(4, "b", "X", "1"),
        ]);
        let trials = [
            trial(1, 1, None, 10.0),
            trial(2, 1, Some(1), 11.0),
            trial(3, 2, Some(1), 12.0),
            trial(4, 2, Some(2), 20.0),
            trial(5, 3, None, 10.0),
            trial(6, 4, None, 10.0),
            trial(7, 5, None, 10.0),
        ];
        let cells = cells(&trials, &runs);
        let seen: Vec<_> = cells
            .iter()
            .map(|cell| (cell.first.0, cell.visits.len()))
            .collect();
        assert_eq!(seen, [(1, 2), (5, 1), (4, 1), (6, 1)]);
        let visit = &cells[0].visits[0];
        assert_eq!((visit.run, &visit.throughput[..]), (1, &[10.0, 11.0][..]));
        assert_eq!(visit.values(Measure::P99), [5.0, 5.0]);
        assert!(visit.values(Measure::Cpu).is_empty());
        let found = cell_of(&cells, &trials[2], &runs).unwrap();
        assert_eq!(found.first, TrialId(1));
        assert_eq!(cell_of(&cells, &trials[6], &runs), None);
    }

    #[test]
    fn what_else_changed_is_told() {
        let runs = HashMap::from([run(1, "a", "X", "1"), run(2, "a", "X", "2")]);
        let cells = cells(&[trial(1, 1, None, 1.0), trial(2, 2, None, 1.0)], &runs);
        assert_eq!(
            cells[0].circumstances(),
            [
                "version v2 since 1970-01-03 (run 2), before that v1",
                "prony 2 since 1970-01-03 (run 2), before that 1"
            ]
        );
    }

    #[test]
    fn the_rates_of_a_capacity_search_are_no_history() {
        let (id, mut search) = run(1, "capacity", "X", "1");
        search.experiment.service = Some(prony_record::service::Limits {
            latency: Vec::new(),
            errors: 0.0,
            good: None,
        });
        assert_eq!(
            cells(&[trial(1, 1, None, 1.0)], &HashMap::from([(id, search)])),
            []
        );
    }
}
