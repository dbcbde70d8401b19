//! `too-short`: a run that was over before the server was warm, or before anything averaged out.

use super::{CheckInput, UnnamedFinding, note, time, warning};
use crate::command::Command;
use crate::figures::Figure;
use crate::model::Table;
use crate::model::{Document, ToolOutput};
use crate::names::spaced;
use crate::text::number::seconds;
use crate::words::Words;
use prony_checks::{CheckId, Explanation};
use std::collections::BTreeMap;

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::TooShort,
    cause: "A run ended before a just-in-time compiler had finished (10 s), or was so short that a single scheduling delay is a visible part of it (little more than a second).",
    evidence: "The durations in the outputs, or the number of requests divided by the rate; names of systems that run on a virtual machine.",
    remedy: "Load until the rate is steady, then measure for at least 10 s.",
};

/// Seconds. Virtual machines go on compiling for seconds to minutes (Barrett et al., OOPSLA 2017),
/// so without a warm-up, which no tool here has by itself, less is mostly that.
const COMPILED: f64 = 10.0;
/// Seconds. In one, a single scheduling delay or garbage collection is a visible part; what was to
/// last for a second lasts a little longer.
const ENOUGH: f64 = 1.5;
/// A number of requests is done a little sooner than a duration.
const SLACK: f64 = 0.999;
/// Longer than an hour, a figure divided into a number of requests was no rate.
const LONGEST: f64 = 3_600.0;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        let figures = seen
            .figures
            .iter()
            .filter(|figure| figure.document == index);
        let timed: Vec<(&Figure, f64)> = figures
            .filter_map(|figure| Some((figure, lasted(document, figure)?)))
            .collect();
        let cold = timed.iter().filter(|(figure, seconds)| {
            *seconds < COMPILED * SLACK
                && *seconds >= ENOUGH * SLACK
                && is_compiled(&figure.system.name)
        });
        let text = "and the text mentions no warm-up: the measurement includes the compiler's work. \
            Load until the rate is steady, then measure for 10 s or more";
        remarks.extend(short(
            document,
            &cold.copied().collect::<Vec<_>>(),
            "a just-in-time compiler",
            text,
        ));
        let brief = timed
            .iter()
            .filter(|(_, seconds)| *seconds < ENOUGH * SLACK);
        let text = "and a single scheduling delay is a visible part of that: measure longer";
        remarks.extend(short(
            document,
            &brief.copied().collect::<Vec<_>>(),
            "little more than a second at most",
            text,
        ));
        for output in &document.outputs {
            let long = output
                .block
                .lasted()
                .is_none_or(|seconds| seconds >= ENOUGH * SLACK);
            if let (Some(line), true) = (output.block.unsampled, long) {
                let text = "httperf samples the reply rate every 5 s and took no sample: its \
                    minimum, mean and deviation of the rate are meaningless; measure for 30 s or more"
                    .to_owned();
                remarks.push(note(document, [line], text));
            }
        }
    }
    remarks
}

fn short(
    document: &Document,
    runs: &[(&Figure, f64)],
    what: &str,
    text: &str,
) -> Option<UnnamedFinding> {
    let mut systems: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (figure, seconds) in runs {
        let (least, most) = systems
            .entry(&figure.system.name)
            .or_insert((*seconds, *seconds));
        *least = least.min(*seconds);
        *most = most.max(*seconds);
    }
    let systems: Vec<String> = systems
        .iter()
        .map(|(name, (least, most))| match time(*least) == time(*most) {
            true => format!("{name} {}", time(*least)),
            false => format!("{name} {} to {}", time(*least), time(*most)),
        })
        .collect();
    (!systems.is_empty()).then_some(())?;
    let runs_are = match runs.len() {
        1 => "a short run".to_owned(),
        n => format!("{n} short runs"),
    };
    let text = format!("{runs_are} ({what}): {}, {text}", systems.join(", "));
    let lines = runs.iter().map(|(figure, _)| figure.line);
    Some(warning(document, lines, text))
}

/// How long the run of a figure lasted, in seconds: by its output, or by the number of requests
/// that its command line, or the only one of the text, asks for.
fn lasted(document: &Document, figure: &Figure) -> Option<f64> {
    let output = figure.output.map(|output| &document.outputs[output]);
    if let Some(seconds) = output.and_then(|output| output.block.lasted()) {
        return Some(seconds);
    }
    if output.is_none()
        && let Some(seconds) = beside(document, figure)
    {
        return Some(seconds);
    }
    let own = output.and_then(|output| output.command.as_ref());
    if let Some(seconds) = own.and_then(Command::seconds) {
        return Some(seconds);
    }
    let tool = output.map(|output| output.block.tool);
    // Where another output of the tool says how long it lasted, the command line is of that, and not of a few lines elsewhere.
    let of_another =
        |other: &ToolOutput| Some(other.block.tool) == tool && other.block.lasted().is_some();
    if own.is_none() && document.outputs.iter().any(of_another) {
        return None;
    }
    let command = own.or_else(|| document.command_of(tool));
    let requests = command.and_then(Command::requests);
    let seconds = requests? as f64 / figure.rate.value;
    (seconds < LONGEST).then_some(seconds)
}

