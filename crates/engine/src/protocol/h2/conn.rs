//! A connection: frames in, answers out.

use super::MOST_WINDOW;
use super::frame::{self, Header, number, put_header, put_number};
use super::head::Head;
use super::hpack::{Decoder, Refusal, TABLE_SIZE};
use super::sending::Table;
use super::session::H2;
use super::streams::{Known, Streams};
use crate::protocol::{Answer, Events, Fault, Mismatch, Tag};
use std::collections::VecDeque;

/// A block longer than this is decoded anew each time.
const KNOWN_BLOCK: usize = 256;
/// The most frames, one after the other, that bring nothing: settings, pings, empty DATA, and the like.
const MOST_IDLE_FRAMES: u32 = 10_000;
/// The most frames of a header block.
const MOST_CONTINUATIONS: u32 = 128;
/// From this stream on a connection is replaced: numbers end at 2^31 − 1.
const LAST_STREAM: u32 = 0x7fff_0000;

/// What is remembered per connection.
#[derive(Debug)]
pub struct H2Conn {
    /// A frame that has come in part; of DATA the header only.
    partial: Vec<u8>,
    /// The server's settings have come.
    settled: bool,
    /// It has said GOAWAY.
    leaving: bool,
    pub(super) streams: Streams,
    /// Requests written.
    pub(super) asked: u32,
    decoder: Decoder,
    known: KnownBlock,
    block: Option<Block>,
    data: Option<Data>,
    /// Bytes of DATA that have come since the server was last given more room.
    unacknowledged: u32,
    /// What the server takes of requests' bodies, beyond what has been sent: over all streams, and at the beginning of
    /// each.
    pub(super) room: i64,
    pub(super) initial_room: i64,
    pub(super) most_frame: u32,
    most_streams: u32,
    /// The places of requests whose bodies wait for room.
    pub(super) blocked: VecDeque<u32>,
    pub(super) table: Table,
    /// What the server allows its table of our fields.
    pub(super) table_size: usize,
    /// Frames since the last that brought something.
    pub(super) idle_frames: u32,
}

impl Default for H2Conn {
    fn default() -> Self {
        Self {
            partial: Vec::new(),
            settled: false,
            leaving: false,
            streams: Streams::default(),
            asked: 0,
            decoder: Decoder::default(),
            known: KnownBlock::default(),
            block: None,
            data: None,
            unacknowledged: 0,
            room: 65_535,
            initial_room: 65_535,
            most_frame: frame::MOST as u32,
            most_streams: u32::MAX,
            blocked: VecDeque::new(),
            table: Table::default(),
            table_size: TABLE_SIZE,
            idle_frames: 0,
        }
    }
}

/// The block that was decoded last. A server under load sends the same one again and again, and as long as the dynamic
/// table stays what it was, it means the same.
#[derive(Debug, Default)]
struct KnownBlock {
    bytes: Vec<u8>,
    head: Head,
    version: u64,
}

/// A header block that goes on in the next frame.
#[derive(Debug)]
struct Block {
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

impl H2Conn {
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
        h2: &H2,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        if self.partial.is_empty() {
            let used = self.read(h2, bytes, out, events)?;
            self.partial.extend_from_slice(&bytes[used..]);
        } else {
            let mut joined = std::mem::take(&mut self.partial);
            joined.extend_from_slice(bytes);
            let used = self.read(h2, &joined, out, events)?;
            joined.drain(..used);
            self.partial = joined;
        }
        if self.unacknowledged >= h2.connection_window / 2 {
            put_number(frame::WINDOW_UPDATE, 0, self.unacknowledged, out);
            self.unacknowledged = 0;
        }
        if !self.blocked.is_empty() {
            self.send_bodies(h2, out);
        }
        Ok(())
    }

    /// Takes whole frames, and DATA as it comes, from the front of `bytes`; gives how many bytes.
    fn read(
        &mut self,
        h2: &H2,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<usize, Fault> {
        let mut at = 0;
        loop {
            if let Some(data) = self.data {
                at += self.data(h2, data, &bytes[at..], out, events)?;
                if self.data.is_some() {
                    return Ok(at);
                }
            }
            let rest = &bytes[at..];
            let Some(first) = rest.first_chunk() else {
                return Ok(at);
            };
            let header = Header::parse(first);
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
                let Some(used) = self.begin_data(h2, header, after)? else {
                    return Ok(at);
                };
                at += frame::HEADER + used;
                continue;
            }
            let Some(payload) = after.get(..header.length) else {
                return Ok(at);
            };
            at += frame::HEADER + header.length;
            self.frame(h2, header, payload, out, events)?;
        }
    }

