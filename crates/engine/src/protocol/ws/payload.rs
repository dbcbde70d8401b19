//! Payloads of messages: they never repeat, and are made and compared without being kept.
//!
//! A payload is a stream of 64-bit words, each a function of the message's seed and the word's place, so that any part
//! of it can be compared with what comes back, and a message in flight takes no memory but its number. The function is
//! that of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014): no cryptography, but
//! a server that does not send back what it was sent will not hit it.

use crate::protocol::Difference;

/// The generator's increment, 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
/// Bytes beyond a difference that its excerpt may show.
const BEYOND: u64 = 32;

/// A bijection in which every bit of the input changes half of the output's.
#[inline]
fn mix(mut it: u64) -> u64 {
    it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    it ^ (it >> 31)
}

/// The payload of one message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Payload {
    seed: u64,
    text: bool,
    /// Length of the payload, in bytes.
    pub(super) size: u64,
}

impl Payload {
    /// Payload of the message `nth` of the connection whose messages `base` decides.
    #[inline]
    pub(super) fn new(base: u64, nth: u64, text: bool, size: u32) -> Self {
        Self {
            seed: mix(base.wrapping_add(nth.wrapping_mul(GAMMA))),
            text,
            size: size.into(),
        }
    }

    /// Eight of its bytes, in the order of a little-endian number. Those of text are the 64 ASCII characters from `0`
    /// to `o`.
    #[inline]
    fn word(self, nth: u64) -> u64 {
        let word = mix(self.seed.wrapping_add(nth.wrapping_mul(GAMMA)));
        match self.text {
            false => word,
            true => (word & 0x3f3f_3f3f_3f3f_3f3f) + 0x3030_3030_3030_3030,
        }
    }

    /// Appends the first `length` bytes, masked; a mask of zeros leaves them as they are.
    #[inline]
    pub(super) fn put(self, length: u64, mask: [u8; 4], out: &mut Vec<u8>) {
        let mask = u64::from(u32::from_le_bytes(mask));
        let mask = mask | mask << 32;
        let start = out.len();
        out.resize(start + length as usize, 0);
        let mut words = out[start..].chunks_exact_mut(8);
        let mut nth = 0;
        for chunk in &mut words {
            chunk.copy_from_slice(&(self.word(nth) ^ mask).to_le_bytes());
            nth += 1;
        }
        let rest = words.into_remainder();
        let n = rest.len();
        rest.copy_from_slice(&(self.word(nth) ^ mask).to_le_bytes()[..n]);
    }

    /// Are these its bytes from `at` on? What lies beyond its end is not looked at.
    #[inline]
    pub(super) fn matches_at(self, at: u64, bytes: &[u8]) -> bool {
        let known = self.size.saturating_sub(at).min(bytes.len() as u64);
        let mut bytes = &bytes[..known as usize];
        let mut nth = at / 8;
        let skipped = (at % 8) as usize;
        if skipped > 0 {
            let n = bytes.len().min(8 - skipped);
            let (first, rest) = bytes.split_at(n);
            if first != &self.word(nth).to_le_bytes()[skipped..skipped + n] {
                return false;
            }
            (bytes, nth) = (rest, nth + 1);
        }
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            if u64::from_le_bytes(*word) != self.word(nth) {
                return false;
            }
            nth += 1;
        }
        rest == &self.word(nth).to_le_bytes()[..rest.len()]
    }

    /// Where these bytes, from `at` on, are not its own; `None` if they are.
    #[cold]
    pub(super) fn difference_at(self, at: u64, bytes: &[u8]) -> Option<Box<Difference>> {
        let wrong = |&n: &usize| !self.matches_at(at + n as u64, &bytes[n..=n]);
        let n = (0..bytes.len()).find(wrong)?;
        Some(self.difference(at + n as u64, &bytes[n..]))
    }

    /// At byte `at`, `found` came instead.
    #[cold]
    pub(super) fn difference(self, at: u64, found: &[u8]) -> Box<Difference> {
        let mut expected = Vec::new();
        self.put(self.size.min(at + BEYOND), [0; 4], &mut expected);
        Box::new(Difference::new(&expected, at as usize, found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn bytes(of: Payload) -> Vec<u8> {
        let mut out = Vec::new();
        of.put(of.size, [0; 4], &mut out);
        out
    }

    proptest! {
        #[test]
        fn any_part_is_recognised_and_any_wrong_byte_found(
            seed in any::<u64>(),
            text in any::<bool>(),
            size in 1u32..100,
            part in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            wrong in any::<prop::sample::Index>(),
            flip in 1u8..=255,
        ) {
            let it = Payload::new(seed, 3, text, size);
            let mut all = bytes(it);
            let from = part.0.index(size as usize);
            let until = from + 1 + part.1.index(size as usize - from);
            prop_assert!(it.matches_at(from as u64, &all[from..until]));
            prop_assert_eq!(it.difference_at(from as u64, &all[from..until]), None);
            let at = from + wrong.index(until - from);
            all[at] ^= flip;
            prop_assert!(!it.matches_at(from as u64, &all[from..until]));
            let told = it.difference_at(from as u64, &all[from..until]).unwrap().to_string();
            let place = format!("(byte {})", at + 1);
            prop_assert!(told.ends_with(&place), "{}", told);
        }

        #[test]
        fn a_mask_is_taken_off_by_itself(mask in any::<[u8; 4]>(), size in 0u32..40) {
            let it = Payload::new(1, 2, false, size);
            let mut out = b"before".to_vec();
            it.put(it.size, mask, &mut out);
            let key = mask.iter().cycle();
            let plain: Vec<u8> = out[6..].iter().zip(key).map(|(byte, key)| byte ^ key).collect();
            prop_assert_eq!(plain, bytes(it));
        }
    }

    #[test]
    fn what_lies_beyond_the_end_is_not_looked_at() {
        let it = Payload::new(7, 0, false, 5);
        let all = [bytes(it), b"more".to_vec()].concat();
        assert!(it.matches_at(0, &all) && it.matches_at(5, b"x") && it.matches_at(900, b"x"));
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn no_two_messages_are_alike_and_text_is_text() {
        let mut seen = HashSet::new();
        for base in 0..10 {
            for nth in 0..1000 {
                assert!(seen.insert(bytes(Payload::new(mix(base), nth, false, 16))));
            }
        }
        let text = bytes(Payload::new(9, 9, true, 4096));
        assert!(text.iter().all(|byte| (b'0'..=b'o').contains(byte)));
        let kinds: HashSet<u8> = text.into_iter().collect();
        assert_eq!(kinds.len(), 64);
    }
}
