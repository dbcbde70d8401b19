//! One figure for each server over all loads of an experiment that weighs them.

use super::ByCell;
use super::cell::rate;
use crate::show;
use crate::table::{Align, TextTable};
use prony_record::Trial;
use prony_stats::compare::Better;
use prony_stats::ratio::paired_log_ratio_among;
use prony_stats::ties::{comparisons, rank};
use prony_stats::{Estimate, Interval, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The throughput of the servers under all loads, weighed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CompositeReport {
    /// Weight of each load, by its label; they sum to 1.
    pub weights: BTreeMap<String, f64>,
    /// The servers that have figures under every load, the best first.
    pub servers: Vec<CompositeServer>,
}

/// A server under all loads.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CompositeServer {
    /// The server's label.
    pub server: String,
    /// The weighted geometric mean, over the loads, of its throughput as a multiple of the baseline's, paired by round. No
    /// load counts for more because its rates are higher, and the order of servers does not depend on the baseline.
    pub ratio: Estimate,
    /// The groups that it belongs to, as letters: between servers that share a letter there is no significant difference.
    /// Null with fewer than three servers.
    pub group: Option<String>,
}

/// Weighs the loads so; None where the experiment has no weights, or the baseline has no figures under one of them.
pub(super) fn composite(
    groups: &ByCell<Vec<&Trial>>,
    weights: &BTreeMap<String, f64>,
    baseline: &str,
) -> Option<CompositeReport> {
    let sum: f64 = weights.values().sum();
    let weights: BTreeMap<String, f64> = (weights.iter())
        .map(|(load, weight)| (load.clone(), weight / sum))
        .collect();
    let mut labels: Vec<&str> = groups.keys().map(|(_, label)| label.as_str()).collect();
    labels.sort_unstable();
    labels.dedup();
    let rounds = groups
        .values()
        .flatten()
        .map(|trial| trial.round + 1)
        .max()?;
    let of = |label: &str| -> Vec<Option<f64>> {
        (0..rounds)
            .map(|round| in_round(groups, &weights, label, round))
            .collect()
    };
    let table: Vec<(&str, Vec<Option<f64>>)> = (labels.into_iter())
        .map(|label| (label, of(label)))
        .filter(|(_, values)| values.iter().any(Option::is_some))
        .collect();
    let base = table.iter().position(|(label, _)| *label == baseline)?;
    let values: Vec<Vec<Option<f64>>> = table.iter().map(|(_, values)| values.clone()).collect();
    let ranking = rank(&values, Better::Higher, Some(base)).ok()?;
    let servers = ranking.places.iter().filter_map(|place| {
        let (label, ours) = &table[place.server];
        let ratio = match place.server == base {
            true => {
                let n = ours.iter().flatten().count() as u64;
                Estimate::new(1.0, Interval::new(1.0, 1.0), n, Unit::Ratio)
            }
            false => paired_log_ratio_among(ours, &values[base], comparisons(table.len())),
        };
        Some(CompositeServer {
            server: (*label).to_owned(),
            ratio: ratio.ok()?,
            group: (table.len() > 2).then(|| place.letters()),
        })
    });
    let servers: Vec<CompositeServer> = servers.collect();
    Some(CompositeReport { weights, servers })
}

/// The weighted geometric mean of a server's rates in a round; None unless it has one under each load.
fn in_round(
    groups: &ByCell<Vec<&Trial>>,
    weights: &BTreeMap<String, f64>,
    label: &str,
    round: u32,
) -> Option<f64> {
    let mut log = 0.0;
    for (load, weight) in weights {
        let trials = groups.get(&(load.clone(), label.to_owned()))?;
        let trial = trials.iter().find(|trial| trial.round == round)?;
        log += weight * Some(rate(trial)).filter(|rate| *rate > 0.0)?.ln();
    }
    Some(log.exp())
}

impl CompositeReport {
    /// The servers, the best first.
    #[must_use]
    pub fn table(&self) -> TextTable {
        let grouped = self.servers.iter().any(|server| server.group.is_some());
        let mut columns = vec![
            ("server", Align::Left),
            ("composite", Align::Right),
            ("95% CI", Align::Left),
        ];
        if grouped {
            columns.push(("group", Align::Left));
        }
        let mut table = TextTable::new(columns);
        for server in &self.servers {
            let interval = server.ratio.interval();
            let interval = interval.map_or("–".into(), |it| {
                format!("{:.3} to {:.3}", it.low(), it.high())
            });
            let mut cells = vec![
                server.server.clone(),
                show::ratio(server.ratio.value()),
                interval,
            ];
            cells.extend(server.group.clone());
            table.row(cells);
        }
        table
    }

    /// The quantity that the table has, and the weights of the loads.
    #[must_use]
    pub fn sentence(&self) -> String {
        let weights = self.weights.iter();
        let weights = weights.map(|(load, weight)| format!("{load} {}", show::percent(*weight)));
        format!(
            "composite: geometric mean of throughput ratios over {} loads ({})",
            self.weights.len(),
            weights.collect::<Vec<_>>().join(", ")
        )
    }
}
