//! `time-outs-missing`: requests that timed out are not in the distribution of response times.

use super::{CheckInput, UnnamedFinding, raise, requests, time};
use crate::command::{Command, WRK_TIMEOUT};
use crate::model::Tool;
use crate::model::{Document, ToolOutput};
use prony_checks::{CheckId, Explanation, Severity};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::TimeOutsMissing,
    cause: "Requests that timed out are not in the distribution, although they took the longest: mean and maximum are too low, and nothing is known above a certain percentile.",
    evidence: "The time-outs counted by tools that leave them out of the distribution (wrk, oha, hey, h2load, httperf). Serious when they are a thousandth or more of all requests.",
    remedy: "Count a time-out as a sample with its full length, as prony does.",
};

/// From this share on percentiles that are often read (p99.9) lie among what is missing.
const SERIOUS: f64 = 0.001;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        let cut: Vec<_> = document
            .outputs
            .iter()
            .filter(|output| !output.by_prony() && leaves_out(document, output))
            .collect();
        let share = |output: &ToolOutput| {
            let errors = output.block.errors.iter().filter(|e| e.what.timed_out);
            let uncounted = errors.filter(|error| error.what.uncounted);
            let uncounted: u64 = uncounted.map(|error| error.what.count).sum();
            let timed_out = output.block.timed_out() as f64;
            let all = uncounted as f64 + output.block.ended().unwrap_or(0.0);
            timed_out / all.max(timed_out)
        };
        let Some(worst) = cut.iter().max_by(|a, b| share(a).total_cmp(&share(b))) else {
            continue;
        };
        let severity = if share(worst) >= SERIOUS {
            Severity::Serious
        } else {
            Severity::Warning
        };
        let end = worst.block.latency.max.map_or(String::new(), |max| {
            format!(", whose longest time is {}", time(max.what.value))
        });
        let at_least = timeout(document, worst).map_or(String::new(), |timeout| {
            format!(", and each of them took {} at least", time(timeout))
        });
        let text = format!(
            "{} of {} timed out and {} not in its distribution{end}{at_least}. {}; a time-out should be a \
             sample with its full length",
            requests(worst.block.timed_out()),
            worst.called(),
            if worst.block.timed_out() == 1 {
                "is"
            } else {
                "are"
            },
            match share(worst) {
                all if all >= 1.0 => "Nothing is known of response times".to_owned(),
                part => format!(
                    "Above the {:.4}th percentile nothing is known, and mean and maximum are too low",
                    100.0 * (1.0 - part)
                ),
            },
        );
        let errors = cut.iter().flat_map(|output| &output.block.errors);
        let lines = errors.filter(|e| e.what.timed_out).map(|e| e.line);
        remarks.push(raise(severity, document, lines, text));
    }
    remarks
}

/// The time-out, in seconds, where it is known.
fn timeout(document: &Document, output: &ToolOutput) -> Option<f64> {
    let own = output.command.as_ref();
    let said = own
        .or_else(|| document.command_of(Some(output.block.tool)))
        .and_then(Command::timeout);
    let wrk = matches!(output.block.tool, Tool::Wrk | Tool::Wrk2);
    said.or(wrk.then_some(WRK_TIMEOUT))
}

/// Does a tool leave time-outs out? k6 counts them at their full length, and wrk2 counts an answer
/// that came in the end.
fn leaves_out(document: &Document, output: &ToolOutput) -> bool {
    let known = matches!(
        output.block.tool,
        Tool::Wrk
            | Tool::Oha
            | Tool::Hey
            | Tool::H2load
            | Tool::Httperf
            | Tool::Autocannon
            | Tool::Bombardier
    );
    // A longest time beyond the time-out shows that such answers are in: in wrk2, and in wrk before 4.
    let late = output
        .block
        .latency
        .max
        .zip(timeout(document, output))
        .is_some_and(|(max, timeout)| max.what.low() > timeout);
    let known = known && !(output.block.tool == Tool::Wrk && late);
    let ended_early = output.block.tool == Tool::Wrk2
        && output
            .block
            .latency
            .max
            .zip(timeout(document, output))
            .is_some_and(|(max, timeout)| max.what.high() < timeout);
    let latency = &output.block.latency;
    let distribution = latency.mean.is_some() || !latency.percentiles.is_empty();
    output.block.timed_out() > 0 && distribution && (known || ended_early)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    const ERRORS: &str = "  Socket errors: connect 0, read 0, write 0, timeout 30\nRequests/sec:";

    #[test]
    fn a_distribution_that_ends_before_the_time_out() {
        let few = wrk(&[("Requests/sec:", ERRORS)]);
        let found = of(CheckId::TimeOutsMissing, &few);
        assert_eq!(found[0].lines, [12]);
        assert_eq!(found[0].finding.severity, Severity::Warning);
        assert!(
            found[0].finding.text.contains("2.00 s at least"),
            "{found:?}"
        );
        let many = few.replace("timeout 30", "timeout 3000");
        let found = of(CheckId::TimeOutsMissing, &many);
        assert_eq!(found[0].finding.severity, Severity::Serious);
        assert_eq!(
            of(
                CheckId::TimeOutsMissing,
                &few.replace("timeout 30", "timeout 0")
            ),
            []
        );
    }

    #[test]
    fn wrk_before_4_counts_what_came_late() {
        let text = wrk(&[("Requests/sec:", ERRORS), ("3.90ms", "16.36s")]);
        assert_eq!(of(CheckId::TimeOutsMissing, &text), []);
    }

    #[test]
    fn wrk2_counts_what_came_late() {
        let text = wrk(&[("Requests/sec:", ERRORS), ("3.90ms", " 4.00s")]);
        let text = text.replace(
            "  Thread Stats",
            "  Thread calibration: mean lat.: 1ms\n  Thread Stats",
        );
        assert_eq!(of(CheckId::TimeOutsMissing, &text), []);
        assert_eq!(
            of(CheckId::TimeOutsMissing, &text.replace("4.00s", "1.00s")).len(),
            1
        );
    }
}
