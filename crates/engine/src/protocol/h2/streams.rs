//! The streams of a connection: which are open, and which are not any more.

use super::reception::Reception;
use crate::protocol::{AnswerProgress, Tag};
use std::collections::VecDeque;

/// A request in flight; `R` is what is kept of its answer while that comes. HTTP/3 uses no flow control of these.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Stream<R> {
    pub(in crate::protocol) id: u32,
    /// None: this place is free.
    pub(in crate::protocol) tag: Option<Tag>,
    /// State of the answer.
    pub(in crate::protocol) answer: Reception<R>,
    /// Bytes that have come since the server was last given more room.
    pub(super) unacknowledged: u32,
    /// The turn in which it was last given more room, and how much in it.
    pub(super) given: (u64, u32),
    /// Bytes of the request's body that the server takes, beyond what has been sent.
    pub(super) room: i64,
    /// Bytes of the request's body that have been sent.
    pub(super) sent: usize,
    /// The request's body has not been sent whole.
    pub(super) sending: bool,
}

/// State of a stream, looked up by its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::protocol) enum StreamState {
    /// In flight, at this place.
    Open(usize),
    /// Given up by this side: the server may not know yet.
    Cancelled,
    /// The server has ended it.
    Ended,
    /// Not opened yet, or none that this side could open.
    Never,
}

/// Places are looked up by number through a queue that begins with the oldest stream in flight.
#[derive(Debug)]
pub(in crate::protocol) struct Streams<R> {
    /// By the index of a request's tag.
    places: Vec<Stream<R>>,
    /// The number of the first in `order`; all before it are not open any more.
    first: u32,
    order: VecDeque<u32>,
    /// Numbers of the streams that were given up, oldest first.
    cancelled: VecDeque<u32>,
    pub(in crate::protocol) open: u32,
}

/// From this stream on a connection is replaced: numbers end at 2^31 − 1.
pub(in crate::protocol) const LAST_STREAM: u32 = 0x7fff_0000;
/// In `order`: not open any more.
const GONE: u32 = u32::MAX;
/// The most streams given up that are remembered, for each connection. What comes for an older one breaks the protocol.
const MOST_CANCELLED: usize = 16_384;

impl<R> Default for Streams<R> {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            first: 1,
            order: VecDeque::new(),
            cancelled: VecDeque::new(),
            open: 0,
        }
    }
}

impl<R: Default> Streams<R> {
    /// Opens the next stream at the place of its tag.
    #[inline]
    pub(in crate::protocol) fn open(&mut self, tag: Tag, exchange: u32, room: i64) -> (usize, u32) {
        let place = tag.index();
        if place >= self.places.len() {
            self.places.resize_with(place + 1, Stream::default);
        }
        let id = self.next();
        let stream = &mut self.places[place];
        stream.id = id;
        stream.tag = Some(tag);
        stream.answer.begin(exchange);
        stream.unacknowledged = 0;
        stream.given = (0, 0);
        stream.room = room;
        stream.sent = 0;
        stream.sending = false;
        self.order.push_back(place as u32);
        self.open += 1;
        (place, id)
    }

    /// How much of the answer to a request in flight has come.
    pub(in crate::protocol) fn progress(&self, tag: Tag) -> AnswerProgress {
        match self.places.get(tag.index()) {
            Some(stream) => stream.answer.progress(),
            None => AnswerProgress::Unknown,
        }
    }

    /// The number of the next stream.
    pub(in crate::protocol) fn next(&self) -> u32 {
        self.first + 2 * self.order.len() as u32
    }

    #[inline]
    pub(in crate::protocol) fn find(&self, id: u32) -> StreamState {
        if id.is_multiple_of(2) || id >= self.next() {
            return StreamState::Never;
        }
        let place = id
            .checked_sub(self.first)
            .map_or(GONE, |beyond| self.order[beyond as usize / 2]);
        match place {
            GONE if self.cancelled.contains(&id) => StreamState::Cancelled,
            GONE => StreamState::Ended,
            place => StreamState::Open(place as usize),
        }
    }

    /// Returns the reading state at the first place; None before there is one.
    #[inline]
    pub(in crate::protocol) fn first(&self) -> Option<&R> {
        self.places.first().map(|stream| &stream.answer.reading)
    }

    /// Returns the request in flight under a tag; None if there is none.
    pub(in crate::protocol) fn in_flight(&self, tag: Tag) -> Option<&Stream<R>> {
        let stream = self.places.get(tag.index())?;
        (stream.tag == Some(tag)).then_some(stream)
    }

    /// Returns the reading state at a place, which is created if there is none.
    pub(in crate::protocol) fn reading(&mut self, place: usize) -> &mut R {
        if place >= self.places.len() {
            self.places.resize_with(place + 1, Stream::default);
        }
        &mut self.places[place].answer.reading
    }

    #[inline]
    pub(in crate::protocol) fn get(&mut self, place: usize) -> &mut Stream<R> {
        &mut self.places[place]
    }

    /// Streams in flight, with their places.
    pub(in crate::protocol) fn all(&mut self) -> impl Iterator<Item = (usize, &mut Stream<R>)> {
        let all = self.places.iter_mut().enumerate();
        all.filter(|(_, stream)| stream.tag.is_some())
    }

    /// Closes a stream and gives its tag. `cancelled`: the server may still send something for it.
    #[inline]
    pub(in crate::protocol) fn close(&mut self, place: usize, cancelled: bool) -> Option<Tag> {
        let stream = &mut self.places[place];
        let tag = stream.tag.take();
        let id = stream.id;
        self.order[(id - self.first) as usize / 2] = GONE;
        while self.order.front() == Some(&GONE) {
            self.order.pop_front();
            self.first += 2;
        }
        self.open -= 1;
        if cancelled {
            if self.cancelled.len() == MOST_CANCELLED {
                self.cancelled.pop_front();
            }
            self.cancelled.push_back(id);
        }
        tag
    }

    /// Counts streams from the first again; none is open.
    pub(in crate::protocol) fn restart(&mut self) {
        self.first = 1;
        self.order.clear();
        self.cancelled.clear();
    }

    /// The server has ended a stream that was given up.
    pub(in crate::protocol) fn forget(&mut self, id: u32) {
        self.cancelled.retain(|&other| other != id);
    }
}
