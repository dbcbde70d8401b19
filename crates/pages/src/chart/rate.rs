//! Latency against rate: the hockey stick, and where it bends.

use super::WIDTH;
use super::lines::{Axis, Line, Plot, Rule, Spot};
use super::text::{rate_tick, time_tick};
use super::throughput::precise;
use super::{Align, Chart, Kind, Table, name};
use crate::material::{Material, Part};
use crate::scale::Scale;
use crate::series::Look;
use prony_record::Times;
use prony_record::service::Limits;
use prony_record::times;
use prony_report::show;
use prony_stats::percentile::supported;
use std::collections::BTreeMap;

/// A capacity is believed when the last few trials at it kept all limits: `prony capacity`
/// repeats its boundary as often.
const BOUNDARY: usize = 3;
/// Percentiles that are drawn.
const DRAWN: [(&str, f64, &str); 4] = [
    ("p50", 0.5, "2 2.5"),
    ("p90", 0.9, "4 2"),
    ("p99", 0.99, "none"),
    ("p99.9", 0.999, "9 3 2 3"),
];

/// A trial at a rate.
struct Step<'a> {
    rate: f64,
    part: &'a Part,
    times: Times,
    /// What was not within the limits; none without limits.
    broken: Vec<String>,
}

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    steps(material)
        .into_iter()
        .filter_map(|(label, steps)| chart(material, &label, &steps))
        .collect()
}

/// What each server keeps within the run's limits; none for a run without.
pub(super) fn sentences(material: &Material) -> Vec<(String, String)> {
    let Some(limits) = material.about().service else {
        return Vec::new();
    };
    let words = format!(
        "p{} within {}, errors up to {:.2} %",
        limits.percentile,
        show::time(limits.within_ms * 1e6),
        limits.errors * 100.0
    );
    let sentence = |(label, steps): (String, Vec<Step<'_>>)| match capacity(&steps) {
        Some(rate) => (
            material.about().contract.clone(),
            format!("{label} keeps {words} up to {}.", show::rate(rate)),
        ),
        None => (
            material.about().contract.clone(),
            format!("{label} keeps {words} at no rate that was tried often enough."),
        ),
    };
    steps(material).into_iter().map(sentence).collect()
}

/// The trials at a rate, by server.
fn steps(material: &Material) -> BTreeMap<String, Vec<Step<'_>>> {
    let mut servers: BTreeMap<String, Vec<Step<'_>>> = BTreeMap::new();
    for part in &material.trials {
        let Some(rate) = part.trial().load.rate.filter(|rate| *rate > 0.0) else {
            continue;
        };
        let Ok(times) = part.recording.histograms.of(times::Kind::Response) else {
            continue;
        };
        if times.is_empty() {
            continue;
        }
        let broken = material
            .about()
            .service
            .map_or_else(Vec::new, |limits| broken(limits, part, &times));
        servers.entry(part.label()).or_default().push(Step {
            rate,
            part,
            times,
            broken,
        });
    }
    servers
}

/// Which limits a trial broke, in words.
fn broken(limits: Limits, part: &Part, times: &Times) -> Vec<String> {
    let share = limits.percentile / 100.0;
    let mut broken = Vec::new();
    if supported(times.len() as f64, share) {
        let ns = times.value_at_quantile(share) as f64;
        if ns > limits.within_ms * 1e6 {
            broken.push(format!("p{} was {}", limits.percentile, show::time(ns)));
        }
    } else {
        broken.push(format!("too few answers for p{}", limits.percentile));
    }
    let Some(measured) = part.measured() else {
        return broken;
    };
    let outcomes = &measured.outcomes;
    let errors = outcomes.failed() as f64 / outcomes.finished().max(1) as f64;
    if errors > limits.errors {
        broken.push(format!("{:.2} % errors", errors * 100.0));
    }
    let counts = ["rate-missed", "wrong-answers"];
    let raised = measured.checks.iter().map(|check| check.name.clone());
    broken.extend(raised.filter(|name| counts.contains(&name.as_str())));
    broken
}

