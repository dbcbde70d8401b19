//! `samples-capped`: hey keeps a million response times, and divides the sum of all by that.

use super::{CheckInput, UnnamedFinding, serious, time, whole};
use crate::command::Command;
use crate::model::ToolOutput;
use crate::model::{Block, Tool};
use prony_checks::{CheckId, Explanation};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::SamplesCapped,
    cause: "hey keeps at most a million response times, but adds up all of them: after more requests its average is too high by the factor that is missing, and percentiles and counts are those of the first million.",
    evidence: "An output of hey whose responses are exactly 1,000,000, while its rate and its time give more.",
    remedy: "Divide the average by that factor, or let hey make fewer requests.",
};

/// `maxRes` in hey's `requester.go`.
const KEPT: u64 = 1_000_000;
/// Rate and time are rounded, and a mean that is off by less is as good as right.
const MORE: f64 = 1.02;

impl Block {
    /// Has hey made more requests than it keeps?
    pub(crate) fn capped(&self) -> bool {
        let made = self.made().unwrap_or(0.0);
        let responses = self.requests.map(|requests| requests.what);
        let all = responses.is_none_or(|n| n == KEPT);
        self.tool == Tool::Hey && all && made > MORE * KEPT as f64
    }

    /// Rate × time.
    fn made(&self) -> Option<f64> {
        Some(self.rate?.what.value * self.seconds?.what.value)
    }
}

/// Does the command line ask for no more than hey keeps?
fn few_were_asked(output: &ToolOutput) -> bool {
    let asked = output.command.as_ref().and_then(Command::requests);
    asked.is_some_and(|asked| asked <= KEPT)
}

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        for output in document
            .outputs
            .iter()
            .filter(|output| output.block.capped() && !few_were_asked(output))
        {
            let block = &output.block;
            let (Some(made), Some(rate)) = (block.made(), block.rate) else {
                continue;
            };
            let factor = made / KEPT as f64;
            let mean = block.latency.mean.map_or(String::new(), |mean| {
                format!(
                    " Its average of {} is really {}.",
                    time(mean.what.value),
                    time(mean.what.value / factor)
                )
            });
            let text = format!(
                "hey made some {} requests in {}, and keeps the times of a million: it divides the sum of \
                 all by that, so its average is {factor:.1} times too high, and its percentiles are those \
                 of the first million.{mean}",
                whole(made),
                output.called(),
            );
            let lines = block.latency.mean.map(|mean| mean.line);
            let lines = lines.into_iter().chain([rate.line]);
            remarks.push(serious(document, lines, text));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of};

    #[test]
    fn a_million_of_two() {
        let text = |rate: &str| {
            format!(
                "Summary:\n  Total:\t40.0 secs\n  Slowest:\t0.0175 secs\n  Average:\t0.0020 secs\n  \
                 Requests/sec:\t{rate}\n\nStatus code distribution:\n  [200]\t1000000 responses\n"
            )
        };
        let found = of(CheckId::SamplesCapped, &text("50000.0000"));
        assert_eq!(found[0].lines, [4, 5]);
        assert!(
            found[0].finding.text.contains("2.0 times too high")
                && found[0].finding.text.contains("1.00 ms"),
            "{found:?}"
        );
        assert_eq!(of(CheckId::SamplesCapped, &text("25000.0000")), []);
    }

    #[test]
    fn no_more_were_asked_for() {
        let text = |asked: &str| {
            format!(
                "# hey -n {asked} http://10.0.0.2/\nTotal:\t12.1141 secs\nSlowest:\t0.0198 secs\nFastest:\t0.0001 secs\n\
                 Average:\t0.0006 secs\nRequests/sec:\t85548.1332\n"
            )
        };
        assert_eq!(of(CheckId::SamplesCapped, &text("1000000")), []);
        assert_eq!(of(CheckId::SamplesCapped, &text("2000000")).len(), 1);
    }
}
