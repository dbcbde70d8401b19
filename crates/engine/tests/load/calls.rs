//! A number of calls on each connection, and traces of single requests.

use crate::invariants::hold;
use crate::servers::{Server, answer, answer_and_close, echo};
use crate::support::{
    ARRIVALS, CLOSED, CONSTANT, MS, With, during_which_it_ran, hello, http, plan, transports,
    until_done,
};
use crate::words::{CLOSING, LENGTH, UNTIL_CLOSE};
use prony_engine::{Plan, Trace, TraceSample, clock};
use prony_record::Window;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Samples by connection, in the order in which they ended.
fn by_connection(trace: &[TraceSample]) -> BTreeMap<u64, Vec<TraceSample>> {
    let mut all: BTreeMap<u64, Vec<TraceSample>> = BTreeMap::new();
    for sample in trace {
        all.entry(sample.connection).or_default().push(*sample);
    }
    all
}

/// Checks the order of the times in a sample of an answered request.
fn in_order(sample: &TraceSample) {
    let it = sample;
    assert!(
        it.due <= it.sent && it.sent <= it.first_byte && it.first_byte <= it.done,
        "{it:?}"
    );
}

#[test]
fn each_connection_carries_its_calls_and_is_closed() {
    for kind in transports() {
        for arrival in ARRIVALS {
            for (threads, pipeline, calls) in [(1, 1, 4), (3, 1, 7), (1, 3, 6), (2, 4, 10)] {
                let server = Server::tcp(answer(LENGTH));
                let plan = plan(&server.target, http(), 5, kind)
                    .due(arrival)
                    .threads(threads)
                    .pipeline(pipeline)
                    .calls(calls)
                    .keepalive(false)
                    .trace()
                    .ends_after(30);
                let seen = until_done(&plan);
                hold(&plan, &seen);
                let all = 30 * u64::from(calls);
                assert_eq!(seen.outcomes.ok, all, "{kind} {arrival:?}");
                assert_eq!(seen.outcomes.finished(), all);
                assert_eq!((seen.connected, seen.detail.opening.begun), (30, 30));
                assert_eq!(server.count.connections.load(Relaxed), 30);
                assert_eq!(seen.body_bytes, 5 * all);
                assert!(
                    seen.detail.opening.at_once <= 5,
                    "{:?}",
                    seen.detail.opening
                );
                assert!((1..=5).contains(&seen.detail.opening.burst));
                assert_eq!(
                    seen.detail.first_head,
                    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
                );
                let connections = by_connection(&seen.detail.trace);
                assert_eq!(connections.len(), 30);
                for samples in connections.values() {
                    assert_eq!(samples.len(), calls as usize);
                    samples.iter().for_each(in_order);
                    assert!(samples[0].connect > 0);
                    assert!(samples[1..].iter().all(|sample| sample.connect == 0));
                    assert!(
                        samples
                            .iter()
                            .all(|s| (s.status, s.body, s.last) == (200, 5, false))
                    );
                }
            }
        }
    }
}

#[test]
fn a_trace_of_first_requests_has_one_for_each_connection() {
    for kind in transports() {
        let server = Server::tcp(answer(LENGTH));
        let all = plan(&server.target, http(), 4, kind)
            .pipeline(2)
            .calls(6)
            .keepalive(false)
            .ends_after(9)
            .trace();
        let mut firsts = all.clone();
        firsts.trace = Trace::FirstOnConnection;
        let (all, firsts) = (until_done(&all), until_done(&firsts));
        assert_eq!((all.detail.trace.len(), firsts.detail.trace.len()), (54, 9));
        let connections = by_connection(&firsts.detail.trace);
        assert_eq!(connections.len(), 9, "{kind}");
        for sample in &firsts.detail.trace {
            in_order(sample);
            assert!(sample.connect > 0);
        }
    }
}

#[test]
fn what_is_pipelined_goes_in_bursts() {
    let server = Server::tcp(echo);
    for kind in transports() {
        let plan = plan(&server.target, hello(), 1, kind)
            .pipeline(3)
            .calls(8)
            .keepalive(false)
            .trace()
            .ends_after(1);
        let seen = until_done(&plan);
        let sent: Vec<_> = seen.detail.trace.iter().map(|sample| sample.sent).collect();
        // Three, three, and the two that are left; each burst after the one before was answered.
        let bursts: Vec<_> = sent
            .chunk_by(|one, other| one == other)
            .map(<[_]>::len)
            .collect();
        assert_eq!(bursts, [3, 3, 2], "{kind}");
        assert!(seen.detail.trace[3].sent >= seen.detail.trace[2].done);
    }
}

