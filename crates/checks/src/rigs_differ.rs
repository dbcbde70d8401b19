//! `rigs-differ`: what trials of the same server differ by is what the rigs differ by.

use crate::{CheckId, Explanation, Finding, Severity, finding};

pub(crate) const EXPLANATION: Explanation = Explanation {
    name: CheckId::RigsDiffer,
    cause: "The rounds were divided among rigs, and the spread between trials of the same server is mostly the difference between these rigs.",
    evidence: "The rates of all servers, by rig: how much of their spread the rigs explain (F test).",
    remedy: "Quote the ratios, which are taken on one rig each; do not quote rates over all rigs. Look at the rig that differs with prony hosts check, or leave it out.",
};

/// Rigs that explain less of the spread are not what one sees.
const SHARE: f64 = 0.5;
/// Rigs that are equal differ as much as this by chance in one run of a hundred.
const P: f64 = 0.01;
/// Rigs that differ by less are alike enough for every purpose.
const SMALL: f64 = 0.02;

/// Raised when rigs differ more than trials on one of them. `factors` are the rigs with what each gives as a multiple of all
/// rigs' mean; `share` is the part of the spread of trials that the rigs explain, 0 to 1, and `p` the probability of rigs that
/// differ so much by chance.
pub fn rigs_differ(factors: &[(&str, f64)], share: f64, p: f64) -> Option<Finding> {
    let known = || factors.iter().filter(|(_, factor)| factor.is_finite());
    let by_factor = |a: &&(&str, f64), b: &&(&str, f64)| a.1.total_cmp(&b.1);
    let (slow, least) = known().min_by(by_factor)?;
    let (fast, most) = known().max_by(by_factor)?;
    let less = 1.0 - least / most;
    if less < SMALL || share < SHARE || p > P {
        return None;
    }
    let text = format!(
        "{slow} gives {:.1}% less than {fast} for the same servers, and differences between rigs are {:.0}% of the spread \
         between trials: quote ratios, which are taken on one rig each, rather than rates; look at the rig that differs, or \
         leave it out",
        less * 100.0,
        share * 100.0
    );
    finding(CheckId::RigsDiffer, Severity::Warning, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_is_named_when_rigs_are_what_one_sees() {
        let rigs = [("h1", 1.1), ("h2", 0.88), ("h3", f64::NAN)];
        let found = rigs_differ(&rigs, 0.9, 0.001).unwrap();
        assert!(
            found.text.starts_with("h2 gives 20.0% less than h1"),
            "{}",
            found.text
        );
        assert_eq!(rigs_differ(&rigs, 0.4, 0.001), None, "trials differ more");
        assert_eq!(rigs_differ(&rigs, 0.9, 0.05), None, "by chance");
        assert_eq!(
            rigs_differ(&[("h1", 1.005), ("h2", 0.995)], 0.9, 0.001),
            None
        );
        assert_eq!(rigs_differ(&[], 0.9, 0.001), None);
    }
}
