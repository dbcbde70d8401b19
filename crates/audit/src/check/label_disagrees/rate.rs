//! A load generator that was to send at a rate and did not.

use super::HALF;
use crate::check::{UnnamedFinding, raise, whole};
use crate::command::Command;
use crate::model::Tool;
use crate::model::{Document, ToolOutput};
use prony_checks::Severity;

/// A run that reaches this share of its rate has it: generators start and end a little late.
const REACHED: f64 = 0.9;
/// Requests. Of fewer the first and the last are a visible part.
const ENOUGH: f64 = 100.0;

/// An output that reached less than nine tenths of the rate that was asked for is of another load than its command line says.
pub(super) fn fell_short(document: &Document) -> Option<UnnamedFinding> {
    let short: Vec<_> = document.outputs.iter().filter_map(asked_and_sent).collect();
    let share = |(_, asked, sent, _): &(&ToolOutput, f64, f64, usize)| sent / asked;
    let worst = short.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let (output, asked, sent, _) = worst;
    let text = format!(
        "{} was to send {} requests per second and {} were answered: the server or the load generator did not keep up, so the \
         load is not the one that was asked for, and response times say how long the queue was",
        output.called(),
        whole(*asked),
        if *sent < 10.0 {
            format!("{sent:.1}")
        } else {
            whole(sent.round())
        },
    );
    let severity = if share(worst) < HALF {
        Severity::Warning
    } else {
        Severity::Note
    };
    let lines = short.iter().map(|(.., line)| *line);
    Some(raise(severity, document, lines, text))
}

/// The rate that was to be sent, the rate of answers, and its line, where the latter is too low.
fn asked_and_sent(output: &ToolOutput) -> Option<(&ToolOutput, f64, f64, usize)> {
    let block = &output.block;
    matches!(
        block.tool,
        // With the head of its output cut off, wrk2's is wrk's.
        Tool::Wrk | Tool::Wrk2 | Tool::Fortio | Tool::Bombardier
    )
    .then_some(())?;
    let asked = block.asked.map(|asked| asked.what);
    let asked = asked.or_else(|| output.command.as_ref().and_then(Command::rate))?;
    let sent = block.rate?;
    let enough = block.ended().is_none_or(|ended| ended >= ENOUGH);
    let short = sent.what.value < REACHED * asked && !output.by_prony();
    (enough && short).then_some((output, asked, sent.what.value, sent.line))
}

#[cfg(test)]
mod tests {
    use crate::check::testing::{CheckId, of, wrk};
    use prony_checks::Severity;

    #[test]
    fn a_rate_that_was_not_reached() {
        let text = |rate: u32| {
            format!(
                "    wrk2 -t4 -c64 -d30s -R{rate} http://10.0.0.2:8000/\n\n{}",
                wrk(&[])
            )
        };
        assert_eq!(of(CheckId::LabelDisagrees, &text(32_000)), []);
        assert_eq!(of(CheckId::LabelDisagrees, &text(35_000)), []);
        let little = of(CheckId::LabelDisagrees, &text(40_000));
        assert_eq!(
            (little[0].lines.as_slice(), little[0].finding.severity),
            ([14].as_slice(), Severity::Note)
        );
        let far = of(CheckId::LabelDisagrees, &text(100_000));
        assert_eq!(far[0].finding.severity, Severity::Warning);
        assert!(
            far[0]
                .finding
                .text
                .contains("100,000 requests per second and 32,000"),
            "{far:?}"
        );
    }
}
