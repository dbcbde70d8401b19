//! The layout of HTTP/2's frames (RFC 9113, 4 and 6), as far as a verification says and reads them. It is not the load's:
//! two implementations have to agree.

use super::super::wire::Fault;
use std::fmt;

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
    /// None that there is.
    pub(in super::super) const UNKNOWN: u8 = 0xbe;
}

/// Flags.
pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;
const PRIORITY: u8 = 0x20;

/// Settings.
pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW: u16 = 4;

const HEADER: usize = 9;
/// The longest frame that a server may send to a client that does not allow longer ones.
const MOST: usize = 16_384;

/// A frame that has come.
#[derive(Debug)]
pub(super) struct H2Frame {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
    pub(super) payload: Vec<u8>,
}

impl H2Frame {
    /// Takes the first whole frame, if there is one.
    pub(super) fn take(heard: &mut Vec<u8>) -> Result<Option<Self>, Fault> {
        let Some(header) = heard.first_chunk::<HEADER>().copied() else {
            return Ok(None);
        };
        if header.starts_with(b"HTTP/1.") {
            return Err(Fault::new("frames of HTTP/2", "an answer of HTTP/1.1"));
        }
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        if length > MOST {
            let found = format!("one of {length} bytes");
            return Err(Fault::new("frames of at most 16384 bytes", found));
        }
        if heard.len() < HEADER + length {
            return Ok(None);
        }
        let payload = heard[HEADER..HEADER + length].to_vec();
        heard.drain(..HEADER + length);
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        Ok(Some(Self {
            kind: header[3],
            flags: header[4],
            stream: stream & 0x7fff_ffff,
            payload,
        }))
    }

    /// Content without padding and priority; None when they do not fit.
    pub(super) fn content(&self) -> Option<&[u8]> {
        let mut content = self.payload.as_slice();
        if self.kind == kind::CONTINUATION {
            return Some(content);
        }
        if self.flags & PADDED != 0 {
            let (&padding, rest) = content.split_first()?;
            content = rest.get(..rest.len().checked_sub(usize::from(padding))?)?;
        }
        if self.kind == kind::HEADERS && self.flags & PRIORITY != 0 {
            content = content.get(5..)?;
        }
        Some(content)
    }

    /// Settings of the frame, each with its number.
    pub(super) fn settings(&self) -> impl Iterator<Item = (u16, u32)> {
        self.payload.chunks_exact(6).map(|setting| {
            let number = u16::from_be_bytes([setting[0], setting[1]]);
            let value = [setting[2], setting[3], setting[4], setting[5]];
            (number, u32::from_be_bytes(value))
        })
    }

    /// Last stream that a GOAWAY gives as answered, and its error code; None when the frame is too short.
    pub(super) fn last_stream(&self) -> Option<(u32, u32)> {
        let word = |at| {
            let bytes: &[u8; 4] = self.payload.get(at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*bytes))
        };
        Some((word(0)? & 0x7fff_ffff, word(4)?))
    }
}

impl fmt::Display for H2Frame {
    /// Writes the frame for a fault: `GOAWAY (PROTOCOL_ERROR, last stream 7)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = |code: u32| match ERRORS.get(code as usize) {
            Some(name) => (*name).to_owned(),
            None => format!("error {code}"),
        };
        let length = self.payload.len();
        match (self.kind, self.last_stream(), self.payload.first_chunk()) {
            (kind::GOAWAY, Some((last, code)), _) => {
                write!(f, "GOAWAY ({}, last stream {last})", error(code))
            }
            (kind::RST_STREAM, _, Some(code)) => {
                let name = error(u32::from_be_bytes(*code));
                write!(f, "RST_STREAM ({name}) on stream {}", self.stream)
            }
            _ => match NAMES.get(usize::from(self.kind)) {
                Some(name) => write!(f, "{name} of {length} bytes on stream {}", self.stream),
                None => write!(f, "a frame of kind {} on stream {}", self.kind, self.stream),
            },
        }
    }
}

const NAMES: [&str; 10] = [
    "DATA",
    "HEADERS",
    "PRIORITY",
    "RST_STREAM",
    "SETTINGS",
    "PUSH_PROMISE",
    "PING",
    "GOAWAY",
    "WINDOW_UPDATE",
    "CONTINUATION",
];

const ERRORS: [&str; 14] = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
];

/// A frame's bytes.
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a frame of a verification is short");
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// SETTINGS with these values.
pub(super) fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let mut payload = Vec::new();
    for (number, value) in settings {
        payload.extend(number.to_be_bytes());
        payload.extend(value.to_be_bytes());
    }
    frame(kind::SETTINGS, 0, 0, &payload)
}

/// WINDOW_UPDATE: so many bytes more on a stream, or on the connection (0).
pub(super) fn more_room(stream: u32, bytes: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &bytes.to_be_bytes())
}

/// A field of a header block that no table remembers, neither of whose strings is compressed (RFC 7541, 6.2.2).
pub(super) fn literal(name: &str, value: &str, block: &mut Vec<u8>) {
    block.push(0);
    for text in [name, value] {
        let length = text.len();
        if length < 127 {
            block.push(length as u8);
        } else {
            block.push(127);
            let mut rest = length - 127;
            while rest >= 128 {
                block.push((rest % 128) as u8 | 128);
                rest /= 128;
            }
            block.push(rest as u8);
        }
        block.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::super::blocks::Blocks;
    use super::*;

    #[test]
    fn frames_are_read_as_they_are_written() {
        let mut heard = frame(kind::HEADERS, END_HEADERS | PADDED, 7, b"\x02abc\0\0");
        heard.extend(settings(&[(MAX_STREAMS, 100)]));
        let cut = heard.split_off(10);
        assert!(H2Frame::take(&mut heard).unwrap().is_none());
        heard.extend(cut);
        let first = H2Frame::take(&mut heard).unwrap().unwrap();
        assert_eq!((first.stream, first.content()), (7, Some(&b"abc"[..])));
        let second = H2Frame::take(&mut heard).unwrap().unwrap();
        assert_eq!(second.settings().collect::<Vec<_>>(), [(MAX_STREAMS, 100)]);
        assert!(heard.is_empty());
        assert!(H2Frame::take(&mut b"HTTP/1.1 400 Bad".to_vec()).is_err());
        let too_long = H2Frame {
            payload: vec![9, 0],
            ..first
        };
        assert_eq!(too_long.content(), None);
    }

    #[test]
    fn literals_of_all_lengths_are_decoded() {
        let long = "x".repeat(5_000);
        let values = ["", "short", &long[..126], &long[..127], &long[..255], &long];
        let mut block = Vec::new();
        for value in values {
            literal("name", value, &mut block);
        }
        let fields = Blocks::new().trailers(&block).unwrap();
        assert_eq!(fields.get_all("name").iter().collect::<Vec<_>>(), values);
    }

    #[test]
    fn a_fault_names_a_frame() {
        let goaway = frame(kind::GOAWAY, 0, 0, &[0, 0, 0, 3, 0, 0, 0, 1]);
        let shown = H2Frame::take(&mut goaway.clone()).unwrap().unwrap();
        assert_eq!(shown.to_string(), "GOAWAY (PROTOCOL_ERROR, last stream 3)");
    }
}
