//! A client of WebSocket (RFC 6455) that says what a verification needs, right or wrong, and believes nothing. It
//! shares no code with the one that loads, so that two implementations agree.

use std::io;
use std::net::SocketAddr;
use std::thread;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rand::Rng;
use sha1::{Digest, Sha1};

use super::wire::{Fault, ReadResult, Wire, excerpt, sending};

pub(super) const CONTINUATION: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;
/// The bit of a message's last frame, and the first of the reserved ones.
pub(super) const FIN: u8 = 0x80;
pub(super) const RESERVED: u8 = 0x40;

/// The longest head and the longest message that are kept. A verification sends 1 MiB.
const HEAD_LIMIT: usize = 64 << 10;
const MESSAGE_LIMIT: usize = 4 << 20;
/// Pings and pongs in a row, and fragments of a message: no honest server has so many.
const FRAME_LIMIT: u32 = 100_000;
/// Messages this large are written and read at the same time.
const CONCURRENT_FROM: usize = 16 << 10;

/// A frame that the server sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WsFrame {
    pub fin: bool,
    pub opcode: u8,
    pub payload: Vec<u8>,
}

/// A message, or the close frame that came in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    /// TEXT or BINARY.
    pub kind: u8,
    pub payload: Vec<u8>,
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Peer {
    pub wire: Wire,
    heard: Vec<u8>,
    /// Payloads of the pongs since they were last looked at.
    pub pongs: Vec<Vec<u8>>,
}

/// The header fields of a handshake with this key.
pub(super) fn fields(key: &str) -> String {
    format!(
        "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    )
}

/// A fresh key.
pub(super) fn key(rng: &mut impl Rng) -> String {
    let mut nonce = [0; 16];
    rng.fill_bytes(&mut nonce);
    BASE64_STANDARD.encode(nonce)
}

/// Is it ready: is a handshake answered at all? Whether the answer is right is for the verification.
pub(super) fn probe(wire: &Wire, addr: SocketAddr) -> io::Result<()> {
    let fields = fields("dGhlIHNhbXBsZSBub25jZQ==");
    wire.send(format!("GET / HTTP/1.1\r\nHost: {addr}\r\n{fields}\r\n").as_bytes())?;
    let mut answer = [0; 4096];
    match wire.hear(&mut answer)? {
        ReadResult::Bytes(n) if answer[..n.min(5)] == b"HTTP/"[..n.min(5)] => Ok(()),
        ReadResult::Bytes(n) => Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("not HTTP: {}", excerpt(&answer[..n])),
        )),
        ReadResult::End => Err(io::ErrorKind::UnexpectedEof.into()),
        ReadResult::Silence => Err(io::ErrorKind::TimedOut.into()),
    }
}

impl Peer {
    /// Carries out the handshake: `head` is the request up to its fields of WebSocket, which offers these subprotocols.
    pub fn open(
        wire: Wire,
        head: &str,
        offered: &[String],
        rng: &mut impl Rng,
    ) -> Result<Self, Fault> {
        let key = key(rng);
        let request = format!("{head}{}\r\n", fields(&key));
        wire.send(request.as_bytes())
            .map_err(|error| Fault::io("the server to take a handshake", &error))?;
        Self::agreed(wire, &key, offered)
    }

    /// Reads the answer to a handshake that has been sent.
    pub fn agreed(wire: Wire, key: &str, offered: &[String]) -> Result<Self, Fault> {
        let mut it = Self {
            wire,
            heard: Vec::new(),
            pongs: Vec::new(),
        };
        let end = loop {
            if let Some(end) = it.heard.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            if it.heard.len() > HEAD_LIMIT {
                let found = format!("none in {} bytes", it.heard.len());
                return Err(Fault::new("the end of the handshake's head", found));
            }
            more(&it.wire, &mut it.heard, "a whole answer to the handshake")?;
        };
        let head: Vec<u8> = it.heard.drain(..end).collect();
        check_head(&head, key, offered).map(|()| it)
    }

    /// Sends a frame; `first` is its first byte. Masked, unless the server is to refuse it.
    pub fn send(&self, first: u8, payload: &[u8], rng: &mut impl Rng) -> Result<(), Fault> {
        self.send_raw(&frame(first, payload, rng))
    }

