//! Frames that are parts of answers: header sections, and bodies.

use super::{Data, H2Conn, HeaderBlock, KNOWN_BLOCK, MOST_CONTINUATIONS, SIZE, STREAM, Turn};
use crate::protocol::h2::content::{Content, HeaderSection};
use crate::protocol::h2::frame::{self, FrameHeader, put_number};
use crate::protocol::h2::head::ResponseHead;
use crate::protocol::h2::hpack::HpackError;
use crate::protocol::h2::reception::Section;
use crate::protocol::h2::session::Setup;
use crate::protocol::h2::streams::{LAST_STREAM, StreamState};
use crate::protocol::{Events, Fault, Mismatch, Tag};

impl<C: Content> H2Conn<C> {
    pub(super) fn headers(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
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
        if self.streams.find(header.stream) == StreamState::Never {
            return Err(STREAM);
        }
        let end = header.has(frame::END_STREAM);
        if header.has(frame::END_HEADERS) {
            return self.section(header.stream, fragment, end, turn);
        }
        self.block = Some(HeaderBlock {
            stream: header.stream,
            bytes: fragment.to_vec(),
            end,
            frames: 1,
        });
        Ok(())
    }

    pub(super) fn continuation(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) -> Result<(), Fault> {
        let Some(block) = &mut self.block else {
            return Err(Fault::Malformed("CONTINUATION without HEADERS before it"));
        };
        if block.stream != header.stream {
            return Err(STREAM);
        }
        block.frames += 1;
        block.bytes.extend_from_slice(payload);
        if block.bytes.len() as u64 > turn.h2.limits.head || block.frames > MOST_CONTINUATIONS {
            return Err(too_long(turn.h2));
        }
        if header.has(frame::END_HEADERS)
            && let Some(HeaderBlock {
                stream, bytes, end, ..
            }) = self.block.take()
        {
            return self.section(stream, &bytes, end, turn);
        }
        Ok(())
    }

    /// A whole header block: the header section of an answer, an interim one, or trailers.
    #[inline]
    pub(super) fn section(
        &mut self,
        id: u32,
        block: &[u8],
        end: bool,
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) -> Result<(), Fault> {
        let found = self.streams.find(id);
        // Trailers mostly follow sections of another kind: each kind has a known block.
        let kind = match found {
            StreamState::Open(place) => usize::from(self.streams.get(place).answer.is_headed()),
            _ => 0,
        };
        let head = self.decode(turn.h2, block, kind)?;
        self.heads.compressed += block.len() as u64;
        self.heads.plain += u64::from(head.size);
        let place = match found {
            StreamState::Open(place) => place,
            StreamState::Cancelled => {
                if end {
                    self.streams.forget(id);
                }
                return self.idle();
            }
            StreamState::Ended | StreamState::Never => {
                return Err(Fault::Malformed(
                    "a header section after the end of its stream",
                ));
            }
        };
        let answer = &mut self.streams.get(place).answer;
        match answer.section(head, end) {
            Ok(Section::Interim) => return self.idle(),
            Ok(Section::Final) => {}
            Err(fault) => {
                self.refuse(place, fault, !end, turn);
                return Ok(());
            }
        }
        let fields = &self.known[kind].section.fields;
        C::section(turn.state, &mut answer.reading, fields);
        if end {
            self.complete(place, turn);
        }
        Ok(())
    }

    /// Decodes the block of a header section (`kind` 0) or of trailers (1), and returns its HTTP part. Its other
    /// fields are in `known` after that.
    #[inline]
    pub(super) fn decode(
        &mut self,
        h2: &Setup<C>,
        block: &[u8],
        kind: usize,
    ) -> Result<ResponseHead, Fault> {
        let known = &mut self.known[kind];
        if known.version == self.decoder.version() && !block.is_empty() && known.bytes == block {
            return Ok(known.section.head);
        }
        known.bytes.clear();
        let limit = usize::try_from(h2.limits.head).unwrap_or(usize::MAX);
        let before = self.decoder.version();
        let mut section = HeaderSection::default();
        let decoded = self.decoder.decode(block, limit, |name, value| {
            section.head.field(name, value);
            C::field(&mut section.fields, name, value);
        });
        match decoded {
            Ok(()) => {}
            Err(HpackError::Invalid(why)) => return Err(Fault::Malformed(why)),
            Err(HpackError::TooLong) => return Err(too_long(h2)),
        }
        C::fields_end(&mut section.fields);
        known.section = section;
        if self.decoder.version() == before && block.len() <= KNOWN_BLOCK {
            known.bytes.extend_from_slice(block);
            known.version = before;
        }
        Ok(known.section.head)
    }

