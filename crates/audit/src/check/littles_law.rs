//! `littles-law`: rate and mean response time say that more requests were in flight than there were
//! connections.

mod tables;

use super::{CheckInput, UnnamedFinding, of_all, raise, time, warning};
use crate::model::{At, Tool};
use crate::model::{Document, ToolOutput};
use crate::text::number::Printed;
use prony_checks::{CheckId, Explanation, Severity, littles_law};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::LittlesLaw,
    cause: "Rate and mean response time give more requests in flight than there were connections, which is impossible. The usual cause is a mean over invented samples (back-filled).",
    evidence: "Rate x mean response time, compared with connections x pipeline depth; for k6, iterations x their duration, compared with its users. Serious from a factor of 1.5 on. Not raised for open loops, nor for pipelines of unknown depth. Of ab also when less than half of its requests were in flight, since its times include connecting; of wrk, where it reports no errors and connections were kept.",
    remedy: "Trust the rate, but none of the response times.",
};

/// From here on the mean is off by half: no figure of that distribution stands.
pub(super) const SERIOUS: f64 = 1.5;
/// Fewer than this share of the places in use are no rounding. wrk handles everything that is ready in turns: between an
/// answer and the next request there is about one turn, and an answer waits for one, which is in its time. So of a wrk that
/// is itself the limit half of the places are in use.
const IDLE: f64 = 0.5;
/// The same of tools that may take more time themselves.
const EMPTY: f64 = 0.25;
/// Requests on each connection, below which those at the beginning and the end decide.
const ROUNDS: f64 = 4.0;
/// Fewest requests at a time to look at: with few connections, the tool itself takes a visible share of the time.
const PLACES: f64 = 10.0;
/// An output, how many requests can be in flight, its rate, and its mean response time.
type Looked<'a> = (&'a ToolOutput, f64, f64, At<Printed>);
/// Below this number of requests those that were cut off at the end weigh too much.
const ENOUGH: f64 = 1_000.0;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for (index, document) in seen.documents.iter().enumerate() {
        remarks.extend(tables::check(seen, index));
        let looked_at = document.outputs.iter().filter_map(|output| {
            // A user of k6 does one iteration at a time, whatever that asks for.
            if let Some((rate, took)) = output.block.iterations
                && rate.what.value > 0.0
            {
                let users = output.block.connections?.what as f64;
                let mean = At {
                    what: took,
                    line: rate.line,
                };
                return Some((output, users, rate.what.value, mean));
            }
            let depth = output.depth()?;
            // The mean of a capped list of samples is a finding of its own.
            (!output.block.capped()).then_some(())?;
            let rate = output.block.true_rate()?;
            let mean = output.block.latency.mean?;
            (depth > 0.0).then_some((output, depth, rate, mean))
        });
        let looked_at: Vec<_> = looked_at.collect();
        remarks.extend(idle(document, &looked_at));
        // Fewer than there are connections is no contradiction here: time spent on connecting, or
        // waiting between requests, is in hardly any tool's response time.
        let enough = |output: &ToolOutput| output.block.ended().is_none_or(|ended| ended >= ENOUGH);
        let broken: Vec<_> = looked_at
            .iter()
            .filter(|(output, ..)| enough(output))
            .filter(|(_, depth, rate, mean)| rate * mean.what.low() > *depth)
            .filter_map(|&(output, depth, rate, mean)| {
                littles_law(rate, mean.what.low(), depth)?;
                // bombardier's rate is a mean of samples, which the first and the last of them bend.
                let sampled = output.block.tool == Tool::Bombardier;
                (!sampled || rate * mean.what.low() >= SERIOUS * depth).then_some(())?;
                let finding = littles_law(rate, mean.what.value, depth)?;
                Some((output, rate * mean.what.value / depth, mean.line, finding))
            })
            .collect();
        let worst = broken.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((output, ratio, _, finding)) = worst else {
            continue;
        };
        let severity = if *ratio >= SERIOUS {
            Severity::Serious
        } else {
            Severity::Warning
        };
        let text = format!(
            "{}{} is off by the largest factor, {ratio:.1} times: {}. Trust only the rate",
            of_all(
                broken.len(),
                looked_at.len(),
                "outputs contradict themselves"
            ),
            output.called(),
            finding.text,
        );
        let lines = broken.iter().map(|(_, _, line, _)| *line);
        remarks.push(raise(severity, document, lines, text));
    }
    remarks
}

/// ab and wrk send the next request as soon as an answer is there: the places for their requests are never empty,
/// unless something else keeps them so. ab's times include connecting. wrk's do not, nor do they include requests that
/// failed or were too late, nor those without an answer at the end: where it reports none of the former and kept its
/// connections, some of them had no answer at all, or took very long to be opened.
fn idle(document: &Document, looked_at: &[Looked<'_>]) -> Option<UnnamedFinding> {
    let few = looked_at.iter().filter(|(output, depth, rate, mean)| {
        let many = output
            .block
            .ended()
            .is_some_and(|ended| ended >= ROUNDS * depth);
        let tool = match output.block.tool {
            Tool::Ab => true,
            Tool::Wrk => output.block.errors.is_empty() && keeps_busy(output),
            Tool::Autocannon | Tool::Bombardier | Tool::H2load | Tool::Hey | Tool::Oha => {
                output.block.errors.is_empty()
            }
            _ => false,
        };
        let share = if matches!(output.block.tool, Tool::Ab | Tool::Wrk) {
            IDLE
        } else {
            EMPTY
        };
        // autocannon cuts times to whole milliseconds.
        let cut = if output.block.tool == Tool::Autocannon {
            1e-3
        } else {
            0.0
        };
        let empty = rate * (mean.what.high() + cut) < share * depth;
        tool && !output.by_prony() && many && *depth >= PLACES && empty
    });
    let few: Vec<_> = few.collect();
    let (output, depth, rate, mean) = few.first()?;
    let cause = match output.block.tool {
        Tool::Wrk => {
            "most connections had no answer coming. Either the server left them waiting, because it serves fewer at once, and \
             what they waited is in no response time; or it closed them after each answer, and connecting took most of the time"
        }
        Tool::Autocannon | Tool::Bombardier | Tool::H2load | Tool::Hey | Tool::Oha => {
            "most places were empty, because a few requests took very long, or the response times leave out what requests waited"
        }
        _ => {
            "most places were empty, because a few requests took very long or because ab itself was the limit"
        }
    };
    let text = format!(
        "{}in {} {:.0} requests per second of {} each keep {:.0} in flight, of {depth:.0}: {cause}. The load was not \
         that of {depth:.0} connections",
        of_all(few.len(), looked_at.len(), "outputs show it"),
        output.called(),
        rate,
        time(mean.what.value),
        rate * mean.what.value,
    );
    let lines = few.iter().map(|(.., mean)| mean.line);
    Some(warning(document, lines, text))
}

/// Does nothing in its command line make wrk wait: a script, which may delay requests, or a header that has connections closed?
fn keeps_busy(output: &ToolOutput) -> bool {
    output.command.as_ref().is_none_or(|command| {
        let closes = command.to_string().to_lowercase();
        command.script().is_none() && !closes.contains("connection: close")
    })
}

#[cfg(test)]
mod tests;
