//! When a load is measured, and when it ends.

use crate::invariants::{accounted, hold};
use crate::servers::{Connection, Server, answer_and_close, echo};
use crate::support::*;
use crate::words::CLOSING;
use prony_engine::{Arrival, Control, Nanos, run};
use prony_record::Window;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn a_load_lasts_as_long_as_it_should() {
    at_once(2, &transports(), |&kind| {
        for arrival in ARRIVALS {
            for (threads, pipeline) in [(1, 1), (3, 8)] {
                let server = Server::tcp(echo);
                let plan = plan(&server.target, hello(), 6, kind)
                    .due(arrival)
                    .threads(threads)
                    .pipeline(pipeline);
                let seen = during_which_it_ran(&plan, 200 * MS);
                hold(&plan, &seen);
                let all = &seen.outcomes;
                assert_eq!(seen.measured_ns, 200 * MS, "{}", short(&plan));
                assert_eq!(all.failed(), 0, "{all:?}");
                assert!(all.in_flight_at_end <= u64::from(6 * pipeline), "{all:?}");
                assert_eq!(seen.times.response.len(), accounted(all));
                assert_eq!(seen.measured_windows().count(), 2);
                let inside: u64 = seen.measured_windows().map(|w| w.verified_answers).sum();
                // A window ends with the turn of the loop in which its time is over; in an open loop with the
                // turn after that, when it is known what had come by then.
                let turns = if matches!(arrival, Arrival::Closed) {
                    1
                } else {
                    2
                };
                assert!(inside >= all.ok, "{inside} {}", all.ok);
                assert!(
                    inside - all.ok <= u64::from(turns * 6 * pipeline),
                    "{inside} {} {}",
                    all.ok,
                    short(&plan)
                );
                if matches!(arrival, Arrival::Closed) {
                    // A window says what it cost; what came after the end is in none.
                    assert!(
                        seen.measured_windows()
                            .any(|window| window.generator_cpu_ns.unwrap() > 0)
                    );
                    let work: Nanos = seen
                        .windows
                        .iter()
                        .filter_map(|window| window.generator_cpu_ns)
                        .sum();
                    assert!(
                        work >= seen.generator.work_ns,
                        "{work} {:?}",
                        seen.generator
                    );
                }
            }
        }
    });
}

#[test]
fn a_stop_keeps_what_was_measured() {
    at_once(2, &transports(), |&kind| {
        for arrival in ARRIVALS {
            for threads in [1, 3] {
                let server = Server::tcp(echo);
                let plan = plan(&server.target, hello(), 6, kind)
                    .due(arrival)
                    .threads(threads)
                    .timeout(HANGS * 10);
                let control = Arc::new(Control::at_once(Nanos::MAX));
                let running = begin(&plan, &control);
                // Each connection's second request follows an answer to its first.
                let first = 6 * HELLO.len() as u64;
                eventually("answers", || server.count.bytes.load(Relaxed) > first);
                sleep(Duration::from_millis(100));
                control.stop();
                let stopped = Instant::now();
                let seen = running.end();
                hold(&plan, &seen);
                assert!(stopped.elapsed() < HANGS);
                assert!(seen.measured_ns >= 50 * MS, "{}", seen.measured_ns);
                assert!(seen.outcomes.ok > 0 && seen.outcomes.failed() == 0);
                assert!(seen.outcomes.in_flight_at_end <= 6);
            }
        }
    });
}

#[test]
fn a_stop_does_not_wait_for_the_time_out() {
    for kind in transports() {
        for pipeline in [1, 8] {
            let server = Server::tcp(Connection::swallow);
            let plan = plan(&server.target, hello(), 6, kind)
                .pipeline(pipeline)
                .threads(3)
                .timeout(Duration::from_secs(60));
            let control = Arc::new(Control::at_once(Nanos::MAX));
            let running = begin(&plan, &control);
            let in_flight = u64::from(6 * pipeline);
            let all = in_flight * HELLO.len() as u64;
            eventually("all are sent", || server.count.bytes.load(Relaxed) == all);
            control.stop();
            let seen = running.end();
            hold(&plan, &seen);
            assert_eq!(seen.outcomes.finished(), 0);
            assert_eq!(seen.outcomes.in_flight_at_end, in_flight);
            assert_eq!(seen.times.response.len(), in_flight);
        }
    }
}

