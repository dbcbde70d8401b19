//! A session whose connections begin with a [`Prelude`].

use super::tunnel::Tunnel;
use super::{Prelude, header};
use crate::clock::Nanos;
use crate::protocol::inner::{self, Inner};
use crate::protocol::{
    AnswerProgress, Booked, Ending, Events, Fault, HeadBytes, NextSend, PlainBytes, Session, Token,
};
use prony_record::{ByRequest, BySession, Grpc, Tls};
use std::net::SocketAddr;

/// A session behind a [`Prelude`]. TLS's session lies around it, as it does around any, so that the load loop is not
/// compiled for this once more.
pub(crate) struct Through<'a, T> {
    inner: Box<dyn Inner<T> + 'a>,
    rests: bool,
    prelude: Prelude,
}

/// A connection's state.
#[derive(Default)]
pub(crate) struct ThroughConn {
    /// Slot of the inner session's state, once that has begun.
    slot: Option<u32>,
    /// Addresses of both ends, this side's first.
    ends: Option<(SocketAddr, SocketAddr)>,
    /// The tunnel, until it is made.
    tunnel: Option<Tunnel>,
    /// The server is reached.
    ready: bool,
}

impl<'a, T: Token> Through<'a, T> {
    pub(crate) fn new<P: Session<Token = T> + 'a>(inner: P, prelude: Prelude) -> Self {
        Self {
            rests: inner.rests(),
            inner: inner::erased(inner),
            prelude,
        }
    }

    /// The inner session's state of a connection is a new one, unless it has begun.
    fn begin(&mut self, conn: &mut ThroughConn, slot: u32) {
        if conn.slot.is_none() {
            self.inner.begin(slot);
            conn.slot = Some(slot);
        }
    }

    /// The server is reached: the inner session begins.
    fn reached(
        &mut self,
        conn: &mut ThroughConn,
        slot: u32,
        out: &mut Vec<u8>,
        events: &mut impl Events<T>,
    ) {
        conn.ready = true;
        events.reached();
        self.inner.opened(slot, out, events);
    }
}

impl<T: Token> Session for Through<'_, T> {
    type Conn = ThroughConn;
    type Token = T;

    fn wants_addresses(&self) -> bool {
        matches!(self.prelude, Prelude::Header(_))
    }

    fn connected(
        &mut self,
        conn: &mut ThroughConn,
        _slot: u32,
        ends: Option<(SocketAddr, SocketAddr)>,
    ) {
        conn.ends = ends;
    }

    fn opened(
        &mut self,
        conn: &mut ThroughConn,
        slot: u32,
        out: &mut Vec<u8>,
        events: &mut impl Events<T>,
    ) {
        self.begin(conn, slot);
        match &self.prelude {
            Prelude::Header(version) => {
                header::header(*version, conn.ends, out);
                self.reached(conn, slot, out, events);
            }
            Prelude::Tunnel(proxy) => conn.tunnel = Some(Tunnel::begin(proxy, out)),
        }
    }

    fn accepts(&self, conn: &ThroughConn) -> bool {
        conn.slot.is_some_and(|slot| self.inner.accepts(slot))
    }

    fn request(&mut self, _conn: &mut ThroughConn, slot: u32, token: T, out: &mut Vec<u8>) {
        self.inner.request(slot, token, out);
    }

    fn received(
        &mut self,
        conn: &mut ThroughConn,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<T>,
    ) -> Result<(), Fault> {
        let (Some(tunnel), Prelude::Tunnel(proxy)) = (&mut conn.tunnel, &self.prelude) else {
            return self.inner.received(slot, bytes, out, events);
        };
        let made = tunnel.received(proxy, bytes, out).map_err(Fault::Proxy)?;
        let Some(used) = made else {
            return Ok(());
        };
        conn.tunnel = None;
        self.reached(conn, slot, out, events);
        let rest = &bytes[used..];
        if rest.is_empty() {
            return Ok(());
        }
        // The server's first bytes came in one packet with the proxy's last.
        let result = self.inner.received(slot, rest, out, events);
        result.map_err(|fault| match fault {
            Fault::Unsolicited { at } => Fault::Unsolicited { at: at + used },
            other => other,
        })
    }

    fn end(&mut self, conn: &mut ThroughConn, slot: u32, events: &mut impl Events<T>) {
        if conn.ready {
            self.inner.end(slot, events);
        }
    }

    fn cancel(&mut self, _conn: &mut ThroughConn, slot: u32, token: T, out: &mut Vec<u8>) -> bool {
        self.inner.cancel(slot, token, out)
    }

    fn streams(&self) -> bool {
        self.inner.streams()
    }

    fn listens(&self, conn: &ThroughConn, token: T) -> Option<Nanos> {
        self.inner.listens(conn.slot?, token)
    }

    fn hang_up(
        &mut self,
        conn: &mut ThroughConn,
        slot: u32,
        token: T,
        out: &mut Vec<u8>,
        events: &mut impl Events<T>,
    ) -> bool {
        conn.slot.is_some() && self.inner.hang_up(slot, token, out, events)
    }

    fn first_head(&self) -> &[u8] {
        self.inner.first_head()
    }

    fn rests(&self) -> bool {
        self.rests
    }

    fn pace(&mut self, conn: &mut ThroughConn, slot: u32) -> NextSend {
        self.begin(conn, slot);
        self.inner.pace(slot)
    }

    fn ended(&self) -> bool {
        self.inner.ended()
    }

    fn failed(&mut self, conn: &mut ThroughConn, token: T, booked: Booked, ending: Ending) {
        if let Some(slot) = conn.slot {
            self.inner.failed(slot, token, booked, ending);
        }
    }

    fn how_ended(&self, conn: &ThroughConn) -> &'static str {
        match conn.slot {
            Some(slot) if conn.ready => self.inner.how_ended(slot),
            _ => "the proxy closed the connection before the tunnel was made",
        }
    }

    fn unready(&self, conn: &ThroughConn) -> &'static str {
        match conn.slot {
            Some(slot) if conn.ready => self.inner.unready(slot),
            _ => "the connection to the proxy was made, and the proxy did not make the tunnel",
        }
    }

    fn progress(&self, conn: &ThroughConn, token: T) -> AnswerProgress {
        let progress = |slot| self.inner.progress(slot, token);
        conn.slot.map_or(AnswerProgress::Unknown, progress)
    }

    fn streams_allowed(&self) -> Option<u32> {
        self.inner.streams_allowed()
    }

    fn said_goodbye(&self, conn: &ThroughConn) -> bool {
        let slot = conn.slot.filter(|_| conn.ready);
        slot.is_some_and(|slot| self.inner.said_goodbye(slot))
    }

    fn unsolicited<'a>(&'a self, received: &'a [u8]) -> &'a [u8] {
        self.inner.unsolicited(received)
    }

    fn tls(&mut self) -> Option<Tls> {
        self.inner.tls()
    }

    fn plain(&mut self) -> Option<PlainBytes> {
        self.inner.plain()
    }

    fn heads(&mut self) -> HeadBytes {
        self.inner.heads()
    }

    fn grpc(&mut self) -> Option<Grpc> {
        self.inner.grpc()
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        self.inner.by_request()
    }

    fn by_session(&mut self) -> Vec<BySession> {
        self.inner.by_session()
    }
}
