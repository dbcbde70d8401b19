//! WebSocket echo (RFC 6455): the state machine of one connection.

#[path = "ws_handshake.rs"]
mod handshake;

use std::str::from_utf8;

use super::{Reply, Session, Then};
use crate::Date;

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const FIN: u8 = 0x80;
const MASKED: u8 = 0x80;

/// Close codes: a broken protocol, and text that is not UTF-8.
const PROTOCOL: u16 = 1002;
const NOT_TEXT: u16 = 1007;

/// The longest header of a client's frame.
const MOST_HEADER: usize = 14;
/// The longest payload of a control frame.
const MOST_CONTROL: u64 = 125;

/// One connection. A message goes back while it comes, frame by frame and as far as it is there, so that it takes no
/// memory but an incomplete header, control frame or letter.
#[derive(Debug, Default)]
pub(crate) struct Ws {
    state: State,
    /// Bytes that came in pieces: of the handshake, of a header, or of a control frame's payload.
    partial: Vec<u8>,
    frame: IncomingFrame,
    /// A message has begun, and is text or not.
    message: Option<bool>,
    /// The beginning of a letter whose other bytes are still to come.
    letter: Vec<u8>,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    #[default]
    Handshake,
    Header,
    Data,
    Control,
    /// The session is over: further input is not answered.
    Ended,
}

/// The frame whose payload is being read.
#[derive(Debug, Default, Clone, Copy)]
struct IncomingFrame {
    fin: bool,
    opcode: u8,
    /// Bytes still to come.
    left: u64,
    /// The masking key, from the next byte on.
    mask: [u8; 4],
}

/// Kind of the bytes that were appended to the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Said {
    /// The last byte of a message that came.
    Message,
    /// Something else, and what becomes of the connection after it.
    Aside(Then),
}

/// Violation of the protocol by the client: the close code that it gets.
#[derive(Debug, Clone, Copy)]
struct CloseCode(u16);

impl Session for Ws {
    const DATED: bool = false;

    type Setup = ();

    fn new((): &()) -> Self {
        Self::default()
    }

    fn receive<'a>(
        &mut self,
        mut input: &'a [u8],
        _: &Date,
        scratch: &'a mut Vec<u8>,
    ) -> Reply<'a> {
        scratch.clear();
        let mut requests = 0;
        let mut then = Then::Keep;
        while let Some(said) = self.next(&mut input, scratch) {
            match said {
                Said::Message => requests += 1,
                Said::Aside(after) => then = after,
            }
        }
        Reply {
            bytes: scratch,
            requests,
            then,
        }
    }
}

