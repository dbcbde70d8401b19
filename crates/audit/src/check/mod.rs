//! The checks: one file each, with its thresholds and their reasons.

mod back_filled;
mod bytes_differ;
mod ceiling;
mod co_located;
mod errors;
mod garbled_cell;
mod hosts_mixed;
mod inverse_latency;
mod label_disagrees;
mod littles_law;
mod mean_disagrees;
mod percentile_order;
mod rate_is_connections;
mod ratio_disagrees;
mod repeated_rows;
mod samples_capped;
pub(crate) mod sleep_in_window;
mod spread_exceeds_effect;
mod syn_retransmit;
mod table_disagrees;
mod time_outs_missing;
mod too_few_runs;
mod too_few_samples;
mod too_short;

use crate::audit::Remark;
use crate::command::Command;
use crate::figures::{Figure, cells, figures};
use crate::load::Load;
use crate::model::Tool;
use crate::model::{Document, ToolOutput};
use crate::names::System;
use crate::words::is_generic;
use prony_checks::{CheckId, Explanation, Finding, Severity};
use std::collections::BTreeMap;

/// Material that the checks look at.
struct CheckInput<'a> {
    documents: &'a [Document],
    figures: &'a [Figure],
    /// The runs of each system under each load.
    cells: BTreeMap<(System, Load), Vec<&'a Figure>>,
    /// The figures of each system, by document and by its name in small letters.
    names: BTreeMap<(usize, String), Vec<&'a Figure>>,
}

impl<'a> CheckInput<'a> {
    fn new(documents: &'a [Document], figures: &'a [Figure]) -> Self {
        let mut names: BTreeMap<(usize, String), Vec<&Figure>> = BTreeMap::new();
        for figure in figures {
            let name = figure.system.name.to_lowercase();
            names
                .entry((figure.document, name))
                .or_default()
                .push(figure);
        }
        Self {
            documents,
            figures,
            cells: cells(figures),
            names,
        }
    }

    /// The figures of the systems of a document that go by a name, in order: `A` is also `A, with
    /// an option`.
    fn called(&self, document: usize, name: &str) -> Vec<&'a Figure> {
        let name = name.to_lowercase();
        let more = format!("{name}, ");
        let from = (document, name.clone());
        let near = self.names.range(from..);
        let near = near.take_while(|((d, other), _)| *d == document && other.starts_with(&name));
        let own = near.filter(|((_, other), _)| *other == name || other.starts_with(&more));
        let mut figures: Vec<&Figure> = own.flat_map(|(_, figures)| figures).copied().collect();
        figures.sort_by_key(|figure| figure.line);
        figures
    }
}

/// A finding of one check, before its name is added.
struct UnnamedFinding {
    severity: Severity,
    /// The document's name.
    file: String,
    /// From 1, in order.
    lines: Vec<usize>,
    text: String,
}

