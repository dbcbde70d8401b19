//! Addresses among which a worker's connections are spread, and the results of each.
//!
//! Pure but for the list that a [`Lookups`] renews: which address a connection goes to follows from its number, and from
//! which addresses could not be connected to lately.

use crate::clock::{Nanos, SECOND};
use crate::lookups::Lookups;
use crate::plan::Plan;
use crate::protocol::Booked;
use crate::schedule::Share;
use crate::transport::Slot;
use prony_record::ByAddress;
use prony_record::load::Addresses;
use std::net::SocketAddr;

/// Before one connection tries again an address that could not be connected to; doubled after each try.
const PAUSE: Nanos = SECOND;
const LONGEST_PAUSE: Nanos = 30 * SECOND;

pub(super) struct Spread {
    /// Connections of this worker all have one address, another one than those of the next worker.
    per_thread: bool,
    /// A connection's address follows from its slot; otherwise from its number among those opened.
    by_slot: bool,
    worker: usize,
    workers: usize,
    /// Connections opened so far.
    opened: usize,
    lookups: Lookups,
    generation: u64,
    /// Places of the addresses in use, in `known`.
    used: Vec<usize>,
    /// Every address that was ever in use.
    known: Vec<KnownAddress>,
    /// Place of each slot's address in `known`.
    slots: Vec<usize>,
}

struct KnownAddress {
    address: SocketAddr,
    seen: ByAddress,
    /// Not to be connected to before this time; 0: it could be connected to the last time.
    down_until: Nanos,
    pause: Nanos,
    /// A connection tries it again.
    tried: bool,
}

impl Spread {
    /// None: all connections of the plan go to one address.
    pub(super) fn wanted(plan: &Plan, share: Share) -> Option<Self> {
        if plan.addresses.is_empty() {
            return None;
        }
        let mut spread = Self {
            per_thread: plan.load.addresses == Addresses::PerThread,
            by_slot: plan.load.keepalive,
            worker: share.worker as usize,
            workers: share.workers as usize,
            opened: 0,
            lookups: plan.lookups.clone(),
            generation: 0,
            used: Vec::new(),
            known: Vec::new(),
            slots: vec![0; share.connections() as usize],
        };
        spread.take(&plan.addresses);
        Some(spread)
    }

    /// Uses these addresses from now on.
    fn take(&mut self, addresses: &[SocketAddr]) {
        // Those that stay keep their order, so that as few connections as possible move.
        let stays = |place: &usize| addresses.contains(&self.known[*place].address);
        self.used.retain(stays);
        for &address in addresses {
            let known = self.known.iter().position(|it| it.address == address);
            let place = known.unwrap_or_else(|| {
                self.known.push(KnownAddress {
                    address,
                    seen: ByAddress::new(address.to_string()),
                    down_until: 0,
                    pause: PAUSE,
                    tried: false,
                });
                self.known.len() - 1
            });
            if !self.used.contains(&place) {
                self.used.push(place);
            }
        }
    }

    /// Place in `used` of a slot's address, if every address can be connected to.
    fn wish(&self, slot: Slot) -> usize {
        let number = match (self.per_thread, self.by_slot) {
            (true, _) => self.worker,
            (false, true) => slot as usize * self.workers + self.worker,
            (false, false) => self.opened * self.workers + self.worker,
        };
        number % self.used.len()
    }

    /// The address that a slot's next connection goes to: its own, or the next that could be connected to lately.
    pub(super) fn next(&mut self, slot: Slot, now: Nanos) -> SocketAddr {
        let (wish, n) = (self.wish(slot), self.used.len());
        let up = |nth: &usize| self.known[self.used[*nth]].down_until <= now;
        let nth = (wish..wish + n).map(|nth| nth % n).find(up);
        let place = self.used[nth.unwrap_or(wish)];
        self.opened += 1;
        self.slots[slot as usize] = place;
        let one = &mut self.known[place];
        if one.down_until > 0 && one.down_until <= now {
            // This connection tries it; the others wait for how that ends.
            one.down_until = now + one.pause;
            one.tried = true;
        }
        one.address
    }

    fn of(&mut self, slot: Slot) -> &mut KnownAddress {
        &mut self.known[self.slots[slot as usize]]
    }

    /// A slot's connection was made.
    pub(super) fn connected(&mut self, slot: Slot) {
        let one = self.of(slot);
        one.seen.connections += 1;
        (one.down_until, one.pause, one.tried) = (0, PAUSE, false);
    }

    /// A slot's connection could not be made.
    pub(super) fn not_connected(&mut self, slot: Slot, error: String, at: Nanos) {
        let one = self.of(slot);
        one.seen.not_connected += 1;
        one.seen.error = Some(error);
        if std::mem::take(&mut one.tried) {
            one.pause = (2 * one.pause).min(LONGEST_PAUSE);
        }
        one.down_until = at + one.pause;
    }

    /// A request of a slot was answered rightly.
    pub(super) fn answered(&mut self, slot: Slot, booked: Booked) {
        let one = self.of(slot);
        one.seen.answers += u64::from(booked.ended_inside);
        if booked.due_inside {
            one.seen.times.response.saturating_record(booked.response);
        }
    }

    /// A request of a slot ended otherwise, in the measurement.
    pub(super) fn failed(&mut self, slot: Slot) {
        self.of(slot).seen.failed += 1;
    }

