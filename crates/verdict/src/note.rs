//! Notes that a reader of a duel's figures needs: rates that were missed or lowered, and parts of rounds that were left
//! out.

use crate::doubt::unseen;
use crate::duel::column;
use crate::sentence::{change_in, percent};
use prony_record::verdict::{Comparison, Quantity, Terms, Values, Verdict};
use prony_stats::ratio::log_ratios;
use prony_stats::summary::average;

/// In sentences. `rounds` has for each round the values of all sides, in the order of `names`.
#[must_use]
pub fn notes(
    names: &[String],
    rounds: &[Vec<Values>],
    terms: &Terms,
    comparisons: &[Comparison],
) -> Vec<String> {
    let mut notes = Vec::new();
    for (side, name) in names.iter().enumerate() {
        let missed: Vec<(usize, f64)> = rounds
            .iter()
            .enumerate()
            .filter(|(_, round)| round[side].missed)
            .filter_map(|(number, round)| Some((number + 1, round[side].rate?)))
            .collect();
        // A rate that was lowered is another one from then on.
        for at_one_rate in missed.chunk_by(|(_, before), (_, after)| before == after) {
            let (_, rate) = at_one_rate[0];
            let which: Vec<String> = at_one_rate
                .iter()
                .map(|(round, _)| round.to_string())
                .collect();
            notes.push(format!(
                "{name} did not keep the common rate of {rate:.0} requests/s in {} {}: response times and CPU \
                 time were measured in overload there, and are not compared.",
                if which.len() == 1 { "round" } else { "rounds" },
                which.join(", ")
            ));
        }
    }
    let rates = rounds
        .iter()
        .map(|round| round.first().and_then(|values| values.rate));
    let mut before = None;
    for (number, rate) in rates.enumerate() {
        if let Some((old, new)) = before.zip(rate).filter(|(old, new)| old != new) {
            notes.push(format!(
                "The common rate was lowered from {old:.0} to {new:.0} requests/s after round {number}."
            ));
        }
        before = rate.or(before);
    }
    notes.extend(left_out(rounds, terms));
    notes.extend(without_p99(rounds, terms));
    notes.extend(not_looked_for(comparisons));
    notes.extend(
        comparisons
            .iter()
            .filter_map(|one| trimmed(one, names, rounds)),
    );
    notes
}

/// Something is called the same, after so many starts of each side.
fn not_looked_for(comparisons: &[Comparison]) -> Option<String> {
    let same = comparisons
        .iter()
        .filter(|one| one.verdict == Verdict::Same);
    let starts = same.map(|one| one.ratio.n()).min()?;
    Some(format!(
        "\"No difference\" rests on {starts} starts of each side: what happens in fewer than {:.0}% of starts \
         may not have been seen.",
        100.0 * unseen(starts)
    ))
}

/// The change with and without the rounds that trimming leaves out, where they differ by more than the margin.
fn trimmed(one: &Comparison, names: &[String], rounds: &[Vec<Values>]) -> Option<String> {
    let side = names.iter().position(|name| *name == one.side)?;
    let first = column(rounds, 0, one.quantity);
    let logs = log_ratios(&column(rounds, side, one.quantity), &first).ok()?;
    let of_all = average(&logs)?;
    let differs = (of_all - one.ratio.value().ln()).abs() > one.band.ln_1p();
    (differs && Quantity::ALL.contains(&one.quantity)).then(|| {
        let with = change_in(one.quantity, of_all.exp());
        let without = change_in(one.quantity, one.ratio.value());
        format!(
            "{}: {without} if the highest and the lowest tenth of the {} rounds are left out, {with} if they are not.",
            one.side,
            logs.len()
        )
    })
}

/// The rounds have too few requests for a 99th percentile.
fn without_p99(rounds: &[Vec<Values>], terms: &Terms) -> Option<String> {
    let compares = |quantity| terms.quantities.contains(&quantity);
    let all = || rounds.iter().flatten();
    let shown = all().any(|values| values.p99.is_some());
    let untimed = all().map(|values| values.untimed).fold(0.0, f64::max);
    if compares(Quantity::P50) && untimed >= 0.01 {
        return Some(format!(
            "p99 is not compared in rounds in which 1% of the requests or more failed (up to {}): a request that failed \
             counts as longer than any answer.",
            percent(untimed)
        ));
    }
    let left_out = compares(Quantity::P50) && !compares(Quantity::P99) && !shown;
    (left_out && !rounds.is_empty()).then(|| {
        let fewest = (prony_stats::percentile::MIN_SAMPLES_BEYOND / (1.0 - 0.99)).round();
        format!(
            "p99 is not compared: at this rate a round has fewer than the {fewest} requests that it needs \
             (`--duration` makes rounds longer)."
        )
    })
}

