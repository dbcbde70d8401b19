//! Loads over HTTP/3: what a server may do, and every kind of bad one.

use crate::h3_server::*;
use crate::invariants::{conserved, flawless};
use crate::support::*;
use prony_engine::protocol::h2::{StreamedExchange, WINDOW};
use prony_engine::protocol::h3::{H3ProbeError, probe};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::{Expect, HttpRequest, Limits};
use prony_engine::{Dialogue, Plan, StreamedRequests, Target};
use prony_record::Transport;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Requests of each load.
const N: u64 = 24;

/// `says` is asked what is done with each request.
fn saying(says: impl Fn(Request) -> Vec<Step> + Send + Sync + 'static) -> H3Server {
    H3Server::new(Setup::default(), Arc::new(says))
}

fn dialogue(request: &HttpRequest, window: u32) -> Dialogue {
    let expect = Expect::body("hello").with_status(200);
    Dialogue::H3(Box::new(StreamedRequests {
        exchanges: vec![StreamedExchange::new(request, true, expect).unwrap()],
        limits: Limits::default(),
        window,
    }))
}

fn load(server: &H3Server, streams: u32) -> Plan {
    let get = dialogue(&HttpRequest::get("h", "/"), WINDOW);
    plan(&server.target, get, 2, Transport::Epoll)
        .with(|plan| plan.tls = Some(server.tls.clone()))
        .pipeline(streams)
        .ends_after(N)
}

/// Closed and open loop, one stream and several.
fn plans(server: &H3Server) -> Vec<Plan> {
    let mut all = Vec::new();
    for arrival in [CLOSED, CONSTANT] {
        for streams in [1, 5] {
            all.push(load(server, streams).due(arrival));
        }
    }
    all
}

/// Gives the bytes of an answer, in the pieces in which they are sent.
type Pieces = fn() -> Vec<Vec<u8>>;

#[test]
fn what_a_server_may_do_changes_nothing() {
    let cases: [(&str, Pieces); 8] = [
        ("answers", || vec![answer(OK, b"hello")]),
        ("a frame in pieces", || {
            answer(OK, b"hello")
                .into_iter()
                .map(|byte| vec![byte])
                .collect()
        }),
        ("content-length", || {
            vec![answer(b"\0\0\xd9\x54\x015", b"hello")]
        }),
        ("a body in frames", || {
            let head = frame(HEADERS, OK);
            let pieces = [frame(DATA, b"he"), frame(DATA, b""), frame(DATA, b"llo")].concat();
            vec![head, pieces]
        }),
        ("trailers", || {
            vec![answer(OK, b"hello"), frame(HEADERS, b"\0\0\x21x\x01y")]
        }),
        ("an interim answer", || {
            vec![frame(HEADERS, b"\0\0\xd8"), answer(OK, b"hello")]
        }),
        ("unknown frames", || {
            vec![
                frame(0x21, b"grease"),
                answer(OK, b"hello"),
                frame(0x3f - 0x1f, b""),
            ]
        }),
        ("a Huffman code", || {
            // `:status` by its name in the static table, and 200 in the code.
            vec![answer(b"\0\0\x5f\x09\x82\x10\x01", b"hello")]
        }),
    ];
    for (what, all) in cases {
        let server = saying(move |_| pieces(all()));
        for plan in plans(&server) {
            let seen = until_done(&plan);
            assert_eq!(seen.wrong_answers, Vec::<String>::new(), "{what}");
            flawless(&plan, &seen);
            assert_eq!(seen.outcomes.ok, N, "{what}");
            let quic = seen.quic.unwrap();
            assert_eq!(quic.connections, 2, "{what}");
            assert!(
                quic.datagrams_sent > 0 && quic.datagrams_received > 0,
                "{what}"
            );
        }
        assert_eq!(server.requests.load(Relaxed), 4 * N, "{what}");
    }
}

type Answer = Box<dyn Fn() -> Vec<Step> + Send + Sync>;

