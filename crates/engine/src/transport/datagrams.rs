//! How datagrams stand in what a session hands to a transport, and a transport to a session: both know bytes only, and of
//! datagrams the ends matter, and the marks of explicit congestion notification (RFC 3168).
//!
//! The kernel takes, and gives, several datagrams of one length at once: all but the last have it.

/// Bytes before the datagrams: their common length, their mark, and how many bytes they have together.
pub(crate) const HEADER: usize = 8;
/// The two bits of a mark in an IP header.
pub(crate) const MARK: u8 = 0b11;
/// Congestion was experienced on the way.
pub(crate) const CONGESTED: u8 = 0b11;

/// Datagrams of one length, but for the last, which may be shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run<'a> {
    /// Length of each, in bytes; at least 1.
    pub(crate) segment: usize,
    /// The bits of congestion notification.
    pub(crate) mark: u8,
    pub(crate) bytes: &'a [u8],
}

impl Run<'_> {
    /// The header in front of them.
    pub(crate) fn header(&self) -> [u8; HEADER] {
        let [a, b] = (self.segment as u16).to_ne_bytes();
        let [e, f, g, h] = (self.bytes.len() as u32).to_ne_bytes();
        [a, b, self.mark, 0, e, f, g, h]
    }

    /// Appends them with their header.
    pub(crate) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header());
        out.extend_from_slice(self.bytes);
    }
}

/// Takes the next datagrams from the front. None: there are no more.
pub(crate) fn next<'a>(bytes: &mut &'a [u8]) -> Option<Run<'a>> {
    let (&[a, b, mark, _, e, f, g, h], rest) = bytes.split_first_chunk::<HEADER>()?;
    let segment = usize::from(u16::from_ne_bytes([a, b]));
    let length = u32::from_ne_bytes([e, f, g, h]) as usize;
    let (datagrams, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some(Run {
        segment: segment.max(1),
        mark,
        bytes: datagrams,
    })
}

/// The number of bytes of all datagrams.
pub(crate) fn payload(mut bytes: &[u8]) -> u64 {
    let mut all = 0;
    while let Some(run) = next(&mut bytes) {
        all += run.bytes.len() as u64;
    }
    all
}
