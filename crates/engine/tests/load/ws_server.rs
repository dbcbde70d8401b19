//! A small server of WebSocket that says what a test tells it to.

use crate::servers::{Connection, Server};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha1::{Digest, Sha1};
use std::io;

pub const CONTINUATION: u8 = 0;
pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;
pub const PONG: u8 = 10;
/// The bit of a message's last frame.
pub const FIN: u8 = 0x80;

/// A frame as a server sends it; `first` is its first byte, flags included.
pub fn raw(first: u8, payload: &[u8]) -> Vec<u8> {
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

pub fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    raw(FIN | opcode, payload)
}

/// A frame that a client sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    pub first: u8,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn is_message(&self) -> bool {
        matches!(self.first & 0x0f, TEXT | BINARY)
    }

    /// Returns the frame as a server sends it back.
    pub fn echoed(&self) -> Vec<u8> {
        raw(self.first, &self.payload)
    }
}

/// The answer to a handshake that has this head.
pub fn agreement(head: &str) -> String {
    let field = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("sec-websocket-key")
            .then(|| value.to_owned())
    };
    let key = head.lines().find_map(field).expect("a key");
    assert_eq!(BASE64_STANDARD.decode(&key).expect("base64").len(), 16);
    let digest = Sha1::digest(format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11"));
    format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n\r\n",
        BASE64_STANDARD.encode(digest)
    )
}

/// One frame from the front of what a client sent.
pub fn take(pending: &mut Vec<u8>) -> Option<Frame> {
    let second = *pending.get(1)?;
    assert!(second & 0x80 != 0, "a client masks its frames");
    let bytes = |from: usize, n: usize| {
        let bytes = pending.get(from..from + n)?;
        Some(
            bytes
                .iter()
                .fold(0_usize, |all, &byte| all << 8 | usize::from(byte)),
        )
    };
    let (length, at) = match second & 0x7f {
        126 => (bytes(2, 2)?, 4),
        127 => (bytes(2, 8)?, 10),
        n => (usize::from(n), 2),
    };
    if pending.len() < at + 4 + length {
        return None;
    }
    let all: Vec<u8> = pending.drain(..at + 4 + length).collect();
    let key = all[at..at + 4].iter().cycle();
    let payload = all[at + 4..].iter().zip(key).map(|(byte, key)| byte ^ key);
    Some(Frame {
        first: all[0],
        payload: payload.collect(),
    })
}

/// Agrees to the handshake as `agreed` says, and answers each frame as `said` does. An error ends the connection.
pub fn speak(
    it: &Connection,
    agreed: impl Fn(&str) -> Vec<u8>,
    mut said: impl FnMut(&Frame) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    let (mut pending, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    let mut open = false;
    loop {
        let bytes = it.read(&mut buffer)?;
        if bytes.is_empty() {
            return Ok(());
        }
        pending.extend_from_slice(bytes);
        if !open && let Some(end) = pending.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = pending.drain(..end + 4).collect();
            let head = String::from_utf8(head).expect("prony sends what it was given");
            it.write(&agreed(&head))?;
            open = true;
        }
        while open && let Some(frame) = take(&mut pending) {
            let out = said(&frame)?;
            if !out.is_empty() {
                it.write(&out)?;
            }
        }
    }
}

/// A server that agrees, and says what `said` gives for each message; its connection ends after an empty answer to a
/// close frame.
pub fn serves(said: impl Fn(&Frame) -> Vec<u8> + Send + Sync + 'static) -> Server {
    Server::tcp(move |it| {
        speak(
            it,
            |head| agreement(head).into_bytes(),
            |frame| match frame.first & 0x0f {
                TEXT | BINARY => Ok(said(frame)),
                CLOSE => {
                    it.write(&frame.echoed())?;
                    Err(io::ErrorKind::ConnectionAborted.into())
                }
                _ => Ok(Vec::new()),
            },
        )
    })
}