impl Ws {
    /// Takes input until something is said in whole, and appends it to `out`; `None` once all input is taken. `out` can
    /// grow by a part of a message that is still coming.
    pub(crate) fn next(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Option<Said> {
        loop {
            let step = match self.state {
                State::Handshake if input.is_empty() => return None,
                State::Handshake => return self.handshake(input, out),
                State::Header if input.is_empty() => return None,
                State::Header => self.header(input, out),
                State::Data => self.data(input, out),
                State::Control => self.control(input, out),
                State::Ended => {
                    *input = &[];
                    return None;
                }
            };
            match step {
                Ok(ParseStep::On) => {}
                Ok(ParseStep::Wait) => return None,
                Ok(ParseStep::Said(said)) => return Some(said),
                Err(CloseCode(code)) => return Some(Said::Aside(self.end(code, out))),
            }
        }
    }

    fn handshake(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Option<Said> {
        match handshake::answer(&mut self.partial, input, out) {
            handshake::Answered::Not => None,
            handshake::Answered::Agreed => {
                self.partial = Vec::new();
                self.state = State::Header;
                Some(Said::Aside(Then::Keep))
            }
            handshake::Answered::Refused => {
                self.state = State::Ended;
                Some(Said::Aside(Then::Linger))
            }
        }
    }

    /// Tells the client what is wrong, and ends the connection.
    #[cold]
    fn end(&mut self, code: u16, out: &mut Vec<u8>) -> Then {
        // Inside a frame that is on its way nothing can be said.
        if self.state != State::Data {
            put_frame(FIN | CLOSE, &code.to_be_bytes(), out);
        }
        self.state = State::Ended;
        Then::Linger
    }

    fn header(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<ParseStep, CloseCode> {
        let before = self.partial.len();
        let parsed = match before {
            0 => IncomingFrame::parse(input)?,
            _ => {
                let n = input.len().min(MOST_HEADER - before);
                self.partial.extend_from_slice(&input[..n]);
                IncomingFrame::parse(&self.partial)?
            }
        };
        let Some((length, frame)) = parsed else {
            if before == 0 {
                self.partial.extend_from_slice(input);
            }
            *input = &[];
            return Ok(ParseStep::Wait);
        };
        self.partial.clear();
        *input = &input[length - before..];
        self.frame = frame;
        if frame.opcode >= CLOSE {
            self.state = State::Control;
            return Ok(ParseStep::On);
        }
        self.message = match (self.message, frame.opcode) {
            (None, CONTINUATION) | (Some(_), 1..) => return Err(CloseCode(PROTOCOL)),
            (None, opcode) => Some(opcode == TEXT),
            (some, _) => some,
        };
        // A text is not begun before it is known that it can be ended: what is there of it is looked at first.
        let first = if frame.fin {
            FIN | frame.opcode
        } else {
            frame.opcode
        };
        let start = out.len();
        put_header(first, frame.left, out);
        self.state = State::Data;
        let step = self.data(input, out);
        if step.is_err() {
            out.truncate(start);
            self.state = State::Header;
        }
        step
    }

    /// Sends back what is there of a frame's payload.
    fn data(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<ParseStep, CloseCode> {
        let n = self.frame.left.min(input.len() as u64) as usize;
        let (piece, rest) = input.split_at(n);
        *input = rest;
        self.frame.left -= n as u64;
        let start = out.len();
        self.frame.unmask(piece, out);
        if self.message == Some(true) {
            self.check_text(&out[start..])?;
        }
        if self.frame.left > 0 {
            return Ok(ParseStep::Wait);
        }
        self.state = State::Header;
        if !self.frame.fin {
            return Ok(ParseStep::On);
        }
        self.message = None;
        Ok(ParseStep::Said(Said::Message))
    }

    /// Is the text still one, with this piece of it?
    fn check_text(&mut self, mut piece: &[u8]) -> Result<(), CloseCode> {
        while !self.letter.is_empty() && !piece.is_empty() {
            self.letter.push(piece[0]);
            piece = &piece[1..];
            match from_utf8(&self.letter) {
                Ok(_) => self.letter.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(CloseCode(NOT_TEXT)),
            }
        }
        if let Err(error) = from_utf8(piece) {
            match error.error_len() {
                None => self.letter.extend_from_slice(&piece[error.valid_up_to()..]),
                Some(_) => return Err(CloseCode(NOT_TEXT)),
            }
        }
        match self.frame.fin && self.frame.left == 0 && !self.letter.is_empty() {
            true => Err(CloseCode(NOT_TEXT)),
            false => Ok(()),
        }
    }

    fn control(&mut self, input: &mut &[u8], out: &mut Vec<u8>) -> Result<ParseStep, CloseCode> {
        let n = self.frame.left.min(input.len() as u64) as usize;
        let (piece, rest) = input.split_at(n);
        *input = rest;
        self.frame.left -= n as u64;
        let mut payload = std::mem::take(&mut self.partial);
        self.frame.unmask(piece, &mut payload);
        if self.frame.left > 0 {
            self.partial = payload;
            return Ok(ParseStep::Wait);
        }
        self.state = State::Header;
        match self.frame.opcode {
            PING => {
                put_frame(FIN | PONG, &payload, out);
                Ok(ParseStep::Said(Said::Aside(Then::Keep)))
            }
            CLOSE => {
                check_close(&payload)?;
                put_frame(FIN | CLOSE, &payload[..payload.len().min(2)], out);
                self.state = State::Ended;
                Ok(ParseStep::Said(Said::Aside(Then::Linger)))
            }
            _ => Ok(ParseStep::On),
        }
    }
}

enum ParseStep {
    /// There may be more to do.
    On,
    /// All input is taken.
    Wait,
    Said(Said),
}

impl IncomingFrame {
    /// From the header at the front of `bytes`, with its length; `None` when it is not complete.
    fn parse(bytes: &[u8]) -> Result<Option<(usize, Self)>, CloseCode> {
        let &[first, second, ref rest @ ..] = bytes else {
            return Ok(None);
        };
        let opcode = first & 0x0f;
        let known = matches!(opcode, 0..=2 | 8..=10);
        if first & 0x70 != 0 || second & MASKED == 0 || !known {
            return Err(CloseCode(PROTOCOL));
        }
        let (length, at) = match second & !MASKED {
            126 => match rest.first_chunk() {
                None => return Ok(None),
                Some(bytes) => (u64::from(u16::from_be_bytes(*bytes)), 2),
            },
            127 => match rest.first_chunk() {
                None => return Ok(None),
                Some(bytes) => (u64::from_be_bytes(*bytes), 8),
            },
            short => (u64::from(short), 0),
        };
        let fin = first & FIN != 0;
        let least = match at {
            0 => 0,
            2 => 126,
            _ => 65_536,
        };
        let whole = opcode < CLOSE || (fin && length <= MOST_CONTROL);
        if !whole || length < least || length >> 63 != 0 {
            return Err(CloseCode(PROTOCOL));
        }
        let Some(mask) = rest[at..].first_chunk() else {
            return Ok(None);
        };
        let frame = Self {
            fin,
            opcode,
            left: length,
            mask: *mask,
        };
        Ok(Some((2 + at + 4, frame)))
    }

    /// Appends the next bytes of the payload as they were before they were masked.
    fn unmask(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        let mask = u64::from(u32::from_le_bytes(self.mask));
        let mask = mask | mask << 32;
        let start = out.len();
        out.extend_from_slice(piece);
        let (words, rest) = out[start..].as_chunks_mut::<8>();
        for word in words {
            *word = (u64::from_le_bytes(*word) ^ mask).to_le_bytes();
        }
        for (byte, key) in rest.iter_mut().zip(mask.to_le_bytes()) {
            *byte ^= key;
        }
        self.mask.rotate_left(piece.len() % 4);
    }
}

/// May a client close with this?
fn check_close(payload: &[u8]) -> Result<(), CloseCode> {
    let (code, reason) = match payload {
        [] => return Ok(()),
        [_] => return Err(CloseCode(PROTOCOL)),
        [a, b, reason @ ..] => (u16::from_be_bytes([*a, *b]), reason),
    };
    let known = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
    match known && from_utf8(reason).is_ok() {
        true => Ok(()),
        false => Err(CloseCode(PROTOCOL)),
    }
}

/// Appends a header without a mask.
fn put_header(first: u8, length: u64, out: &mut Vec<u8>) {
    out.push(first);
    match length {
        0..=125 => out.push(length as u8),
        126..=0xffff => {
            out.push(126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(127);
            out.extend_from_slice(&length.to_be_bytes());
        }
    }
}

fn put_frame(first: u8, payload: &[u8], out: &mut Vec<u8>) {
    put_header(first, payload.len() as u64, out);
    out.extend_from_slice(payload);
}

#[cfg(test)]
#[path = "ws_tests.rs"]
mod tests;
