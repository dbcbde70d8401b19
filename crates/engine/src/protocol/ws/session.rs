//! All connections of a worker.

use super::WsMessages;
use super::conn::WsConn;
use super::frame::{BINARY, TEXT, put_header};
use super::handshake::Upgrade;
use super::payload::Payload;
use crate::protocol::{Events, Fault, Fifo, Limits, Session};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Sends messages, each with a payload of its own, and expects each back.
#[derive(Debug, Clone)]
pub struct Ws {
    messages: WsMessages,
    /// The messages of a connection, after which it is closed; none: it is kept.
    calls: Option<u64>,
    /// Generator of keys, masks and payloads. Its state comes from the system; it is fast rather than cryptographic.
    rng: Xoshiro256PlusPlus,
}

impl Ws {
    /// `calls`: the messages of a connection, after which it is closed with a close frame; none: it is kept.
    pub fn new(messages: WsMessages, calls: Option<u32>) -> Self {
        Self {
            messages,
            calls: calls.map(u64::from),
            rng: Xoshiro256PlusPlus::from_rng(&mut rand::rng()),
        }
    }

    pub(super) fn upgrade(&self) -> &Upgrade {
        &self.messages.upgrade
    }

    #[inline]
    pub(super) fn limits(&self) -> Limits {
        self.messages.limits
    }

    #[inline]
    pub(super) fn is_text(&self) -> bool {
        self.messages.text
    }

    /// Is the answer of this number, from 1, a connection's last?
    #[inline]
    pub(super) fn is_last(&self, answered: u64) -> bool {
        self.calls == Some(answered)
    }

    /// Payload of the message `nth` of a connection.
    #[inline]
    pub(super) fn payload(&self, base: u64, nth: u64) -> Payload {
        Payload::new(base, nth, self.messages.text, self.messages.size)
    }

    /// A masking key for one frame.
    #[inline]
    pub(super) fn mask(&mut self) -> [u8; 4] {
        self.rng.next_u32().to_ne_bytes()
    }
}

impl Session for Ws {
    type Conn = WsConn;
    type Token = Fifo;

    fn opened(&mut self, conn: &mut WsConn, _: u32, out: &mut Vec<u8>, _: &mut impl Events<Fifo>) {
        let mut key = [0; 16];
        self.rng.fill_bytes(&mut key);
        let accept = self.messages.upgrade.put(key, out);
        conn.begin(accept, self.rng.next_u64());
    }

    #[inline]
    fn request(&mut self, conn: &mut WsConn, _: u32, _: Fifo, out: &mut Vec<u8>) {
        let (base, nth) = conn.send();
        let payload = self.payload(base, nth);
        let mask = self.mask();
        let opcode = if self.messages.text { TEXT } else { BINARY };
        put_header(opcode, payload.size as usize, mask, out);
        payload.put(payload.size, mask, out);
    }

    #[inline]
    fn received(
        &mut self,
        conn: &mut WsConn,
        _: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        conn.received(self, bytes, out, events)
    }

    fn end(&mut self, _: &mut WsConn, _: u32, _: &mut impl Events<Fifo>) {}

    fn how_ended(&self, conn: &WsConn) -> &'static str {
        conn.how_ended()
    }

    fn said_goodbye(&self, conn: &WsConn) -> bool {
        conn.is_closed()
    }
}
