//! `io_uring`: receives stay armed (multishot) and take their memory from a ring of buffers that
//! all connections share; sends of a whole turn go to the kernel with the call that waits.

use super::endpoints::{Endpoints, Sockets};
use super::socket;
use super::stamp::{self, Stamps};
use super::{Came, Handler, Outgoing, Slot, TICK, Transport, Wait};
use crate::clock;
use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU16, Ordering};

/// Submissions that fit before the kernel has to be called.
const SUBMISSIONS: u32 = 1024;
/// Completions that fit; more of them wait inside the kernel.
const COMPLETIONS: u32 = 8192;
/// Completions worked on at once.
const BATCH: usize = 256;
/// Buffers for receiving, a power of two: with each the size of a large read, and few enough that
/// the first lines of all of them stay in the cache.
const BUFFERS: u16 = 256;
const BUFFER: usize = 16 << 10;
/// From one buffer to the next: a few cache lines more than the buffer, because what comes lies at
/// the beginning of each, and beginnings a power of two apart would share a few sets of the cache.
const STRIDE: usize = BUFFER + 5 * 64;
/// `IORING_ENTER_GETEVENTS`: run what is pending and collect completions.
const GETEVENTS: u32 = 1;

pub(crate) struct Uring {
    out: Out,
    buffers: BufferRing,
    batch: Vec<cqueue::Entry>,
    /// Boxed, because the kernel reads it when the timer is armed.
    tick: Box<Timespec>,
    stamps: Stamps,
}

pub(crate) struct Out {
    ring: IoUring,
    sockets: Sockets,
    /// Header for receives that bring a time stamp beside the bytes; None where time stamps are not used. Boxed,
    /// because the kernel reads it when a receive is armed.
    beside: Option<Box<libc::msghdr>>,
    slots: Box<[UringConnection]>,
    /// Each slot's socket is registered with the ring under the slot's number.
    registered: bool,
    /// Memory of sends that were under way when their slot was closed.
    orphans: HashMap<u64, Vec<u8>>,
    /// Sockets of closed slots, until all that was submitted for them has reached the kernel:
    /// their numbers, by which the queue names them, must not be given to others before.
    closed: Vec<OwnedFd>,
}

#[derive(Default)]
struct UringConnection {
    fd: Option<OwnedFd>,
    generation: u32,
    /// Being sent: not to be touched until its completion.
    sending: Vec<u8>,
    sent: usize,
    busy: bool,
    /// To be sent after it.
    queued: Vec<u8>,
}

/// Kind of operation that a completion belongs to, in its user data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpKind {
    Connect,
    Receive,
    Send,
    Tick,
}

const KINDS: [OpKind; 4] = [OpKind::Connect, OpKind::Receive, OpKind::Send, OpKind::Tick];

impl Uring {
    /// `lasting`: connections stay open, so that it pays to register each with the ring (the kernel
    /// then need not look its descriptor up for every request).
    ///
    /// # Errors
    /// When the kernel has no `io_uring`, forbids it, or lacks what is used of it (Linux 6.1).
    pub(crate) fn new(
        ends: &Endpoints<'_>,
        connections: u32,
        lasting: bool,
        came: Came,
    ) -> io::Result<Self> {
        let mut builder = IoUring::builder();
        builder
            .setup_cqsize(COMPLETIONS)
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_coop_taskrun()
            .setup_submit_all();
        // Linux 6.6 can do without the array of indexes between us and the submissions.
        let ring = builder
            .clone()
            .setup_no_sqarray()
            .build(SUBMISSIONS)
            .or_else(|_| builder.build(SUBMISSIONS))?;
        // Without registered files everything works, a little slower.
        let registered = lasting && ring.submitter().register_files_sparse(connections).is_ok();
        let buffers = BufferRing::new(&ring)?;
        let mut this = Self {
            out: Out {
                ring,
                sockets: Sockets::new(ends)?,
                beside: (came == Came::Stamped).then(|| Box::new(stamp::template())),
                slots: (0..connections)
                    .map(|_| UringConnection::default())
                    .collect(),
                orphans: HashMap::new(),
                closed: Vec::new(),
                registered,
            },
            buffers,
            batch: Vec::with_capacity(BATCH),
            tick: Box::new(
                Timespec::new()
                    .sec(TICK / clock::SECOND)
                    .nsec((TICK % clock::SECOND) as u32),
            ),
            stamps: Stamps::default(),
        };
        this.arm_ticker();
        Ok(this)
    }