type Check = fn(&CheckInput<'_>) -> Vec<UnnamedFinding>;

/// All checks with their explanations, in the order in which findings on the same line are reported.
const CHECKS: [(Explanation, Check); 24] = [
    (repeated_rows::EXPLANATION, repeated_rows::check),
    (mean_disagrees::EXPLANATION, mean_disagrees::check),
    (ratio_disagrees::EXPLANATION, ratio_disagrees::check),
    (label_disagrees::EXPLANATION, label_disagrees::check),
    (table_disagrees::EXPLANATION, table_disagrees::check),
    (garbled_cell::EXPLANATION, garbled_cell::check),
    (littles_law::EXPLANATION, littles_law::check),
    (back_filled::EXPLANATION, back_filled::check),
    (time_outs_missing::EXPLANATION, time_outs_missing::check),
    (samples_capped::EXPLANATION, samples_capped::check),
    (inverse_latency::EXPLANATION, inverse_latency::check),
    (percentile_order::EXPLANATION, percentile_order::check),
    (errors::EXPLANATION, errors::check),
    (bytes_differ::EXPLANATION, bytes_differ::check),
    (ceiling::EXPLANATION, ceiling::check),
    (
        spread_exceeds_effect::EXPLANATION,
        spread_exceeds_effect::check,
    ),
    (too_few_runs::EXPLANATION, too_few_runs::check),
    (too_few_samples::EXPLANATION, too_few_samples::check),
    (too_short::EXPLANATION, too_short::check),
    (syn_retransmit::EXPLANATION, syn_retransmit::check),
    (sleep_in_window::EXPLANATION, sleep_in_window::check),
    (rate_is_connections::EXPLANATION, rate_is_connections::check),
    (hosts_mixed::EXPLANATION, hosts_mixed::check),
    (co_located::EXPLANATION, co_located::check),
];

/// Explanations of all checks, in the order of their names.
pub const EXPLANATIONS: [Explanation; 24] = [
    back_filled::EXPLANATION,
    bytes_differ::EXPLANATION,
    ceiling::EXPLANATION,
    co_located::EXPLANATION,
    errors::EXPLANATION,
    garbled_cell::EXPLANATION,
    hosts_mixed::EXPLANATION,
    inverse_latency::EXPLANATION,
    label_disagrees::EXPLANATION,
    littles_law::EXPLANATION,
    mean_disagrees::EXPLANATION,
    percentile_order::EXPLANATION,
    rate_is_connections::EXPLANATION,
    ratio_disagrees::EXPLANATION,
    repeated_rows::EXPLANATION,
    samples_capped::EXPLANATION,
    sleep_in_window::EXPLANATION,
    spread_exceeds_effect::EXPLANATION,
    syn_retransmit::EXPLANATION,
    table_disagrees::EXPLANATION,
    time_outs_missing::EXPLANATION,
    too_few_runs::EXPLANATION,
    too_few_samples::EXPLANATION,
    too_short::EXPLANATION,
];

/// A minimal text that raises each finding, in the order of their names.
const EXAMPLES: [(CheckId, &str); 24] = [
    (
        CheckId::BackFilled,
        include_str!("examples/back-filled.txt"),
    ),
    (
        CheckId::BytesDiffer,
        include_str!("examples/bytes-differ.txt"),
    ),
    (CheckId::Ceiling, include_str!("examples/ceiling.txt")),
    (CheckId::CoLocated, include_str!("examples/co-located.txt")),
    (CheckId::Errors, include_str!("examples/errors.txt")),
    (
        CheckId::GarbledCell,
        include_str!("examples/garbled-cell.txt"),
    ),
    (
        CheckId::HostsMixed,
        include_str!("examples/hosts-mixed.txt"),
    ),
    (
        CheckId::InverseLatency,
        include_str!("examples/inverse-latency.txt"),
    ),
    (
        CheckId::LabelDisagrees,
        include_str!("examples/label-disagrees.txt"),
    ),
    (
        CheckId::LittlesLaw,
        include_str!("examples/littles-law.txt"),
    ),
    (
        CheckId::MeanDisagrees,
        include_str!("examples/mean-disagrees.txt"),
    ),
    (
        CheckId::PercentileOrder,
        include_str!("examples/percentile-order.txt"),
    ),
    (
        CheckId::RateIsConnections,
        include_str!("examples/rate-is-connections.txt"),
    ),
    (
        CheckId::RatioDisagrees,
        include_str!("examples/ratio-disagrees.txt"),
    ),
    (
        CheckId::RepeatedRows,
        include_str!("examples/repeated-rows.txt"),
    ),
    (
        CheckId::SamplesCapped,
        include_str!("examples/samples-capped.txt"),
    ),
    (
        CheckId::SleepInWindow,
        include_str!("examples/sleep-in-window.txt"),
    ),
    (
        CheckId::SpreadExceedsEffect,
        include_str!("examples/spread-exceeds-effect.txt"),
    ),
    (
        CheckId::SynRetransmit,
        include_str!("examples/syn-retransmit.txt"),
    ),
    (
        CheckId::TableDisagrees,
        include_str!("examples/table-disagrees.txt"),
    ),
    (
        CheckId::TimeOutsMissing,
        include_str!("examples/time-outs-missing.txt"),
    ),
    (
        CheckId::TooFewRuns,
        include_str!("examples/too-few-runs.txt"),
    ),
    (
        CheckId::TooFewSamples,
        include_str!("examples/too-few-samples.txt"),
    ),
    (CheckId::TooShort, include_str!("examples/too-short.txt")),
];

/// A minimal text that raises a check; none for a check that no audit makes.
pub fn example(check: CheckId) -> Option<&'static str> {
    let found = EXAMPLES.iter().find(|(own, _)| *own == check);
    found.map(|(_, text)| *text)
}

/// Everything that the checks say of the documents.
pub(crate) fn examine(documents: &[Document]) -> Vec<Remark> {
    let figures = figures(documents);
    let seen = CheckInput::new(documents, &figures);
    let remarks = CHECKS.iter().flat_map(|(explanation, check)| {
        let raised = check(&seen).into_iter();
        raised.map(|raised| Remark {
            finding: Finding {
                name: explanation.name,
                severity: raised.severity,
                text: raised.text,
            },
            file: raised.file,
            lines: raised.lines,
        })
    });
    remarks.collect()
}

