//! How datagrams stand in what a session hands to a transport, and a transport to a session: both know bytes only, and of
//! datagrams the ends matter, and the marks of explicit congestion notification (RFC 3168).
//!
//! The kernel takes, and gives, several datagrams of one length at once: all but the last have it.

use super::Slot;

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

/// Length of the IDs of this side's connections, in bytes.
pub(crate) const ID: usize = 8;

/// The ID of a connection of QUIC that tells its slot. `nth` is another number for each ID.
pub(crate) fn id(slot: Slot, nth: u32) -> [u8; ID] {
    let ([a, b, c, d], [e, f, g, h]) = (slot.to_be_bytes(), nth.to_be_bytes());
    [a, b, c, d, e, f, g, h]
}

/// The slot of the connection to which a datagram of QUIC is addressed (RFC 8999, 5), if this side made the address.
pub(crate) fn slot(datagram: &[u8]) -> Option<Slot> {
    let (&first, rest) = datagram.split_first()?;
    let id = match first & 0x80 {
        0 => rest.first_chunk::<ID>(),
        _ => {
            let (_version, rest) = rest.split_first_chunk::<4>()?;
            let (&length, rest) = rest.split_first()?;
            rest.first_chunk::<ID>()
                .filter(|_| usize::from(length) == ID)
        }
    };
    let (slot, _) = id?.split_first_chunk::<4>()?;
    Some(Slot::from_be_bytes(*slot))
}

/// The number of bytes of all datagrams.
pub(crate) fn payload(mut bytes: &[u8]) -> u64 {
    let mut all = 0;
    while let Some(run) = next(&mut bytes) {
        all += run.bytes.len() as u64;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_say_to_which_slot_they_go() {
        let id = id(70_000, 3);
        let short = [&[0x40][..], &id, b"rest"].concat();
        assert_eq!(slot(&short), Some(70_000));
        let long = [&[0xc0, 0, 0, 0, 1, 8][..], &id, &[0], b"rest"].concat();
        assert_eq!(slot(&long), Some(70_000));
        let other = [&[0xc0, 0, 0, 0, 1, 7][..], &id].concat();
        for none in [&other[..], &short[..8], &long[..13], &[], &[0xc0]] {
            assert_eq!(slot(none), None, "{none:?}");
        }
    }
}
