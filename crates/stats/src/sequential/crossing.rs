//! How likely a sequence of t statistics has crossed its limits, exactly, for normal values.
//!
//! Let x₁ … xₙ be independent normal values with mean zero and unknown spread, and R the cosine of
//! the angle between (x₁ … xₙ) and (1 … 1): R = Σx/√(nΣx²). Then t = √(n−1)·R/√(1−R²), and by
//! Basu's theorem the sequence of all R up to n is independent of Σx². Both together make R a Markov
//! chain whose steps are known whatever the spread: *given* R after n + 1 values, the direction of
//! (x₁ … xₙ₊₁) is even on the sphere around (1 … 1), so that
//!
//! x₍ₙ₊₁₎ = R/√(n+1) + √(1−R²)·√(n/(n+1))·w, in units of √Σx²,
//!
//! where w has the density (1−w²)^((n−3)/2), and the R after n values is
//! (√(n+1)·R − x₍ₙ₊₁₎)/√(n(1−x²₍ₙ₊₁₎)). So the probability of having stayed within all limits so
//! far, as a function of the present R, is carried from round to round by one integral over w. The
//! angle ψ with R = sin ψ takes the place of R, and θ with w = sin θ that of w: both densities are
//! then powers of a cosine. Everything is symmetric about zero.
//!
//! The recursion is that of Armitage, McPherson & Rowe, *Journal of the Royal Statistical Society A*
//! 132 (1969), for a t statistic instead of a normal one.

use std::f64::consts::FRAC_PI_2;

use statrs::function::gamma::ln_gamma;

/// Points at which the probability is held, over ψ from 0 to [`reach`].
const POINTS: usize = 512;

/// Points of the integral over w.
const STEPS: usize = 192;

/// Intervals of the integral over the part beyond a limit.
const PANELS: usize = 256;

/// Beyond this angle lies nothing: cos^(n−2) is below 1e-19 there. With few values that is nowhere.
fn reach(n: u32) -> f64 {
    (9.5 / f64::from(n).sqrt()).min(FRAC_PI_2)
}

/// All ways in which the first n values may have come about.
#[derive(Debug)]
pub(super) struct Paths {
    /// How many values there are.
    n: u32,
    /// Given ψ = i·[`reach`]/[`POINTS`] now: the probability of never having been beyond a limit
    /// before.
    inside: Vec<f64>,
    /// sin of the ψ from which on paths end at n itself; above 1 where none do.
    limit: f64,
}

impl Paths {
    /// All ways to `n` values, 2 or more, without a limit so far.
    pub(super) fn new(n: u32) -> Self {
        Self {
            n,
            inside: vec![1.0; POINTS + 1],
            limit: 2.0,
        }
    }

    /// Adds values until there are `n`.
    pub(super) fn advance(&mut self, n: u32) {
        while self.n < n {
            self.add_one();
        }
    }

    fn add_one(&mut self) {
        let n = f64::from(self.n);
        let widest = reach(self.n);
        let (sines, weights): (Vec<f64>, Vec<f64>) = (0..STEPS)
            .map(|i| {
                let theta = widest * (2.0 * (i as f64 + 0.5) / STEPS as f64 - 1.0);
                (theta.sin(), theta.cos().powf(n - 2.0))
            })
            .unzip();
        let total: f64 = weights.iter().sum();
        let next = (0..=POINTS)
            .map(|i| {
                let (r, rest) = (reach(self.n + 1) * i as f64 / POINTS as f64).sin_cos();
                let center = r / (n + 1.0).sqrt();
                let spread = rest * (n / (n + 1.0)).sqrt();
                let sum: f64 = sines
                    .iter()
                    .zip(&weights)
                    .map(|(w, weight)| {
                        let x = center + spread * w;
                        let before = ((n + 1.0).sqrt() * r - x) / (n * (1.0 - x * x)).sqrt();
                        weight * self.survives(before.abs().min(1.0))
                    })
                    .sum();
                sum / total
            })
            .collect();
        self.inside = next;
        self.n += 1;
        self.limit = 2.0;
    }

    fn survives(&self, r: f64) -> f64 {
        if r > self.limit {
            0.0
        } else {
            self.before(r.asin())
        }
    }

    /// The probability at any ψ, by a cubic through the four points around it: straight lines would
    /// blur it a little with each round.
    fn before(&self, psi: f64) -> f64 {
        let place = (psi / reach(self.n) * POINTS as f64).min(POINTS as f64);
        let at = (place as usize).min(POINTS - 2);
        let x = place - at as f64;
        let [a, b, c, d] = [at.abs_diff(1), at, at + 1, at + 2].map(|i| self.inside[i]);
        let value = b + x
            * ((c - a) / 2.0
                + x * (a - 2.5 * b + 2.0 * c - d / 2.0 + x * (1.5 * (b - c) + (d - a) / 2.0)));
        value.clamp(0.0, 1.0)
    }

    /// P(no limit was crossed before, |ψ| > `from` now).
    fn beyond(&self, from: f64) -> f64 {
        let n = f64::from(self.n);
        let ln_norm = ln_gamma(n / 2.0) - ln_gamma(0.5) - ln_gamma((n - 1.0) / 2.0);
        let density = |psi: f64| psi.cos().max(0.0).powf(n - 2.0) * self.before(psi);
        let width = (reach(self.n) - from).max(0.0) / PANELS as f64;
        // Simpson's rule.
        let sum: f64 = (0..PANELS)
            .map(|i| {
                let left = from + i as f64 * width;
                density(left) + 4.0 * density(left + width / 2.0) + density(left + width)
            })
            .sum();
        2.0 * ln_norm.exp() * sum * width / 6.0
    }

    /// The t beyond which `probability` lies among the paths that crossed no limit before.
    pub(super) fn critical(&self, probability: f64) -> f64 {
        let (mut low, mut high) = (0.0, reach(self.n));
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if self.beyond(middle) > probability {
                low = middle;
            } else {
                high = middle;
            }
        }
        (f64::from(self.n) - 1.0).sqrt() * high.tan()
    }

    /// Ends the paths whose t is now beyond `critical`, either way.
    pub(super) fn stop_beyond(&mut self, critical: f64) {
        self.limit = (critical / (f64::from(self.n) - 1.0).sqrt()).atan().sin();
    }
}