/// Says something of lines of a document.
fn raise(
    severity: Severity,
    document: &Document,
    lines: impl IntoIterator<Item = usize>,
    text: String,
) -> UnnamedFinding {
    let mut lines: Vec<usize> = lines.into_iter().collect();
    lines.sort_unstable();
    lines.dedup();
    UnnamedFinding {
        severity,
        file: document.name.clone(),
        lines,
        text,
    }
}

fn serious(
    document: &Document,
    lines: impl IntoIterator<Item = usize>,
    text: String,
) -> UnnamedFinding {
    raise(Severity::Serious, document, lines, text)
}

fn warning(
    document: &Document,
    lines: impl IntoIterator<Item = usize>,
    text: String,
) -> UnnamedFinding {
    raise(Severity::Warning, document, lines, text)
}

fn note(
    document: &Document,
    lines: impl IntoIterator<Item = usize>,
    text: String,
) -> UnnamedFinding {
    raise(Severity::Note, document, lines, text)
}

impl ToolOutput {
    /// Name of an output in a sentence: its heading and label, or its line.
    fn called(&self) -> String {
        // `GET` below `express` is called by both.
        let mut headings = self.place.headings.iter().rev();
        let own = headings.next().map(|heading| heading.0.as_str());
        let above = headings.next().filter(|_| own.is_some_and(names_little));
        let joined = above.map(|above| format!("{}, {}", above.0, own.unwrap_or("")));
        let heading = joined.as_deref().or(own);
        let label = self.place.label.as_ref().map(|label| label.0.as_str());
        match (heading, label) {
            (Some(heading), Some(label)) => format!("{heading}, {label}"),
            (Some(one), None) | (None, Some(one)) => one.to_owned(),
            (None, None) => format!("the output of line {}", self.block.first),
        }
    }

    /// Connections: as printed, else as the command line above says.
    fn connections(&self) -> Option<u64> {
        let printed = self.block.connections.map(|n| n.what);
        printed.or_else(|| self.command.as_ref()?.connections())
    }

    /// Has prony printed it, in another tool's shape? Then it is honest in what those are not.
    fn by_prony(&self) -> bool {
        self.command
            .as_ref()
            .is_some_and(|command| command.by_prony)
    }

    /// Connections that were really open: wrk gives each thread as many, and drops the remainder.
    fn opened(&self) -> Option<u64> {
        let connections = self.connections()?;
        let wrk = matches!(self.block.tool, Tool::Wrk | Tool::Wrk2) && !self.by_prony();
        let threads = self.block.threads.map_or(1, |threads| threads.what);
        match (wrk, threads) {
            (true, threads) if threads > 0 => Some(connections / threads * threads),
            _ => Some(connections),
        }
    }

    /// Does Little's law forbid its mean, by half of it at least?
    pub(crate) fn impossible_mean(&self) -> bool {
        let values = self
            .depth()
            .zip(self.block.rate)
            .zip(self.block.latency.mean);
        values.is_some_and(|((depth, rate), mean)| {
            rate.what.value * mean.what.low() > littles_law::SERIOUS * depth
        })
    }

    /// The most requests in flight at once, if the load was a closed loop.
    fn depth(&self) -> Option<f64> {
        // wrk2, httperf and vegeta send at a rate; k6's users may ask for several things at once.
        let closed = !matches!(
            self.block.tool,
            Tool::Wrk2 | Tool::Httperf | Tool::K6 | Tool::Vegeta | Tool::Gatling
        );
        (closed && self.block.asked.is_none()).then_some(())?;
        let pipeline = match (&self.block.pipeline, &self.command, self.block.tool) {
            (Some(printed), ..) => printed.what,
            (None, Some(command), _) => command.pipeline()?,
            // A flag makes these pipeline, and their output does not tell.
            (None, None, Tool::H2load | Tool::Oha | Tool::Weighttp) => return None,
            (None, None, _) => 1,
        };
        let named = |text: &str| text.to_lowercase().contains("pipelin");
        let headings = self.place.headings.iter().chain(&self.place.label);
        let mut named = headings.map(|text| named(&text.0));
        (pipeline > 1 || !named.any(|named| named)).then_some(())?;
        Some(self.opened()? as f64 * pipeline as f64)
    }
}