#[test]
fn a_server_that_breaks_the_protocol_is_found_out() {
    let whole = |bytes: Vec<u8>| pieces([bytes]);
    let cases: Vec<(&str, Answer)> = vec![
        ("without an answer", Box::new(|| pieces([]))),
        (
            "within a frame",
            Box::new(move || whole(answer(OK, b"hello")[..9].to_vec())),
        ),
        (
            "data before the header",
            Box::new(move || whole(frame(DATA, b"hello"))),
        ),
        (
            "data before the header",
            Box::new(move || whole([frame(DATA, b""), answer(OK, b"hello")].concat())),
        ),
        (
            "after the trailers",
            Box::new(move || {
                let trailers = frame(HEADERS, b"\0\0\x21x\x01y");
                whole([answer(OK, b"hello"), trailers, frame(DATA, b"")].concat())
            }),
        ),
        (
            "without :status",
            Box::new(move || whole(answer(b"\0\0\x21x\x01y", b"hello"))),
        ),
        (
            "content-length",
            Box::new(move || whole(answer(b"\0\0\xd9\x54\x019", b"hello"))),
        ),
        (
            "after the trailers",
            Box::new(move || {
                let trailers = frame(HEADERS, b"\0\0\x21x\x01y");
                whole([answer(OK, b"hello"), trailers, frame(DATA, b"x")].concat())
            }),
        ),
        (
            "H3_INTERNAL_ERROR",
            Box::new(|| then(answer(OK, b"hel"), Step::Reset(0x102))),
        ),
        ("only HTTP/2", Box::new(move || whole(frame(8, b"")))),
        ("wrong stream", Box::new(move || whole(frame(4, b"")))),
        (
            "dynamic table",
            Box::new(move || whole(answer(b"\x02\0\x80", b"hello"))),
        ),
        ("H3_EXCESSIVE_LOAD", Box::new(|| vec![Step::Close(0x107)])),
        (
            "settings twice",
            Box::new(|| vec![Step::Control(frame(SETTINGS, b"")), Step::Silence]),
        ),
    ];
    for (what, said) in cases {
        let server = saying(move |it| match it.nth % 4 {
            3 => said(),
            _ => right(),
        });
        for plan in plans(&server) {
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            assert!(seen.outcomes.ok < N, "{what}");
            let said = format!("{:?} {:?}", seen.wrong_answers, seen.errors);
            assert!(said.contains(what), "{what}: {said}");
        }
    }
}

#[test]
fn a_request_that_is_not_processed_is_sent_again() {
    let rejected = saying(|it| match it.nth {
        15 => vec![Step::Reset(0x10b)],
        _ => right(),
    });
    // The server takes no request on its seventh stream or later.
    let leaving = saying(|it| match it.nth {
        9 => [vec![Step::Control(frame(GOAWAY, b"\x18"))], right()].concat(),
        _ => right(),
    });
    // It leaves before its first answer.
    let leaving_soon = saying(|it| match it.nth {
        0 => [vec![Step::Control(frame(GOAWAY, b"\x04"))], right()].concat(),
        _ => right(),
    });
    for server in [rejected, leaving, leaving_soon] {
        let plan = load(&server, 5);
        let seen = until_done(&plan);
        assert_eq!(
            seen.outcomes.ok, N,
            "{:?} {:?}",
            seen.wrong_answers, seen.errors
        );
    }
}

#[test]
fn a_server_that_processes_no_request_any_more_does_not_get_them_for_ever() {
    let server = saying(|it| match it.of_connection {
        0 => right(),
        _ => vec![Step::Reset(0x10b)],
    });
    let plan = load(&server, 5);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert_eq!(seen.outcomes.ok, 2, "{:?}", seen.outcomes);
    let said = format!("{:?}", seen.wrong_answers);
    assert!(said.contains("H3_REQUEST_REJECTED"), "{said}");
}

#[test]
fn a_connection_that_the_server_has_forgotten_is_made_again() {
    for then in [Then::Resets, Then::ResetsStrangely, Then::Forgets] {
        let server = saying(move |it| match it.nth {
            4 => vec![Step::Die(then)],
            _ => right(),
        });
        let plan = load(&server, 2).timeout(Duration::from_secs(1));
        let seen = until_done(&plan);
        conserved(&plan, &seen);
        assert!(seen.outcomes.failed() > 0, "{then:?}");
        assert!(seen.connected > 2, "{then:?}: {:?}", seen.errors);
    }
}

#[test]
fn a_request_that_takes_too_long_is_given_up_alone() {
    let server = saying(|it| match it.nth {
        4 => then(answer(OK, b"hel"), Step::Silence),
        _ => right(),
    });
    let plan = load(&server, 3).timeout(Duration::from_millis(300));
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert_eq!(seen.outcomes.timeout, 1, "{:?}", seen.outcomes);
    assert_eq!(seen.connected, 2);
}

#[test]
fn a_server_that_allows_few_streams_is_not_asked_for_more() {
    let few = Setup {
        streams: 2,
        ..Setup::default()
    };
    let server = H3Server::new(few, Arc::new(|_| right()));
    for plan in plans(&server) {
        let seen = until_done(&plan);
        flawless(&plan, &seen);
        assert_eq!(seen.outcomes.ok, N);
        if plan.load.pipeline > 2 {
            assert_eq!(seen.streams_allowed, Some(2));
        }
    }
}

#[test]
fn a_server_that_allows_no_stream_has_not_made_the_connection() {
    let none = Setup {
        streams: 0,
        ..Setup::default()
    };
    let server = H3Server::new(none, Arc::new(|_| right()));
    let plan = load(&server, 1).timeout(Duration::from_millis(100));
    let plan = plan.ends_after(4);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert_eq!((seen.outcomes.ok, seen.connected), (0, 0));
}

#[test]
fn connections_are_made_for_their_requests() {
    let server = saying(|_| right());
    let plan = load(&server, 1).keepalive(false);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert_eq!(seen.outcomes.ok, N, "{:?}", seen.errors);
    assert!(seen.connected >= N);
    assert_eq!(seen.quic.unwrap().connections, seen.connected);
}

