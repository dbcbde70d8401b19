//! A server under one load, over all its trials.

use super::{ByCell, CellReport, FailureReport, MicrosecondsPerRequest, RunHead};
use prony_checks::{ceiling, spread_exceeds_effect};
use prony_record::{
    CheckId, Finding, IdleConnections, Latency, Measurement, ServiceTotals, Step, Trial,
};
use prony_stats::compare::Better;
use prony_stats::mean::mean;
use prony_stats::ratio::{paired_log_ratio, paired_log_ratio_among};
use prony_stats::ties::{Rank, comparisons, rank};
use prony_stats::{Estimate, Interval, Unit};
use std::collections::BTreeMap;

/// Verified answers per second of a trial that yielded figures.
pub(super) fn rate(trial: &Trial) -> f64 {
    trial.figures.throughput.unwrap_or(0.0)
}

/// The report of a cell, one of `servers` under its load; none without a trial.
pub(super) fn cell(
    trials: &[&Trial],
    latency: Latency,
    baseline: &[&Trial],
    servers: usize,
    upstream: &[&Trial],
    run: &RunHead,
    failures: &[FailureReport],
) -> Option<CellReport> {
    let first = trials.first()?;
    let rates: Vec<f64> = trials.iter().map(|trial| rate(trial)).collect();
    let cpu: Vec<f64> = trials
        .iter()
        .filter_map(|trial| trial.figures.cpu_ns_per_request)
        .collect();
    let cpu = mean(&cpu, Unit::CpuNanosecondsPerRequest)
        .ok()
        .map(|estimate| {
            let us = |ns: f64| ns / 1e3;
            MicrosecondsPerRequest {
                value: us(estimate.value()),
                low: estimate.low().map(us),
                high: estimate.high().map(us),
            }
        });
    let ratio = ratio(trials, baseline, servers);
    let mut checks = merge_findings(trials);
    let is_baseline = first.label() == run.baseline;
    if let Some(ratio) = ratio.as_ref().filter(|_| !is_baseline && trials.len() > 1) {
        let others: Vec<f64> = baseline.iter().map(|trial| rate(trial)).collect();
        checks.extend(spread_exceeds_effect(
            ratio.value(),
            spread(&rates),
            spread(&others),
        ));
    }
    if run.upstream.as_ref() != Some(&first.server) {
        let mean = |trials: &[&Trial]| {
            trials.iter().map(|trial| rate(trial)).sum::<f64>() / trials.len() as f64
        };
        if !upstream.is_empty() {
            checks.extend(ceiling(mean(trials), mean(upstream)));
        }
    }
    let broken = failures.iter().any(|failure| {
        failure.server == first.label()
            && matches!(failure.step, Some(Step::Verify | Step::VerifyAgain))
    });
    let measured = || trials.iter().filter_map(|trial| trial.observation.as_ref());
    let misbehaved = measured().any(|seen| seen.outcomes.misbehaved());
    let streams = measured().filter_map(|seen| seen.streams);
    let events: Vec<f64> = streams.map(|streams| streams.events_per_second).collect();
    let mut services = ServiceTotals::default();
    measured().for_each(|seen| services.add(seen));
    Some(CellReport {
        server: first.server.clone(),
        workers: first.workers.unwrap_or(1),
        load: first.load.clone(),
        trials: trials.len() as u64,
        verified: !broken && !misbehaved,
        answers: measured().map(|seen| seen.outcomes.ok).sum(),
        throughput: mean(&rates, Unit::PerSecond).ok()?,
        events: mean(&events, Unit::PerSecond).ok(),
        latency,
        server_cpu_us_per_request: cpu,
        idle: IdleConnections::over(measured().filter_map(|seen| seen.idle)),
        services: services.costs(),
        rss_peak_bytes: trials
            .iter()
            .filter_map(|trial| trial.figures.rss_peak_bytes)
            .max()
            .unwrap_or(0),
        memory: over(trials, Unit::Bytes, |trial| {
            trial.figures.rss_peak_bytes.filter(|bytes| *bytes > 0)
        }),
        longest: over(trials, Unit::Nanoseconds, |trial| trial.figures.max_ns),
        errors: errors(measured()),
        ratio,
        connections_per_worker: measured()
            .map(|seen| &seen.resources.connections_per_loop)
            .max_by_key(|counts| counts.first().unwrap_or(&0) - counts.last().unwrap_or(&0))
            .cloned()
            .unwrap_or_default(),
        expected_failures: BTreeMap::new(),
        group: None,
        checks,
        load_label: first.cell.clone(),
    })
}

/// The mean of a figure over the trials that have it.
fn over(trials: &[&Trial], unit: Unit, of: impl Fn(&Trial) -> Option<u64>) -> Option<Estimate> {
    let values = trials.iter().filter_map(|trial| of(trial));
    let values: Vec<f64> = values.map(|value| value as f64).collect();
    mean(&values, unit).ok()
}

