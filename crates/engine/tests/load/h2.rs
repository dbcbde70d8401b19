//! Loads over HTTP/2: what a server may do, and every kind of bad one.

use crate::h2_server::*;
use crate::invariants::{conserved, flawless};
use crate::servers::Server;
use crate::support::*;
use prony_engine::protocol::h2::{H2ProbeError, StreamedExchange, WINDOW, probe};
use prony_engine::protocol::{Expect, HttpRequest, Limits};
use prony_engine::{Dialogue, Plan, StreamedRequests};
use prony_record::Outcomes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Requests of each load.
const N: u64 = 24;

fn dialogue(request: &HttpRequest, window: u32) -> Dialogue {
    let expect = Expect::body("hello").with_status(200);
    Dialogue::H2(Box::new(StreamedRequests {
        exchanges: vec![StreamedExchange::new(request, false, expect).unwrap()],
        limits: Limits::default(),
        window,
    }))
}

fn get() -> Dialogue {
    dialogue(&HttpRequest::get("h", "/"), WINDOW)
}

/// Both transports, closed and open loop, one stream and several.
fn plans(server: &Server, dialogue: &Dialogue) -> Vec<Plan> {
    let mut all = Vec::new();
    for kind in transports() {
        for arrival in [CLOSED, CONSTANT] {
            for streams in [1, 5] {
                let plan = plan(&server.target, dialogue.clone(), 2, kind);
                all.push(plan.due(arrival).pipeline(streams).ends_after(N));
            }
        }
    }
    all
}

type Said = fn(u32) -> Vec<u8>;

fn serves(greeting: Vec<u8>, said: Said) -> Server {
    Server::tcp(move |it| requests(it, &greeting, said))
}

// Slow: 17 servers x 8 loads, one after the other.
#[test]
fn what_a_server_may_do_changes_nothing() {
    let cases: [(&str, Vec<u8>, Said); 17] = [
        ("answers", greeting(), right),
        ("no content-length", greeting(), |s| {
            answer(s, OK_ALONE, b"hello")
        }),
        ("a body in pieces", greeting(), |s| {
            let head = frame(HEADERS, WHOLE, s, OK);
            let pieces = [frame(DATA, 0, s, b"he"), frame(DATA, 0, s, b"llo")].concat();
            [head, pieces, frame(DATA, END, s, b"")].concat()
        }),
        ("padding", greeting(), |s| {
            let head = [&[3], OK, &[0; 3]].concat();
            let body = [&[200], &b"hello"[..], &[0; 200]].concat();
            let head = frame(HEADERS, WHOLE | PADDED, s, &head);
            [head, frame(DATA, END | PADDED, s, &body)].concat()
        }),
        ("a priority in HEADERS", greeting(), |s| {
            let head = frame(HEADERS, WHOLE | 0x20, s, &[&[0, 0, 0, 0, 16], OK].concat());
            [head, frame(DATA, END, s, b"hello")].concat()
        }),
        ("CONTINUATION", greeting(), |s| {
            let head = [
                frame(HEADERS, 0, s, &OK[..2]),
                frame(CONTINUATION, 0, s, b""),
            ]
            .concat();
            let rest = frame(CONTINUATION, WHOLE, s, &OK[2..]);
            [head, rest, frame(DATA, END, s, b"hello")].concat()
        }),
        ("trailers", greeting(), |s| {
            let head = frame(HEADERS, WHOLE, s, OK);
            let trailers = frame(HEADERS, WHOLE | END, s, b"\0\x01x\x01y");
            [head, frame(DATA, 0, s, b"hello"), trailers].concat()
        }),
        ("an interim answer", greeting(), |s| {
            [frame(HEADERS, WHOLE, s, b"\x08\x03100"), right(s)].concat()
        }),
        ("a ping", greeting(), |s| {
            [frame(PING, 0, 0, b"12345678"), right(s)].concat()
        }),
        ("settings again", greeting(), |s| {
            let all = [
                setting(3, 7),
                setting(4, 100),
                setting(5, 20_000),
                setting(99, 1),
            ]
            .concat();
            [frame(SETTINGS, 0, 0, &all), right(s)].concat()
        }),
        (
            "no table for fields",
            frame(SETTINGS, 0, 0, &setting(1, 0)),
            right,
        ),
        (
            "one stream at a time",
            frame(SETTINGS, 0, 0, &setting(3, 1)),
            right,
        ),
        ("an unknown frame", greeting(), |s| {
            [frame(77, 255, s, b"x"), right(s)].concat()
        }),
        ("a priority", greeting(), |s| {
            [frame(PRIORITY, 0, s, &[0; 5]), right(s)].concat()
        }),
        ("more room", greeting(), |s| {
            let more = 1_u32.to_be_bytes();
            let both = [
                frame(WINDOW_UPDATE, 0, 0, &more),
                frame(WINDOW_UPDATE, 0, s, &more),
            ];
            [both.concat(), right(s), frame(WINDOW_UPDATE, 0, s, &more)].concat()
        }),
        ("a reset after the end", greeting(), |s| {
            [right(s), frame(RST_STREAM, 0, s, &[0; 4])].concat()
        }),
        ("fields in the dynamic table", greeting(), |s| {
            // The first answer of a connection adds a field, the others refer to it.
            let block: &[u8] = if s == 1 {
                b"\x88\x40\x01x\x01y"
            } else {
                b"\x88\xbe"
            };
            answer(s, block, b"hello")
        }),
    ];
    for (what, greeting, said) in cases {
        let server = serves(greeting, said);
        for plan in plans(&server, &get()) {
            println!("{what}: {}", short(&plan));
            flawless(&plan, &until_done(&plan));
        }
    }
}

