//! A small server of HTTP/2 that says what a test tells it to.

use crate::servers::Connection;
use std::io;

pub const DATA: u8 = 0;
pub const HEADERS: u8 = 1;
pub const PRIORITY: u8 = 2;
pub const RST_STREAM: u8 = 3;
pub const SETTINGS: u8 = 4;
pub const PUSH_PROMISE: u8 = 5;
pub const PING: u8 = 6;
pub const GOAWAY: u8 = 7;
pub const WINDOW_UPDATE: u8 = 8;
pub const CONTINUATION: u8 = 9;

pub const END: u8 = 1;
pub const WHOLE: u8 = 4;
pub const PADDED: u8 = 8;

/// `:status: 200` and `content-length: 5`.
pub const OK: &[u8] = b"\x88\x0f\x0d\x015";
/// `:status: 200` alone.
pub const OK_ALONE: &[u8] = b"\x88";

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    [&[a, b, c, kind, flags, d, e, f, g], payload].concat()
}

/// A header section and a body.
pub fn answer(stream: u32, block: &[u8], body: &[u8]) -> Vec<u8> {
    let head = frame(HEADERS, WHOLE, stream, block);
    [head, frame(DATA, END, stream, body)].concat()
}

/// The right answer.
pub fn right(stream: u32) -> Vec<u8> {
    answer(stream, OK, b"hello")
}

/// A frame from the client.
pub struct Frame {
    pub kind: u8,
    pub flags: u8,
    pub stream: u32,
    pub payload: Vec<u8>,
}

/// Greets with `greeting`, and says what `said` gives for each frame that comes, in the same connection's state.
pub fn serve(
    it: &Connection,
    greeting: &[u8],
    mut said: impl FnMut(&Frame) -> Vec<u8>,
) -> io::Result<()> {
    let mut pending = Vec::new();
    let mut buffer = [0; 4096];
    let mut greeted = false;
    loop {
        let bytes = it.read(&mut buffer)?;
        if bytes.is_empty() {
            return Ok(());
        }
        pending.extend_from_slice(bytes);
        if !greeted && pending.len() >= 24 {
            assert!(pending.starts_with(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
            pending.drain(..24);
            greeted = true;
            it.write(greeting)?;
        }
        while greeted && pending.len() >= 9 {
            let length = u32::from_be_bytes([0, pending[0], pending[1], pending[2]]) as usize;
            if pending.len() < 9 + length {
                break;
            }
            let bytes: Vec<u8> = pending.drain(..9 + length).collect();
            let frame = Frame {
                kind: bytes[3],
                flags: bytes[4],
                stream: u32::from_be_bytes(bytes[5..9].try_into().unwrap()),
                payload: bytes[9..].to_vec(),
            };
            let out = said(&frame);
            if !out.is_empty() {
                it.write(&out)?;
            }
        }
    }
}

/// Says what `said` gives for each request (which has no body), by its stream.
pub fn requests(it: &Connection, greeting: &[u8], said: impl Fn(u32) -> Vec<u8>) -> io::Result<()> {
    serve(it, greeting, |frame| match frame.kind {
        HEADERS => said(frame.stream),
        _ => Vec::new(),
    })
}

/// No settings in particular.
pub fn greeting() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}

pub fn setting(number: u16, value: u32) -> Vec<u8> {
    [&number.to_be_bytes()[..], &value.to_be_bytes()].concat()
}
