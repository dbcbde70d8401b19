//! `no-figures`: command lines and pictures, and no figure that could be looked at.

use super::{Seen, remark, whole};
use crate::audit::Remark;
use crate::figures::{is_other, rate_unit};
use crate::table::Table;
use prony_checks::{Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "no-figures",
    cause: "The results are pictures only: no figure can be checked, and the spread between runs is not given.",
    evidence: "Pictures and command lines, or pictures of rates or times below a heading of results, but no output and no table of figures.",
    remedy: "Publish the figures of every run.",
};

/// A rate that nearly any server reaches today: what is over sooner than this is short for most.
const USUAL_RATE: f64 = 10_000.0;

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        // A table of the machines is none of results.
        let measured = |table: &Table| {
            table
                .header
                .iter()
                .any(|name| is_other(name) || rate_unit(name).is_some())
                || table.header.len() < 2
        };
        let figures = seen.figures.iter().any(|figure| figure.document == index)
            || seen.timed.values().any(|runs| runs[0].document == index)
            || document.tables.iter().any(|(table, _)| measured(table));
        let empty = document.outputs.is_empty() && !figures && !document.linked;
        let measured = !document.commands.is_empty() || document.charted;
        if !empty || !measured || document.pictures.is_empty() {
            continue;
        }
        let repeated = match document.repetitions {
            Some(n) => {
                format!("everything was run {n} times, it says, with what spread it does not")
            }
            None => {
                "nothing says that anything was run more than once, nor how far runs differ".into()
            }
        };
        let fixed: Vec<String> = document
            .commands
            .iter()
            .filter_map(|command| Some((command, command.requests()? as f64)))
            .map(|(command, n)| {
                format!(
                    "{} with {} requests is over within {:.0} s for any server that reaches {} per \
                     second",
                    command.tool,
                    whole(n),
                    (n / USUAL_RATE).ceil(),
                    whole(USUAL_RATE)
                )
            })
            .collect();
        let fixed = match fixed.as_slice() {
            [] => String::new(),
            fixed => format!("; {}", fixed.join("; ")),
        };
        let text = format!(
            "the results are pictures only: no figure can be checked, and {repeated}{fixed}. Publish the \
             figures of every run"
        );
        let commands = document.commands.iter().map(|command| command.line);
        let lines = commands.chain(document.pictures.iter().copied());
        remarks.push(remark(
            EXPLANATION.name,
            Severity::Warning,
            document,
            lines,
            text,
        ));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::of;

    #[test]
    fn a_picture_of_a_result() {
        let text = "I ran\n\n    weighttp -n 100000 -c 10 -k http://10.0.0.2/\n\n![chart](x.png)\n";
        let found = of("no-figures", text);
        assert_eq!(found[0].lines, [3, 5]);
        assert!(found[0].finding.text.contains("within 10 s"), "{found:?}");
        assert_eq!(of("no-figures", &text.replace('!', "")), []);
        let linked = format!("{text}\nAll figures are [here](results/all.csv).\n");
        assert_eq!(of("no-figures", &linked), []);
    }

    #[test]
    fn pictures_below_a_heading_of_results() {
        let text = "## Load Testing Results\n\n### Echo Testing Result\n\n![image](https://a.b/assets/1f2e)\n";
        assert_eq!(of("no-figures", text)[0].lines, [5]);
        assert_eq!(of("no-figures", &text.replace("Load", "Unit")), []);
        assert_eq!(of("no-figures", &text.replace("![image]", "![badge]")), []);
        let machine = format!("| machine | value |\n|--|--|\n| cores | 8 |\n\n{text}");
        assert_eq!(of("no-figures", &machine).len(), 1);
        let figures = format!("{text}\n| server | req/s |\n|--|--|\n| a | 80 |\n");
        assert_eq!(of("no-figures", &figures), []);
    }

    #[test]
    fn pictures_of_times_below_a_load_test() {
        let text =
            "# K6 Load Test Report\n\n## Times\n\n![Times](report/latency_distribution.png)\n";
        assert_eq!(of("no-figures", text)[0].lines, [5]);
        let figures = format!("{text}\n16.41K/s\n\n17.09K/s\n");
        assert_eq!(of("no-figures", &figures), []);
        let library = "# Cache\n\n## Benchmarks\n\n### Throughput\n\n![](a/Throughput.svg)\n";
        assert_eq!(of("no-figures", library), []);
        let announced =
            "# Virtual threads\n\nResultado gatling:\n\n<img src=\"https://a.b/async.png\">\n";
        assert_eq!(of("no-figures", announced)[0].lines, [5]);
        assert_eq!(
            of("no-figures", &announced.replace("gatling", "de ayer")),
            []
        );
    }
}
