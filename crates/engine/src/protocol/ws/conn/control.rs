//! Control frames, and how a connection ends.

use super::super::frame::PONG;
use super::super::frame::{CLOSE, PING, put_control};
use super::{StreamPhase, WsConn};
use crate::protocol::ws::session::Ws;
use crate::protocol::{Events, Fault, Fifo};

/// The code of a connection that has done what it was for.
const NORMAL: [u8; 2] = 1000_u16.to_be_bytes();

impl WsConn {
    /// A control frame is complete; its payload is in `partial`.
    #[cold]
    pub(super) fn control(
        &mut self,
        ws: &mut Ws,
        out: &mut Vec<u8>,
        events: &mut impl Events<Fifo>,
    ) -> Result<(), Fault> {
        match self.frame.opcode {
            PING => put_control(PONG, &self.partial, ws.mask(), out),
            CLOSE => {
                let code = closing(&self.partial)?;
                // The same code goes back; a frame without one is answered by one without.
                let code_alone = &self.partial[..self.partial.len().min(2)];
                put_control(CLOSE, code_alone, ws.mask(), out);
                self.closed = Some(code);
                self.phase = StreamPhase::Over;
                events.ended();
            }
            // A pong answers nothing: none is asked for.
            _ => {}
        }
        Ok(())
    }

    /// Has the server said that it ends the connection?
    pub(in crate::protocol::ws) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    pub(in crate::protocol::ws) fn how_ended(&self) -> &'static str {
        match (&self.phase, self.closed) {
            (_, Some(code)) => named(code),
            (StreamPhase::Unopened | StreamPhase::Handshake(_), None) => {
                "the server closed the connection during WebSocket's handshake"
            }
            (_, None) => "the server closed the connection without a close frame",
        }
    }
}

/// Nothing more is asked on a connection.
#[cold]
pub(super) fn say_goodbye(ws: &mut Ws, out: &mut Vec<u8>) {
    put_control(CLOSE, &NORMAL, ws.mask(), out);
}

/// The code of a close frame; 0 when it has none.
///
/// # Errors
/// When it must not be sent (RFC 6455, 5.5.1 and 7.4).
fn closing(payload: &[u8]) -> Result<u16, Fault> {
    let (code, reason) = match payload {
        [] => return Ok(0),
        [_] => return Err(Fault::Malformed("a close frame with one byte")),
        [a, b, reason @ ..] => (u16::from_be_bytes([*a, *b]), reason),
    };
    if !matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return Err(Fault::Malformed("a close code that must not be sent"));
    }
    match std::str::from_utf8(reason) {
        Ok(_) => Ok(code),
        Err(_) => Err(Fault::Malformed("a close reason that is not UTF-8")),
    }
}

/// Describes a server's close frame by its code; 0: it had none.
fn named(code: u16) -> &'static str {
    match code {
        0 => "the server sent a close frame without a code",
        1000 => "the server sent a close frame with code 1000, normal closure",
        1001 => "the server sent a close frame with code 1001, going away",
        1002 => "the server sent a close frame with code 1002, protocol error",
        1003 => "the server sent a close frame with code 1003, unsupported data",
        1007 => "the server sent a close frame with code 1007, invalid payload",
        1008 => "the server sent a close frame with code 1008, policy violation",
        1009 => "the server sent a close frame with code 1009, message too big",
        1010 => "the server sent a close frame with code 1010, missing extension",
        1011 => "the server sent a close frame with code 1011, internal error",
        1012 => "the server sent a close frame with code 1012, service restart",
        1013 => "the server sent a close frame with code 1013, try again later",
        1014 => "the server sent a close frame with code 1014, bad gateway",
        3000..=3999 => "the server sent a close frame with a registered code, 3000 to 3999",
        _ => "the server sent a close frame with a private code, 4000 to 4999",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_frames_are_judged() {
        assert_eq!(closing(b""), Ok(0));
        assert_eq!(closing(b"\x03\xe8bye"), Ok(1000));
        assert_eq!(closing(&4999_u16.to_be_bytes()), Ok(4999));
        for (payload, why) in [
            (&b"\x03"[..], "one byte"),
            (&999_u16.to_be_bytes(), "must not be sent"),
            (&1005_u16.to_be_bytes(), "must not be sent"),
            (&1006_u16.to_be_bytes(), "must not be sent"),
            (&1015_u16.to_be_bytes(), "must not be sent"),
            (&2999_u16.to_be_bytes(), "must not be sent"),
            (&5000_u16.to_be_bytes(), "must not be sent"),
            (b"\x03\xe8\xff", "UTF-8"),
        ] {
            let error = closing(payload).unwrap_err().to_string();
            assert!(error.contains(why), "{payload:?}: {error}");
        }
    }
}