    pub fn send_raw(&self, bytes: &[u8]) -> Result<(), Fault> {
        self.wire
            .send(bytes)
            .map_err(|error| Fault::io("the server to take a frame", &error))
    }

    /// Sends a message and reads what comes back; both at once if it is large.
    pub fn exchange(&mut self, message: &Message, rng: &mut impl Rng) -> Result<(), Fault> {
        let bytes = frame(FIN | message.kind, &message.payload, rng);
        if bytes.len() < CONCURRENT_FROM {
            self.send_raw(&bytes)?;
            return self.expect(message, rng);
        }
        let Self { wire, heard, pongs } = self;
        thread::scope(|scope| {
            // What came back says more than why the sending stopped, so that is reported.
            sending(scope, || drop(wire.send(&bytes)))?;
            expect(wire, heard, pongs, message, rng).inspect_err(|_| wire.hang_up())
        })
    }

    /// Exactly this message must come next.
    pub fn expect(&mut self, message: &Message, rng: &mut impl Rng) -> Result<(), Fault> {
        let Self { wire, heard, pongs } = self;
        expect(wire, heard, pongs, message, rng)
    }

    /// A pong with this payload must come, if it has not come already.
    pub fn expect_pong(&mut self, payload: &[u8], rng: &mut impl Rng) -> Result<(), Fault> {
        let expected = || format!("a pong with the ping's {} bytes", payload.len());
        while self.pongs.is_empty() {
            let Self { wire, heard, pongs } = self;
            let frame = next(wire, heard, &expected())?;
            if !attend(wire, pongs, &frame, rng)? {
                return Err(Fault::new(expected(), told(&frame)));
            }
        }
        let pong = self.pongs.remove(0);
        match pong == payload {
            true => Ok(()),
            false => Err(Fault::new(
                format!("{}: {}", expected(), excerpt(payload)),
                excerpt(&pong),
            )),
        }
    }

    /// A close frame must come, and then the end of the connection. Gives its payload.
    pub fn expect_close(&mut self, expected: &str) -> Result<Vec<u8>, Fault> {
        let frame = next(&self.wire, &mut self.heard, expected)?;
        if frame.opcode != CLOSE {
            return Err(Fault::new(expected, told(&frame)));
        }
        let after = "the end of the connection after the close frames";
        if !self.heard.is_empty() {
            return Err(Fault::new(after, excerpt(&self.heard)));
        }
        self.wire.expect_end(after).map(|()| frame.payload)
    }

    /// The server must give the connection up: with a close frame first or without, and without an answer.
    pub fn expect_failure(&mut self, because: &str) -> Result<(), Fault> {
        let expected = format!("the connection to be failed because of {because}");
        let mut buffer = [0; 4096];
        loop {
            match parse(&self.heard) {
                // The end of the connection may wait for the client's answer.
                Ok(Some((_, frame))) if frame.opcode == CLOSE => return Ok(()),
                Ok(Some((_, frame))) => return Err(Fault::new(expected, told(&frame))),
                _ => {}
            }
            match self.wire.hear(&mut buffer) {
                Ok(ReadResult::Bytes(n)) if self.heard.len() < HEAD_LIMIT => {
                    self.heard.extend_from_slice(&buffer[..n]);
                }
                Ok(ReadResult::Bytes(_)) => return Err(Fault::new(expected, excerpt(&self.heard))),
                Ok(ReadResult::Silence) => {
                    let found = format!(
                        "{} after {}",
                        self.wire.patience().ran_out(),
                        excerpt(&self.heard)
                    );
                    return Err(Fault::new(expected, found));
                }
                Ok(ReadResult::End) | Err(_) => return Ok(()),
            }
        }
    }

    /// No byte beyond what was read so far.
    pub fn expect_nothing_more(&self) -> Result<(), Fault> {
        let expected = "nothing after the answer";
        if self.heard.is_empty() {
            self.wire.expect_quiet(super::wire::QUIET, expected)
        } else {
            Err(Fault::new(expected, excerpt(&self.heard)))
        }
    }
}

