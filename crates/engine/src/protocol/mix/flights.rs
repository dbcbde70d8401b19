//! The requests in flight on one connection, with what is shown of them when an answer is wrong.

use super::table::Column;

/// Bytes of a request that are shown.
const SHOWN: usize = 256;

/// A request in flight.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Kind of the request, by its place in the mix.
    pub(super) kind: u32,
    /// The answer's body is searched.
    pub(super) search: bool,
    /// If it is searched: what its own values make of what is expected.
    pub(super) own: Column,
    shown: Vec<u8>,
    /// There is more of it.
    cut: bool,
}

impl Flight {
    /// How it begins.
    pub(super) fn shown(&self) -> (&[u8], bool) {
        (&self.shown, self.cut)
    }
}

/// A ring that keeps its memory: it grows to the most requests that were ever in flight at once.
#[derive(Debug, Default)]
pub(super) struct Flights {
    ring: Vec<Flight>,
    first: usize,
    len: usize,
}

impl Flights {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The one that was sent first; there must be one.
    #[inline]
    pub(super) fn oldest(&self) -> &Flight {
        &self.ring[self.first]
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.first = if self.first + 1 == self.ring.len() {
            0
        } else {
            self.first + 1
        };
        self.len -= 1;
    }

    /// Adds a request that was sent.
    #[inline]
    pub(super) fn push(&mut self, kind: u32, search: bool, request: &[u8]) -> &mut Flight {
        if self.len == self.ring.len() {
            self.grow();
        }
        let at = self.first + self.len;
        let at = if at >= self.ring.len() {
            at - self.ring.len()
        } else {
            at
        };
        let flight = &mut self.ring[at];
        (flight.kind, flight.search) = (kind, search);
        flight.cut = request.len() > SHOWN;
        flight.shown.clear();
        flight
            .shown
            .extend_from_slice(&request[..request.len().min(SHOWN)]);
        self.len += 1;
        flight
    }

    #[cold]
    fn grow(&mut self) {
        self.ring.rotate_left(self.first);
        self.first = 0;
        self.ring.push(Flight::default());
    }
}
