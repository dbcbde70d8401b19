//! The contract ws-echo: honest servers pass, and each cheat is caught by the step meant for it.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::time::Duration;

use crate::support::{inspect, serve};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use prony_lab::contract::{Contract, Depth, Inspection};
use sha1::{Digest, Sha1};

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FIN: u8 = 0x80;

/// A frame that came, as it was.
#[derive(Debug, Clone)]
struct Frame {
    first: u8,
    masked: bool,
    payload: Vec<u8>,
}

impl Frame {
    fn opcode(&self) -> u8 {
        self.first & 0x0f
    }
}

fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        n @ 0..=125 => out.push(n as u8),
        n @ 126..=0xffff => {
            out.push(126);
            out.extend_from_slice(&(n as u16).to_be_bytes());
        }
        n => {
            out.push(127);
            out.extend_from_slice(&(n as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
    out
}

fn read<const N: usize>(stream: &mut TcpStream) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).ok().map(|()| bytes)
}

fn next(stream: &mut TcpStream) -> Option<Frame> {
    let [first, second] = read(stream)?;
    let length = match second & 0x7f {
        126 => u64::from(u16::from_be_bytes(read(stream)?)),
        127 => u64::from_be_bytes(read(stream)?),
        n => u64::from(n),
    };
    let masked = second & 0x80 != 0;
    let key: [u8; 4] = if masked { read(stream)? } else { [0; 4] };
    let mut payload = vec![0; usize::try_from(length).ok()?];
    stream.read_exact(&mut payload).ok()?;
    for (nth, byte) in payload.iter_mut().enumerate() {
        *byte ^= key[nth % 4];
    }
    Some(Frame {
        first,
        masked,
        payload,
    })
}

/// The head of a handshake, up to its empty line.
fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.extend_from_slice(&read::<1>(stream)?);
    }
    String::from_utf8(head).ok()
}

/// The answer to a handshake; None when it is none that can be agreed to.
fn agreement(head: &str) -> Option<String> {
    let field = |name: &str| {
        let lines = head.lines().filter_map(|line| line.split_once(": "));
        let mut named = lines.filter(|line| line.0.eq_ignore_ascii_case(name));
        named.next().map(|line| line.1)
    };
    let key = field("Sec-WebSocket-Key")?;
    let good = field("Upgrade") == Some("websocket")
        && field("Connection") == Some("Upgrade")
        && field("Sec-WebSocket-Version") == Some("13");
    let digest = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    let accept = BASE64_STANDARD.encode(digest);
    good.then(|| {
        format!("HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n")
    })
}

/// Behaviour of a server, right or wrong; the default does nothing wrong.
#[derive(Clone, Copy)]
struct Ways {
    agree: fn(&str) -> Option<String>,
    /// The frames that answer a whole message, from its kind and its payload.
    answer: fn(u8, &[u8]) -> Vec<u8>,
    pong: fn(&[u8]) -> Vec<u8>,
    close: fn(&[u8]) -> Vec<u8>,
    takes_unmasked: bool,
    takes_anything: bool,
    takes_bad_text: bool,
    /// A control frame between fragments ends the message.
    forgets_fragments: bool,
}

const HONEST: Ways = Ways {
    agree: agreement,
    answer: |kind, payload| frame(FIN | kind, payload),
    pong: |payload| frame(FIN | PONG, payload),
    close: |payload| frame(FIN | CLOSE, &payload[..payload.len().min(2)]),
    takes_unmasked: false,
    takes_anything: false,
    takes_bad_text: false,
    forgets_fragments: false,
};

fn is_wrong(it: &Frame, inside: bool, ways: &Ways) -> bool {
    let control = it.opcode() >= CLOSE;
    let wrong = it.first & 0x70 != 0
        || !matches!(it.opcode(), 0..=2 | 8..=10)
        || (control && (it.first & FIN == 0 || it.payload.len() > 125))
        || (!control && (it.opcode() == CONTINUATION) != inside)
        || (it.opcode() == CLOSE && it.payload.len() == 1);
    (!it.masked && !ways.takes_unmasked) || (wrong && !ways.takes_anything)
}

