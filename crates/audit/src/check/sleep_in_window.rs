//! `sleep-in-window`: the echo benchmark's client sleeps a second in the time it divides by.
//!
//! `client.c` of the published benchmark of TCP echo servers takes the time from before its threads
//! connect to after the last ended, and each of them sleeps for a second before it sends: a rate of
//! r over n requests was really n ÷ (n ÷ r − 1 s).

use super::{CheckInput, UnnamedFinding, serious, whole};
use crate::model::Tool;
use crate::model::{Document, ToolOutput};
use prony_checks::{CheckId, Explanation};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::SleepInWindow,
    cause: "The client of the published TCP echo benchmark sleeps for a second, and connects, within the time that it divides by: the faster a server, the more its rate is reduced. A rate of r over n requests was really n / (n / r - 1 s).",
    evidence: "Its output (Throughput: ... [#/sec]) under a command line that gives the number of requests.",
    remedy: "Correct the rates, as prony import does. Or use prony echo-client, whose clock runs from the first request to the last answer.",
};

/// How long each thread sleeps, in seconds.
pub(crate) const SLEEP: f64 = 1.0;

/// The number of requests of an output whose time has the sleep in it.
pub(crate) fn slept(document: &Document, output: &ToolOutput) -> Option<u64> {
    (output.block.tool == Tool::EchoClient).then_some(())?;
    let own = output.command.as_ref();
    let command = own.or_else(|| document.command_of(Some(Tool::EchoClient)))?;
    let n = command.requests().filter(|_| !command.by_prony)?;
    // Quicker than that it cannot have been: another client printed it.
    (n as f64 / output.block.rate?.what.value > SLEEP).then_some(n)
}

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        let corrected: Vec<_> = document
            .outputs
            .iter()
            .filter_map(|output| {
                let (rate, n) = (output.block.rate?, slept(document, output)?);
                Some((rate, n as f64 / (n as f64 / rate.what.value - SLEEP)))
            })
            .collect();
        let by_rate = |a: &&(_, f64), b: &&(_, f64)| a.1.total_cmp(&b.1);
        let (Some(first), Some(fastest)) = (corrected.first(), corrected.iter().max_by(by_rate))
        else {
            continue;
        };
        let told = |(printed, really): &(crate::model::At<crate::Printed>, f64)| {
            format!("{} is really {}", whole(printed.what.value), whole(*really))
        };
        let text = format!(
            "this client divides by a time in which its threads also connect and sleep for a second: \
             {}, and the fastest, {}. The faster a server, the more its rate is reduced, so ratios are \
             wrong as well. The client also checks only the length of replies, and does not report \
             lost ones",
            told(first),
            told(fastest)
        );
        let lines = corrected.iter().map(|(rate, _)| rate.line);
        remarks.push(serious(document, lines, text));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of};

    #[test]
    fn a_second_is_taken_out() {
        let text = "    ./client -c50 -o2 -h10000 far\n\n# A\n\n    Throughput: 117036.86 [#/sec]\n\n\
            # B\n\n    Throughput: 149737.19 [#/sec]\n";
        let found = of(CheckId::SleepInWindow, text);
        assert_eq!(found[0].lines, [5, 9]);
        let said = &found[0].finding.text;
        assert!(said.contains("117,037 is really 132,550"), "{said}");
        assert!(said.contains("149,737 is really 176,107"), "{said}");
    }

    #[test]
    fn another_client_with_the_same_words() {
        let text =
            "    prony echo-client -c50 -o2 -h10000 far\n\n    Throughput: 117036.86 [#/sec]\n";
        assert_eq!(of(CheckId::SleepInWindow, text), []);
        assert_eq!(
            of(CheckId::SleepInWindow, "Throughput: 117036.86 [#/sec]\n"),
            []
        );
        let text = "    ./client -c5 -o2 -h10 far\n\n    Throughput: 117036.86 [#/sec]\n";
        assert_eq!(of(CheckId::SleepInWindow, text), []);
    }
}