/// The highest rate whose last trials were all kept.
fn capacity(steps: &[Step<'_>]) -> Option<f64> {
    let mut rates: Vec<f64> = steps.iter().map(|step| step.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    rates.into_iter().rev().find(|rate| {
        let tries: Vec<&Step<'_>> = steps.iter().filter(|step| step.rate == *rate).collect();
        tries.len() >= BOUNDARY
            && tries[tries.len() - BOUNDARY..]
                .iter()
                .all(|step| step.broken.is_empty())
    })
}

fn chart(material: &Material, label: &str, steps: &[Step<'_>]) -> Option<Chart> {
    let mut rates: Vec<f64> = steps.iter().map(|step| step.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    if rates.len() < 2 {
        return None;
    }
    let limits = material.about().service;
    let capacity = limits.and_then(|_| capacity(steps));
    let mut lines: Vec<Line> = Vec::new();
    for (colour, (what, share, dash)) in DRAWN.into_iter().enumerate() {
        let look = Look { colour, shape: 0 };
        let at = |step: &Step<'_>| {
            supported(step.times.len() as f64, share)
                .then(|| step.times.value_at_quantile(share) as f64)
                .filter(|ns| *ns > 0.0)
        };
        // One line through the medians of what was seen at each rate, and every trial as a dot.
        let path = rates.iter().filter_map(|rate| {
            let mut seen: Vec<f64> = steps
                .iter()
                .filter(|step| step.rate == *rate)
                .filter_map(at)
                .collect();
            seen.sort_by(f64::total_cmp);
            Some((*rate, *seen.get(seen.len() / 2)?))
        });
        let path: Vec<(f64, f64)> = path.collect();
        let spots = steps.iter().filter_map(|step| {
            let y = at(step)?;
            let kept = match (limits, step.broken.is_empty()) {
                (None, _) => String::new(),
                (Some(_), true) => ", kept".into(),
                (Some(_), false) => format!(", not kept: {}", step.broken.join(", ")),
            };
            Some(Spot {
                x: step.rate,
                y,
                interval: None,
                trial: true,
                label: format!("{}: {what} {}{kept}", precise(step.rate), show::time(y)),
            })
        });
        let spots: Vec<Spot> = spots.collect();
        if !path.is_empty() {
            lines.push(Line {
                name: what.to_owned(),
                look,
                dash: Some(dash),
                path,
                spots,
                band: Vec::new(),
            });
        }
    }
    if lines.is_empty() {
        return None;
    }
    let x = Scale::log(rates.iter().copied());
    let seen = lines.iter().flat_map(|line| &line.spots).map(|spot| spot.y);
    let y = Scale::log(seen.chain(limits.map(|limits| limits.within_ms * 1e6)));
    let (xs, ys) = (x.range(), y.range());
    let mut rules = Vec::new();
    if let Some(limits) = limits {
        let ns = limits.within_ms * 1e6;
        rules.push(Rule {
            from: (xs.start, ns),
            to: (xs.end, ns),
            label: format!("limit: p{} within {}", limits.percentile, show::time(ns)),
        });
    }
    if let Some(rate) = capacity {
        rules.push(Rule {
            from: (rate, ys.start),
            to: (rate, ys.end),
            label: format!("capacity {}", show::rate(rate)),
        });
    }
    let plot = Plot {
        size: (WIDTH, 440.0),
        x: Axis {
            scale: x,
            label: "requests due per second".into(),
            ticks: None,
            tick: rate_tick,
        },
        y: Axis {
            scale: y,
            label: "response time".into(),
            ticks: None,
            tick: time_tick,
        },
        lines,
        rules,
        beside: false,
    };
    let note = match (limits, capacity) {
        (None, _) => "Requests are due at a rate whether or not earlier ones are answered.".into(),
        (Some(_), None) => {
            "No rate was kept within the limits often enough to be called its capacity.".into()
        }
        (Some(_), Some(rate)) => format!(
            "The capacity is the highest rate that was kept within all limits {BOUNDARY} times in a row: {}.",
            show::rate(rate)
        ),
    };
    Some(Chart {
        name: name(&["rate", label]),
        kind: Kind::Grid,
        title: format!("Response time against rate: {label}"),
        note,
        width: plot.size.0,
        height: plot.size.1,
        drawing: plot.draw(),
        narrow: None,
        key: Vec::new(),
        table: table(steps),
    })
}

fn table(steps: &[Step<'_>]) -> Table {
    let mut table = Table::new([
        ("trial", Align::Left),
        ("due/s", Align::Right),
        ("answered/s", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("not kept because", Align::Left),
    ]);
    for step in steps {
        let times = DRAWN.map(|(_, share, _)| {
            supported(step.times.len() as f64, share).then(|| step.times.value_at_quantile(share))
        });
        let achieved = step.part.trial().figures.throughput;
        let mut row = vec![
            (step.part.trial().ordinal + 1).to_string(),
            precise(step.rate),
            achieved.map_or("–".into(), precise),
        ];
        row.extend(times.map(show::time_or_dash));
        row.push(step.broken.join(", "));
        table.row(row);
    }
    table
}
