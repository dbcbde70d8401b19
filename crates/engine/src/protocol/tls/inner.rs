//! The session inside TLS as an object: any session with the same kind of token.

use super::super::{
    Answer, Booked, Ending, Events, Fault, HeadBytes, Pace, Progress, Session, Token,
};
use prony_record::{ByRequest, BySession, Grpc};
use std::any::Any;

/// [`Session`] as an object. All methods but `conn` are its own; a connection's state is one that `conn` has made.
pub(super) trait Inner<T> {
    /// The state of a connection not yet opened.
    fn conn(&self) -> Box<dyn Any>;
    fn opened(
        &mut self,
        conn: &mut dyn Any,
        slot: u32,
        out: &mut Vec<u8>,
        events: &mut dyn Events<T>,
    );
    fn accepts(&self, conn: &dyn Any) -> bool;
    fn request(&mut self, conn: &mut dyn Any, slot: u32, token: T, out: &mut Vec<u8>);
    fn received(
        &mut self,
        conn: &mut dyn Any,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut dyn Events<T>,
    ) -> Result<(), Fault>;
    fn end(&mut self, conn: &mut dyn Any, slot: u32, events: &mut dyn Events<T>);
    fn cancel(&mut self, conn: &mut dyn Any, slot: u32, token: T, out: &mut Vec<u8>) -> bool;
    fn first_head(&self) -> &[u8];
    fn rests(&self) -> bool;
    fn pace(&mut self, conn: &mut dyn Any, slot: u32) -> Pace;
    fn ended(&self) -> bool;
    fn failed(&mut self, conn: &mut dyn Any, token: T, booked: Booked, ending: Ending);
    fn how_ended(&self, conn: &dyn Any) -> &'static str;
    fn progress(&self, conn: &dyn Any, token: T) -> Progress;
    fn streams_allowed(&self) -> Option<u32>;
    fn said_goodbye(&self, conn: &dyn Any) -> bool;
    fn heads(&mut self) -> HeadBytes;
    fn grpc(&mut self) -> Option<Grpc>;
    fn by_request(&mut self) -> Vec<ByRequest>;
    fn by_session(&mut self) -> Vec<BySession>;
}

/// A session as an object.
pub(super) fn erased<'a, P: Session + 'a>(session: P) -> Box<dyn Inner<P::Token> + 'a> {
    Box::new(Erased(session))
}

struct Erased<P>(P);

/// The state of a connection of `P`.
///
/// # Panics
/// When another session has made it.
fn of<P: Session>(conn: &dyn Any) -> &P::Conn {
    conn.downcast_ref().expect("a session gets its own states")
}

fn of_mut<P: Session>(conn: &mut dyn Any) -> &mut P::Conn {
    conn.downcast_mut().expect("a session gets its own states")
}

/// Events of a session that does not know who hears them.
struct Forward<'a, T>(&'a mut dyn Events<T>);

impl<T> Events<T> for Forward<'_, T> {
    fn secured(&mut self, resumed: bool) {
        self.0.secured(resumed);
    }

    fn ended(&mut self) {
        self.0.ended();
    }

    fn ready(&mut self) {
        self.0.ready();
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
    fn conn(&self) -> Box<dyn Any> {
        Box::new(P::Conn::default())
    }

    fn opened(
        &mut self,
        conn: &mut dyn Any,
        slot: u32,
        out: &mut Vec<u8>,
        events: &mut dyn Events<T>,
    ) {
        let conn = of_mut::<P>(conn);
        self.0.opened(conn, slot, out, &mut Forward(events));
    }

    fn accepts(&self, conn: &dyn Any) -> bool {
        self.0.accepts(of::<P>(conn))
    }

    fn request(&mut self, conn: &mut dyn Any, slot: u32, token: T, out: &mut Vec<u8>) {
        let conn = of_mut::<P>(conn);
        self.0.request(conn, slot, token, out);
    }

    fn received(
        &mut self,
        conn: &mut dyn Any,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut dyn Events<T>,
    ) -> Result<(), Fault> {
        let conn = of_mut::<P>(conn);
        self.0
            .received(conn, slot, bytes, out, &mut Forward(events))
    }

    fn end(&mut self, conn: &mut dyn Any, slot: u32, events: &mut dyn Events<T>) {
        let conn = of_mut::<P>(conn);
        self.0.end(conn, slot, &mut Forward(events));
    }

    fn cancel(&mut self, conn: &mut dyn Any, slot: u32, token: T, out: &mut Vec<u8>) -> bool {
        let conn = of_mut::<P>(conn);
        self.0.cancel(conn, slot, token, out)
    }

    fn first_head(&self) -> &[u8] {
        self.0.first_head()
    }

    fn rests(&self) -> bool {
        self.0.rests()
    }

    fn pace(&mut self, conn: &mut dyn Any, slot: u32) -> Pace {
        self.0.pace(of_mut::<P>(conn), slot)
    }

    fn ended(&self) -> bool {
        self.0.ended()
    }

    fn failed(&mut self, conn: &mut dyn Any, token: T, booked: Booked, ending: Ending) {
        let conn = of_mut::<P>(conn);
        self.0.failed(conn, token, booked, ending);
    }

    fn how_ended(&self, conn: &dyn Any) -> &'static str {
        self.0.how_ended(of::<P>(conn))
    }

    fn progress(&self, conn: &dyn Any, token: T) -> Progress {
        self.0.progress(of::<P>(conn), token)
    }

    fn streams_allowed(&self) -> Option<u32> {
        self.0.streams_allowed()
    }

    fn said_goodbye(&self, conn: &dyn Any) -> bool {
        self.0.said_goodbye(of::<P>(conn))
    }

    fn heads(&mut self) -> HeadBytes {
        self.0.heads()
    }

    fn grpc(&mut self) -> Option<Grpc> {
        self.0.grpc()
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        self.0.by_request()
    }

    fn by_session(&mut self) -> Vec<BySession> {
        self.0.by_session()
    }
}
