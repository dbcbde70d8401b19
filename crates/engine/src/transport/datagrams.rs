//! How datagrams stand in what a session hands to a transport, and a transport to a session: both know bytes only, and of
//! datagrams the ends matter.
//!
//! The kernel takes, and gives, several datagrams of one length at once: all but the last have it.

/// Bytes before the datagrams: their common length, and how many bytes they have together.
pub(crate) const HEADER: usize = 8;

/// Writes the header of `bytes` datagrams' bytes, each `segment` long but the last.
pub(crate) fn header(segment: usize, bytes: usize) -> [u8; HEADER] {
    let [a, b, c, d] = (segment as u32).to_ne_bytes();
    let [e, f, g, h] = (bytes as u32).to_ne_bytes();
    [a, b, c, d, e, f, g, h]
}

/// Takes the next run of datagrams of one length from the front: that length, and their bytes. None: there is no more.
pub(crate) fn next<'a>(bytes: &mut &'a [u8]) -> Option<(usize, &'a [u8])> {
    let (header, rest) = bytes.split_first_chunk::<HEADER>()?;
    let number = |at: usize| {
        header[at..]
            .first_chunk()
            .map(|number| u32::from_ne_bytes(*number) as usize)
    };
    let (segment, length) = (number(0)?, number(4)?);
    let (datagrams, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some((segment.max(1), datagrams))
}

/// The number of bytes of all datagrams.
pub(crate) fn payload(mut bytes: &[u8]) -> u64 {
    let mut all = 0;
    while let Some((_, datagrams)) = next(&mut bytes) {
        all += datagrams.len() as u64;
    }
    all
}
