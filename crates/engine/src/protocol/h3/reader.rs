//! The frames on a stream of requests, as their bytes come.

use super::frame::{self, varint};
use crate::protocol::Fault;

/// The most frames, one after the other, that bring nothing: unknown ones, and empty DATA.
const MOST_IDLE_FRAMES: u32 = 10_000;
/// The longest header of a frame: two integers.
const LONGEST_HEADER: usize = 16;

/// A piece of a frame.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// The whole payload of HEADERS.
    Section(&'a [u8]),
    /// The whole payload of HEADERS, which came in parts and was put together.
    Joined,
    /// A part of the payload of DATA, or all of one that is empty.
    Data(&'a [u8]),
}

/// State of a stream between two arrivals of bytes.
#[derive(Debug, Default)]
pub(super) struct FrameReader {
    /// A header that has come in part, or HEADERS.
    partial: Vec<u8>,
    /// Bytes of DATA, and of a frame that means nothing here, that are still to come.
    data: u64,
    skip: u64,
    idle: u32,
}

impl FrameReader {
    /// Takes bytes from the front of `bytes`, and gives the next piece; None: all were taken. HEADERS that came in parts are
    /// put together in `joined`. `most` is the longest section
    /// that is accepted, in bytes.
    ///
    /// # Errors
    /// When they break the protocol: the connection cannot be used any further.
    pub(super) fn next<'a>(
        &mut self,
        bytes: &mut &'a [u8],
        joined: &mut Vec<u8>,
        most: u64,
    ) -> Result<Option<Piece<'a>>, Fault> {
        loop {
            if bytes.is_empty() && !self.is_whole(most) {
                return Ok(None);
            }
            if self.data > 0 {
                let n = self.data.min(bytes.len() as u64);
                let (data, rest) = bytes.split_at(n as usize);
                (*bytes, self.data) = (rest, self.data - n);
                self.idle = 0;
                return Ok(Some(Piece::Data(data)));
            }
            if self.skip > 0 {
                let n = self.skip.min(bytes.len() as u64);
                (*bytes, self.skip) = (&bytes[n as usize..], self.skip - n);
                continue;
            }
            if self.partial.is_empty() {
                let mut rest = *bytes;
                let Some((kind, length)) = header(&mut rest) else {
                    self.partial.extend_from_slice(bytes);
                    *bytes = &[];
                    return Ok(None);
                };
                if kind == frame::HEADERS {
                    long(length, most)?;
                    match rest.split_at_checked(length as usize) {
                        Some((section, after)) => {
                            *bytes = after;
                            self.idle = 0;
                            return Ok(Some(Piece::Section(section)));
                        }
                        None => {
                            self.partial.extend_from_slice(bytes);
                            *bytes = &[];
                            return Ok(None);
                        }
                    }
                }
                *bytes = rest;
                self.begin(kind, length)?;
                if (kind, length) == (frame::DATA, 0) {
                    return Ok(Some(Piece::Data(&[])));
                }
                continue;
            }
            let mut rest = &self.partial[..];
            match header(&mut rest) {
                None => {
                    // A header is short: one byte after the other.
                    let (&first, after) = bytes.split_first().unwrap_or((&0, &[]));
                    self.partial.push(first);
                    *bytes = after;
                    debug_assert!(self.partial.len() <= LONGEST_HEADER);
                }
                Some((frame::HEADERS, length)) => {
                    long(length, most)?;
                    let header = self.partial.len() - rest.len();
                    let missing = header + length as usize - self.partial.len();
                    let n = missing.min(bytes.len());
                    self.partial.extend_from_slice(&bytes[..n]);
                    *bytes = &bytes[n..];
                    if n == missing {
                        self.idle = 0;
                        joined.clear();
                        joined.extend_from_slice(&self.partial[header..]);
                        self.partial.clear();
                        return Ok(Some(Piece::Joined));
                    }
                }
                Some((kind, length)) => {
                    self.partial.clear();
                    self.begin(kind, length)?;
                    if (kind, length) == (frame::DATA, 0) {
                        return Ok(Some(Piece::Data(&[])));
                    }
                }
            }
        }
    }

    /// A frame other than HEADERS begins.
    fn begin(&mut self, kind: u64, length: u64) -> Result<(), Fault> {
        match kind {
            frame::DATA => self.data = length,
            frame::CANCEL_PUSH | frame::SETTINGS | frame::GOAWAY | frame::MAX_PUSH_ID => {
                return Err(Fault::Malformed("a frame on a wrong stream"));
            }
            frame::PUSH_PROMISE => {
                return Err(Fault::Malformed("a pushed answer, which was not allowed"));
            }
            kind if frame::is_of_http2(kind) => {
                return Err(Fault::Malformed("a frame that only HTTP/2 has"));
            }
            _ => self.skip = length,
        }
        if kind != frame::DATA || length == 0 {
            self.idle += 1;
            if self.idle > MOST_IDLE_FRAMES {
                return Err(Fault::Malformed(
                    "more than 10,000 frames that bring nothing",
                ));
            }
        }
        Ok(())
    }

    /// Has all that is needed of a frame come in parts? Of one that is empty, or too long, that is its header.
    fn is_whole(&self, most: u64) -> bool {
        let mut rest = &self.partial[..];
        match header(&mut rest) {
            Some((frame::HEADERS, length)) => rest.len() as u64 == length || length > most,
            found => found.is_some(),
        }
    }

    /// Does the stream end within a frame if nothing more comes?
    pub(super) fn is_within(&self) -> bool {
        !self.partial.is_empty() || self.data > 0 || self.skip > 0
    }

    /// Begins anew, for another stream.
    pub(super) fn clear(&mut self) {
        self.partial.clear();
        (self.data, self.skip, self.idle) = (0, 0, 0);
    }
}

