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
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::HashMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

/// Requests of each load.
const N: u64 = 24;

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
    for (what, pieces) in cases {
        let server = H3Server::new(move |_| Said::Pieces(pieces()));
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

type Answer = Box<dyn Fn() -> Said + Send + Sync>;

#[test]
fn a_server_that_breaks_the_protocol_is_found_out() {
    let pieces = |bytes: Vec<u8>| Said::Pieces(vec![bytes]);
    let cases: Vec<(&str, Answer)> = vec![
        ("without an answer", Box::new(|| Said::Pieces(Vec::new()))),
        (
            "within a frame",
            Box::new(move || pieces(answer(OK, b"hello")[..9].to_vec())),
        ),
        (
            "data before the header",
            Box::new(move || pieces(frame(DATA, b"hello"))),
        ),
        (
            "without :status",
            Box::new(move || pieces(answer(b"\0\0\x21x\x01y", b"hello"))),
        ),
        (
            "content-length",
            Box::new(move || pieces(answer(b"\0\0\xd9\x54\x019", b"hello"))),
        ),
        (
            "after the trailers",
            Box::new(move || {
                let trailers = frame(HEADERS, b"\0\0\x21x\x01y");
                pieces([answer(OK, b"hello"), trailers, frame(DATA, b"x")].concat())
            }),
        ),
        (
            "H3_INTERNAL_ERROR",
            Box::new(|| Said::Reset(answer(OK, b"hel"), 0x102)),
        ),
        ("only HTTP/2", Box::new(move || pieces(frame(8, b"")))),
        ("wrong stream", Box::new(move || pieces(frame(4, b"")))),
        (
            "dynamic table",
            Box::new(move || pieces(answer(b"\x02\0\x80", b"hello"))),
        ),
        ("H3_EXCESSIVE_LOAD", Box::new(|| Said::Close(0x107))),
        (
            "settings twice",
            Box::new(|| Said::Control(frame(4, b""), answer(OK, b"hello"))),
        ),
    ];
    for (what, said) in cases {
        let server = H3Server::new(move |nth| match nth % 4 {
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
    let rejected = H3Server::new(|nth| match nth {
        15 => Said::Reset(Vec::new(), 0x10b),
        _ => right(),
    });
    // The server takes no request on its seventh stream or later.
    let leaving = H3Server::new(|nth| match nth {
        9 => Said::Control(frame(7, b"\x18"), answer(OK, b"hello")),
        _ => right(),
    });
    for server in [rejected, leaving] {
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
fn a_request_that_takes_too_long_is_given_up_alone() {
    let server = H3Server::new(|nth| match nth {
        4 => Said::Silence(answer(OK, b"hel")),
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
    let server = H3Server::with(few, |_| right());
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
fn connections_are_made_for_their_requests() {
    let server = H3Server::new(|_| right());
    let plan = load(&server, 1).keepalive(false);
    let seen = until_done(&plan);
    conserved(&plan, &seen);
    assert_eq!(seen.outcomes.ok, N, "{:?}", seen.errors);
    assert!(seen.connected >= N);
    assert_eq!(seen.quic.unwrap().connections, seen.connected);
}

#[test]
fn a_body_is_sent_whole_both_ways() {
    let server = H3Server::new(|_| right());
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

/// Mishaps of datagrams on their way, in both directions: each befalls one of so many.
#[derive(Clone, Copy, Default)]
struct Mischief {
    lost: u32,
    doubled: u32,
    spoilt: u32,
    late: u32,
}

/// Passes datagrams on to a server, not all of them and not always as they were.
fn relay(server: &H3Server, mischief: Mischief) -> Target {
    let Target::Tcp(server) = server.target else {
        unreachable!()
    };
    let front = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
    let target = Target::Tcp(front.local_addr().unwrap());
    thread::spawn(move || {
        let mut clients: HashMap<SocketAddr, Arc<UdpSocket>> = HashMap::new();
        let mut way = Way::new(mischief, 1);
        let mut buffer = [0; 65_536];
        while let Ok((n, client)) = front.recv_from(&mut buffer) {
            let back = clients.entry(client).or_insert_with(|| {
                let back = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
                back.connect(server).unwrap();
                let (from, to) = (back.clone(), front.clone());
                thread::spawn(move || {
                    let mut way = Way::new(mischief, 2);
                    let mut buffer = [0; 65_536];
                    while let Ok(n) = from.recv(&mut buffer) {
                        way.pass(&buffer[..n], |bytes| drop(to.send_to(bytes, client)));
                    }
                });
                back
            });
            way.pass(&buffer[..n], |bytes| drop(back.send(bytes)));
        }
    });
    target
}

struct Way {
    mischief: Mischief,
    rng: Xoshiro256PlusPlus,
    late: Option<Vec<u8>>,
}

impl Way {
    fn new(mischief: Mischief, seed: u64) -> Self {
        Self {
            mischief,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            late: None,
        }
    }

    fn pass(&mut self, bytes: &[u8], mut send: impl FnMut(&[u8])) {
        let mut one_of = |n: u32| n > 0 && self.rng.random_range(0..n) == 0;
        let mut bytes = bytes.to_vec();
        if one_of(self.mischief.lost) {
            return;
        }
        if one_of(self.mischief.spoilt) {
            let at = bytes.len() / 2;
            bytes[at] ^= 1;
        }
        if one_of(self.mischief.doubled) {
            send(&bytes);
        }
        if one_of(self.mischief.late) && self.late.is_none() {
            self.late = Some(bytes);
            return;
        }
        send(&bytes);
        if let Some(late) = self.late.take() {
            send(&late);
        }
    }
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
    };
    for mischief in [lost(1_000), lost(100), lost(20), all] {
        let server = H3Server::new(|_| right());
        let target = relay(&server, mischief);
        for streams in [1, 5] {
            let plan = load(&server, streams).with(|plan| plan.target = target.clone());
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            assert_eq!(seen.outcomes.ok, N, "{:?} {:?}", seen.outcomes, seen.errors);
        }
    }
}

#[test]
fn a_connection_that_the_server_closes_is_made_again() {
    let server = H3Server::new(|nth| match nth {
        9 => Said::Close(0x100),
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
    let server = H3Server::new(|_| right());
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
fn a_probe_says_why_a_server_cannot_be_loaded() {
    let patience = Duration::from_millis(500);
    let server = H3Server::new(|_| right());
    let seen = probe(&server.target, &server.tls, HANGS).unwrap();
    assert_eq!(seen.alpn.as_deref(), Some("h3"));
    assert!(seen.verified && seen.certificate.is_some());
    // That of another server, with the same name.
    let strange = H3Server::new(|_| right()).tls;
    let error = probe(&server.target, &strange, HANGS).unwrap_err();
    assert!(error.to_string().contains("trusted here"), "{error}");
    let old = TlsOptions {
        version: Some("1.2".into()),
        ..server.tls.clone()
    };
    let error = probe(&server.target, &old, HANGS).unwrap_err();
    assert!(error.to_string().contains("TLS 1.3 only"), "{error}");
    let other = H3Server::with(
        Setup {
            alpn: "doq",
            ..Setup::default()
        },
        |_| right(),
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
