//! The layout of frames (RFC 9113, 4.1 and 6).

use super::ConnectionError;
use crate::Date;

pub(super) const HEADER: usize = 9;
/// The longest frame that either side sends: none allows longer ones.
pub(super) const MOST: usize = 16 * 1024;

/// Kinds of frames.
pub(super) mod kind {
    pub(in super::super) const DATA: u8 = 0;
    pub(in super::super) const HEADERS: u8 = 1;
    pub(in super::super) const RST_STREAM: u8 = 3;
    pub(in super::super) const SETTINGS: u8 = 4;
    pub(in super::super) const PUSH_PROMISE: u8 = 5;
    pub(in super::super) const PING: u8 = 6;
    pub(in super::super) const GOAWAY: u8 = 7;
    pub(in super::super) const WINDOW_UPDATE: u8 = 8;
    pub(in super::super) const CONTINUATION: u8 = 9;
}

/// Flags.
pub(super) mod flag {
    pub(in super::super) const ACK: u8 = 1;
    pub(in super::super) const END_STREAM: u8 = 1;
    pub(in super::super) const END_HEADERS: u8 = 4;
    pub(in super::super) const PADDED: u8 = 8;
    pub(in super::super) const PRIORITY: u8 = 0x20;
}

/// Header of a frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHeader {
    pub(super) length: usize,
    pub(super) kind: u8,
    flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    /// The header that the bytes begin with; None while it has not come completely.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, ConnectionError> {
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        if length > MOST {
            return Err(ConnectionError::FrameSize);
        }
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        Ok(Some(Self {
            length,
            kind: header[3],
            flags: header[4],
            stream: stream & 0x7fff_ffff,
        }))
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The payload without padding and priority.
    pub(super) fn content(self, payload: &[u8]) -> Result<&[u8], ConnectionError> {
        let mut content = payload;
        if self.has(flag::PADDED) {
            let (&padding, rest) = content.split_first().ok_or(ConnectionError::FrameSize)?;
            let length = rest.len().checked_sub(usize::from(padding));
            content = &rest[..length.ok_or(ConnectionError::Protocol)?];
        }
        if self.kind == kind::HEADERS && self.has(flag::PRIORITY) {
            content = content.get(5..).ok_or(ConnectionError::FrameSize)?;
        }
        Ok(content)
    }
}

/// Appends a frame.
pub(super) fn put(kind: u8, flags: u8, stream: u32, payload: &[u8], out: &mut Vec<u8>) {
    put_header(payload.len(), kind, flags, stream, out);
    out.extend_from_slice(payload);
}

fn put_header(length: usize, kind: u8, flags: u8, stream: u32, out: &mut Vec<u8>) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

/// Appends the head of an answer. Its names are those of the static table (RFC 7541, appendix A), and no table remembers its
/// values, which are not compressed.
pub(super) fn put_head(stream: u32, length: usize, date: &Date, ends: bool, out: &mut Vec<u8>) {
    let start = out.len();
    let last = if ends { flag::END_STREAM } else { 0 };
    put_header(0, kind::HEADERS, flag::END_HEADERS | last, stream, out);
    // :status 200; then content-type (31), date (33) and content-length (28).
    out.push(0x88);
    out.extend_from_slice(b"\x0f\x10\x0atext/plain\x0f\x12");
    out.push(Date::LEN as u8);
    out.extend_from_slice(date.as_bytes());
    out.extend_from_slice(b"\x0f\x0d");
    let digits = length.to_string();
    out.push(digits.len() as u8);
    out.extend_from_slice(digits.as_bytes());
    let [_, a, b, c] = ((out.len() - start - HEADER) as u32).to_be_bytes();
    out[start..start + 3].copy_from_slice(&[a, b, c]);
}
