//! TLS 1.2 and 1.3 around another session.
//!
//! rustls keeps the state; nothing here does I/O. Its buffered interface is used: the unbuffered one wants
//! the incoming records in a mutable buffer of ours, into which a borrowed slice has to be copied as the
//! buffered one does, and it allocates for each record as well.

mod certificate;
mod cipher;
mod connector;
mod fault;
mod probe;
mod roots;
mod self_signed;
mod stream;

pub(crate) use connector::Connector;
pub(in crate::protocol) use connector::iana;
pub use connector::{TlsInvalid, TlsOptions, client_config, openssl_name};
pub use fault::TlsFault;
pub use probe::{ProbeError, probe, speaks_tls};
pub use self_signed::{CannotSign, SelfSigned};
pub use stream::TlsStream;

use cipher::Cipher;

use super::inner::{self, Inner};
use super::{
    AnswerProgress, Booked, Ending, Events, Fault, HeadBytes, NextSend, PlainBytes, Session, Token,
};
use crate::clock::Nanos;
use prony_record::{ByRequest, BySession, Tls as Seen};
use rustls::{ClientConnection, HandshakeKind};
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use std::sync::Arc;

/// Bytes of what came unasked that are kept to be shown.
const EXCERPT: usize = 64;

/// A session whose bytes travel encrypted. Which one is known at run time only, so the load loop is compiled once for all
/// sessions over TLS.
pub(crate) struct Tls<'a, T> {
    inner: Box<dyn Inner<T> + 'a>,
    /// Asked in every turn of the load loop, and constant.
    rests: bool,
    wants_addresses: bool,
    /// None: bytes travel as the inner session writes them, so that the load loop is not compiled once more for sessions
    /// that go through a proxy without TLS to it.
    cipher: Option<Cipher>,
    /// TLS ends at a proxy: its handshake is a part of making the connection.
    to_proxy: bool,
    /// Bytes that the inner session wrote, before they are encrypted; empty in between.
    plain: Vec<u8>,
    /// Bytes that the inner session reported as unsolicited.
    unsolicited: Vec<u8>,
    seen: Option<Seen>,
    passed: PlainBytes,
}

/// A connection's state.
#[derive(Default)]
pub(crate) struct TlsConn {
    tls: Option<Box<ClientConnection>>,
    /// Slot of the inner session's state, once that has begun.
    slot: Option<u32>,
    /// The handshake is done.
    ready: bool,
    /// The server has said that nothing more comes.
    closed: bool,
}

impl<'a, T: Token> Tls<'a, T> {
    /// `inner` over TLS, as the connector says.
    pub(crate) fn new<P: Session<Token = T> + 'a>(inner: P, connector: &Connector) -> Self {
        Self::around(inner, Some(Cipher::of(connector)), false)
    }

    /// `inner` on its way to a proxy, over TLS if there is a connector.
    pub(crate) fn to_proxy<P: Session<Token = T> + 'a>(
        inner: P,
        connector: Option<&Connector>,
    ) -> Self {
        Self::around(inner, connector.map(Cipher::of), true)
    }

    fn around<P: Session<Token = T> + 'a>(
        inner: P,
        cipher: Option<Cipher>,
        to_proxy: bool,
    ) -> Self {
        Self {
            rests: inner.rests(),
            wants_addresses: inner.wants_addresses(),
            inner: inner::erased(inner),
            cipher,
            to_proxy,
            plain: Vec::new(),
            unsolicited: Vec::new(),
            seen: None,
            passed: PlainBytes::default(),
        }
    }

    /// The handshake of a connection is done. Says whether it resumed a session.
    fn done(&mut self, tls: &ClientConnection) -> bool {
        let resumed = tls.handshake_kind() == Some(HandshakeKind::Resumed);
        let first = self.seen.is_none();
        let seen = self.seen.get_or_insert_default();
        seen.handshakes.count(resumed);
        // The group of a full handshake is worth waiting for.
        if let Some(cipher) = &self.cipher
            && (first || (seen.group.is_none() && !resumed))
        {
            *seen = Seen {
                handshakes: seen.handshakes,
                ..agreed(tls, &cipher.connector)
            };
        }
        resumed
    }

    /// The inner session's state of a connection is a new one, unless it has begun.
    fn begin(&mut self, conn: &mut TlsConn, slot: u32) {
        if conn.slot.is_none() {
            self.inner.begin(slot);
            conn.slot = Some(slot);
        }
    }

    /// Hands what was decrypted to the inner session, record by record.
    fn deliver(
        &mut self,
        conn: &mut TlsConn,
        slot: u32,
        events: &mut impl Events<T>,
    ) -> Result<(), Fault> {
        let Some(tls) = &mut conn.tls else {
            return Ok(());
        };
        let mut reader = tls.reader();
        loop {
            // An error says that nothing is there, or that the connection has ended.
            let Ok(bytes) = reader.fill_buf() else {
                return Ok(());
            };
            if bytes.is_empty() {
                return Ok(());
            }
            let length = bytes.len();
            self.passed.received += length as u64;
            let result = self.inner.received(slot, bytes, &mut self.plain, events);
            if let Err(Fault::Unsolicited { at }) = &result {
                self.unsolicited = self.excerpt(bytes.get(*at..).unwrap_or(bytes));
            }
            result?;
            reader.consume(length);
        }
    }

    /// The beginning of what the inner session was not asked for.
    fn excerpt(&self, rest: &[u8]) -> Vec<u8> {
        let rest = self.inner.unsolicited(rest);
        rest[..rest.len().min(EXCERPT)].to_vec()
    }

    /// Hands over what came without TLS.
    #[cold]
    fn pass(
        &mut self,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<T>,
    ) -> Result<(), Fault> {
        let result = self.inner.received(slot, bytes, out, events);
        if let Err(Fault::Unsolicited { at }) = &result {
            self.unsolicited = self.excerpt(bytes.get(*at..).unwrap_or(bytes));
        }
        result
    }

    /// Encrypts what the inner session has written.
    fn encrypt(&mut self, tls: &mut ClientConnection, out: &mut Vec<u8>) {
        if !self.plain.is_empty() {
            // Neither fails: the one has no limit, the other is memory.
            let _ = tls.writer().write_all(&self.plain);
            self.passed.sent += self.plain.len() as u64;
            self.plain.clear();
        }
        while tls.wants_write() && tls.write_tls(out).is_ok() {}
    }
}

