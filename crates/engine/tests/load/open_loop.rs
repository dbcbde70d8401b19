//! Open loops: what is due is sent, no matter what the server does.

use crate::invariants::{accounted, flawless, hold};
use crate::servers::{Connection, Server, echo};
use crate::support::*;
use prony_engine::{Arrival, Control, clock};
use prony_record::load::Assignment;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread::sleep;
use std::time::Duration;

#[test]
fn exactly_what_is_due_is_sent() {
    at_once(2, &transports(), |&kind| {
        let shapes = [(1, 1, true), (3, 8, true), (2, 1, false)];
        let assignments = [Assignment::Any, Assignment::RoundRobin];
        let all = shapes
            .iter()
            .flat_map(|shape| assignments.map(|it| (shape, it)));
        for (&(threads, pipeline, keepalive), assignment) in all {
            let server = Server::tcp(echo);
            let mut plan = plan(&server.target, hello(), 7, kind)
                .due(Arrival::Constant(2_000.0))
                .threads(threads)
                .pipeline(pipeline)
                .keepalive(keepalive);
            plan.load.assignment = assignment;
            let seen = during(&plan, 300 * MS);
            hold(&plan, &seen);
            assert_eq!(accounted(&seen.outcomes), 600, "{}", short(&plan));
            assert_eq!(seen.outcomes.failed(), 0);
            assert_eq!(seen.times.response.len(), 600);
            assert_eq!(seen.times.late.len(), 600);
            assert_eq!(server.count.bytes.load(Relaxed), 600 * HELLO.len() as u64);
        }
    });
}

#[test]
fn a_poisson_load_is_the_same_again_with_its_seed() {
    at_once(2, &transports(), |&kind| {
        let server = Server::tcp(echo);
        let count = |seed, threads| {
            let plan = plan(&server.target, hello(), 5, kind)
                .due(Arrival::Poisson {
                    rate: 2_000.0,
                    seed,
                })
                .threads(threads);
            let seen = during(&plan, 300 * MS);
            hold(&plan, &seen);
            assert_eq!(seen.times.response.len(), accounted(&seen.outcomes));
            seen.times.response.len()
        };
        let n = count(1, 1);
        assert_eq!(n, count(1, 1));
        // 600 are expected, with a standard deviation of 24.5.
        assert!(n.abs_diff(600) < 150, "{n}");
        assert!(count(2, 3).abs_diff(600) < 150);
    });
}

#[test]
fn a_stall_is_seen_by_every_request_that_was_due_in_it() {
    const STALL: u64 = 300 * MS;
    at_once(2, &transports(), |&kind| {
        let until = AtomicU64::new(0);
        let server = Server::tcp(move |it| {
            it.messages(6, |nth, message| {
                if nth == 200 {
                    until.store(clock::now() + STALL, Relaxed);
                }
                let left = until.load(Relaxed).saturating_sub(clock::now());
                sleep(Duration::from_nanos(left));
                it.write(message)
            })
        });
        let plan = plan(&server.target, hello(), 4, kind).due(Arrival::Constant(1_000.0));
        let seen = during(&plan, 900 * MS);
        hold(&plan, &seen);
        assert_eq!(seen.times.response.len(), 900);
        assert!(
            seen.times.response.max() >= STALL - MS,
            "{}",
            seen.times.response.max()
        );
        // Those due in the first half of the stall have waited for more than its second half.
        let waited = seen.times.response.count_between(STALL / 2, u64::MAX);
        assert!(waited >= 140, "{waited}");
        assert!(seen.times.service.count_between(STALL / 2, u64::MAX) < waited);
        assert!(
            seen.times.send_delay.max() >= STALL / 2,
            "they waited for their turn"
        );
    });
}