/// A frame as a client sends it, masked.
pub(super) fn frame(first: u8, payload: &[u8], rng: &mut impl Rng) -> Vec<u8> {
    let mask = rng.next_u32().to_be_bytes();
    let mut out = unmasked(first, payload);
    let head = out.len() - payload.len();
    out[1] |= 0x80;
    for (nth, byte) in out[head..].iter_mut().enumerate() {
        *byte ^= mask[nth % 4];
    }
    out.splice(head..head, mask);
    out
}

/// A frame as a server sends it, and no client may.
pub(super) fn unmasked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        n if n < 126 => out.push(n as u8),
        n if n < 65_536 => {
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

/// Is this head an agreement, to a handshake with this key?
fn check_head(head: &[u8], key: &str, offered: &[String]) -> Result<(), Fault> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap_or_default();
    let mut words = status.split(' ');
    if words.next() != Some("HTTP/1.1") || words.next() != Some("101") {
        return Err(Fault::new("HTTP/1.1 101", excerpt(status.as_bytes())));
    }
    let fields: Vec<(String, &str)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim()))
        .collect();
    let all = |name: &str| -> Vec<&str> {
        let named = fields.iter().filter(|field| field.0 == name);
        named.map(|field| field.1).collect()
    };
    let has = |name: &str, token: &str| {
        let mut tokens = all(name).into_iter().flat_map(|value| value.split(','));
        tokens.any(|one| one.trim().eq_ignore_ascii_case(token))
    };
    let wrong = |expected: String, name: &str| {
        Err(Fault::new(expected, format!("{name}: {:?}", all(name))))
    };
    for (name, token) in [("upgrade", "websocket"), ("connection", "upgrade")] {
        if !has(name, token) {
            return wrong(format!("{name}: {token} in the handshake's answer"), name);
        }
    }
    let digest = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    let accept = BASE64_STANDARD.encode(digest);
    if all("sec-websocket-accept") != [&*accept] {
        let expected = format!("sec-websocket-accept: {accept}, which fits the key");
        return wrong(expected, "sec-websocket-accept");
    }
    let extensions = "sec-websocket-extensions";
    if all(extensions).iter().any(|value| !value.is_empty()) {
        return wrong(
            format!("no {extensions}, of which none was offered"),
            extensions,
        );
    }
    let protocol = "sec-websocket-protocol";
    let known = |value: &&str| offered.iter().any(|one| one == value);
    if all(protocol).len() > 1 || !all(protocol).iter().all(known) {
        return wrong(
            "one of the subprotocols that were offered, or none".into(),
            protocol,
        );
    }
    Ok(())
}

fn more(wire: &Wire, heard: &mut Vec<u8>, expected: &str) -> Result<(), Fault> {
    let mut buffer = [0; 16 << 10];
    let after = |why: &str, heard: &[u8]| match heard.len() {
        0 => why.to_owned(),
        _ => format!("{why} after {}", excerpt(heard)),
    };
    match wire.hear(&mut buffer) {
        Ok(ReadResult::Bytes(n)) => {
            heard.extend_from_slice(&buffer[..n]);
            Ok(())
        }
        Ok(ReadResult::End) => Err(Fault::new(expected, after("the end of the stream", heard))),
        Ok(ReadResult::Silence) => Err(Fault::new(
            expected,
            after(&wire.patience().ran_out(), heard),
        )),
        Err(error) => Err(Fault::io(expected, &error)),
    }
}

/// The frame at the front of these bytes and its length; None when it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(usize, WsFrame)>, Fault> {
    let (Some(&first), Some(&second)) = (bytes.first(), bytes.get(1)) else {
        return Ok(None);
    };
    let wrong = |expected: &str| Err(Fault::new(expected, excerpt(bytes)));
    if first & 0x70 != 0 {
        return wrong("a frame without reserved bits");
    }
    if second & 0x80 != 0 {
        return wrong("a frame that is not masked");
    }
    let opcode = first & 0x0f;
    if !matches!(opcode, 0..=2 | 8..=10) {
        return wrong("a known opcode");
    }
    let extended = match second {
        126 => 2,
        127 => 8,
        _ => 0,
    };
    let Some(digits) = bytes.get(2..2 + extended) else {
        return Ok(None);
    };
    let length = match extended {
        0 => u64::from(second),
        _ => digits
            .iter()
            .fold(0, |all, &digit| all << 8 | u64::from(digit)),
    };
    let least = match extended {
        0 => 0,
        2 => 126,
        _ => 65_536,
    };
    if length < least {
        return wrong("a length in as few bytes as it needs");
    }
    if length > MESSAGE_LIMIT as u64 {
        return wrong("a frame of at most 4 MiB");
    }
    if opcode >= CLOSE && (length > 125 || first & FIN == 0) {
        return wrong("a control frame of at most 125 bytes, and whole");
    }
    let (head, length) = (2 + extended, length as usize);
    let payload = bytes.get(head..head + length);
    Ok(payload.map(|payload| {
        let frame = WsFrame {
            fin: first & FIN != 0,
            opcode,
            payload: payload.to_vec(),
        };
        (head + length, frame)
    }))
}