    /// Slots whose connections belong to other addresses by now: those of addresses that are gone, and, once its address
    /// can be tried again, one of those that had to go elsewhere; all of them when that has worked.
    pub(super) fn moved(&mut self, now: Nanos) -> Vec<Slot> {
        if let Some((generation, addresses)) = self.lookups.since(self.generation) {
            self.generation = generation;
            self.take(&addresses);
        }
        if !self.by_slot {
            return Vec::new();
        }
        let mut tried = vec![false; self.known.len()];
        let mut moved = Vec::new();
        for slot in 0..self.slots.len() as Slot {
            let is = self.slots[slot as usize];
            let wish = self.used[self.wish(slot)];
            if is == wish {
                continue;
            }
            let target = &self.known[wish];
            let waits = target.down_until > now;
            let gone = !self.used.contains(&is);
            let tries = target.down_until > 0 && std::mem::replace(&mut tried[wish], true);
            if gone || !(waits || tries) {
                moved.push(slot);
            }
        }
        moved
    }

    /// Results of each address.
    pub(super) fn done(self) -> Vec<ByAddress> {
        self.known.into_iter().map(|one| one.seen).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::Load;

    const NOW: Nanos = 1_000 * SECOND;

    fn address(last: u8) -> SocketAddr {
        ([127, 0, 0, last], 80).into()
    }

    fn spread(addresses: Addresses, worker: u32, keepalive: bool) -> Spread {
        let load = Load {
            addresses,
            keepalive,
            threads: 2,
            connections: 12,
            ..Load::default()
        };
        let target = crate::Target::Tcp(address(1));
        let plan = Plan {
            addresses: vec![address(1), address(2), address(3)],
            ..Plan::new(load, target, crate::Dialogue::Echo(b"x".to_vec()))
        };
        let share = Share {
            worker,
            workers: 2,
            total: 12,
        };
        Spread::wanted(&plan, share).unwrap()
    }

    fn places(spread: &mut Spread, now: Nanos) -> Vec<SocketAddr> {
        (0..6).map(|slot| spread.next(slot, now)).collect()
    }

    fn count(all: &[SocketAddr], last: u8) -> usize {
        all.iter().filter(|it| **it == address(last)).count()
    }

    #[test]
    fn connections_are_spread_evenly_over_all_workers_or_by_worker() {
        for keepalive in [true, false] {
            let mut both = places(&mut spread(Addresses::Even, 0, keepalive), NOW);
            both.extend(places(&mut spread(Addresses::Even, 1, keepalive), NOW));
            for last in 1..=3 {
                assert_eq!(count(&both, last), 4, "{both:?}");
            }
        }
        let one = places(&mut spread(Addresses::PerThread, 1, true), NOW);
        assert_eq!(count(&one, 2), 6);
    }

    #[test]
    fn the_rest_goes_on_when_one_dies_and_one_connection_tries_it_again() {
        let mut it = spread(Addresses::Even, 0, true);
        let all = places(&mut it, NOW);
        let dead = all[0];
        it.not_connected(0, "refused".into(), NOW);
        let without = places(&mut it, NOW + 1);
        assert!(!without.contains(&dead), "{without:?}");
        assert!(it.moved(NOW + 1).is_empty());
        // After the pause one is moved, and while it tries no other.
        let later = NOW + 2 * PAUSE;
        let [tries] = it.moved(later)[..] else {
            panic!("one of them");
        };
        assert_eq!(it.next(tries, later), dead);
        assert!(it.moved(later).is_empty());
        it.not_connected(tries, "refused".into(), later);
        assert_eq!(it.known[0].pause, 2 * PAUSE);
        assert_ne!(it.next(tries, later + 1), dead);
        let later = later + 3 * PAUSE;
        let tries = it.moved(later)[0];
        it.next(tries, later);
        it.connected(tries);
        // All of its connections go back.
        let back = it.moved(later);
        assert!(!back.is_empty());
        for slot in back {
            assert_eq!(it.next(slot, later), dead);
        }
        let dead = dead.to_string();
        let seen = it.done();
        let seen = seen.iter().find(|it| it.address == dead).unwrap();
        assert_eq!((seen.connections, seen.not_connected), (1, 2));
        assert_eq!(seen.error.as_deref(), Some("refused"));
    }

    #[test]
    fn connections_of_addresses_that_are_gone_move() {
        let mut used = Vec::new();
        for worker in 0..2 {
            let mut it = spread(Addresses::Even, worker, true);
            places(&mut it, NOW);
            it.lookups.publish(vec![address(2), address(4)]);
            let moved = it.moved(NOW);
            assert!(!moved.is_empty());
            for slot in moved {
                it.next(slot, NOW);
            }
            assert!(it.moved(NOW).is_empty());
            used.extend(it.slots.iter().map(|&place| it.known[place].address));
        }
        assert_eq!((count(&used, 2), count(&used, 4)), (6, 6));
    }

    #[test]
    fn if_all_are_dead_each_is_tried_as_before() {
        let mut it = spread(Addresses::Even, 0, true);
        let all = places(&mut it, NOW);
        for slot in 0..3 {
            it.not_connected(slot, "refused".into(), NOW);
        }
        assert_eq!(places(&mut it, NOW + 1), all);
    }
}