/// Throughput was measured at the beginning and then no longer.
fn left_out(rounds: &[Vec<Values>], terms: &Terms) -> Option<String> {
    let has = |round: &Vec<Values>| round.iter().any(|values| values.throughput.is_some());
    let measured = rounds.iter().filter(|round| has(round)).count();
    let dropped = rounds.last().is_some_and(|round| !has(round));
    (terms.quantities.contains(&Quantity::Throughput) && measured > 0 && dropped).then(|| {
        format!(
            "Throughput was measured in the first {measured} rounds only: it spread so much that the time \
             was better spent at the common rate (`--rounds N` measures everything in every round)."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::terms;

    fn round(rate: f64, missed: bool, throughput: Option<f64>) -> Vec<Values> {
        let at = |missed| Values {
            rate: Some(rate),
            missed,
            throughput,
            ..Values::default()
        };
        vec![at(false), at(missed)]
    }

    #[test]
    fn a_rate_that_was_missed_and_lowered_is_told() {
        let names = ["old".to_owned(), "new".to_owned()];
        let rounds = [
            round(9_000.0, false, Some(1.0)),
            round(9_000.0, true, Some(1.0)),
            round(9_000.0, true, Some(1.0)),
            round(6_300.0, false, Some(1.0)),
        ];
        let told = notes(&names, &rounds, &terms(), &[]);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0]
                .starts_with("new did not keep the common rate of 9000 requests/s in rounds 2, 3:")
        );
        assert_eq!(
            told[1],
            "The common rate was lowered from 9000 to 6300 requests/s after round 3."
        );
        assert_eq!(notes(&names, &rounds[..1], &terms(), &[]), [""; 0]);
        let again = [&rounds[..], &[round(6_300.0, true, Some(1.0))]].concat();
        let told = notes(&names, &again, &terms(), &[]);
        assert!(
            told[1].contains("of 6300 requests/s in round 5:"),
            "{told:?}"
        );
    }

    #[test]
    fn what_was_left_out_is_told() {
        let names = ["old".to_owned(), "new".to_owned()];
        let rounds = [round(9.0, false, Some(1.0)), round(9.0, false, None)];
        let told = notes(&names, &rounds, &terms(), &[]);
        assert!(told[0].starts_with("Throughput was measured in the first 1 rounds only"));
        let only = Terms {
            quantities: vec![Quantity::Cpu],
            ..terms()
        };
        assert_eq!(
            notes(&names, &[round(9.0, false, None)], &only, &[]),
            [""; 0]
        );
    }

    #[test]
    fn a_p99_that_too_few_requests_cannot_show_is_told() {
        let names = ["old".to_owned(), "new".to_owned()];
        let rounds = [round(9.0, false, Some(1.0))];
        let without = Terms {
            quantities: vec![Quantity::P50, Quantity::Cpu],
            ..terms()
        };
        let told = notes(&names, &rounds, &without, &[]);
        assert!(told[0].contains("fewer than the 1000 requests"), "{told:?}");
        assert_eq!(notes(&names, &rounds, &terms(), &[]), [""; 0]);
        let mut shown = rounds;
        shown[0][0].p99 = Some(1e6);
        assert_eq!(notes(&names, &shown, &without, &[]), [""; 0]);
        assert_eq!(notes(&names, &[], &without, &[]), [""; 0]);
    }

    #[test]
    fn a_p99_among_the_requests_that_failed_is_not_compared() {
        let names = ["old".to_owned(), "new".to_owned()];
        let mut rounds = vec![round(9_000.0, false, Some(1.0)); 3];
        rounds[1][1].untimed = 0.025;
        let terms = Terms {
            quantities: vec![Quantity::P50],
            ..terms()
        };
        let told = notes(&names, &rounds, &terms, &[]).join(" ");
        assert!(
            told.contains("p99 is not compared in rounds in which 1% of the requests or more failed (up to 2.5%)"),
            "{told}"
        );
    }

    #[test]
    fn what_trimming_changes_is_told() {
        let names = ["old".to_owned(), "new".to_owned()];
        let rounds: Vec<Vec<Values>> = (0..50)
            .map(|i| {
                let at = |throughput| Values {
                    throughput: Some(throughput),
                    ..Values::default()
                };
                vec![at(100.0), at(if i % 25 == 0 { 20.0 } else { 100.0 })]
            })
            .collect();
        let one = crate::made_up::found(Quantity::Throughput, 1.0, Verdict::Same);
        let told = trimmed(&one, &names, &rounds).unwrap();
        assert!(
            told.starts_with("new: 0.0% fewer requests/s if the highest"),
            "{told}"
        );
        assert!(
            told.contains("left out, 6.2% fewer requests/s if they are not"),
            "{told}"
        );
        assert_eq!(trimmed(&one, &names, &rounds[1..25]), None);
    }
}
