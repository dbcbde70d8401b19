//! Frames that are about the connection: settings, windows, resets, goodbyes.

use super::{H2Conn, SIZE, STREAM, Turn};
use crate::protocol::h2::MOST_WINDOW;
use crate::protocol::h2::content::Content;
use crate::protocol::h2::frame::{self, FrameHeader, number, put_header};
use crate::protocol::h2::sending::TableUse;
use crate::protocol::h2::streams::StreamState;
use crate::protocol::{Events, Fault, Mismatch, Tag};

impl<C: Content> H2Conn<C> {
    pub(super) fn settings(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
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
        put_header(0, frame::SETTINGS, frame::ACK, 0, turn.out);
        if !self.settled {
            self.settled = true;
            turn.events.ready();
        }
        Ok(())
    }

    /// Sets the server's limit for its table of our fields, in bytes. If the limit is lower than before, the server
    /// must be informed that the table is smaller (RFC 7541, 4.2); after that the table is not used any more.
    pub(super) fn resize_table(&mut self, size: usize) {
        if size < self.table_size {
            self.table = TableUse::Dropped;
        }
        self.table_size = size;
    }

    pub(super) fn goaway(
        &mut self,
        payload: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) -> Result<(), Fault> {
        let (Some(last), Some(code)) = (number(payload), payload.get(4..).and_then(number)) else {
            return Err(SIZE);
        };
        self.leaving = true;
        let last = last & 0x7fff_ffff;
        let beyond = self.streams.all().filter(|(_, stream)| stream.id > last);
        let mut beyond: Vec<(u32, usize)> = beyond.map(|(place, it)| (it.id, place)).collect();
        // The newest first, so that the oldest is the first to be sent again.
        beyond.sort_unstable_by(|a, b| b.cmp(a));
        for (_, place) in beyond {
            if self.again(place, turn) {
                continue;
            }
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
            self.answer(place, Some(Mismatch::Stated(why.into())), false, turn);
        }
        turn.events.closing();
        Ok(())
    }

    /// The server does not process a request. Is it sent again?
    fn again(&mut self, place: usize, turn: &mut Turn<'_, C, impl Events<Tag>>) -> bool {
        let tag = self.streams.get(place).tag;
        if !tag.is_some_and(|tag| turn.events.left_out(tag)) {
            return false;
        }
        self.close(place, false);
        let reading = &mut self.streams.get(place).answer.reading;
        C::left_out(turn.state, reading, self.slot);
        true
    }

    pub(super) fn window_update(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
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
            StreamState::Never => Err(STREAM),
            StreamState::Ended | StreamState::Cancelled => Ok(()),
            StreamState::Open(place) => {
                let stream = self.streams.get(place);
                match wrong(stream.room) {
                    Some(why) => self.refuse(place, Fault::Malformed(why), true, turn),
                    None => stream.room += more,
                }
                Ok(())
            }
        }
    }

    pub(super) fn reset(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        turn: &mut Turn<'_, C, impl Events<Tag>>,
    ) -> Result<(), Fault> {
        let (Some(code), 4) = (number(payload), payload.len()) else {
            return Err(SIZE);
        };
        let found = self.streams.find(header.stream);
        if let StreamState::Open(_) = found {
            // The end of an answer is not nothing.
            self.idle_frames = 0;
        }
        match found {
            StreamState::Never => return Err(STREAM),
            StreamState::Ended => {}
            StreamState::Cancelled => self.streams.forget(header.stream),
            // It has not been processed (RFC 9113, 8.7).
            StreamState::Open(place)
                if code == frame::REFUSED_STREAM && self.again(place, turn) => {}
            StreamState::Open(place) => {
                let name = frame::error_name(code);
                let why = format!("the server reset the stream ({name})");
                self.answer(place, Some(Mismatch::Stated(why.into())), false, turn);
            }
        }
        Ok(())
    }
}
