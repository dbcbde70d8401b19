//! Offset of another machine's clock, from round trips (Cristian's algorithm). The other clock is read between question
//! and answer, so half of the round trip is the most by which the middle is wrong.

use prony_engine::Nanos;

/// How two machines' clocks differ. Both are monotonic and count from each machine's own beginning, so an offset may be
/// years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// Amount by which the other clock is ahead of this one, in nanoseconds; negative when it is behind.
    pub by: i64,
    /// The most by which that is wrong, in nanoseconds.
    pub error: Nanos,
    /// The round trip that it comes from, in nanoseconds.
    pub round_trip: Nanos,
}

impl Offset {
    /// Returns the offset from one question. `asked` and `heard` are the times of question and answer on this machine's
    /// clock; `theirs` is the time that the other clock showed between them.
    #[must_use]
    pub fn of(asked: Nanos, theirs: Nanos, heard: Nanos) -> Self {
        let round_trip = heard.saturating_sub(asked);
        let middle = asked + round_trip / 2;
        Self {
            by: theirs.wrapping_sub(middle).cast_signed(),
            error: round_trip.div_ceil(2),
            round_trip,
        }
    }

    /// The one of two that is wrong by less.
    #[must_use]
    pub fn closer(one: Option<Self>, other: Self) -> Option<Self> {
        match one {
            Some(one) if one.error <= other.error => Some(one),
            _ => Some(other),
        }
    }

    /// A time of the other clock on this machine's.
    #[must_use]
    pub fn here(&self, there: Nanos) -> Nanos {
        there.saturating_add_signed(-self.by)
    }

    /// A time of this machine's clock on the other one.
    #[must_use]
    pub fn there(&self, here: Nanos) -> Nanos {
        here.saturating_add_signed(self.by)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_error_is_never_more_than_told(
            asked in 0..1_u64 << 60,
            there in 0..1_000_000_u64,
            back in 0..1_000_000_u64,
            by in -(1_i64 << 59)..1 << 59,
        ) {
            let asked = asked + (1 << 60);
            let theirs = (asked + there).saturating_add_signed(by);
            let offset = Offset::of(asked, theirs, asked + there + back);
            prop_assert!(offset.by.abs_diff(by) <= offset.error);
            prop_assert_eq!(offset.round_trip, there + back);
            prop_assert!(offset.there(asked).abs_diff(asked.saturating_add_signed(by)) <= offset.error);
        }
    }
}
