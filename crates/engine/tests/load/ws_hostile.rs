//! Servers that break WebSocket, in the handshake and after it, or answer wrongly: no request is lost.

use crate::invariants::conserved;
use crate::servers::Server;
use crate::support::*;
use crate::ws::{N, SIZE, Said, messages, plans, upgrade};
use crate::ws_server::*;
use prony_engine::protocol::ws::{WsProbeError, probe};
use prony_engine::{Dialogue, Plan, Remedy};
use prony_record::Outcomes;
use std::io;
use std::time::Duration;

fn refused(of: &Outcomes) -> bool {
    of.connect_error == N
}

fn wrong(of: &Outcomes) -> bool {
    of.wrong_answer == N
}

/// One of the requests in flight has a wrong answer, the others have none.
fn broken(of: &Outcomes) -> bool {
    of.ok == 0 && of.wrong_answer > 0 && of.wrong_answer + of.read_error == N
}

/// The server has closed the connection; what a busy machine sends only then cannot be written.
fn cut_off(of: &Outcomes) -> bool {
    of.read_error > 0 && of.read_error + of.write_error == N
}

/// The oldest request takes too long, and the others on its connection end with it.
fn timed_out(of: &Outcomes) -> bool {
    of.timeout > 0 && of.timeout + of.read_error == N
}

fn unasked(of: &Outcomes) -> bool {
    // With others in flight what comes twice is taken for the answer to the next.
    of.unsolicited + of.wrong_answer > 0 && of.ok + of.wrong_answer + of.read_error == N
}

struct Hostile {
    name: &'static str,
    shows: fn(&Outcomes) -> bool,
    /// Text that must be in an error or a wrong answer.
    told: &'static str,
    server: Server,
}

/// Servers that spoil the handshake.
fn refusing() -> Vec<Hostile> {
    let it = |name, told, change: fn(String) -> String| Hostile {
        name,
        shows: refused,
        told,
        server: Server::tcp(move |it| {
            let agreed = move |head: &str| change(agreement(head)).into_bytes();
            speak(it, agreed, |frame| Ok(frame.echoed()))
        }),
    };
    vec![
        it("plain HTTP", "status 200, not 101", |_| {
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello".into()
        }),
        it("not found", "status 404, not 101", |_| {
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".into()
        }),
        it("another accept key", "does not fit the key", |it| {
            let at = it.find("Accept: ").unwrap() + 8;
            format!("{}{}", &it[..at], "AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n\r\n")
        }),
        it("no accept key", "no Sec-WebSocket-Accept", |it| {
            it.replace("Accept", "Except")
        }),
        it("another protocol", "no Upgrade", |it| {
            it.replace(": websocket", ": h2c")
        }),
        it("no upgrade", "no Connection", |it| {
            it.replace("Connection: Upgrade\r\n", "")
        }),
        it("an extension", "extension", |it| {
            it.replace(
                "Upgrade: w",
                "Sec-WebSocket-Extensions: permessage-deflate\r\nUpgrade: w",
            )
        }),
        it("a subprotocol", "subprotocol", |it| {
            it.replace("Upgrade: w", "Sec-WebSocket-Protocol: chat\r\nUpgrade: w")
        }),
        it("garbage", "not HTTP/1.1", |_| {
            "\u{1}\u{2}\u{3}\u{4}\r\n\r\n".into()
        }),
        it("a head without an end", "longer than 4096", |_| {
            format!(
                "HTTP/1.1 101 X\r\n{}",
                format!("A: {}\r\n", "b".repeat(600)).repeat(8)
            )
        }),
        Hostile {
            name: "the end in the handshake",
            shows: refused,
            told: "during WebSocket's handshake",
            server: Server::tcp(|it| it.read(&mut [0; 4096]).map(drop)),
        },
        Hostile {
            name: "half a handshake and silence",
            shows: timed_out,
            told: "",
            server: Server::tcp(|it| {
                it.write(b"HTTP/1.1 101 Sw")?;
                it.swallow()
            }),
        },
    ]
}

