//! The layout of frames (RFC 9114, section 7), and of the integers in them (RFC 9000, section 16).

/// Frames.
pub(super) const DATA: u64 = 0;
pub(super) const HEADERS: u64 = 1;
pub(super) const CANCEL_PUSH: u64 = 3;
pub(super) const SETTINGS: u64 = 4;
pub(super) const PUSH_PROMISE: u64 = 5;
pub(super) const GOAWAY: u64 = 7;
pub(super) const MAX_PUSH_ID: u64 = 0xd;

/// Streams in one direction, by their first integer.
pub(super) const CONTROL: u64 = 0;
pub(super) const PUSH: u64 = 1;
pub(super) const QPACK_ENCODER: u64 = 2;
pub(super) const QPACK_DECODER: u64 = 3;

/// Settings.
const QPACK_MAX_TABLE_CAPACITY: u64 = 1;
const QPACK_BLOCKED_STREAMS: u64 = 7;

/// Error codes.
pub(super) const NO_ERROR: u32 = 0x100;
pub(super) const STREAM_CREATION_ERROR: u32 = 0x103;
pub(super) const REQUEST_REJECTED: u64 = 0x10b;
pub(super) const REQUEST_CANCELLED: u32 = 0x10c;
pub(super) const MESSAGE_ERROR: u32 = 0x10e;

/// Is it a frame or a setting of HTTP/2, which HTTP/3 forbids (RFC 9114, 7.2.8 and 7.2.4.1)?
pub(super) fn is_of_http2(kind: u64) -> bool {
    matches!(kind, 2 | 6 | 8 | 9)
}

/// The integer at the front of `bytes`, which are shortened by it; None: it has not come whole.
#[inline]
pub(super) fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let length = 1 << (bytes.first()? >> 6);
    let (number, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let first = u64::from(number[0] & 0x3f);
    let more = number[1..].iter();
    Some(more.fold(first, |value, &byte| value << 8 | u64::from(byte)))
}

/// Appends an integer below 2^62 in as few bytes as it needs.
pub(super) fn put_varint(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Appends a frame.
pub(super) fn put(kind: u64, payload: &[u8], out: &mut Vec<u8>) {
    put_varint(kind, out);
    put_varint(payload.len() as u64, out);
    out.extend_from_slice(payload);
}

/// Returns the first bytes of a client on its control stream: no dynamic table, and no stream that waits for one.
pub(super) fn greeting() -> Vec<u8> {
    let mut settings = Vec::new();
    for (setting, value) in [(QPACK_MAX_TABLE_CAPACITY, 0), (QPACK_BLOCKED_STREAMS, 0)] {
        put_varint(setting, &mut settings);
        put_varint(value, &mut settings);
    }
    let mut out = Vec::new();
    put_varint(CONTROL, &mut out);
    put(SETTINGS, &settings, &mut out);
    out
}

/// An error code's name (RFC 9114, 8.1, and RFC 9204, 6).
pub(super) fn error_name(code: u64) -> &'static str {
    const NAMES: [&str; 17] = [
        "H3_NO_ERROR",
        "H3_GENERAL_PROTOCOL_ERROR",
        "H3_INTERNAL_ERROR",
        "H3_STREAM_CREATION_ERROR",
        "H3_CLOSED_CRITICAL_STREAM",
        "H3_FRAME_UNEXPECTED",
        "H3_FRAME_ERROR",
        "H3_EXCESSIVE_LOAD",
        "H3_ID_ERROR",
        "H3_SETTINGS_ERROR",
        "H3_MISSING_SETTINGS",
        "H3_REQUEST_REJECTED",
        "H3_REQUEST_CANCELLED",
        "H3_REQUEST_INCOMPLETE",
        "H3_MESSAGE_ERROR",
        "H3_CONNECT_ERROR",
        "H3_VERSION_FALLBACK",
    ];
    let place = code.checked_sub(0x100).map(|at| at as usize);
    match (place.and_then(|at| NAMES.get(at)), code) {
        (Some(name), _) => name,
        (None, 0x200) => "QPACK_DECOMPRESSION_FAILED",
        (None, 0x201) => "QPACK_ENCODER_STREAM_ERROR",
        (None, 0x202) => "QPACK_DECODER_STREAM_ERROR",
        (None, _) => "an unknown error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn integers_of_the_rfc() {
        // RFC 9000, appendix A.1.
        for (bytes, value) in [
            (
                &b"\xc2\x19\x7c\x5e\xff\x14\xe8\x8c"[..],
                151_288_809_941_952_652,
            ),
            (b"\x9d\x7f\x3e\x7d", 494_878_333),
            (b"\x7b\xbd", 15_293),
            (b"\x25", 37),
            (b"\x40\x25", 37),
        ] {
            let mut rest = bytes;
            assert_eq!(varint(&mut rest), Some(value));
            assert!(rest.is_empty());
            let mut cut = &bytes[..bytes.len() - 1];
            assert_eq!(varint(&mut cut), None);
            assert_eq!(cut, &bytes[..bytes.len() - 1]);
        }
    }

    proptest! {
        #[test]
        fn integers_survive(value in 0..1_u64 << 62, shift in 0..62_u32) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            put_varint(value, &mut bytes);
            let mut rest = &bytes[..];
            prop_assert_eq!(varint(&mut rest), Some(value));
            prop_assert!(rest.is_empty());
        }
    }
}
