//! `label-disagrees`: an output is not of the load that its label or its command line names.

mod rate;

use super::{CheckInput, UnnamedFinding, raise, serious, warning};
use crate::command::Command;
use crate::load::Load;
use crate::model::Tool;
use crate::model::{Document, ToolOutput};
use prony_checks::{CheckId, Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::LabelDisagrees,
    cause: "An output comes from a different load than its label, or the command line above it, says.",
    evidence: "Connections, threads and duration in the label or the command line, compared with those in the output. Of ab also when it was to keep connections and kept none; of wrk2, fortio and bombardier when they sent less than nine tenths of the rate that they were to send.",
    remedy: "Run that load, or correct the label.",
};

/// A remainder of less than the rest of this share of the connections hardly changes a figure.
const DROPPED: f64 = 0.95;
/// A run that lasts a smaller part of its time was stopped.
const HALF: f64 = 0.5;
/// Seconds. Slow answers make a short run longer by their own length.
const LATE: f64 = 60.0;
/// A run ends a little later than it was to; a tool that was to run for 30 s did not run for 60.
const SECONDS: f64 = 0.05;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        remarks.extend(one_protocol(document));
        remarks.extend(cut_short(document));
        remarks.extend(dropped(document, results(seen, index)));
        remarks.extend(kept_none(document));
        remarks.extend(rate::fell_short(document));
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
            remarks.push(serious(document, lines, text));
        }
    }
    remarks
}

/// Has a document figures that no output is there for?
fn results(seen: &CheckInput<'_>, index: usize) -> bool {
    let own = |figure: &&crate::figures::Figure| figure.document == index;
    seen.figures.iter().any(|figure| own(&figure))
}

/// wrk gives every thread as many connections, and drops the remainder: of 50 for 20 threads, ten. A command line
/// without an output says so too, where the text has results.
fn dropped(document: &Document, results: bool) -> Option<UnnamedFinding> {
    let outputs = document.outputs.iter().filter_map(|output| {
        let (said, opened) = (output.block.connections?, output.opened()?);
        let threads = output.block.threads?.what;
        (opened < said.what).then(|| (output.called(), said.line, said.what, opened, threads))
    });
    let mut short: Vec<_> = outputs.collect();
    if short.is_empty() && results {
        let wrk = |command: &&Command| {
            matches!(command.tool, Tool::Wrk | Tool::Wrk2) && !command.by_prony
        };
        short.extend(document.commands.iter().filter(wrk).filter_map(|command| {
            let (said, threads) = (command.connections()?, command.threads()?);
            let opened = said / threads.max(1) * threads;
            let called = format!("`-t{threads} -c{said}`");
            (opened < said && threads > 0).then_some((called, command.line, said, opened, threads))
        }));
    }
    let share = |said: u64, opened: u64| opened as f64 / said as f64;
    let worst = short.iter().min_by(|a, b| {
        let (a, b) = (share(a.2, a.3), share(b.2, b.3));
        a.total_cmp(&b)
    });
    let (called, _, said, opened, threads) = worst?;
    let text = format!(
        "{called} says {said} connections and opened {opened}: wrk gives each of its {threads} threads as \
         many, and drops the remainder",
    );
    // A few less are worth knowing.
    let severity = if share(*said, *opened) < DROPPED {
        Severity::Warning
    } else {
        Severity::Note
    };
    let lines = short.iter().map(|(_, line, ..)| *line);
    Some(raise(severity, document, lines, text))
}

/// A run that lasted less than half of what it was to, or more than twice as long, was stopped, or its clock was wrong.
fn cut_short(document: &Document) -> Option<UnnamedFinding> {
    let wrong = document.outputs.iter().filter_map(|output| {
        let (planned, ran) = (output.block.planned?, output.block.seconds?);
        let part = ran.what.value / planned.what;
        let far = part < HALF || part > 1.0 / HALF && ran.what.value > planned.what + LATE;
        far.then_some((output, planned, ran))
    });
    let wrong: Vec<_> = wrong.collect();
    let (output, planned, ran) = wrong.first()?;
    let text = format!(
        "{} was to run for {} and says that it ran for {}: it was stopped, or its clock was wrong, and with it the rate",
        output.called(),
        super::time(planned.what),
        super::time(ran.what.value),
    );
    let lines = wrong
        .iter()
        .flat_map(|(_, planned, ran)| [planned.line, ran.line]);
    Some(warning(document, lines, text))
}

/// wrk speaks HTTP/1.1 and nothing else, and h2load says how much smaller HTTP/2 has made the headers: what is called
/// otherwise was not measured.
fn one_protocol(document: &Document) -> Option<UnnamedFinding> {
    let wrong = document.outputs.iter().filter_map(|output| {
        let heading = output.place.headings.last();
        let label = output.place.label.as_ref().or(heading)?;
        let name = label.0.to_lowercase();
        let old = ["http/1.1", "http/1", "http1"]
            .iter()
            .any(|it| name.contains(it));
        let new = ["http/2", "http2", "h2c"]
            .iter()
            .any(|it| name.contains(it));
        let (ran, line) = match output.block.tool {
            Tool::Wrk | Tool::Wrk2 if !output.by_prony() => ("HTTP/1.1", output.block.first),
            Tool::H2load => ("HTTP/2", output.block.compressed?),
            _ => return None,
        };
        let other = if ran == "HTTP/1.1" {
            new && !old
        } else {
            old && !new
        };
        other.then_some((label, ran, line, output.block.tool))
    });
    let wrong: Vec<_> = wrong.collect();
    let (label, ran, _, tool) = wrong.first()?;
    let why = if *ran == "HTTP/2" {
        "its headers were compressed"
    } else {
        "it speaks nothing else"
    };
    let text = format!(
        "the output below '{}' is of {tool} over {ran} ({why}): it is not what its label says",
        label.0
    );
    let lines = wrong
        .iter()
        .flat_map(|(label, _, line, _)| [label.1, *line]);
    Some(warning(document, lines, text))
}

/// ab was asked to keep connections and kept none: it measured connecting, which its command line does not say. It asks over
/// HTTP/1.0, where many servers close.
fn kept_none(document: &Document) -> Option<UnnamedFinding> {
    let outputs = document.outputs.iter();
    let none: Vec<_> = outputs
        .filter_map(|output| {
            let kept = output.block.kept.filter(|kept| kept.what == 0)?;
            let ended = output.block.requests.filter(|ended| ended.what > 0)?;
            Some((output, kept.line, ended.what))
        })
        .collect();
    let (output, _, ended) = none.first()?;
    let text = format!(
        "{} was to keep connections (-k), and none was kept: each of its {} requests made one of its own, and the rate and the \
         times contain that. Find out why the server closes them; ab asks over HTTP/1.0, where many do",
        output.called(),
        super::whole(*ended as f64),
    );
    let lines = none.iter().map(|(_, line, _)| *line);
    Some(warning(document, lines, text))
}

/// Contradictions between the label and the output: the line of each, and both values in words.
fn label(output: &ToolOutput) -> Vec<(usize, usize, String)> {
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

/// Contradictions between the command line above and the output: the line of each, and both values in words.
fn command(output: &ToolOutput) -> Vec<(usize, usize, String)> {
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
    // wrk rounds 100 s to 2 m.
    let unit = match block.planned.map_or(0.0, |planned| planned.what) {
        planned if planned >= 3_600.0 => 3_600.0,
        planned if planned >= 60.0 => 60.0,
        _ => 0.0,
    };
    if let Some((said, planned)) = command.seconds().zip(block.planned)
        && (said - planned.what).abs() > (SECONDS * said).max(unit / 2.0)
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
mod tests;
