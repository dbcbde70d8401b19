//! Cost of encryption and HTTP/2: each server compared with itself over plain HTTP/1.1, in the same run.

use super::ByCell;
use super::cell::{rate, ratio_of};
use crate::show;
use prony_record::load::{KeyKind, Protocol};
use prony_record::trial::label;
use prony_record::{Load, Tls, Trial};
use prony_stats::Estimate;
use schemars::JsonSchema;
use serde::Serialize;

/// A server over TLS or HTTP/2, beside itself.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct OverReport {
    /// The server's name.
    pub server: String,
    /// Number of the server's workers.
    pub workers: u32,
    /// The load's label.
    pub load: String,
    /// The label of the load that it is compared with: the same over plain HTTP/1.1, or over TLS with the other key.
    /// Null when there is none in the run; it is then here for what was agreed on.
    pub beside: Option<String>,
    /// Throughput as a multiple of that under the other load, paired by round; null when no round has both.
    pub throughput: Option<Estimate>,
    /// CPU time of the server per request, in the same way.
    pub cpu: Option<Estimate>,
    /// Parameters that connections over TLS negotiated; null without TLS.
    pub tls: Option<Tls>,
    /// All of this in a sentence.
    pub sentence: String,
}

/// Every server under every load that is not plain, in their order.
pub(super) fn over(groups: &ByCell<Vec<&Trial>>) -> Vec<OverReport> {
    let cells: Vec<&Vec<&Trial>> = groups.values().collect();
    let of = |trials: &&Vec<&Trial>| trials.first().is_some_and(|it| !it.load.over.is_plain());
    let mut all: Vec<OverReport> = cells
        .iter()
        .copied()
        .filter(of)
        .filter_map(|trials| one(trials, &cells))
        .collect();
    all.sort_by(|a, b| (&a.server, a.workers, &a.load).cmp(&(&b.server, b.workers, &b.load)));
    all
}

fn one(trials: &[&Trial], cells: &[&Vec<&Trial>]) -> Option<OverReport> {
    let first = trials.first()?;
    let beside = cells
        .iter()
        .filter(|others| others.first().is_some_and(|it| it.label() == first.label()))
        .filter_map(|others| Some((rank(&first.load, &others.first()?.load)?, others)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, others)| others.as_slice());
    let compare =
        |of: &dyn Fn(&Trial) -> f64| beside.and_then(|others| ratio_of(trials, others, of));
    let throughput = compare(&rate);
    let cpu = compare(&|trial| trial.figures.cpu_ns_per_request.unwrap_or(0.0));
    let tls = trials
        .iter()
        .find_map(|trial| trial.observation.as_ref()?.tls.clone());
    let mut this = OverReport {
        server: first.server.clone(),
        workers: first.workers.unwrap_or(1),
        load: first.cell.clone(),
        beside: beside.map(|others| others[0].cell.clone()),
        throughput,
        cpu,
        tls,
        sentence: String::new(),
    };
    this.sentence = sentence(&this, first.load.over)?;
    Some(this)
}

/// How well another load shows what the first is spoken over: the lower, the better. None: it differs in more than that.
fn rank(load: &Load, other: &Load) -> Option<u32> {
    let shape = |load: &Load| Load {
        name: None,
        over: Protocol::Plain,
        key: KeyKind::default(),
        resumption: true,
        pipeline: 1,
        ..load.clone()
    };
    if shape(load) != shape(other) {
        return None;
    }
    let in_flight = u32::from(load.pipeline != other.pipeline);
    match other.over {
        Protocol::Plain if in_flight == 0 || other.pipeline == 1 => Some(in_flight),
        // Without a plain one: the same over TLS with the usual key.
        Protocol::Tls
            if load.over == Protocol::Tls && other.key.is_default() && !load.key.is_default() =>
        {
            (in_flight == 0).then_some(2)
        }
        _ => None,
    }
}

/// None where there is nothing to say.
fn sentence(it: &OverReport, over: Protocol) -> Option<String> {
    let mut parts = Vec::new();
    let times = |estimate: &Estimate| {
        let value = show::ratio(estimate.value());
        match estimate.interval() {
            Some(found) => format!("{value} ({:.3} to {:.3})", found.low(), found.high()),
            None => value,
        }
    };
    if let (Some(beside), Some(throughput)) = (&it.beside, &it.throughput) {
        let cpu = it.cpu.as_ref().map_or(String::new(), |cpu| {
            format!(", {} its CPU time per request", times(cpu))
        });
        parts.push(format!(
            "{} the throughput of {beside}{cpu}",
            times(throughput)
        ));
    }
    if let Some(tls) = &it.tls {
        parts.push(tls.line());
    }
    let name = label(&it.server, it.workers);
    let what = format!("{name}, {} ({})", it.load, over.phrase());
    (!parts.is_empty()).then(|| format!("{what}: {}", parts.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(over: Protocol, pipeline: u32) -> Load {
        Load {
            over,
            pipeline,
            ..Load::default()
        }
    }

    #[test]
    fn a_load_is_compared_with_the_plain_one_that_is_most_alike() {
        let rsa = Load {
            key: KeyKind::Rsa2048,
            ..load(Protocol::Tls, 1)
        };
        let other_shape = Load {
            connections: 7,
            ..load(Protocol::Plain, 1)
        };
        for (of, with, expected) in [
            (load(Protocol::Tls, 1), load(Protocol::Plain, 1), Some(0)),
            (load(Protocol::H2, 32), load(Protocol::Plain, 32), Some(0)),
            (load(Protocol::H2, 32), load(Protocol::Plain, 1), Some(1)),
            (load(Protocol::H2, 32), load(Protocol::Plain, 8), None),
            (load(Protocol::H2, 1), load(Protocol::Tls, 1), None),
            (load(Protocol::Tls, 1), other_shape, None),
            (rsa.clone(), load(Protocol::Plain, 1), Some(0)),
            (rsa, load(Protocol::Tls, 1), Some(2)),
        ] {
            assert_eq!(rank(&of, &with), expected, "{of} beside {with}");
        }
    }
}
