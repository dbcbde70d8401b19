//! Sessions used only here, for what HTTP/1.1 and echo do not do: a handshake, answers in any
//! order, writing in reply, cancelling, draining, and one session around another.

use prony_engine::protocol::{Answer, Events, Fault, Session, Tag};
use std::collections::HashMap;

/// Every frame of [`Multiplexed`] is a kind and a number, in big-endian order.
pub const FRAME: usize = 5;
/// Both sides greet. The server's greeting allows requests.
pub const HELLO: u8 = b'H';
/// A request with its number, which is one more than that of the request before.
pub const REQUEST: u8 = b'Q';
/// The answer to a request.
pub const ANSWER: u8 = b'A';
/// A request is not to be answered any more. The answer may be on its way.
pub const CANCEL: u8 = b'C';
/// To be answered with a pong of the same number.
pub const PING: u8 = b'P';
pub const PONG: u8 = b'O';
/// There will be no answers to requests sent after this has come.
pub const GOODBYE: u8 = b'G';

pub fn frame(kind: u8, number: u32) -> [u8; FRAME] {
    let [a, b, c, d] = number.to_be_bytes();
    [kind, a, b, c, d]
}

pub fn parse(bytes: &[u8]) -> (u8, u32) {
    let number = bytes[1..FRAME].try_into().expect("a frame's length");
    (bytes[0], u32::from_be_bytes(number))
}

/// Many requests at once on one connection, answered in any order.
pub struct Multiplexed {
    /// Requests in flight per connection.
    pub limit: usize,
    pub cancels: bool,
}

#[derive(Default)]
pub struct Streams {
    ready: bool,
    closing: bool,
    /// A frame that has come in part.
    partial: Vec<u8>,
    next: u32,
    open: HashMap<u32, Tag>,
    /// The most that were ever open.
    pub most: usize,
}

impl Session for Multiplexed {
    type Conn = Streams;
    type Token = Tag;

    fn opened(&mut self, _: &mut Streams, _: u32, out: &mut Vec<u8>, _: &mut impl Events<Tag>) {
        out.extend(frame(HELLO, 0));
    }

    fn accepts(&self, conn: &Streams) -> bool {
        conn.open.len() < self.limit
    }

    fn request(&mut self, conn: &mut Streams, _: u32, tag: Tag, out: &mut Vec<u8>) {
        assert!(conn.ready, "a request before the handshake was done");
        assert!(!conn.closing, "a request to a server that takes no more");
        out.extend(frame(REQUEST, conn.next));
        conn.open.insert(conn.next, tag);
        assert!(conn.open.len() <= self.limit);
        conn.most = conn.most.max(conn.open.len());
        conn.next += 1;
    }

