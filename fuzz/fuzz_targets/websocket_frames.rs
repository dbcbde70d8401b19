//! Bytes from a WebSocket server, with right echoes among them: however they are divided, they read the same, and no
//! answer is right that was not sent.

#![no_main]

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use libfuzzer_sys::fuzz_target;
use prony_engine::protocol::ws::{Upgrade, Ws, WsConn, WsMessages};
use prony_engine::protocol::{
    Answer, Booked, Events, Fault, Fifo, HttpRequest, Limits, Mismatch, Session,
};
use sha1::{Digest, Sha1};
use std::mem::{Discriminant, discriminant};

#[derive(Default)]
struct Seen {
    ready: bool,
    answers: Vec<Answer>,
    ended: bool,
}

impl Events<Fifo> for Seen {
    fn ready(&mut self) {
        self.ready = true;
    }

    fn answered(&mut self, _: Fifo, answer: Answer) -> Booked {
        self.answers.push(answer);
        Booked::default()
    }

    fn ended(&mut self) {
        self.ended = true;
    }

    fn closing(&mut self) {}
}

const SIZE: usize = 6;

/// Bytes of the server: its part of the handshake, and then bytes as the input has them. 0xfe sends the next request
/// back; another byte is sent as it is. Also returns how many requests are sent back.
fn wire(script: &[u8], sent: &[u8], requests: usize) -> (Vec<u8>, usize) {
    let head = sent
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap()
        + 4;
    let text = std::str::from_utf8(&sent[..head]).unwrap();
    let key = text.split("Sec-WebSocket-Key: ").nth(1).unwrap().trim_end();
    let accept = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    let accept = BASE64_STANDARD.encode(accept);
    let mut out = format!(
        "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n"
    )
    .into_bytes();
    // Each request is a header of two bytes, a mask of four, and its payload.
    let mut frames = sent[head..].chunks(2 + 4 + SIZE).take(requests);
    let mut echoed = 0;
    for &byte in script {
        match byte {
            0xfe => {
                if let Some(frame) = frames.next() {
                    out.extend([frame[0], frame[1] & 0x7f]);
                    let key = frame[2..6].iter().cycle();
                    out.extend(frame[6..].iter().zip(key).map(|(byte, key)| byte ^ key));
                    echoed += 1;
                }
            }
            other => out.push(other),
        }
    }
    (out, echoed)
}

/// Answers that were seen, without the bytes that are shown of wrong ones: these depend on what came together.
fn outline(seen: &Seen) -> Vec<(u64, Option<Discriminant<Mismatch>>)> {
    let answers = seen.answers.iter();
    answers
        .map(|answer| (answer.body, answer.wrong.as_ref().map(discriminant)))
        .collect()
}

fn read(
    ws: &mut Ws,
    conn: &mut WsConn,
    wire: &[u8],
    step: usize,
) -> (Seen, Option<Fault>, Vec<u8>) {
    let (mut seen, mut out) = (Seen::default(), Vec::new());
    for part in wire.chunks(step) {
        match ws.received(conn, 0, part, &mut out, &mut seen) {
            Err(Fault::Unsolicited { .. }) => {
                return (seen, Some(Fault::Unsolicited { at: 0 }), out);
            }
            Err(fault) => return (seen, Some(fault), out),
            Ok(()) => {}
        }
        if seen.ended {
            break;
        }
    }
    (seen, None, out)
}

fuzz_target!(|input: &[u8]| {
    let Some((&how, script)) = input.split_first() else {
        return;
    };
    let requests = usize::from(how % 8);
    let messages = WsMessages {
        upgrade: Upgrade::new(&HttpRequest::get("h", "/"), &[]).unwrap(),
        text: how & 0x80 != 0,
        size: SIZE as u32,
        limits: Limits {
            head: 1024,
            body: 1 << 16,
        },
    };
    let mut ws = Ws::new(messages, None);
    // The same state of the generator: the same key, masks and payloads.
    let mut again = ws.clone();
    let mut sent = Vec::new();
    let mut both = [WsConn::default(), WsConn::default()];
    for (session, conn) in [&mut ws, &mut again].into_iter().zip(&mut both) {
        sent.clear();
        session.opened(conn, 0, &mut sent, &mut Seen::default());
        for _ in 0..requests {
            session.request(conn, 0, Fifo, &mut sent);
        }
    }
    let (wire, echoed) = wire(script, &sent, requests);
    let [whole, parts] = &mut both;
    let (one, fault, said) = read(&mut ws, whole, &wire, wire.len());
    let (other, other_fault, other_said) =
        read(&mut again, parts, &wire, usize::from(how / 8 % 8) + 1);
    assert!(one.ready && other.ready);
    assert_eq!(outline(&one), outline(&other));
    assert_eq!(fault, other_fault);
    assert_eq!(said, other_said);
    assert_eq!(one.ended, other.ended);
    assert!(one.answers.len() <= requests);
    let right = one
        .answers
        .iter()
        .filter(|answer| answer.wrong.is_none())
        .count();
    // Six random bytes are not guessed.
    assert!(right <= echoed, "{right} right answers to {echoed} echoes");
    // Control frames are answered by as much at most, with a mask.
    assert!(said.len() <= 3 * wire.len());
});