#[test]
fn a_number_of_requests_at_a_rate() {
    for kind in transports() {
        for arrival in [CONSTANT, POISSON] {
            for (threads, pipeline, keepalive) in [(1, 1, true), (3, 8, true), (3, 1, false)] {
                let server = Server::tcp(echo);
                let plan = plan(&server.target, hello(), 10, kind)
                    .due(arrival)
                    .threads(threads)
                    .pipeline(pipeline)
                    .keepalive(keepalive)
                    .ends_after(200);
                let seen = until_done(&plan);
                flawless(&plan, &seen);
                assert_eq!(server.count.bytes.load(Relaxed), 200 * HELLO.len() as u64);
            }
        }
    }
}

/// When the last request is out, nothing is due any more: the generator waits in sleep.
#[test]
fn the_last_answers_are_not_waited_for_without_sleep() {
    for kind in transports() {
        let server = Server::tcp(|it| {
            it.messages(6, |_, message| {
                sleep(Duration::from_millis(400));
                it.write(message)
            })
        });
        let plan = plan(&server.target, hello(), 4, kind)
            .due(CONSTANT)
            .ends_after(4);
        let seen = until_done(&plan);
        flawless(&plan, &seen);
        let spent = seen.generator.work_ns + seen.generator.spin_ns;
        assert!(
            spent < 200 * MS,
            "{spent} ns of CPU time to send four requests"
        );
    }
}

/// Answers of 100 ms at 400 per second need 40 connections.
fn slowly(most: u32, kind: prony_record::Transport) -> Ended {
    let server = Server::tcp(|it| {
        it.messages(6, |_, message| {
            sleep(Duration::from_millis(100));
            it.write(message)
        })
    });
    let mut plan = plan(&server.target, hello(), 4, kind).due(Arrival::Constant(400.0));
    plan.load.max_connections = Some(most);
    let control = Arc::new(Control::default());
    control.measure(1_500 * MS, 3_000 * MS);
    let seen = steered(&plan, &control);
    assert_eq!(seen.per_connection.len(), seen.pool.opened as usize);
    seen
}

// Slow: a load of 3 s with each transport, at once, the first half of it unmeasured.
#[test]
fn slow_answers_get_as_many_connections_as_the_rate_needs() {
    at_once(2, &transports(), |&kind| {
        let seen = slowly(1_000, kind);
        assert!(seen.pool.opened > 30, "{:?}", seen.pool);
        assert!(!seen.backlog.missed(), "{:?}", seen.backlog);
    });
}

// Slow: loads of 3 s, up to 5 with each transport, until it is told.
#[test]
fn too_few_connections_are_told_from_a_slow_server() {
    at_once(2, &transports(), |&kind| {
        // Where others have the CPUs, whether more connections helped may not be seen.
        let limits = (0..5).any(|_| {
            let seen = slowly(12, kind);
            assert_eq!((seen.pool.allowed, seen.pool.opened), (12, 12));
            assert!(seen.backlog.missed(), "{:?}", seen.backlog);
            seen.pool.limits()
        });
        assert!(limits, "in none of five loads");
    });
}

/// One that answers one request after the other has no use for more connections.
// Slow: loads of 1.5 s, up to 5 with each transport, until the pool has held.
#[test]
fn a_server_at_its_limit_is_not_given_ever_more_connections() {
    at_once(2, &transports(), |&kind| {
        let one = std::sync::Mutex::new(());
        let server = Server::tcp(move |it| {
            it.messages(6, |_, message| {
                let turn = one.lock();
                sleep(Duration::from_millis(5));
                drop(turn);
                it.write(message)
            })
        });
        let mut plan = plan(&server.target, hello(), 4, kind).due(Arrival::Constant(1_000.0));
        plan.load.max_connections = Some(1_000);
        // Where others have the CPUs at first, the server becomes faster by itself, as if connections had helped.
        let mut pools = Vec::new();
        let held = (0..5).any(|_| {
            let seen = during(&plan, 1_500 * MS);
            assert!(seen.backlog.missed(), "{:?}", seen.backlog);
            let held = seen.pool.opened < 200 && seen.pool.helped != Some(true);
            pools.push(seen.pool);
            held
        });
        assert!(held, "{pools:?}");
    });
}

