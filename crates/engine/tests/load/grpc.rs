//! Loads over gRPC: what a server may do, and every kind of bad one.

use crate::h2_server::*;
use crate::invariants::{conserved, flawless};
use crate::servers::Server;
use crate::support::*;
use prony_engine::protocol::grpc::{Call, GrpcExpect, GrpcStatus, framed};
use prony_engine::protocol::h2::WINDOW;
use prony_engine::protocol::{Expect, Limits};
use prony_engine::{Dialogue, Plan, StreamedRequests};
use prony_record::Outcomes;

/// Calls of each load.
const N: u64 = 24;

fn dialogue(expect: GrpcExpect) -> Dialogue {
    let call = Call {
        path: "/test.Greeter/Greet".into(),
        metadata: vec![("x-token".into(), "abc".into())],
        messages: vec![b"\x0a\x05world".to_vec()],
    };
    Dialogue::Grpc(Box::new(StreamedRequests {
        exchanges: vec![call.exchange("h:1", false, expect).unwrap()],
        limits: Limits {
            body: 1 << 20,
            ..Limits::default()
        },
        window: WINDOW,
    }))
}

fn unary() -> Dialogue {
    dialogue(GrpcExpect {
        content: Expect::body("hello"),
        ..GrpcExpect::default()
    })
}

/// Header fields as a block that has no effect on the table.
fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            block.push(text.len() as u8);
            block.extend_from_slice(text.as_bytes());
        }
    }
    block
}

const TYPE: (&str, &str) = ("content-type", "application/grpc");

fn head(stream: u32) -> Vec<u8> {
    let fields = block(&[(":status", "200"), TYPE]);
    frame(HEADERS, WHOLE, stream, &fields)
}

fn trailers(stream: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    frame(HEADERS, WHOLE | END, stream, &block(fields))
}

fn ok(stream: u32) -> Vec<u8> {
    trailers(stream, &[("grpc-status", "0")])
}

/// An answer with this body and the status OK.
fn said(stream: u32, body: &[u8]) -> Vec<u8> {
    [head(stream), frame(DATA, 0, stream, body), ok(stream)].concat()
}

fn message(stream: u32) -> Vec<u8> {
    said(stream, &framed(b"hello"))
}

type Said = fn(u32) -> Vec<u8>;

/// Says it when a call has come whole.
fn serves(answer: Said) -> Server {
    Server::tcp(move |it| {
        serve(it, &greeting(), |got| match got.kind {
            HEADERS => {
                assert_eq!(got.flags & END, 0, "a call has a message");
                Vec::new()
            }
            DATA if got.flags & END != 0 => {
                assert_eq!(got.payload, framed(b"\x0a\x05world"));
                answer(got.stream)
            }
            _ => Vec::new(),
        })
    })
}

/// Both transports, closed and open loop, one stream and several.
fn plans(server: &Server, dialogue: &Dialogue) -> Vec<Plan> {
    let mut all = Vec::new();
    for kind in transports() {
        for (arrival, streams) in [(CLOSED, 1), (CLOSED, 5), (CONSTANT, 5)] {
            let plan = plan(&server.target, dialogue.clone(), 2, kind);
            all.push(plan.due(arrival).pipeline(streams).ends_after(N));
        }
    }
    all
}

#[test]
fn what_a_server_may_do_changes_nothing() {
    let cases: [(&str, Said); 6] = [
        ("a message", message),
        ("DATA in pieces", |s| {
            let body = framed(b"hello");
            let pieces = body.iter().map(|byte| frame(DATA, 0, s, &[*byte]));
            [head(s), pieces.collect::<Vec<_>>().concat(), ok(s)].concat()
        }),
        ("empty DATA", |s| {
            let empty = frame(DATA, 0, s, b"");
            let body = frame(DATA, 0, s, &framed(b"hello"));
            [head(s), empty.clone(), body, empty, ok(s)].concat()
        }),
        ("metadata", |s| {
            let fields = block(&[
                (":status", "200"),
                ("content-type", "application/grpc+proto"),
                ("grpc-encoding", "identity"),
                ("grpc-accept-encoding", "gzip"),
                ("x-trace-bin", "AAEC"),
            ]);
            let body = frame(DATA, 0, s, &framed(b"hello"));
            let end = [("grpc-message", ""), ("grpc-status", "0"), ("x-more", "1")];
            [frame(HEADERS, WHOLE, s, &fields), body, trailers(s, &end)].concat()
        }),
        ("fields in the table", |s| {
            // Literals that are added: the server sends the same blocks again.
            let fields = block(&[(":status", "200"), TYPE]);
            let mut added = fields;
            added[0] = 0x40;
            let body = frame(DATA, 0, s, &framed(b"hello"));
            [frame(HEADERS, WHOLE, s, &added), body, ok(s)].concat()
        }),
        ("CONTINUATION in the trailers", |s| {
            let fields = block(&[("grpc-status", "0")]);
            let (first, rest) = fields.split_at(4);
            [
                head(s),
                frame(DATA, 0, s, &framed(b"hello")),
                frame(HEADERS, END, s, first),
                frame(CONTINUATION, WHOLE, s, rest),
            ]
            .concat()
        }),
    ];
    at_once(4, &cases, |&(what, answer)| {
        let server = serves(answer);
        for plan in plans(&server, &unary()) {
            let seen = until_done(&plan);
            assert_eq!(seen.outcomes.ok, N, "{what}: {:?}", seen.wrong_answers);
            flawless(&plan, &seen);
            let grpc = seen.grpc.as_ref().expect("gRPC is spoken");
            assert_eq!(grpc.messages, N, "{what}");
            assert_eq!(grpc.statuses, [("OK".to_owned(), N)].into(), "{what}");
        }
    });
}

