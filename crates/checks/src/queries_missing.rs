//! `queries-missing`: a database has executed fewer statements than the answers need.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::QueriesMissing,
    cause: "Answers that need the database were given without asking it as often as the file of requests says: from a cache, or with several rows by one statement.",
    evidence: "Statements that PostgreSQL counted (pg_stat_statements) while the server was measured, and the number of statements that each right answer needs (`statements` among its expectations).",
    remedy: "If caching is allowed, take `statements` out of the expectations; if it is not, the server does less than the others that it is compared with.",
};

/// Statements are counted over a part of the measurement, at a rate that may differ from the rest's.
const TOLERATED: f64 = 0.1;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let (needed, counted) = seen.statements?;
    if counted >= needed * (1.0 - TOLERATED) {
        return None;
    }
    let text = format!(
        "the database executed {counted:.0} statements per second, and right answers need {needed:.0}: some were given \
         without it"
    );
    finding(CheckId::QueriesMissing, Severity::Serious, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_statements_than_answers_need_are_serious() {
        let of = |needed, counted| {
            check(&Evidence {
                statements: Some((needed, counted)),
                ..Evidence::clean()
            })
        };
        assert_eq!(check(&Evidence::clean()), None);
        assert_eq!(of(1_000.0, 950.0), None);
        assert_eq!(of(1_000.0, 20_000.0), None);
        let found = of(1_000.0, 12.4).unwrap();
        assert_eq!(found.severity, Severity::Serious);
        assert!(
            found
                .text
                .contains("12 statements per second, and right answers need 1000"),
            "{}",
            found.text
        );
    }
}
