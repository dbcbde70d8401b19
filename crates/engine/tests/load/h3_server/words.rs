//! Bytes and steps of which scripts are made.

use super::Step;

pub const DATA: u64 = 0;
pub const HEADERS: u64 = 1;
pub const SETTINGS: u64 = 4;
pub const GOAWAY: u64 = 7;
/// A section with `:status` 200.
pub const OK: &[u8] = b"\0\0\xd9";
/// A control stream with empty settings.
pub const GREETING: &[u8] = b"\0\x04\0";

/// An integer of QUIC, in as few bytes as it needs.
pub fn varint(value: u64) -> Vec<u8> {
    match value {
        0..0x40 => vec![value as u8],
        0x40..0x4000 => (value as u16 | 0x4000).to_be_bytes().into(),
        0x4000..0x4000_0000 => (value as u32 | 0x8000_0000).to_be_bytes().into(),
        _ => (value | 0xc000_0000_0000_0000).to_be_bytes().into(),
    }
}

pub fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    [&varint(kind)[..], &varint(payload.len() as u64), payload].concat()
}

pub fn answer(section: &[u8], body: &[u8]) -> Vec<u8> {
    [frame(HEADERS, section), frame(DATA, body)].concat()
}

/// Sends these pieces, and ends the stream.
pub fn pieces(all: impl IntoIterator<Item = Vec<u8>>) -> Vec<Step> {
    let mut steps: Vec<Step> = all.into_iter().map(Step::Write).collect();
    steps.push(Step::End);
    steps
}

/// Sends this, and then does that.
pub fn then(bytes: Vec<u8>, step: Step) -> Vec<Step> {
    vec![Step::Write(bytes), step]
}

/// The right answer.
pub fn right() -> Vec<Step> {
    pieces([answer(OK, b"hello")])
}
