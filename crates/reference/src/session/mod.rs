//! Sessions, which answer on one connection: bytes in, bytes out, no I/O and no clock.

mod body;
mod echo;
mod h2;
mod http;
mod reply;
mod request;
mod secured;
mod ws;

pub(crate) use echo::Echo;
pub(crate) use h2::H2;
pub(crate) use http::Http;
pub(crate) use secured::Secured;
pub(crate) use ws::{Said, Ws};

use crate::Date;

/// One connection's side of a contract.
pub(crate) trait Session: Sized + Send + 'static {
    /// Whether the answers carry the date, so that the caller must keep it current.
    const DATED: bool;

    /// Settings that all connections have in common.
    type Setup: Clone + Send + Sync + 'static;

    /// A connection that has just been accepted.
    fn new(setup: &Self::Setup) -> Self;

    /// Takes all of `input` and says what to send. `scratch` is a place for the reply, emptied
    /// first; its capacity is kept from call to call.
    fn receive<'a>(&mut self, input: &'a [u8], date: &Date, scratch: &'a mut Vec<u8>) -> Reply<'a>;
}

/// Bytes to send for some input.
#[derive(Debug)]
pub(crate) struct Reply<'a> {
    /// Possibly nothing yet.
    pub(crate) bytes: &'a [u8],
    /// How many requests are answered by it.
    pub(crate) requests: u32,
    /// Whether the connection stays open once the bytes are sent.
    pub(crate) then: Then,
}

/// State of a connection after a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Then {
    /// The connection stays open.
    Keep,
    /// The connection is closed: the peer sends nothing more.
    Close,
    /// The sending side is closed and what the peer still sends is thrown away until it closes.
    /// Closing at once would reset the connection and could destroy the reply before the peer has
    /// read it (RFC 9112, section 9.6).
    Linger,
}