    /// A DATA frame begins. Gives what was read of its payload; none when more has to come before.
    #[inline]
    pub(super) fn begin_data(
        &mut self,
        h2: &Setup<C>,
        header: FrameHeader,
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
            StreamState::Open(place) => {
                let stream = self.streams.get(place);
                stream.unacknowledged += counted;
                if stream.unacknowledged > h2.window {
                    return Err(beyond);
                }
            }
            StreamState::Cancelled => {}
            StreamState::Never => return Err(STREAM),
            StreamState::Ended => return Err(Fault::Malformed("data after the end of its stream")),
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
    pub(super) fn data(
        &mut self,
        data: Data,
        bytes: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) -> Result<usize, Fault> {
        let n = data.left.min(bytes.len());
        let padding = data.padding.min(bytes.len() - n);
        let mut known = self.streams.find(data.stream);
        if let StreamState::Open(place) = known
            && let Some(why) = self.body((turn.h2, turn.state), place, &bytes[..n])
        {
            self.refuse(place, why, true, turn);
            known = StreamState::Cancelled;
        }
        let (left, more) = (data.left - n, data.padding - padding);
        let whole = data.end && left == 0 && more == 0;
        if C::STREAMS
            && let StreamState::Open(place) = known
        {
            if n > 0 && left == 0 {
                C::chunk(turn.state, &mut self.streams.get(place).answer.reading);
            }
            if self.tell(place, turn) && !whole && self.hang_up(place, turn) {
                known = StreamState::Cancelled;
            }
        }
        if let (StreamState::Open(place), false) = (known, whole) {
            let stream = self.streams.get(place);
            if let Some(tag) = stream.tag.filter(|_| stream.answer.begins()) {
                turn.events.begun(tag);
            }
        }
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
            StreamState::Open(place) if data.end => self.end_of_data(place, turn),
            StreamState::Open(place) => {
                let stream = self.streams.get(place);
                // What is given in this turn goes out at its end: the server does not know of it yet.
                let given = match stream.given {
                    (when, given) if when == self.turn => given,
                    _ => 0,
                };
                if stream.unacknowledged.saturating_add(given) >= turn.h2.window {
                    turn.events.stalled();
                }
                if stream.unacknowledged >= turn.h2.window.div_ceil(2) {
                    let id = stream.id;
                    put_number(frame::WINDOW_UPDATE, id, stream.unacknowledged, turn.out);
                    stream.given = (self.turn, given + stream.unacknowledged);
                    stream.unacknowledged = 0;
                }
            }
            StreamState::Cancelled if data.end => self.streams.forget(data.stream),
            _ => {}
        }
        Ok(n + padding)
    }

    /// Tells the news of a stream of events. True: as many have come as were wanted.
    #[inline]
    fn tell(&mut self, place: usize, turn: &mut Turn<'_, C, impl Events<Tag>>) -> bool {
        let stream = self.streams.get(place);
        let news = C::news(turn.state, &mut stream.answer.reading);
        if let Some(tag) = stream.tag {
            if news.events > 0 {
                turn.events.streamed(tag, news);
            }
            if news.over {
                turn.events.over(tag);
            }
        }
        news.enough
    }

    /// Ends a stream of events, and reports it as answered. False: the answer is none.
    #[cold]
    pub(super) fn hang_up(
        &mut self,
        place: usize,
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) -> bool {
        let stream = self.streams.get(place);
        if !C::hang_up(turn.state, &mut stream.answer.reading) {
            return false;
        }
        put_number(frame::RST_STREAM, stream.id, frame::CANCEL, turn.out);
        self.answer(place, None, true, turn);
        true
    }

    #[inline]
    pub(super) fn end_of_data(&mut self, place: usize, turn: &mut Turn<'_, C, impl Events<Tag>>) {
        if !self.streams.get(place).answer.is_headed() {
            let why = Fault::Malformed("data before the header section");
            return self.refuse(place, why, false, turn);
        }
        self.complete(place, turn);
    }

    /// A piece of an answer's body. Gives what is wrong, if the stream cannot go on.
    #[inline(always)] // for every DATA frame
    pub(super) fn body(
        &mut self,
        (h2, state): (&Setup<C>, &mut C::State),
        place: usize,
        bytes: &[u8],
    ) -> Option<Fault> {
        let answer = &mut self.streams.get(place).answer;
        let wanted = h2.exchanges[answer.exchange as usize].wanted();
        answer.body::<C>(&wanted, state, &h2.limits, bytes)
    }

    /// The server has ended a stream.
    #[inline]
    pub(super) fn complete(&mut self, place: usize, turn: &mut Turn<'_, C, impl Events<Tag>>) {
        let stream = self.streams.get(place);
        let wanted = turn.h2.exchanges[stream.answer.exchange as usize].wanted();
        let wrong = stream.answer.judge::<C>(&wanted, turn.state);
        if stream.sending {
            // An answer before the request's end: the rest of it is not sent (RFC 9113, 8.1).
            put_number(frame::RST_STREAM, stream.id, frame::NO_ERROR, turn.out);
        }
        self.answer(place, wrong, false, turn);
    }

    /// An answer breaks the protocol, and its stream alone. `open`: the server may send more on it.
    #[cold]
    pub(super) fn refuse(
        &mut self,
        place: usize,
        fault: Fault,
        open: bool,
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) {
        let stream = self.streams.get(place);
        if open || stream.sending {
            put_number(
                frame::RST_STREAM,
                stream.id,
                frame::PROTOCOL_ERROR,
                turn.out,
            );
        }
        self.answer(place, Some(Mismatch::Fault(fault)), open, turn);
    }

    /// Tells of a stream's answer, or of what came instead, and closes the stream. `cancelled`: the server may still send
    /// something for it.
    #[inline]
    pub(super) fn answer(
        &mut self,
        place: usize,
        wrong: Option<Mismatch>,
        cancelled: bool,
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) {
        let answer = self.streams.get(place).answer.answer(wrong);
        if let Some(tag) = self.close(place, cancelled) {
            let reading = &mut self.streams.get(place).answer.reading;
            C::answered(turn.state, reading, answer, tag, turn.events);
        }
        if self.streams.next() >= LAST_STREAM {
            turn.events.closing();
        }
    }

    /// Closes a stream. Gives its tag.
    #[inline]
    pub(in super::super) fn close(&mut self, place: usize, cancelled: bool) -> Option<Tag> {
        if self.streams.get(place).sending {
            self.blocked.retain(|&other| other as usize != place);
        }
        self.streams.close(place, cancelled)
    }
}

fn too_long<C: Content>(h2: &Setup<C>) -> Fault {
    Fault::TooLong {
        part: "the header section",
        limit: h2.limits.head,
    }
}