/// Servers that agree and then break the protocol, or answer wrongly.
fn breaking() -> Vec<Hostile> {
    let it = |name, shows, told, said: Said| Hostile {
        name,
        shows,
        told,
        server: serves(said),
    };
    let constant = [b'x'; SIZE as usize];
    vec![
        it("a masked frame", broken, "is masked", |it| {
            let mut out = it.echoed();
            out[1] |= 0x80;
            out.splice(2..2, [0; 4]);
            out
        }),
        it("a reserved bit", broken, "reserved bit", |it| {
            raw(0xc0 | it.first, &it.payload)
        }),
        it("an unknown opcode", broken, "unknown opcode", |it| {
            frame(5, &it.payload)
        }),
        it(
            "an unknown control opcode",
            broken,
            "unknown opcode",
            |_| frame(13, b""),
        ),
        it("a ping of 126 bytes", broken, "more than 125", |_| {
            frame(PING, &[0; 126])
        }),
        it(
            "a ping in fragments",
            broken,
            "control frame in fragments",
            |_| raw(PING, b"x"),
        ),
        it(
            "a close frame in fragments",
            broken,
            "control frame in fragments",
            |_| raw(CLOSE, b""),
        ),
        it("a close frame of one byte", broken, "one byte", |_| {
            frame(CLOSE, b"\x03")
        }),
        it(
            "a close code that is reserved",
            broken,
            "must not be sent",
            |_| frame(CLOSE, b"\x03\xed"),
        ),
        it(
            "a close reason that is no text",
            broken,
            "not UTF-8",
            |_| frame(CLOSE, b"\x03\xe8\xff"),
        ),
        it(
            "a continuation first",
            broken,
            "continuation of no message",
            |it| frame(CONTINUATION, &it.payload),
        ),
        it("a message inside another", broken, "have ended", |it| {
            [raw(it.first & 0x0f, b"he"), it.echoed()].concat()
        }),
        it("a length above 2^63", broken, "above 2^63", |_| {
            vec![0x82, 127, 255, 255, 255, 255, 255, 255, 255, 255]
        }),
        it(
            "a length beyond the limit",
            broken,
            "longer than 1048576",
            |_| vec![0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0],
        ),
        it(
            "fragments beyond the limit",
            broken,
            "longer than 1048576",
            |it| {
                let first = raw(it.first & 0x0f, &vec![1; 600_000]);
                [first, raw(CONTINUATION, &vec![1; 600_000])].concat()
            },
        ),
        it(
            "a length in too many bytes",
            broken,
            "more bytes than it needs",
            |_| vec![0x82, 126, 0, 5],
        ),
        it(
            "pings without an end",
            broken,
            "10000 frames in a row",
            |_| frame(PING, b"").repeat(20_000),
        ),
        it(
            "empty fragments without an end",
            broken,
            "10000 frames in a row",
            |it| {
                let first = raw(it.first & 0x0f, b"");
                [first, raw(CONTINUATION, b"").repeat(20_000)].concat()
            },
        ),
        Hostile {
            server: serves(move |it| raw(it.first, &constant)),
            ..it("a constant", wrong, "another body", Frame::echoed)
        },
        it(
            "only the first half",
            wrong,
            "a body of 24 bytes, expected 48",
            |it| raw(it.first, &it.payload[..SIZE as usize / 2]),
        ),
        it(
            "one byte more",
            wrong,
            "a body of 49 bytes, expected 48",
            |it| raw(it.first, &[&it.payload[..], b"x"].concat()),
        ),
        it("nothing", wrong, "a body of 0 bytes, expected 48", |it| {
            raw(it.first, b"")
        }),
        it(
            "text for binary",
            wrong,
            "a text message, expected a binary one",
            |it| frame(TEXT, &it.payload),
        ),
        it("one bit", wrong, "another body", |it| {
            let mut payload = it.payload.clone();
            payload[40] ^= 4;
            raw(it.first, &payload)
        }),
        it("every message twice", unasked, "", |it| {
            it.echoed().repeat(2)
        }),
        it(
            "a close frame for an answer",
            cut_off,
            "1008, policy",
            |_| frame(CLOSE, b"\x03\xf0no"),
        ),
        it(
            "a close frame without a code",
            cut_off,
            "without a code",
            |_| frame(CLOSE, b""),
        ),
        it(
            "a close frame in a message",
            cut_off,
            "1000, normal",
            |it| {
                [
                    raw(it.first & 0x0f, &it.payload[..9]),
                    frame(CLOSE, b"\x03\xe8"),
                ]
                .concat()
            },
        ),
        it("no answer, and silence", timed_out, "", |_| Vec::new()),
        once("half a frame, and silence", |it| it.echoed()[..20].to_vec()),
        once("half a header, and silence", |_| vec![0x82]),
        Hostile {
            name: "the end for an answer",
            shows: cut_off,
            told: "without a close frame",
            server: Server::tcp(|it| {
                let ends = |_: &Frame| Err(io::ErrorKind::Other.into());
                speak(it, |head| agreement(head).into_bytes(), ends)
            }),
        },
    ]
}

/// Says something to the first message of a connection, and nothing after that.
fn once(name: &'static str, said: Said) -> Hostile {
    Hostile {
        name,
        shows: timed_out,
        told: "",
        server: Server::tcp(move |it| {
            let mut first = true;
            let agreed = |head: &str| agreement(head).into_bytes();
            speak(it, agreed, |frame| {
                Ok(match std::mem::take(&mut first) {
                    true => said(frame),
                    false => Vec::new(),
                })
            })
        }),
    }
}