/// Reads the next frame.
fn next(wire: &Wire, heard: &mut Vec<u8>, expected: &str) -> Result<WsFrame, Fault> {
    loop {
        if let Some((used, frame)) = parse(heard)? {
            heard.drain(..used);
            return Ok(frame);
        }
        more(wire, heard, expected)?;
    }
}

/// Answers a ping, and keeps what a pong says. False: it is neither.
fn attend(
    wire: &Wire,
    pongs: &mut Vec<Vec<u8>>,
    it: &WsFrame,
    rng: &mut impl Rng,
) -> Result<bool, Fault> {
    match it.opcode {
        PING => {
            let pong = frame(FIN | PONG, &it.payload, rng);
            wire.send(&pong)
                .map_err(|error| Fault::io("the server to take a pong", &error))?;
        }
        PONG => pongs.push(it.payload.clone()),
        _ => return Ok(false),
    }
    Ok(true)
}

fn expect(
    wire: &Wire,
    heard: &mut Vec<u8>,
    pongs: &mut Vec<Vec<u8>>,
    message: &Message,
    rng: &mut impl Rng,
) -> Result<(), Fault> {
    let wanted = named(message.kind, message.payload.len());
    let mut kind = None;
    let mut at = 0;
    for _ in 0..FRAME_LIMIT {
        let frame = next(wire, heard, &format!("{wanted} back"))?;
        if attend(wire, pongs, &frame, rng)? {
            continue;
        }
        match (kind, frame.opcode) {
            (None, TEXT | BINARY) => kind = Some(frame.opcode),
            (Some(_), CONTINUATION) => {}
            _ => return Err(Fault::new(format!("{wanted} back"), told(&frame))),
        }
        if kind != Some(message.kind) {
            return Err(Fault::new(format!("{wanted} back"), told(&frame)));
        }
        let rest = &message.payload[at..];
        let n = rest.len().min(frame.payload.len());
        if let Some(nth) = (0..n).find(|&nth| rest[nth] != frame.payload[nth]) {
            let head = |bytes: &[u8]| excerpt(&bytes[nth..bytes.len().min(nth + 12)]);
            let expected = format!("byte {} of {wanted} onwards to be {}", at + nth, head(rest));
            return Err(Fault::new(expected, head(&frame.payload)));
        }
        at += frame.payload.len();
        if at > message.payload.len() || (frame.fin && at < message.payload.len()) {
            let found = format!("{at} bytes{}", if frame.fin { "" } else { " and more" });
            return Err(Fault::new(format!("{wanted} back"), found));
        }
        if frame.fin {
            return Ok(());
        }
    }
    Err(Fault::new(
        format!("{wanted} back"),
        format!("{FRAME_LIMIT} frames without its end"),
    ))
}

fn named(kind: u8, length: usize) -> String {
    let kind = if kind == TEXT { "text" } else { "binary" };
    format!("a {kind} message of {length} bytes")
}

/// A frame in words.
fn told(frame: &WsFrame) -> String {
    let payload = excerpt(&frame.payload);
    match (frame.opcode, frame.payload.first_chunk()) {
        (CLOSE, Some(code)) => format!("a close frame with code {}", u16::from_be_bytes(*code)),
        (CLOSE, None) => "a close frame without a code".into(),
        (TEXT, _) => format!("a text frame {payload}"),
        (BINARY, _) => format!("a binary frame {payload}"),
        (PING, _) => format!("a ping {payload}"),
        (PONG, _) => format!("a pong {payload}"),
        _ => format!("a continuation {payload}"),
    }
}
