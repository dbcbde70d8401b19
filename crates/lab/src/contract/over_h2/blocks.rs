//! Header blocks of a server, decoded by the crate `h2`: loads have a separate HPACK decoder, and what both read
//! alike is right.
//!
//! The decoder of `h2` is private, so a client of `h2` that is connected to memory lends it. Every block becomes the
//! response to a new request of that client, in the order of the server's blocks, which is all that HPACK's dynamic
//! table depends on. What the client sends goes nowhere, and time plays no part.

use super::frame::{self, END_HEADERS, kind};
use bytes::Bytes;
use h2::client::{self, Connection, ResponseFuture, SendRequest};
use h2::{Error, Reason};
use http::{HeaderMap, Request};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncWrite, DuplexStream, Join, Sink, duplex, join, sink};

/// The most bytes of a header block, and of the fields in it with 32 for each.
pub(super) const MOST_FIELDS: usize = 64 << 10;
/// Room for the frames of a block.
const ROOM: usize = 2 * MOST_FIELDS;
/// The longest payload of a frame.
const PIECE: usize = 16 << 10;
/// `:status: 200` from the static table: a whole head that leaves the dynamic table as it is.
const OK: [u8; 1] = [0x88];

/// A connection's header blocks so far.
pub(super) struct Blocks {
    /// Where frames are handed over.
    server: DuplexStream,
    client: SendRequest<Bytes>,
    connection: Connection<Join<DuplexStream, Sink>>,
    over: bool,
}

/// The head of a response.
#[derive(Debug)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) fields: HeaderMap,
}

impl Blocks {
    pub(super) fn new() -> Self {
        let (server, client) = duplex(ROOM);
        let mut builder = client::Builder::new();
        builder
            .max_header_list_size(MOST_FIELDS as u32)
            .initial_max_send_streams(usize::MAX);
        let greeting = pin!(builder.handshake(join(client, sink())));
        let Poll::Ready(Ok((client, connection))) = greeting.poll(&mut context()) else {
            unreachable!("a greeting that goes nowhere is sent at once");
        };
        let mut this = Self {
            server,
            client,
            connection,
            over: false,
        };
        // The server's settings do not concern the blocks that it sends.
        this.feed(&frame::settings(&[]));
        this
    }

    /// Decodes the head of a response, interim or final.
    ///
    /// # Errors
    /// When it is not HPACK, longer than [`MOST_FIELDS`], or no head of a response (RFC 9113, 8.3): without a valid
    /// `:status`, with capitals in a name, or with a field of a connection. [`Error::is_reset`] is true if later blocks
    /// can be decoded.
    pub(super) fn head(&mut self, block: &[u8]) -> Result<Head, Error> {
        let mut response = self.request()?;
        self.feed(&headers(&response, block));
        let (parts, ()) = match response.poll_informational(&mut context()) {
            Poll::Ready(Some(interim)) => interim?.into_parts(),
            _ => {
                let (parts, _) = now(Pin::new(&mut response))??.into_parts();
                (parts, ())
            }
        };
        Ok(Head {
            status: parts.status.as_u16(),
            fields: parts.headers,
        })
    }

    /// Decodes trailers. `h2` has no limit for those, so they are given a status and read as a head.
    ///
    /// # Errors
    /// When the block cannot be decoded, or has a status.
    pub(super) fn trailers(&mut self, block: &[u8]) -> Result<HeaderMap, Error> {
        let (sizes, fields) = block.split_at(table_sizes(block));
        let head = self.head(&[sizes, &OK, fields].concat())?;
        Ok(head.fields)
    }

    /// The stream of the next block.
    fn request(&mut self) -> Result<ResponseFuture, Error> {
        let request = Request::get("http://prony/").body(());
        let request = request.expect("a request without anything odd");
        let (response, _) = self.client.send_request(request, true)?;
        // Until it is written, a response to it would be an error.
        self.work();
        Ok(response)
    }

    /// Lets the client read these frames. An error of the connection shows on the stream.
    fn feed(&mut self, frames: &[u8]) {
        if self.over {
            return;
        }
        let taken = Pin::new(&mut self.server).poll_write(&mut context(), frames);
        self.over = !matches!(taken, Poll::Ready(Ok(taken)) if taken == frames.len());
        self.work();
    }

    /// Lets the client write and read what there is.
    fn work(&mut self) {
        if !self.over {
            let connection = Pin::new(&mut self.connection);
            self.over = connection.poll(&mut context()).is_ready();
        }
    }
}

/// How many bytes of a block are table size updates, which stand before its fields (RFC 7541, 4.2).
fn table_sizes(block: &[u8]) -> usize {
    let mut at = 0;
    while let Some(first) = block.get(at).filter(|&first| first & 0xe0 == 0x20) {
        at += 1;
        if first & 0x1f == 0x1f {
            let more = block[at..].iter().take_while(|&byte| byte & 0x80 != 0);
            at = block.len().min(at + more.count() + 1);
        }
    }
    at
}

/// A block as frames.
fn headers(response: &ResponseFuture, block: &[u8]) -> Vec<u8> {
    let stream = response.stream_id().as_u32();
    let mut pieces = block.chunks(PIECE);
    let first = pieces.next().unwrap_or_default();
    let mut last = pieces.len() == 0;
    let ends = |last: bool| if last { END_HEADERS } else { 0 };
    let mut frames = frame::frame(kind::HEADERS, ends(last), stream, first);
    while let Some(piece) = pieces.next() {
        last = pieces.len() == 0;
        frames.extend(frame::frame(kind::CONTINUATION, ends(last), stream, piece));
    }
    frames
}

/// The result of something that has all it needs.
fn now<T>(it: Pin<&mut impl Future<Output = T>>) -> Result<T, Error> {
    match it.poll(&mut context()) {
        Poll::Ready(result) => Ok(result),
        Poll::Pending => Err(Reason::INTERNAL_ERROR.into()),
    }
}

/// Nothing has to be woken: what is in memory is there when it is asked for.
fn context() -> Context<'static> {
    Context::from_waker(Waker::noop())
}

#[cfg(test)]
mod tests;
