//! `too-few-runs`: systems are compared that were run once or twice.

use super::{CheckInput, UnnamedFinding, lines_in, raise};
use crate::figures::Figure;
use crate::load::{Load, LoadParameter};
use crate::model::Document;
use crate::names::System;
use prony_checks::{CheckId, Explanation, Severity};
use std::collections::{BTreeMap, BTreeSet};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::TooFewRuns,
    cause: "Systems are compared that were run only once or twice. The spread between runs of one system is unknown, and so is whether any two systems differ.",
    evidence: "The number of figures of each system under each load, and lines that give the number of runs.",
    remedy: "Start each system at least three times, in changing order.",
};

/// Two runs have a spread of which nothing is known: Student's factor is 12.7 for two, 4.3 for three.
const LEAST: usize = 3;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let remarks = seen
        .documents
        .iter()
        .enumerate()
        .filter_map(|(index, document)| {
            few(document, index, &compared(document, index, &seen.cells))
        });
    remarks.collect()
}

type Cells<'a> = BTreeMap<(System, Load), Vec<&'a Figure>>;
type Compared<'a, 'b> = Vec<(&'b (System, Load), &'b Vec<&'a Figure>)>;

/// Figures of systems that are compared with others.
fn compared<'a, 'b>(document: &Document, index: usize, all: &'b Cells<'a>) -> Compared<'a, 'b> {
    // Two systems under the same load are a comparison.
    let mut groups: BTreeMap<(&str, Load), BTreeSet<&System>> = BTreeMap::new();
    let cells = || all.iter().filter(|(_, runs)| runs[0].document == index);
    // Where only a sentence tells two outputs apart they may be runs of one system, unless the text
    // gives a ratio.
    let claimed = !document.ratios.is_empty();
    let known = |system: &System| claimed || !system.unsure;
    for ((system, load), _) in cells().filter(|((system, _), _)| known(system)) {
        groups
            .entry((&system.section, *load))
            .or_default()
            .insert(system);
    }
    // A spread is of several runs, those that a list sums up as well.
    let repeated = is_repeated(index, all);
    let compared = cells().filter(|((system, load), runs)| {
        if repeated && runs.iter().all(|run| run.output.is_none()) {
            return false;
        }
        // Who keeps the rate that was asked for is not shown to be faster.
        if !claimed && runs.iter().all(|run| keeps_its_rate(run)) {
            return false;
        }
        let group = groups.get(&(&*system.section, *load));
        known(system) && group.is_some_and(|systems| systems.len() >= 2)
    });
    compared.collect()
}

/// Has any figure of a document a spread?
fn is_repeated(index: usize, all: &Cells<'_>) -> bool {
    let own = all.values().filter(|runs| runs[0].document == index);
    own.flatten().any(|run| run.repeated)
}

/// Remark about compared figures that are of few runs; `None` when there is nothing to report.
fn few(document: &Document, index: usize, compared: &Compared<'_, '_>) -> Option<UnnamedFinding> {
    // What nothing names may be several systems, one after another.
    let named = compared.iter().filter(|((system, _), _)| is_named(system));
    let named = named.map(|(_, runs)| runs.len()).max();
    let most = named
        .or_else(|| compared.iter().map(|(_, runs)| runs.len()).max())
        .unwrap_or(LEAST);
    // Each figure may be the mean of several runs.
    if most >= LEAST || document.repetitions.is_some() {
        return None;
    }
    let (severity, runs) = match most {
        1 => (Severity::Warning, "once"),
        _ => (Severity::Note, "twice at most"),
    };
    let figures = match compared.len() {
        1 => "a compared figure".to_owned(),
        n => format!("each of {n} compared figures"),
    };
    let text = format!(
        "{figures} was measured {runs}: the spread between runs of one system is unknown, and so is whether \
         any two systems differ. Runs of a server, back to back, differ by several percent; start each at \
         least three times, in changing order",
    );
    let lines = lines_in(index, compared.iter().flat_map(|(_, runs)| runs.iter()));
    Some(raise(severity, document, lines, text))
}

/// Is a system called by something in the text, and not by its file?
fn is_named(system: &System) -> bool {
    *system.name != *system.origin.rsplit('/').next().unwrap_or(&system.origin)
}

/// Was a rate asked for, and reached within a hundredth?
fn keeps_its_rate(figure: &Figure) -> bool {
    match figure.load.other {
        Some((LoadParameter::Rate, asked)) => (figure.rate.value / asked as f64 - 1.0).abs() < 0.01,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    #[test]
    fn once_twice_often() {
        let text = "# Requests per second\n\n| | run 1 | run 2 | run 3 |\n|--|--|--|--|\n| A | 1 | 1 | 1 |\n| B | 2 | 2 | 2 |\n";
        assert_eq!(of(CheckId::TooFewRuns, text), []);
        let twice = text
            .replace(" run 3 |", "")
            .replace("| 1 |\n", "|\n")
            .replace("| 2 |\n", "|\n");
        assert_eq!(
            of(CheckId::TooFewRuns, &twice)[0].finding.severity,
            Severity::Note
        );
        let once = format!("# A\n{}\n# B\n{}", wrk(&[]), wrk(&[]));
        let found = of(CheckId::TooFewRuns, &once);
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([13, 28].as_slice(), Severity::Warning)
        );
        assert_eq!(
            of(
                CheckId::TooFewRuns,
                &format!("The median of 5 runs.\n\n{once}")
            ),
            []
        );
        assert_eq!(of(CheckId::TooFewRuns, &wrk(&[])), []);
        // A claim says that they are compared; without it they may be runs of one system.
        let pair = |claim: &str| {
            format!(
                "{}\nThis is what it does with the other thing, then.\n\n{}\n{claim}\n",
                wrk(&[]),
                wrk(&[])
            )
        };
        assert_eq!(of(CheckId::TooFewRuns, &pair("")), []);
        assert_eq!(of(CheckId::TooFewRuns, &pair("a / b = 2")).len(), 1);
        // A spread is of several runs.
        let spread = "| server | req/s | ±% |\n|--|--|--|\n| a | 100 | 0.5 |\n| b | 90 | 0.7 |\n";
        assert_eq!(of(CheckId::TooFewRuns, spread), []);
        // What has no name may be several systems.
        let unnamed = format!("{0}\n{0}\n{0}\n# A\n{0}\n# B\n{0}", wrk(&[]));
        assert_eq!(of(CheckId::TooFewRuns, &unnamed).len(), 1);
        // Two pages of one server are not compared, two ports are.
        let page = wrk(&[("8000/", "8000/page")]);
        assert_eq!(
            of(CheckId::TooFewRuns, &format!("{}\n{page}", wrk(&[]))),
            []
        );
        let port = wrk(&[("8000/", "8001/")]);
        assert_eq!(
            of(CheckId::TooFewRuns, &format!("{}\n{port}", wrk(&[]))).len(),
            1
        );
        let runs = format!(
            "# A\n\nTest 1:\n\n{0}\nTest 2:\n\n{0}\nTest 3:\n\n{0}\n",
            wrk(&[])
        );
        assert_eq!(
            of(
                CheckId::TooFewRuns,
                &(runs.clone() + &runs.replace("# A", "# B"))
            ),
            []
        );
    }
}
