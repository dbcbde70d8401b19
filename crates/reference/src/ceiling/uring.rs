//! Completion: one thread, one io_uring.
//!
//! A turn of the loop is one `io_uring_enter`: it submits the sends of the turn before and waits for
//! at least one completion. One multishot accept and one multishot receive per connection stay
//! armed, so that reading costs no submission. Received bytes are copied out of the shared buffers,
//! which go straight back to the kernel: a peer that does not read cannot starve the others.

use std::collections::VecDeque;
use std::io;
use std::mem::ManuallyDrop;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use io_uring::squeue::Entry;
use io_uring::{IoUring, SubmissionQueue, Submitter, cqueue, opcode, types};

use super::outgoing::Outgoing;
use crate::session::{Session, Then};
use crate::slab::{Key, Slab};
use crate::sys::{self, Buffers};
use crate::work::Work;
use crate::{Date, Error};

/// Submissions that fit into one turn; more are submitted in between.
const SUBMISSIONS: u32 = 1024;
/// Completions that fit before the kernel has to set some aside.
const COMPLETIONS: u32 = 8192;
/// The receive buffers' group, the only one.
const GROUP: u16 = 0;
/// Receive buffers. If one turn needs more, the receives left without are armed again.
const BUFFERS: u16 = 512;
/// Most bytes of one receive.
const BUFFER: u32 = 16 * 1024;
/// Stop receiving while a connection has this much to send. Receives completed before the kernel
/// sees the cancellation can exceed it by as much as all [`BUFFERS`] hold.
const MOST_UNSENT: usize = 256 * 1024;

/// Kind of operation that a completion belongs to: the top 8 bits of its user data, above the [`Key`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpKind {
    Accept = 0,
    Receive = 1,
    Send = 2,
    Cancel = 3,
}

impl OpKind {
    fn user_data(self, key: Key) -> u64 {
        (self as u64) << 56 | key.to_bits()
    }

    fn of(user_data: u64) -> Self {
        match user_data >> 56 {
            0 => Self::Accept,
            1 => Self::Receive,
            2 => Self::Send,
            _ => Self::Cancel,
        }
    }
}

pub(super) fn serve<S: Session>(
    listener: &TcpListener,
    work: Work,
    setup: &S::Setup,
) -> Result<(), Error> {
    let mut ring = create()?;
    let buffers =
        Buffers::register(&ring, GROUP, BUFFERS, BUFFER).map_err(|source| Error::Unsupported {
            feature: "provided buffer rings",
            source,
        })?;
    // Never dropped: should this function fail, the kernel may still be sending from connections.
    let mut worker = ManuallyDrop::new(UringWorker::<S> {
        listener,
        setup,
        accepting: false,
        connections: Slab::new(),
        starved: VecDeque::new(),
        buffers,
        date: Date::now(),
        work,
        scratch: Vec::new(),
    });
    let (submitter, submissions, mut completions) = ring.split();
    let mut queue = UringQueue {
        submitter,
        submissions,
    };
    worker.keep_accepting(&mut queue)?;
    loop {
        queue.submit(1)?;
        if S::DATED {
            worker.date.refresh();
        }
        completions.sync();
        for completion in &mut completions {
            worker.complete(&completion, &mut queue)?;
        }
        completions.sync();
        worker.feed_starved(&mut queue)?;
    }
}

/// The ring with the cheapest completion delivery that the kernel has: run when we ask for it (Linux
/// 6.1), else without interrupting us (5.19), else as ever.
fn create() -> Result<IoUring, Error> {
    let mut builders = [IoUring::builder(), IoUring::builder(), IoUring::builder()];
    builders[0]
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun();
    builders[1].setup_coop_taskrun();
    let mut result = Err(io::ErrorKind::InvalidInput.into());
    for builder in &mut builders {
        result = builder.setup_cqsize(COMPLETIONS).build(SUBMISSIONS);
        match &result {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            _ => break,
        }
    }
    result.map_err(|source| Error::Unsupported {
        feature: "io_uring",
        source,
    })
}

/// The way into the kernel.
struct UringQueue<'a> {
    submitter: Submitter<'a>,
    submissions: SubmissionQueue<'a>,
}

impl UringQueue<'_> {
    /// # Safety
    ///
    /// Memory that the entry points to must stay as it is until its completion.
    unsafe fn push(&mut self, entry: &Entry) -> Result<(), Error> {
        // SAFETY: this function's contract is that of `SubmissionQueue::push`.
        while unsafe { self.submissions.push(entry) }.is_err() {
            self.submit(0)?;
        }
        Ok(())
    }

    /// Submits everything pushed and waits for `want` completions.
    fn submit(&mut self, want: usize) -> Result<(), Error> {
        self.submissions.sync();
        let result = self.submitter.submit_and_wait(want);
        self.submissions.sync();
        match result.map_err(|error| (error.raw_os_error(), error)) {
            // Interrupted, or completions wait to be taken: the next turn does the rest.
            Ok(_) | Err((Some(libc::EINTR | libc::EBUSY | libc::EAGAIN), _)) => Ok(()),
            Err((_, error)) => Err(Error::system("io_uring_enter")(error)),
        }
    }
}

