//! Least squares for λN/(1 + σ(N−1) + κN(N−1)).
//!
//! Levenberg's and Marquardt's method (Marquardt, *Journal of the Society for Industrial and Applied
//! Mathematics* 11 (1963)), from the solution of the problem that is linear in 1/λ, σ/λ and κ/λ:
//! N/rate = (1 + σ(N−1) + κN(N−1))/λ.

use super::Noise;

type Vector = [f64; 3];
type Matrix = [Vector; 3];

/// Parameters that are fitted besides λ; the others are 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Free {
    pub(super) sigma: bool,
    pub(super) kappa: bool,
}

impl Free {
    fn each(self) -> [bool; 3] {
        [true, self.sigma, self.kappa]
    }

    /// How many, with λ.
    pub(super) fn count(self) -> usize {
        1 + usize::from(self.sigma) + usize::from(self.kappa)
    }

    /// The ways to fit fewer.
    pub(super) fn fewer(self) -> impl Iterator<Item = Self> {
        [(false, true), (true, false), (false, false)]
            .into_iter()
            .map(|(sigma, kappa)| Self { sigma, kappa })
            .filter(move |other| {
                *other != self && other.sigma <= self.sigma && other.kappa <= self.kappa
            })
    }
}

/// A minimum.
#[derive(Debug, Clone, Copy)]
pub(super) struct Solution {
    /// λ, σ, κ.
    pub(super) values: Vector,
    /// Parameters that were fitted besides λ.
    pub(super) free: Free,
    /// The sum of squares that is left.
    pub(super) rss: f64,
    /// RSS/freedom·(JᵀJ)⁻¹, zero where nothing was fitted.
    pub(super) covariance: Matrix,
    /// To how many points.
    pub(super) points: usize,
}

impl Solution {
    /// Points more than numbers.
    pub(super) fn freedom(&self) -> f64 {
        self.points as f64 - self.free.count() as f64
    }

    pub(super) fn error(&self, index: usize) -> f64 {
        self.covariance[index][index].max(0.0).sqrt()
    }

    /// λ > 0, σ ≥ 0, κ ≥ 0?
    pub(super) fn allowed(&self) -> bool {
        let [lambda, sigma, kappa] = self.values;
        lambda > 0.0 && sigma >= 0.0 && kappa >= 0.0
    }
}

pub(super) fn rate([lambda, sigma, kappa]: Vector, workers: f64) -> f64 {
    lambda * workers / slowdown([lambda, sigma, kappa], workers)
}

fn slowdown([_, sigma, kappa]: Vector, workers: f64) -> f64 {
    1.0 + (workers - 1.0) * (sigma + kappa * workers)
}

/// The minimum next to the linear solution; None if there is none.
pub(super) fn solve(points: &[(f64, f64)], noise: Noise, free: Free) -> Option<Solution> {
    const STEPS: usize = 500;
    let mut values = start(points, free)?;
    let mut rss = squares(points, values, noise)?;
    let mut damping = 1e-3;
    for _ in 0..STEPS {
        let (normal, gradient) = normal_equations(points, values, noise, free);
        let mut damped = normal;
        for (i, row) in damped.iter_mut().enumerate() {
            row[i] *= 1.0 + damping;
        }
        let step = invert(&damped).map(|inverse| times(&inverse, gradient))?;
        let next = [0, 1, 2].map(|i| values[i] + step[i]);
        match squares(points, next, noise).filter(|&better| better <= rss) {
            Some(better) => {
                let settled = [0, 1, 2].into_iter().all(|i| {
                    step[i].abs() <= 1e-12 * (values[i].abs() + f64::MIN_POSITIVE) || step[i] == 0.0
                }) || rss - better <= 1e-15 * rss && damping < 1e-9;
                (values, rss) = (next, better);
                damping *= 0.1;
                if settled {
                    break;
                }
            }
            None if damping > 1e12 => break,
            None => damping *= 10.0,
        }
    }
    let (normal, _) = normal_equations(points, values, noise, free);
    let mut solution = Solution {
        values,
        free,
        rss,
        covariance: invert(&normal)?,
        points: points.len(),
    };
    let variance = rss / solution.freedom();
    for (i, row) in solution.covariance.iter_mut().enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            let fitted = free.each()[i] && free.each()[j];
            *value *= if fitted { variance } else { 0.0 };
        }
    }
    Some(solution)
}