#[test]
fn a_stop_before_the_load_has_begun() {
    for kind in transports() {
        let server = Server::refused();
        let plan = plan(&server.target, hello(), 6, kind)
            .threads(2)
            .timeout(Duration::from_secs(60));
        // In the middle of the set-up, which waits for connections that do not come.
        let control = Arc::new(Control::at_once(Nanos::MAX));
        let running = begin(&plan, &control);
        sleep(Duration::from_millis(50));
        control.stop();
        let seen = running.end();
        assert_eq!((accounted(&seen.outcomes), seen.measured_ns), (0, 0));
        assert_eq!(control.started(), None);
        // Before anything.
        let seen = steered(&plan, &control);
        assert_eq!((accounted(&seen.outcomes), seen.measured_ns), (0, 0));
    }
}

#[test]
fn a_stop_while_warming_up_measures_nothing() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let plan = plan(&server.target, hello(), 6, kind).threads(2);
        let control = Arc::new(Control::default());
        let running = begin(&plan, &control);
        eventually("answers", || server.count.bytes.load(Relaxed) > 1_000);
        control.stop();
        let seen = running.end();
        hold(&plan, &seen);
        assert_eq!(seen.times.response.len(), 0);
        assert_eq!(seen.outcomes.finished(), 0);
        assert!(
            seen.windows
                .iter()
                .any(|window| window.verified_answers > 0)
        );
    }
}

#[test]
fn progress_tells_of_each_window_and_may_stop() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let plan = plan(&server.target, hello(), 6, kind)
            .threads(3)
            .window(Duration::from_millis(20));
        // Longer than any test: only the stop ends it.
        let control = Control::at_once(Nanos::MAX);
        let mut told = Vec::new();
        let ended = run(&plan, &control, |window: &Window| {
            told.push((window.index, window.verified_answers));
            if window.index == 5 {
                control.stop();
            }
        })
        .unwrap();
        let seen = Ended::from(ended);
        hold(&plan, &seen);
        let indices: Vec<u32> = told.iter().map(|told| told.0).collect();
        assert_eq!(indices, (0..indices.len() as u32).collect::<Vec<_>>());
        assert!(indices.len() > 5);
        for (index, ok) in told {
            assert_eq!(seen.windows[index as usize].verified_answers, ok);
        }
    }
}

#[test]
fn nothing_before_the_measured_part_is_in_the_histograms() {
    at_once(2, &transports(), |&kind| {
        for threads in [1, 3] {
            let server = Server::tcp(echo);
            let plan = plan(&server.target, hello(), 6, kind)
                .due(Arrival::Constant(1_000.0))
                .threads(threads);
            let control = Arc::new(Control::default());
            let running = begin(&plan, &control);
            eventually("it begins", || control.started().is_some());
            let from = control.elapsed().unwrap() + 250 * MS;
            let until = from + 200 * MS;
            control.measure(from, until);
            let seen = running.end();
            let start = control.started().unwrap();
            hold(&plan, &seen);
            assert_eq!(
                (seen.detail.from, seen.detail.until),
                (start + from, start + until)
            );
            let due = (0..2_000).map(|nth| nth * MS);
            let due = due.filter(|due| (from..until).contains(due)).count() as u64;
            assert_eq!(seen.times.response.len(), due);
            assert_eq!(seen.times.late.len(), due);
            assert_eq!(seen.windows[0].start_ns, 0);
            let all: u64 = seen
                .windows
                .iter()
                .map(|window| window.verified_answers)
                .sum();
            assert!(all > seen.outcomes.ok, "the warm-up's windows are kept");
            assert!(seen.measured_windows().all(|window| window.index > 0));
        }
    });
}

