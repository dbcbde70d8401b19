//! `io_uring`: receives stay armed, files are registered, and the sends of a turn go to the kernel
//! with the call that waits.

use super::{Exchange, Floor, Meter, Span, connect, off, silent};
use io_uring::types::{BufRingEntry, Fixed, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};

const SUBMISSIONS: u32 = 2048;
const COMPLETIONS: u32 = 8192;
/// User data of a send, which reports only when it fails.
const SEND: u64 = u64::MAX;
/// User data of the one timer, which is there to notice a dead server.
const TIMER: u64 = u64::MAX - 1;
/// After this many seconds without an answer the server counts as dead.
const SILENCE_SECONDS: u64 = 5;
/// The kernel's limit on the buffers of one ring.
const MOST_BUFFERS: usize = 32_768;

/// Runs the loop on the calling thread.
///
/// # Errors
/// When the kernel lacks what is used (Linux 6.6), a connection cannot be made or ends, or a send
/// fails.
pub fn uring(
    addr: SocketAddr,
    connections: usize,
    exchange: &Exchange,
    span: Span,
) -> io::Result<Floor> {
    let streams = connect(addr, connections, exchange)?;
    let fds: Vec<_> = streams.iter().map(AsRawFd::as_raw_fd).collect();
    let silence = Timespec::new().sec(SILENCE_SECONDS);
    // Declared before the ring, hence dropped after it: the kernel writes to them.
    let mut buffers = Buffers::new(connections, exchange.answer)?;
    let mut ring = IoUring::builder()
        .setup_cqsize(COMPLETIONS)
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_coop_taskrun()
        .setup_no_sqarray()
        .build(SUBMISSIONS)?;
    ring.submitter().register_files(&fds)?;
    buffers.register(&ring)?;
    let receive = |index: usize| {
        opcode::RecvMulti::new(Fixed(index as u32), Buffers::GROUP)
            .build()
            .user_data(index as u64)
    };
    let request = |index: usize| {
        let bytes = &exchange.request;
        opcode::Send::new(Fixed(index as u32), bytes.as_ptr(), bytes.len() as u32)
            .flags(libc::MSG_NOSIGNAL)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(SEND)
    };
    let timer = || {
        opcode::Timeout::new(&raw const silence)
            .build()
            .user_data(TIMER)
    };
    let mut missing = vec![exchange.answer; connections];
    let mut batch: Vec<(u64, i32, u32)> = Vec::with_capacity(COMPLETIONS as usize);
    let mut to_arm: Vec<usize> = (0..connections).collect();
    let mut to_ask = to_arm.clone();
    let mut answers_at_timer = 0;
    let mut meter = Meter::new(span);
    push(&mut ring, &timer())?;
    loop {
        for index in to_arm.drain(..) {
            push(&mut ring, &receive(index))?;
        }
        for index in to_ask.drain(..) {
            push(&mut ring, &request(index))?;
        }
        match ring.submit_and_wait(1) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => return Err(error),
            _ => {}
        }
        batch.extend(
            ring.completion()
                .map(|entry| (entry.user_data(), entry.result(), entry.flags())),
        );
        for (user_data, n, flags) in batch.drain(..) {
            let index = match user_data {
                SEND => return Err(off(i64::from(n))),
                TIMER if meter.answers == answers_at_timer => return Err(silent()),
                TIMER => {
                    answers_at_timer = meter.answers;
                    push(&mut ring, &timer())?;
                    continue;
                }
                index => index as usize,
            };
            if let Some(id) = cqueue::buffer_select(flags) {
                buffers.give_back(id);
            }
            if !cqueue::more(flags) {
                to_arm.push(index);
                if n == -libc::ENOBUFS {
                    continue;
                }
            }
            if n <= 0 || n as usize > missing[index] {
                return Err(off(i64::from(n)));
            }
            missing[index] -= n as usize;
            if missing[index] == 0 {
                missing[index] = exchange.answer;
                meter.answers += 1;
                to_ask.push(index);
            }
        }
        buffers.publish();
        if let Some(floor) = meter.turn() {
            // The ring, which the kernel takes apart when it finds the time, holds the sockets
            // open; the next contestant shall not find them.
            for stream in &streams {
                let _ = stream.shutdown(Shutdown::Both);
            }
            return Ok(floor);
        }
    }
}

fn push(ring: &mut IoUring, entry: &squeue::Entry) -> io::Result<()> {
    // SAFETY: what entries point to (the request, the timer's length, the buffers) is declared
    // before the ring, so it outlives it, and is not changed meanwhile.
    while unsafe { ring.submission().push(entry) }.is_err() {
        ring.submit()?;
    }
    Ok(())
}

/// Memory for answers, which the kernel takes from as they come.
struct Buffers {
    entries: *mut BufRingEntry,
    count: u16,
    size: usize,
    memory: Box<[u8]>,
    tail: u16,
}

impl Buffers {
    const GROUP: u16 = 0;

    /// Two for each connection, whose answer may come in two pieces, and each no longer than an
    /// answer in whole cache lines: the fewer lines there are, the more of them stay in the cache.
    fn new(connections: usize, answer: usize) -> io::Result<Self> {
        let count = (2 * connections).next_power_of_two().min(MOST_BUFFERS);
        let size = answer.next_multiple_of(64);
        // SAFETY: an anonymous mapping, page-aligned as the kernel wants it.
        let place = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                count * size_of::<BufRingEntry>(),
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
            count: count as u16,
            size,
            memory: vec![0; count * size].into_boxed_slice(),
            tail: 0,
        };
        for id in 0..this.count {
            this.give_back(id);
        }
        this.publish();
        Ok(this)
    }

    fn register(&self, ring: &IoUring) -> io::Result<()> {
        // SAFETY: the mapping has room for `count` entries and outlives the ring.
        unsafe {
            ring.submitter().register_buf_ring_with_flags(
                self.entries as u64,
                self.count,
                Self::GROUP,
                0,
            )
        }
    }

    /// The kernel may use the buffer again, once that is [`publish`](Self::publish)ed.
    #[inline]
    fn give_back(&mut self, id: u16) {
        let place = usize::from(self.tail & (self.count - 1));
        let start = usize::from(id) * self.size;
        // SAFETY: the place lies inside the mapping, and the kernel does not read entries at or
        // beyond the tail.
        let entry = unsafe { &mut *self.entries.add(place) };
        entry.set_addr(self.memory[start..].as_mut_ptr() as u64);
        entry.set_len(self.size as u32);
        entry.set_bid(id);
        self.tail = self.tail.wrapping_add(1);
    }

    #[inline]
    fn publish(&self) {
        // SAFETY: the tail lies inside the first entry and is only written through this atomic;
        // Release publishes the entries before the tail.
        unsafe {
            let tail = BufRingEntry::tail(self.entries).cast::<AtomicU16>();
            (*tail).store(self.tail, Ordering::Release);
        }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        let length = usize::from(self.count) * size_of::<BufRingEntry>();
        // SAFETY: mapped in `new` with this length; the ring is gone by now.
        unsafe { libc::munmap(self.entries.cast(), length) };
    }
}
