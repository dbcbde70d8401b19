//! TLS around another session: what it reads is decrypted for it, and what it sends is encrypted.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

use super::{Reply, Session, Then};
use crate::Date;

/// Bytes decrypted in one go: the most that a record has.
const RECORD: usize = 16 * 1024;

/// One connection over TLS. Holds at most a record and what its session holds.
pub(crate) struct Secured<S> {
    tls: ServerConnection,
    inner: S,
    plain: Vec<u8>,
    scratch: Vec<u8>,
}

impl<S: Session> Session for Secured<S> {
    const DATED: bool = S::DATED;
    type Setup = (Arc<ServerConfig>, S::Setup);

    fn new(setup: &Self::Setup) -> Self {
        // It fails only for a configuration that cannot speak over QUIC, which this is not.
        let mut tls = ServerConnection::new(Arc::clone(&setup.0)).expect("a configuration for TCP");
        tls.set_buffer_limit(None);
        Self {
            tls,
            inner: S::new(&setup.1),
            plain: vec![0; RECORD],
            scratch: Vec::new(),
        }
    }

    fn receive<'a>(&mut self, mut input: &'a [u8], date: &Date, out: &'a mut Vec<u8>) -> Reply<'a> {
        out.clear();
        let (mut requests, mut then) = (0, Then::Keep);
        while then == Then::Keep && !input.is_empty() {
            let taken = self.tls.read_tls(&mut input);
            let ended = match self.tls.process_new_packets() {
                Ok(state) if taken.is_ok() => state.peer_has_closed(),
                // An alert says why, if there is one.
                _ => {
                    then = Then::Linger;
                    break;
                }
            };
            while let Ok(length @ 1..) = self.tls.reader().read(&mut self.plain) {
                let plain = &self.plain[..length];
                let reply = self.inner.receive(plain, date, &mut self.scratch);
                requests += reply.requests;
                // It goes to memory.
                let _ = self.tls.writer().write_all(reply.bytes);
                if reply.then != Then::Keep {
                    then = reply.then;
                    break;
                }
            }
            if ended && then == Then::Keep {
                then = Then::Close;
            }
        }
        if then != Then::Keep {
            self.tls.send_close_notify();
        }
        while self.tls.wants_write() && self.tls.write_tls(out).is_ok() {}
        Reply {
            bytes: out,
            requests,
            then,
        }
    }
}
