//! Capabilities of this host's rig. They are the rate of prony's own server, the cost of the generator, and how far two
//! measurements of the same server lie apart.

use crate::verdict::{Bands, Quantity};
use prony_stats::Estimate;
use prony_stats::mean::t_quantile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name of a calibration's run in the notebook.
pub const RUN: &str = "calibrate";
/// Suffix of the second side's name; the rest of the name is that of the first side.
pub const AGAIN: &str = " again";
/// Rounds in which "same" should be within reach: half of what a duel has at most.
const WITHIN_ROUNDS: u32 = 30;

/// Output of `prony calibrate --json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "prony calibrate")]
pub struct Calibration {
    /// Number of the calibration's run in the notebook.
    pub run: i64,
    /// When it was made, RFC 3339, UTC.
    pub made: String,
    /// Every contract with every number of connections.
    pub cells: Vec<CalibrationCell>,
}

/// The rig under one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationCell {
    /// The contract.
    pub contract: String,
    /// Connections.
    pub connections: u32,
    /// Answers per second of prony's own server: the ceiling.
    pub ceiling: Estimate,
    /// The generator's CPU time per request at that rate, in microseconds: its floor.
    pub generator_us_per_request: f64,
    /// The busiest generator thread's work as a part of the time, 0 to 1.
    pub generator_busy: f64,
    /// How far the same server lies from itself.
    pub noise: Vec<Noise>,
}

/// The noise of a quantity.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Quantity whose noise is given.
    pub quantity: Quantity,
    /// The standard deviation of one round's logarithm of the ratio of a server to itself.
    pub deviation: f64,
    /// By number of rounds: the minimum detectable effect, as a share: the difference that four of five
    /// comparisons of as many rounds find.
    pub detectable: BTreeMap<u32, f64>,
}

impl Calibration {
    /// The ceiling for a contract with this number of connections.
    #[must_use]
    pub fn ceiling(&self, contract: &str, connections: u32) -> Option<f64> {
        Some(self.cell(contract, connections)?.ceiling.value())
    }

    /// The rig for a contract with this number of connections.
    #[must_use]
    pub fn cell(&self, contract: &str, connections: u32) -> Option<&CalibrationCell> {
        let fits =
            |cell: &&CalibrationCell| cell.contract == contract && cell.connections == connections;
        self.cells.iter().find(fits)
    }
}

impl CalibrationCell {
    /// Equivalence margins no narrower than this host's noise: a difference that 30 rounds of a server
    /// against itself cannot tell from none would never be called none.
    #[must_use]
    pub fn widen(&self, bands: Bands) -> Bands {
        self.noise.iter().fold(bands, |bands, noise| {
            let n = f64::from(WITHIN_ROUNDS);
            let half = t_quantile(n - 1.0).unwrap_or(0.0) * noise.deviation / n.sqrt();
            let least = half.exp_m1();
            bands.at_least(noise.quantity, least)
        })
    }
}
