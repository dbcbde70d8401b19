//! A connection: bytes in, frames, answers out.

mod control;

use super::frame::{CONTINUATION, MOST_HEADER, TEXT, WsFrameHeader};
use super::handshake::Accept;
use super::session::Ws;
use crate::protocol::{Answer, Difference, Events, Fault, Fifo, Mismatch};

/// Limit of frames in a row that bring nothing of an answer: control frames, and fragments without a byte. It bounds
/// the replies that a client must keep for a server that only pings and does not read.
const MOST_IDLE: u32 = 10_000;

/// State of a connection.
#[derive(Debug, Default)]
pub struct WsConn {
    phase: StreamPhase,
    /// Bytes that came in pieces: of the handshake's answer, of a header, or of a control frame's payload.
    partial: Vec<u8>,
    /// Decides the payloads of its messages.
    base: u64,
    sent: u64,
    answered: u64,
    /// The frame that is being read, and how much of its payload is still to come.
    frame: WsFrameHeader,
    left: u64,
    message: Option<Message>,
    /// Frames since the last that brought something of an answer.
    idle: u32,
    /// The code of the server's close frame; 0 when it had none.
    closed: Option<u16>,
}

/// Part of the stream that is expected next.
#[derive(Debug, Default, PartialEq, Eq)]
enum StreamPhase {
    #[default]
    Unopened,
    Handshake(Box<Accept>),
    Header,
    Data,
    Control,
    /// The connection is over: further bytes are ignored.
    Over,
}

/// A message that is being read.
#[derive(Debug)]
struct Message {
    text: bool,
    /// Bytes so far.
    received: u64,
    difference: Option<Box<Difference>>,
}

impl WsConn {
    /// The request that it begins with has been sent.
    pub(super) fn begin(&mut self, accept: Accept, base: u64) {
        self.phase = StreamPhase::Handshake(Box::new(accept));
        self.base = base;
    }

    /// Another message is sent: where its payload comes from, and its number.
    #[inline]
    pub(super) fn send(&mut self) -> (u64, u64) {
        let nth = self.sent;
        self.sent += 1;
        (self.base, nth)
    }

    #[inline]
    pub(super) fn received(
        &mut self,
        ws: &mut Ws,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        let mut at = 0;
        loop {
            let rest = &bytes[at..];
            match &self.phase {
                StreamPhase::Header if rest.is_empty() => return Ok(()),
                StreamPhase::Header => {
                    let Some(used) = self.header(rest)? else {
                        return Ok(());
                    };
                    self.begin_frame(ws, at)?;
                    at += used;
                }
                StreamPhase::Data => {
                    let n = self.left.min(rest.len() as u64);
                    self.data(ws, &rest[..n as usize]);
                    at += n as usize;
                    if self.left > 0 {
                        return Ok(());
                    }
                    self.phase = StreamPhase::Header;
                    if self.frame.fin {
                        self.answered(ws, out, events);
                    }
                }
                StreamPhase::Control => {
                    let n = self.left.min(rest.len() as u64);
                    self.partial.extend_from_slice(&rest[..n as usize]);
                    self.left -= n;
                    at += n as usize;
                    if self.left > 0 {
                        return Ok(());
                    }
                    self.phase = StreamPhase::Header;
                    self.control(ws, out, events)?;
                    self.partial.clear();
                }
                StreamPhase::Handshake(_) => {
                    let Some(used) = self.agreed(ws, rest)? else {
                        return Ok(());
                    };
                    at += used;
                    events.ready();
                }
                StreamPhase::Unopened | StreamPhase::Over => return Ok(()),
            }
        }
    }

    /// Reads the answer to the handshake, and says how many of these bytes belong to it; `None` when it is not
    /// complete.
    #[cold]
    fn agreed(&mut self, ws: &Ws, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        let StreamPhase::Handshake(accept) = &self.phase else {
            return Ok(Some(0));
        };
        let before = self.partial.len();
        self.partial.extend_from_slice(bytes);
        match ws.upgrade().answered(accept, &self.partial)? {
            None if self.partial.len() as u64 > ws.limits().head => Err(Fault::TooLong {
                part: "the head",
                limit: ws.limits().head,
            }),
            None => Ok(None),
            Some(length) => {
                self.partial = Vec::new();
                self.phase = StreamPhase::Header;
                Ok(Some(length - before))
            }
        }
    }

