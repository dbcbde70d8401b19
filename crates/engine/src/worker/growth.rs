//! How many connections an open loop opens: no more than its rate needs, and none that do not help. Pure: no socket, no clock.

use crate::clock::Nanos;
use crate::transport::Slot;
use prony_record::Pool;

/// Between two looks. A stall that is shorter than two of them opens nothing.
const LOOK: Nanos = 25_000_000;
/// While connections are being opened.
const SOON: Nanos = 5_000_000;
/// Connections that are opened at once: no more than the accept queue of any server holds.
const BURST: Slot = 64;
/// More than the rate needs, for its ups and downs.
const MARGIN: f64 = 1.25;
/// The number of connections grows by this factor at most before it is known whether the new ones help.
const STEP: f64 = 2.0;
/// New connections help if the answers per second grew by at least this fraction of the growth in connections.
const HELPS: f64 = 0.25;
/// Steps in a row that do not help before no more are made: one may be another program's doing.
const FUTILE: u32 = 2;
/// Service times before it is seen whether a step has helped.
const SETTLED: f64 = 2.0;

/// The state of a load when [`Growth`] looks at it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sight {
    /// Connections in use.
    pub on: Slot,
    /// Connections that are still being opened, of those in use.
    pub connecting: Slot,
    /// Requests sent and not ended.
    pub in_flight: u64,
    /// Requests that are due and wait for a connection.
    pub waiting: u64,
    /// Requests that have ended since the load began.
    pub ended: u64,
    /// The most requests in flight on a connection.
    pub pipeline: u32,
}

/// Connections, all of them busy.
#[derive(Debug, Clone, Copy)]
struct BusyConnections {
    on: f64,
    /// Per second.
    answers: f64,
    /// How long one takes, in seconds (Little's law).
    service: f64,
}

/// Whether, and by how many, the connections of a worker grow.
#[derive(Debug)]
pub(super) struct Growth {
    most: Slot,
    target: Slot,
    next: Nanos,
    /// When the stretch began over which answers are counted, with what was seen then; none while no request waits.
    stretch: Option<(Nanos, Sight)>,
    /// The state before the last step; none once it is known whether the step helped.
    before: Option<BusyConnections>,
    futile: u32,
    helped: Option<bool>,
}

impl Growth {
    /// From `on` connections to `most` of them.
    pub(super) fn new(on: Slot, most: Slot) -> Self {
        Self {
            most,
            target: on,
            next: match on < most {
                true => 0,
                false => Nanos::MAX,
            },
            stretch: None,
            before: None,
            futile: 0,
            helped: None,
        }
    }

    /// How many connections there are to be.
    pub(super) fn target(&self) -> Slot {
        self.target
    }

    /// When to look next; `Nanos::MAX` where it cannot grow any more.
    #[inline]
    pub(super) fn next(&self) -> Nanos {
        self.next
    }

    /// Result of the growth, with `on` connections in the end.
    pub(super) fn result(&self, on: Slot) -> Pool {
        Pool {
            allowed: self.most,
            opened: on,
            helped: self.helped,
        }
    }

    /// Looks at `now`; gives how many connections to add.
    pub(super) fn look(&mut self, now: Nanos, seen: &Sight) -> Slot {
        let growing = seen.on < self.target || seen.connecting > 0;
        if !growing {
            self.decide(now, seen);
        }
        let more = (self.target.saturating_sub(seen.on)).min(BURST);
        if more > 0 || growing {
            // What was answered until all of them are there says nothing about them.
            self.stretch = None;
        }
        if self.next != Nanos::MAX {
            self.next = now + if more > 0 { SOON } else { LOOK };
        }
        more
    }

    fn decide(&mut self, now: Nanos, seen: &Sight) {
        if seen.waiting == 0 && self.before.is_none() {
            self.stretch = None;
            return;
        }
        let Some((since, then)) = self.stretch else {
            self.stretch = Some((now, *seen));
            return;
        };
        let seconds = (now - since) as f64 / 1e9;
        let ended = seen.ended - then.ended;
        if ended == 0 {
            // Before the first answer nothing is known but that so many are needed; later it is a stall. Some are left
            // for a step of which it can be seen whether it helps.
            let needed = (seen.in_flight + seen.waiting) as f64 / f64::from(seen.pipeline);
            let needed = needed.min(f64::from(self.most) / 2.0);
            if seen.ended == 0 && needed > f64::from(seen.on) {
                self.grow(seen, needed);
            }
            return;
        }
        let answers = ended as f64 / seconds;
        let outstanding = |it: &Sight| (it.in_flight + it.waiting) as f64;
        let due = answers + (outstanding(seen) - outstanding(&then)) / seconds;
        if let Some(step) = self.before {
            // Those that were added have answers after one service time.
            if seconds < SETTLED * step.service {
                return;
            }
            self.before = None;
            self.judge(&step, answers, f64::from(seen.on), due);
            if self.next == Nanos::MAX {
                return;
            }
        }
        self.stretch = None;
        if seen.waiting > 0 {
            let on = f64::from(seen.on);
            self.before = Some(BusyConnections {
                on,
                answers,
                service: on * f64::from(seen.pipeline) / answers,
            });
            self.grow(seen, on * due / answers * MARGIN);
        }
    }