    fn arm_ticker(&mut self) {
        let entry = opcode::Timeout::new(&raw const *self.tick).build();
        self.out.push(entry, OpKind::Tick, 0);
    }

    /// Hands over what is to be submitted and waits.
    #[inline]
    fn enter(&mut self, wait: Wait) -> io::Result<()> {
        let result = match wait {
            // Without GETEVENTS deferred work would not run, and nothing would ever complete.
            Wait::No | Wait::Tick => {
                let pending = self.out.ring.submission().len() as u32;
                let completions = u32::from(wait == Wait::Tick);
                // SAFETY: no argument is passed.
                unsafe {
                    self.out.ring.submitter().enter::<libc::sigset_t>(
                        pending,
                        completions,
                        GETEVENTS,
                        None,
                    )
                }
            }
            Wait::For(nanos) => {
                let limit = Timespec::new()
                    .sec(nanos / clock::SECOND)
                    .nsec((nanos % clock::SECOND) as u32);
                self.out
                    .ring
                    .submitter()
                    .submit_with_args(1, &SubmitArgs::new().timespec(&limit))
            }
        };
        if !self.out.closed.is_empty() && self.out.ring.submission().is_empty() {
            self.out.closed.clear();
        }
        match result {
            Ok(_) => Ok(()),
            Err(error) => match error.raw_os_error() {
                Some(libc::ETIME | libc::EINTR | libc::EBUSY | libc::EAGAIN) => Ok(()),
                _ => Err(error),
            },
        }
    }
}

impl Transport for Uring {
    type Out = Out;

    fn out(&mut self) -> &mut Out {
        &mut self.out
    }

    #[inline]
    fn poll<H: Handler<Out>>(&mut self, wait: Wait, handler: &mut H) -> io::Result<usize> {
        if self.out.ring.completion().is_empty() {
            self.enter(wait)?;
        } else {
            self.enter(Wait::No)?;
        }
        self.batch.clear();
        self.batch.extend(self.out.ring.completion().take(BATCH));
        let count = self.batch.len();
        // Everything in the batch had come by now; a stamp for each would be later, not better.
        let at = clock::now();
        let mut ticked = false;
        for entry in self.batch.drain(..) {
            let (kind, slot, generation) = untag(entry.user_data());
            let connection = &mut self.out.slots[slot as usize];
            let current =
                connection.fd.is_some() && connection.generation & GENERATIONS == generation;
            let result = entry.result();
            match kind {
                OpKind::Tick => ticked = true,
                OpKind::Send => {
                    if !current {
                        self.out.orphans.remove(&entry.user_data());
                    } else if let Err(error) = self.out.sent(slot, result) {
                        handler.ended(&mut self.out, slot, Some(error), at);
                    }
                }
                OpKind::Connect if current => {
                    let result = if result < 0 {
                        self.out.close(slot);
                        Err(io::Error::from_raw_os_error(-result))
                    } else {
                        self.out.receive(slot);
                        Ok(())
                    };
                    handler.opened(&mut self.out, slot, result, at);
                }
                OpKind::Connect => {}
                OpKind::Receive => {
                    let armed = cqueue::more(entry.flags());
                    let mut result = result;
                    if let Some(id) = cqueue::buffer_select(entry.flags()) {
                        if current && result > 0 {
                            let bytes = self.buffers.bytes(id, result as usize);
                            let (bytes, came) = match &self.out.beside {
                                None => (bytes, at),
                                Some(template) => stamp::parse(bytes, template, &mut self.stamps),
                            };
                            // With something beside them, no bytes are not a result of zero.
                            result = bytes.len() as i32;
                            if !bytes.is_empty() {
                                handler.received(&mut self.out, slot, bytes, came);
                            }
                        }
                        self.buffers.give_back(id);
                    }
                    // The handler may have closed the slot, or opened it anew.
                    let connection = &self.out.slots[slot as usize];
                    let current = connection.fd.is_some()
                        && connection.generation & GENERATIONS == generation;
                    if !current {
                        continue;
                    }
                    match result {
                        0 => handler.ended(&mut self.out, slot, None, at),
                        // Out of buffers for a moment: they have been given back by now.
                        _ if result == -libc::ENOBUFS => self.out.receive(slot),
                        ..0 => {
                            let error = io::Error::from_raw_os_error(-result);
                            handler.ended(&mut self.out, slot, Some(error), at);
                        }
                        _ if !armed => self.out.receive(slot),
                        _ => {}
                    }
                }
            }
        }
        if ticked {
            self.arm_ticker();
        }
        Ok(count)
    }
}

