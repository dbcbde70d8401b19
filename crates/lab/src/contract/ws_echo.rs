//! `ws-echo`: every message over WebSocket comes back, as text or binary as it was, at `/`; pings and close frames are
//! answered; what no client may send ends the connection.

use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::wire::{Bounds, Fault, Patience, QUIET, Wire, describe};
use super::ws_peer::{
    BINARY, CLOSE, CONTINUATION, FIN, Message, PING, Peer, RESERVED, TEXT, frame, key, unmasked,
};
use super::{Act, Depth, SILENCE_LIMIT, Visit, Wanted};
use prony_engine::Dialogue;
use prony_engine::protocol::ws::{Upgrade, WsMessages};
use prony_engine::protocol::{HttpRequest, Limits};

/// Around every change of how a frame's length is written: 125 is the longest of one byte, 65535 the longest of two.
const SIZES: [usize; 9] = [0, 1, 6, 125, 126, 1_000, 65_535, 65_536, 70_001];

/// The large message.
const LARGE: usize = 1 << 20;

/// Connections used at once by the interleaving step.
const INTERLEAVED: usize = 8;

/// Connections held open at once.
const MANY: usize = 200;

/// Messages sent before any answer is read.
const PIPELINED: usize = 16;

/// Messages that are looked at before a load.
const SAMPLES: usize = 3;

/// Between the pieces of a handshake, so that the server sees several reads.
const PAUSE: Duration = Duration::from_millis(1);

/// Letters of one to four bytes.
const LETTERS: [char; 8] = ['a', 'Z', 'é', 'ß', '€', '語', '🦀', '𝄞'];

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "first-message",
        tried: "a handshake, and 32 random bytes sent",
        from: Depth::Quick,
        run: first_message,
    },
    Act {
        name: "sizes",
        tried: "messages of many sizes on one connection",
        from: Depth::Quick,
        run: sizes,
    },
    Act {
        name: "text-and-binary",
        tried: "text and binary messages in turns",
        from: Depth::Quick,
        run: text_and_binary,
    },
    Act {
        name: "fragments",
        tried: "a message in fragments, with a ping between them",
        from: Depth::Quick,
        run: fragments,
    },
    Act {
        name: "byte-by-byte",
        tried: "a handshake sent in pieces, and frames byte by byte",
        from: Depth::Quick,
        run: byte_by_byte,
    },
    Act {
        name: "pipelined",
        tried: "16 messages sent before any answer is read",
        from: Depth::Quick,
        run: pipelined,
    },
    Act {
        name: "interleaved",
        tried: "several connections used in turns",
        from: Depth::Quick,
        run: interleaved,
    },
    Act {
        name: "ping",
        tried: "pings with and without a payload",
        from: Depth::Quick,
        run: ping,
    },
    Act {
        name: "close",
        tried: "a close frame with a code",
        from: Depth::Quick,
        run: close,
    },
    Act {
        name: "large-message",
        tried: "1 MiB in one message, whole and in fragments",
        from: Depth::Full,
        run: large,
    },
    Act {
        name: "many-connections",
        tried: "200 connections open at once",
        from: Depth::Full,
        run: many,
    },
    Act {
        name: "broken-off",
        tried: "clients that break off with their answers unread",
        from: Depth::Full,
        run: broken_off,
    },
    Act {
        name: "unmasked",
        tried: "a frame that is not masked",
        from: Depth::Full,
        run: unmasked_frame,
    },
    Act {
        name: "bad-handshakes",
        tried: "requests that are no handshake",
        from: Depth::Full,
        run: bad_handshakes,
    },
    Act {
        name: "bad-frames",
        tried: "frames that no client may send",
        from: Depth::Thorough,
        run: bad_frames,
    },
    Act {
        name: "bad-text",
        tried: "a text message that is not UTF-8",
        from: Depth::Thorough,
        run: bad_text,
    },
];

/// Dialogue of a load: a handshake, and messages that come back.
pub(super) fn dialogue(addr: SocketAddr, load: Wanted<'_>) -> Dialogue {
    let upgrade = Upgrade::new(&HttpRequest::get(addr.to_string(), "/"), &[]);
    Dialogue::Ws(Box::new(WsMessages {
        upgrade: upgrade.expect("no fields are given"),
        text: load.text,
        size: load.size,
        limits: Limits::default(),
    }))
}