    /// Reads a frame's header, and says how many of these bytes belong to it; `None` when it is not complete.
    #[inline]
    fn header(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        let before = self.partial.len();
        let parsed = match before {
            0 => WsFrameHeader::parse(bytes)?,
            _ => {
                let n = bytes.len().min(MOST_HEADER - before);
                self.partial.extend_from_slice(&bytes[..n]);
                WsFrameHeader::parse(&self.partial)?
            }
        };
        let Some((length, frame)) = parsed else {
            if before == 0 {
                self.partial.extend_from_slice(bytes);
            }
            return Ok(None);
        };
        self.partial.clear();
        self.frame = frame;
        self.left = frame.length;
        Ok(Some(length - before))
    }

    /// A header has been read, whose bytes begin at `at`.
    #[inline]
    fn begin_frame(&mut self, ws: &Ws, at: usize) -> Result<(), Fault> {
        let WsFrameHeader {
            fin,
            opcode,
            length,
        } = self.frame;
        if self.frame.is_control() {
            self.phase = StreamPhase::Control;
            return self.idle();
        }
        let received = match (&self.message, opcode) {
            (None, CONTINUATION) => {
                return Err(Fault::Malformed("a continuation of no message"));
            }
            (Some(message), CONTINUATION) => message.received,
            (Some(_), _) => {
                return Err(Fault::Malformed(
                    "a message begins before the fragments of another one have ended",
                ));
            }
            (None, _) if self.sent == self.answered => return Err(Fault::Unsolicited { at }),
            (None, _) => {
                self.message = Some(Message {
                    text: opcode == TEXT,
                    received: 0,
                    difference: None,
                });
                0
            }
        };
        let limit = ws.limits().body;
        if received.saturating_add(length) > limit {
            let part = "the message";
            return Err(Fault::TooLong { part, limit });
        }
        self.phase = StreamPhase::Data;
        match length == 0 && !fin {
            true => self.idle(),
            false => {
                self.idle = 0;
                Ok(())
            }
        }
    }

    /// A frame brings nothing of an answer.
    fn idle(&mut self) -> Result<(), Fault> {
        self.idle += 1;
        match self.idle > MOST_IDLE {
            true => Err(Fault::Malformed(
                "more than 10000 frames in a row that bring nothing of an answer",
            )),
            false => Ok(()),
        }
    }

    /// Some of a message's payload.
    #[inline]
    fn data(&mut self, ws: &Ws, piece: &[u8]) {
        self.left -= piece.len() as u64;
        let Some(message) = &mut self.message else {
            return;
        };
        let payload = ws.payload(self.base, self.answered);
        let at = message.received;
        if message.difference.is_none() && !payload.matches_at(at, piece) {
            message.difference = payload.difference_at(at, piece);
        }
        message.received += piece.len() as u64;
    }

    /// A message is complete.
    #[inline]
    fn answered(&mut self, ws: &mut Ws, out: &mut Vec<u8>, events: &mut impl Events<Fifo>) {
        let Some(message) = self.message.take() else {
            return;
        };
        let body = message.received;
        let wrong = self.judge(ws, message);
        self.answered += 1;
        events.answered(
            Fifo,
            Answer {
                status: 0,
                wrong,
                last: false,
                body,
            },
        );
        if ws.is_last(self.answered) {
            control::say_goodbye(ws, out);
        }
    }

    #[inline]
    fn judge(&self, ws: &Ws, message: Message) -> Option<Mismatch> {
        let payload = ws.payload(self.base, self.answered);
        let Message {
            text,
            received,
            difference,
        } = message;
        if text != ws.is_text() {
            let [sent, came] = match text {
                true => ["a binary", "a text"],
                false => ["a text", "a binary"],
            };
            let told = format!("{came} message, expected {sent} one");
            return Some(Mismatch::Stated(told.into()));
        }
        if received != payload.size {
            let cut_short = || (received < payload.size).then(|| payload.difference(received, &[]));
            return Some(Mismatch::Length {
                expected: payload.size,
                found: received,
                difference: difference.or_else(cut_short),
            });
        }
        difference.map(Mismatch::Body)
    }
}
