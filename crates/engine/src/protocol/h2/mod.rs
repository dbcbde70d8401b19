//! HTTP/2 as a client speaks it (RFC 9113), over TCP with prior knowledge or over TLS.
//!
//! | file | what it is about |
//! |---|---|
//! | `frame` | the layout of frames |
//! | `hpack` | the compression of header fields |
//! | `request` | requests, encoded once and sent again |
//! | `head` | what an answer's fields say |
//! | `content` | what HTTP/2 carries: HTTP alone, or gRPC on top of it |
//! | `streams` | which streams are in flight |
//! | `reception` | an answer that comes on a stream |
//! | `conn` | a connection: frames in, answers out; `control` and `answers` below it have the kinds of frames |
//! | `text` | the heads of requests that differ each time, from texts of HTTP/1.1 |
//! | `sending` | requests, and their bodies as far as the server takes them |
//! | `session` | all connections of a worker |
//! | `probe` | one connection before a load |

mod conn;
pub(in crate::protocol) mod content;
mod frame;
pub(in crate::protocol) mod head;
pub(in crate::protocol) mod hpack;
mod probe;
pub(in crate::protocol) mod reception;
mod request;
mod sending;
mod session;
pub(in crate::protocol) mod streams;
pub(in crate::protocol) mod text;

pub use conn::H2Conn;
pub use content::{Content, Plain};
pub use hpack::{Decoder, HpackError};
pub use probe::{H2ProbeError, probe};
pub(in crate::protocol) use reception::Wanted;
pub(in crate::protocol) use request::is_forbidden;
pub use request::{ForbiddenField, StreamedExchange};
pub use session::H2;
pub(in crate::protocol) use text::{DIFFERS, Heads};

/// The largest window of flow control.
pub const MOST_WINDOW: u32 = i32::MAX as u32;
/// The window unless said otherwise: 2^30 − 1 bytes, as h2load's.
pub const WINDOW: u32 = (1 << 30) - 1;