    fn frame(
        &mut self,
        h2: &H2,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        match header.kind {
            frame::HEADERS => return self.headers(h2, header, payload, out, events),
            frame::CONTINUATION => return self.continuation(h2, header, payload, out, events),
            _ => {}
        }
        self.idle()?;
        let of_connection = header.stream == 0;
        match header.kind {
            frame::SETTINGS if !of_connection => return Err(STREAM),
            frame::SETTINGS => self.settings(header, payload, out, events)?,
            frame::PING if !of_connection => return Err(STREAM),
            frame::PING if payload.len() != 8 => return Err(SIZE),
            frame::PING if !header.has(frame::ACK) => {
                put_header(8, frame::PING, frame::ACK, 0, out);
                out.extend_from_slice(payload);
            }
            frame::GOAWAY if !of_connection => return Err(STREAM),
            frame::GOAWAY => self.goaway(payload, events)?,
            frame::WINDOW_UPDATE => self.window_update(header, payload, out, events)?,
            frame::RST_STREAM => self.reset(header, payload, events)?,
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

    fn settings(
        &mut self,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        if header.has(frame::ACK) {
            return match payload.is_empty() {
                true => Ok(()),
                false => Err(SIZE),
            };
        }
        if !payload.len().is_multiple_of(6) {
            return Err(SIZE);
        }
        for setting in payload.chunks_exact(6) {
            let value = number(&setting[2..]).unwrap_or_default();
            match u16::from_be_bytes([setting[0], setting[1]]) {
                frame::HEADER_TABLE_SIZE => self.resize_table(value as usize),
                frame::ENABLE_PUSH if value != 0 => {
                    return Err(Fault::Malformed("a server's setting that allows push"));
                }
                frame::MAX_CONCURRENT_STREAMS => self.most_streams = value,
                frame::INITIAL_WINDOW_SIZE if value > MOST_WINDOW => {
                    return Err(Fault::Malformed("a window of more than 2^31 - 1 bytes"));
                }
                frame::INITIAL_WINDOW_SIZE => {
                    let more = i64::from(value) - self.initial_room;
                    self.initial_room = i64::from(value);
                    for (_, stream) in self.streams.all() {
                        stream.room += more;
                        if stream.room > i64::from(MOST_WINDOW) {
                            return Err(Fault::Malformed("a window of more than 2^31 - 1 bytes"));
                        }
                    }
                }
                frame::MAX_FRAME_SIZE if !(16_384..=0xff_ffff).contains(&value) => {
                    return Err(Fault::Malformed(
                        "a setting of a frame size that HTTP/2 does not allow",
                    ));
                }
                frame::MAX_FRAME_SIZE => self.most_frame = value,
                _ => {}
            }
        }
        put_header(0, frame::SETTINGS, frame::ACK, 0, out);
        if !self.settled {
            self.settled = true;
            events.ready();
        }
        Ok(())
    }

    /// What the server allows its table of our fields. Where that is less than before, it has to be told that the table
    /// is smaller (RFC 7541, 4.2); it is then not used any more.
    fn resize_table(&mut self, size: usize) {
        if size < self.table_size {
            self.table = Table::Dropped;
        }
        self.table_size = size;
    }

    fn goaway(&mut self, payload: &[u8], events: &mut impl Events<Tag>) -> Result<(), Fault> {
        let (Some(last), Some(code)) = (number(payload), payload.get(4..).and_then(number)) else {
            return Err(SIZE);
        };
        self.leaving = true;
        let last = last & 0x7fff_ffff;
        let beyond = self.streams.all().filter(|(_, stream)| stream.id > last);
        let beyond: Vec<usize> = beyond.map(|(place, _)| place).collect();
        for place in beyond {
            let why = match code {
                frame::NO_ERROR => {
                    "the server closes the connection (GOAWAY) and did not process the request"
                        .into()
                }
                code => format!(
                    "the server closes the connection (GOAWAY, {}) and did not process the request",
                    frame::error_name(code)
                ),
            };
            self.fail(place, Mismatch::Stated(why.into()), events);
        }
        events.closing();
        Ok(())
    }

    fn window_update(
        &mut self,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let (Some(more), 4) = (number(payload), payload.len()) else {
            return Err(SIZE);
        };
        let more = i64::from(more & 0x7fff_ffff);
        let wrong = |room: i64| match (more, room + more > i64::from(MOST_WINDOW)) {
            (0, _) => Some("a window that grows by nothing"),
            (_, true) => Some("a window of more than 2^31 - 1 bytes"),
            _ => None,
        };
        if header.stream == 0 {
            if let Some(why) = wrong(self.room) {
                return Err(Fault::Malformed(why));
            }
            self.room += more;
            return Ok(());
        }
        match self.streams.find(header.stream) {
            Known::Never => Err(STREAM),
            Known::Ended | Known::Cancelled => Ok(()),
            Known::Open(place) => {
                let stream = self.streams.get(place);
                match wrong(stream.room) {
                    Some(why) => self.refuse(place, Fault::Malformed(why), true, out, events),
                    None => stream.room += more,
                }
                Ok(())
            }
        }
    }

    fn reset(
        &mut self,
        header: Header,
        payload: &[u8],
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let (Some(code), 4) = (number(payload), payload.len()) else {
            return Err(SIZE);
        };
        match self.streams.find(header.stream) {
            Known::Never => return Err(STREAM),
            Known::Ended => {}
            Known::Cancelled => self.streams.forget(header.stream),
            Known::Open(place) => {
                let name = frame::error_name(code);
                let why = format!("the server reset the stream ({name})");
                self.fail(place, Mismatch::Stated(why.into()), events);
            }
        }
        Ok(())
    }

    fn headers(
        &mut self,
        h2: &H2,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let mut fragment = payload;
        if header.has(frame::PADDED) {
            let (&padding, rest) = fragment.split_first().ok_or(SIZE)?;
            let length = rest.len().checked_sub(usize::from(padding));
            fragment = &rest[..length.ok_or(Fault::Malformed("padding longer than its frame"))?];
        }
        if header.has(frame::PRIORITISED) {
            fragment = fragment.get(5..).ok_or(SIZE)?;
        }
        if self.streams.find(header.stream) == Known::Never {
            return Err(STREAM);
        }
        let end = header.has(frame::END_STREAM);
        if header.has(frame::END_HEADERS) {
            return self.section(h2, header.stream, fragment, end, out, events);
        }
        self.block = Some(Block {
            stream: header.stream,
            bytes: fragment.to_vec(),
            end,
            frames: 1,
        });
        Ok(())
    }

    fn continuation(
        &mut self,
        h2: &H2,
        header: Header,
        payload: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let Some(block) = &mut self.block else {
            return Err(Fault::Malformed("CONTINUATION without HEADERS before it"));
        };
        if block.stream != header.stream {
            return Err(STREAM);
        }
        block.frames += 1;
        block.bytes.extend_from_slice(payload);
        if block.bytes.len() as u64 > h2.limits.head || block.frames > MOST_CONTINUATIONS {
            return Err(too_long(h2));
        }
        if header.has(frame::END_HEADERS)
            && let Some(Block {
                stream, bytes, end, ..
            }) = self.block.take()
        {
            return self.section(h2, stream, &bytes, end, out, events);
        }
        Ok(())
    }

    /// A whole header block: the header section of an answer, an interim one, or trailers.
    #[inline]
    fn section(
        &mut self,
        h2: &H2,
        id: u32,
        block: &[u8],
        end: bool,
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let head = self.decode(h2, block)?;
        let place = match self.streams.find(id) {
            Known::Open(place) => place,
            Known::Cancelled => {
                if end {
                    self.streams.forget(id);
                }
                return self.idle();
            }
            Known::Ended | Known::Never => {
                return Err(Fault::Malformed(
                    "a header section after the end of its stream",
                ));
            }
        };
        let stream = self.streams.get(place);
        let trailers = stream.status != 0;
        let wrong = match (head.wrong, head.status) {
            (Some(why), _) => Some(why),
            (None, None) if !trailers => Some("an answer without :status"),
            (None, Some(_)) if trailers => Some(":status in the trailers"),
            (None, None) if !end => Some("trailers that do not end their stream"),
            (None, Some(101)) => {
                Some("the server switched protocols (101), which HTTP/2 does not have")
            }
            (None, Some(..200)) if end => Some("an interim answer that ends its stream"),
            _ => None,
        };
        if let Some(why) = wrong {
            self.refuse(place, Fault::Malformed(why), !end, out, events);
            return Ok(());
        }
        match head.status {
            Some(..200) => return self.idle(),
            Some(status) => (stream.status, stream.length) = (status, head.length),
            None => {}
        }
        if end {
            self.complete(h2, place, out, events);
        }
        Ok(())
    }

    /// What a block says.
    #[inline]
    fn decode(&mut self, h2: &H2, block: &[u8]) -> Result<Head, Fault> {
        if self.known.version == self.decoder.version()
            && !block.is_empty()
            && self.known.bytes == block
        {
            return Ok(self.known.head);
        }
        let limit = usize::try_from(h2.limits.head).unwrap_or(usize::MAX);
        let before = self.decoder.version();
        let mut head = Head::default();
        let decoded = self
            .decoder
            .decode(block, limit, |name, value| head.field(name, value));
        match decoded {
            Ok(()) => {}
            Err(Refusal::Invalid(why)) => return Err(Fault::Malformed(why)),
            Err(Refusal::TooLong) => return Err(too_long(h2)),
        }
        if self.decoder.version() == before && block.len() <= KNOWN_BLOCK {
            self.known.bytes.clear();
            self.known.bytes.extend_from_slice(block);
            self.known.head = head;
            self.known.version = before;
        }
        Ok(head)
    }

    /// A DATA frame begins. Gives what was read of its payload; none when more has to come before.
    #[inline]
    fn begin_data(
        &mut self,
        h2: &H2,
        header: Header,
        after: &[u8],
    ) -> Result<Option<usize>, Fault> {
        let (mut left, mut padding, mut used) = (header.length, 0, 0);
        if header.has(frame::PADDED) {
            if left == 0 {
                return Err(SIZE);
            }
            let Some(&first) = after.first() else {
                return Ok(None);
            };
            padding = usize::from(first);
            used = 1;
            left = (left - 1)
                .checked_sub(padding)
                .ok_or(Fault::Malformed("padding longer than its frame"))?;
        }
        // Flow control counts the payload with its padding.
        let counted = header.length as u32;
        self.unacknowledged += counted;
        let beyond = Fault::Malformed("more data than its window allows");
        if self.unacknowledged > h2.connection_window {
            return Err(beyond);
        }
        match self.streams.find(header.stream) {
            Known::Open(place) => {
                let stream = self.streams.get(place);
                stream.unacknowledged += counted;
                if stream.unacknowledged > h2.window {
                    return Err(beyond);
                }
            }
            Known::Cancelled => {}
            Known::Never => return Err(STREAM),
            Known::Ended => return Err(Fault::Malformed("data after the end of its stream")),
        }
        if left == 0 {
            self.idle()?;
        } else {
            self.idle_frames = 0;
        }
        self.data = Some(Data {
            stream: header.stream,
            left,
            padding,
            end: header.has(frame::END_STREAM),
        });
        Ok(Some(used))
    }

    /// Takes what is there of a DATA frame's payload; gives how many bytes.
    #[inline]
    fn data(
        &mut self,
        h2: &H2,
        data: Data,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<usize, Fault> {
        let n = data.left.min(bytes.len());
        let padding = data.padding.min(bytes.len() - n);
        let mut known = self.streams.find(data.stream);
        if let Known::Open(place) = known
            && let Some(why) = self.body(h2, place, &bytes[..n])
        {
            self.refuse(place, why, true, out, events);
            known = Known::Cancelled;
        }
        let (left, more) = (data.left - n, data.padding - padding);
        if left > 0 || more > 0 {
            self.data = Some(Data {
                left,
                padding: more,
                ..data
            });
            return Ok(n + padding);
        }
        self.data = None;
        match known {
            Known::Open(place) if data.end => self.end_of_data(h2, place, out, events),
            Known::Open(place) => {
                let stream = self.streams.get(place);
                if stream.unacknowledged >= h2.window.div_ceil(2) {
                    let id = stream.id;
                    put_number(frame::WINDOW_UPDATE, id, stream.unacknowledged, out);
                    stream.unacknowledged = 0;
                }
            }
            Known::Cancelled if data.end => self.streams.forget(data.stream),
            _ => {}
        }
        Ok(n + padding)
    }

    #[inline]
    fn end_of_data(
        &mut self,
        h2: &H2,
        place: usize,
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) {
        if self.streams.get(place).status == 0 {
            let why = Fault::Malformed("data before the header section");
            return self.refuse(place, why, false, out, events);
        }
        self.complete(h2, place, out, events);
    }

    /// A piece of an answer's body. Gives what is wrong, if the stream cannot go on.
    #[inline]
    fn body(&mut self, h2: &H2, place: usize, bytes: &[u8]) -> Option<Fault> {
        let stream = self.streams.get(place);
        if bytes.is_empty() {
            return None;
        }
        if stream.status == 0 {
            return Some(Fault::Malformed("data before the header section"));
        }
        let it = &h2.exchanges[stream.exchange as usize];
        if it.head || matches!(stream.status, 204 | 304) {
            return Some(Fault::Malformed("a body where there must be none"));
        }
        if !it.expect.matches_at(stream.body, bytes) && stream.difference.is_none() {
            stream.difference = it.expect.difference_at(stream.body, bytes);
        }
        stream.body += bytes.len() as u64;
        if stream.length.is_some_and(|length| stream.body > length) {
            return Some(Fault::Malformed("a body longer than content-length says"));
        }
        (stream.body > h2.limits.body).then_some(Fault::TooLong {
            part: "the body",
            limit: h2.limits.body,
        })
    }

    /// The server has ended a stream.
    #[inline]
    fn complete(
        &mut self,
        h2: &H2,
        place: usize,
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) {
        let stream = self.streams.get(place);
        let it = &h2.exchanges[stream.exchange as usize];
        let (status, body) = (stream.status, stream.body);
        let bodiless = it.head || matches!(status, 204 | 304);
        let short = stream.length.is_some_and(|length| length != body) && !bodiless;
        let wrong = match short {
            true => Some(Mismatch::Fault(Fault::Malformed(
                "a body shorter than content-length says",
            ))),
            false if it.head => it.expect.judge_status(status),
            false => it.expect.judge(status, body, stream.difference.take()),
        };
        if stream.sending {
            // An answer before the request's end: the rest of it is not sent (RFC 9113, 8.1).
            put_number(frame::RST_STREAM, stream.id, frame::NO_ERROR, out);
        }
        self.answer(
            place,
            false,
            Answer {
                status,
                wrong,
                last: false,
                body,
            },
            events,
        );
    }

    /// An answer breaks the protocol, and its stream alone. `open`: the server may send more on it.
    #[cold]
    fn refuse(
        &mut self,
        place: usize,
        fault: Fault,
        open: bool,
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) {
        let stream = self.streams.get(place);
        let (id, status, body) = (stream.id, stream.status, stream.body);
        if open || stream.sending {
            put_number(frame::RST_STREAM, id, frame::PROTOCOL_ERROR, out);
        }
        let wrong = Some(Mismatch::Fault(fault));
        self.answer(
            place,
            open,
            Answer {
                status,
                wrong,
                last: false,
                body,
            },
            events,
        );
    }

    /// The server gives up a stream.
    #[cold]
    fn fail(&mut self, place: usize, wrong: Mismatch, events: &mut impl Events<Tag>) {
        let stream = self.streams.get(place);
        let answer = Answer {
            status: stream.status,
            wrong: Some(wrong),
            last: false,
            body: stream.body,
        };
        self.answer(place, false, answer, events);
    }

    #[inline]
    fn answer(
        &mut self,
        place: usize,
        cancelled: bool,
        answer: Answer,
        events: &mut impl Events<Tag>,
    ) {
        if let Some(tag) = self.close(place, cancelled) {
            events.answered(tag, answer);
        }
        if self.streams.next() >= LAST_STREAM {
            events.closing();
        }
    }

    /// Closes a stream. Gives its tag.
    #[inline]
    pub(super) fn close(&mut self, place: usize, cancelled: bool) -> Option<Tag> {
        if self.streams.get(place).sending {
            self.blocked.retain(|&other| other as usize != place);
        }
        self.streams.close(place, cancelled)
    }
}

fn too_long(h2: &H2) -> Fault {
    Fault::TooLong {
        part: "the header section",
        limit: h2.limits.head,
    }
}
