//! Series whose class is known, to measure how often `classify` is right.

use std::f64::consts::TAU;

use rand::{Rng, RngExt};
use statrs::distribution::{ContinuousCDF, Normal};

/// Shape of a planted series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One level.
    Flat,
    /// A lower level first: as long as a tenth to half of the series.
    Step,
    /// An exponential approach from below, within 1% of the level after a tenth to half of the
    /// series.
    Ramp,
    /// A higher level for the first third to two thirds.
    Slowdown,
    /// Two levels in turn, for three to six whole periods.
    Cycle,
    /// A sine around the level, for two to five whole periods.
    Wave,
    /// A straight line up or down.
    Drift,
}

impl Shape {
    /// All shapes.
    pub const ALL: [Self; 7] = [
        Self::Flat,
        Self::Step,
        Self::Ramp,
        Self::Slowdown,
        Self::Cycle,
        Self::Wave,
        Self::Drift,
    ];
}

/// A planted series of rates.
#[derive(Debug, Clone, PartialEq)]
pub struct Planted {
    /// Shape of the series.
    pub shape: Shape,
    /// The windows' rates, above zero, more being better.
    pub rates: Vec<f64>,
    /// The level that it settles at, or moves around.
    pub level: f64,
    /// The first window from which on the level stays what it is (for a ramp, within 1%); 0 for
    /// what is flat, and for what never gets there.
    pub ends_at: usize,
}

/// Plants a series of `windows` rates with independent normal noise of the coefficient of variation
/// `noise`, from 0 to 0.1, and `outliers` windows, none of them the first, that lost or won a fifth
/// to four fifths. The steps and swings are at least four times as large as the noise (a drift's six
/// times), and at least 10%.
pub fn plant(
    shape: Shape,
    windows: usize,
    noise: f64,
    outliers: usize,
    rng: &mut impl Rng,
) -> Planted {
    let n = windows as f64;
    let level = 10_f64.powf(rng.random_range(3.0..6.0));
    let size = |least: f64, rng: &mut dyn FnMut() -> f64| {
        let least = (least * noise).max(0.1);
        least + (0.7 - least) * rng()
    };
    let mut uniform = || rng.random_range(0.0..1.0);
    let drop = size(4.0, &mut uniform);
    let turn = ((0.1 + 0.4 * uniform()) * n).round();
    let late = ((0.33 + 0.33 * uniform()) * n).round();
    let drift = size(6.0, &mut uniform) * if uniform() < 0.5 { 1.0 } else { -1.0 };
    let periods = uniform();
    let at = |i: f64| match shape {
        Shape::Flat => 1.0,
        Shape::Step => 1.0 - if i < turn { drop } else { 0.0 },
        Shape::Ramp => 1.0 - drop * (-i / turn * (drop / 0.01).ln()).exp(),
        Shape::Slowdown => 1.0 + if i < late { drop } else { 0.0 },
        Shape::Cycle => {
            let phase = i / n * (3.0 + 3.0 * periods).floor();
            1.0 + if phase.fract() < 0.5 { drop } else { 0.0 }
        }
        Shape::Wave => {
            let phase = i / n * (2.0 + 3.0 * periods).floor();
            1.0 + drop / 2.0 * (TAU * phase).sin()
        }
        Shape::Drift => 1.0 + drift * (i / n - 0.5),
    };
    let ends_at = match shape {
        Shape::Step | Shape::Ramp => turn as usize,
        Shape::Slowdown => late as usize,
        _ => 0,
    };
    let mut rates: Vec<f64> = (0..windows)
        .map(|i| level * at(i as f64) * (1.0 + noise * normal(rng)))
        .collect();
    for _ in 0..outliers {
        let at = rng.random_range(1..windows as u64) as usize;
        let by: f64 = rng.random_range(0.2..0.8);
        rates[at] *= if rng.random_bool(0.8) {
            1.0 - by
        } else {
            1.0 + by
        };
    }
    Planted {
        shape,
        rates,
        level,
        ends_at,
    }
}

fn normal(rng: &mut impl Rng) -> f64 {
    Normal::standard().inverse_cdf(rng.random_range(1e-12..1.0))
}
