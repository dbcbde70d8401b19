//! Failures that flatter.
//!
//! A request that fails is in no response time, takes a queue away from those behind it, and often costs less than an
//! answer. A side that fails more of them may look better for it.

use super::{Preferred, preferred};
use prony_record::verdict::Comparison;

/// Requests of a side that failed, and all that ended.
pub(crate) type Failed = (u64, u64);

/// A smaller difference of the shares changes no figure that is compared.
const SMALL: f64 = 1e-4;
/// Standard errors beyond which the numbers are not chance: so many, since requests fail together.
const FAR: f64 = 4.0;

/// Does the first fail a larger share of its requests than the other, beyond chance?
fn more(this: Failed, other: Failed) -> bool {
    let share = |(failed, all): Failed| failed as f64 / all.max(1) as f64;
    let (ours, theirs) = (share(this), share(other));
    let pooled = share((this.0 + other.0, this.1 + other.1));
    let error =
        pooled * (1.0 - pooled) * (1.0 / this.1.max(1) as f64 + 1.0 / other.1.max(1) as f64);
    // Where all requests failed the error is 0.
    ours - theirs >= SMALL && ours - theirs >= FAR * error.sqrt()
}

/// Why failures may make this difference, in words. `(the first side's name, its failures, this side's)`.
pub(super) fn explain(
    one: &Comparison,
    (name, first, this): (&str, Failed, Failed),
) -> Option<String> {
    let flattered = match preferred(one)? {
        Preferred::This => more(this, first),
        Preferred::First => more(first, this),
        Preferred::Neither => more(this, first) || more(first, this),
    };
    let share = |(failed, all): Failed| match failed {
        0 => "none".to_owned(),
        _ => format!("{:.2}%", 100.0 * failed as f64 / all.max(1) as f64),
    };
    flattered.then(|| {
        format!(
            "{} failed {} of its requests and {name} {}: failures are in no response time, and cost less than answers",
            one.side,
            share(this),
            share(first)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_up::found;
    use prony_record::verdict::Quantity;
    use prony_record::verdict::Verdict;

    fn doubted(verdict: Verdict, ratio: f64, first: Failed, this: Failed) -> bool {
        let one = found(Quantity::P99, ratio, verdict);
        explain(&one, ("old", first, this)).is_some()
    }

    #[test]
    fn the_side_that_fails_more_is_not_better() {
        let (none, many) = ((0, 100_000), (2_000, 100_000));
        assert!(doubted(Verdict::Faster, 0.8, none, many));
        assert!(
            !doubted(Verdict::Faster, 0.8, many, none),
            "although it fails less"
        );
        assert!(doubted(Verdict::Slower, 1.2, many, none));
        assert!(!doubted(Verdict::Slower, 1.2, none, many));
        assert!(doubted(Verdict::Same, 1.0, none, many));
        assert!(doubted(Verdict::Same, 1.0, many, none));
        assert!(!doubted(Verdict::Inconclusive, 1.0, none, many));
    }

    #[test]
    fn a_few_failures_are_chance() {
        assert!(!doubted(Verdict::Faster, 0.8, (0, 100_000), (5, 100_000)));
        assert!(!doubted(Verdict::Faster, 0.8, (1, 100), (3, 100)));
        assert!(!doubted(
            Verdict::Faster,
            0.8,
            (2_000, 100_000),
            (2_100, 100_000)
        ));
        assert!(doubted(Verdict::Faster, 0.8, (0, 50), (50, 50)));
    }
}