struct UringWorker<'a, S: Session> {
    listener: &'a TcpListener,
    setup: &'a S::Setup,
    /// Whether the multishot accept is armed: not while no descriptor is left.
    accepting: bool,
    connections: Slab<UringConnection<S>>,
    /// Connections whose receive ended for want of a buffer.
    starved: VecDeque<Key>,
    buffers: Buffers,
    date: Date,
    work: Work,
    scratch: Vec<u8>,
}

struct UringConnection<S> {
    stream: TcpStream,
    session: S,
    outgoing: Outgoing,
    /// Whether the multishot receive is armed.
    receiving: bool,
    /// Whether it has been told to stop until less is unsent.
    stopping: bool,
    /// Whether the connection stays open once everything is sent.
    then: Then,
    /// Whether what comes is thrown away.
    lingering: bool,
    /// Whether the peer has closed its side or is gone.
    ended: bool,
}

impl<S: Session> UringWorker<'_, S> {
    /// Sees that the multishot accept is armed.
    fn keep_accepting(&mut self, queue: &mut UringQueue<'_>) -> Result<(), Error> {
        if self.accepting {
            return Ok(());
        }
        self.accepting = true;
        let listener = types::Fd(self.listener.as_raw_fd());
        let entry = opcode::AcceptMulti::new(listener)
            .flags(libc::SOCK_CLOEXEC)
            .build()
            .user_data((OpKind::Accept as u64) << 56);
        // SAFETY: a multishot accept points to no memory.
        unsafe { queue.push(&entry) }
    }

    fn complete(
        &mut self,
        completion: &cqueue::Entry,
        queue: &mut UringQueue<'_>,
    ) -> Result<(), Error> {
        let key = Key::from_bits(completion.user_data());
        match OpKind::of(completion.user_data()) {
            OpKind::Accept => self.accepted(completion, queue),
            OpKind::Receive => self.received(key, completion, queue),
            OpKind::Send => self.sent(key, completion.result(), queue),
            OpKind::Cancel => Ok(()), // the receive itself tells how it ended
        }
    }

    fn accepted(
        &mut self,
        completion: &cqueue::Entry,
        queue: &mut UringQueue<'_>,
    ) -> Result<(), Error> {
        if !cqueue::more(completion.flags()) {
            self.accepting = false;
        }
        if completion.result() < 0 {
            let error = io::Error::from_raw_os_error(-completion.result());
            if sys::listener_is_broken(&error)
                || (sys::out_of_descriptors(&error) && self.connections.is_empty())
            {
                return Err(Error::system("accept")(error));
            }
            // Without a descriptor there is no use in trying before a connection has ended.
            if sys::out_of_descriptors(&error) {
                return Ok(());
            }
        } else {
            // SAFETY: the kernel has just opened this descriptor, so this is its only owner.
            let fd = unsafe { OwnedFd::from_raw_fd(completion.result()) };
            let key = self.connections.insert(UringConnection {
                stream: fd.into(),
                session: S::new(self.setup),
                outgoing: Outgoing::default(),
                receiving: false,
                stopping: false,
                then: Then::Keep,
                lingering: false,
                ended: false,
            });
            self.settle(key, queue)?;
        }
        self.keep_accepting(queue)
    }

    fn received(
        &mut self,
        key: Key,
        completion: &cqueue::Entry,
        queue: &mut UringQueue<'_>,
    ) -> Result<(), Error> {
        let result = completion.result();
        let buffer = cqueue::buffer_select(completion.flags());
        if let Some(connection) = self.connections.get_mut(key) {
            if !cqueue::more(completion.flags()) {
                connection.receiving = false;
                connection.stopping = false;
            }
            match (result, buffer) {
                (1.., Some(id)) if connection.then == Then::Keep && !connection.ended => {
                    // SAFETY: this completion names the buffer and its length; it is given back
                    // only below.
                    let input = unsafe { self.buffers.bytes(id, result as u32) };
                    let session = &mut connection.session;
                    let reply = session.receive(input, &self.date, &mut self.scratch);
                    self.work.perform(reply.requests);
                    connection.outgoing.push(reply.bytes);
                    connection.then = reply.then;
                }
                (1.., _) => {} // nothing is answered any more
                (0, _) => connection.ended = true,
                _ if result == -libc::EINVAL => {
                    return Err(Error::Unsupported {
                        feature: "multishot receive",
                        source: io::Error::from_raw_os_error(libc::EINVAL),
                    });
                }
                _ if result == -libc::ENOBUFS => self.starved.push_back(key),
                _ if result == -libc::ECANCELED || result == -libc::EINTR => {}
                _ => {
                    connection.ended = true;
                    connection.then = Then::Close;
                }
            }
        }
        if let Some(id) = buffer {
            // SAFETY: this completion has made the buffer ours, and `input` is gone.
            unsafe { self.buffers.give_back(id) };
        }
        if result == -libc::ENOBUFS {
            Ok(())
        } else {
            self.settle(key, queue)
        }
    }

    fn sent(&mut self, key: Key, result: i32, queue: &mut UringQueue<'_>) -> Result<(), Error> {
        if let Some(connection) = self.connections.get_mut(key) {
            match usize::try_from(result) {
                Ok(count) => connection.outgoing.finish(count),
                Err(_) if result == -libc::EINTR || result == -libc::EAGAIN => {
                    connection.outgoing.finish(0);
                }
                Err(_) => {
                    connection.outgoing.fail();
                    connection.then = Then::Close;
                }
            }
        }
        self.settle(key, queue)
    }

    /// Arms the receives that found no buffer. By now this turn's buffers are all given back.
    fn feed_starved(&mut self, queue: &mut UringQueue<'_>) -> Result<(), Error> {
        while let Some(key) = self.starved.pop_front() {
            self.settle(key, queue)?;
        }
        Ok(())
    }

    /// Starts whatever a connection's state asks for next.
    fn settle(&mut self, key: Key, queue: &mut UringQueue<'_>) -> Result<(), Error> {
        let Some(connection) = self.connections.get_mut(key) else {
            return Ok(());
        };
        connection.send(key, queue)?;
        if connection.is_drained() && connection.wants_to_end() {
            let hears_the_peer_out = connection.then == Then::Linger && !connection.ended;
            if !connection.receiving && !hears_the_peer_out {
                self.connections.remove(key);
                return self.keep_accepting(queue);
            }
            connection.say_goodbye();
        }
        connection.receive(key, queue)
    }
}

