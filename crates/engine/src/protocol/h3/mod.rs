//! HTTP/3 as a client speaks it (RFC 9114), over QUIC (RFC 9000).
//!
//! quinn-proto keeps the state of QUIC, and rustls that of its TLS; nothing here does I/O. What HTTP/3 has in common with
//! HTTP/2 is used from there: how answers are received and judged, what they carry, and which streams are in flight.
//!
//! | file | what it is about |
//! |---|---|
//! | `frame` | the layout of frames |
//! | `qpack` | the compression of header fields |
//! | `request` | requests, encoded once and sent again, and those that differ each time |
//! | `reader` | the frames on a stream of a request |
//! | `control` | the streams that a server opens |
//! | `shared` | what all connections share |
//! | `conn` | a connection: datagrams in, answers out |
//! | `tls` | TLS of QUIC connections |
//! | `announced` | the limits that a server announces |
//! | `opening` | how a connection begins to carry requests |
//! | `session` | all connections of a worker |
//! | `probe` | one connection before a load |
//! | `fuzzed` | an entry for fuzzing |

mod announced;
mod conn;
mod control;
mod frame;
#[cfg(fuzzing)]
pub mod fuzzed;
mod opening;
mod probe;
mod qpack;
mod reader;
mod request;
mod session;
mod shared;
mod tls;

pub use conn::H3Conn;
pub use probe::{H3ProbeError, probe};
pub use qpack::Decoder;
pub(crate) use request::Heads;
pub use session::H3;
pub(crate) use session::possible;

use quinn_proto::ConnectionError;

/// Why a connection ended, in words.
fn in_words(why: &ConnectionError) -> String {
    let named = |reason: &[u8], name: String| match reason {
        [] => format!("the server closed the connection ({name})"),
        reason => format!(
            "the server closed the connection ({name}: {})",
            String::from_utf8_lossy(reason)
        ),
    };
    match why {
        ConnectionError::VersionMismatch => "the server does not speak version 1 of QUIC".into(),
        ConnectionError::TransportError(error) => format!("QUIC failed: {error}"),
        ConnectionError::ConnectionClosed(close) => {
            named(&close.reason, close.error_code.to_string())
        }
        ConnectionError::ApplicationClosed(close) => {
            let name = frame::error_name(close.error_code.into_inner());
            named(&close.reason, name.to_owned())
        }
        ConnectionError::Reset => {
            "the server does not know the connection any more (stateless reset)".into()
        }
        ConnectionError::TimedOut => "nothing came from the server any more".into(),
        ConnectionError::LocallyClosed => "this side closed the connection".into(),
        ConnectionError::CidsExhausted => "there are no more connection IDs".into(),
    }
}
