//! A connection: datagrams in, answers out.

use super::control::{Control, Incoming, News};
use super::frame;
use super::request::frames;
use super::session::QuicSide;
use super::shared::{AnswerStream, Shared};
use super::tls::Agreed;
use crate::protocol::h2::content::{Content, Plain};
use crate::protocol::h2::streams::{LAST_STREAM, StreamState, Streams};
use crate::protocol::{Events, Fault, Mismatch, Tag};
use crate::transport::datagrams::Run;
use bytes::Bytes;
use quinn_proto::{
    Connection, ConnectionError, ConnectionHandle, Dir, Event, ReadError, Side, StreamEvent,
    StreamId, VarInt, WriteError,
};
use std::time::Instant;

/// State of a connection.
#[derive(Debug)]
pub struct H3Conn<C: Content = Plain> {
    /// None before it is opened.
    pub(super) open: Option<Box<OpenConn<C>>>,
}

impl<C: Content> Default for H3Conn<C> {
    fn default() -> Self {
        Self { open: None }
    }
}

/// State of a connection that is opened, or being made.
pub(super) struct OpenConn<C: Content> {
    pub(super) handle: ConnectionHandle,
    pub(super) quic: Connection,
    /// Index of the connection among the worker's connections.
    slot: u32,
    pub(super) streams: Streams<C::Reading>,
    /// By place: the state of the stream's frames, and what has not been sent of its request.
    states: Vec<AnswerStream>,
    pub(super) unsent: Vec<Bytes>,
    /// By place: how often something had come when the request was sent.
    came_before: Vec<u32>,
    /// How often something has come.
    pub(super) came: u32,
    /// The stream of the next request; none while the server allows no more.
    pub(super) next: Option<StreamId>,
    /// Requests written.
    asked: u32,
    incoming: Vec<Incoming>,
    pub(super) control: Control,
    /// The handshake is done.
    pub(super) ready: bool,
    /// Has it been told that requests can be sent?
    pub(super) told: bool,
    /// Result of the handshake; none before it is done.
    pub(super) agreed: Option<Box<Agreed>>,
    /// Requests were sent before it was done.
    pub(super) early: bool,
    /// Received datagrams that were marked because of congestion.
    pub(super) marked: u64,
    /// The most streams that were in flight when the server allowed no more; none: it always did.
    pub(super) limited: Option<u32>,
    /// Is there something to send?
    pub(super) dirty: bool,
    /// Has this side said goodbye?
    pub(super) parted: bool,
    /// The endpoint has forgotten the connection.
    pub(super) drained: bool,
}

impl<C: Content> std::fmt::Debug for OpenConn<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenConn")
            .field("streams", &self.streams)
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}

/// How the stream of an answer ended.
enum StreamEnd {
    /// By the server, in order.
    Whole,
    /// The server has given it up, with this error.
    Reset(u64),
    /// The answer cannot be read any further.
    Wrong(Fault),
}

/// The number of a stream as [`Streams`] counts them, which is that of HTTP/2.
fn number(id: StreamId) -> u32 {
    2 * id.index() as u32 + 1
}

fn stream(number: u32) -> StreamId {
    StreamId::new(Side::Client, Dir::Bi, u64::from(number / 2))
}

impl<C: Content> OpenConn<C> {
    pub(super) fn new(handle: ConnectionHandle, quic: Connection, slot: u32) -> Self {
        Self {
            handle,
            quic,
            slot,
            streams: Streams::default(),
            states: Vec::new(),
            unsent: Vec::new(),
            came_before: Vec::new(),
            came: 0,
            next: None,
            asked: 0,
            incoming: Vec::new(),
            control: Control::default(),
            ready: false,
            told: false,
            agreed: None,
            early: false,
            marked: 0,
            limited: None,
            dirty: true,
            parted: false,
            drained: false,
        }
    }

    pub(super) fn slot(&self) -> u32 {
        self.slot
    }

    pub(super) fn accepts(&self) -> bool {
        self.next.is_some()
    }

