//! Values that tests of several files need.

use prony_record::verdict::{Bands, Comparison, Quantity, Terms, Verdict};
use prony_stats::{Estimate, Interval, Unit};

/// A duel about everything, with a margin of 1%, in at most 20 rounds.
pub(crate) fn terms() -> Terms {
    Terms {
        quantities: Quantity::ALL.to_vec(),
        most: 20,
        exact: false,
        precision: None,
        band: 0.01,
        bands: Bands::all(0.01),
    }
}

/// A comparison of `new` with the first side that came out so.
pub(crate) fn found(quantity: Quantity, ratio: f64, verdict: Verdict) -> Comparison {
    let interval = Interval::new(ratio - 0.005, ratio + 0.005);
    Comparison {
        side: "new".into(),
        quantity,
        ratio: Estimate::new(ratio, interval, 10, Unit::Ratio).unwrap(),
        band: 0.01,
        verdict,
        detectable: None,
        at_least: false,
        withheld: None,
    }
}
