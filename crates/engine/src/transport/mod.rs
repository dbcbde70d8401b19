//! How bytes travel. A transport knows connections by their slot and hands over what came *with
//! the time at which it came*, so that one whose time stamps come from the kernel fits in.

mod epoll;
mod socket;
mod uring;

pub(crate) use epoll::Epoll;
pub(crate) use uring::Uring;

use crate::clock::Nanos;
use std::io;

/// One of a worker's connections, 0-based.
pub(crate) type Slot = u32;

/// How long [`Transport::poll`] may wait for something to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// So many nanoseconds.
    For(Nanos),
    /// About [`TICK`]. Cheaper than [`For`](Self::For): a timer that runs anyway ends the wait, so
    /// that none has to be set and taken back for each.
    Tick,
}

/// Period of the timer behind [`Wait::Tick`].
pub(crate) const TICK: Nanos = 10_000_000;

/// The sending half: what a [`Handler`] may do while it is being told what came.
pub(crate) trait Outgoing {
    /// Begins to connect a slot that is not connected; [`Handler::opened`] tells how it ended.
    ///
    /// # Errors
    /// When not even a socket could be had, or the connection was refused at once. The slot is
    /// then as before.
    fn open(&mut self, slot: Slot) -> io::Result<()>;

    /// Sends all of `bytes`, keeping what the kernel does not take yet.
    ///
    /// # Errors
    /// When the connection is broken. It stays open until it is closed.
    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<()>;

    /// Closes a slot. Nothing is reported for it any more until it is opened again.
    fn close(&mut self, slot: Slot);
}

/// A way to move bytes for all connections of one worker.
pub(crate) trait Transport {
    /// The sending half.
    type Out: Outgoing;

    /// The sending half, between polls.
    fn out(&mut self) -> &mut Self::Out;

    /// Waits until something happens, but no longer than `wait`, and reports it. Gives the number
    /// of things that happened.
    ///
    /// # Errors
    /// Only when the transport itself cannot go on.
    fn poll<H: Handler<Self::Out>>(&mut self, wait: Wait, handler: &mut H) -> io::Result<usize>;
}

/// Who is told what happens.
pub(crate) trait Handler<O> {
    /// A connection is there, or could not be made (its slot is then closed).
    fn opened(&mut self, out: &mut O, slot: Slot, result: io::Result<()>, at: Nanos);

    /// Bytes came (never none).
    fn received(&mut self, out: &mut O, slot: Slot, bytes: &[u8], at: Nanos);

    /// The server has closed its side (`None`), or the connection broke. The slot is still open
    /// on our side: the handler closes it.
    fn ended(&mut self, out: &mut O, slot: Slot, error: Option<io::Error>, at: Nanos);
}
