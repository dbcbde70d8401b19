//! The transport parameters that a server announces (RFC 9000, 18).

use super::frame::varint;
use prony_record::quic::Announced;

/// Reads them; those that are cut or unknown are left out. quinn-proto refuses what breaks the protocol.
pub(super) fn parse(mut bytes: &[u8]) -> Announced {
    let mut all = Announced::default();
    while let Some((id, mut value)) = one(&mut bytes) {
        let field = match id {
            0x01 => &mut all.idle_timeout_ms,
            0x03 => &mut all.datagram_bytes,
            0x04 => &mut all.window,
            // Of streams that the other side opens, as this one does for requests.
            0x06 => &mut all.stream_window,
            0x08 => &mut all.streams,
            0x09 => &mut all.unidirectional_streams,
            0x0b => &mut all.ack_delay_ms,
            _ => continue,
        };
        *field = varint(&mut value);
    }
    all
}

/// Takes a parameter from the front: its number, and its value.
fn one<'a>(bytes: &mut &'a [u8]) -> Option<(u64, &'a [u8])> {
    let id = varint(bytes)?;
    let length = usize::try_from(varint(bytes)?).ok()?;
    let (value, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((id, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_parameters_are_read_and_others_skipped() {
        let bytes = [
            &[0x01, 2, 0x40, 0x64][..],   // 100 ms
            &[0x02, 3, 1, 2, 3],          // a reset token, cut short: not looked at
            &[0x06, 4, 0x80, 0x01, 0, 0], // 65,536 bytes
            &[0x40, 0x99, 1, 0],          // unknown
            &[0x08, 1, 7],                // 7 streams
            &[0x09, 9, 1],                // cut
        ]
        .concat();
        assert_eq!(
            parse(&bytes),
            Announced {
                idle_timeout_ms: Some(100),
                stream_window: Some(65_536),
                streams: Some(7),
                ..Announced::default()
            }
        );
    }
}
