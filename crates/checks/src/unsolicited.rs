//! `unsolicited`: bytes came that no request had asked for.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Unsolicited,
    cause: "The server sent bytes that no request had asked for: before the first request, behind an answer that was complete, or more answers than there were requests.",
    evidence: "How often that happened, from the load's set-up until a moment after its end, with the first bytes quoted. Each time the connection was closed, and an answer right in front of such bytes is a wrong one. Bytes that come while another request is in flight are read as the beginning of its answer, and show as a wrong answer or, at the end of the load, as a surplus.",
    remedy: "Look at the quoted bytes. The rest of a body: its Content-Length is too small. A whole answer: the server answers twice, or before it was asked.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if seen.unsolicited == 0 {
        return None;
    }
    let examples = match seen.unsolicited_examples.as_slice() {
        [] => String::new(),
        examples => format!(" (first: {})", examples.join("; ")),
    };
    let text = format!(
        "the server sent bytes that no request had asked for {} time{}{examples}: its answers cannot be matched to \
         requests with certainty, so do not rely on its figures",
        seen.unsolicited,
        if seen.unsolicited == 1 { "" } else { "s" }
    );
    finding(CheckId::Unsolicited, Severity::Serious, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_is_enough() {
        let seen = Evidence {
            unsolicited: 1,
            unsolicited_examples: vec![r#""220 welcome\r\n""#.into()],
            ..Evidence::clean()
        };
        let finding = check(&seen).unwrap();
        assert_eq!(finding.severity, Severity::Serious);
        assert!(
            finding
                .text
                .contains("1 time (first: \"220 welcome\\r\\n\")"),
            "{}",
            finding.text
        );
        assert_eq!(check(&Evidence::clean()), None);
    }
}
