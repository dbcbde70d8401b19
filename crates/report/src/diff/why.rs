//! Cost of a request in a server, in two runs that have both looked into it (`--why`).

use crate::kept::ReportError;
use prony_notebook::{Notebook, StoredRun};
use prony_record::anatomy::Dissections;
use prony_verdict::why::{Anatomy, anatomy};

/// Largest relative difference of two rates at which costs are compared: the cost of a request depends on the rate.
const APART: f64 = 0.05;

/// Where the cost of a request differs, for each server of both; and those that cannot be compared, in words.
pub(super) fn compared(
    notebook: &Notebook,
    before: &StoredRun,
    after: &StoredRun,
) -> Result<(Vec<Anatomy>, Vec<String>), ReportError> {
    let [Some(old), Some(new)] = [notebook.anatomy(before.id)?, notebook.anatomy(after.id)?] else {
        return Ok((Vec::new(), Vec::new()));
    };
    let apart = (new.rate / old.rate - 1.0).abs() > APART;
    let (mut all, mut left_out) = (Vec::new(), Vec::new());
    for (at, name) in old.names.iter().enumerate() {
        let Some(now) = new.names.iter().position(|other| other == name) else {
            continue;
        };
        if apart {
            left_out.push(format!(
                "what a request costs {name} was seen at {} in run {} and at {} in run {}: not compared",
                crate::show::rate(old.rate),
                before.id.0,
                crate::show::rate(new.rate),
                after.id.0
            ));
            continue;
        }
        let names = [before, after].map(|run| format!("{name} in run {}", run.id.0));
        all.push(anatomy(&paired((&old, at), (&new, now), names.into())));
    }
    Ok((all, left_out))
}

/// A server's rounds in one run beside those in another. Rounds of different runs have nothing in common, so that any
/// pairing is as good as this one: the interval of the mean difference holds, if it is wider than one of real pairs.
fn paired(
    (old, at): (&Dissections, usize),
    (new, now): (&Dissections, usize),
    names: Vec<String>,
) -> Dissections {
    let pairs = old.rounds.iter().zip(&new.rounds);
    let mut refused = old.refused.clone();
    refused.extend(
        new.refused
            .iter()
            .filter(|one| !old.refused.contains(one))
            .cloned(),
    );
    Dissections {
        names,
        rate: new.rate,
        rounds: pairs
            .filter_map(|(old, new)| Some(vec![old.get(at)?.clone(), new.get(now)?.clone()]))
            .collect(),
        refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::anatomy::Dissection;

    #[test]
    fn a_servers_rounds_stand_beside_those_of_another_run() {
        let round = |requests: u64| Dissection {
            requests,
            ..Dissection::default()
        };
        let old = Dissections {
            names: vec!["a".into(), "b".into()],
            rounds: vec![vec![round(1), round(2)]; 3],
            refused: vec!["perf".into()],
            ..Dissections::default()
        };
        let new = Dissections {
            names: vec!["b".into()],
            rate: 5.0,
            rounds: vec![vec![round(7)]; 2],
            refused: vec!["perf".into(), "kernel".into()],
        };
        let both = paired((&old, 1), (&new, 0), vec!["before".into(), "after".into()]);
        let requests: Vec<Vec<u64>> = both
            .rounds
            .iter()
            .map(|round| round.iter().map(|one| one.requests).collect())
            .collect();
        assert_eq!(requests, [[2, 7], [2, 7]]);
        assert_eq!(both.refused, ["perf", "kernel"]);
    }
}