/// An open loop sends what it owes, and says what it could not.
#[test]
fn what_could_not_be_sent_is_counted() {
    at_once(2, &transports(), |&kind| {
        let server = Server::tcp(Connection::swallow);
        let plan = plan(&server.target, hello(), 3, kind)
            .due(Arrival::Constant(2_000.0))
            .pipeline(2)
            .timeout(Duration::from_millis(600));
        let seen = during(&plan, 200 * MS);
        hold(&plan, &seen);
        assert_eq!(
            seen.outcomes.finished(),
            0,
            "nothing ended in the measurement"
        );
        assert_eq!(
            (seen.outcomes.in_flight_at_end, seen.outcomes.unsent_at_end),
            (6, 394)
        );
        assert_eq!(
            seen.times.response.len(),
            400,
            "each is a sample of what is known of it"
        );
        assert!(
            seen.times.response.min() >= 590 * MS,
            "{}",
            seen.times.response.min()
        );
    });
}

/// However much more is due than anybody could send: it is counted to the last request, kept in little
/// memory, and the load ends.
#[test]
fn what_is_far_too_much_is_counted_and_not_kept() {
    at_once(2, &transports(), |&kind| {
        for (threads, pipeline, keepalive) in [(1, 1, true), (2, 8, true), (2, 1, false)] {
            let server = Server::tcp(echo);
            let plan = plan(&server.target, hello(), 6, kind)
                .due(Arrival::Constant(1e9))
                .threads(threads)
                .pipeline(pipeline)
                .keepalive(keepalive)
                .timeout(Duration::from_millis(100));
            let seen = during_which_it_ran(&plan, 200 * MS);
            hold(&plan, &seen);
            let (what, all) = (short(&plan), &seen.outcomes);
            assert_eq!(accounted(all), 200_000_000, "{what}: {all:?}");
            assert_eq!(seen.times.response.len(), accounted(all), "{what}");
            assert!(all.unsent_at_end > 100_000_000, "{what}: {all:?}");
            let (least, most) = (seen.times.response.min(), seen.times.response.max());
            assert!(
                least < most && most >= 200 * MS,
                "{what}: {least} to {most}"
            );
        }
    });
}

#[test]
fn a_poisson_load_that_is_far_too_much() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let plan = plan(&server.target, hello(), 6, kind)
            .due(Arrival::Poisson { rate: 1e9, seed: 1 })
            .threads(2)
            .timeout(Duration::from_millis(100));
        let seen = during(&plan, 200 * MS);
        hold(&plan, &seen);
        let all = &seen.outcomes;
        // A standard deviation is 14,142.
        assert!(accounted(all).abs_diff(200_000_000) < 100_000, "{all:?}");
        assert_eq!(seen.times.response.len(), accounted(all));
    }
}

/// Requests whose number is known are all sent, however early they were due.
#[test]
fn a_number_of_requests_is_sent_however_fast_it_falls_due() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let plan = plan(&server.target, hello(), 6, kind)
            .due(Arrival::Constant(1e9))
            .ends_after(20_000);
        let seen = until_done(&plan);
        flawless(&plan, &seen);
    }
}

#[test]
fn a_stop_ends_a_load_that_is_far_too_much() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let plan = plan(&server.target, hello(), 6, kind)
            .due(Arrival::Constant(1e9))
            .threads(2);
        let control = Arc::new(Control::at_once(clock::SECOND * 3_600));
        let running = begin(&plan, &control);
        eventually("answers", || server.count.bytes.load(Relaxed) > 10_000);
        control.stop();
        let seen = running.end();
        hold(&plan, &seen);
        let all = &seen.outcomes;
        assert!(all.ok > 0, "{all:?}");
        let due = seen.seconds() * 1e9;
        // Each thread takes notice of the stop in its own turn.
        let off = (accounted(all) as f64 - due).abs() / due;
        assert!(off < 0.5, "{due} {all:?}");
    }
}
