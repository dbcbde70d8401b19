//! The rigs that the rounds of a run were divided among, and how much they differ.

use super::cell::rate;
use super::cell_of;
use crate::show;
use crate::table::{Align, TextTable};
use prony_checks::rigs_differ;
use prony_record::{Finding, Trial};
use prony_stats::blocks::{Value, blocks};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// A rig of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RigReport {
    /// Name of the rig.
    pub rig: String,
    /// Rounds that it has measured, at least in part.
    pub rounds: u64,
    /// Trials that yielded figures.
    pub trials: u64,
    /// Throughput of the rig as a multiple of that of all rigs, for the same servers under the same loads. Null where a
    /// difference cannot be distinguished from chance.
    pub throughput: Option<f64>,
}

/// The rigs of these trials, and what the check says of them; none where there are fewer than two.
pub(super) fn rigs(trials: &[Trial]) -> (Vec<RigReport>, Option<Finding>) {
    let on = |trial: &Trial| trial.observation.as_ref().and_then(|seen| seen.rig.clone());
    let names: BTreeSet<String> = trials.iter().filter_map(on).collect();
    if names.len() < 2 {
        return (Vec::new(), None);
    }
    let names: Vec<String> = names.into_iter().collect();
    let mut cells = BTreeMap::new();
    let mut values = Vec::new();
    for trial in trials {
        let Some(rig) = on(trial) else { continue };
        let (next, block) = (cells.len(), names.binary_search(&rig));
        if let (Ok(block), true) = (block, rate(trial) > 0.0) {
            values.push(Value {
                cell: *cells.entry(cell_of(trial)).or_insert(next),
                block,
                value: rate(trial),
            });
        }
    }
    let found = blocks(&values);
    let factor = |index: usize| found.as_ref().map(|found| found.factors[index]);
    let reports: Vec<RigReport> = names
        .iter()
        .enumerate()
        .map(|(index, rig)| {
            let ours = || {
                trials
                    .iter()
                    .filter(|trial| on(trial).as_ref() == Some(rig))
            };
            let rounds: BTreeSet<u32> = ours().map(|trial| trial.round).collect();
            RigReport {
                rig: rig.clone(),
                rounds: rounds.len() as u64,
                trials: ours().count() as u64,
                throughput: factor(index).filter(|factor| factor.is_finite()),
            }
        })
        .collect();
    let finding = found.and_then(|found| {
        let factors: Vec<(&str, f64)> = names
            .iter()
            .map(String::as_str)
            .zip(found.factors.iter().copied())
            .collect();
        rigs_differ(&factors, found.share, found.p)
    });
    (reports, finding)
}

impl RigReport {
    /// The rig in a few words: `h1 3 rounds (1.020×)`.
    #[must_use]
    pub fn words(&self) -> String {
        let rounds = match self.rounds {
            1 => "1 round".to_owned(),
            n => format!("{n} rounds"),
        };
        match self.throughput {
            Some(factor) => format!("{} {rounds} ({})", self.rig, show::ratio(factor)),
            None => format!("{} {rounds}", self.rig),
        }
    }
}

/// The rigs in a sentence, with what each gives beside all of them; empty where there was one.
#[must_use]
pub fn sentence(rigs: &[RigReport]) -> String {
    if rigs.is_empty() {
        return String::new();
    }
    let each: Vec<String> = rigs.iter().map(RigReport::words).collect();
    format!(
        "Each round was measured on one rig; rounds, and throughput compared with that of all rigs: {}.",
        each.join(", ")
    )
}

/// The rigs as a table.
pub(super) fn text(rigs: &[RigReport], width: usize) -> String {
    if rigs.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new([
        ("rig", Align::Left),
        ("rounds", Align::Right),
        ("trials", Align::Right),
        ("throughput compared with all rigs", Align::Right),
    ]);
    for rig in rigs {
        table.row([
            rig.rig.clone(),
            rig.rounds.to_string(),
            rig.trials.to_string(),
            rig.throughput.map_or_else(|| "–".into(), show::ratio),
        ]);
    }
    format!(
        "\neach round was measured on one rig, and ratios are of servers on the same one\n\n{}",
        table.fit(width)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::trial;
    use prony_record::CheckId;
    use prony_record::Measurement;

    fn on(rig: &str, round: u32, server: &str, rate: f64) -> Trial {
        let mut made = trial(server, round, rate);
        made.observation = Some(Measurement {
            rig: Some(rig.to_owned()),
            ..Measurement::default()
        });
        made
    }

    /// Two servers in four rounds; `h2` gives this much of what `h1` does.
    fn trials(factor: f64) -> Vec<Trial> {
        let rig = |round| if round % 2 == 0 { "h1" } else { "h2" };
        let factor = |round| if round % 2 == 0 { 1.0 } else { factor };
        let noise = [1.0, 1.004, 0.998, 1.003, 1.002, 0.999, 1.001, 0.997];
        (0..4)
            .flat_map(|round| [(round, "a", 1_000.0), (round, "b", 2_000.0)])
            .zip(noise)
            .map(|((round, server, rate), noise)| {
                on(rig(round), round, server, rate * factor(round) * noise)
            })
            .collect()
    }

    #[test]
    fn rigs_that_differ_are_told_apart_from_servers_that_do() {
        let (rigs, found) = rigs(&trials(0.8));
        assert_eq!(rigs.len(), 2);
        assert_eq!((rigs[0].rounds, rigs[0].trials), (2, 4));
        let beside = rigs[1].throughput.unwrap() / rigs[0].throughput.unwrap();
        assert!((0.79..0.81).contains(&beside), "{beside}");
        assert_eq!(found.unwrap().name, CheckId::RigsDiffer);
        assert!(text(&rigs, 80).contains("h2"));
        assert!(
            sentence(&rigs).contains("h1 2 rounds (1.1"),
            "{}",
            sentence(&rigs)
        );
    }

    #[test]
    fn equal_rigs_raise_nothing_and_a_single_one_is_not_told_of() {
        let (found, check) = rigs(&trials(1.0));
        assert_eq!((found.len(), check), (2, None));
        let alone: Vec<Trial> = trials(1.0)
            .into_iter()
            .filter(|it| it.round % 2 == 0)
            .collect();
        assert_eq!(rigs(&alone), (Vec::new(), None));
    }
}