#[test]
fn what_a_server_must_not_do_is_a_wrong_answer() {
    let cases: [(&str, Said, &str); 22] = [
        (
            "no grpc-status",
            |s| [head(s), frame(DATA, END, s, &framed(b"hello"))].concat(),
            "no grpc-status",
        ),
        (
            "trailers without it",
            |s| {
                [
                    head(s),
                    frame(DATA, 0, s, &framed(b"hello")),
                    trailers(s, &[("x", "y")]),
                ]
                .concat()
            },
            "no grpc-status",
        ),
        (
            "an error after a message",
            |s| {
                let end = [("grpc-status", "13"), ("grpc-message", "it%20broke")];
                [
                    head(s),
                    frame(DATA, 0, s, &framed(b"hello")),
                    trailers(s, &end),
                ]
                .concat()
            },
            "status INTERNAL (13), expected OK (0): it broke",
        ),
        (
            "trailers only",
            |s| {
                let all = [
                    (":status", "200"),
                    TYPE,
                    ("grpc-status", "12"),
                    ("grpc-message", "no such method"),
                ];
                trailers(s, &all)
            },
            "status UNIMPLEMENTED (12), expected OK (0): no such method",
        ),
        (
            "trailers only that say OK",
            |s| trailers(s, &[(":status", "200"), TYPE, ("grpc-status", "0")]),
            "0 messages, expected one",
        ),
        (
            "a status that is none",
            |s| [head(s), trailers(s, &[("grpc-status", "zero")])].concat(),
            "grpc-status \"zero\", which is none of gRPC's",
        ),
        (
            "a status with a sign",
            |s| [head(s), trailers(s, &[("grpc-status", "+0")])].concat(),
            "which is none of gRPC's",
        ),
        (
            "a status beyond all",
            |s| [head(s), trailers(s, &[("grpc-status", "99999999999")])].concat(),
            "which is none of gRPC's",
        ),
        (
            "two statuses",
            |s| {
                [
                    head(s),
                    trailers(s, &[("grpc-status", "0"), ("grpc-status", "2")]),
                ]
                .concat()
            },
            "two different fields grpc-status",
        ),
        (
            "a length beyond DATA",
            |s| said(s, b"\0\0\0\0\x09hello"),
            "ends within a message: 4 bytes are missing",
        ),
        (
            "half a prefix",
            |s| said(s, b"\0\0\0"),
            "before a message: 3 came",
        ),
        (
            "a second message",
            |s| said(s, &[framed(b"hello"), framed(b"hello")].concat()),
            "a second message",
        ),
        (
            "bytes after the message",
            |s| said(s, &[&framed(b"hello")[..], b"x"].concat()),
            "before a message: 1 came",
        ),
        (
            "no message",
            |s| [head(s), ok(s)].concat(),
            "0 messages, expected one",
        ),
        (
            "compressed without an encoding",
            |s| said(s, b"\x01\0\0\0\x05hello"),
            "marked as compressed, without grpc-encoding",
        ),
        (
            "compressed unasked",
            |s| {
                let fields = block(&[(":status", "200"), TYPE, ("grpc-encoding", "gzip")]);
                [
                    frame(HEADERS, WHOLE, s, &fields),
                    frame(DATA, 0, s, b"\x01\0\0\0\x05hello"),
                    ok(s),
                ]
                .concat()
            },
            "a compressed message, which was not asked for",
        ),
        (
            "a flag that is none",
            |s| said(s, b"\x02\0\0\0\x05hello"),
            "flag is neither 0 nor 1",
        ),
        (
            "a huge length",
            |s| said(s, b"\0\xff\xff\xff\xffhello"),
            "a message is longer than 1048576 bytes",
        ),
        (
            "a web page",
            |s| {
                let fields = block(&[(":status", "200"), ("content-type", "text/html")]);
                [
                    frame(HEADERS, WHOLE, s, &fields),
                    frame(DATA, END, s, b"<html>"),
                ]
                .concat()
            },
            "content-type text/html, expected application/grpc",
        ),
        (
            "not found",
            |s| answer(s, b"\x8d", b"nothing"),
            "HTTP status 404",
        ),
        (
            "another message",
            |s| said(s, &framed(b"hallo")),
            "expected \"hello\", found \"hallo\"",
        ),
        (
            "a reset within a message",
            |s| {
                let part = frame(DATA, 0, s, &framed(b"hello")[..7]);
                [head(s), part, frame(RST_STREAM, 0, s, &8_u32.to_be_bytes())].concat()
            },
            "the server reset the stream (CANCEL)",
        ),
    ];
    at_once(4, &cases, |&(what, answer, text)| {
        let server = serves(answer);
        for plan in plans(&server, &unary()) {
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            let told = seen.wrong_answers.join("; ");
            let about = format!(
                "{what}: {} {:?} {told} {:?}",
                short(&plan),
                seen.outcomes,
                seen.errors
            );
            assert_eq!(seen.outcomes.wrong_answer, N, "{about}");
            assert!(told.contains(text), "{about}");
        }
    });
}

