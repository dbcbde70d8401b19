//! Random numbers for simulations, with a fixed seed.

// Each test program uses a part of it.
#![allow(dead_code)]

pub mod planted;

use prony_stats::percentile::percentile_ranks;
use prony_stats::{Estimate, Interval, Unit};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use statrs::distribution::{ContinuousCDF, Normal};

/// A source of random values.
pub struct Source {
    /// The generator itself.
    pub rng: Xoshiro256PlusPlus,
    standard: Normal,
}

impl Source {
    /// The same seed gives the same values.
    pub fn new(seed: u64) -> Self {
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            standard: Normal::standard(),
        }
    }

    /// Above 0 and below 1.
    pub fn uniform(&mut self) -> f64 {
        self.rng.random_range(1e-12..1.0)
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let uniform = self.uniform();
        self.standard.inverse_cdf(uniform)
    }

    /// Student's t with 5 degrees of freedom: symmetric, heavy tails, variance 5/3.
    pub fn heavy(&mut self) -> f64 {
        let squares: f64 = (0..5).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 5.0).sqrt()
    }

    /// An autoregressive series: each value keeps `keep` of the one before; variance 1.
    pub fn dependent(&mut self, n: usize, keep: f64) -> Vec<f64> {
        let fresh = (1.0 - keep * keep).sqrt();
        let mut value = self.normal();
        (0..n)
            .map(|_| {
                value = keep * value + fresh * self.normal();
                value
            })
            .collect()
    }
}

/// The percentile `p` (from 0 to 1) of samples in ascending order, worth `n_eff` independent ones, in seconds: the sample
/// at rank ⌈np⌉, between those at the ranks of its interval.
pub fn percentile(sorted: &[f64], n_eff: f64, p: f64) -> Estimate {
    let n = sorted.len() as u64;
    let at = |rank: u64| sorted[rank as usize - 1];
    let value = at(((n as f64 * p).ceil() as u64).clamp(1, n));
    let interval =
        percentile_ranks(n, n_eff, p).and_then(|(low, high)| Interval::new(at(low), at(high)));
    Estimate::new(value, interval, n_eff as u64, Unit::Seconds).expect("an estimate")
}
