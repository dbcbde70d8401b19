//! Frames of WebSocket (RFC 6455, section 5.2).

use crate::protocol::Fault;

pub(super) const CONTINUATION: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// The longest header: two bytes, a length of eight, a masking key of four.
pub(super) const MOST_HEADER: usize = 14;
/// The longest payload of a control frame.
pub(super) const MOST_CONTROL: u64 = 125;

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const MASKED: u8 = 0x80;

/// A frame's header, from a server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct WsFrameHeader {
    pub(super) fin: bool,
    pub(super) opcode: u8,
    /// Length of the payload, in bytes.
    pub(super) length: u64,
}

impl WsFrameHeader {
    /// A control frame, which may come between the fragments of a message.
    pub(super) fn is_control(self) -> bool {
        self.opcode >= CLOSE
    }

    /// From the front of `bytes`, with its length; `None` when it is not complete.
    ///
    /// # Errors
    /// When no server may send it.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(usize, Self)>, Fault> {
        let &[first, second, ref rest @ ..] = bytes else {
            return Ok(None);
        };
        if first & RESERVED != 0 {
            return Err(Fault::Malformed(
                "a reserved bit is set, and no extension was agreed on",
            ));
        }
        if second & MASKED != 0 {
            return Err(Fault::Malformed("the server's frame is masked"));
        }
        let (used, length) = match second {
            126 => match rest.first_chunk() {
                None => return Ok(None),
                Some(bytes) => (4, u64::from(u16::from_be_bytes(*bytes))),
            },
            127 => match rest.first_chunk() {
                None => return Ok(None),
                Some(bytes) => (10, u64::from_be_bytes(*bytes)),
            },
            short => (2, u64::from(short)),
        };
        let it = Self {
            fin: first & FIN != 0,
            opcode: first & 0x0f,
            length,
        };
        it.check(used).map(|()| Some((used, it)))
    }

    /// Is it one that a server may send, in a header of so many bytes?
    fn check(self, used: usize) -> Result<(), Fault> {
        let wrong = match self.opcode {
            3..=7 | 11.. => "an unknown opcode",
            _ if self.is_control() && !self.fin => "a control frame in fragments",
            _ if self.is_control() && self.length > MOST_CONTROL => {
                "a control frame of more than 125 bytes"
            }
            _ if self.length >> 63 != 0 => "a length above 2^63 - 1",
            _ if (used == 4 && self.length < 126) || (used == 10 && self.length < 1 << 16) => {
                "a length in more bytes than it needs"
            }
            _ => return Ok(()),
        };
        Err(Fault::Malformed(wrong))
    }
}

/// Appends the header of a whole, masked frame.
#[inline]
pub(super) fn put_header(opcode: u8, length: usize, mask: [u8; 4], out: &mut Vec<u8>) {
    out.push(FIN | opcode);
    match length {
        0..=125 => out.push(MASKED | length as u8),
        126..=0xffff => {
            out.push(MASKED | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        _ => {
            out.push(MASKED | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&mask);
}

/// Appends a control frame; `payload` has at most 125 bytes.
pub(super) fn put_control(opcode: u8, payload: &[u8], mask: [u8; 4], out: &mut Vec<u8>) {
    put_header(opcode, payload.len(), mask, out);
    let key = mask.iter().cycle();
    out.extend(payload.iter().zip(key).map(|(byte, key)| byte ^ key));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_header_is_read_in_any_pieces(length in prop_oneof![0u64..200, 0u64..(1 << 20), 0u64..(1 << 63)]) {
            let mut wire = Vec::new();
            put_header(BINARY, length as usize, [1, 2, 3, 4], &mut wire);
            // A server's has no mask.
            wire.truncate(wire.len() - 4);
            wire[1] &= !MASKED;
            for part in 0..wire.len() {
                prop_assert_eq!(WsFrameHeader::parse(&wire[..part]), Ok(None));
            }
            let it = WsFrameHeader { fin: true, opcode: BINARY, length };
            prop_assert_eq!(WsFrameHeader::parse(&wire), Ok(Some((wire.len(), it))));
        }
    }

    #[test]
    fn what_no_server_may_send_is_told() {
        for (bytes, why) in [
            (&[0xc2, 0][..], "reserved bit"),
            (&[0x82, 0x80], "masked"),
            (&[0x83, 0], "unknown opcode"),
            (&[0x8b, 0], "unknown opcode"),
            (&[0x09, 0], "control frame in fragments"),
            (&[0x89, 126, 0, 126], "more than 125"),
            (&[0x82, 126, 0, 125], "more bytes than it needs"),
            (
                &[0x82, 127, 0, 0, 0, 0, 0, 0, 255, 255],
                "more bytes than it needs",
            ),
            (&[0x82, 127, 128, 0, 0, 0, 0, 0, 0, 0], "above 2^63"),
        ] {
            let error = WsFrameHeader::parse(bytes).unwrap_err().to_string();
            assert!(error.contains(why), "{bytes:?}: {error}");
        }
    }

    #[test]
    fn control_frames_are_masked() {
        // The example of RFC 6455, section 5.7, with another opcode.
        let mut out = Vec::new();
        put_control(PONG, b"Hello", [0x37, 0xfa, 0x21, 0x3d], &mut out);
        let expected = [
            0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58,
        ];
        assert_eq!(out, expected);
    }
}
