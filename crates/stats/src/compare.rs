//! Verdict of a comparison: better, worse, the same, or not known yet.
//!
//! A ratio's interval is held against 1 and against a *band* of differences too small to matter:
//!
//! | the interval | verdict |
//! |---|---|
//! | lies wholly inside the band, whether it holds 1 or not | [`Decision::Same`] |
//! | else, lies wholly beyond 1 | [`Decision::Better`] or [`Decision::Worse`] |
//! | else | [`Decision::Inconclusive`] |
//!
//! A difference that is certain but does not matter is therefore "the same". A difference that is
//! certain and may matter is reported, although it may turn out to be smaller than the band: the
//! interval next to the verdict shows how large it can be. Asking for an interval wholly beyond the
//! *band* would be a claim about size, and would need many times the rounds near the band's edge.
//!
//! Error rates, if the interval covers in 95%: two equal servers are called different in at
//! most 5%, fewer with a band. Two servers whose true difference is the band or more are called
//! the same in at most 2.5%. ("Same" is an equivalence test by two one-sided tests, Schuirmann,
//! *Journal of Pharmacokinetics and Biopharmaceutics* 15 (1987), which asks for a 90% interval for
//! 5%; here it is held to 95%.)

use crate::mean::t_quantile;
use crate::{Estimate, StatsError};

/// The default equivalence margin, as a share: 1%. A starting point. It must not be smaller than the
/// difference between two runs of the same server.
pub const BAND: f64 = 0.01;

/// The largest number of rounds that is suggested: needing more calls for a quieter machine, not for
/// patience.
pub const MOST_ROUNDS: u32 = 10_000;

/// Direction that is better. For throughput it is higher; for response times, CPU time and memory lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// Verdict on the first of two servers, from the ratio of the first to the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Decision {
    /// The first server is better: faster, or cheaper.
    Better,
    /// The first server is worse.
    Worse,
    /// The two servers differ by less than the band.
    Same,
    /// Not known yet.
    Inconclusive {
        /// The difference that [`more_rounds`](Self::Inconclusive::more_rounds) would settle, as a
        /// share: the observed one, or the band if that is larger.
        difference: f64,
        /// About how many rounds more it takes, if they spread as those before (see
        /// [`rounds_needed`]); at least 1. None if there is no interval to tell the spread from, or
        /// if more than [`MOST_ROUNDS`] are needed in all.
        more_rounds: Option<u32>,
    },
}

/// Judges a ratio (see [`paired_log_ratio`](crate::ratio::paired_log_ratio)) against the band of
/// ±`band`, a share at or above zero. The band runs from 1/(1 + band) to 1 + band, so that
/// exchanging the two servers exchanges better and worse and changes nothing else.
///
/// The ratio's interval is taken to be exp(d̄ ± t·s/√n), symmetric for the logarithm; from one that
/// is wider, such as that of [`sequential`](crate::sequential), the number of rounds errs upwards.
/// One that reaches to zero or below it, as [`fieller`](crate::fieller)'s can, is judged as any other;
/// it tells no number of rounds.
///
/// The rounds still needed are those after which the interval's half-width is at most half of
/// `difference`. With a half-width of half the band every interval settles: it misses 1, or else
/// lies within the band. With half of an observed difference that is larger, it settles if the
/// difference is real (with a probability of some 97%). A half-width of a whole band would not do:
/// equal servers would then almost never be found the same.
///
/// # Errors
///
/// If the ratio is not above zero, or the band is not finite and at or above zero.
pub fn verdict(ratio: &Estimate, band: f64, better: Better) -> Result<Decision, StatsError> {
    if !band.is_finite() || band < 0.0 {
        return Err(StatsError::OutOfRange {
            what: "a band at or above zero",
            value: band,
        });
    }
    if ratio.value() <= 0.0 {
        return Err(StatsError::NotPositive {
            at: 0,
            value: ratio.value(),
        });
    }
    let difference = ratio.value().max(1.0 / ratio.value()) - 1.0;
    let difference = difference.max(band);
    let Some(interval) = ratio.interval() else {
        return Ok(Decision::Inconclusive {
            difference,
            more_rounds: None,
        });
    };
    let (low, high) = (interval.low(), interval.high());
    if low >= 1.0 / (1.0 + band) && high <= 1.0 + band {
        return Ok(Decision::Same);
    }
    if low > 1.0 || high < 1.0 {
        return Ok(match (low > 1.0, better) {
            (true, Better::Higher) | (false, Better::Lower) => Decision::Better,
            _ => Decision::Worse,
        });
    }
    let n = ratio.n();
    // An interval for which not even the ratio's sign is sure has no logarithm, so no rounds come
    // of it: `rounds_needed` takes no NaN and no infinity.
    let half = (high.ln() - low.ln()) / 2.0;
    let more_rounds = t_quantile(n as f64 - 1.0)
        .and_then(|t| rounds_needed(half * (n as f64).sqrt() / t, difference.ln_1p() / 2.0))
        .map(|all| u64::from(all).saturating_sub(n).max(1) as u32);
    Ok(Decision::Inconclusive {
        difference,
        more_rounds,
    })
}

