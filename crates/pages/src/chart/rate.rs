//! Latency against rate: the hockey stick, and where it bends.

use super::WIDTH;
use super::lines::{Axis, LineSeries, Plot, Rule, Spot};
use super::text::{rate_tick, time_tick};
use super::throughput::precise;
use super::{Align, Chart, ChartKind, Table, name};
use crate::material::{Material, StoredTrial};
use crate::scale::Scale;
use crate::series::SeriesStyle;
use prony_record::service::{CapacityBounds, LatencyLimit, Limits};
use prony_record::times;
use prony_record::{SECOND, Timed, Times};
use prony_report::show;
use prony_verdict::capacity::{Judged, RateMeasurements, RateTrial, Tried, judge, known};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Percentiles that are drawn.
const DRAWN: [(&str, f64, &str); 4] = [
    ("p50", 0.5, "2 2.5"),
    ("p90", 0.9, "4 2"),
    ("p99", 0.99, "none"),
    ("p99.9", 0.999, "9 3 2 3"),
];

/// A trial at a rate.
struct RatePoint<'a> {
    rate: f64,
    part: &'a StoredTrial,
    times: Times,
    /// How it did by the run's limits; none without limits.
    judged: Option<Judged>,
}

impl RatePoint<'_> {
    /// Percentile `share`, 0 to 1, of the requests' response times, in nanoseconds; `None` where it is not known.
    fn percentile(&self, share: f64) -> Option<u64> {
        let seen = self.part.measured();
        let failed = seen.map_or(0, |seen| seen.outcomes.untimed());
        times::percentile(&self.times, failed, share)
    }

    /// Lists the limits that the trial broke, and why that may not count, in words; empty when it broke none.
    fn broken(&self) -> String {
        let Some(judged) = &self.judged else {
            return String::new();
        };
        let broken = judged.broken.join(", ");
        match judged.unclear {
            None => broken,
            Some(why) => format!("{broken}; not counted, because {}", why.phrase()),
        }
    }
}

pub(super) fn charts(material: &Material) -> Vec<Chart> {
    steps(material)
        .into_iter()
        .filter_map(|(label, steps)| chart(material, &label, &steps))
        .collect()
}

/// Sentences about the load that each server keeps within the run's limits; none for a run without limits.
pub(super) fn sentences(material: &Material) -> Vec<(String, String)> {
    let Some(limits) = &material.about().service else {
        return Vec::new();
    };
    let words = prony_report::capacity::limits(limits);
    let sentence = |(label, steps): (String, Vec<RatePoint<'_>>)| {
        let said = prony_report::capacity::sentence(&label, &words, &known_by(&steps));
        (material.about().contract.clone(), said)
    };
    steps(material).into_iter().map(sentence).collect()
}

/// The trials at a rate, by server.
fn steps(material: &Material) -> BTreeMap<String, Vec<RatePoint<'_>>> {
    let mut servers: BTreeMap<String, Vec<RatePoint<'_>>> = BTreeMap::new();
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
        let judged = material
            .about()
            .service
            .as_ref()
            .and_then(|limits| judged(limits, part, rate, &times));
        servers.entry(part.label()).or_default().push(RatePoint {
            rate,
            part,
            times,
            judged,
        });
    }
    servers
}

/// How a trial did by the limits, as it was judged when it was made.
fn judged(limits: &Limits, part: &StoredTrial, rate: f64, response: &Times) -> Option<Judged> {
    let measured = part.measured()?;
    let late = part.recording.histograms.of(times::Kind::Late).ok()?;
    let of = |kind| part.recording.histograms.of(kind).ok();
    let mut others: BTreeMap<Timed, Times> = BTreeMap::new();
    for limit in &limits.latency {
        let times = match limit.of {
            Timed::Response => continue,
            Timed::FirstByte => {
                let (first, parts) = (of(times::Kind::FirstByte)?, of(times::Kind::InParts)?);
                times::to_first_byte(response, &first, &parts)
            }
            Timed::FirstEvent => of(times::Kind::FirstEvent)?,
            Timed::Gap => of(times::Kind::Gap)?,
        };
        others.insert(limit.of, times);
    }
    let shown = RateMeasurements {
        rate,
        seconds: measured.durations.measured_ns as f64 / SECOND as f64,
        good: measured.good,
        times: &|of| Cow::Borrowed(others.get(&of).unwrap_or(response)),
        late: &late,
        outcomes: &measured.outcomes,
        resources: &measured.resources,
        checks: &measured.checks,
    };
    Some(judge(limits, &shown))
}

