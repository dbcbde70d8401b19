//! `wrong-answers`: answers came that were not what the contract says.

use crate::{Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: "wrong-answers",
    cause: "Answers came that were not what was asked for: another status, length or content.",
    evidence: "The outcomes count them, and the first ones are quoted. They are not in the throughput, but they used the server's time.",
    remedy: "Look at the quoted answer. A server that is right before the load and wrong under it has a race or gives up work when it is busy; a wrong expectation (--expect-body) shows at once with every answer.",
};

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    if seen.wrong == 0 {
        return None;
    }
    let examples = match seen.wrong_examples.as_slice() {
        [] => String::new(),
        examples => format!(" (first: {})", examples.join("; ")),
    };
    let text = format!(
        "{} of {} answers were wrong{examples}: they are not counted as throughput, and a server \
         that answers wrongly under load is not to be compared with one that does not",
        seen.wrong,
        seen.ok + seen.wrong
    );
    finding("wrong-answers", Severity::Serious, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_answer_is_enough() {
        let seen = Evidence {
            wrong: 1,
            wrong_examples: vec!["status 500".into()],
            ..Evidence::clean()
        };
        let finding = check(&seen).unwrap();
        assert_eq!(finding.severity, Severity::Serious);
        assert!(finding.text.contains("1 of 640001") && finding.text.contains("status 500"));
        assert_eq!(check(&Evidence::clean()), None);
    }
}
