//! What tests of several files need.

use prony_record::verdict::{Bands, Quantity, Terms};

/// A duel about everything, with a margin of 1 %, in at most 20 rounds.
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
