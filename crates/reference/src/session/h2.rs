//! HTTP/2 echo (RFC 9113), with prior knowledge or over TLS: the state machine of one connection.
//!
//! It does as little per request as HTTP/2 allows: frames are read straight from the input, an answer is a HEADERS and a DATA
//! frame without compression of its fields, and nothing is kept of a request that is answered.

mod frame;
mod sending;

use std::collections::BTreeMap;

use prony_engine::protocol::h2::Decoder;

use super::{Reply, Said, Session, Then};
use crate::Date;
use frame::{FrameHeader, flag, kind};
use sending::Sending;

/// First bytes of a client on a connection (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The longest header section, in bytes: that of the server of HTTP/1.1.
const MOST_FIELDS: usize = 16 * 1024;
/// Streams that a client may have open.
const STREAMS: u32 = 1000;

/// One connection. Holds at most one incomplete frame, one header section, and what flow control keeps back.
#[derive(Debug, Default)]
pub(crate) struct H2 {
    /// How much of the preface has come.
    greeted: usize,
    /// The beginning of a frame that has not come completely.
    partial: Vec<u8>,
    decoder: Decoder,
    /// A header block that is not complete: its stream, and whether it ends it.
    block: Option<(u32, bool, Vec<u8>)>,
    /// Requests whose end has not come.
    open: BTreeMap<u32, Request>,
    last: u32,
    sending: Sending,
}

/// Parts of a request that its answer needs.
#[derive(Debug, Default)]
struct Request {
    target: Vec<u8>,
    head: bool,
}

/// The error that ends a connection (RFC 9113, 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionError {
    Protocol = 1,
    FlowControl = 3,
    FrameSize = 6,
    Compression = 9,
    Calm = 11,
}

impl Session for H2 {
    const DATED: bool = true;
    type Setup = ();

    fn new((): &()) -> Self {
        Self::default()
    }

    fn receive<'a>(&mut self, input: &'a [u8], date: &Date, out: &'a mut Vec<u8>) -> Reply<'a> {
        out.clear();
        let mut requests = 0;
        let then = match self.take(input, date, out, &mut requests) {
            Ok(()) => Then::Keep,
            Err(wrong) => {
                self.last_word(wrong, out);
                Then::Linger
            }
        };
        Reply {
            bytes: out,
            requests,
            then,
        }
    }
}