fn header(bytes: &mut &[u8]) -> Option<(u64, u64)> {
    Some((varint(bytes)?, varint(bytes)?))
}

fn long(length: u64, most: u64) -> Result<(), Fault> {
    match length > most {
        true => Err(Fault::TooLong {
            part: "the header section",
            limit: most,
        }),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The pieces of `bytes`, which come in parts of these lengths; data that follows on data is one piece.
    fn pieces(bytes: &[u8], lengths: &[usize]) -> Result<(String, bool), Fault> {
        let mut reader = FrameReader::default();
        let mut found = String::new();
        let mut data = false;
        let mut lengths = lengths.iter().cycle();
        let mut rest = bytes;
        while !rest.is_empty() {
            let n = lengths
                .next()
                .map_or(rest.len(), |&n| n.clamp(1, rest.len()));
            let (mut part, after) = rest.split_at(n);
            rest = after;
            loop {
                let mut joined = Vec::new();
                let Some(piece) = reader.next(&mut part, &mut joined, 20)? else {
                    break;
                };
                let (name, bytes) = match piece {
                    Piece::Section(bytes) => ("|H:", bytes),
                    Piece::Joined => ("|H:", &joined[..]),
                    Piece::Data(bytes) if data => ("", bytes),
                    Piece::Data(bytes) => ("|D:", bytes),
                };
                data = matches!(piece, Piece::Data(_));
                found += name;
                found += &bytes.escape_ascii().to_string();
            }
        }
        Ok((found, reader.is_within()))
    }

    fn answer() -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::put(0x21, b"grease", &mut bytes);
        frame::put(frame::HEADERS, b"first section", &mut bytes);
        frame::put(frame::DATA, b"", &mut bytes);
        frame::put(frame::DATA, &[b'x'; 100], &mut bytes);
        frame::put(0x1f * 700 + 0x21, b"", &mut bytes);
        frame::put(frame::HEADERS, b"trailers", &mut bytes);
        bytes
    }

    #[test]
    fn the_ends_of_parts_do_not_matter() {
        let expected = format!("|H:first section|D:{}|H:trailers", "x".repeat(100));
        let all = answer();
        assert_eq!(pieces(&all, &[]), Ok((expected.clone(), false)));
        for n in 1..all.len() {
            assert_eq!(pieces(&all, &[n]), Ok((expected.clone(), false)), "{n}");
        }
        // The last frame is empty.
        for (kind, seen) in [(frame::DATA, "|D:"), (0x21, "")] {
            let mut ended = all.clone();
            frame::put(kind, b"", &mut ended);
            let expected = format!("{expected}{seen}");
            for n in 1..ended.len() {
                assert_eq!(pieces(&ended, &[n]), Ok((expected.clone(), false)), "{n}");
            }
        }
        for cut in [1, all.len() - 1, all.len() - 20] {
            assert!(pieces(&all[..cut], &[]).unwrap().1, "{cut}");
        }
    }

    #[test]
    fn frames_of_other_streams_are_refused() {
        for kind in [2, 3, 4, 5, 6, 7, 8, 9, 0xd] {
            let mut bytes = Vec::new();
            frame::put(kind, b"\0", &mut bytes);
            assert!(pieces(&bytes, &[]).is_err(), "{kind}");
            assert!(pieces(&bytes, &[1]).is_err(), "{kind}");
        }
        let mut bytes = Vec::new();
        frame::put(frame::HEADERS, &[0; 21], &mut bytes);
        assert!(matches!(pieces(&bytes, &[1]), Err(Fault::TooLong { .. })));
        // The header alone says it, also if nothing follows.
        for lengths in [&[][..], &[1]] {
            let header = pieces(&bytes[..2], lengths);
            assert!(matches!(header, Err(Fault::TooLong { .. })), "{lengths:?}");
        }
        assert!(pieces(&[0x21, 0].repeat(10_001), &[7]).is_err());
    }

    proptest! {
        #[test]
        fn any_parts_are_read_alike(lengths: Vec<u8>, bytes: Vec<u8>) {
            let lengths: Vec<usize> = lengths.into_iter().map(usize::from).collect();
            let all = [answer(), bytes].concat();
            prop_assert_eq!(pieces(&all, &lengths), pieces(&all, &[]));
        }
    }
}
