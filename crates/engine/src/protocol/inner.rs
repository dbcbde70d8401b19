//! The session inside another one (TLS, a tunnel) as an object: any session with the same kind of token.

use super::{
    Answer, AnswerProgress, Booked, Ending, Events, Fault, HeadBytes, NextSend, PlainBytes,
    Session, StreamNews, Token,
};
use crate::clock::Nanos;
use prony_record::{ByRequest, BySession, Grpc, Tls};
use std::net::SocketAddr;

/// [`Session`] as an object, which keeps the states of connections itself, by slot. All methods but `begin` are those of a
/// session.
pub(super) trait Inner<T> {
    /// Begins with a new state for a slot. Before the first of the other methods for a connection.
    fn begin(&mut self, slot: u32);
    fn connected(&mut self, slot: u32, ends: Option<(SocketAddr, SocketAddr)>);
    fn opened(&mut self, slot: u32, out: &mut Vec<u8>, events: &mut dyn Events<T>);
    fn accepts(&self, slot: u32) -> bool;
    fn request(&mut self, slot: u32, token: T, out: &mut Vec<u8>);
    fn received(
        &mut self,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut dyn Events<T>,
    ) -> Result<(), Fault>;
    fn end(&mut self, slot: u32, events: &mut dyn Events<T>);
    fn cancel(&mut self, slot: u32, token: T, out: &mut Vec<u8>) -> bool;
    fn streams(&self) -> bool;
    fn listens(&self, slot: u32, token: T) -> Option<Nanos>;
    fn hang_up(
        &mut self,
        slot: u32,
        token: T,
        out: &mut Vec<u8>,
        events: &mut dyn Events<T>,
    ) -> bool;
    fn first_head(&self) -> &[u8];
    fn pace(&mut self, slot: u32) -> NextSend;
    fn ended(&self) -> bool;
    fn failed(&mut self, slot: u32, token: T, booked: Booked, ending: Ending);
    fn how_ended(&self, slot: u32) -> &'static str;
    fn unready(&self, slot: u32) -> &'static str;
    fn unsolicited<'a>(&'a self, received: &'a [u8]) -> &'a [u8];
    fn progress(&self, slot: u32, token: T) -> AnswerProgress;
    fn streams_allowed(&self) -> Option<u32>;
    fn said_goodbye(&self, slot: u32) -> bool;
    fn heads(&mut self) -> HeadBytes;
    fn tls(&mut self) -> Option<Tls>;
    fn plain(&mut self) -> Option<PlainBytes>;
    fn grpc(&mut self) -> Option<Grpc>;
    fn by_request(&mut self) -> Vec<ByRequest>;
    fn by_session(&mut self) -> Vec<BySession>;
}

/// A session as an object.
pub(super) fn erased<'a, P: Session + 'a>(session: P) -> Box<dyn Inner<P::Token> + 'a> {
    Box::new(Erased {
        session,
        conns: Vec::new(),
    })
}

struct Erased<P: Session> {
    session: P,
    /// The connections' states, by slot.
    conns: Vec<P::Conn>,
}

/// Events of a session that does not know who hears them.
struct Forward<'a, T>(&'a mut dyn Events<T>);

impl<T> Events<T> for Forward<'_, T> {
    fn secured(&mut self, resumed: bool) {
        self.0.secured(resumed);
    }

    fn reached(&mut self) {
        self.0.reached();
    }

    fn ended(&mut self) {
        self.0.ended();
    }

    fn ready(&mut self) {
        self.0.ready();
    }

    fn begun(&mut self, token: T) {
        self.0.begun(token);
    }

    fn streamed(&mut self, token: T, news: StreamNews) {
        self.0.streamed(token, news);
    }

    fn over(&mut self, token: T) {
        self.0.over(token);
    }

    fn answered(&mut self, token: T, answer: Answer) -> Booked {
        self.0.answered(token, answer)
    }

    fn left_out(&mut self, token: T) -> bool {
        self.0.left_out(token)
    }

    fn stalled(&mut self) {
        self.0.stalled();
    }

    fn closing(&mut self) {
        self.0.closing();
    }
}

