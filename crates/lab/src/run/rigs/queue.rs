//! The rounds that have yet to be measured, and who takes them.

use crate::experiment::Cell;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often a rig that waits for a round looks whether the run is over.
const LOOK: Duration = Duration::from_millis(100);

/// A round that can be handed to a rig.
#[derive(Debug, Clone, Copy)]
pub(super) struct Round<'r> {
    pub(super) number: u32,
    /// Trials of the round in their order, each with the number of its round in the plan.
    pub(super) cells: &'r [(u32, Cell)],
    /// Lost round that this one replaces; none: the round is measured for the first time.
    pub(super) again: Option<Again>,
}

/// A round whose rig was lost.
#[derive(Debug, Clone, Copy)]
pub(super) struct Again {
    pub(super) number: u32,
    /// Number of its trials that had ended.
    pub(super) ended: u64,
}

/// Rounds are taken in their order; one that is given back comes last.
#[derive(Debug)]
pub(super) struct RoundQueue<'r> {
    state: Mutex<QueueState<'r>>,
    changed: Condvar,
}

#[derive(Debug)]
struct QueueState<'r> {
    waiting: VecDeque<Round<'r>>,
    /// Rounds that are being measured, and may be given back.
    in_hand: usize,
    /// The number of the next round that is given back.
    next: u32,
}

/// A round that a rig measures; done when this is dropped.
#[derive(Debug)]
pub(super) struct InHand<'q, 'r> {
    pub(super) round: Round<'r>,
    queue: &'q RoundQueue<'r>,
}

impl<'r> RoundQueue<'r> {
    pub(super) fn new(rounds: impl Iterator<Item = Round<'r>>) -> Self {
        let waiting: VecDeque<Round<'r>> = rounds.collect();
        let next = waiting.iter().map(|round| round.number + 1).max();
        Self {
            state: Mutex::new(QueueState {
                waiting,
                in_hand: 0,
                next: next.unwrap_or(0),
            }),
            changed: Condvar::new(),
        }
    }

    /// The next round. Waits while there is none, but one in other hands may be given back; `None` when all are measured
    /// or the run is over.
    pub(super) fn take(&self, over: impl Fn() -> bool) -> Option<InHand<'_, 'r>> {
        let mut state = self.state();
        loop {
            if over() {
                return None;
            }
            if let Some(round) = state.waiting.pop_front() {
                state.in_hand += 1;
                return Some(InHand { round, queue: self });
            }
            if state.in_hand == 0 {
                return None;
            }
            let waited = self.changed.wait_timeout(state, LOOK);
            (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// How many rounds are waiting for a rig.
    pub(super) fn left(&self) -> usize {
        self.state().waiting.len()
    }

    fn state(&self) -> MutexGuard<'_, QueueState<'r>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl InHand<'_, '_> {
    /// The rig is lost: another one measures the round whole, with the next number, so that no round has trials of two rigs.
    pub(super) fn give_back(self, ended: u64) {
        let mut state = self.queue.state();
        let number = state.next;
        state.next += 1;
        state.waiting.push_back(Round {
            number,
            again: Some(Again {
                number: self.round.number,
                ended,
            }),
            ..self.round
        });
    }
}

impl Drop for InHand<'_, '_> {
    fn drop(&mut self) {
        self.queue.state().in_hand -= 1;
        self.queue.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    fn queue(rounds: u32) -> RoundQueue<'static> {
        RoundQueue::new((0..rounds).map(|number| Round {
            number,
            cells: &[],
            again: None,
        }))
    }

    fn take<'q>(queue: &'q RoundQueue<'static>) -> Option<InHand<'q, 'static>> {
        queue.take(|| false)
    }

    #[test]
    fn rounds_are_taken_in_their_order_and_once() {
        let queue = queue(2);
        let (first, second) = (take(&queue).unwrap(), take(&queue).unwrap());
        assert_eq!((first.round.number, second.round.number), (0, 1));
        drop((first, second));
        assert!(take(&queue).is_none());
        assert_eq!(queue.left(), 0);
    }

    #[test]
    fn who_waits_gets_the_last_round_when_it_is_given_back() {
        let queue = queue(3);
        let in_hand = [(); 3].map(|()| take(&queue).unwrap());
        thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let next = take(&queue).unwrap();
                let again = next.round.again.unwrap();
                (next.round.number, again.number, again.ended)
            });
            let [first, second, third] = in_hand;
            drop((first, third));
            second.give_back(4);
            assert_eq!(waiting.join().unwrap(), (3, 1, 4));
        });
        assert!(take(&queue).is_none());
    }

    #[test]
    fn a_round_that_nobody_takes_again_is_left() {
        let queue = queue(1);
        take(&queue).unwrap().give_back(0);
        assert_eq!(queue.left(), 1);
        take(&queue).unwrap().give_back(1);
        let last = take(&queue).unwrap().round;
        assert_eq!((last.number, last.again.unwrap().number), (2, 1));
    }

    #[test]
    fn a_run_that_is_over_keeps_nobody_waiting() {
        let queue = queue(1);
        let (over, in_hand) = (AtomicBool::new(false), take(&queue));
        thread::scope(|scope| {
            let waiting = scope.spawn(|| queue.take(|| over.load(Ordering::Relaxed)).is_none());
            over.store(true, Ordering::Relaxed);
            assert!(waiting.join().unwrap());
        });
        drop(in_hand);
    }
}