impl Outgoing for Out {
    fn aim(&mut self, address: SocketAddr) -> io::Result<()> {
        self.sockets.aim(address)
    }

    fn open(&mut self, slot: Slot) -> io::Result<()> {
        let fd = self.socket()?;
        let raw = fd.as_raw_fd();
        if self.beside.is_some() {
            stamp::ask(&fd);
        }
        if self.registered {
            // What is still to be submitted under this number is meant for the socket before.
            self.submit();
            self.ring.submitter().register_files_update(slot, &[raw])?;
        }
        let connection = &mut self.slots[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.fd = Some(fd);
        let (address, length) = self.sockets.target();
        let entry = opcode::Connect::new(self.file(slot, raw), address, length).build();
        self.push(entry, OpKind::Connect, slot);
        Ok(())
    }

    #[inline]
    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<()> {
        let connection = &mut self.slots[slot as usize];
        if connection.busy {
            connection.queued.extend_from_slice(bytes);
            return Ok(());
        }
        connection.sending.clear();
        connection.sending.extend_from_slice(bytes);
        connection.sent = 0;
        self.transmit(slot);
        Ok(())
    }

    fn addresses(&self, slot: Slot) -> Option<(SocketAddr, SocketAddr)> {
        socket::addresses(self.slots[slot as usize].fd.as_ref()?)
    }

    fn lost_segments(&self, slot: Slot) -> u64 {
        let fd = self.slots[slot as usize].fd.as_ref();
        fd.map_or(0, |fd| socket::lost_segments(fd.as_raw_fd()))
    }

    fn close(&mut self, slot: Slot) {
        // What a protocol says last has not been handed over yet.
        if self.slots[slot as usize].busy {
            self.submit();
        }
        let connection = &mut self.slots[slot as usize];
        let Some(fd) = connection.fd.take() else {
            return;
        };
        // The receive that is armed holds the socket open: a shutdown ends it.
        // SAFETY: a plain system call on an open descriptor.
        unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) };
        self.closed.push(fd);
        connection.queued.clear();
        if std::mem::take(&mut connection.busy) {
            let tag = tag(OpKind::Send, slot, connection.generation);
            self.orphans
                .insert(tag, std::mem::take(&mut connection.sending));
        }
    }
}

impl Out {
    /// A new socket. When there is no descriptor left for it, those of closed slots are given up first.
    fn socket(&mut self) -> io::Result<OwnedFd> {
        match self.sockets.socket() {
            Err(error) if error.raw_os_error() == Some(libc::EMFILE) && !self.closed.is_empty() => {
                self.submit();
                if !self.ring.submission().is_empty() {
                    return Err(error);
                }
                self.closed.clear();
                self.sockets.socket()
            }
            result => result,
        }
    }

    /// Arms the receiving of everything that comes.
    fn receive(&mut self, slot: Slot) {
        if let Some(fd) = &self.slots[slot as usize].fd {
            let file = self.file(slot, fd.as_raw_fd());
            let entry = match &self.beside {
                None => opcode::RecvMulti::new(file, BufferRing::GROUP).build(),
                Some(template) => {
                    opcode::RecvMsgMulti::new(file, &raw const **template, BufferRing::GROUP)
                        .build()
                }
            };
            self.push(entry, OpKind::Receive, slot);
        }
    }