/// Between which rates a server's capacity lies. Loads with a name were made to see something else.
fn known_by(steps: &[RatePoint<'_>]) -> CapacityBounds {
    let tried = steps
        .iter()
        .filter(|step| step.part.trial().load.name.is_none());
    let tried = tried.filter_map(|step| {
        let judged = step.judged.as_ref()?;
        let measured = step.part.measured()?;
        Some(Tried {
            start: step.part.trial().round,
            rate: step.rate,
            trial: RateTrial {
                outcome: judged.outcome(),
                excess: judged.excess,
                seconds: measured.durations.measured_ns as f64 / SECOND as f64,
            },
        })
    });
    known(&tried.collect::<Vec<Tried>>())
}

fn chart(material: &Material, label: &str, steps: &[RatePoint<'_>]) -> Option<Chart> {
    let mut rates: Vec<f64> = steps.iter().map(|step| step.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    if rates.len() < 2 {
        return None;
    }
    let limits = material.about().service.as_ref();
    let known = limits.map(|_| known_by(steps));
    let capacity = known.as_ref().and_then(|known| known.estimate);
    let mut lines: Vec<LineSeries> = Vec::new();
    for (colour, (what, share, dash)) in DRAWN.into_iter().enumerate() {
        let look = SeriesStyle { colour, shape: 0 };
        let at = |step: &RatePoint<'_>| {
            let ns = step.percentile(share)? as f64;
            (ns > 0.0).then_some(ns)
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
            let kept = match (&step.judged, step.broken()) {
                (None, _) => String::new(),
                (Some(_), broken) if broken.is_empty() => ", kept".into(),
                (Some(_), broken) => format!(", not kept: {broken}"),
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
            lines.push(LineSeries {
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
    let latency = limits.map_or(&[][..], |limits| &limits.latency);
    let y = Scale::log(seen.chain(latency.iter().map(|limit| limit.within_ms * 1e6)));
    let (xs, ys) = (x.range(), y.range());
    let limit = |limit: &LatencyLimit| {
        let ns = limit.within_ms * 1e6;
        Rule {
            from: (xs.start, ns),
            to: (xs.end, ns),
            label: format!("limit: p{} within {}", limit.percentile, show::time(ns)),
        }
    };
    let mut rules: Vec<Rule> = latency.iter().map(limit).collect();
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
    let note = match (&known, capacity) {
        (None, _) => "Requests are due at a rate whether or not earlier ones are answered.".into(),
        (Some(known), None) => match prony_report::capacity::range(known) {
            Some(range) => format!("The capacity is {range}; better it is not known here."),
            None => "No rate was kept within the limits, and none was broken by the server.".into(),
        },
        (Some(known), Some(_)) => format!(
            "The capacity is the rate at which the median start is just at the limits: {}.",
            prony_report::capacity::estimate(known).unwrap_or_default()
        ),
    };
    Some(Chart {
        name: name(&["rate", label]),
        kind: ChartKind::Grid,
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

fn table(steps: &[RatePoint<'_>]) -> Table {
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
        let times = DRAWN.map(|(_, share, _)| step.percentile(share));
        let achieved = step.part.trial().figures.throughput;
        let mut row = vec![
            (step.part.trial().ordinal + 1).to_string(),
            precise(step.rate),
            achieved.map_or("–".into(), precise),
        ];
        row.extend(times.map(show::time_or_dash));
        row.push(step.broken());
        table.row(row);
    }
    table
}