#[test]
fn a_server_that_closes_ends_the_connection_and_not_the_others() {
    for kind in transports() {
        for arrival in ARRIVALS {
            for wire in [CLOSING, UNTIL_CLOSE] {
                let server = Server::tcp(answer_and_close(wire));
                let plan = plan(&server.target, http(), 3, kind)
                    .due(arrival)
                    .calls(5)
                    .keepalive(false)
                    .trace()
                    .ends_after(12);
                let seen = until_done(&plan);
                assert_eq!(
                    (seen.outcomes.ok, seen.connected),
                    (12, 12),
                    "{kind} {arrival:?}"
                );
                assert_eq!(seen.outcomes.failed(), 0, "{:?}", seen.errors);
                assert!(seen.detail.trace.iter().all(|sample| sample.last));
            }
        }
    }
}

#[test]
fn time_ends_a_connection_between_its_calls() {
    for kind in transports() {
        for arrival in [CLOSED, CONSTANT] {
            let server = Server::tcp(answer(LENGTH));
            let plan = plan(&server.target, http(), 2, kind)
                .due(arrival)
                .calls(u32::MAX)
                .keepalive(false);
            let seen = during_which_it_ran(&plan, 50 * MS);
            hold(&plan, &seen);
            assert_eq!(seen.detail.trace, [], "the plan did not ask for it");
        }
    }
}

#[test]
fn a_connection_made_before_the_load_has_its_time_in_its_first_sample() {
    for kind in transports() {
        let server = Server::tcp(answer(LENGTH));
        let plan = plan(&server.target, http(), 4, kind).trace().ends_after(40);
        let seen = until_done(&plan);
        assert_eq!(seen.detail.trace.len(), 40);
        let connections = by_connection(&seen.detail.trace);
        assert_eq!(connections.len(), 4);
        for samples in connections.values() {
            samples.iter().for_each(in_order);
            assert!(samples[0].connect > 0);
            assert!(samples[1..].iter().all(|sample| sample.connect == 0));
        }
    }
}

#[test]
fn a_time_out_is_a_sample_of_its_full_length() {
    let silent = Server::tcp(|it| {
        it.ignore();
        Ok(())
    });
    let full = Server::never_accepts();
    for kind in transports() {
        for server in [&silent, &full] {
            let plan = plan(&server.target, http(), 2, kind)
                .keepalive(false)
                .trace()
                .timeout(Duration::from_millis(60))
                .ends_after(4);
            let seen = until_done(&plan);
            assert_eq!(seen.outcomes.timeout, 4, "{:?}", seen.outcomes);
            assert_eq!(seen.detail.trace.len(), 4);
            for it in &seen.detail.trace {
                assert_eq!(it.status, 0);
                let waited = it.done - it.sent;
                let length = clock::nanos(plan.load.timeout.0);
                let connecting = it.connection == 0;
                assert_eq!(
                    if connecting { it.connect } else { waited },
                    length,
                    "{it:?}"
                );
            }
        }
    }
}

#[test]
fn calls_that_cannot_be_meant() {
    let server = Server::refused();
    let plan = plan(&server.target, http(), 1, transports()[0]);
    let invalid = |plan: Plan| {
        let control = prony_engine::Control::at_once(MS);
        prony_engine::run(&plan, &control, |_: &Window| {})
            .unwrap_err()
            .to_string()
    };
    for (calls, pipeline, keepalive, says) in [
        (0, 1, false, "calls must be at least 1"),
        (
            2,
            1,
            true,
            "calls must be at least 1, and 1 with keep-alive",
        ),
        (2, 3, false, "pipeline must be at most the requests"),
        (1, 2, false, "pipeline must be 1 without keep-alive"),
    ] {
        let plan = plan
            .clone()
            .calls(calls)
            .pipeline(pipeline)
            .keepalive(keepalive);
        assert!(
            invalid(plan).contains(says),
            "{calls} {pipeline} {keepalive}"
        );
    }
}
