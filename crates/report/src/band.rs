//! Which differences count as none.

use crate::calibration::CalibrationCell;
use crate::duel::Quantity;
use serde::{Deserialize, Serialize};

/// Rounds in which "same" should be within reach: half of what a duel has at the most.
const WITHIN_ROUNDS: u32 = 30;

/// For each quantity the share below which a difference counts as none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bands([f64; Quantity::ALL.len()]);

impl Bands {
    /// The same for all.
    pub fn all(share: f64) -> Self {
        Self([share; Quantity::ALL.len()])
    }

    /// Nowhere narrower than the host's own noise allows: a difference that 30 rounds of a server
    /// against itself cannot tell from none would never be called none.
    #[must_use]
    pub fn above_noise(mut self, rig: &CalibrationCell) -> Self {
        for noise in &rig.noise {
            let least = noise.tellable.get(&WITHIN_ROUNDS).copied().unwrap_or(0.0);
            let band = &mut self.0[noise.quantity as usize];
            *band = band.max(least);
        }
        self
    }

    /// Of one quantity.
    pub fn of(&self, quantity: Quantity) -> f64 {
        self.0[quantity as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibration::Noise;
    use prony_stats::{Estimate, Unit};

    #[test]
    fn noise_widens_a_band_and_never_narrows_it() {
        let noise = |quantity, tellable| Noise {
            quantity,
            deviation: 0.1,
            tellable: [(5, 0.5), (30, tellable)].into(),
        };
        let rig = CalibrationCell {
            contract: "tcp-echo".into(),
            connections: 64,
            ceiling: Estimate::new(1.0, None, 1, Unit::PerSecond).unwrap(),
            generator_us_per_request: 6.0,
            generator_busy: 0.9,
            noise: vec![noise(Quantity::P99, 0.04), noise(Quantity::Cpu, 0.002)],
        };
        let bands = Bands::all(0.01).above_noise(&rig);
        let seen = Quantity::ALL.map(|quantity| bands.of(quantity));
        assert_eq!(seen, [0.01, 0.01, 0.04, 0.01]);
    }
}
