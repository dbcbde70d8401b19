//! The latency at parts of a capacity, and whether the server still keeps them after an overload.

use super::{CapacityError, CapacitySearch, overload};
use prony_record::service::{AfterOverload, RateOutcome, RateStep, Unclear};
use prony_verdict::capacity::{CURVE, OVERLOAD, POINT_TRIES, RateTrial, Search, round};
use std::time::Duration;

/// Divisor for the length of a trial of the curve: those that decide take this many times as long.
const HALF: u32 = 2;

impl CapacitySearch<'_, '_> {
    /// The latency at parts of a rate, up to the first that the server breaks; and what it keeps of them after an overload.
    pub(super) fn curve(
        &mut self,
        search: &mut Search,
        start: u32,
        top: f64,
    ) -> Result<(Vec<RateStep>, Option<AfterOverload>), CapacityError> {
        let length = self.capacity.trial() / HALF;
        let (mut points, mut before) = (Vec::new(), None);
        for part in CURVE {
            let rate = round(top * part);
            let Some(step) = self.point(search, (start, rate), length)? else {
                return Ok((points, None));
            };
            let outcome = step.outcome();
            points.push(step);
            match outcome {
                RateOutcome::Kept => before = Some(part),
                RateOutcome::Unclear(_) => {}
                // It would not be what it was.
                RateOutcome::Broken => return Ok((points, None)),
            }
        }
        let Some(before) = before else {
            return Ok((points, None));
        };
        // Its outcome is the start's, as that of every other.
        let Some(over) = self.try_rate((start, round(top * OVERLOAD)), length)? else {
            return Ok((points, None));
        };
        search.note(start, over.rate, RateTrial::from(&over));
        let mut after = None;
        for &part in CURVE.iter().rev().filter(|part| **part <= before) {
            // Not its capacity: what it keeps when it has been overloaded.
            let Some(kept) = self.keeps_after_overload(round(top * part), length)? else {
                return Ok((points, None));
            };
            if kept {
                after = Some(part);
                break;
            }
        }
        Ok((
            points,
            Some(AfterOverload {
                of_capacity: OVERLOAD,
                before,
                after,
            }),
        ))
    }

    /// Is a rate kept, in one of a few trials, on the server as it is? None when the user has interrupted it.
    fn keeps_after_overload(
        &mut self,
        rate: f64,
        length: Duration,
    ) -> Result<Option<bool>, CapacityError> {
        for _ in 0..POINT_TRIES {
            let name = Some(overload::AFTER);
            let Some((measured, found)) = self.measure((0, rate), length, name)? else {
                return Ok(None);
            };
            let step = self.capacity.judge((0, rate), &measured, &found);
            if step.outcome() != RateOutcome::Broken {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }

    /// A part of the capacity, tried again a few times while it is not kept: once may be an accident. None when the user has
    /// interrupted it.
    fn point(
        &mut self,
        search: &mut Search,
        (start, rate): (u32, f64),
        length: Duration,
    ) -> Result<Option<RateStep>, CapacityError> {
        for tries in 1.. {
            let Some(step) = self.try_rate((start, rate), length)? else {
                break;
            };
            // Those that are not kept count too: leaving them out would make the capacity look higher.
            search.note(start, rate, RateTrial::from(&step));
            let few = step.unclear == Some(Unclear::TooFewAnswers);
            if step.kept || few || tries >= POINT_TRIES {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }
}