/// The fewest rounds n, two or more, with t·s/√n ≤ `half_width`, where t has n − 1 degrees of
/// freedom and `s` is the standard deviation of one round's logarithm of the ratio (or of whatever
/// is to be averaged; `half_width` is in the same unit). None if that takes more than
/// [`MOST_ROUNDS`], or if `s` or `half_width` is not a number at or above zero.
///
/// It takes `s` for the truth. From few rounds it is not: from five, s lies between half and 1.4 times
/// the truth in four cases of five, and the number of rounds goes with its square.
#[must_use]
pub fn rounds_needed(s: f64, half_width: f64) -> Option<u32> {
    if !(s >= 0.0 && s.is_finite() && half_width >= 0.0) {
        return None;
    }
    fewest(|n| {
        t_quantile(f64::from(n) - 1.0).is_some_and(|t| t * s <= half_width * f64::from(n).sqrt())
    })
}

/// The fewest rounds, two or more, of which an ordinary interval finds this difference, a logarithm of a ratio like `s`,
/// four times of five: the rounds whose [`detectable`] effect it is. None as for [`rounds_needed`].
#[must_use]
pub fn rounds_to_detect(s: f64, difference: f64) -> Option<u32> {
    if !(s >= 0.0 && s.is_finite() && difference >= 0.0) {
        return None;
    }
    fewest(|n| {
        let freedom = f64::from(n) - 1.0;
        let found = |t| detectable(t, freedom) * s <= difference * f64::from(n).sqrt();
        t_quantile(freedom).is_some_and(found)
    })
}

/// The fewest rounds that are enough, where more always are; None when [`MOST_ROUNDS`] are not.
fn fewest(enough: impl Fn(u32) -> bool) -> Option<u32> {
    if !enough(MOST_ROUNDS) {
        return None;
    }
    let (mut too_few, mut all) = (1, MOST_ROUNDS);
    while all - too_few > 1 {
        let middle = u32::midpoint(too_few, all);
        if enough(middle) {
            all = middle;
        } else {
            too_few = middle;
        }
    }
    Some(all)
}

/// The standard normal quantile of 80%: what is called detectable is found four times of five.
const POWER: f64 = 0.841_621_233_572_914;

