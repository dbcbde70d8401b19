//! The order in which requests are handled. A page takes a thread some milliseconds; if they were made first come, first
//! served, clients that request one page after the other would delay all others by all of their pages.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// A connection that has asked more often than this within [`SPELL`] has its answers made after those of others. A browser
/// asks for a page, its style and its script.
const OFTEN: u32 = 8;
const SPELL: Duration = Duration::from_secs(1);

/// Handles so many requests at the same time. Connections that send many requests wait for those that do not; of the
/// rest the newest request is next, since a client that has waited for long has most likely gone, or is one of many.
#[derive(Debug, Clone)]
pub struct Turns(Arc<Mutex<TurnQueue>>);

#[derive(Debug)]
struct TurnQueue {
    free: usize,
    /// Grows with each who comes.
    came: u64,
    waiting: BTreeMap<QueuePosition, oneshot::Sender<Turn>>,
}

/// Whether it asks often, and when it came.
type QueuePosition = (bool, Reverse<u64>);

/// The right to have an answer made, as long as it is held.
#[derive(Debug)]
pub struct Turn(Option<Turns>);

/// Leaves the line when its connection is closed while it waits.
struct Waiting<'a>(&'a Turns, QueuePosition);

impl Turns {
    /// `many` answers at the same time.
    pub fn new(many: usize) -> Self {
        Self(Arc::new(Mutex::new(TurnQueue {
            free: many,
            came: 0,
            waiting: BTreeMap::new(),
        })))
    }

    /// Waits for a turn.
    pub async fn take(&self, often: bool) -> Turn {
        let (waiting, turn) = {
            let mut line = self.line();
            if line.free > 0 {
                line.free -= 1;
                return Turn(Some(self.clone()));
            }
            line.came += 1;
            let place = (often, Reverse(line.came));
            let (give, turn) = oneshot::channel();
            line.waiting.insert(place, give);
            (Waiting(self, place), turn)
        };
        let turn = turn.await;
        drop(waiting);
        // The line gives a turn to each who waits before it forgets them.
        turn.unwrap_or(Turn(None))
    }

    /// Gives a turn that has ended to the next.
    fn pass(&self) {
        loop {
            let next = {
                let mut line = self.line();
                let next = line.waiting.pop_first();
                if next.is_none() {
                    line.free += 1;
                }
                next
            };
            match next.map(|(_, give)| give.send(Turn(Some(self.clone())))) {
                // It has gone: the turn is still to be given.
                Some(Err(mut turn)) => turn.0 = None,
                Some(Ok(())) | None => return,
            }
        }
    }

    /// A panic while it was held left nothing half done.
    fn line(&self) -> MutexGuard<'_, TurnQueue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        if let Some(turns) = self.0.take() {
            turns.pass();
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.line().waiting.remove(&self.1);
    }
}

/// How often a connection has asked lately.
#[derive(Debug)]
pub struct Asked {
    since: Instant,
    times: u32,
}

impl Asked {
    /// Never until `now`.
    pub const fn new(now: Instant) -> Self {
        Self {
            since: now,
            times: 0,
        }
    }

    /// Counts a question. Is it one of many?
    pub fn again(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.since) > SPELL {
            *self = Self::new(now);
        }
        self.times = self.times.saturating_add(1);
        self.times > OFTEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll, Waker};

    fn polled<F: Future>(what: Pin<&mut F>) -> Poll<F::Output> {
        what.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn the_last_who_came_is_next_and_who_asks_often_waits() {
        let turns = Turns::new(1);
        let Poll::Ready(first) = polled(pin!(turns.take(false))) else {
            panic!("a turn was free");
        };
        let mut often = pin!(turns.take(true));
        let mut early = pin!(turns.take(false));
        let mut late = pin!(turns.take(false));
        assert!(polled(often.as_mut()).is_pending());
        assert!(polled(early.as_mut()).is_pending());
        assert!(polled(late.as_mut()).is_pending());
        drop(first);
        assert!(polled(often.as_mut()).is_pending());
        assert!(polled(early.as_mut()).is_pending());
        let Poll::Ready(second) = polled(late.as_mut()) else {
            panic!("the last who came is next");
        };
        drop(second);
        assert!(polled(often.as_mut()).is_pending());
        let Poll::Ready(third) = polled(early.as_mut()) else {
            panic!("those who ask often come after all others");
        };
        drop(third);
        assert!(polled(often.as_mut()).is_ready());
    }

    #[test]
    fn who_has_gone_takes_no_turn() {
        let turns = Turns::new(1);
        let Poll::Ready(first) = polled(pin!(turns.take(false))) else {
            panic!("a turn was free");
        };
        let mut stays = pin!(turns.take(false));
        assert!(polled(stays.as_mut()).is_pending());
        {
            let mut goes = pin!(turns.take(false));
            assert!(polled(goes.as_mut()).is_pending());
        }
        assert_eq!(turns.line().waiting.len(), 1, "it left the line");
        // One that goes after it was given its turn, and before it took it.
        let mut given = Box::pin(turns.take(false));
        assert!(polled(given.as_mut()).is_pending());
        drop(first);
        drop(given);
        let Poll::Ready(second) = polled(stays.as_mut()) else {
            panic!("the turn came back");
        };
        drop(second);
        assert_eq!(turns.line().free, 1);
    }

    #[test]
    fn a_page_with_its_style_and_script_is_not_often() {
        let begin = Instant::now();
        let mut asked = Asked::new(begin);
        assert!(!(0..OFTEN).any(|_| asked.again(begin)));
        assert!(asked.again(begin));
        assert!(
            !asked.again(begin + SPELL + Duration::from_millis(1)),
            "that was long ago"
        );
    }
}
