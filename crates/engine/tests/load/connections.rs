//! Kinds and numbers of connections, and what well-behaved servers say on them.

use crate::invariants::{conserved, flawless};
use crate::servers::{Server, answer, answer_and_close, answer_and_end, echo};
use crate::support::*;
use crate::words::*;
use prony_engine::protocol::{Expect, HttpExchange, HttpRequest, Limits};
use prony_engine::{Dialogue, Plan};
use prony_record::load::Assignment;
use std::sync::atomic::Ordering::Relaxed;

fn shapes(server: &Server, dialogue: &Dialogue, requests: u64) -> Vec<Plan> {
    let mut all = Vec::new();
    for kind in transports() {
        for arrival in ARRIVALS {
            for threads in [1, 3] {
                for pipeline in [1, 8] {
                    all.push(
                        plan(&server.target, dialogue.clone(), 6, kind)
                            .due(arrival)
                            .threads(threads)
                            .pipeline(pipeline)
                            .ends_after(requests),
                    );
                }
            }
        }
    }
    all
}

// Slow: 72 loads of 100 requests, one after the other.
#[test]
fn every_address_family() {
    let all = [
        Some(Server::tcp(echo)),
        Server::tcp6(echo),
        Some(Server::unix(echo)),
    ];
    for server in all.into_iter().flatten() {
        for plan in shapes(&server, &hello(), 100) {
            flawless(&plan, &until_done(&plan));
        }
    }
}

// Slow: 96 loads of 60 requests, one after the other.
#[test]
fn every_framing() {
    for wire in [LENGTH, CHUNKED, INTERIM, OLD_KEEP] {
        let server = Server::tcp(answer(wire));
        for plan in shapes(&server, &http(), 60) {
            let seen = until_done(&plan);
            flawless(&plan, &seen);
            assert_eq!(seen.outcomes.status.class(2), 60);
        }
    }
}

#[test]
fn answers_that_end_with_the_connection() {
    for wire in [UNTIL_CLOSE, CLOSING, OLD] {
        let server = Server::tcp(answer_and_close(wire));
        for plan in shapes(&server, &http(), 60) {
            if plan.load.pipeline == 1 {
                let seen = until_done(&plan);
                conserved(&plan, &seen);
                let ok = seen.outcomes.ok;
                assert_eq!(ok, 60, "{} {:?}", short(&plan), seen.errors);
                assert!((60..=66).contains(&seen.connected), "{}", seen.connected);
            }
        }
    }
}

#[test]
fn what_was_pipelined_behind_the_last_answer_is_lost_and_counted() {
    let server = Server::tcp(answer_and_end(CLOSING));
    for plan in shapes(&server, &http(), 64) {
        if plan.load.pipeline == 8 {
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            assert!(
                seen.outcomes.ok >= 8,
                "{} {:?}",
                short(&plan),
                seen.outcomes
            );
            let all = &seen.outcomes;
            assert_eq!(all.read_error + all.write_error + all.ok, 64, "{all:?}");
        }
    }
}