impl<T: Token> Session for Tls<'_, T> {
    type Conn = TlsConn;
    type Token = T;
    const TLS: bool = true;

    #[inline]
    fn wants_addresses(&self) -> bool {
        self.wants_addresses
    }

    fn connected(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        ends: Option<(SocketAddr, SocketAddr)>,
    ) {
        self.begin(conn, slot);
        self.inner.connected(slot, ends);
    }

    fn opened(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        out: &mut Vec<u8>,
        events: &mut impl Events<T>,
    ) {
        self.begin(conn, slot);
        let Some(cipher) = &self.cipher else {
            conn.ready = true;
            return self.inner.opened(slot, out, events);
        };
        // The name and the configuration were tried before the load: this does not fail.
        let config = Arc::clone(&cipher.config);
        if let Ok(mut tls) = ClientConnection::new(config, cipher.name.clone()) {
            tls.set_buffer_limit(None);
            self.encrypt(&mut tls, out);
            conn.tls = Some(Box::new(tls));
        }
    }

    #[inline]
    fn accepts(&self, conn: &Self::Conn) -> bool {
        conn.slot.is_some_and(|slot| self.inner.accepts(slot))
    }

    fn request(&mut self, conn: &mut Self::Conn, slot: u32, token: T, out: &mut Vec<u8>) {
        if self.cipher.is_none() {
            return self.inner.request(slot, token, out);
        }
        self.inner.request(slot, token, &mut self.plain);
        if let Some(tls) = &mut conn.tls {
            self.encrypt(tls, out);
        }
    }

    fn received(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        mut bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<T>,
    ) -> Result<(), Fault> {
        while !bytes.is_empty() {
            let Some(tls) = &mut conn.tls else {
                return match self.cipher {
                    None => self.pass(slot, bytes, out, events),
                    Some(_) => Err(Fault::Tls(TlsFault::Protocol)),
                };
            };
            // Nothing is taken after the server's last word.
            match tls.read_tls(&mut bytes) {
                Ok(0) => break,
                Ok(_) => {}
                Err(_) => return Err(Fault::Tls(TlsFault::TooLong)),
            }
            let result = tls.process_new_packets();
            let ended = match &result {
                Ok(state) => state.peer_has_closed(),
                Err(_) => false,
            };
            if !conn.ready && result.is_ok() && !tls.is_handshaking() {
                conn.ready = true;
                let resumed = self.done(tls);
                match self.to_proxy {
                    false => events.secured(resumed),
                    true => events.reached(),
                }
                self.inner.opened(slot, &mut self.plain, events);
            }
            // What came whole before an error counts.
            self.deliver(conn, slot, events)?;
            if let Err(error) = result {
                return Err(Fault::Tls(TlsFault::from(&error)));
            }
            if ended {
                conn.closed = true;
                events.ended();
                return Ok(());
            }
        }
        if let Some(tls) = &mut conn.tls {
            self.encrypt(tls, out);
        }
        Ok(())
    }

    fn end(&mut self, conn: &mut Self::Conn, slot: u32, events: &mut impl Events<T>) {
        // Without the server's last word, what the end of the connection would complete is cut off.
        if conn.closed || self.cipher.is_none() {
            self.inner.end(slot, events);
        }
    }

    fn how_ended(&self, conn: &Self::Conn) -> &'static str {
        match conn.slot {
            Some(slot)
                if conn.ready
                    && (conn.closed || self.cipher.is_none() || self.said_goodbye(conn)) =>
            {
                self.inner.how_ended(slot)
            }
            _ if self.to_proxy => "the proxy closed the connection",
            _ if conn.ready => "the server closed the connection without TLS's close_notify",
            _ => "the server closed the connection during the TLS handshake",
        }
    }

    fn unready(&self, conn: &Self::Conn) -> &'static str {
        match conn.slot {
            Some(slot) if conn.ready => self.inner.unready(slot),
            _ if self.to_proxy => {
                "the connection was made, and the proxy did not complete the TLS handshake"
            }
            _ => "the connection was made, and the server did not complete the handshake",
        }
    }

    fn progress(&self, conn: &Self::Conn, token: T) -> AnswerProgress {
        let progress = |slot| self.inner.progress(slot, token);
        conn.slot.map_or(AnswerProgress::Unknown, progress)
    }

    fn streams_allowed(&self) -> Option<u32> {
        self.inner.streams_allowed()
    }

    fn said_goodbye(&self, conn: &Self::Conn) -> bool {
        let slot = conn.slot.filter(|_| conn.ready);
        slot.is_some_and(|slot| self.inner.said_goodbye(slot))
    }

    fn unsolicited<'a>(&'a self, _received: &'a [u8]) -> &'a [u8] {
        &self.unsolicited
    }

    fn streams(&self) -> bool {
        self.inner.streams()
    }

    fn listens(&self, conn: &Self::Conn, token: T) -> Option<Nanos> {
        self.inner.listens(conn.slot?, token)
    }

    fn hang_up(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        token: T,
        out: &mut Vec<u8>,
        events: &mut impl Events<T>,
    ) -> bool {
        if conn.slot.is_none() {
            return false;
        }
        if self.cipher.is_none() {
            return self.inner.hang_up(slot, token, out, events);
        }
        let done = self.inner.hang_up(slot, token, &mut self.plain, events);
        if let Some(tls) = &mut conn.tls {
            self.encrypt(tls, out);
        }
        done
    }

    fn cancel(&mut self, conn: &mut Self::Conn, slot: u32, token: T, out: &mut Vec<u8>) -> bool {
        if self.cipher.is_none() {
            return self.inner.cancel(slot, token, out);
        }
        let cancelled = self.inner.cancel(slot, token, &mut self.plain);
        if let Some(tls) = &mut conn.tls {
            self.encrypt(tls, out);
        }
        cancelled
    }

    fn first_head(&self) -> &[u8] {
        self.inner.first_head()
    }

    #[inline]
    fn rests(&self) -> bool {
        self.rests
    }

    #[inline]
    fn pace(&mut self, conn: &mut Self::Conn, slot: u32) -> NextSend {
        self.begin(conn, slot);
        self.inner.pace(slot)
    }

    #[inline]
    fn ended(&self) -> bool {
        self.inner.ended()
    }

    fn failed(&mut self, conn: &mut Self::Conn, token: T, booked: Booked, ending: Ending) {
        if let Some(slot) = conn.slot {
            self.inner.failed(slot, token, booked, ending);
        }
    }

    fn plain(&mut self) -> Option<PlainBytes> {
        match self.to_proxy {
            false => Some(self.passed),
            true => self.inner.plain(),
        }
    }

    fn heads(&mut self) -> HeadBytes {
        self.inner.heads()
    }

    fn grpc(&mut self) -> Option<prony_record::Grpc> {
        self.inner.grpc()
    }

    fn by_request(&mut self) -> Vec<ByRequest> {
        self.inner.by_request()
    }

    fn by_session(&mut self) -> Vec<BySession> {
        self.inner.by_session()
    }

    fn tls(&mut self) -> Option<Seen> {
        match self.to_proxy {
            false => self.seen.take(),
            true => self.inner.tls(),
        }
    }
}

/// TLS parameters that a connection and the server agreed on.
fn agreed(tls: &ClientConnection, connector: &Connector) -> Seen {
    let version = tls.protocol_version();
    let text = |name: &str| name.replacen("TLSv1_", "TLSv1.", 1);
    let alpn = tls.alpn_protocol();
    Seen {
        version: version
            .and_then(|v| v.as_str())
            .map(text)
            .unwrap_or_default(),
        cipher: tls
            .negotiated_cipher_suite()
            .map(|suite| connector::iana(&suite))
            .unwrap_or_default(),
        group: tls
            .negotiated_key_exchange_group()
            .and_then(|group| group.name().as_str().map(str::to_owned)),
        alpn: alpn.map(|name| String::from_utf8_lossy(name).into_owned()),
        certificate: connector.verifier.certificate(),
        verified: connector.verifier.verifies(),
        ..Seen::default()
    }
}
