//! Frames of HTTP/2 (RFC 9113, section 4 and 6).

/// Length of a frame's header.
pub(super) const HEADER: usize = 9;
/// The largest payload that is accepted: what every side may send without being told otherwise.
pub(super) const MOST: usize = 16_384;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

/// Flags. `END_STREAM` and `ACK` are the same bit, for different frames.
pub(super) const END_STREAM: u8 = 0x1;
pub(super) const ACK: u8 = 0x1;
pub(super) const END_HEADERS: u8 = 0x4;
pub(super) const PADDED: u8 = 0x8;
pub(super) const PRIORITISED: u8 = 0x20;

/// Error code of a request that has not been processed.
pub(super) const REFUSED_STREAM: u32 = 7;
/// Error codes that are sent.
pub(super) const NO_ERROR: u32 = 0;
pub(super) const PROTOCOL_ERROR: u32 = 1;
pub(super) const CANCEL: u32 = 8;

/// Settings.
pub(super) const HEADER_TABLE_SIZE: u16 = 1;
pub(super) const ENABLE_PUSH: u16 = 2;
pub(super) const MAX_CONCURRENT_STREAMS: u16 = 3;
pub(super) const INITIAL_WINDOW_SIZE: u16 = 4;
pub(super) const MAX_FRAME_SIZE: u16 = 5;

/// First bytes of a client on a connection (RFC 9113, 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Length of the payload, in bytes.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    /// From the first nine bytes.
    #[inline]
    pub(super) fn parse(bytes: &[u8; HEADER]) -> Self {
        let [a, b, c, kind, flags, rest @ ..] = *bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            stream: u32::from_be_bytes(rest) & 0x7fff_ffff,
        }
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends a frame's header.
#[inline]
pub(super) fn put_header(length: usize, kind: u8, flags: u8, stream: u32, out: &mut Vec<u8>) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    let [d, e, f, g] = stream.to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags, d, e, f, g]);
}

/// Sets length and flags in the header of a frame.
pub(super) fn set_length(header: &mut [u8], length: usize, flags: u8) {
    let [_, length @ ..] = (length as u32).to_be_bytes();
    header[..3].copy_from_slice(&length);
    header[4] = flags;
}

/// Appends a frame that has one number as its payload.
pub(super) fn put_number(kind: u8, stream: u32, number: u32, out: &mut Vec<u8>) {
    put_header(4, kind, 0, stream, out);
    out.extend_from_slice(&number.to_be_bytes());
}

/// Appends a setting.
pub(super) fn put_setting(setting: u16, value: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(&setting.to_be_bytes());
    out.extend_from_slice(&value.to_be_bytes());
}

/// The number at the front of a payload.
pub(super) fn number(payload: &[u8]) -> Option<u32> {
    payload
        .first_chunk()
        .map(|bytes| u32::from_be_bytes(*bytes))
}

/// An error code's name.
pub(super) fn error_name(code: u32) -> &'static str {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    NAMES.get(code as usize).unwrap_or(&"an unknown error")
}
