//! Requests of one connection that are due and could not be sent yet.

use crate::clock::Nanos;
use std::collections::VecDeque;

/// The most requests of all workers together that wait as due times of their own. What falls due beyond
/// that stays in the [schedule](crate::schedule), which can say how much it is without listing it.
const MOST: u64 = 2 << 20;

/// Room that a backlog keeps when it is empty.
const KEPT: usize = 1024;

/// The most that may wait on all connections of one of `workers` workers. A backlog has at most four times
/// the room that it needs, so that all of them together take 64 MiB at most, and 8 KiB per connection.
pub(super) fn most(workers: u32) -> u64 {
    MOST / u64::from(workers.max(1))
}

/// Due times, oldest first.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    due: VecDeque<Nanos>,
    /// How many have been sent before; they are the first ones in `due`.
    again: usize,
}

impl Backlog {
    #[inline]
    pub(super) fn push(&mut self, due: Nanos) {
        self.due.push_back(due);
    }

    /// Puts back one that was sent, and was due before all others.
    pub(super) fn put_back(&mut self, due: Nanos) {
        self.due.push_front(due);
        self.again += 1;
    }

    /// Has the oldest been sent before?
    #[inline]
    pub(super) fn again(&self) -> bool {
        self.again > 0
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Nanos> {
        let due = self.due.pop_front()?;
        self.again = self.again.saturating_sub(1);
        if self.due.capacity() > KEPT && self.due.len() < self.due.capacity() / 4 {
            self.shrink();
        }
        Some(due)
    }

    /// Takes out the oldest `n`.
    pub(super) fn take(&mut self, n: usize) -> impl Iterator<Item = Nanos> {
        let rest = self.due.split_off(n.min(self.due.len()));
        self.again = self.again.saturating_sub(n);
        std::mem::replace(&mut self.due, rest).into_iter()
    }

    /// All are due at `at` instead.
    pub(super) fn put_off(&mut self, at: Nanos) {
        self.due.iter_mut().for_each(|due| *due = at);
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.due.len()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    #[cold]
    fn shrink(&mut self) {
        self.due.shrink_to((2 * self.due.len()).max(KEPT / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_back() {
        let mut it = Backlog::default();
        (0..100_000).for_each(|due| it.push(due));
        for due in 0..100_000 {
            assert_eq!(it.pop(), Some(due));
            let (room, len) = (it.due.capacity(), it.len());
            assert!(room <= KEPT.max(4 * len + 4), "{room} for {len}");
        }
        assert!(it.is_empty());
        (0..10).for_each(|due| it.push(due));
        assert_eq!(it.take(3).collect::<Vec<_>>(), [0, 1, 2]);
        it.put_off(77);
        assert_eq!(it.take(100).collect::<Vec<_>>(), [77; 7]);
    }

    #[test]
    fn what_was_sent_before_comes_first() {
        let mut it = Backlog::default();
        it.push(30);
        it.put_back(20);
        it.put_back(10);
        let next = |it: &mut Backlog| (it.again(), it.pop());
        assert_eq!(next(&mut it), (true, Some(10)));
        assert_eq!(next(&mut it), (true, Some(20)));
        assert_eq!(next(&mut it), (false, Some(30)));
        it.put_back(5);
        assert_eq!(it.take(9).collect::<Vec<_>>(), [5]);
        assert_eq!(next(&mut it), (false, None));
    }
}
