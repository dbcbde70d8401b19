//! Loads over WebSocket: what a server may do, and every kind of bad one.

use crate::invariants::flawless;
use crate::servers::Server;
use crate::support::*;
use crate::ws_server::*;
use prony_engine::protocol::ws::{Upgrade, WsMessages};
use prony_engine::protocol::{HttpRequest, Limits};
use prony_engine::{Dialogue, Plan};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};

/// Requests of each load.
pub const N: u64 = 24;
pub const SIZE: u32 = 48;

pub fn upgrade() -> Upgrade {
    Upgrade::new(&HttpRequest::get("h", "/"), &[]).unwrap()
}

pub fn messages(size: u32, text: bool) -> Dialogue {
    Dialogue::Ws(Box::new(WsMessages {
        upgrade: upgrade(),
        text,
        size,
        limits: Limits {
            head: 4096,
            body: 1 << 20,
        },
    }))
}

/// Both transports, closed and open loop, one message in flight and several.
pub fn plans(server: &Server, dialogue: &Dialogue) -> Vec<Plan> {
    let mut all = Vec::new();
    for kind in transports() {
        for arrival in [CLOSED, CONSTANT] {
            for pipeline in [1, 5] {
                let plan = plan(&server.target, dialogue.clone(), 2, kind);
                all.push(plan.due(arrival).pipeline(pipeline).ends_after(N));
            }
            let plan = plan(&server.target, dialogue.clone(), 2, kind);
            all.push(plan.due(arrival).keepalive(false).ends_after(N));
        }
    }
    all
}

/// In so many pieces, each a fragment; the first has the message's kind.
fn fragments(frame: &Frame, n: usize) -> Vec<Vec<u8>> {
    let length = frame.payload.len().div_ceil(n).max(1);
    let pieces: Vec<&[u8]> = frame.payload.chunks(length).collect();
    let last = pieces.len() - 1;
    let all = pieces.iter().enumerate().map(|(nth, piece)| {
        let opcode = if nth == 0 {
            frame.first & 0x0f
        } else {
            CONTINUATION
        };
        raw(if nth == last { FIN | opcode } else { opcode }, piece)
    });
    all.collect()
}

pub type Said = fn(&Frame) -> Vec<u8>;

// Slow: 7 servers x 5 kinds of messages x 12 loads, 8 at once.
#[test]
fn what_a_server_may_do_changes_nothing() {
    let cases: [(&str, Said); 7] = [
        ("echo", Frame::echoed),
        ("fragments", |it| fragments(it, 3).concat()),
        ("a fragment for each byte", |it| {
            fragments(it, 1000).concat()
        }),
        ("an empty fragment first and last", |it| {
            let first = raw(it.first & 0x0f, b"");
            let middle = raw(CONTINUATION, &it.payload);
            [first, middle, frame(CONTINUATION, b"")].concat()
        }),
        ("a ping between fragments", |it| {
            fragments(it, 3).join(&frame(PING, b"are you there?")[..])
        }),
        ("a ping, and an unsolicited pong", |it| {
            [frame(PING, b""), frame(PONG, b"x"), it.echoed()].concat()
        }),
        ("a ping of 125 bytes after it", |it| {
            [it.echoed(), frame(PING, &[7; 125])].concat()
        }),
    ];
    at_once(8, &cases, |(name, said)| {
        let server = serves(*said);
        for (size, text) in [
            (SIZE, false),
            (SIZE, true),
            (1, true),
            (300, false),
            (70_000, true),
        ] {
            for plan in plans(&server, &messages(size, text)) {
                let seen = until_done(&plan);
                assert_eq!(
                    seen.outcomes.ok, N,
                    "{name} {size}: {:?} {:?}",
                    seen.wrong_answers, seen.errors
                );
                flawless(&plan, &seen);
            }
        }
    });
}

#[test]
fn an_empty_message_comes_back() {
    let server = serves(Frame::echoed);
    for plan in plans(&server, &messages(0, false)) {
        flawless(&plan, &until_done(&plan));
    }
}

