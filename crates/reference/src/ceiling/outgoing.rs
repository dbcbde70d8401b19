//! Unsent bytes of a connection, while the kernel reads from the front of them.

/// Two buffers: one that the kernel is sending from, which therefore must stay as it is, and one
/// that collects what comes meanwhile. They change places when the first is sent.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    sending: Vec<u8>,
    sent: usize,
    in_flight: bool,
    queued: Vec<u8>,
}

/// A buffer larger than this is freed once it is sent: a thousand idle connections should not each
/// keep what one large message needed.
const KEPT_CAPACITY: usize = 64 * 1024;

impl Outgoing {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.queued.extend_from_slice(bytes);
    }

    /// Bytes not known to be sent.
    pub(super) fn len(&self) -> usize {
        self.sending.len() - self.sent + self.queued.len()
    }

    pub(super) fn is_in_flight(&self) -> bool {
        self.in_flight
    }

    /// The bytes to send next, if there are any and none are in flight. They stay where they are,
    /// unchanged, until [`Self::finish`], even if this value moves.
    pub(super) fn start(&mut self) -> Option<&[u8]> {
        if self.in_flight {
            return None;
        }
        if self.sent == self.sending.len() {
            self.sent = 0;
            self.sending.clear();
            if self.sending.capacity() > KEPT_CAPACITY {
                self.sending = Vec::new();
            }
            std::mem::swap(&mut self.sending, &mut self.queued);
        }
        self.in_flight = !self.sending.is_empty();
        self.in_flight.then(|| &self.sending[self.sent..])
    }

    /// The kernel has let go of the bytes that [`Self::start`] gave and sent `count` of them.
    pub(super) fn finish(&mut self, count: usize) {
        self.in_flight = false;
        self.sent += count;
    }

    /// The kernel has let go, and the peer is gone.
    pub(super) fn fail(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_order_whatever_the_kernel_takes() {
        let mut outgoing = Outgoing::default();
        outgoing.push(b"abc");
        assert_eq!(outgoing.start(), Some(&b"abc"[..]));
        outgoing.push(b"de");
        assert_eq!(outgoing.start(), None);
        assert_eq!(outgoing.len(), 5);
        outgoing.finish(2);
        assert_eq!(outgoing.start(), Some(&b"c"[..]));
        outgoing.finish(1);
        assert_eq!(outgoing.start(), Some(&b"de"[..]));
        outgoing.finish(2);
        assert_eq!(outgoing.start(), None);
        assert_eq!((outgoing.len(), outgoing.is_in_flight()), (0, false));
    }

    #[test]
    fn bytes_in_flight_do_not_move() {
        let mut outgoing = Outgoing::default();
        outgoing.push(b"abc");
        let address = outgoing.start().unwrap().as_ptr();
        outgoing.push(&[0; 1_000_000]);
        let outgoing = Box::new(outgoing);
        assert_eq!(outgoing.sending.as_ptr(), address);
    }
}