impl<T: Token, P: Session<Token = T>> Inner<T> for Erased<P> {
    fn begin(&mut self, slot: u32) {
        let slot = slot as usize;
        if slot >= self.conns.len() {
            self.conns.resize_with(slot + 1, P::Conn::default);
        }
        self.conns[slot] = P::Conn::default();
    }

    fn connected(&mut self, slot: u32, ends: Option<(SocketAddr, SocketAddr)>) {
        let conn = &mut self.conns[slot as usize];
        self.session.connected(conn, slot, ends);
    }

    fn opened(&mut self, slot: u32, out: &mut Vec<u8>, events: &mut dyn Events<T>) {
        let conn = &mut self.conns[slot as usize];
        self.session.opened(conn, slot, out, &mut Forward(events));
    }

    fn accepts(&self, slot: u32) -> bool {
        self.session.accepts(&self.conns[slot as usize])
    }

    fn request(&mut self, slot: u32, token: T, out: &mut Vec<u8>) {
        let conn = &mut self.conns[slot as usize];
        self.session.request(conn, slot, token, out);
    }

    fn received(
        &mut self,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut dyn Events<T>,
    ) -> Result<(), Fault> {
        let conn = &mut self.conns[slot as usize];
        self.session
            .received(conn, slot, bytes, out, &mut Forward(events))
    }

    fn end(&mut self, slot: u32, events: &mut dyn Events<T>) {
        let conn = &mut self.conns[slot as usize];
        self.session.end(conn, slot, &mut Forward(events));
    }

    fn cancel(&mut self, slot: u32, token: T, out: &mut Vec<u8>) -> bool {
        let conn = &mut self.conns[slot as usize];
        self.session.cancel(conn, slot, token, out)
    }

    fn streams(&self) -> bool {
        self.session.streams()
    }

    fn listens(&self, slot: u32, token: T) -> Option<Nanos> {
        self.session.listens(&self.conns[slot as usize], token)
    }

    fn hang_up(
        &mut self,
        slot: u32,
        token: T,
        out: &mut Vec<u8>,
        events: &mut dyn Events<T>,
    ) -> bool {
        let conn = &mut self.conns[slot as usize];
        self.session
            .hang_up(conn, slot, token, out, &mut Forward(events))
    }

    fn first_head(&self) -> &[u8] {
        self.session.first_head()
    }

    fn pace(&mut self, slot: u32) -> NextSend {
        self.session.pace(&mut self.conns[slot as usize], slot)
    }

    fn ended(&self) -> bool {
        self.session.ended()
    }

    fn failed(&mut self, slot: u32, token: T, booked: Booked, ending: Ending) {
        let conn = &mut self.conns[slot as usize];
        self.session.failed(conn, token, booked, ending);
    }

    fn how_ended(&self, slot: u32) -> &'static str {
        self.session.how_ended(&self.conns[slot as usize])
    }

    fn unready(&self, slot: u32) -> &'static str {
        self.session.unready(&self.conns[slot as usize])
    }

    fn unsolicited<'a>(&'a self, received: &'a [u8]) -> &'a [u8] {
        self.session.unsolicited(received)
    }

    fn progress(&self, slot: u32, token: T) -> AnswerProgress {
        self.session.progress(&self.conns[slot as usize], token)
    }

    fn streams_allowed(&self) -> Option<u32> {
        self.session.streams_allowed()
    }

    fn said_goodbye(&self, slot: u32) -> bool {
        self.session.said_goodbye(&self.conns[slot as usize])
    }

    fn heads(&mut self) -> HeadBytes {
        self.session.heads()
    }

    fn tls(&mut self) -> Option<Tls> {
        self.session.tls()
    }

    fn plain(&mut self) -> Option<PlainBytes> {
        self.session.plain()
    }

    fn grpc(&mut self) -> Option<Grpc> {
        self.session.grpc()
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        self.session.by_request()
    }

    fn by_session(&mut self) -> Vec<BySession> {
        self.session.by_session()
    }
}
