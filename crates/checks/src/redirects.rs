//! `redirects`: most answers lead elsewhere.

use crate::{CheckId, Evidence, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::Redirects,
    cause: "Most answers were redirects: the server sent its clients to another URL, for instance to https:// or to the same path with a slash. prony load does not follow them outside sessions.",
    evidence: "The number of answers by status: more than half are 301, 302, 303, 307 or 308, and nothing said that they are expected.",
    remedy: "Load the URL that the field Location names (curl -I shows it). If redirects are what you measure, say so: --expect-status 301, or expect.status in a file.",
};

/// From this share on they are what was measured.
const SHARE: f64 = 0.5;

pub(crate) fn check(seen: &Evidence) -> Option<Finding> {
    let all: u64 = seen.statuses.values().sum();
    let led = |status: &&u16| matches!(status, 301 | 302 | 303 | 307 | 308);
    let redirects: u64 = (seen.statuses.keys().filter(led))
        .map(|status| seen.statuses[status])
        .sum();
    if seen.redirects_expected || redirects == 0 || (redirects as f64) < SHARE * all as f64 {
        return None;
    }
    let text = format!(
        "{redirects} of {all} answers were redirects, which are not followed: load the URL that they lead to, or expect \
         them with --expect-status"
    );
    finding(CheckId::Redirects, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_answers_count() {
        let seen = |statuses: &[(u16, u64)]| Evidence {
            statuses: statuses.iter().copied().collect(),
            ..Evidence::clean()
        };
        assert_eq!(check(&Evidence::clean()), None);
        // A cache that is still fresh, and a page that is gone, lead nowhere.
        for statuses in [
            &[(200, 60), (301, 40)][..],
            &[(304, 100)],
            &[(404, 90), (302, 10)],
        ] {
            assert_eq!(check(&seen(statuses)), None, "{statuses:?}");
        }
        let led = seen(&[(200, 10), (301, 50), (308, 40)]);
        let found = check(&led).unwrap();
        assert!(found.text.starts_with("90 of 100"), "{}", found.text);
        let expected = Evidence {
            redirects_expected: true,
            ..led
        };
        assert_eq!(check(&expected), None);
    }
}