impl Document {
    /// The one command line of a tool that all of a text is about: the only one, or several that
    /// ask for the same number of requests.
    fn command_of(&self, tool: Option<Tool>) -> Option<&Command> {
        let mut commands = self
            .commands
            .iter()
            .filter(|command| tool.is_none_or(|tool| tool == command.tool));
        let first = commands.next()?;
        commands
            .all(|other| other.requests() == first.requests() && other.tool == first.tool)
            .then_some(first)
    }
}

/// Does a heading name nothing alone: a method, or that results follow?
fn names_little(heading: &str) -> bool {
    matches!(heading, "GET" | "POST" | "PUT" | "PATCH" | "DELETE") || is_generic(heading)
}

/// The lines of runs that stand in a document: those of one system may stand in several.
fn lines_in<'a>(
    document: usize,
    runs: impl IntoIterator<Item = &'a &'a Figure>,
) -> impl Iterator<Item = usize> {
    let own = runs
        .into_iter()
        .filter(move |figure| figure.document == document);
    own.map(|figure| figure.line)
}

/// `30 of 41 outputs`, or nothing of one.
fn of_all(part: usize, all: usize, what: &str) -> String {
    match (part, all) {
        (1, 1) => String::new(),
        _ => format!("{part} of {all} {what}: "),
    }
}

/// A count with its thousands set apart.
fn whole(n: f64) -> String {
    let digits = format!("{:.0}", n.abs());
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 request`, `2 requests`, with the thousands set apart.
fn requests(n: u64) -> String {
    match n {
        1 => "1 request".to_owned(),
        n => format!("{} requests", whole(n as f64)),
    }
}

/// A share with the digits that it has: never nothing of something, nor all of less.
fn share(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        p if p >= 100.0 => "100 %".to_owned(),
        p if p > 99.9 => "more than 99.9 %".to_owned(),
        p if p >= 1.0 => format!("{p:.1} %"),
        p if p >= 0.001 => format!("{p:.3} %"),
        _ => format!("1 in {}", whole((1.0 / share).round())),
    }
}

/// A time with a unit that people read.
fn time(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.2} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Texts in, checks out.

    use super::{Explanation, Remark};
    pub use prony_checks::CheckId;

    pub fn audit(text: &str) -> Vec<Remark> {
        crate::audit(&[("text.md".to_owned(), text.to_owned())]).remarks
    }

    /// The remarks of one check.
    pub fn of(check: CheckId, text: &str) -> Vec<Remark> {
        let mut remarks = audit(text);
        remarks.retain(|remark| remark.finding.name == check);
        remarks
    }

    /// wrk's output with everything in order, of 64 connections for 30 s, and some of it replaced.
    pub fn wrk(replace: &[(&str, &str)]) -> String {
        let mut text = "Running 30s test @ http://10.0.0.2:8000/\n  \
            4 threads and 64 connections\n  \
            Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
            Latency     2.00ms  300.00us   3.90ms   90.00%\n    \
            Req/Sec     8.00k   300.00     9.00k    70.00%\n  \
            Latency Distribution\n     50%    1.95ms\n     75%    2.10ms\n     \
            90%    2.40ms\n     99%    3.00ms\n  \
            960000 requests in 30.00s, 150.00MB read\n\
            Requests/sec:  32000.00\n\
            Transfer/sec:      5.00MB\n"
            .to_owned();
        for (from, to) in replace {
            assert!(text.contains(from), "{from} is not in the text");
            text = text.replace(from, to);
        }
        text
    }

    #[test]
    fn every_check_is_explained_once_in_order() {
        let names = super::EXPLANATIONS.map(|it| it.name);
        assert!(names.is_sorted() && names.len() == super::CHECKS.len());
        for it in super::EXPLANATIONS {
            for text in [it.cause, it.evidence, it.remedy] {
                assert!(text.len() > 10 && text.ends_with('.'), "{text}");
            }
        }
    }

    /// A check of measurements and of audits is explained for both, and no check is left unexplained.
    #[test]
    fn every_check_has_one_explanation_for_measurements_or_audits() {
        let measured = prony_checks::explanations();
        let audited = super::EXPLANATIONS;
        for check in CheckId::ALL {
            let of = |all: &[Explanation]| all.iter().filter(|it| it.name == *check).count();
            let found = (of(&measured), of(&audited));
            assert!(
                matches!(found, (1, 0) | (0, 1) | (1, 1)),
                "{check}: {found:?}"
            );
        }
    }

    #[test]
    fn the_output_in_order_raises_nothing() {
        assert_eq!(audit(&wrk(&[])), []);
    }
}