/// Sends some messages as a load will, on one connection, and reads them back.
pub(crate) fn echoes(
    addr: SocketAddr,
    request: &HttpRequest,
    offered: &[String],
    (size, text): (u32, bool),
) -> Result<(), String> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(rand::random());
    let mut head = request.encode();
    head.truncate(head.len() - 2);
    let mut head = String::from_utf8_lossy(&head).into_owned();
    if !offered.is_empty() {
        head += &format!("Sec-WebSocket-Protocol: {}\r\n", offered.join(", "));
    }
    let wire = Wire::open(addr, &Patience::new(Bounds::of_silence(SILENCE_LIMIT)))
        .map_err(|error| format!("cannot connect to {addr}: {error}"))?;
    let all = || {
        let mut peer = Peer::open(wire, &head, offered, &mut rng)?;
        for _ in 0..SAMPLES {
            let message = match text {
                true => text_of(&mut rng, size as usize),
                false => binary_of(&mut rng, size as usize),
            };
            peer.exchange(&message, &mut rng)?;
        }
        Ok(())
    };
    all().map_err(|fault: Fault| format!("expected {}; found {}", fault.expected, fault.found))
}

fn head(visit: &Visit<'_>) -> String {
    format!("GET / HTTP/1.1\r\nHost: {}\r\n", visit.addr)
}

fn open(visit: &mut Visit<'_>) -> Result<Peer, Fault> {
    let wire = visit.open()?;
    let head = head(visit);
    Peer::open(wire, &head, &[], &mut visit.rng)
}

/// Message of random bytes, never the same twice.
fn binary(visit: &mut Visit<'_>, size: usize) -> Message {
    binary_of(&mut visit.rng, size)
}

fn binary_of(rng: &mut impl Rng, size: usize) -> Message {
    let mut payload = vec![0; size];
    rng.fill_bytes(&mut payload);
    let kind = BINARY;
    Message { kind, payload }
}

/// Message of random letters, at most `size` bytes long and at least three fewer.
fn text(visit: &mut Visit<'_>, size: usize) -> Message {
    text_of(&mut visit.rng, size)
}

fn text_of(rng: &mut impl Rng, size: usize) -> Message {
    let mut all = String::with_capacity(size);
    loop {
        let letter = LETTERS[rng.random_range(0..LETTERS.len())];
        if all.len() + letter.len_utf8() > size {
            let payload = all.into_bytes();
            return Message {
                kind: TEXT,
                payload,
            };
        }
        all.push(letter);
    }
}

fn either(visit: &mut Visit<'_>, size: usize) -> Message {
    match visit.rng.random() {
        true => text(visit, size),
        false => binary(visit, size),
    }
}

fn first_message(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    let message = binary(visit, 32);
    peer.exchange(&message, &mut visit.rng)?;
    peer.expect_nothing_more()
}

fn sizes(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    for size in SIZES {
        let message = binary(visit, size);
        peer.exchange(&message, &mut visit.rng)?;
    }
    Ok(())
}

fn text_and_binary(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    for size in [0, 5, 40, 130, 3_000] {
        let messages = [text(visit, size), binary(visit, size), text(visit, size)];
        for message in messages {
            peer.exchange(&message, &mut visit.rng)?;
        }
    }
    Ok(())
}

