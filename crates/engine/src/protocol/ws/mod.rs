//! WebSocket as a client speaks it (RFC 6455), over TCP or TLS, without extensions.
//!
//! | file | what it is about |
//! |---|---|
//! | `frame` | the layout of frames |
//! | `handshake` | the upgrade from HTTP/1.1 |
//! | `payload` | what messages are made of, and whether it came back |
//! | `conn` | a connection: frames in, answers out; `control` below it has the control frames |
//! | `session` | all connections of a worker |
//! | `probe` | one connection before a load |

mod conn;
mod frame;
mod handshake;
mod payload;
mod probe;
mod session;

pub use conn::WsConn;
pub use handshake::{ReservedField, Upgrade};
pub use probe::{WsProbeError, probe};
pub use session::Ws;

use serde::{Deserialize, Serialize};

/// Messages of a load: each has a payload of its own, and must come back as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WsMessages {
    /// How a connection begins.
    pub upgrade: Upgrade,
    /// Text messages, of ASCII characters; otherwise binary ones.
    pub text: bool,
    /// Length of each payload, in bytes.
    pub size: u32,
    /// How much is accepted: of the handshake's answer, and of a message.
    pub limits: super::Limits,
}

impl WsMessages {
    /// The longest that is sent at once, in bytes.
    pub(crate) fn length(&self) -> u64 {
        u64::from(self.size) + frame::MOST_HEADER as u64
    }
}
