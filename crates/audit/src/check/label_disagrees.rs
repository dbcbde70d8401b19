//! `label-disagrees`: an output is not of the load that its label or its command line names.

use super::{Seen, remark};
use crate::audit::Remark;
use crate::document::{Document, Output};
use crate::load::Load;
use prony_checks::{Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "label-disagrees",
    cause: "An output comes from a different load than its label, or the command line above it, says.",
    evidence: "Connections, threads and duration in the label or the command line, compared with those in the output.",
    remedy: "Run that load, or correct the label.",
};

/// A remainder that is less than this share of the connections changes no figure.
const DROPPED: f64 = 0.95;
/// A run ends a little later than it was to; a tool that was to run for 30 s did not run for 60.
const SECONDS: f64 = 0.05;

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        remarks.extend(dropped(document));
        for output in &document.outputs {
            let wrong: Vec<(usize, usize, String)> =
                label(output).into_iter().chain(command(output)).collect();
            if wrong.is_empty() {
                continue;
            }
            let parts: Vec<&str> = wrong.iter().map(|(.., text)| text.as_str()).collect();
            let text = format!(
                "{}: {}. The row belongs to a different load than its label says",
                output.called(),
                parts.join("; ")
            );
            let lines = wrong.iter().flat_map(|(a, b, _)| [*a, *b]);
            remarks.push(remark(
                EXPLANATION.name,
                Severity::Serious,
                document,
                lines,
                text,
            ));
        }
    }
    remarks
}

/// wrk gives every thread as many connections, and drops the remainder: of 50 for 20 threads, ten.
fn dropped(document: &Document) -> Option<Remark> {
    let short = document.outputs.iter().filter_map(|output| {
        let (said, opened) = (output.block.connections?, output.opened()?);
        let few = (opened as f64) < DROPPED * said.what as f64;
        few.then_some((output, said, opened))
    });
    let short: Vec<_> = short.collect();
    let (output, said, opened) = short.first()?;
    let text = format!(
        "{} says {} connections and opened {opened}: wrk gives each of its {} threads as many, and \
         drops the remainder",
        output.called(),
        said.what,
        output.block.threads.map_or(1, |threads| threads.what),
    );
    let lines = short.iter().map(|(_, said, _)| said.line);
    Some(remark(
        EXPLANATION.name,
        Severity::Warning,
        document,
        lines,
        text,
    ))
}

/// What the label says otherwise: its line, the output's, and both in words.
fn label(output: &Output) -> Vec<(usize, usize, String)> {
    let Some(label) = &output.place.label else {
        return Vec::new();
    };
    let Some(load) = Load::parse(&label.0) else {
        return Vec::new();
    };
    let block = &output.block;
    let pairs = [
        ("connections", load.connections, block.connections),
        ("threads", load.threads, block.threads),
    ];
    let wrong = pairs.into_iter().filter_map(|(what, said, ran)| {
        let (said, ran) = (said?, ran?);
        (said != ran.what).then(|| {
            let text = format!("labelled {said} {what}, run with {}", ran.what);
            (label.1, ran.line, text)
        })
    });
    wrong.collect()
}

/// What the command line above says otherwise.
fn command(output: &Output) -> Vec<(usize, usize, String)> {
    let Some(command) = &output.command else {
        return Vec::new();
    };
    let block = &output.block;
    if command.tool != block.tool {
        return Vec::new();
    }
    let pairs = [
        ("connections", command.connections(), block.connections),
        ("threads", command.threads(), block.threads),
    ];
    let mut wrong: Vec<_> = pairs
        .into_iter()
        .filter_map(|(what, said, ran)| {
            let (said, ran) = (said?, ran?);
            (said != ran.what).then(|| {
                let text = format!(
                    "the command line says {said} {what}, the output {}",
                    ran.what
                );
                (command.line, ran.line, text)
            })
        })
        .collect();
    if let Some((said, planned)) = command.seconds().zip(block.planned)
        && (said - planned.what).abs() > SECONDS * said
    {
        let text = format!(
            "the command line says {said} s, the output {} s",
            planned.what
        );
        wrong.push((command.line, planned.line, text));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};

    #[test]
    fn labels_and_commands() {
        let wrong = of("label-disagrees", &format!("c256-t4\n{}", wrk(&[])));
        assert_eq!(wrong[0].lines, [1, 3]);
        assert!(
            wrong[0]
                .finding
                .text
                .contains("labelled 256 connections, run with 64")
        );
        assert_eq!(of("label-disagrees", &format!("t4-c64\n{}", wrk(&[]))), []);
        assert_eq!(of("label-disagrees", &format!("nginx\n{}", wrk(&[]))), []);
        let command = |command: &str| {
            of(
                "label-disagrees",
                &format!("    {command} http://x/\n{}", wrk(&[])),
            )
        };
        assert_eq!(command("wrk -c64 -t4 -d30s"), []);
        assert_eq!(command("wrk -c64 -t4 -d60s").len(), 1);
        assert_eq!(command("wrk -c65 -t8 -d30s")[0].lines, [1, 3]);
        let dropped = |text: &str| {
            of(
                "label-disagrees",
                &wrk(&[("4 threads and 64 connections", text)]),
            )
        };
        assert_eq!(dropped("20 threads and 50 connections")[0].lines, [2]);
        assert_eq!(dropped("12 threads and 400 connections"), []);
        // Which is of something else.
        assert_eq!(command("ab -c65 -n8"), []);
    }
}