#[test]
fn an_expected_error_is_right() {
    let server = serves(|s| trailers(s, &[(":status", "200"), TYPE, ("grpc-status", "5")]));
    let expect = GrpcExpect {
        status: GrpcStatus::parse("NOT_FOUND").unwrap(),
        ..GrpcExpect::default()
    };
    for plan in plans(&server, &dialogue(expect)) {
        let seen = until_done(&plan);
        assert_eq!(seen.outcomes.ok, N, "{:?}", seen.wrong_answers);
        let grpc = seen.grpc.as_ref().expect("gRPC is spoken");
        assert_eq!(grpc.statuses, [("NOT_FOUND".to_owned(), N)].into());
        assert_eq!(grpc.messages, 0);
    }
}

#[test]
fn messages_of_streams_are_counted() {
    let server = serves(|s| {
        let messages: Vec<u8> = (0..7)
            .flat_map(|n| framed(&vec![n; usize::from(n)]))
            .collect();
        said(s, &messages)
    });
    let expect = GrpcExpect {
        streaming: true,
        messages: Some((7, 7)),
        ..GrpcExpect::default()
    };
    for plan in plans(&server, &dialogue(expect)) {
        let seen = until_done(&plan);
        assert_eq!(seen.outcomes.ok, N, "{:?}", seen.wrong_answers);
        assert_eq!(seen.grpc.as_ref().expect("gRPC is spoken").messages, 7 * N);
        // They are the events of the streams.
        let streams = seen.streams;
        assert_eq!((streams.ended, streams.events_of_ended), (N, 7 * N));
        assert!(!seen.times.first_event.is_empty() && !seen.times.gap.is_empty());
    }
}

/// A stream that does not end is given up with its call; the connection goes on.
#[test]
fn a_stream_without_an_end_is_a_time_out() {
    let server = serves(|s| match s / 2 % 3 {
        0 => [head(s), frame(DATA, 0, s, &framed(b"hello"))].concat(),
        _ => message(s),
    });
    let plan = plan(&server.target, unary(), 2, transports()[0])
        .pipeline(4)
        .timeout(std::time::Duration::from_millis(100))
        .ends_after(N);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    let Outcomes { ok, timeout, .. } = seen.outcomes;
    assert!(timeout > 0 && ok + timeout == N, "{:?}", seen.outcomes);
    assert_eq!(seen.connected, 2, "{:?}", seen.errors);
}

#[test]
fn calls_that_goaway_leaves_out_are_made_again() {
    let server = serves(|s| match s {
        ..=9 => message(s),
        11 => frame(GOAWAY, 0, 0, &[&9_u32.to_be_bytes()[..], &[0; 4]].concat()),
        _ => Vec::new(),
    });
    for kind in transports() {
        let plan = plan(&server.target, unary(), 2, kind)
            .pipeline(4)
            .ends_after(100);
        let seen = until_done(&plan);
        conserved(&plan, &seen);
        assert_eq!(
            seen.outcomes.ok, 100,
            "{:?} {:?}",
            seen.outcomes, seen.wrong_answers
        );
        assert!(seen.sent_again > 0);
    }
}