#[test]
fn bodiless_answers() {
    let head = HttpRequest {
        method: "HEAD".into(),
        ..HttpRequest::get("h", "/")
    };
    let all = [
        (
            HttpRequest::get("h", "/"),
            &b"HTTP/1.1 204 No Content\r\n\r\n"[..],
        ),
        (head, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
    ];
    for (request, wire) in all {
        let server = Server::tcp(answer(wire));
        for plan in shapes(&server, &Dialogue::http(&request, Expect::default()), 60) {
            flawless(&plan, &until_done(&plan));
        }
    }
}

#[test]
fn several_requests_in_turn_are_judged_each_by_its_own_expectation() {
    let exchange = |path: &str| HttpExchange::new(&HttpRequest::get("h", path), Expect::body(path));
    let dialogue = Dialogue::Http {
        exchanges: vec![exchange("/a"), exchange("/bb"), exchange("/ccc")],
        limits: Limits::default(),
    };
    let server = Server::tcp(|it| {
        it.requests(|_, head| {
            let path = head.split(' ').nth(1).unwrap();
            let length = path.len();
            it.write(
                format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{path}").as_bytes(),
            )
        })
    });
    for plan in shapes(&server, &dialogue, 60) {
        flawless(&plan, &until_done(&plan));
    }
}

// Slow: 48 loads of 100 connections, one after the other.
#[test]
fn a_connection_for_each_request() {
    let close = Dialogue::http(
        &HttpRequest {
            keepalive: false,
            ..HttpRequest::get("h", "/")
        },
        Expect::body("hello"),
    );
    for kind in transports() {
        for arrival in ARRIVALS {
            for threads in [1, 3] {
                let web = Server::tcp(answer_and_close(UNTIL_CLOSE));
                for (server, dialogue) in [
                    (Server::tcp(echo), hello()),
                    (Server::unix(echo), hello()),
                    (Server::tcp(answer(LENGTH)), http()),
                    (web, close.clone()),
                ] {
                    let plan = plan(&server.target, dialogue, 6, kind)
                        .due(arrival)
                        .threads(threads)
                        .keepalive(false)
                        .ends_after(100);
                    let seen = until_done(&plan);
                    flawless(&plan, &seen);
                    assert_eq!(seen.connected, 100);
                    assert_eq!(seen.times.connect.len(), 100);
                    assert_eq!(server.count.connections.load(Relaxed), 100);
                }
            }
        }
    }
}

#[test]
fn fewer_requests_than_connections_or_threads() {
    for kind in transports() {
        for arrival in ARRIVALS {
            for keepalive in [true, false] {
                let server = Server::tcp(echo);
                let plan = plan(&server.target, hello(), 9, kind)
                    .due(arrival)
                    .keepalive(keepalive)
                    .threads(3)
                    .ends_after(2);
                flawless(&plan, &until_done(&plan));
            }
        }
    }
}

// Slow: 6 loads over 2,000 connections, each of which the server has a thread for.
#[test]
fn two_thousand_connections_at_once() {
    // On both sides.
    prony_engine::descriptors::reserve(2 * 2_000).unwrap();
    for kind in transports() {
        let constant = prony_engine::Arrival::Constant(20_000.0);
        for (arrival, assignment) in [
            (CLOSED, Assignment::Any),
            (constant, Assignment::Any),
            (constant, Assignment::RoundRobin),
        ] {
            let server = Server::tcp(echo);
            let mut plan = plan(&server.target, hello(), 2_000, kind)
                .due(arrival)
                .threads(2)
                .ends_after(6_000);
            plan.load.assignment = assignment;
            let seen = until_done(&plan);
            flawless(&plan, &seen);
            assert_eq!(server.count.connections.load(Relaxed), 2_000);
            let all = |fits: fn(u64) -> bool| seen.per_connection.iter().all(|&n| fits(n));
            match (arrival == CLOSED, assignment) {
                (true, _) => {}
                (false, Assignment::RoundRobin) => assert!(all(|answers| answers == 3)),
                // The one that has been free for the longest is next.
                (false, Assignment::Any) => assert!(all(|answers| answers > 0)),
            }
        }
    }
}

/// Connections end after so many requests or so long, and nothing is lost by it; the first ones end one after the other.
#[test]
fn connections_have_a_life() {
    let server = Server::tcp(answer(LENGTH));
    for kind in transports() {
        for arrival in [CLOSED, CONSTANT] {
            let plan = |requests, connections| {
                plan(&server.target, http(), connections, kind)
                    .due(arrival)
                    .ends_after(requests)
            };
            let many = plan(200, 4).with(|plan| plan.load.requests_per_connection = Some(10));
            let seen = until_done(&many);
            conserved(&many, &seen);
            assert_eq!(
                seen.outcomes.ok, 200,
                "{:?} {:?}",
                seen.outcomes, seen.errors
            );
            // In an open loop a free connection may not be needed again.
            assert!(seen.connected >= 20, "{}", seen.connected);
            let millisecond = prony_record::Span(std::time::Duration::from_millis(1));
            let brief = plan(2_000, 4).with(|plan| {
                plan.load.connection_lifetime = Some(millisecond);
                plan.load.rate = plan.load.rate.map(|_| 2_000.0);
            });
            let seen = until_done(&brief);
            conserved(&brief, &seen);
            assert_eq!(
                seen.outcomes.ok, 2_000,
                "{:?} {:?}",
                seen.outcomes, seen.errors
            );
            assert!(seen.connected > 20, "{}", seen.connected);
        }
    }
}
