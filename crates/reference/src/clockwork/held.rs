//! Replies that wait for their time, one connection's.

use std::collections::VecDeque;

/// Sent bytes are thrown away once there are this many; no more room than this is kept when all are
/// sent.
const COMPACT: usize = 256 * 1024;

/// Bytes in the order in which they leave. A reply is sealed with the time at which it is due; what
/// stands behind the last seal belongs to a reply that is not complete.
#[derive(Debug, Default)]
pub(super) struct Held {
    bytes: Vec<u8>,
    sent: usize,
    released: usize,
    /// Where each reply ends in `bytes`, and when it is due, both ascending.
    seals: VecDeque<Seal>,
}

#[derive(Debug)]
struct Seal {
    end: usize,
    due: u64,
    /// The reply answers a request.
    answers: bool,
}

impl Held {
    /// Where to append bytes.
    pub(super) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Seals the next `count` of the [`Self::unsealed`] bytes as a reply, due at the given time, or
    /// with the reply before it if that is later.
    pub(super) fn seal(&mut self, count: usize, due: u64) {
        self.put(count, due, true);
    }

    /// The same of bytes that answer no request, and are not told of: a handshake, the leave to send a body.
    pub(super) fn seal_aside(&mut self, due: u64) {
        let count = self.unsealed();
        if count > 0 {
            self.put(count, due, false);
        }
    }

    fn put(&mut self, count: usize, due: u64, answers: bool) {
        let (start, earliest) = match self.seals.back() {
            Some(last) => (last.end, last.due),
            None => (self.released, 0),
        };
        self.seals.push_back(Seal {
            end: start + count,
            due: due.max(earliest),
            answers,
        });
    }

    /// How many bytes are appended but not sealed.
    pub(super) fn unsealed(&self) -> usize {
        let sealed = self.seals.back().map_or(self.released, |last| last.end);
        self.bytes.len() - sealed
    }

    /// When the first reply that is not released is due.
    pub(super) fn next_due(&self) -> Option<u64> {
        self.seals.front().map(|seal| seal.due)
    }

    /// Lets go of all replies that are due, and tells how late each is.
    pub(super) fn release(&mut self, now: u64, mut late: impl FnMut(u64)) {
        while let Some(seal) = self.seals.front()
            && seal.due <= now
        {
            if seal.answers {
                late(now - seal.due);
            }
            self.released = seal.end;
            self.seals.pop_front();
        }
    }

    /// The released bytes that are not sent.
    pub(super) fn sendable(&self) -> &[u8] {
        &self.bytes[self.sent..self.released]
    }

    /// The first `count` of the [`Self::sendable`] bytes are sent.
    pub(super) fn advance(&mut self, count: usize) {
        self.sent += count;
        if self.sent == self.bytes.len() && self.bytes.capacity() > COMPACT {
            *self = Self::default();
        } else if self.sent == self.bytes.len() || self.sent >= COMPACT {
            self.bytes.drain(..self.sent);
            self.released -= self.sent;
            for seal in &mut self.seals {
                seal.end -= self.sent;
            }
            self.sent = 0;
        }
    }

    /// Bytes not sent, released or not.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(held: &mut Held, bytes: &[u8], due: u64) {
        held.bytes().extend_from_slice(bytes);
        held.seal(bytes.len(), due);
    }

    #[test]
    fn replies_leave_when_due_and_in_order() {
        let mut held = Held::default();
        hold(&mut held, b"first", 10);
        hold(&mut held, b"second", 5);
        hold(&mut held, b"third", 20);
        held.bytes().extend_from_slice(b"incomplete");
        assert_eq!(held.unsealed(), b"incomplete".len());
        held.release(9, |_| panic!("nothing is due"));
        assert_eq!(held.sendable(), b"");
        let mut late = Vec::new();
        held.release(13, |by| late.push(by));
        assert_eq!(late, [3, 3]);
        assert_eq!(held.sendable(), b"firstsecond");
        assert_eq!(held.next_due(), Some(20));
        held.advance(3);
        assert_eq!(held.sendable(), b"stsecond");
        held.advance(8);
        held.release(u64::MAX, |_| ());
        assert_eq!(held.sendable(), b"third");
        held.advance(5);
        assert_eq!(held.len(), b"incomplete".len());
    }

    #[test]
    fn sent_bytes_are_thrown_away() {
        let mut held = Held::default();
        for due in 0..100 {
            hold(&mut held, &[due as u8; COMPACT], due);
        }
        for due in 0..100 {
            held.release(due, |_| ());
            assert!(held.sendable().iter().all(|&byte| byte == due as u8));
            held.advance(COMPACT);
            assert_eq!(held.bytes.len(), held.len());
        }
    }
}