    /// The number of the request is reported as the length of its body.
    fn received(
        &mut self,
        conn: &mut Streams,
        _: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<Tag>,
    ) -> Result<(), Fault> {
        conn.partial.extend_from_slice(bytes);
        let pending = std::mem::take(&mut conn.partial);
        let frames = pending.chunks_exact(FRAME);
        conn.partial.extend_from_slice(frames.remainder());
        for bytes in frames {
            match parse(bytes) {
                (HELLO, _) if !conn.ready => {
                    conn.ready = true;
                    events.ready();
                }
                (ANSWER, number) if number < conn.next => {
                    // One that is not open was cancelled.
                    if let Some(tag) = conn.open.remove(&number) {
                        let answer = Answer {
                            status: 0,
                            wrong: None,
                            last: false,
                            body: u64::from(number),
                        };
                        events.answered(tag, answer);
                    }
                }
                (PING, number) => out.extend(frame(PONG, number)),
                (GOODBYE, _) => {
                    conn.closing = true;
                    events.closing();
                }
                _ => return Err(Fault::Malformed("a frame that makes no sense")),
            }
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Streams, _: u32, _: &mut impl Events<Tag>) {}

    fn cancel(&mut self, conn: &mut Streams, _: u32, tag: Tag, out: &mut Vec<u8>) -> bool {
        if self.cancels {
            let open = conn.open.iter().find(|(_, other)| **other == tag);
            let number = *open.expect("it is in flight").0;
            conn.open.remove(&number);
            out.extend(frame(CANCEL, number));
        }
        self.cancels
    }
}

/// Another session behind a mask, as TLS would be around it: both sides send half of a key, and
/// then every byte is masked with a stream that depends on the key, the direction and the place.
pub struct Masked<S> {
    pub inner: S,
    plain: Vec<u8>,
    written: Vec<u8>,
}

impl<S> Masked<S> {
    pub fn new(inner: S) -> Self {
        Self {
            inner,
            plain: Vec::new(),
            written: Vec::new(),
        }
    }
}

/// The client's half of the key.
pub const CLIENT_KEY: u8 = 0x5a;

#[derive(Default)]
pub struct MaskedConn<C> {
    inner: C,
    /// None until the server's half of the key has come.
    masks: Option<Masks>,
}

/// The two directions of a masked connection.
pub struct Masks {
    pub to_server: Mask,
    pub to_client: Mask,
}

pub struct Mask {
    next: u8,
    step: u8,
}

impl Masks {
    pub fn new(client: u8, server: u8) -> Self {
        let next = client ^ server;
        Self {
            to_server: Mask { next, step: 7 },
            to_client: Mask { next, step: 13 },
        }
    }
}

impl Mask {
    /// Masks, or takes the mask off.
    pub fn apply(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte ^= self.next;
            self.next = self.next.wrapping_add(self.step);
        }
    }
}

impl<S: Session> Session for Masked<S> {
    type Conn = MaskedConn<S::Conn>;
    type Token = S::Token;

    fn opened(
        &mut self,
        _: &mut Self::Conn,
        _: u32,
        out: &mut Vec<u8>,
        _: &mut impl Events<S::Token>,
    ) {
        out.push(CLIENT_KEY);
    }

    fn accepts(&self, conn: &Self::Conn) -> bool {
        self.inner.accepts(&conn.inner)
    }

    fn request(&mut self, conn: &mut Self::Conn, slot: u32, token: S::Token, out: &mut Vec<u8>) {
        let begin = out.len();
        self.inner.request(&mut conn.inner, slot, token, out);
        conn.mask(&mut out[begin..]);
    }

    fn received(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        bytes: &[u8],
        out: &mut Vec<u8>,
        events: &mut impl Events<S::Token>,
    ) -> Result<(), Fault> {
        let Self {
            inner,
            plain,
            written,
        } = self;
        written.clear();
        let mut rest = bytes;
        if conn.masks.is_none() {
            conn.masks = Some(Masks::new(CLIENT_KEY, bytes[0]));
            rest = &bytes[1..];
            inner.opened(&mut conn.inner, slot, written, events);
        }
        let mut result = Ok(());
        if !rest.is_empty() {
            plain.clear();
            plain.extend_from_slice(rest);
            conn.masks().to_client.apply(plain);
            result = inner.received(&mut conn.inner, slot, plain, written, events);
        }
        conn.mask(written);
        out.extend_from_slice(written);
        result
    }

    fn end(&mut self, conn: &mut Self::Conn, slot: u32, events: &mut impl Events<S::Token>) {
        if conn.masks.is_some() {
            self.inner.end(&mut conn.inner, slot, events);
        }
    }

    fn cancel(
        &mut self,
        conn: &mut Self::Conn,
        slot: u32,
        token: S::Token,
        out: &mut Vec<u8>,
    ) -> bool {
        let begin = out.len();
        let cancelled = self.inner.cancel(&mut conn.inner, slot, token, out);
        conn.mask(&mut out[begin..]);
        cancelled
    }
}

impl<C> MaskedConn<C> {
    fn masks(&mut self) -> &mut Masks {
        self.masks.as_mut().expect("the handshake is done")
    }

    fn mask(&mut self, bytes: &mut [u8]) {
        self.masks().to_server.apply(bytes);
    }
}
