//! The schedules of open loops as one type.

use super::{Arrival, Constant, Poisson, Replayed, Schedule, Skipped, Staged, StagedPoisson};
use crate::clock::Nanos;

/// The schedule of an open loop, of any kind. The load loop is compiled anew for each type of schedule, and so for two of
/// them rather than for six. To tell the kinds apart takes each request a few branches that always go the same way.
#[derive(Debug, Clone)]
pub enum Open {
    /// At a constant rate.
    Constant(Constant),
    /// Poisson arrivals at a constant rate.
    Poisson(Poisson),
    /// At a rate that changes.
    Staged(Staged),
    /// Poisson arrivals at a rate that changes.
    StagedPoisson(StagedPoisson),
    /// At times that were recorded.
    Replayed(Replayed),
}

/// The same expression of whichever kind it is.
macro_rules! of_each {
    ($open:expr, $it:ident => $value:expr) => {
        match $open {
            Open::Constant($it) => $value,
            Open::Poisson($it) => $value,
            Open::Staged($it) => $value,
            Open::StagedPoisson($it) => $value,
            Open::Replayed($it) => $value,
        }
    };
}

impl Schedule for Open {
    const CLOSED: bool = false;

    #[inline]
    fn peek(&self) -> Option<Arrival> {
        of_each!(self, it => it.peek())
    }

    #[inline]
    fn advance(&mut self) {
        of_each!(self, it => it.advance());
    }

    fn skip(&mut self, until: Nanos) -> Skipped {
        of_each!(self, it => it.skip(until))
    }
}