/// A message in `n` fragments or one more, each followed by what `between` gives.
fn send_fragments(
    visit: &mut Visit<'_>,
    peer: &Peer,
    message: &Message,
    n: usize,
    mut between: impl FnMut(&mut Visit<'_>) -> Vec<u8>,
) -> Result<(), Fault> {
    let pieces: Vec<&[u8]> = message.payload.chunks(message.payload.len() / n).collect();
    for (nth, piece) in pieces.iter().enumerate() {
        let opcode = if nth == 0 { message.kind } else { CONTINUATION };
        let last = nth + 1 == pieces.len();
        let first = if last { FIN | opcode } else { opcode };
        let mut bytes = frame(first, piece, &mut visit.rng);
        if !last {
            bytes.extend(between(visit));
        }
        peer.send_raw(&bytes)?;
    }
    Ok(())
}

fn fragments(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    for size in [50, 301] {
        // A letter may lie in two fragments.
        let message = either(visit, size);
        let said = binary(visit, 17).payload;
        let mut pinged = false;
        send_fragments(visit, &peer, &message, 3, |visit| {
            match std::mem::replace(&mut pinged, true) {
                true => Vec::new(),
                false => frame(FIN | PING, &said, &mut visit.rng),
            }
        })?;
        peer.expect(&message, &mut visit.rng)?;
        peer.expect_pong(&said, &mut visit.rng)?;
    }
    Ok(())
}

fn byte_by_byte(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wire = visit.open()?;
    let key = key(&mut visit.rng);
    let request = format!("{}{}\r\n", head(visit), super::ws_peer::fields(&key));
    // Some stacks take a handshake in more than 60 single bytes for an attack.
    for piece in request.as_bytes().chunks(request.len() / 20) {
        wire.send(piece)
            .map_err(|error| Fault::io("the server to take a handshake in pieces", &error))?;
        thread::sleep(PAUSE);
    }
    let mut peer = Peer::agreed(wire, &key, &[])?;
    for size in [10, 130] {
        let message = either(visit, size);
        let bytes = frame(FIN | message.kind, &message.payload, &mut visit.rng);
        // Pauses after the first byte, in the mask, and before the last.
        peer.wire
            .send_in_crumbs(&bytes, &[1, 4, bytes.len() - 1])
            .map_err(|error| Fault::io("the server to take single bytes", &error))?;
        peer.expect(&message, &mut visit.rng)?;
    }
    Ok(())
}

fn pipelined(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    let (mut messages, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..PIPELINED {
        let size = visit.rng.random_range(0..500);
        let message = either(visit, size);
        bytes.extend(frame(FIN | message.kind, &message.payload, &mut visit.rng));
        messages.push(message);
    }
    peer.send_raw(&bytes)?;
    for message in &messages {
        peer.expect(message, &mut visit.rng)?;
    }
    peer.expect_nothing_more()
}

/// One message on each connection: sent in two pieces, in random order; read in another order.
fn round(visit: &mut Visit<'_>, peers: &mut [Peer], size: usize) -> Result<(), Fault> {
    let messages: Vec<Message> = peers.iter().map(|_| binary(visit, size)).collect();
    let frames: Vec<Vec<u8>> = messages
        .iter()
        .map(|message| frame(FIN | message.kind, &message.payload, &mut visit.rng))
        .collect();
    for half in 0..2 {
        for i in visit.shuffled(peers.len()) {
            let (first, second) = frames[i].split_at(size / 3);
            peers[i].send_raw(if half == 0 { first } else { second })?;
        }
    }
    for i in visit.shuffled(peers.len()) {
        peers[i].expect(&messages[i], &mut visit.rng)?;
    }
    Ok(())
}

fn interleaved(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peers = Vec::new();
    for _ in 0..INTERLEAVED {
        peers.push(open(visit)?);
    }
    for _ in 0..visit.choose(2, 5) {
        round(visit, &mut peers, 300)?;
    }
    Ok(())
}

fn ping(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    for size in [0, 20, 125] {
        let said = binary(visit, size).payload;
        peer.send(FIN | PING, &said, &mut visit.rng)?;
        peer.expect_pong(&said, &mut visit.rng)?;
    }
    let message = binary(visit, 8);
    peer.exchange(&message, &mut visit.rng)
}

fn close(visit: &mut Visit<'_>) -> Result<(), Fault> {
    // 4000 to 4999 are for private use.
    let private = visit.rng.random_range(4000..5000);
    for (code, reason) in [(1000, ""), (private, "done")] {
        let mut peer = open(visit)?;
        let message = binary(visit, 20);
        peer.exchange(&message, &mut visit.rng)?;
        let payload = [&u16::to_be_bytes(code)[..], reason.as_bytes()].concat();
        peer.send(FIN | CLOSE, &payload, &mut visit.rng)?;
        let expected = format!("a close frame with code {code}");
        let answer = peer.expect_close(&expected)?;
        let found = match answer.first_chunk() {
            Some(found) if u16::from_be_bytes(*found) == code => continue,
            Some(found) => u16::from_be_bytes(*found).to_string(),
            None => "a close frame without a code".into(),
        };
        return Err(Fault::new(expected, found));
    }
    Ok(())
}

fn large(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    for message in [binary(visit, LARGE), text(visit, LARGE)] {
        peer.exchange(&message, &mut visit.rng)?;
    }
    let message = binary(visit, LARGE / 4);
    send_fragments(visit, &peer, &message, 40, |_| Vec::new())?;
    peer.expect(&message, &mut visit.rng)
}

fn many(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peers = Vec::with_capacity(MANY);
    for _ in 0..MANY {
        // Each is used before the next is opened: this step is about connections held at once,
        // not about the listen backlog.
        let mut peer = open(visit)?;
        let message = binary(visit, 8);
        peer.exchange(&message, &mut visit.rng)?;
        peers.push(peer);
    }
    round(visit, &mut peers, 64)
}

fn broken_off(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut bystander = open(visit)?;
    // Closing with unread bytes sends a reset (RFC 9293, 3.6.1). A small message finds the server
    // reading when the reset comes, a large one finds it writing.
    for size in [64, 256 * 1024, 64] {
        let peer = open(visit)?;
        let message = binary(visit, size);
        let bytes = frame(FIN | BINARY, &message.payload, &mut visit.rng);
        let sent = peer.wire.send_without_waiting(&bytes);
        if size == 64 {
            sent.and_then(|()| peer.wire.hear_without_taking())
                .map_err(|error| Fault::io("a new connection to be served", &error))?;
        }
    }
    thread::sleep(QUIET);
    let alive = |fault: Fault| {
        let expected = format!("the server to live on: {}", fault.expected);
        Fault::new(expected, fault.found)
    };
    let message = binary(visit, 64);
    bystander
        .exchange(&message, &mut visit.rng)
        .map_err(alive)?;
    let mut newcomer = open(visit).map_err(alive)?;
    newcomer.exchange(&message, &mut visit.rng).map_err(alive)
}

fn unmasked_frame(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    let message = binary(visit, 20);
    peer.exchange(&message, &mut visit.rng)?;
    peer.send_raw(&unmasked(FIN | BINARY, &binary(visit, 20).payload))?;
    peer.expect_failure("a frame that is not masked")
}

fn bad_handshakes(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let key = key(&mut visit.rng);
    let good = format!("{}{}\r\n", head(visit), super::ws_peer::fields(&key));
    for (what, request) in [
        (
            "without Upgrade",
            good.replace("Upgrade: websocket\r\n", ""),
        ),
        (
            "without Connection: Upgrade",
            good.replace("Connection: Upgrade\r\n", ""),
        ),
        ("of version 12", good.replace("Version: 13", "Version: 12")),
        ("without a key", good.replace("Sec-WebSocket-Key", "X-Key")),
    ] {
        let wire = visit.open()?;
        let expected = format!("a handshake {what} to be refused");
        wire.send(request.as_bytes())
            .map_err(|error| Fault::io(expected.as_str(), &error))?;
        let mut answer = [0; 1024];
        let mut length = 0;
        // Enough to see the status. Closing without an answer is a refusal too.
        while length < 12 {
            match wire.hear(&mut answer[length..]) {
                Ok(super::wire::ReadResult::Bytes(n)) => length += n,
                Ok(super::wire::ReadResult::Silence) => {
                    return Err(Fault::new(expected, wire.patience().ran_out()));
                }
                Ok(super::wire::ReadResult::End) | Err(_) => break,
            }
        }
        if answer[..length].starts_with(b"HTTP/1.1 101") {
            return Err(Fault::new(expected, "HTTP/1.1 101"));
        }
    }
    let mut peer = open(visit)?;
    let message = binary(visit, 20);
    peer.exchange(&message, &mut visit.rng)
}

fn bad_frames(visit: &mut Visit<'_>) -> Result<(), Fault> {
    for (what, first, size) in [
        ("a reserved bit", FIN | RESERVED | BINARY, 20),
        ("an unknown opcode", FIN | 3, 20),
        ("an unknown control opcode", FIN | 11, 20),
        ("a ping of 126 bytes", FIN | PING, 126),
        ("a ping in fragments", PING, 20),
        ("a continuation of no message", FIN | CONTINUATION, 20),
        ("a close frame of one byte", FIN | CLOSE, 1),
    ] {
        let mut peer = open(visit)?;
        let payload = binary(visit, size).payload;
        let bytes = frame(first, &payload, &mut visit.rng);
        // The server may be quicker to close than the client is to send.
        if let Err(error) = peer.wire.send(&bytes)
            && error.kind() == std::io::ErrorKind::TimedOut
        {
            return Err(Fault::new("the server to take a frame", describe(&error)));
        }
        peer.expect_failure(what)?;
    }
    Ok(())
}

fn bad_text(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut peer = open(visit)?;
    let mut payload = text(visit, 30).payload;
    // A byte that no UTF-8 has.
    payload.push(0xff);
    peer.send(FIN | TEXT, &payload, &mut visit.rng)?;
    peer.expect_failure("text that is not UTF-8")
}