impl H2 {
    /// Takes input up to and including the next frame, appends what there is to say to that, and tells what it was; None when
    /// more has to come.
    pub(crate) fn next(
        &mut self,
        input: &mut &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Option<Said> {
        let said = match self.take_one(input, date, out) {
            Ok(None) => return None,
            Ok(Some(true)) => Said::Message,
            Ok(Some(false)) => Said::Aside(Then::Keep),
            Err(wrong) => {
                *input = &[];
                self.partial.clear();
                self.last_word(wrong, out);
                Said::Aside(Then::Linger)
            }
        };
        Some(said)
    }

    /// Takes the next frame; says whether it completed an answer.
    fn take_one(
        &mut self,
        input: &mut &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Result<Option<bool>, ConnectionError> {
        if self.greeted < PREFACE.len() {
            let greeting = PREFACE.len() - self.greeted;
            let (begin, rest) = input.split_at(greeting.min(input.len()));
            *input = rest;
            self.take(begin, date, out, &mut 0)?;
            return Ok((self.greeted == PREFACE.len()).then_some(false));
        }
        self.partial.extend_from_slice(input);
        *input = &[];
        let Some(header) = FrameHeader::read(&self.partial)? else {
            return Ok(None);
        };
        let end = frame::HEADER + header.length;
        if self.partial.len() < end {
            return Ok(None);
        }
        let rest = self.partial.split_off(end);
        let frame = std::mem::replace(&mut self.partial, rest);
        self.frame(header, &frame[frame::HEADER..], date, out)
            .map(Some)
    }

    /// Says why the connection ends.
    fn last_word(&self, wrong: ConnectionError, out: &mut Vec<u8>) {
        let code = (wrong as u32).to_be_bytes();
        let payload = [self.last.to_be_bytes(), code].concat();
        frame::put(kind::GOAWAY, 0, 0, &payload, out);
    }

    fn take(
        &mut self,
        mut input: &[u8],
        date: &Date,
        out: &mut Vec<u8>,
        requests: &mut u32,
    ) -> Result<(), ConnectionError> {
        if self.greeted < PREFACE.len() {
            let expected = &PREFACE[self.greeted..];
            let length = expected.len().min(input.len());
            if input[..length] != expected[..length] {
                return Err(ConnectionError::Protocol);
            }
            self.greeted += length;
            input = &input[length..];
            if self.greeted < PREFACE.len() {
                return Ok(());
            }
            let most = [&3_u16.to_be_bytes()[..], &STREAMS.to_be_bytes()].concat();
            frame::put(kind::SETTINGS, 0, 0, &most, out);
        }
        // The fast path: whole frames of an input that begins with one.
        if self.partial.is_empty() {
            let used = self.frames(input, date, out, requests)?;
            self.partial.extend_from_slice(&input[used..]);
            return Ok(());
        }
        let mut bytes = std::mem::take(&mut self.partial);
        bytes.extend_from_slice(input);
        let used = self.frames(&bytes, date, out, requests)?;
        bytes.drain(..used);
        self.partial = bytes;
        Ok(())
    }

    /// Takes the whole frames; says how many bytes they have.
    fn frames(
        &mut self,
        bytes: &[u8],
        date: &Date,
        out: &mut Vec<u8>,
        requests: &mut u32,
    ) -> Result<usize, ConnectionError> {
        let mut used = 0;
        while let Some(header) = FrameHeader::read(&bytes[used..])? {
            let start = used + frame::HEADER;
            let Some(payload) = bytes.get(start..start + header.length) else {
                break;
            };
            *requests += u32::from(self.frame(header, payload, date, out)?);
            used = start + header.length;
        }
        Ok(used)
    }

    /// Takes a frame; says whether a request was answered.
    fn frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectionError> {
        if self.block.is_some() && header.kind != kind::CONTINUATION {
            return Err(ConnectionError::Protocol);
        }
        let stream = header.stream;
        let ends = header.has(flag::END_STREAM);
        match header.kind {
            kind::HEADERS => {
                let fragment = header.content(payload)?;
                let known = self.open.contains_key(&stream);
                if stream.is_multiple_of(2) || (stream <= self.last && !known) {
                    return Err(ConnectionError::Protocol);
                }
                self.last = self.last.max(stream);
                if header.has(flag::END_HEADERS) {
                    return self.fields(stream, ends, fragment, date, out);
                }
                self.block = Some((stream, ends, fragment.to_vec()));
            }
            kind::CONTINUATION => {
                let Some((own, ends, mut block)) = self.block.take() else {
                    return Err(ConnectionError::Protocol);
                };
                if own != stream {
                    return Err(ConnectionError::Protocol);
                }
                block.extend_from_slice(payload);
                if block.len() > MOST_FIELDS {
                    return Err(ConnectionError::Calm);
                }
                if header.has(flag::END_HEADERS) {
                    return self.fields(stream, ends, &block, date, out);
                }
                self.block = Some((own, ends, block));
            }
            kind::DATA => {
                header.content(payload)?;
                let room = payload.len() as u32;
                if room > 0 {
                    frame::put(kind::WINDOW_UPDATE, 0, 0, &room.to_be_bytes(), out);
                }
                // On a stream that was reset or answered, nothing is awaited.
                if !self.open.contains_key(&stream) {
                    return match stream == 0 || stream > self.last {
                        true => Err(ConnectionError::Protocol),
                        false => Ok(false),
                    };
                }
                if ends {
                    return Ok(self.answer(stream, date, out));
                }
                if room > 0 {
                    frame::put(kind::WINDOW_UPDATE, 0, stream, &room.to_be_bytes(), out);
                }
            }
            kind::SETTINGS if !header.has(flag::ACK) => {
                if !payload.len().is_multiple_of(6) {
                    return Err(ConnectionError::FrameSize);
                }
                for setting in payload.chunks_exact(6) {
                    let value =
                        u32::from_be_bytes([setting[2], setting[3], setting[4], setting[5]]);
                    if setting[..2] == [0, 4] {
                        self.sending.resize(value, out)?;
                    }
                }
                frame::put(kind::SETTINGS, flag::ACK, 0, &[], out);
            }
            kind::PING if !header.has(flag::ACK) => {
                if payload.len() != 8 {
                    return Err(ConnectionError::FrameSize);
                }
                frame::put(kind::PING, flag::ACK, 0, payload, out);
            }
            kind::WINDOW_UPDATE => {
                let bytes: [u8; 4] = payload.try_into().map_err(|_| ConnectionError::FrameSize)?;
                self.sending
                    .widen(stream, u32::from_be_bytes(bytes) & 0x7fff_ffff, out)?;
            }
            kind::RST_STREAM => {
                self.open.remove(&stream);
                self.sending.forget(stream);
            }
            kind::PUSH_PROMISE => return Err(ConnectionError::Protocol),
            // Priorities, the client's last word, and frames that are not known.
            _ => {}
        }
        Ok(false)
    }

    /// Takes a whole header block: a request's, or trailers.
    fn fields(
        &mut self,
        stream: u32,
        ends: bool,
        block: &[u8],
        date: &Date,
        out: &mut Vec<u8>,
    ) -> Result<bool, ConnectionError> {
        let mut request = Request::default();
        let decoded = self
            .decoder
            .decode(block, MOST_FIELDS, |name, value| match name {
                b":path" => request.target.extend_from_slice(value),
                b":method" => request.head = value == b"HEAD",
                _ => {}
            });
        decoded.map_err(|_| ConnectionError::Compression)?;
        if !self.open.contains_key(&stream) {
            if request.target.is_empty() {
                return Err(ConnectionError::Protocol);
            }
            if self.open.len() as u32 >= STREAMS {
                return Err(ConnectionError::Calm);
            }
            self.sending.open(stream);
            self.open.insert(stream, request);
        }
        Ok(ends && self.answer(stream, date, out))
    }

    /// Answers a request that has come completely.
    fn answer(&mut self, stream: u32, date: &Date, out: &mut Vec<u8>) -> bool {
        let Some(Request { mut target, head }) = self.open.remove(&stream) else {
            return false;
        };
        target.extend_from_slice(b" at ");
        target.extend_from_slice(date.as_bytes());
        frame::put_head(stream, target.len(), date, head, out);
        match head {
            true => self.sending.forget(stream),
            false => self.sending.body(stream, target, out),
        }
        true
    }
}

#[cfg(test)]
mod tests;
