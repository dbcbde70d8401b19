//! A connection: frames in, answers out.

mod answers;
mod control;

use super::content::{Content, HeaderSection, Plain};
use super::frame::{self, FrameHeader, put_header, put_number};
use super::hpack::{Decoder, TABLE_SIZE};
use super::sending::TableUse;
use super::session::Setup;
use super::streams::{LAST_STREAM, Streams};
use super::text::TabledFields;
use crate::protocol::{Events, Fault, HeadBytes, Tag};
use std::collections::VecDeque;

/// A block longer than this is decoded anew each time.
const KNOWN_BLOCK: usize = 256;
/// The most frames, one after the other, that bring nothing: settings, pings, empty DATA, and the like.
const MOST_IDLE_FRAMES: u32 = 10_000;
/// The most frames of a header block.
const MOST_CONTINUATIONS: u32 = 128;

/// State of a connection.
#[derive(Debug)]
pub struct H2Conn<C: Content = Plain> {
    /// A frame that has come in part; of DATA the header only.
    partial: Vec<u8>,
    /// The server's settings have come.
    settled: bool,
    /// The server has sent GOAWAY.
    leaving: bool,
    pub(super) streams: Streams<C::Reading>,
    /// Requests written.
    pub(super) asked: u32,
    decoder: Decoder,
    /// The last decoded blocks: of header sections, and of trailers.
    known: [KnownBlock<C::Fields>; 2],
    block: Option<HeaderBlock>,
    data: Option<Data>,
    /// Bytes of DATA that have come since the server was last given more room.
    unacknowledged: u32,
    /// How often bytes have come.
    turn: u64,
    /// Bytes of requests' bodies that the server takes, beyond what has been sent: over all streams, and at the
    /// beginning of each.
    pub(super) room: i64,
    pub(super) initial_room: i64,
    pub(super) most_frame: u32,
    pub(super) most_streams: u32,
    /// The places of requests whose bodies wait for room.
    pub(super) blocked: VecDeque<u32>,
    pub(super) table: TableUse,
    /// Shared fields of composed requests that are in that table.
    pub(super) told: TabledFields,
    /// Index of the connection among the worker's connections.
    pub(super) slot: u32,
    /// Size limit that the server sets for its table of our fields, in bytes as HPACK counts them.
    pub(super) table_size: usize,
    /// Frames since the last that brought something.
    pub(super) idle_frames: u32,
    /// Header blocks since the session last took note of them.
    pub(super) heads: HeadBytes,
}

impl<C: Content> Default for H2Conn<C> {
    fn default() -> Self {
        Self {
            partial: Vec::new(),
            settled: false,
            leaving: false,
            streams: Streams::default(),
            asked: 0,
            decoder: Decoder::default(),
            known: Default::default(),
            block: None,
            data: None,
            unacknowledged: 0,
            turn: 0,
            room: 65_535,
            initial_room: 65_535,
            most_frame: frame::MOST as u32,
            most_streams: u32::MAX,
            blocked: VecDeque::new(),
            table: TableUse::default(),
            told: TabledFields::default(),
            slot: 0,
            table_size: TABLE_SIZE,
            idle_frames: 0,
            heads: HeadBytes::default(),
        }
    }
}

/// The block that was decoded last. A server under load sends the same one again and again, and as long as the dynamic
/// table stays what it was, it means the same.
#[derive(Debug, Default)]
struct KnownBlock<F> {
    bytes: Vec<u8>,
    section: HeaderSection<F>,
    version: u64,
}

/// A header block that goes on in the next frame.
#[derive(Debug)]
struct HeaderBlock {
    stream: u32,
    bytes: Vec<u8>,
    end: bool,
    frames: u32,
}

/// A DATA frame that is being read.
#[derive(Debug, Clone, Copy)]
struct Data {
    stream: u32,
    left: usize,
    padding: usize,
    end: bool,
}

const SIZE: Fault = Fault::Malformed("a frame of a wrong size");
const STREAM: Fault = Fault::Malformed("a frame on a wrong stream");

/// State that a connection needs while it takes bytes.
struct Turn<'a, C: Content, E> {
    h2: &'a Setup<C>,
    /// Output: bytes to send.
    out: &'a mut Vec<u8>,
    /// Receiver of the answers.
    events: &'a mut E,
    state: &'a mut C::State,
}

impl<C: Content> H2Conn<C> {
    #[inline]
    pub(super) fn accepts(&self) -> bool {
        self.streams.open < self.most_streams && self.streams.next() < LAST_STREAM
    }