fn survive(all: &[Hostile], plans: fn(&Server, &Dialogue) -> Vec<Plan>) {
    at_once(24, all, |it| {
        for plan in plans(&it.server, &messages(SIZE, false)) {
            let plan = match it.name.ends_with("silence") {
                true => plan.timeout(Duration::from_millis(200)),
                false => plan,
            };
            let seen = until_done(&plan);
            let (of, name) = (&seen.outcomes, it.name);
            assert!(
                (it.shows)(of),
                "{name}: {} {of:?} {:?}",
                short(&plan),
                seen.errors
            );
            let wrong = seen.wrong_answers.iter().map(|it| format!("{it:?}"));
            let told: Vec<String> = seen.errors.keys().cloned().chain(wrong).collect();
            assert!(
                told.iter().any(|one| one.contains(it.told)) || it.told.is_empty(),
                "{name}: {told:?}"
            );
            conserved(&plan, &seen);
        }
    });
}

/// Where no connection can be made, set-up ends with the time-out, in each load: those that have no set-up, and one that has.
fn without_waiting(server: &Server, dialogue: &Dialogue) -> Vec<Plan> {
    let (mut kept, mut all): (Vec<Plan>, Vec<Plan>) = plans(server, dialogue)
        .into_iter()
        .partition(|plan| plan.load.keepalive);
    all.extend(kept.pop());
    all
}

// Slow: 12 servers at once: one load's set-up waits for the time-out of 10 s, with nearly all.
#[test]
fn no_request_is_lost_to_a_bad_handshake() {
    survive(&refusing(), without_waiting);
}

// Slow: servers fall silent: 12 loads in turn, in 8 of them 12 time-outs of 0.2 s in a row.
#[test]
fn no_request_is_lost_to_bad_frames() {
    survive(&breaking(), plans);
}

// Slow: set-up of a load waits for the time-out of 10 s.
#[test]
fn messages_that_come_unasked_are_no_answers() {
    // Before anything is asked.
    let server = Server::tcp(|it| {
        let agreed = |head: &str| [agreement(head).into_bytes(), frame(TEXT, b"welcome")].concat();
        speak(it, agreed, |frame| Ok(frame.echoed()))
    });
    for plan in without_waiting(&server, &messages(SIZE, false)) {
        let seen = until_done(&plan);
        assert!(
            seen.outcomes.unsolicited > 0 && seen.outcomes.ok == 0,
            "{:?}",
            seen.outcomes
        );
        conserved(&plan, &seen);
    }
}

#[test]
fn the_mix_up_of_two_messages_in_flight_is_seen() {
    let server = Server::tcp(|it| {
        let mut first: Option<Vec<u8>> = None;
        speak(
            it,
            |head| agreement(head).into_bytes(),
            |frame| {
                // Each pair in the wrong order.
                Ok(match first.take() {
                    None => {
                        first = Some(frame.echoed());
                        Vec::new()
                    }
                    Some(before) => [frame.echoed(), before].concat(),
                })
            },
        )
    });
    let plan = plan(&server.target, messages(SIZE, false), 1, transports()[0]);
    let seen = until_done(&plan.pipeline(2).ends_after(N));
    assert_eq!(seen.outcomes.wrong_answer, N, "{:?}", seen.outcomes);
}

#[test]
fn a_probe_says_what_cannot_work() {
    let try_it = |server: &Server| probe(&server.target, None, &upgrade(), Duration::from_secs(60));
    assert!(try_it(&serves(Frame::echoed)).is_ok());
    for it in refusing() {
        if it.name == "half a handshake and silence" {
            let patience = Duration::from_millis(50);
            let error = probe(&it.server.target, None, &upgrade(), patience).unwrap_err();
            assert!(matches!(error, WsProbeError::Silent(_)), "{error}");
        } else {
            // A probe takes longer heads than these loads.
            let told = match it.name {
                "the end in the handshake" => "closed the connection when",
                "a head without an end" => continue,
                _ => it.told,
            };
            let error = try_it(&it.server).unwrap_err();
            assert!(error.to_string().contains(told), "{}: {error}", it.name);
            let remedy = match it.name {
                "plain HTTP" => Remedy::AnotherPath,
                "not found" => Remedy::WebSocketPath,
                "the end in the handshake" => Remedy::WebSocketPort,
                _ => Remedy::WebSocketServer,
            };
            assert_eq!(error.remedy(), remedy, "{}", it.name);
        }
    }
}