impl<S> UringConnection<S> {
    fn is_drained(&self) -> bool {
        self.outgoing.len() == 0 && !self.outgoing.is_in_flight()
    }

    fn wants_to_end(&self) -> bool {
        self.ended || self.then != Then::Keep
    }

    fn send(&mut self, key: Key, queue: &mut UringQueue<'_>) -> Result<(), Error> {
        let Some(bytes) = self.outgoing.start() else {
            return Ok(());
        };
        let stream = types::Fd(self.stream.as_raw_fd());
        // The kernel goes on by itself after a partial send: MSG_WAITALL.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let entry = opcode::Send::new(stream, bytes.as_ptr(), length)
            .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL)
            .build()
            .user_data(OpKind::Send.user_data(key));
        // SAFETY: `Outgoing` keeps the bytes until `finish` or `fail`, which this send's completion
        // calls; until then the connection is not removed, and the worker is never dropped.
        unsafe { queue.push(&entry) }
    }

    /// Everything is sent, but the receive has not ended: closes the side that is done with, so
    /// that it ends, by itself or with the peer.
    fn say_goodbye(&mut self) {
        if self.lingering {
            return;
        }
        self.lingering = true;
        let side = match self.then {
            Then::Linger => Shutdown::Write,
            Then::Keep | Then::Close => Shutdown::Both,
        };
        // A failure means that the peer is gone already, and the receive ends with that.
        let _ = self.stream.shutdown(side);
    }

    /// Keeps the receive armed unless too much is unsent.
    fn receive(&mut self, key: Key, queue: &mut UringQueue<'_>) -> Result<(), Error> {
        let user_data = OpKind::Receive.user_data(key);
        let is_full = self.outgoing.len() > MOST_UNSENT;
        if !self.receiving && !self.ended && !is_full {
            self.receiving = true;
            let stream = types::Fd(self.stream.as_raw_fd());
            let entry = opcode::RecvMulti::new(stream, GROUP)
                .build()
                .user_data(user_data);
            // SAFETY: points to no memory; the buffers come from the ring, which is never freed.
            unsafe { queue.push(&entry) }
        } else if self.receiving && is_full && !self.stopping {
            self.stopping = true;
            let entry = opcode::AsyncCancel::new(user_data)
                .build()
                .user_data(OpKind::Cancel.user_data(key));
            // SAFETY: points to no memory.
            unsafe { queue.push(&entry) }
        } else {
            Ok(())
        }
    }
}
