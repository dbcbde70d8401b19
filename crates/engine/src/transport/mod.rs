//! How bytes travel. A transport knows connections by their slot and hands over what came *with
//! the time at which it came*: when it was read, or when the kernel had it.

pub(crate) mod datagrams;
mod endpoints;
mod epoll;
mod socket;
mod stamp;
mod udp;
mod uring;

pub(crate) use endpoints::{Endpoints, try_source};
pub(crate) use epoll::Epoll;
pub(crate) use udp::{Udp, unfragmented};
pub(crate) use uring::Uring;

use crate::clock::Nanos;
use std::io;
use std::net::SocketAddr;

/// One of a worker's connections, 0-based.
pub(crate) type Slot = u32;

/// Moment that [`Handler::received`] gets as the time of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Came {
    /// When the bytes were read: a closed loop sends the next request then, and has no other use for the
    /// time.
    Read,
    /// When the kernel had them, over TCP: in an open loop a generator that is late itself does not make
    /// answers late.
    Stamped,
}

/// How long [`Transport::poll`] may wait for something to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wait {
    /// Not at all.
    No,
    /// Nanoseconds.
    For(Nanos),
    /// About [`TICK`]. Cheaper than [`For`](Self::For): a timer that runs anyway ends the wait, so
    /// that none has to be set and taken back for each.
    Tick,
}

/// Period of the timer behind [`Wait::Tick`].
pub(crate) const TICK: Nanos = 10_000_000;

/// The sending half: what a [`Handler`] may do while it is being told what came.
pub(crate) trait Outgoing {
    /// Sets where the next connection that is begun goes to.
    ///
    /// # Errors
    /// When the transport goes to one place only.
    fn aim(&mut self, _address: SocketAddr) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

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

    /// Addresses of both ends of a slot's connection, this side's first; None where it is not TCP.
    fn addresses(&self, _slot: Slot) -> Option<(SocketAddr, SocketAddr)> {
        None
    }

    /// Segments of a slot's connection that either side has sent again, as far as this side sees it; 0 where that is not
    /// known.
    fn lost_segments(&self, _slot: Slot) -> u64 {
        0
    }

    /// Datagrams for a slot's socket that the kernel has dropped, because those before had not been read.
    fn dropped_datagrams(&self, _slot: Slot) -> u64 {
        0
    }

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

/// Receiver of a transport's events.
pub(crate) trait Handler<O> {
    /// A connection is there, or could not be made (its slot is then closed).
    fn opened(&mut self, out: &mut O, slot: Slot, result: io::Result<()>, at: Nanos);

    /// Bytes came (never none).
    fn received(&mut self, out: &mut O, slot: Slot, bytes: &[u8], at: Nanos);

    /// The server has closed its side (`None`), or the connection broke. The slot is still open
    /// on our side: the handler closes it.
    fn ended(&mut self, out: &mut O, slot: Slot, error: Option<io::Error>, at: Nanos);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::target::Target;
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    const MS: Nanos = 1_000_000;

    #[derive(Default)]
    struct HandlerLog {
        opened: bool,
        bytes: Vec<u8>,
        at: Nanos,
        ended: bool,
    }

    impl<O> Handler<O> for HandlerLog {
        fn opened(&mut self, _: &mut O, _: Slot, result: io::Result<()>, _: Nanos) {
            result.unwrap();
            self.opened = true;
        }

        fn received(&mut self, _: &mut O, _: Slot, bytes: &[u8], at: Nanos) {
            assert!(!bytes.is_empty());
            self.bytes.extend(bytes);
            self.at = at;
        }

        fn ended(&mut self, _: &mut O, _: Slot, error: Option<io::Error>, _: Nanos) {
            assert!(error.is_none(), "{error:?}");
            self.ended = true;
        }
    }

    fn until<T: Transport>(
        transport: &mut T,
        heard: &mut HandlerLog,
        holds: fn(&HandlerLog) -> bool,
    ) {
        let patience = clock::now() + 10 * clock::SECOND;
        while !holds(heard) {
            assert!(clock::now() < patience);
            transport.poll(Wait::Tick, heard).unwrap();
        }
    }

    /// How long before the reading bytes came that were read 50 ms after they were sent, in nanoseconds.
    fn age<T: Transport>(listener: &TcpListener, mut transport: T) -> Nanos {
        let mut heard = HandlerLog::default();
        transport.out().open(0).unwrap();
        until(&mut transport, &mut heard, |heard| heard.opened);
        let mut peer = listener.accept().unwrap().0;
        // The kernel begins to take the time a moment after it was first asked to.
        std::thread::sleep(Duration::from_millis(20));
        peer.write_all(b"hello").unwrap();
        std::thread::sleep(Duration::from_millis(50));
        let now = clock::now();
        until(&mut transport, &mut heard, |heard| heard.bytes.len() == 5);
        assert_eq!(heard.bytes, b"hello");
        let first = heard.at;
        peer.write_all(&[b'x'; 100_000]).unwrap();
        until(&mut transport, &mut heard, |heard| {
            heard.bytes.len() == 100_005
        });
        drop(peer);
        let at = heard.at;
        until(&mut transport, &mut heard, |heard| heard.ended);
        assert_eq!(heard.at, at, "an end is no answer");
        now.saturating_sub(first)
    }

    #[test]
    fn what_is_read_late_came_in_time_if_that_is_asked() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(listener.local_addr().unwrap());
        let ends = Endpoints::to(&target);
        for came in [Came::Read, Came::Stamped] {
            let epoll = Epoll::new(&ends, 1, came).unwrap();
            let mut ages = vec![age(&listener, epoll)];
            if crate::available(prony_record::Transport::IoUring) {
                for lasting in [false, true] {
                    let uring = Uring::new(&ends, 1, lasting, came).unwrap();
                    ages.push(age(&listener, uring));
                }
            }
            for age in ages {
                // It slept 50 ms, and one clock may be slewed against the other.
                assert_eq!(age >= 45 * MS, came == Came::Stamped, "{came:?}: {age}");
            }
        }
    }
}
