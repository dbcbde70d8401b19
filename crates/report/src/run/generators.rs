//! The machines that sent the load of a run, where others than prony's own did.

use crate::load::host::name;
use crate::show;
use crate::table::{Align, TextTable};
use prony_record::{HostShare, Nanos, Trial};
use prony_stats::summary::median;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Work of a machine for a load, over all trials of all servers under it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GeneratorReport {
    /// The load's label.
    pub load: String,
    /// The machine's name.
    pub host: String,
    /// Largest number of the machine's connections in a trial.
    pub connections: u64,
    /// Right answers.
    pub answers: u64,
    /// Requests that ended without the answer that was expected.
    pub failed: u64,
    /// Share of all right answers that the machine received, 0 to 1. Null for a slow client that measures beside the
    /// load, whose requests are not among the load's.
    pub share: Option<f64>,
    /// The 99th percentile of its response times divided by that of all machines together: the median over trials; null
    /// where no trial has both.
    pub p99_ratio: Option<f64>,
    /// CPU time of the machine's generator per request, in microseconds; null without a request.
    pub cpu_us_per_request: Option<f64>,
    /// The busiest thread's work in the trial in which that was most, as a part of the measured time, 0 to 1.
    pub busy: f64,
    /// The most by which its clock may have been misread, in nanoseconds. Latencies do not depend on it.
    pub clock_error_ns: Nanos,
    /// How much too late it heard when a load begins, in nanoseconds, at most; 0: always in time.
    pub late_start_ns: Nanos,
}

/// Observations of a machine in a trial, and the 99th percentile of all machines together, in nanoseconds.
type Share<'a> = (&'a HostShare, Option<Nanos>);

/// The machines of these trials, by load; none where prony itself sent it.
pub(super) fn generators(trials: &[Trial]) -> Vec<GeneratorReport> {
    // A slow client comes behind those that send the load.
    let mut found: BTreeMap<(&str, bool, &str), Vec<Share<'_>>> = BTreeMap::new();
    let mut answers: BTreeMap<&str, u64> = BTreeMap::new();
    for trial in trials {
        let seen = trial.observation.iter();
        for one in seen.flat_map(|seen| &seen.generators) {
            let of = (trial.cell.as_str(), one.measuring, one.host.as_str());
            found
                .entry(of)
                .or_default()
                .push((one, trial.figures.p99_ns));
            if !one.measuring {
                *answers.entry(of.0).or_default() += one.answers;
            }
        }
    }
    let report = |((load, measuring, host), shares): ((&str, bool, &str), Vec<Share<'_>>)| {
        let sum = |of: fn(&HostShare) -> u64| shares.iter().map(|(one, _)| of(one)).sum::<u64>();
        let most = |of: fn(&HostShare) -> u64| shares.iter().map(|(one, _)| of(one)).max();
        let (right, failed) = (sum(|one| one.answers), sum(|one| one.failed));
        let work = sum(|one| one.generator.work_ns);
        let ratios: Vec<f64> = shares
            .iter()
            .filter_map(|(one, all)| {
                let all = all.filter(|all| *all > 0)?;
                Some(one.p99_ns? as f64 / all as f64)
            })
            .collect();
        GeneratorReport {
            load: load.to_owned(),
            host: host.to_owned(),
            connections: most(|one| one.connections).unwrap_or(0),
            answers: right,
            failed,
            share: (!measuring).then(|| {
                let all = answers.get(load).copied().unwrap_or(0);
                right as f64 / all.max(1) as f64
            }),
            p99_ratio: median(&ratios),
            cpu_us_per_request: (right + failed > 0)
                .then(|| work as f64 / 1e3 / (right + failed) as f64),
            busy: (shares.iter().map(|(one, _)| one.generator.busy)).fold(0.0, f64::max),
            clock_error_ns: most(|one| one.clock_error_ns).unwrap_or(0),
            late_start_ns: most(|one| one.late_start_ns).unwrap_or(0),
        }
    };
    found.into_iter().map(report).collect()
}

/// The heads of the table that shows them.
pub const HEADS: [&str; 9] = [
    "load",
    "from",
    "conns",
    "of all answers",
    "failed",
    "p99 ÷ all",
    "CPU/request",
    "busiest",
    "clock ±",
];

