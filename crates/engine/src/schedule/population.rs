//! How many connections of a closed loop take part, when that changes while the load lasts.

use super::Share;
use crate::clock::{Nanos, SECOND};
use prony_record::Stage;

/// The least time between two changes: more of them make no difference that anyone could see, and to look for them costs
/// the generator time.
const FINEST: Nanos = 100_000;

/// The number of connections in stages, in closed form: computed from the time, so that it does not drift. After the last
/// stage its last number stays.
#[derive(Debug, Clone)]
pub struct Population {
    parts: Vec<ConnectionStage>,
    last: f64,
    share: Share,
}

/// A stage, in nanoseconds since the load began.
#[derive(Debug, Clone, Copy)]
struct ConnectionStage {
    begins: f64,
    ends: f64,
    from: f64,
    /// By how much the number grows each nanosecond.
    slope: f64,
}

impl ConnectionStage {
    fn at(&self, time: f64) -> f64 {
        self.from + self.slope * (time - self.begins)
    }
}

impl Population {
    /// The part of a worker in these stages, which are of all workers' connections; none without stages.
    pub fn new(stages: &[Stage], share: Share) -> Option<Self> {
        let last = stages.last()?.to;
        let mut begins = 0.0;
        let part = |stage: &Stage| {
            let length = stage.duration.0.as_secs_f64() * SECOND as f64;
            let part = ConnectionStage {
                begins,
                ends: begins + length,
                from: stage.from,
                slope: (stage.to - stage.from) / length,
            };
            begins += length;
            part
        };
        Some(Self {
            parts: stages.iter().map(part).collect(),
            last,
            share,
        })
    }

    /// How many of its own connections take part, so long after the load began. They are the first ones.
    pub fn own(&self, time: Nanos) -> u32 {
        let part = self.part(time);
        let all = part
            .map_or(self.last, |part| part.at(time as f64))
            .round()
            .max(0.0) as u32;
        let total = all.min(self.share.total);
        Share {
            total,
            ..self.share
        }
        .connections()
    }

    /// When the number of all connections may change next, if it ever does.
    pub fn next_change(&self, time: Nanos) -> Option<Nanos> {
        let part = self.part(time)?;
        let now = part.at(time as f64);
        // The number is rounded: it changes halfway between two whole ones.
        let next = match part.slope {
            slope if slope > 0.0 => now.round() + 0.5,
            slope if slope < 0.0 => now.round() - 0.5,
            _ => return Some(part.ends.ceil() as Nanos),
        };
        let at = (part.begins + (next - part.from) / part.slope).ceil() as Nanos;
        Some(at.max(time + FINEST).min(part.ends.ceil() as Nanos))
    }

    /// The stage of that time.
    fn part(&self, time: Nanos) -> Option<&ConnectionStage> {
        let n = self.parts.partition_point(|part| part.ends <= time as f64);
        self.parts.get(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::Span;
    use proptest::prelude::*;
    use std::time::Duration;

    fn stage(from: f64, to: f64, millis: u64) -> Stage {
        Stage {
            from,
            to,
            duration: Span(Duration::from_millis(millis)),
        }
    }

    fn share(worker: u32, workers: u32, total: u32) -> Share {
        Share {
            worker,
            workers,
            total,
        }
    }

    const MS: Nanos = 1_000_000;

    #[test]
    fn steps_and_ramps() {
        let stages = [
            stage(10.0, 10.0, 100),
            stage(10.0, 20.0, 1_000),
            stage(4.0, 4.0, 50),
        ];
        let it = Population::new(&stages, share(0, 1, 20)).unwrap();
        let at = |ms| it.own(ms * MS);
        assert_eq!(
            [at(0), at(99), at(100), at(149), at(151)],
            [10, 10, 10, 10, 11]
        );
        assert_eq!([at(600), at(1_099), at(1_100), at(5_000)], [15, 20, 4, 4]);
        assert_eq!(it.next_change(0), Some(100 * MS));
        assert_eq!(it.next_change(100 * MS), Some(150 * MS));
        assert_eq!(it.next_change(1_099 * MS), Some(1_100 * MS));
        assert_eq!(it.next_change(1_150 * MS), None);
        assert!(Population::new(&[], share(0, 1, 20)).is_none());
    }

    proptest! {
        /// A worker that asks only at the times when a change may come next sees every number of connections when it
        /// comes, unless two changes are closer together than the shortest time between two questions.
        #[test]
        fn no_change_is_missed(
            ends in prop::collection::vec((1_u32..200, 1_u32..200, 20_u64..400), 1..5),
            workers in 1_u32..5,
        ) {
            let stages: Vec<Stage> = ends
                .iter()
                .map(|&(from, to, ms)| stage(f64::from(from), f64::from(to), ms))
                .collect();
            let parts: Vec<Population> = (0..workers)
                .map(|worker| Population::new(&stages, share(worker, workers, 200)).unwrap())
                .collect();
            let all = |time| parts.iter().map(|part| part.own(time)).sum::<u32>();
            let mut time = 0;
            while let Some(next) = parts[0].next_change(time) {
                prop_assert!(next > time);
                // Just before the next change it is what it was.
                prop_assert!(all(next - 1).abs_diff(all(time)) <= 2);
                time = next;
            }
            prop_assert_eq!(all(time), ends.last().unwrap().1);
        }
    }
}
