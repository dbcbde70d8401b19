//! `spread-exceeds-effect`: runs of one system differ by more than the systems do that are
//! compared.

use super::{CheckInput, UnnamedFinding, lines_in, note, serious};
use crate::figures::Figure;
use crate::load::Load;
use crate::names::System;
use prony_checks::{CheckId, Explanation, spread_exceeds_effect};
use prony_stats::summary::average;
use std::collections::BTreeMap;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::SpreadExceedsEffect,
    cause: "Runs of the same system differ by more than the compared systems differ from each other: the claimed order is not shown.",
    evidence: "The range of each system's runs, compared with the ratio of their means. Serious when the text gives a ratio of the two (A / B = x); a note for neighbours in a table.",
    remedy: "Take more runs, in changing order: prony duel continues until the difference is settled.",
};

/// At most this many pairs are listed one by one.
const TOLD: usize = 5;

/// The runs of a system under a load, in short.
#[derive(Clone)]
struct RunSpread<'a> {
    runs: &'a [&'a Figure],
    name: &'a str,
    mean: f64,
    least: f64,
    most: f64,
}

impl<'a> RunSpread<'a> {
    /// None of fewer than two runs: they have no spread.
    fn of(name: &'a str, runs: &'a [&'a Figure]) -> Option<Self> {
        let rates: Vec<f64> = runs.iter().map(|figure| figure.rate.value).collect();
        (rates.len() >= 2).then_some(())?;
        Some(Self {
            runs,
            name,
            mean: average(&rates).filter(|mean| *mean > 0.0)?,
            least: rates.iter().copied().fold(f64::INFINITY, f64::min),
            most: rates.iter().copied().fold(0.0, f64::max),
        })
    }

    /// Spread of the rates as a share of their mean, as `spread_exceeds_effect` expects it.
    fn spread(&self) -> f64 {
        (self.most - self.least) / self.mean
    }

    fn told(&self) -> String {
        format!(
            "{} {:.0} to {:.0} (the largest is {:.1} % above the smallest)",
            self.name,
            self.least,
            self.most,
            100.0 * (self.most / self.least - 1.0)
        )
    }
}

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for index in 0..seen.documents.len() {
        let cells: Vec<(&System, Load, RunSpread<'_>)> = seen
            .cells
            .iter()
            .filter(|(_, runs)| runs[0].document == index)
            .filter_map(|((system, load), runs)| {
                Some((system, *load, RunSpread::of(&system.name, runs)?))
            })
            .collect();
        match claimed(seen, index) {
            Some(remark) => remarks.push(remark),
            None => remarks.extend(neighbours(seen, index, &cells)),
        }
    }
    remarks
}

/// The text gives a ratio that the runs do not show.
fn claimed(seen: &CheckInput<'_>, index: usize) -> Option<UnnamedFinding> {
    let document = &seen.documents[index];
    let mut lines = Vec::new();
    let mut claims = Vec::new();
    let mut told: Option<String> = None;
    for ratio in &document.ratios {
        let find = |name: &str| {
            let figure = *seen.called(index, name).first()?;
            let runs = seen.cells.get(&(figure.system.clone(), figure.load))?;
            RunSpread::of(&figure.system.name, runs)
        };
        let (Some(over), Some(under)) = (find(&ratio.over), find(&ratio.under)) else {
            continue;
        };
        // What all runs together say; one of them may say anything.
        let effect = over.mean / under.mean;
        let Some(finding) = spread_exceeds_effect(effect, over.spread(), under.spread()) else {
            continue;
        };
        claims.push(format!("{} (line {})", ratio.value.value, ratio.line));
        lines.push(ratio.line);
        lines.extend(lines_in(index, over.runs.iter().chain(under.runs)));
        told.get_or_insert_with(|| {
            let runs = format!("{}, {}", over.told(), under.told());
            format!("{}. Runs: {runs}", finding.text)
        });
    }
    let text = format!(
        "the text claims {}. Over all runs: {}",
        claims.join(", "),
        told?.replace("it differs from the baseline", "the two differ")
    );
    Some(serious(document, lines, text))
}

/// Systems next to each other in order whose order the runs do not show.
fn neighbours(
    seen: &CheckInput<'_>,
    index: usize,
    cells: &[(&System, Load, RunSpread<'_>)],
) -> Vec<UnnamedFinding> {
    let mut groups: BTreeMap<(&str, Load), Vec<&RunSpread<'_>>> = BTreeMap::new();
    for (system, load, cell) in cells.iter().filter(|(system, ..)| !system.unsure) {
        groups
            .entry((&system.section, *load))
            .or_default()
            .push(cell);
    }
    let mut lines = Vec::new();
    let mut pairs = 0;
    let mut close = Vec::new();
    for group in groups.values_mut() {
        group.sort_by(|a, b| b.mean.total_cmp(&a.mean));
        for pair in group.windows(2) {
            pairs += 1;
            let (a, b) = (pair[0], pair[1]);
            if spread_exceeds_effect(a.mean / b.mean, a.spread(), b.spread()).is_none() {
                continue;
            }
            lines.extend(lines_in(index, a.runs.iter().chain(b.runs)));
            close.push(format!(
                "{} and {} ({:.1} %, runs of one up to {:.1} %)",
                a.name,
                b.name,
                100.0 * (a.mean / b.mean - 1.0),
                100.0 * a.spread().max(b.spread())
            ));
        }
    }
    if close.is_empty() {
        return Vec::new();
    }
    let more = match close.len().saturating_sub(TOLD) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let text = format!(
        "of {pairs} pairs of neighbours, {} differ by less than runs of the same system do: \
         {}{more}. These figures do not show their order; take more runs",
        close.len(),
        close[..close.len().min(TOLD)].join("; "),
    );
    let document = &seen.documents[index];
    vec![note(document, lines, text)]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of};
    use prony_checks::Severity;

    fn table(b: &str, claim: &str) -> String {
        format!(
            "# Requests per second\n\n| | run 1 | run 2 | run 3 |\n|--|--|--|--|\n| A | 1000 | 1050 | 1020 |\n| B | {b} |\n\n{claim}\n"
        )
    }

    #[test]
    fn a_claim_within_the_spread() {
        let found = of(
            CheckId::SpreadExceedsEffect,
            &table("1010 | 1060 | 1050", "B / A = 1.010"),
        );
        assert_eq!(found[0].finding.severity, Severity::Serious);
        assert_eq!(found[0].lines, [5, 6, 8]);
        assert!(found[0].finding.text.contains("5.0 %"), "{found:?}");
    }

    #[test]
    fn no_claim_and_a_large_effect() {
        let found = of(
            CheckId::SpreadExceedsEffect,
            &table("1010 | 1060 | 1050", ""),
        );
        assert_eq!(found[0].finding.severity, Severity::Note);
        assert_eq!(
            of(
                CheckId::SpreadExceedsEffect,
                &table("2010 | 2060 | 2050", "B / A = 2.0")
            ),
            []
        );
    }
}
