//! `wrong-answers`: answers came that were not what the contract says.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::WrongAnswers,
    cause: "Some responses had another status, length or content than expected.",
    evidence: "The count of wrong answers, with the first ones quoted. Wrong answers are left out of the throughput, but they used the server's time.",
    remedy: "Look at the quoted answers. A server that is right before the load and wrong under load has a race, or rejects work when it is busy. A wrong expectation (--expect-body) fails with every answer.",
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
        "{} of {} answers were wrong{examples}: they are not counted as throughput; do not compare a \
         server that gives wrong answers under load with one that does not",
        seen.wrong,
        seen.ok + seen.wrong
    );
    finding(CheckId::WrongAnswers, Severity::Serious, text)
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