#[test]
fn bytes_may_come_one_by_one() {
    let server = Server::tcp(|it| {
        let drip = |bytes: &[u8]| bytes.iter().try_for_each(|&byte| it.write(&[byte]));
        let agreed = |head: &str| {
            let _ = drip(agreement(head).as_bytes());
            Vec::new()
        };
        speak(it, agreed, |frame| {
            drip(&frame.echoed()).map(|()| Vec::new())
        })
    });
    for plan in plans(&server, &messages(130, false)) {
        flawless(&plan, &until_done(&plan));
    }
}

/// Frames that a server received, of all connections.
type Log = Arc<Mutex<Vec<Frame>>>;

fn logging(log: &Log, said: Said) -> Server {
    let log = log.clone();
    Server::tcp(move |it| {
        speak(
            it,
            |head| agreement(head).into_bytes(),
            |frame| {
                log.lock().unwrap().push(frame.clone());
                Ok(if frame.is_message() {
                    said(frame)
                } else {
                    Vec::new()
                })
            },
        )
    })
}

#[test]
fn no_two_payloads_are_alike_and_text_is_text() {
    for text in [false, true] {
        let log = Log::default();
        let server = logging(&log, Frame::echoed);
        let seen = until_done(
            &plan(&server.target, messages(20, text), 3, transports()[0])
                .pipeline(4)
                .ends_after(500),
        );
        assert_eq!(seen.outcomes.ok, 500);
        let log = log.lock().unwrap();
        let payloads: HashSet<&[u8]> = log.iter().map(|frame| &frame.payload[..]).collect();
        assert_eq!(payloads.len(), 500);
        let first = FIN | if text { TEXT } else { BINARY };
        assert!(
            log.iter()
                .all(|frame| frame.first == first && frame.payload.len() == 20)
        );
        assert!(
            !text
                || log
                    .iter()
                    .all(|frame| std::str::from_utf8(&frame.payload).is_ok())
        );
    }
}

#[test]
fn pings_are_answered_with_what_they_say() {
    let log = Log::default();
    let server = logging(&log, |it| [frame(PING, b"over here"), it.echoed()].concat());
    let seen =
        until_done(&plan(&server.target, messages(5, false), 1, transports()[0]).ends_after(N));
    assert_eq!(seen.outcomes.ok, N);
    let log = log.lock().unwrap();
    let pongs: Vec<&Frame> = log.iter().filter(|it| it.first == FIN | PONG).collect();
    // The last may come after the load.
    assert!(pongs.len() as u64 >= N - 1, "{pongs:?}");
    assert!(pongs.iter().all(|it| it.payload == b"over here"));
}

#[test]
fn a_connection_for_each_message_ends_with_a_close_frame() {
    for kind in transports() {
        let log = Log::default();
        let server = logging(&log, Frame::echoed);
        let plan = plan(&server.target, messages(5, false), 1, kind).keepalive(false);
        let seen = until_done(&plan.ends_after(N));
        assert_eq!(seen.outcomes.ok, N);
        assert_eq!(seen.connected, N);
        eventually("a close frame on each connection", || {
            let log = log.lock().unwrap();
            let closes = log.iter().filter(|it| it.first == FIN | CLOSE);
            closes
                .filter(|it| it.payload == 1000_u16.to_be_bytes())
                .count() as u64
                == N
        });
    }
}

#[test]
fn a_close_frame_is_answered_with_its_code() {
    for kind in transports() {
        let log = Log::default();
        let server = logging(&log, |_| frame(CLOSE, b"\x03\xe9restart"));
        let plan = plan(&server.target, messages(5, false), 1, kind).ends_after(3);
        let seen = until_done(&plan);
        assert_eq!(seen.outcomes.read_error, 3, "{:?}", seen.outcomes);
        let errors: Vec<&String> = seen.errors.keys().collect();
        assert!(errors[0].contains("1001, going away"), "{errors:?}");
        eventually("the code comes back", || {
            let log = log.lock().unwrap();
            let closes = log.iter().filter(|it| it.first == FIN | CLOSE);
            closes
                .filter(|it| it.payload == 1001_u16.to_be_bytes())
                .count()
                == 3
        });
    }
}