    /// Sends what is left of `sending`.
    #[inline]
    fn transmit(&mut self, slot: Slot) {
        let connection = &self.slots[slot as usize];
        let Some(fd) = &connection.fd else { return };
        let file = self.file(slot, fd.as_raw_fd());
        let rest = &connection.sending[connection.sent..];
        let entry = opcode::Send::new(file, rest.as_ptr(), rest.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build();
        self.slots[slot as usize].busy = true;
        self.push(entry, OpKind::Send, slot);
    }

    /// A send has ended with `result`.
    #[inline]
    fn sent(&mut self, slot: Slot, result: i32) -> io::Result<()> {
        let connection = &mut self.slots[slot as usize];
        connection.busy = false;
        if result < 0 {
            return Err(io::Error::from_raw_os_error(-result));
        }
        connection.sent += result as usize;
        if connection.sent < connection.sending.len() {
            self.transmit(slot);
        } else if !connection.queued.is_empty() {
            connection.sending.clear();
            std::mem::swap(&mut connection.sending, &mut connection.queued);
            connection.sent = 0;
            self.transmit(slot);
        }
        Ok(())
    }

    /// How an entry names a slot's socket; [`push`](Self::push) says which way it is.
    #[inline]
    fn file(&self, slot: Slot, raw: RawFd) -> Fd {
        Fd(if self.registered { slot as RawFd } else { raw })
    }

    /// Hands everything that waits to the kernel. EBUSY (completions must be collected first)
    /// cannot last, because the kernel keeps completions that do not fit.
    fn submit(&self) {
        let _ = self.ring.submit();
    }

    #[inline]
    fn push(&mut self, entry: squeue::Entry, kind: OpKind, slot: Slot) {
        let generation = self.slots[slot as usize].generation;
        let mut entry = entry.user_data(tag(kind, slot, generation));
        if self.registered && kind != OpKind::Tick {
            entry = entry.flags(squeue::Flags::FIXED_FILE);
        }
        loop {
            // SAFETY: what the entry points to lives until its completion: the address, the message
            // and the ticker's period are boxed beside the ring; what is sent stays in `sending`,
            // which is neither changed nor freed while `busy` and moves (its heap memory does not)
            // to `orphans` on close.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                return;
            }
            self.submit();
        }
    }
}

/// 24 bits of a slot's generation go into the user data.
const GENERATIONS: u32 = (1 << 24) - 1;

#[inline]
fn tag(kind: OpKind, slot: Slot, generation: u32) -> u64 {
    u64::from(generation & GENERATIONS) << 40 | u64::from(slot) << 8 | kind as u64
}

#[inline]
fn untag(tag: u64) -> (OpKind, Slot, u32) {
    (
        KINDS[(tag & 0xff) as usize],
        (tag >> 8) as u32,
        (tag >> 40) as u32,
    )
}

/// Buffers that the kernel takes from as bytes come, and that are given back when they are read.
struct BufferRing {
    entries: *mut BufRingEntry,
    memory: Box<[u8]>,
    tail: u16,
}

impl BufferRing {
    const GROUP: u16 = 0;
    const BYTES: usize = BUFFERS as usize * size_of::<BufRingEntry>();

    fn new(ring: &IoUring) -> io::Result<Self> {
        // SAFETY: an anonymous mapping of a constant size, page-aligned as the kernel wants it.
        let place = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                Self::BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if place == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut this = Self {
            entries: place.cast(),
            memory: vec![0; usize::from(BUFFERS) * STRIDE].into_boxed_slice(),
            tail: 0,
        };
        // SAFETY: the mapping stays until the drop of `self`, which its owner drops together with
        // (after) the ring, and it has room for `BUFFERS` entries.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(place as u64, BUFFERS, Self::GROUP, 0)?;
        }
        for id in 0..BUFFERS {
            this.give_back(id);
        }
        Ok(this)
    }

    #[inline]
    fn bytes(&self, id: u16, length: usize) -> &[u8] {
        let start = usize::from(id) * STRIDE;
        &self.memory[start..start + length]
    }

    #[inline]
    fn give_back(&mut self, id: u16) {
        let start = usize::from(id) * STRIDE;
        // SAFETY: the index is below BUFFERS, so the entry lies inside the mapping, and the
        // kernel does not read entries at or beyond the tail.
        let entry = unsafe { &mut *self.entries.add(usize::from(self.tail & (BUFFERS - 1))) };
        entry.set_addr(self.memory[start..].as_ptr() as u64);
        entry.set_len(BUFFER as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the tail lies inside the first entry and is only written through this atomic;
        // Release publishes the entry before the tail.
        unsafe {
            let tail = BufRingEntry::tail(self.entries).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for BufferRing {
    fn drop(&mut self) {
        // SAFETY: mapped in `new` with this size; `Uring` drops its ring first, so the kernel no
        // longer uses it.
        unsafe { libc::munmap(self.entries.cast(), Self::BYTES) };
    }
}
