//! Sending: requests, and their bodies as far as the server takes them.

use super::conn::H2Conn;
use super::content::Content;
use super::frame::{self, put_header, put_number};
use super::session::Setup;
use crate::protocol::Tag;

/// Use of the server's table for requests' fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TableUse {
    /// No fields have been added to the table yet.
    #[default]
    Empty,
    /// The fields are in the table.
    Filled,
    /// The table is not used: it is too small, or there are several requests with other fields.
    Unused,
    /// The table is not used, and the server still has to be informed that it may drop the table.
    Dropped,
}

impl<C: Content> H2Conn<C> {
    /// Writes the next request, with as much of its body as the server takes now.
    pub(super) fn request(
        &mut self,
        (h2, state): (&Setup<C>, &mut C::State),
        slot: u32,
        tag: Tag,
        out: &mut Vec<u8>,
    ) {
        let exchange = match h2.exchanges.len() {
            1 => 0,
            n => slot.wrapping_add(self.asked) % n as u32,
        };
        self.asked = self.asked.wrapping_add(1);
        let it = &h2.exchanges[exchange as usize];
        let (place, id) = self.streams.open(tag, exchange, self.initial_room);
        C::begin(&mut self.streams.get(place).answer.reading);
        if C::COMPOSES {
            return self.composed(h2, state, slot, (place, id), out);
        }
        let end = it.body.is_empty();
        let ends = if end { frame::END_STREAM } else { 0 };
        if self.table == TableUse::Empty && (!h2.alike || it.table > self.table_size) {
            self.table = TableUse::Unused;
        }
        let block = match self.table {
            TableUse::Empty => {
                self.table = TableUse::Filled;
                &it.first
            }
            TableUse::Filled => &it.again,
            TableUse::Unused => &it.plain,
            TableUse::Dropped => {
                self.table = TableUse::Unused;
                // A table size update to 0 (RFC 7541, 4.2), then the fields.
                let block = [&[0x20][..], &it.plain].concat();
                put_block(&block, ends, id, out);
                return self.begin_body(h2, place, end, out);
            }
        };
        if block.len() <= frame::MOST {
            put_header(
                block.len(),
                frame::HEADERS,
                frame::END_HEADERS | ends,
                id,
                out,
            );
            out.extend_from_slice(block);
        } else {
            put_block(block, ends, id, out);
        }
        self.begin_body(h2, place, end, out);
    }

    /// Writes a request that is composed now.
    fn composed(
        &mut self,
        h2: &Setup<C>,
        state: &mut C::State,
        slot: u32,
        (place, id): (usize, u32),
        out: &mut Vec<u8>,
    ) {
        let stream = self.streams.get(place);
        let head = C::compose(state, &mut stream.answer.reading, slot);
        let from = out.len();
        put_header(0, frame::HEADERS, 0, id, out);
        let table = (&mut self.table, self.table_size);
        h2.composed.encode(head, &mut self.told, table, out);
        let end = C::content(&[], &stream.answer.reading).is_empty();
        let ends = if end { frame::END_STREAM } else { 0 };
        let block = from + frame::HEADER;
        let length = out.len() - block;
        if length <= frame::MOST {
            frame::set_length(&mut out[from..block], length, frame::END_HEADERS | ends);
        } else {
            let block = out.split_off(block);
            out.truncate(from);
            put_block(&block, ends, id, out);
        }
        self.begin_body(h2, place, end, out);
    }

    #[inline]
    fn begin_body(&mut self, h2: &Setup<C>, place: usize, end: bool, out: &mut Vec<u8>) {
        if !end {
            self.streams.get(place).sending = true;
            if !self.send_body(h2, place, out) {
                self.blocked.push_back(place as u32);
            }
        }
    }

    /// Sends as much of a request's body as the server takes. True: all of it has been sent.
    fn send_body(&mut self, h2: &Setup<C>, place: usize, out: &mut Vec<u8>) -> bool {
        let stream = self.streams.get(place);
        let fixed = &h2.exchanges[stream.answer.exchange as usize].body;
        loop {
            let left = &C::content(fixed, &stream.answer.reading)[stream.sent..];
            let room = self.room.min(stream.room).max(0);
            let n = usize::try_from(room).unwrap_or(usize::MAX);
            let n = n.min(left.len()).min(self.most_frame as usize);
            if n == 0 {
                return false;
            }
            let whole = n == left.len();
            let flags = if whole { frame::END_STREAM } else { 0 };
            put_header(n, frame::DATA, flags, stream.id, out);
            out.extend_from_slice(&left[..n]);
            stream.sent += n;
            stream.room -= n as i64;
            self.room -= n as i64;
            self.idle_frames = 0;
            if whole {
                stream.sending = false;
                return true;
            }
        }
    }

    /// There may be more room: sends what waits for it, in the order of the requests.
    pub(super) fn send_bodies(&mut self, h2: &Setup<C>, out: &mut Vec<u8>) {
        for _ in 0..self.blocked.len() {
            let Some(place) = self.blocked.pop_front() else {
                return;
            };
            let index = place as usize;
            let stream = self.streams.get(index);
            let waits = stream.tag.is_some() && stream.sending;
            if waits && !self.send_body(h2, index, out) {
                self.blocked.push_back(place);
            }
        }
    }

    /// A request is given up.
    pub(super) fn cancel(&mut self, tag: Tag, out: &mut Vec<u8>) {
        let place = tag.index();
        let id = self.streams.get(place).id;
        put_number(frame::RST_STREAM, id, frame::CANCEL, out);
        self.close(place, true);
    }
}

/// Appends a header block in as many frames as it needs.
fn put_block(block: &[u8], ends: u8, id: u32, out: &mut Vec<u8>) {
    let last = block.len().div_ceil(frame::MOST).saturating_sub(1);
    for (nth, piece) in block.chunks(frame::MOST).enumerate() {
        let (kind, flags) = match nth {
            0 => (frame::HEADERS, ends),
            _ => (frame::CONTINUATION, 0),
        };
        let flags = flags | if nth == last { frame::END_HEADERS } else { 0 };
        put_header(piece.len(), kind, flags, id, out);
        out.extend_from_slice(piece);
    }
}