/// The linear solution, in residuals relative to 1/rate; where it is none, the best rate per worker
/// and a little of everything.
fn start(points: &[(f64, f64)], free: Free) -> Option<Vector> {
    let mut normal = identity_where_fixed(free);
    let mut right = [0.0; 3];
    for &(n, rate) in points {
        let weight = (rate / n).powi(2);
        let row = masked([1.0, n - 1.0, n * (n - 1.0)], free);
        for i in 0..3 {
            for j in 0..3 {
                normal[i][j] += weight * row[i] * row[j];
            }
            right[i] += weight * row[i] * n / rate;
        }
    }
    let linear = invert(&normal)
        .map(|inverse| times(&inverse, right))
        .map(|[a, b, c]| [1.0 / a, b / a, c / a])
        .filter(|values| values[0].is_finite() && values[0] > 0.0)
        .filter(|values| points.iter().all(|&(n, _)| slowdown(*values, n) > 0.0));
    let best = points.iter().map(|(n, rate)| rate / n).reduce(f64::max)?;
    Some(linear.unwrap_or_else(|| masked([best, 0.05, 1e-4], free)))
}

/// A residual, and the derivative of what it is measured on by the model's rate.
fn residual(measured: f64, model: f64, noise: Noise) -> (f64, f64) {
    match noise {
        Noise::Constant => (measured - model, 1.0),
        Noise::Proportional => ((measured / model).ln(), 1.0 / model),
    }
}

/// The sum of squares; none where the law has no value, or no logarithm.
fn squares(points: &[(f64, f64)], values: Vector, noise: Noise) -> Option<f64> {
    if values[0] <= 0.0 || points.iter().any(|&(n, _)| slowdown(values, n) <= 0.0) {
        return None;
    }
    let sum: f64 = points
        .iter()
        .map(|&(n, measured)| residual(measured, rate(values, n), noise).0.powi(2))
        .sum();
    sum.is_finite().then_some(sum)
}

/// JᵀJ and Jᵀr; ones on the diagonal for what is not fitted, so that nothing moves there.
fn normal_equations(
    points: &[(f64, f64)],
    values: Vector,
    noise: Noise,
    free: Free,
) -> (Matrix, Vector) {
    let mut normal = identity_where_fixed(free);
    let mut gradient = [0.0; 3];
    for &(n, measured) in points {
        let slowdown = slowdown(values, n);
        let model = rate(values, n);
        let (residual, weight) = residual(measured, model, noise);
        let by_sigma = -model * (n - 1.0) / slowdown;
        let row = masked([n / slowdown, by_sigma, by_sigma * n], free).map(|d| weight * d);
        for i in 0..3 {
            for j in 0..3 {
                normal[i][j] += row[i] * row[j];
            }
            gradient[i] += row[i] * residual;
        }
    }
    (normal, gradient)
}

fn masked(row: Vector, free: Free) -> Vector {
    let each = free.each();
    [0, 1, 2].map(|i| if each[i] { row[i] } else { 0.0 })
}

fn identity_where_fixed(free: Free) -> Matrix {
    let mut matrix = [[0.0; 3]; 3];
    for (i, free) in free.each().into_iter().enumerate() {
        matrix[i][i] = f64::from(u8::from(!free));
    }
    matrix
}

fn times(matrix: &Matrix, vector: Vector) -> Vector {
    [0, 1, 2].map(|i| (0..3).map(|j| matrix[i][j] * vector[j]).sum())
}

/// The inverse of a symmetric matrix, by cofactors, after its diagonal is made ones: λ and κ differ
/// by many orders of magnitude.
fn invert(matrix: &Matrix) -> Option<Matrix> {
    let scale = [0, 1, 2].map(|i| 1.0 / matrix[i][i].sqrt());
    if scale.iter().any(|scale| !scale.is_finite()) {
        return None;
    }
    let m = |i: usize, j: usize| {
        let (i, j) = (i % 3, j % 3);
        matrix[i][j] * scale[i] * scale[j]
    };
    let cofactor =
        |i: usize, j: usize| m(i + 1, j + 1) * m(i + 2, j + 2) - m(i + 1, j + 2) * m(i + 2, j + 1);
    let determinant: f64 = (0..3).map(|j| m(0, j) * cofactor(0, j)).sum();
    // Columns that say the same leave nothing to invert.
    (determinant > 1e-13).then(|| {
        [0, 1, 2].map(|i| [0, 1, 2].map(|j| cofactor(j, i) / determinant * scale[i] * scale[j]))
    })
}