fn converse(mut stream: TcpStream, ways: &Ways) -> Option<()> {
    let head = head(&mut stream)?;
    let Some(agreement) = (ways.agree)(&head) else {
        let _ =
            stream.write_all(b"HTTP/1.1 400 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        return None;
    };
    stream.write_all(agreement.as_bytes()).ok()?;
    let mut message: Option<(u8, Vec<u8>)> = None;
    loop {
        let it = next(&mut stream)?;
        if is_wrong(&it, message.is_some(), ways) {
            let _ = stream.write_all(&frame(FIN | CLOSE, &1002_u16.to_be_bytes()));
            return None;
        }
        match it.opcode() {
            PING => {
                stream.write_all(&(ways.pong)(&it.payload)).ok()?;
                if ways.forgets_fragments {
                    message = message.map(|(kind, _)| (kind, Vec::new()));
                }
                continue;
            }
            CLOSE => {
                let _ = stream.write_all(&(ways.close)(&it.payload));
                let _ = stream.shutdown(Shutdown::Write);
                while read::<1>(&mut stream).is_some() {}
                return None;
            }
            PONG => continue,
            kind => {
                let (_, all) = message.get_or_insert((kind, Vec::new()));
                all.extend_from_slice(&it.payload);
            }
        }
        if it.first & FIN != 0 {
            let (kind, payload) = message.take()?;
            if kind == TEXT && std::str::from_utf8(&payload).is_err() && !ways.takes_bad_text {
                let _ = stream.write_all(&frame(FIN | CLOSE, &1007_u16.to_be_bytes()));
                return None;
            }
            stream.write_all(&(ways.answer)(kind, &payload)).ok()?;
        }
    }
}

fn server(ways: Ways) -> SocketAddr {
    serve(move |stream, _| {
        let _ = converse(stream, &ways);
    })
}

fn caught_at(depth: Depth, step: &str, addr: SocketAddr) {
    for seed in 1..=2 {
        // Silent cheats cost this much each; for the steps before it is long also on a busy machine.
        let how = Inspection::new(depth, seed).within(Duration::from_secs(2));
        match inspect(Contract::WsEcho, addr, &how) {
            Ok(_) => panic!("seed {seed}: the cheat went unnoticed"),
            Err(violation) => {
                assert_eq!(violation.step, step, "{violation}");
                let line = violation.to_string();
                assert!(
                    line.len() < 600 && !line.contains('\n'),
                    "not one line: {line}"
                );
            }
        }
    }
}

// Slow: 2 servers x 14 verifications.
#[test]
fn an_honest_server_passes() {
    let fragments = |kind, payload: &[u8]| {
        // In fragments, with a ping in between that the client answers.
        let (one, two) = payload.split_at(payload.len() / 2);
        [
            frame(kind, one),
            frame(FIN | PING, b"?"),
            frame(FIN | CONTINUATION, two),
        ]
        .concat()
    };
    for answer in [HONEST.answer, fragments] {
        let addr = server(Ways { answer, ..HONEST });
        let ready = Contract::WsEcho.probe(addr, Duration::from_secs(60));
        ready.expect("a ready server");
        for (depth, seeds) in [(Depth::Quick, 10), (Depth::Full, 3), (Depth::Thorough, 1)] {
            for seed in 0..seeds {
                if let Err(violation) =
                    inspect(Contract::WsEcho, addr, &Inspection::new(depth, seed))
                {
                    panic!("seed {seed}, {depth:?}: {violation}");
                }
            }
        }
    }
}

/// Frames that a server sends for a message of this kind with this payload.
type Answer = fn(u8, &[u8]) -> Vec<u8>;

// Slow: two of the cheats are silent for 2 s, with 2 seeds.
#[test]
fn answers_that_are_not_what_was_sent_are_caught() {
    let answers: [(&str, Answer); 9] = [
        ("first-message", |kind, payload| {
            frame(FIN | kind, &vec![b'x'; payload.len()])
        }),
        ("first-message", |kind, payload| {
            frame(FIN | kind, &payload[..payload.len().min(9)])
        }),
        ("first-message", |kind, payload| {
            [frame(FIN | kind, payload), vec![0]].concat()
        }),
        ("first-message", |kind, payload| {
            frame(FIN | kind, payload).repeat(2)
        }),
        ("first-message", |_, payload| frame(FIN | TEXT, payload)),
        ("first-message", |_, _| Vec::new()),
        ("text-and-binary", |_, payload| frame(FIN | BINARY, payload)),
        ("sizes", |kind, payload| {
            frame(FIN | kind, &payload[..payload.len().min(1000)])
        }),
        ("sizes", |kind, payload| match payload.len() {
            0 => Vec::new(),
            _ => frame(FIN | kind, payload),
        }),
    ];
    for (step, answer) in answers {
        caught_at(Depth::Quick, step, server(Ways { answer, ..HONEST }));
    }
    let cut = |kind, payload: &[u8]| frame(FIN | kind, &payload[..payload.len().min(100_000)]);
    caught_at(
        Depth::Full,
        "large-message",
        server(Ways {
            answer: cut,
            ..HONEST
        }),
    );
}

#[test]
fn frames_that_no_server_may_send_are_caught() {
    let answers: [Answer; 4] = [
        |kind, payload| frame(FIN | 0x40 | kind, payload),
        |_, payload| frame(FIN | 3, payload),
        |kind, payload| {
            let mut out = frame(FIN | kind, payload);
            out[1] |= 0x80;
            out.splice(2..2, [0; 4]);
            out
        },
        |kind, payload| {
            [
                &[FIN | kind, 127, 0, 0, 0, 0, 0, 0, 0, payload.len() as u8],
                payload,
            ]
            .concat()
        },
    ];
    for answer in answers {
        caught_at(
            Depth::Quick,
            "first-message",
            server(Ways { answer, ..HONEST }),
        );
    }
}

#[test]
fn the_first_message_remembered() {
    static FIRST: OnceLock<Vec<u8>> = OnceLock::new();
    let answer = |kind, payload: &[u8]| {
        let first = FIRST.get_or_init(|| payload.to_vec());
        let all = first.iter().copied().cycle().take(payload.len());
        frame(FIN | kind, &all.collect::<Vec<u8>>())
    };
    let how = Inspection::new(Depth::Quick, 1).within(Duration::from_secs(2));
    let violation = inspect(Contract::WsEcho, server(Ways { answer, ..HONEST }), &how);
    assert_eq!(violation.unwrap_err().step, "sizes");
}

#[test]
fn wrong_handshakes_are_caught() {
    let agreements: [fn(&str) -> Option<String>; 5] = [
        |_| Some("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".into()),
        |head| agreement(head).map(|it| it.replace("Accept: ", "Accept: A")),
        |head| agreement(head).map(|it| it.replace("Upgrade: websocket\r\n", "")),
        |head| {
            agreement(head)
                .map(|it| it.replace("Upgrade: w", "Sec-WebSocket-Extensions: x\r\nUpgrade: w"))
        },
        |_| None,
    ];
    for agree in agreements {
        caught_at(
            Depth::Quick,
            "first-message",
            server(Ways { agree, ..HONEST }),
        );
    }
    let anything: fn(&str) -> Option<String> = |head| {
        agreement(head).or_else(|| Some("HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\n\r\n".into()))
    };
    caught_at(
        Depth::Full,
        "bad-handshakes",
        server(Ways {
            agree: anything,
            ..HONEST
        }),
    );
}

// Slow: one of the cheats is silent for 2 s, with 2 seeds.
#[test]
fn control_frames_that_are_forgotten_are_caught() {
    let none = |_: &[u8]| Vec::new();
    caught_at(
        Depth::Quick,
        "fragments",
        server(Ways {
            pong: none,
            ..HONEST
        }),
    );
    let empty = |_: &[u8]| frame(FIN | PONG, b"");
    caught_at(
        Depth::Quick,
        "fragments",
        server(Ways {
            pong: empty,
            ..HONEST
        }),
    );
    let short = |payload: &[u8]| frame(FIN | PONG, &payload[..payload.len().min(100)]);
    caught_at(
        Depth::Quick,
        "ping",
        server(Ways {
            pong: short,
            ..HONEST
        }),
    );
    caught_at(
        Depth::Quick,
        "close",
        server(Ways {
            close: none,
            ..HONEST
        }),
    );
    let always_1000 = |_: &[u8]| frame(FIN | CLOSE, &1000_u16.to_be_bytes());
    caught_at(
        Depth::Quick,
        "close",
        server(Ways {
            close: always_1000,
            ..HONEST
        }),
    );
    let forgets_fragments = true;
    caught_at(
        Depth::Quick,
        "fragments",
        server(Ways {
            forgets_fragments,
            ..HONEST
        }),
    );
}

#[test]
fn what_no_client_may_send_must_not_be_taken() {
    let takes_unmasked = true;
    caught_at(
        Depth::Full,
        "unmasked",
        server(Ways {
            takes_unmasked,
            ..HONEST
        }),
    );
    let takes_anything = true;
    caught_at(
        Depth::Thorough,
        "bad-frames",
        server(Ways {
            takes_anything,
            ..HONEST
        }),
    );
    let takes_bad_text = true;
    caught_at(
        Depth::Thorough,
        "bad-text",
        server(Ways {
            takes_bad_text,
            ..HONEST
        }),
    );
}

// Slow: waits for 2 s of silence, with 2 seeds.
#[test]
fn a_read_taken_for_a_frame_is_caught() {
    let addr = serve(|mut stream, _| {
        let agreed = head(&mut stream).and_then(|head| agreement(&head));
        let _ = stream.write_all(agreed.unwrap_or_default().as_bytes());
        let mut buffer = vec![0; 200_000];
        let mut whole = stream.try_clone().expect("a live socket");
        loop {
            // What is too long for a read is read as it should be.
            let Ok(n @ 1..) = stream.peek(&mut buffer) else {
                return;
            };
            if n < 6 {
                let _ = stream.read(&mut buffer[..n]);
                continue;
            }
            let Some(frame_in) = next(&mut whole) else {
                return;
            };
            let payload = &frame_in.payload;
            let out = match frame_in.opcode() {
                PING => frame(FIN | PONG, payload),
                CLOSE => frame(FIN | CLOSE, payload),
                _ => frame(frame_in.first, payload),
            };
            if stream.write_all(&out).is_err() {
                return;
            }
        }
    });
    caught_at(Depth::Quick, "byte-by-byte", addr);
}