#[test]
fn a_body_is_sent_whole_both_ways() {
    let server = saying(|_| right());
    let request = HttpRequest {
        method: "POST".into(),
        body: vec![b'x'; 300_000],
        ..HttpRequest::get("h", "/")
    };
    let plan = load(&server, 2).with(|plan| plan.dialogue = dialogue(&request, 1_000));
    let seen = until_done(&plan);
    flawless(&plan, &seen);
    assert_eq!(seen.outcomes.ok, N);
    assert!(seen.bytes_sent > N * 300_000, "{}", seen.bytes_sent);
}

// Slow: a packet of a handshake that is lost is sent again after a second.
#[test]
fn datagrams_that_do_not_arrive_as_they_were_sent_lose_no_answer() {
    let lost = |lost| Mischief {
        lost,
        ..Mischief::default()
    };
    let all = Mischief {
        lost: 20,
        doubled: 10,
        spoilt: 20,
        late: 10,
        ..Mischief::default()
    };
    for mischief in [lost(1_000), lost(100), lost(20), all] {
        let server = saying(|_| right());
        let relay = Relay::new(&server.target, mischief);
        for streams in [1, 5] {
            let plan = load(&server, streams).with(|plan| plan.target = relay.target.clone());
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            assert_eq!(seen.outcomes.ok, N, "{:?} {:?}", seen.outcomes, seen.errors);
        }
    }
}

#[test]
fn a_connection_that_the_server_closes_is_made_again() {
    let server = saying(|it| match it.nth {
        9 => vec![Step::Close(0x100)],
        _ => right(),
    });
    let plan = load(&server, 1);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert!(seen.outcomes.ok >= N - 2, "{:?}", seen.outcomes);
    assert!(seen.connected >= 3, "{}", seen.connected);
}

#[test]
fn handshakes_that_resume_are_told_from_full_ones() {
    let server = saying(|_| right());
    for resumption in [true, false] {
        let plan = load(&server, 1).keepalive(false).with(|plan| {
            plan.load.connections = 1;
            plan.tls.as_mut().unwrap().resumption = resumption;
        });
        let seen = until_done(&plan);
        let tls = seen.tls.as_ref().unwrap();
        assert_eq!(tls.handshakes.all(), seen.connected);
        assert_eq!(tls.handshakes.resumed > 0, resumption, "{tls:?}");
        assert!(tls.handshakes.full >= 1, "{tls:?}");
        assert_eq!(tls.alpn.as_deref(), Some("h3"));
        assert!(tls.certificate.is_some());
    }
}

#[test]
fn requests_before_the_handshake_are_counted_and_sent_again_if_they_are_refused() {
    let setup = Setup {
        forgets: 3,
        ..Setup::default()
    };
    let server = H3Server::new(setup, Arc::new(|_| right()));
    let plan = load(&server, 1)
        .keepalive(false)
        .with(|plan| plan.tls.as_mut().unwrap().early_data = true);
    let seen = until_done(&plan);
    flawless(&plan, &seen);
    let quic = seen.quic.as_ref().unwrap();
    assert!(quic.early > 0 && quic.early_refused > 0, "{quic:?}");
    let resumed = seen.tls.as_ref().unwrap().handshakes.resumed;
    assert!(quic.early <= resumed, "{quic:?}, {resumed} resumed");
    // What was refused was never read, so that no request was carried out twice.
    assert_eq!(server.requests.load(Relaxed), N);
}

#[test]
fn a_probe_says_why_a_server_cannot_be_loaded() {
    let patience = Duration::from_millis(500);
    let server = saying(|_| right());
    let seen = probe(&server.target, &server.tls, HANGS).unwrap();
    assert_eq!(seen.alpn.as_deref(), Some("h3"));
    assert!(seen.verified && seen.certificate.is_some());
    // That of another server, with the same name.
    let strange = saying(|_| right()).tls.clone();
    let error = probe(&server.target, &strange, HANGS).unwrap_err();
    assert!(error.to_string().contains("trusted here"), "{error}");
    let old = TlsOptions {
        version: Some("1.2".into()),
        ..server.tls.clone()
    };
    let error = probe(&server.target, &old, HANGS).unwrap_err();
    assert!(error.to_string().contains("TLS 1.3 only"), "{error}");
    let other = H3Server::new(
        Setup {
            alpn: "doq",
            ..Setup::default()
        },
        Arc::new(|_| right()),
    );
    let error = probe(&other.target, &other.tls, HANGS).unwrap_err();
    assert!(matches!(error, H3ProbeError::NoHttp3), "{error}");
    let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
    let target = Target::Tcp(silent.local_addr().unwrap());
    let error = probe(&target, &server.tls, patience).unwrap_err();
    assert!(matches!(error, H3ProbeError::Silent { .. }), "{error}");
    drop(silent);
    let error = probe(&target, &server.tls, HANGS).unwrap_err();
    assert!(matches!(error, H3ProbeError::Refused(_)), "{error}");
}
