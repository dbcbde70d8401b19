//! What a duel compares, and by which terms it is decided.

use prony_stats::compare::Better;
use prony_stats::{Estimate, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Answers per second, as fast as they come.
    Throughput,
    /// The median response time at the common rate, in nanoseconds.
    P50,
    /// The 99th percentile of the response time at the common rate, in nanoseconds.
    P99,
    /// The server's CPU time per request at the common rate, in nanoseconds.
    Cpu,
}

impl Quantity {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::P50, Self::P99, Self::Cpu];

    /// As people call it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::P50 => "p50 at the common rate",
            Self::P99 => "p99 at the common rate",
            Self::Cpu => "CPU per request at the common rate",
        }
    }

    /// Is more of it better, or less?
    #[must_use]
    pub const fn better(self) -> Better {
        match self {
            Self::Throughput => Better::Higher,
            Self::P50 | Self::P99 | Self::Cpu => Better::Lower,
        }
    }

    /// What it is counted in.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Throughput => Unit::PerSecond,
            Self::P50 | Self::P99 => Unit::Nanoseconds,
            Self::Cpu => Unit::CpuNanosecondsPerRequest,
        }
    }
}

/// What one round has shown of one side; null what is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Values {
    /// Answers per second at saturation.
    pub throughput: Option<f64>,
    /// Median response time at the common rate, in nanoseconds.
    pub p50: Option<f64>,
    /// 99th percentile of it.
    pub p99: Option<f64>,
    /// CPU time per request at the common rate, in nanoseconds.
    pub cpu: Option<f64>,
}

impl Values {
    /// One of them; a value that is not above zero is none.
    #[must_use]
    pub fn of(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::Throughput => self.throughput,
            Quantity::P50 => self.p50,
            Quantity::P99 => self.p99,
            Quantity::Cpu => self.cpu,
        }
        .filter(|value| *value > 0.0)
    }

    /// Takes over what a trial has shown: throughput from one as fast as answers came, everything else
    /// from one at the common rate.
    pub fn add(&mut self, trial: &crate::Trial) {
        let figures = &trial.figures;
        if trial.load.rate.is_none() {
            self.throughput = figures.throughput;
        } else {
            self.p50 = figures.p50_ns.map(|ns| ns as f64);
            self.p99 = figures.p99_ns.map(|ns| ns as f64);
            self.cpu = figures.cpu_ns_per_request;
        }
    }
}

/// A side against the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The side's name.
    pub side: String,
    /// What is compared.
    pub quantity: Quantity,
    /// The side's value as a multiple of the first's. Its interval holds at whatever round the duel
    /// ends, and for all quantities together, in 95 %.
    pub ratio: Estimate,
    /// The equivalence margin: differences smaller than this count as none, as a share. What was
    /// asked, or what this host's noise allows, if that is more.
    pub band: f64,
    /// `faster`, `slower`, `same` or `inconclusive`; for CPU time `cheaper` and `more expensive`.
    pub verdict: String,
    /// When inconclusive: about how many more rounds would settle `settles`.
    pub more_rounds: Option<u32>,
    /// The difference that they would settle, as a share.
    pub settles: Option<f64>,
}

/// How a duel is to be decided; kept with its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// What is compared. The fewer quantities, the narrower their intervals: the 5 % of error are
    /// shared among them.
    #[serde(default = "every")]
    pub quantities: Vec<Quantity>,
    /// At most this many rounds.
    pub most: u32,
    /// The user has said how many rounds: no early end.
    pub exact: bool,
    /// The relative half-width of every interval at which it ends, as a share; else it ends when every
    /// verdict is settled.
    pub precision: Option<f64>,
    /// The equivalence margin that was asked for, as a share.
    pub band: f64,
    /// The same by quantity, no narrower than the host's noise allows.
    pub bands: Bands,
}

fn every() -> Vec<Quantity> {
    Quantity::ALL.to_vec()
}

/// Equivalence margins: for each quantity the share below which a difference counts as none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bands([f64; Quantity::ALL.len()]);

impl Bands {
    /// The same for all.
    #[must_use]
    pub fn all(share: f64) -> Self {
        Self([share; Quantity::ALL.len()])
    }

    /// The margin of one quantity, no narrower than `least`.
    #[must_use]
    pub fn at_least(mut self, quantity: Quantity, least: f64) -> Self {
        let band = &mut self.0[quantity as usize];
        *band = band.max(least);
        self
    }

    /// Of one quantity.
    #[must_use]
    pub fn of(&self, quantity: Quantity) -> f64 {
        self.0[quantity as usize]
    }
}