/// Expected outcome of every request.
#[derive(Debug, Clone, Copy)]
enum Class {
    /// Every one is answered wrongly: the connection goes on.
    Wrong(&'static str),
    /// The connection breaks: wrong answers, and read errors of the others in flight on it.
    Broken(&'static str),
}

fn data(stream: u32, body: &[u8]) -> Vec<u8> {
    frame(DATA, END, stream, body)
}

// Slow: 48 servers x 8 loads, 4 at once; each broken connection is made again after 20 ms.
#[test]
#[rustfmt::skip]
fn what_breaks_the_protocol_is_told() {
    use Class::{Broken, Wrong};
    let cases: [(&str, Said, Class); 48] = [
        ("another status", |s| answer(s, b"\x8d\x0f\x0d\x015", b"hello"), Wrong("status 404")),
        ("another body", |s| answer(s, OK, b"hallo"), Wrong("another body")),
        ("a shorter body", |s| answer(s, OK_ALONE, b"hell"), Wrong("a body of 4 bytes")),
        ("shorter than content-length", |s| answer(s, OK, b"hell"), Wrong("shorter than content-length")),
        ("longer than content-length", |s| answer(s, OK, b"hello!"), Wrong("longer than content-length")),
        ("no body", |s| frame(HEADERS, WHOLE | END, s, OK), Wrong("shorter than content-length")),
        ("a stream reset", |s| frame(RST_STREAM, 0, s, &2_u32.to_be_bytes()), Wrong("INTERNAL_ERROR")),
        ("a reset in the body", |s| [frame(HEADERS, WHOLE, s, OK), frame(RST_STREAM, 0, s, &2_u32.to_be_bytes())].concat(), Wrong("INTERNAL_ERROR")),
        ("no :status", |s| answer(s, b"\0\x01x\x01y", b"hello"), Wrong("without :status")),
        ("an empty header section", |s| answer(s, b"", b"hello"), Wrong("without :status")),
        (":status twice", |s| answer(s, b"\x88\x88", b"hello"), Wrong(":status twice")),
        (":status after a field", |s| answer(s, b"\0\x01x\x01y\x88", b"hello"), Wrong(":status after")),
        (":status of letters", |s| answer(s, b"\x08\x03abc", b"hello"), Wrong("three-digit")),
        (":status of four digits", |s| answer(s, b"\x08\x042000", b"hello"), Wrong("three-digit")),
        ("a request's pseudo-header", |s| answer(s, b"\x88\x84", b"hello"), Wrong("pseudo-header")),
        ("capital letters", |s| answer(s, b"\x88\0\x01X\x01y", b"hello"), Wrong("capital")),
        ("a space in a name", |s| answer(s, b"\x88\0\x03a b\x01y", b"hello"), Wrong("name")),
        ("an empty name", |s| answer(s, b"\x88\0\0\x01y", b"hello"), Wrong("name")),
        ("a line end in a value", |s| answer(s, b"\x88\0\x01x\x02\r\n", b"hello"), Wrong("value")),
        ("connection", |s| answer(s, b"\x88\0\x0aconnection\x05close", b"hello"), Wrong("HTTP/1.1")),
        ("transfer-encoding", |s| answer(s, b"\x88\x0f\x2a\x07chunked", b"hello"), Wrong("HTTP/1.1")),
        ("content-length twice", |s| answer(s, b"\x88\x0f\x0d\x015\x0f\x0d\x016", b"hello"), Wrong("two different")),
        ("content-length of letters", |s| answer(s, b"\x88\x0f\x0d\x01a", b"hello"), Wrong("not a number")),
        ("DATA first", |s| [data(s, b"hello"), vec![]].concat(), Wrong("data before the header section")),
        ("an interim answer that ends", |s| frame(HEADERS, WHOLE | END, s, b"\x08\x03100"), Wrong("interim")),
        ("101", |s| answer(s, b"\x08\x03101", b"hello"), Wrong("switched protocols")),
        (":status in trailers", |s| [frame(HEADERS, WHOLE, s, OK), frame(DATA, 0, s, b"hello"), frame(HEADERS, WHOLE | END, s, b"\x88")].concat(), Wrong("in the trailers")),
        ("trailers without an end", |s| [frame(HEADERS, WHOLE, s, OK), frame(HEADERS, WHOLE, s, b"\0\x01x\x01y")].concat(), Wrong("trailers that do not end")),
        ("a stream's window that grows by nothing", |s| frame(WINDOW_UPDATE, 0, s, &[0; 4]), Wrong("grows by nothing")),
        ("a stream's window too large", |s| frame(WINDOW_UPDATE, 0, s, &[0x7f, 255, 255, 255]), Wrong("a window of more")),
        ("the connection's window too large", |_| frame(WINDOW_UPDATE, 0, 0, &[0x7f, 255, 255, 255]), Broken("a window of more")),
        ("the connection's window grows by nothing", |_| frame(WINDOW_UPDATE, 0, 0, &[0; 4]), Broken("grows by nothing")),
        ("an initial window too large", |_| frame(SETTINGS, 0, 0, &setting(4, 1 << 31)), Broken("a window of more")),
        ("a frame size too small", |_| frame(SETTINGS, 0, 0, &setting(5, 16_383)), Broken("frame size")),
        ("push allowed", |_| frame(SETTINGS, 0, 0, &setting(2, 1)), Broken("allows push")),
        ("a push", |s| frame(PUSH_PROMISE, WHOLE, s, &[0, 0, 0, 2, 0x82]), Broken("pushes")),
        ("settings of a wrong size", |_| frame(SETTINGS, 0, 0, &[0; 5]), Broken("wrong size")),
        ("a ping of a wrong size", |_| frame(PING, 0, 0, &[0; 7]), Broken("wrong size")),
        ("a reset of a wrong size", |s| frame(RST_STREAM, 0, s, &[0; 5]), Broken("wrong size")),
        ("GOAWAY of a wrong size", |_| frame(GOAWAY, 0, 0, &[0; 7]), Broken("wrong size")),
        ("settings on a stream", |s| frame(SETTINGS, 0, s, &[]), Broken("wrong stream")),
        ("an even stream", |_| frame(HEADERS, WHOLE, 2, OK), Broken("wrong stream")),
        ("a stream not opened", |s| right(s + 2_000), Broken("wrong stream")),
        ("DATA on no stream", |_| data(0, b"hello"), Broken("wrong stream")),
        ("a frame too long", |s| frame(DATA, 0, s, &[0; 16_385]), Broken("a frame is longer")),
        ("padding too long", |s| frame(HEADERS, WHOLE | PADDED, s, &[9, 0x88]), Broken("padding")),
        ("a frame within a header block", |s| [frame(HEADERS, 0, s, OK), frame(PING, 0, 0, &[0; 8])].concat(), Broken("within a header block")),
        ("invalid HPACK", |s| answer(s, b"\xff\xff\xff\xff\xff\xff", b"hello"), Broken("integer")),
    ];
    at_once(4, &cases, |&(what, said, class)| {
        let server = serves(greeting(), said);
        for plan in plans(&server, &get()) {
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            let Outcomes { ok, wrong_answer, read_error, .. } = seen.outcomes;
            let told = seen.wrong_answers.join("; ");
            let about = format!("{what}: {} {:?} {told} {:?}", short(&plan), seen.outcomes, seen.errors);
            assert_eq!(ok, 0, "{about}");
            let text = match class {
                Wrong(text) => {
                    assert_eq!(wrong_answer, N, "{about}");
                    text
                }
                Broken(text) => {
                    assert!(wrong_answer > 0, "{about}");
                    assert_eq!(wrong_answer + read_error, N, "{about}");
                    text
                }
            };
            assert!(told.contains(text), "{about}");
        }
    });
}

/// After a right answer, what comes for its stream or in a flood breaks the connection.
#[test]
fn floods_and_what_comes_too_late_break_the_connection() {
    let cases: [(&str, Said); 8] = [
        ("data after the end", |s| {
            [right(s), data(s, b"more")].concat()
        }),
        ("a section after the end", |s| {
            [right(s), frame(HEADERS, WHOLE, s, OK)].concat()
        }),
        ("pings", |_| frame(PING, 0, 0, &[0; 8]).repeat(10_001)),
        ("settings", |_| frame(SETTINGS, 0, 0, &[]).repeat(10_001)),
        ("empty data", |s| {
            [
                frame(HEADERS, WHOLE, s, OK),
                frame(DATA, 0, s, b"").repeat(10_001),
            ]
            .concat()
        }),
        ("interim answers", |s| {
            frame(HEADERS, WHOLE, s, b"\x08\x03100").repeat(10_001)
        }),
        ("CONTINUATION", |s| {
            [
                frame(HEADERS, 0, s, b""),
                frame(CONTINUATION, 0, s, b"").repeat(200),
            ]
            .concat()
        }),
        ("an HPACK bomb", |s| {
            let mut block = b"\x88\x40\x01x\x7f\x81\x1e".to_vec();
            block.extend([b'a'; 3968]);
            block.extend([0xbe; 8000]);
            answer(s, &block, b"hello")
        }),
    ];
    at_once(4, &cases, |&(what, said)| {
        let server = serves(greeting(), said);
        let plan = plan(&server.target, get(), 2, transports()[0]).ends_after(N);
        let seen = until_done(&plan);
        conserved(&plan, &seen);
        let Outcomes {
            ok,
            wrong_answer,
            read_error,
            unsolicited,
            ..
        } = seen.outcomes;
        assert_eq!(
            ok + wrong_answer + read_error,
            N,
            "{what}: {:?}",
            seen.outcomes
        );
        let broke = wrong_answer + read_error + unsolicited > 0 || seen.connected > 2;
        assert!(broke, "{what}: {:?} {}", seen.outcomes, seen.connected);
    });
}

#[test]
fn a_time_out_is_a_stream_s() {
    // Every third request is not answered; the connections stay.
    let server = serves(greeting(), |s| match s / 2 % 3 {
        0 => Vec::new(),
        _ => right(s),
    });
    let plan = plan(&server.target, get(), 2, transports()[0])
        .pipeline(4)
        .timeout(Duration::from_millis(100))
        .ends_after(N);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert!(seen.outcomes.timeout > 0 && seen.outcomes.ok + seen.outcomes.timeout == N);
    assert_eq!(seen.connected, 2, "{:?}", seen.errors);
}

#[test]
fn a_connection_is_replaced_after_goaway() {
    // The tenth stream is the last that is answered.
    let server = serves(greeting(), |s| match s {
        ..19 => right(s),
        19 => {
            let last = [&19_u32.to_be_bytes()[..], &[0; 4]].concat();
            [frame(GOAWAY, 0, 0, &last), right(s)].concat()
        }
        _ => Vec::new(),
    });
    let plan = plan(&server.target, get(), 1, transports()[0]).ends_after(50);
    let seen = until_done(&plan);
    assert_eq!(
        seen.outcomes.ok, 50,
        "{:?} {:?}",
        seen.outcomes, seen.errors
    );
    assert!(seen.connected >= 5);
}

/// Loads a server that leaves out requests, in a closed and an open loop: all 200 are answered, some of them at the second
/// attempt.
fn loses_none(server: &Server, check: impl Fn(&Ended)) {
    for arrival in [CLOSED, CONSTANT] {
        for kind in transports() {
            let plan = plan(&server.target, get(), 2, kind)
                .pipeline(4)
                .ends_after(200)
                .due(arrival);
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            assert_eq!(
                seen.outcomes.ok, 200,
                "{:?} {:?} {:?}",
                seen.outcomes, seen.errors, seen.wrong_answers
            );
            assert_eq!(seen.times.response.len(), 200);
            check(&seen);
        }
    }
}

/// A server that ends each connection after some answers, as nginx does after a thousand, loses no request.
#[test]
fn requests_that_goaway_leaves_out_are_sent_again() {
    let server = serves(greeting(), |s| match s {
        ..=9 => right(s),
        // The following have come, and are not answered on this connection.
        11 => frame(GOAWAY, 0, 0, &[&9_u32.to_be_bytes()[..], &[0; 4]].concat()),
        _ => Vec::new(),
    });
    loses_none(&server, |seen| {
        // Five answers on each.
        assert!(seen.connected >= 40, "{}", seen.connected);
        assert!(seen.sent_again > 0);
    });
}

/// A server that refuses every second request at first, as some do beyond a limit that they do not state, loses none.
#[test]
fn refused_requests_are_sent_again() {
    fn refused(s: u32) -> Vec<u8> {
        frame(RST_STREAM, 0, s, &7_u32.to_be_bytes())
    }
    let server = serves(greeting(), |s| match s % 4 {
        1 => right(s),
        _ => refused(s),
    });
    loses_none(&server, |seen| {
        assert_eq!(seen.connected, 2, "{:?}", seen.errors);
        assert!(seen.sent_again >= 100, "{}", seen.sent_again);
    });
    // One that refuses everything gets the same request a limited number of times.
    let server = serves(greeting(), refused);
    let plan = plan(&server.target, get(), 1, transports()[0]).ends_after(2);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert_eq!(seen.outcomes.wrong_answer, 2, "{:?}", seen.errors);
    let told = seen.wrong_answers.join("; ");
    assert!(
        told.contains("REFUSED_STREAM"),
        "{told} {:?}",
        seen.outcomes
    );
}

#[test]
fn a_server_that_allows_no_stream_is_told_from_one_that_hangs() {
    let none = frame(SETTINGS, 0, 0, &setting(3, 0));
    let server = serves(none, right);
    let plan = plan(&server.target, get(), 1, transports()[0]);
    let seen = during(&plan, 200_000_000);
    assert_eq!((seen.outcomes.ok, seen.streams_allowed), (0, Some(0)));
}

#[test]
fn requests_that_goaway_leaves_out_are_told() {
    let server = serves(greeting(), |s| match s {
        7 => frame(GOAWAY, 0, 0, &[&1_u32.to_be_bytes()[..], &[0; 4]].concat()),
        _ => Vec::new(),
    });
    let plan = plan(&server.target, get(), 1, transports()[0])
        .pipeline(4)
        .timeout(Duration::from_millis(200))
        .ends_after(N);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    let told = seen.wrong_answers.join("; ");
    assert!(told.contains("GOAWAY"), "{told} {:?}", seen.outcomes);
}

/// The body arrives whole although the server takes it byte by byte, and over an answer's window of one byte too.
#[test]
fn bodies_obey_the_windows_of_both_sides() {
    let bodies = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&bodies);
    let server = Server::tcp(move |it| {
        let greeting = frame(SETTINGS, 0, 0, &setting(4, 1));
        let (mut body, mut owed, mut room) = (Vec::new(), 0, 1_i64);
        serve(it, &greeting, |got| match got.kind {
            DATA => {
                assert_eq!(got.payload.len(), 1, "more than the window");
                body.extend_from_slice(&got.payload);
                if got.flags & END == 0 {
                    let one = 1_u32.to_be_bytes();
                    return [
                        frame(WINDOW_UPDATE, 0, got.stream, &one),
                        frame(WINDOW_UPDATE, 0, 0, &one),
                    ]
                    .concat();
                }
                assert_eq!(std::mem::take(&mut body), b"a body of some bytes");
                count.fetch_add(1, Relaxed);
                // The answer's body goes out byte by byte as well.
                (owed, room) = (4, room - 1);
                [
                    frame(HEADERS, WHOLE, got.stream, OK),
                    frame(DATA, 0, got.stream, b"h"),
                ]
                .concat()
            }
            WINDOW_UPDATE if got.stream != 0 && owed > 0 => {
                room += 1;
                let next = b"hello"[5 - owed];
                owed -= 1;
                frame(DATA, u8::from(owed == 0), got.stream, &[next])
            }
            _ => Vec::new(),
        })
    });
    let request = HttpRequest {
        method: "POST".into(),
        body: b"a body of some bytes".to_vec(),
        ..HttpRequest::get("h", "/")
    };
    let plan = plan(&server.target, dialogue(&request, 1), 2, transports()[0]).ends_after(N);
    flawless(&plan, &until_done(&plan));
    assert_eq!(bodies.load(Relaxed) as u64, N);
}

#[test]
fn a_window_that_never_opens_is_a_time_out() {
    let server = serves(frame(SETTINGS, 0, 0, &setting(4, 0)), |_| Vec::new());
    let request = HttpRequest {
        method: "POST".into(),
        body: vec![b'x'; 100],
        ..HttpRequest::get("h", "/")
    };
    let plan = plan(
        &server.target,
        dialogue(&request, WINDOW),
        2,
        transports()[0],
    )
    .pipeline(3)
    .timeout(Duration::from_millis(50))
    .ends_after(N);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert_eq!(seen.outcomes.timeout, N);
}

#[test]
fn what_cannot_work_is_said_before_a_load() {
    let patience = Duration::from_secs(30);
    let good = serves(greeting(), right);
    assert!(probe(&good.target, patience).is_ok());
    let http1 = Server::tcp(crate::servers::answer_and_end(
        b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    ));
    assert!(matches!(
        probe(&http1.target, patience),
        Err(H2ProbeError::Http1)
    ));
    let other = Server::tcp(crate::servers::answer_and_end(b"SSH-2.0-OpenSSH_9.2p1\r\n"));
    assert!(matches!(
        probe(&other.target, patience),
        Err(H2ProbeError::Other)
    ));
    let silent = Server::tcp(crate::servers::Connection::swallow);
    let result = probe(&silent.target, Duration::from_millis(100));
    assert!(matches!(result, Err(H2ProbeError::Silent(_))), "{result:?}");
}

/// An answer in two pieces, the first of which uses up a window of its length.
#[test]
fn windows_that_are_used_up_are_counted() {
    let server = serves(greeting(), |s| {
        let head = frame(HEADERS, WHOLE, s, OK);
        let first = frame(DATA, 0, s, b"hel");
        [head, first, frame(DATA, END, s, b"lo")].concat()
    });
    for (window, counted) in [(WINDOW, false), (4, false), (3, true)] {
        for plan in plans(&server, &dialogue(&HttpRequest::get("h", "/"), window)) {
            let seen = until_done(&plan);
            flawless(&plan, &seen);
            let expected = if counted { N } else { 0 };
            // Requests that were sent before the measurement count too.
            assert!(seen.stalled >= expected, "{} {window}", seen.stalled);
            assert_eq!(seen.stalled > 0, counted, "{} {window}", seen.stalled);
        }
    }
}