#[test]
fn what_is_measured_may_be_said_before_the_load() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let plan = plan(&server.target, hello(), 6, kind)
            .due(Arrival::Constant(1_000.0))
            .threads(3);
        let control = Arc::new(Control::default());
        let span = (200 * MS, 300 * MS);
        assert_eq!(control.measure(span.0, span.1), span);
        let seen = steered(&plan, &control);
        hold(&plan, &seen);
        assert_eq!((seen.began_ns, seen.measured_ns), (200 * MS, 100 * MS));
        assert_eq!(seen.times.response.len(), 100);
    }
}

#[test]
fn a_number_of_requests_counts_from_where_it_is_measured() {
    for kind in transports() {
        let server = Server::tcp(echo);
        let plan = plan(&server.target, hello(), 4, kind)
            .due(CONSTANT)
            .threads(2)
            .ends_after(100);
        let control = Arc::new(Control::default());
        let running = begin(&plan, &control);
        eventually("answers", || server.count.bytes.load(Relaxed) > 200);
        control.measure(control.elapsed().unwrap() + 100 * MS, Nanos::MAX);
        let seen = running.end();
        hold(&plan, &seen);
        assert_eq!(seen.times.response.len(), 100);
        // What was under way when the measurement began has ended in it.
        assert!(seen.outcomes.ok >= 100, "{:?}", seen.outcomes);
        assert!(seen.bytes_sent > 100 * HELLO.len() as u64);
    }
}

#[test]
fn reconnecting_goes_on_while_it_is_measured_and_not_longer() {
    for kind in transports() {
        for arrival in ARRIVALS {
            let server = Server::tcp(answer_and_close(CLOSING));
            let plan = plan(&server.target, http(), 4, kind)
                .due(arrival)
                .threads(2);
            let seen = during(&plan, 200 * MS);
            hold(&plan, &seen);
            let all = &seen.outcomes;
            assert!(all.ok > 4 && all.failed() == 0, "{all:?} {:?}", seen.errors);
            assert!(
                seen.connected > all.ok,
                "one for each, and the last ones for nothing"
            );
            assert!(
                seen.connected <= accounted(all) + 4,
                "{} {all:?}",
                seen.connected
            );
        }
    }
}

// Slow: waits for the time-out of 3 s of what is never answered.
#[test]
fn a_server_that_stops_answering_leaves_what_is_in_flight_unanswered() {
    const ANSWERED: u64 = 8;
    let length = Duration::from_secs(1);
    let endings =
        [false, true].map(|breaks| transports().into_iter().map(move |kind| (breaks, kind)));
    let endings: Vec<_> = endings.into_iter().flatten().collect();
    at_once(4, &endings, |&(breaks, kind)| {
        // It goes on without a word, or breaks its connections once the measurement is over.
        let server = Server::tcp(move |it| {
            it.messages(HELLO.len(), |nth, message| {
                if nth < ANSWERED {
                    return it.write(message);
                }
                if breaks {
                    sleep(length * 3 / 2);
                    it.reset();
                }
                Ok(())
            })
        });
        // Nothing is given up before the end.
        let plan = plan(&server.target, hello(), 4, kind).timeout(length * 3);
        let seen = during(&plan, prony_engine::clock::nanos(length));
        hold(&plan, &seen);
        let of = &seen.outcomes;
        assert_eq!((of.ok, of.failed()), (ANSWERED, 0), "{of:?}");
        assert_eq!(
            (of.in_flight_at_end, of.unanswered_at_end),
            (4, 4),
            "{of:?}"
        );
        assert!(of.stopped());
    });
}

#[test]
fn what_is_answered_after_the_end_is_not_unanswered() {
    for kind in transports() {
        let server = Server::tcp(|it| {
            it.messages(HELLO.len(), |_, message| {
                sleep(Duration::from_millis(300));
                it.write(message)
            })
        });
        let plan = plan(&server.target, hello(), 4, kind);
        let seen = during(&plan, 100 * MS);
        hold(&plan, &seen);
        let of = &seen.outcomes;
        assert_eq!((of.ok, of.failed()), (0, 0), "{of:?}");
        assert_eq!(
            (of.in_flight_at_end, of.unanswered_at_end),
            (4, 0),
            "{of:?}"
        );
    }
}