    pub(super) fn how_ended(&self) -> &'static str {
        match (self.settled, self.leaving) {
            (false, _) => "the server closed the connection before its first frame of HTTP/2",
            (true, true) => "the server closed the connection after GOAWAY",
            (true, false) => "the server closed the connection",
        }
    }

    /// Takes bytes, as [`Session::received`](crate::protocol::Session::received).
    pub(super) fn received(
        &mut self,
        (h2, state): (&Setup<C>, &mut C::State),
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let turn = &mut Turn {
            h2,
            out,
            events,
            state,
        };
        self.turn += 1;
        if self.partial.is_empty() {
            let used = self.read(bytes, turn)?;
            self.partial.extend_from_slice(&bytes[used..]);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            let used = self.read(&joined, turn)?;
            joined.drain(..used);
            self.partial = joined;
        }
        if self.unacknowledged >= h2.connection_window && self.streams.open > 0 {
            turn.events.stalled();
        }
        if self.unacknowledged >= h2.connection_window / 2 {
            put_number(frame::WINDOW_UPDATE, 0, self.unacknowledged, turn.out);
            self.unacknowledged = 0;
        }
        if !self.blocked.is_empty() {
            self.send_bodies(h2, turn.out);
        }
        Ok(())
    }

    /// Ends a stream of events, as [`Session::hang_up`](crate::protocol::Session::hang_up).
    pub(super) fn hang_up_on(
        &mut self,
        (h2, state): (&Setup<C>, &mut C::State),
        tag: Tag,
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> bool {
        let turn = &mut Turn {
            h2,
            out,
            events,
            state,
        };
        self.streams.in_flight(tag).is_some() && self.hang_up(tag.index(), turn)
    }

    /// Takes whole frames, and DATA as it comes, from the front of `bytes`; gives how many bytes.
    fn read(
        &mut self,
        bytes: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) -> Result<usize, Fault> {
        let mut at = 0;
        loop {
            if let Some(data) = self.data {
                at += self.data(data, &bytes[at..], turn)?;
                if self.data.is_some() {
                    return Ok(at);
                }
            }
            let rest = &bytes[at..];
            let Some(first) = rest.first_chunk() else {
                return Ok(at);
            };
            let header = FrameHeader::parse(first);
            if !self.settled {
                if first.starts_with(b"HTTP/1.") {
                    return Err(Fault::Malformed("the server speaks HTTP/1.1, not HTTP/2"));
                }
                if header.kind != frame::SETTINGS || header.has(frame::ACK) {
                    return Err(Fault::Malformed(
                        "not HTTP/2: it does not begin with settings",
                    ));
                }
            }
            if header.length > frame::MOST {
                return Err(Fault::TooLong {
                    part: "a frame",
                    limit: frame::MOST as u64,
                });
            }
            if self.block.is_some() && header.kind != frame::CONTINUATION {
                return Err(Fault::Malformed("another frame within a header block"));
            }
            let after = &rest[frame::HEADER..];
            if header.kind == frame::DATA {
                let Some(used) = self.begin_data(turn.h2, header, after)? else {
                    return Ok(at);
                };
                at += frame::HEADER + used;
                continue;
            }
            let Some(payload) = after.get(..header.length) else {
                return Ok(at);
            };
            at += frame::HEADER + header.length;
            self.frame(header, payload, turn)?;
        }
    }

    fn frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) -> Result<(), Fault> {
        match header.kind {
            frame::HEADERS => return self.headers(header, payload, turn),
            frame::CONTINUATION => return self.continuation(header, payload, turn),
            _ => {}
        }
        self.idle()?;
        let of_connection = header.stream == 0;
        match header.kind {
            frame::SETTINGS if !of_connection => return Err(STREAM),
            frame::SETTINGS => self.settings(header, payload, turn)?,
            frame::PING if !of_connection => return Err(STREAM),
            frame::PING if payload.len() != 8 => return Err(SIZE),
            frame::PING if !header.has(frame::ACK) => {
                put_header(8, frame::PING, frame::ACK, 0, turn.out);
                turn.out.extend_from_slice(payload);
            }
            frame::GOAWAY if !of_connection => return Err(STREAM),
            frame::GOAWAY => self.goaway(payload, turn)?,
            frame::WINDOW_UPDATE => self.window_update(header, payload, turn)?,
            frame::RST_STREAM => self.reset(header, payload, turn)?,
            frame::PRIORITY if of_connection => return Err(STREAM),
            frame::PRIORITY if payload.len() != 5 => return Err(SIZE),
            frame::PUSH_PROMISE => {
                return Err(Fault::Malformed(
                    "the server pushes, which was switched off",
                ));
            }
            // What is not known is passed over (RFC 9113, 4.1).
            _ => {}
        }
        Ok(())
    }

    /// A frame that brings nothing.
    fn idle(&mut self) -> Result<(), Fault> {
        self.idle_frames += 1;
        match self.idle_frames > MOST_IDLE_FRAMES {
            true => Err(Fault::Malformed(
                "more than 10,000 frames that bring nothing, one after the other",
            )),
            false => Ok(()),
        }
    }
}