    /// Has a step helped, after which so many connections have so many answers per second?
    fn judge(&mut self, step: &BusyConnections, answers: f64, on: f64, due: f64) {
        let more = (on / step.on).min(due / step.answers).max(1.0) - 1.0;
        if answers >= step.answers * (1.0 + HELPS * more) {
            (self.helped, self.futile) = (Some(true), 0);
            return;
        }
        self.futile += 1;
        if self.futile >= FUTILE {
            self.helped = Some(false);
            self.next = Nanos::MAX;
        }
    }

    /// Towards so many connections.
    fn grow(&mut self, seen: &Sight, needed: f64) {
        let step = (f64::from(seen.on) * STEP).ceil();
        // Requests wait, so one more is needed at least.
        let target = needed.ceil().min(step) as Slot;
        self.target = target.max(seen.on + 1).min(self.most);
        if self.target <= seen.on {
            self.before = None;
            self.next = Nanos::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that answers what it works on after `latency`, and no more than `limit` per second.
    struct Model {
        latency: f64,
        limit: f64,
    }

    /// The connections after so many seconds at a rate, in steps of a millisecond.
    fn after(seconds: f64, rate: f64, (from, most): (Slot, Slot), server: &Model) -> Pool {
        let mut growth = Growth::new(from, most);
        let (mut on, mut due, mut ended, mut sent) = (from, 0.0, 0.0, Vec::<f64>::new());
        let mut credit = 0.0;
        for ms in 1..=(seconds * 1e3) as u64 {
            let t = ms as f64 / 1e3;
            due += rate / 1e3;
            credit = (credit + server.limit / 1e3).min(1.0_f64.max(server.limit / 1e3));
            while credit >= 1.0 && sent.first().is_some_and(|at| t - at >= server.latency) {
                sent.remove(0);
                ended += 1.0;
                credit -= 1.0;
            }
            while sent.len() < on as usize && ended + (sent.len() as f64) < due.floor() {
                sent.push(t);
            }
            let now = ms * 1_000_000;
            if now >= growth.next() {
                on += growth.look(
                    now,
                    &Sight {
                        on,
                        connecting: 0,
                        in_flight: sent.len() as u64,
                        waiting: (due.floor() - ended) as u64 - sent.len() as u64,
                        ended: ended as u64,
                        pipeline: 1,
                    },
                );
            }
        }
        growth.result(on)
    }

    const FAST: f64 = 1e6;

    #[test]
    fn latency_opens_as_many_as_the_rate_needs() {
        for (latency, rate) in [(0.2, 884.0), (0.05, 4_000.0), (1.0, 700.0)] {
            let server = Model {
                latency,
                limit: FAST,
            };
            let pool = after(6.0, rate, (64, 1_000), &server);
            let needed = (rate * latency) as Slot;
            assert!(
                (needed..2 * needed).contains(&pool.opened),
                "{latency}: {pool:?}"
            );
            assert!(!pool.limits());
        }
    }

    #[test]
    fn a_server_at_its_limit_gets_few_more() {
        for limit in [100.0, 1_000.0, 5_000.0] {
            let server = Model {
                latency: 0.001,
                limit,
            };
            let pool = after(10.0, 2.0 * limit, (64, 10_000), &server);
            assert!(pool.opened <= 64 * 5, "{limit}: {pool:?}");
            assert_ne!(pool.helped, Some(true), "{limit}");
        }
    }

    #[test]
    fn connections_that_keep_a_rate_stay_as_they_are() {
        let server = Model {
            latency: 0.01,
            limit: FAST,
        };
        let pool = after(3.0, 1_000.0, (64, 1_000), &server);
        assert_eq!((pool.opened, pool.helped), (64, None));
    }

    #[test]
    fn too_few_that_are_allowed_are_the_limit() {
        let server = Model {
            latency: 0.2,
            limit: FAST,
        };
        let pool = after(4.0, 884.0, (64, 140), &server);
        assert_eq!(pool.opened, 140);
        assert!(pool.limits(), "{pool:?}");
    }
}