/// For each load with three servers or more: the letters of every server's groups, by its label. A server
/// shares none with the baseline exactly if the interval of its ratio does not hold 1.
pub(super) fn tie_groups(
    groups: &ByCell<Vec<&Trial>>,
    baseline: &str,
) -> Vec<(String, BTreeMap<String, String>)> {
    let mut loads: BTreeMap<&str, Vec<(&str, &Vec<&Trial>)>> = BTreeMap::new();
    for ((load, server), trials) in groups {
        loads.entry(load).or_default().push((server, trials));
    }
    let letters = |servers: &[(&str, &Vec<&Trial>)]| {
        let rounds = servers.iter().flat_map(|(_, trials)| trials.iter());
        let rounds = rounds.map(|trial| trial.round).max()?;
        let row = |trials: &Vec<&Trial>| -> Vec<Option<f64>> {
            (0..=rounds)
                .map(|round| {
                    let found = trials.iter().find(|trial| trial.round == round);
                    found.map(|trial| rate(trial)).filter(|rate| *rate > 0.0)
                })
                .collect()
        };
        let table: Vec<_> = servers.iter().map(|(_, trials)| row(trials)).collect();
        let baseline = servers.iter().position(|(label, _)| *label == baseline);
        let ranking = rank(&table, Better::Higher, baseline).ok()?;
        let named = |place: &Rank| (servers[place.server].0.to_owned(), place.letters());
        Some(ranking.places.iter().map(named).collect())
    };
    loads
        .into_iter()
        .filter(|(_, servers)| servers.len() > 2)
        .filter_map(|(load, servers)| Some((load.to_owned(), letters(&servers)?)))
        .collect()
}

/// The share of requests that failed.
fn errors<'a>(measured: impl Iterator<Item = &'a Measurement>) -> f64 {
    let (failed, ended) = measured.fold((0, 0), |(failed, ended), seen| {
        let all = seen.outcomes.finished();
        (failed + all - seen.outcomes.ok, ended + all)
    });
    failed as f64 / ended.max(1) as f64
}

/// (largest − smallest) / mean.
fn spread(rates: &[f64]) -> f64 {
    let most = rates.iter().copied().fold(f64::MIN, f64::max);
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    (most - least) / mean
}

/// Something of the trials of two sides by round, as long as the later of their last rounds: a run on several rigs may have
/// more rounds than were asked for.
fn by_round(sides: [&[&Trial]; 2], of: &dyn Fn(&Trial) -> f64) -> [Vec<Option<f64>>; 2] {
    let all = sides.iter().flat_map(|trials| trials.iter());
    let rounds = all.map(|trial| trial.round + 1).max().unwrap_or(0);
    sides.map(|trials| {
        let trial = |round| trials.iter().find(|trial| trial.round == round);
        (0..rounds)
            .map(|round| trial(round).map(|trial| of(trial)))
            .collect()
    })
}

/// A quantity as a multiple of what it is under another load, paired by round; None where no round has both.
pub(super) fn ratio_of(
    trials: &[&Trial],
    others: &[&Trial],
    of: &dyn Fn(&Trial) -> f64,
) -> Option<Estimate> {
    let [ours, theirs] = by_round([trials, others], of).map(|all| {
        let known = all.into_iter();
        known
            .map(|value| value.filter(|value| *value > 0.0))
            .collect::<Vec<_>>()
    });
    paired_log_ratio(&ours, &theirs).ok()
}

/// Throughput beside the baseline's, with an interval that holds together with those of all `servers`.
fn ratio(trials: &[&Trial], baseline: &[&Trial], servers: usize) -> Option<Estimate> {
    let [ours, theirs] = by_round([trials, baseline], &rate);
    if std::ptr::eq(trials, baseline) || ours == theirs {
        // A server compared with itself: exactly one, and that is no estimate.
        return Estimate::new(
            1.0,
            Interval::new(1.0, 1.0),
            trials.len() as u64,
            Unit::Ratio,
        )
        .ok();
    }
    paired_log_ratio_among(&ours, &theirs, comparisons(servers)).ok()
}

/// Each check once, at its most serious, with how many of the trials raised it.
fn merge_findings(trials: &[&Trial]) -> Vec<Finding> {
    let mut merged: BTreeMap<CheckId, (u64, &Finding)> = BTreeMap::new();
    for finding in trials
        .iter()
        .filter_map(|trial| trial.observation.as_ref())
        .flat_map(|seen| &seen.checks)
    {
        let entry = merged.entry(finding.name).or_insert((0, finding));
        entry.0 += 1;
        if finding.severity > entry.1.severity {
            entry.1 = finding;
        }
    }
    merged
        .into_values()
        .map(|(n, finding)| match trials.len() {
            1 => finding.clone(),
            all => Finding {
                text: format!("in {n} of {all} trials: {}", finding.text),
                ..finding.clone()
            },
        })
        .collect()
}