/// The minimum detectable effect in standard errors of d̄: the true difference of which an interval d̄ ± c·s/√n,
/// with s of this many degrees of freedom, misses zero four times of five.
///
/// Not c + 0.84: s varies as well, and a c that is large for that reason is missed more often. The noncentral t is
/// about normal with c·(1 − 1/4ν) and √(1 + c²/2ν) (Abramowitz & Stegun, *Handbook of Mathematical Functions*,
/// 26.7.10).
#[must_use]
pub fn detectable(critical: f64, freedom: f64) -> f64 {
    critical * (1.0 - 0.25 / freedom) + POWER * (1.0 + critical * critical / (2.0 * freedom)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interval, Unit};

    fn ratio(value: f64, low: f64, high: f64, n: u64) -> Estimate {
        Estimate::new(value, Interval::new(low, high), n, Unit::Ratio).expect("a ratio")
    }

    fn judge(value: f64, low: f64, high: f64) -> Decision {
        verdict(&ratio(value, low, high, 10), 0.01, Better::Higher).expect("a verdict")
    }

    #[test]
    fn the_table() {
        assert_eq!(judge(1.05, 1.02, 1.08), Decision::Better);
        assert_eq!(judge(1.05, 1.001, 1.10), Decision::Better);
        assert_eq!(judge(0.95, 0.92, 0.98), Decision::Worse);
        assert_eq!(judge(1.0, 0.995, 1.005), Decision::Same);
        // Certain, and too small to matter.
        assert_eq!(judge(1.005, 1.002, 1.008), Decision::Same);
        for (value, low, high) in [
            (1.0, 0.95, 1.05),
            (1.05, 0.99, 1.11),
            (1.005, 0.999, 1.011),
            (1.02, 1.0, 1.04),
        ] {
            let verdict = judge(value, low, high);
            assert!(
                matches!(verdict, Decision::Inconclusive { more_rounds: Some(more), .. } if more > 0),
                "{value} [{low}, {high}]: {verdict:?}"
            );
        }
    }

    #[test]
    fn lower_is_better_for_some() {
        let cheaper = ratio(0.5, 0.4, 0.6, 5);
        assert_eq!(verdict(&cheaper, BAND, Better::Lower), Ok(Decision::Better));
        assert_eq!(verdict(&cheaper, BAND, Better::Higher), Ok(Decision::Worse));
    }

    #[test]
    fn one_round_says_nothing() {
        let one = Estimate::new(1.3, None, 1, Unit::Ratio).expect("a ratio");
        let Ok(Decision::Inconclusive {
            difference,
            more_rounds: None,
        }) = verdict(&one, BAND, Better::Higher)
        else {
            panic!("a verdict from one round");
        };
        assert!((difference - 0.3).abs() < 1e-12);
    }

    #[test]
    fn an_interval_that_reaches_below_zero_tells_no_number_of_rounds() {
        let unsure = verdict(&ratio(0.5, -0.1, 1.1, 5), BAND, Better::Higher);
        let expected = Decision::Inconclusive {
            difference: 1.0,
            more_rounds: None,
        };
        assert_eq!(unsure, Ok(expected));
        let sure = verdict(&ratio(0.3, -0.1, 0.7, 5), BAND, Better::Higher);
        assert_eq!(sure, Ok(Decision::Worse));
    }

    #[test]
    fn what_is_found_four_times_of_five_takes_more_rounds_than_an_interval_as_wide() {
        // (1.96 + 0.84)²/1.96² = 2.04 times as many, for many.
        assert_eq!(rounds_needed(0.1, 0.01), Some(387));
        let found = rounds_to_detect(0.1, 0.01).unwrap();
        assert!((785..=790).contains(&found), "{found}");
    }

    #[test]
    fn nonsense_is_refused() {
        let fine = ratio(1.0, 0.9, 1.1, 5);
        assert!(verdict(&fine, -0.1, Better::Higher).is_err());
        assert!(verdict(&fine, f64::NAN, Better::Higher).is_err());
        assert!(verdict(&ratio(0.0, -0.1, 1.1, 5), BAND, Better::Higher).is_err());
        assert_eq!(rounds_needed(f64::NAN, 0.1), None);
        assert_eq!(rounds_needed(0.1, f64::NAN), None);
        assert_eq!(rounds_needed(1.0, 0.0), None);
        assert_eq!(rounds_needed(0.0, 0.0), Some(2));
        assert_eq!(rounds_to_detect(f64::NAN, 0.1), None);
        assert_eq!(rounds_to_detect(1.0, 0.0), None);
    }
}