/// The row of one.
#[must_use]
pub fn row(one: &GeneratorReport) -> [String; 9] {
    let dash = || "–".to_owned();
    [
        one.load.clone(),
        name(&one.host, one.share.is_none()),
        show::count(one.connections),
        (one.share).map_or_else(dash, |share| format!("{:.1}%", share * 100.0)),
        show::count(one.failed),
        one.p99_ratio.map_or_else(dash, show::ratio),
        one.cpu_us_per_request
            .map_or_else(dash, |us| show::time(us * 1e3)),
        format!("{:.0}%", one.busy * 100.0),
        show::time(one.clock_error_ns as f64),
    ]
}

/// One in a sentence.
#[must_use]
pub fn sentence(one: &GeneratorReport) -> String {
    let [
        load,
        host,
        connections,
        share,
        failed,
        p99,
        cpu,
        busy,
        clock,
    ] = row(one);
    let share = match one.share {
        Some(_) => format!(", {share} of the answers"),
        None => String::new(),
    };
    format!(
        "Load {load} from {host}: {connections} connections{share}, {failed} failed, p99 {p99} that of all, \
         {cpu} of CPU per request, busy for at most {busy}, clock ±{clock}."
    )
}

/// The machines as a table, for a terminal of `width` columns; empty without machines.
pub(super) fn text(all: &[GeneratorReport], width: usize) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(HEADS.map(|head| match head {
        "load" | "from" => (head, Align::Left),
        _ => (head, Align::Right),
    }));
    for one in all {
        table.row(row(one));
    }
    format!(
        "\nwhere the load came from, over all trials\n\n{}",
        table.fit(width)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::trial;
    use prony_record::{Generator, Measurement};

    fn share(host: &str, answers: u64, p99_ns: Nanos, busy: f64) -> HostShare {
        HostShare {
            host: host.into(),
            connections: 8,
            answers,
            failed: 1,
            p99_ns: Some(p99_ns),
            generator: Generator {
                busy,
                work_ns: answers * 2_000,
                ..Generator::default()
            },
            clock_error_ns: 30_000,
            late_start_ns: 0,
            measuring: false,
        }
    }

    fn trials() -> Vec<Trial> {
        (0..3)
            .map(|round| {
                let mut made = trial("a", round, 4_000.0);
                made.figures.p99_ns = Some(1_000_000);
                let slow = 2_000_000 + Nanos::from(round) * 1_000_000;
                made.observation = Some(Measurement {
                    generators: vec![
                        share("gen1", 3_000, 500_000, 0.25),
                        share("gen2", 1_000, slow, 0.5 + f64::from(round) / 10.0),
                    ],
                    ..Measurement::default()
                });
                made
            })
            .collect()
    }

    #[test]
    fn machines_are_told_over_all_trials() {
        let all = generators(&trials());
        assert_eq!(all.len(), 2);
        let (first, second) = (&all[0], &all[1]);
        assert_eq!(
            (first.answers, first.failed, first.share),
            (9_000, 3, Some(0.75))
        );
        assert_eq!((first.p99_ratio, second.p99_ratio), (Some(0.5), Some(3.0)));
        assert!((second.busy - 0.7).abs() < 1e-9, "the most, not the mean");
        let cpu = second.cpu_us_per_request.unwrap();
        assert!((cpu - 2.0 * 3_000.0 / 3_003.0).abs() < 1e-9, "{cpu}");
        let text = text(&all, 100);
        assert!(text.contains("75.0%") && text.contains("3.000×"), "{text}");
        assert!(sentence(second).contains("from gen2: 8 connections, 25.0% of the answers"));
    }

    #[test]
    fn a_slow_client_has_no_part_of_the_load() {
        let mut trials = trials();
        for trial in &mut trials {
            let mut slow = share("a", 40, 250_000, 0.01);
            slow.measuring = true;
            trial.observation.as_mut().unwrap().generators.push(slow);
        }
        let all = generators(&trials);
        assert_eq!(all[0].share, Some(0.75), "of what the load's machines saw");
        let slow = all.last().unwrap();
        assert_eq!((slow.host.as_str(), slow.share), ("a", None));
        assert_eq!(slow.p99_ratio, Some(0.25));
        assert_eq!(row(slow)[1..4], ["a (slow client)", "8", "–"]);
        let text = sentence(slow);
        assert!(
            text.contains("from a (slow client): 8 connections, 3 failed, p99 0.250× that of all"),
            "{text}"
        );
    }

    #[test]
    fn without_other_machines_there_is_nothing_to_tell() {
        let all = generators(&[trial("a", 0, 4_000.0)]);
        assert!(all.is_empty());
        assert_eq!(text(&all, 80), "");
    }
}