/// The time that a table has beside a rate: `Time To Complete`, `Total time in sec`. It is of the rate's own requests if
/// the longest time of the table is that of its lowest rate.
fn beside(document: &Document, figure: &Figure) -> Option<f64> {
    const NAMES: Words = Words("time to complete, total time, time taken, elapsed, duration");
    let rows = |table: &Table| table.rows.iter().any(|row| row.line() == figure.line);
    let (table, _) = document.tables.iter().find(|(table, _)| rows(table))?;
    let column = (1..table.header.len()).find(|column| {
        let name = table.name(*column).to_lowercase();
        NAMES.within(&name) && !name.contains("ms") && !name.contains("min")
    })?;
    let row = table.rows.iter().find(|row| row.line() == figure.line)?;
    let text = row.cells.get(column)?.text.as_str();
    // Without a unit the name has to have one.
    let name = table.name(column).to_lowercase();
    let known = name.contains("sec") || name.contains("(s)") || name.ends_with(" s");
    match row.number(column) {
        Some(bare) if known && text.ends_with(|c: char| c.is_ascii_digit()) => Some(bare.value),
        _ => Some(seconds(text)?.value),
    }
}

/// Does a system run on a virtual machine that compiles as it goes?
fn is_compiled(name: &str) -> bool {
    const NAMES: Words = Words(
        "java, jvm, scala, kotlin, clojure, finagle, finatra, netty, play, akka, pekko, spray, \
        vertx, vert, undertow, jetty, tomcat, spring, micronaut, quarkus, helidon, graalvm, \
        http4s, ktor, node, nodejs, deno, bun, javascript, typescript, express, fastify, pypy, \
        luajit, openresty, dotnet, net, aspnet, aspnetcore, kestrel, csharp, jruby, truffleruby, \
        julia",
    );
    // `SpringBootServer`
    let name = spaced(name).to_lowercase();
    let words = || name.split(|c: char| !c.is_alphanumeric());
    // A native image, or Native AOT, was compiled before it was started.
    if words().any(|word| matches!(word, "native" | "aot")) {
        return false;
    }
    let mut before = "";
    for word in words() {
        // `node18` is node; `one node` is a machine.
        let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let machine = matches!(
            before,
            "one" | "single" | "per" | "each" | "worker" | "master"
        );
        if NAMES.has(bare) && !(word == "node" && machine) {
            return true;
        }
        before = word;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};

    #[test]
    fn a_virtual_machine_needs_longer() {
        let short = wrk(&[("30.00s", "5.00s"), ("960000", "160000")]);
        let found = of(CheckId::TooShort, &format!("# Finagle\n{short}"));
        assert_eq!(found[0].lines, [13]);
        assert!(
            found[0].finding.text.contains("Finagle 5.00 s"),
            "{found:?}"
        );
        for other in [
            "nginx",
            "One node",
            "GraalVM native quarkus",
            "ASP.NET (Native AOT)",
        ] {
            assert_eq!(of(CheckId::TooShort, &format!("# {other}\n{short}")), []);
        }
        let shorter = wrk(&[("30.00s", "0.50s"), ("960000", "16000")]);
        assert_eq!(
            of(CheckId::TooShort, &format!("# nginx\n{shorter}")).len(),
            1
        );
    }

    #[test]
    fn a_command_line_is_of_the_output_that_it_stands_above() {
        let lines = "Requests per second:    6065.46 [#/sec] (mean)\n\
            Time per request:       164.868 [ms] (mean)\n";
        let command = "`ab -n 1000 -c 1000 http://10.0.0.2/`\n\n";
        let whole = "Concurrency Level:      1000\nTime taken for tests:   6.379 seconds\n\
            Complete requests:      10000\nRequests per second:    1567.54 [#/sec] (mean)\n\n\
            It means:\n\n";
        assert_eq!(of(CheckId::TooShort, &format!("{command}{lines}")).len(), 1);
        assert_eq!(
            of(CheckId::TooShort, &format!("{command}{whole}{lines}")),
            []
        );
    }

    #[test]
    fn a_number_of_requests_over_a_rate() {
        let text = "    ab -c 20 -n 8000 http://10.0.0.2/\n\n| | node.js 0.5 | nginx |\n|--|--|--|\n\
            | 1st | 2000.5 | 2100.5 |\n| 2nd | 1000.5 | 2110.5 |\n";
        let found = of(CheckId::TooShort, text);
        assert_eq!(found[0].lines, [5, 6]);
        assert!(
            found[0].finding.text.contains("4.00 s to 8.00 s"),
            "{found:?}"
        );
        assert_eq!(of(CheckId::TooShort, &text.replace("8000", "80000")), []);
    }
}
