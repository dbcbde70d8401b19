//! Estimates, ratios and intervals: pure, without I/O and without a clock.
//!
//! Values and how well they are known:
//!
//! - [`estimate`]: a value that cannot be separated from its interval and its n
//! - [`mean`]: the mean with Student's t interval
//! - [`percentile`], [`order_interval`]: the ranks between which a percentile lies, and what
//!   dependent samples are worth for it
//! - [`autocorrelation`]: how many independent samples a series is worth
//! - [`series`]: how well the mean of a few values that depend on their neighbours is known
//! - [`throughput`]: the rate of one run from its windows
//! - [`summary`]: mean, median, variance, standard deviation
//!
//! Two servers:
//!
//! - [`ratio`]: compared, paired by round
//! - [`compare`]: the verdict, and how many more rounds it needs
//! - [`sequential`]: looked at while the rounds are made, as often as planned
//! - [`fieller`]: from groups of starts that are not paired
//!
//! Many:
//!
//! - [`ties`]: in order, with groups of servers without a significant difference
//! - [`false_discovery`]: which of many tests to believe
//! - [`blocks`]: how much the rigs that rounds were divided among differ
//! - [`scaling`]: one server with more and more workers: Amdahl's law and the Universal Scalability
//!   Law
//!
//! Series of windows:
//!
//! - [`steady`]: is a load steady yet? A simple rule used during warm-up
//! - [`change_points`]: where a series changes
//! - [`change_of_mean`]: where the mean of a few values changes
//! - [`warmup_class`]: was it steady, and from where on? Judged afterwards
//!
//! Every interval is at the level of [`CONFIDENCE`].
//!
//! ```
//! use prony_stats::{Unit, mean::mean};
//!
//! let rates = [101_200.0, 99_800.0, 100_400.0];
//! let estimate = mean(&rates, Unit::PerSecond).expect("values");
//! assert_eq!(estimate.to_string(), "100467 req/s [98722, 102211] (n = 3)");
//! ```

#![forbid(unsafe_code)]

pub mod autocorrelation;
pub mod blocks;
pub mod change_of_mean;
pub mod change_points;
pub mod compare;
pub mod estimate;
pub mod false_discovery;
pub mod fieller;
pub mod mean;
pub mod order_interval;
pub mod percentile;
pub mod ratio;
pub mod scaling;
pub mod sequential;
pub mod series;
pub mod steady;
pub mod summary;
pub mod threshold;
pub mod throughput;
pub mod ties;
pub mod trimmed;
pub mod two_modes;
pub mod warmup_class;

pub use estimate::{Estimate, Interval, Unit};

/// The confidence level of every interval. The field's custom; the quantiles below follow from it.
pub const CONFIDENCE: f64 = 0.95;

/// The standard normal quantile of a two-sided interval at [`CONFIDENCE`]: the 1.96 of textbooks.
pub const Z: f64 = 1.959_963_984_540_054;

/// Why a statistic cannot be given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum StatsError {
    /// There is nothing to compute from.
    #[error("no values to compute {0} from")]
    Empty(&'static str),
    /// A value is infinite or not a number.
    #[error("value {at} is {value}, which is not finite")]
    NotFinite {
        /// Place of the value, from 0.
        at: usize,
        /// The value.
        value: f64,
    },
    /// A logarithm was to be taken of a value that has none.
    #[error("value {at} is {value}: a ratio needs values above zero")]
    NotPositive {
        /// Place of the value, from 0.
        at: usize,
        /// The value.
        value: f64,
    },
    /// Two series that belong together differ in length.
    #[error("{left} values on one side, {right} on the other: they are compared in pairs")]
    Unpaired {
        /// The first series' length.
        left: usize,
        /// The second's.
        right: usize,
    },
    /// A setting or a value outside the range it must have.
    #[error("{what} is {value}, which is out of range")]
    OutOfRange {
        /// Name of the setting or value; some names include the range.
        what: &'static str,
        /// The value.
        value: f64,
    },
    /// Values that must be in ascending order are not.
    #[error("value {at} is below the one before: the values must be in ascending order")]
    Unordered {
        /// The place of the first that is too low, from 0.
        at: usize,
    },
    /// A table's rows are not all equally long, or a list has not the length its shape asks for.
    #[error("{have} values where {want} belong")]
    Misshapen {
        /// How many there are.
        have: usize,
        /// How many there should be.
        want: usize,
    },
    /// An interval that does not hold its value, or has only one end.
    #[error("{value} is outside its interval [{low}, {high}]")]
    OutsideInterval {
        /// The value.
        value: f64,
        /// The interval's lower end.
        low: f64,
        /// The interval's upper end.
        high: f64,
    },
}

/// Refuses an empty series, and values that are not finite.
fn finite(values: &[f64], what: &'static str) -> Result<(), StatsError> {
    if values.is_empty() {
        return Err(StatsError::Empty(what));
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(StatsError::NotFinite {
            at,
            value: values[at],
        }),
        None => Ok(()),
    }
}
