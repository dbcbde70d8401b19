//! A rate that changes evenly from one value to another, in stages.

use super::Pace;
use crate::clock::{Nanos, SECOND};
use prony_record::Stage;

/// Stages one after the other; after the last one its last rate goes on.
///
/// In a stage that goes from the rate a to the rate b in a time T, n(t) = a·t + (b − a)·t² / 2T requests
/// are due by t. So the request n is due at t = 2n / (a + √(a² + 2n·(b − a)/T)), which, unlike the usual
/// solution of the quadratic equation, neither divides by zero when a = b nor loses digits close to it.
#[derive(Debug, Clone)]
pub struct Stages(Vec<RateStage>);

/// A stage, in seconds since the load began.
#[derive(Debug, Clone, Copy)]
struct RateStage {
    begins: f64,
    /// Requests due before it.
    before: f64,
    rate: f64,
    /// By how much the rate grows each second.
    slope: f64,
}

impl Stages {
    /// Pace of `stages` one after the other; at least one.
    pub fn new(stages: &[Stage]) -> Self {
        let mut parts = Vec::new();
        let (mut begins, mut before) = (0.0, 0.0);
        for stage in stages {
            let length = stage.duration.0.as_secs_f64();
            parts.push(RateStage {
                begins,
                before,
                rate: stage.from,
                slope: (stage.to - stage.from) / length,
            });
            before += stage.due_in(length);
            begins += length;
        }
        parts.push(RateStage {
            begins,
            before,
            rate: stages.last().map_or(1.0, |stage| stage.to),
            slope: 0.0,
        });
        Self(parts)
    }

    /// The last of the parts that have begun by then.
    #[inline]
    fn part(&self, begun: impl Fn(&RateStage) -> bool) -> &RateStage {
        let n = self.0.partition_point(begun);
        &self.0[n.max(1) - 1]
    }
}

impl Pace for Stages {
    #[inline]
    fn due_of(&self, nth: f64) -> Nanos {
        let part = self.part(|part| part.before <= nth);
        let n = nth - part.before;
        // Rounding may take the root of the last request of a fall a little below zero.
        let root = (part.rate * part.rate + 2.0 * n * part.slope)
            .max(0.0)
            .sqrt();
        let since = 2.0 * n / (part.rate + root);
        ((part.begins + since) * SECOND as f64) as Nanos
    }

    #[inline]
    fn count_before(&self, until: Nanos) -> f64 {
        let until = until as f64 / SECOND as f64;
        let part = self.part(|part| part.begins <= until);
        let since = until - part.begins;
        part.before + since * (part.rate + part.slope * since / 2.0)
    }
}