    /// Sends the next request.
    pub(super) fn request(&mut self, shared: &mut Shared<C>, tag: Tag) {
        let exchange = match shared.exchanges.len() {
            1 => 0,
            n => self.slot.wrapping_add(self.asked) % n as u32,
        };
        self.asked = self.asked.wrapping_add(1);
        let (place, _) = self.streams.open(tag, exchange, 0);
        if place >= self.states.len() {
            self.states.resize_with(place + 1, AnswerStream::default);
            self.unsent.resize_with(place + 1, Bytes::new);
            self.came_before.resize(place + 1, 0);
        }
        self.states[place].clear();
        self.came_before[place] = self.came;
        let reading = &mut self.streams.get(place).answer.reading;
        C::begin(reading);
        self.unsent[place] = match C::COMPOSES {
            false => shared.exchanges[exchange as usize].frames.clone(),
            true => {
                let head = C::compose(&mut shared.state, reading, self.slot);
                shared.composed.section(head, &mut shared.section);
                frames(&shared.section, C::content(&[], reading))
            }
        };
        self.send(place);
        self.allow();
    }

    /// Sends as much of a request as the server takes.
    fn send(&mut self, place: usize) {
        let id = stream(self.streams.get(place).id);
        let mut frames = [std::mem::take(&mut self.unsent[place])];
        let mut sending = self.quic.send_stream(id);
        self.dirty = true;
        while !frames[0].is_empty() {
            match sending.write_chunks(&mut frames) {
                Ok(_) => {}
                Err(WriteError::Blocked) => {
                    let [rest] = frames;
                    self.unsent[place] = rest;
                    return;
                }
                // The server does not want the rest.
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                    let _ = sending.reset(VarInt::from_u32(frame::NO_ERROR));
                    return;
                }
            }
        }
        let _ = sending.finish();
    }

    /// Takes what the connection says of itself, and reports it.
    ///
    /// # Errors
    /// Why the connection cannot be used any further.
    pub(super) fn drive(
        &mut self,
        side: &mut QuicSide,
        shared: &mut Shared<C>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        loop {
            side.attend(self);
            let Some(event) = self.quic.poll() else {
                return Ok(());
            };
            match event {
                Event::Connected => self.connected(shared, events),
                Event::ConnectionLost { reason } => return self.lost(&reason, events),
                Event::Stream(StreamEvent::Opened { dir: Dir::Uni }) => {
                    while let Some(id) = self.quic.streams().accept(Dir::Uni) {
                        self.incoming.push(Incoming::new(id));
                        self.hear(id, shared, events)?;
                    }
                }
                Event::Stream(StreamEvent::Readable { id }) => match id.dir() {
                    Dir::Bi => self.read(id, shared, events)?,
                    Dir::Uni => self.hear(id, shared, events)?,
                },
                Event::Stream(StreamEvent::Writable { id } | StreamEvent::Stopped { id, .. }) => {
                    if let StreamState::Open(place) = self.streams.find(number(id))
                        && !self.unsent[place].is_empty()
                    {
                        self.send(place);
                    }
                }
                Event::Stream(StreamEvent::Available { dir: Dir::Bi }) if self.next.is_none() => {
                    self.allow();
                    self.tell_ready(events);
                }
                Event::Stream(_)
                | Event::HandshakeDataReady
                | Event::DatagramReceived
                | Event::DatagramsUnblocked => {}
            }
        }
    }

    /// The connection has ended.
    fn lost(&mut self, why: &ConnectionError, events: &mut impl Events<Tag>) -> Result<(), Fault> {
        let graceful = match why {
            ConnectionError::ApplicationClosed(close) => {
                close.error_code == VarInt::from_u32(frame::NO_ERROR)
            }
            ConnectionError::TimedOut | ConnectionError::Reset => self.streams.open == 0,
            _ => false,
        };
        if graceful && self.ready {
            events.ended();
            return Ok(());
        }
        Err(Fault::Lost(super::in_words(why)))
    }

    /// Reads what has come on the stream of a request.
    fn read(
        &mut self,
        id: StreamId,
        shared: &mut Shared<C>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let StreamState::Open(place) = self.streams.find(number(id)) else {
            return Ok(());
        };
        let answer = &mut self.streams.get(place).answer;
        let state = &mut self.states[place];
        let mut receiving = self.quic.recv_stream(id);
        let Ok(mut chunks) = receiving.read(true) else {
            return Ok(());
        };
        let end = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    if let Some(wrong) = shared.take(state, answer, &chunk.bytes)? {
                        break Some(StreamEnd::Wrong(wrong));
                    }
                }
                Ok(None) => break Some(StreamEnd::Whole),
                Err(ReadError::Reset(code)) => break Some(StreamEnd::Reset(code.into_inner())),
                Err(ReadError::Blocked) => break None,
            }
        };
        // It may allow the server to send more.
        self.dirty |= chunks.finalize().should_transmit();
        let news = C::news(&mut shared.state, &mut answer.reading);
        if let Some(tag) = self.streams.get(place).tag {
            if news.events > 0 {
                events.streamed(tag, news);
            }
            if news.over {
                events.over(tag);
            }
            if news.enough && end.is_none() && self.hang_up(tag, shared, events) {
                return Ok(());
            }
        }
        if let Some(end) = end {
            self.end(place, end, shared, events);
            return Ok(());
        }
        let stream = self.streams.get(place);
        if let Some(tag) = stream.tag.filter(|_| stream.answer.begins()) {
            events.begun(tag);
        }
        Ok(())
    }

    /// The stream of a request has ended.
    fn end(
        &mut self,
        place: usize,
        end: StreamEnd,
        shared: &mut Shared<C>,
        events: &mut impl Events<Tag>,
    ) {
        let id = stream(self.streams.get(place).id);
        let within = self.states[place].frames.is_within();
        let answer = &mut self.streams.get(place).answer;
        let malformed = |why| Some(Mismatch::Fault(Fault::Malformed(why)));
        let wrong = match end {
            StreamEnd::Whole if within => malformed("a stream that ends within a frame"),
            StreamEnd::Whole if !answer.is_headed() => {
                malformed("a stream that ends without an answer")
            }
            StreamEnd::Whole => {
                let wanted = shared.exchanges[answer.exchange as usize].wanted();
                answer.judge::<C>(&wanted, &mut shared.state)
            }
            // It has not been processed (RFC 9114, 8.1).
            StreamEnd::Reset(frame::REQUEST_REJECTED) if self.again(place, shared, events) => {
                return;
            }
            StreamEnd::Reset(code) => {
                let why = format!("the server reset the stream ({})", frame::error_name(code));
                Some(Mismatch::Stated(why.into()))
            }
            StreamEnd::Wrong(fault) => {
                let code = VarInt::from_u32(frame::MESSAGE_ERROR);
                let _ = self.quic.recv_stream(id).stop(code);
                self.dirty = true;
                Some(Mismatch::Fault(fault))
            }
        };
        self.answer(place, wrong, shared, events);
    }

    /// The server does not process a request. Is it sent again?
    fn again(
        &mut self,
        place: usize,
        shared: &mut Shared<C>,
        events: &mut impl Events<Tag>,
    ) -> bool {
        let tag = self.streams.get(place).tag;
        if !tag.is_some_and(|tag| events.left_out(tag)) {
            return false;
        }
        self.give_up(place);
        self.streams.close(place, false);
        let reading = &mut self.streams.get(place).answer.reading;
        C::left_out(&mut shared.state, reading, self.slot);
        true
    }

    /// Tells of an answer, or of what came instead, and closes its stream.
    fn answer(
        &mut self,
        place: usize,
        wrong: Option<Mismatch>,
        shared: &mut Shared<C>,
        events: &mut impl Events<Tag>,
    ) {
        if !self.unsent[place].is_empty() {
            // The rest of the request is not sent (RFC 9114, 4.1).
            self.unsent[place] = Bytes::new();
            let id = stream(self.streams.get(place).id);
            let code = VarInt::from_u32(frame::NO_ERROR);
            let _ = self.quic.send_stream(id).reset(code);
            self.dirty = true;
        }
        let answer = self.streams.get(place).answer.answer(wrong);
        if let Some(tag) = self.streams.close(place, false) {
            let reading = &mut self.streams.get(place).answer.reading;
            C::answered(&mut shared.state, reading, answer, tag, events);
        }
        if self.streams.next() >= LAST_STREAM {
            events.closing();
        }
    }

    /// Ends a stream of events, and reports it as answered. False: the answer is none.
    pub(super) fn hang_up(
        &mut self,
        tag: Tag,
        shared: &mut Shared<C>,
        events: &mut impl Events<Tag>,
    ) -> bool {
        let place = tag.index();
        if self.streams.in_flight(tag).is_none() {
            return false;
        }
        let reading = &mut self.streams.get(place).answer.reading;
        if !C::hang_up(&mut shared.state, reading) {
            return false;
        }
        self.give_up(place);
        self.answer(place, None, shared, events);
        true
    }

    /// Neither sends nor reads any more on the stream at a place.
    fn give_up(&mut self, place: usize) {
        let id = stream(self.streams.get(place).id);
        let code = VarInt::from_u32(frame::REQUEST_CANCELLED);
        self.unsent[place] = Bytes::new();
        let _ = self.quic.send_stream(id).reset(code);
        let _ = self.quic.recv_stream(id).stop(code);
        self.dirty = true;
    }

    /// A request is given up. False: nothing has come since it was sent, not even an acknowledgement. The server does not
    /// know the connection any more, and the connection is of no use.
    pub(super) fn cancel(&mut self, tag: Tag) -> bool {
        if self.came == self.came_before[tag.index()] {
            return false;
        }
        self.give_up(tag.index());
        self.streams.close(tag.index(), false);
        true
    }

    /// Reads what has come on a stream that the server has opened.
    fn hear(
        &mut self,
        id: StreamId,
        shared: &mut Shared<C>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        let Some(nth) = self.incoming.iter().position(|it| it.id == id) else {
            return Ok(());
        };
        let mut receiving = self.quic.recv_stream(id);
        let Ok(mut chunks) = receiving.read(true) else {
            return Ok(());
        };
        let mut news = Vec::new();
        let ended = loop {
            match chunks.next(usize::MAX) {
                Ok(Some(chunk)) => {
                    let (stream, control) = (&mut self.incoming[nth], &mut self.control);
                    stream.take(&chunk.bytes, control, |it| news.push(it))?;
                }
                Ok(None) | Err(ReadError::Reset(_)) => break true,
                Err(ReadError::Blocked) => break false,
            }
        };
        self.dirty |= chunks.finalize().should_transmit();
        if ended && self.incoming[nth].is_critical() {
            return Err(Fault::Malformed("a critical stream that ends"));
        }
        let unknown = news.contains(&News::Unknown);
        if unknown && !ended {
            let code = VarInt::from_u32(frame::STREAM_CREATION_ERROR);
            let _ = self.quic.recv_stream(id).stop(code);
            self.dirty = true;
        }
        if unknown || ended {
            self.incoming.remove(nth);
        }
        for it in news {
            if let News::Leaving(from) = it {
                self.leave(from, shared, events);
            }
        }
        Ok(())
    }

    /// The server takes no more requests, and has not processed those from a stream on.
    fn leave(&mut self, from: u64, shared: &mut Shared<C>, events: &mut impl Events<Tag>) {
        let beyond = |number: u32| u64::from(number / 2) * 4 >= from;
        let left = self.streams.all().filter(|(_, stream)| beyond(stream.id));
        let mut left: Vec<(u32, usize)> = left.map(|(place, it)| (it.id, place)).collect();
        // The newest first, so that the oldest is the first to be sent again.
        left.sort_unstable_by(|a, b| b.cmp(a));
        for (_, place) in left {
            if !self.again(place, shared, events) {
                self.give_up(place);
                let why =
                    "the server closes the connection (GOAWAY) and did not process the request";
                self.answer(place, Some(Mismatch::Stated(why.into())), shared, events);
            }
        }
        events.closing();
    }

    pub(super) fn how_ended(&self) -> &'static str {
        match (self.ready, self.control.is_leaving()) {
            (false, _) => "the server ended the QUIC handshake",
            (true, true) => "the server closed the connection after GOAWAY",
            (true, false) => "the server closed the connection",
        }
    }

    /// Appends the datagrams that are to be sent now to `out`; `memory` is for one run of them.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        memory: &mut Vec<u8>,
        mut append: impl FnMut(Run<'_>),
    ) {
        /// The most datagrams that the kernel sends at once.
        const MOST: usize = 32;
        self.dirty = false;
        loop {
            memory.clear();
            let Some(run) = self.quic.poll_transmit(now, MOST, memory) else {
                return;
            };
            append(Run {
                segment: run.segment_size.unwrap_or(run.size),
                mark: run.ecn.map_or(0, |mark| mark as u8),
                bytes: &memory[..run.size],
            });
        }
    }
}
