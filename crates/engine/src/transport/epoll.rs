//! `epoll_wait`, `recv`, `send`: level-triggered, one `recv` for each readiness, and no
//! `epoll_ctl` while the kernel takes what is sent.

use super::endpoints::{Endpoints, Sockets};
use super::socket::{self, would_block};
use super::stamp::{self, Stamps};
use super::{Came, Handler, Outgoing, Slot, TICK, Transport, Wait};
use crate::clock;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Readiness reports taken from the kernel at once.
const BATCH: usize = 256;
/// Bytes received at once; a larger answer takes several turns.
const BUFFER: usize = 64 << 10;

pub(crate) struct Epoll {
    out: Out,
    buffer: Box<[u8]>,
    stamps: Stamps,
}

/// User data of the ticker's events: no slot has this number.
const TICKER: u64 = u64::MAX;

/// Sockets of which the kernel says what can be done without waiting.
pub(super) struct Readiness {
    epoll: OwnedFd,
    events: Box<[libc::epoll_event]>,
    ticker: OwnedFd,
}

pub(crate) struct Out {
    readiness: Readiness,
    sockets: Sockets,
    came: Came,
    slots: Box<[EpollConnection]>,
}

#[derive(Default)]
struct EpollConnection {
    fd: Option<OwnedFd>,
    /// How often the slot was opened: reports about an earlier socket are told by it.
    generation: u32,
    connecting: bool,
    /// Bytes that the kernel did not take at once: `unsent[sent..]` is still to be sent.
    unsent: Vec<u8>,
    sent: usize,
}

impl Readiness {
    /// # Errors
    /// When the kernel has no more file descriptors to give.
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: a plain system call without pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and has no other owner.
        let epoll = unsafe { OwnedFd::from_raw_fd(fd) };
        let ticker = socket::ticker(TICK)?;
        control(
            epoll.as_raw_fd(),
            libc::EPOLL_CTL_ADD,
            ticker.as_raw_fd(),
            libc::EPOLLIN,
            TICKER,
        )?;
        Ok(Self {
            epoll,
            events: vec![libc::epoll_event { events: 0, u64: 0 }; BATCH].into_boxed_slice(),
            ticker,
        })
    }

    /// Waits until a socket is ready. Gives how many are.
    ///
    /// # Errors
    /// Only when the kernel cannot go on.
    pub(super) fn wait(&mut self, wait: Wait) -> io::Result<usize> {
        let nanos = if let Wait::For(nanos) = wait {
            nanos
        } else {
            0
        };
        let limit = libc::timespec {
            tv_sec: (nanos / clock::SECOND) as libc::time_t,
            tv_nsec: (nanos % clock::SECOND) as libc::c_long,
        };
        let timeout = if wait == Wait::Tick {
            std::ptr::null()
        } else {
            &raw const limit
        };
        // epoll_pwait2 (Linux 5.11) rather than epoll_wait: its time-out is in nanoseconds, and
        // an open loop must wake up at a due time, not at the next millisecond.
        // SAFETY: the event array is valid and its length is given; the timespec outlives the
        // call; a null signal mask leaves signals alone.
        let n = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len() as libc::c_int,
                timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        if n >= 0 {
            return Ok(n as usize);
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        }
    }

    /// The socket that is ready, by its tag, and for what; none for the ticker.
    #[inline]
    pub(super) fn event(&self, nth: usize) -> Option<(u64, u32)> {
        let event = self.events[nth];
        if event.u64 == TICKER {
            socket::ticked(&self.ticker);
            return None;
        }
        Some((event.u64, event.events))
    }

    /// Adds a socket, or changes what is wanted of it.
    pub(super) fn control(
        &self,
        operation: libc::c_int,
        fd: RawFd,
        interest: libc::c_int,
        (slot, generation): (Slot, u32),
    ) -> io::Result<()> {
        let tag = tag(slot, generation);
        control(self.epoll.as_raw_fd(), operation, fd, interest, tag)
    }
}

impl Epoll {
    /// # Errors
    /// When the kernel has no more file descriptors to give.
    pub(crate) fn new(ends: &Endpoints<'_>, connections: u32, came: Came) -> io::Result<Self> {
        Ok(Self {
            out: Out {
                readiness: Readiness::new()?,
                sockets: Sockets::new(ends)?,
                came,
                slots: (0..connections)
                    .map(|_| EpollConnection::default())
                    .collect(),
            },
            buffer: vec![0; BUFFER].into_boxed_slice(),
            stamps: Stamps::default(),
        })
    }
}

impl Transport for Epoll {
    type Out = Out;

    fn out(&mut self) -> &mut Out {
        &mut self.out
    }

    #[inline]
    fn poll<H: Handler<Out>>(&mut self, wait: Wait, handler: &mut H) -> io::Result<usize> {
        let ready = self.out.readiness.wait(wait)?;
        for nth in 0..ready {
            let Some((tag, flags)) = self.out.readiness.event(nth) else {
                continue;
            };
            let (slot, generation) = untag(tag);
            let connection = &mut self.out.slots[slot as usize];
            let fd = match &connection.fd {
                Some(fd) if connection.generation == generation => fd.as_raw_fd(),
                // Closed, and perhaps opened again, while this batch was being worked on.
                _ => continue,
            };
            if connection.connecting {
                let result = self.out.finish_connect(slot, fd);
                handler.opened(&mut self.out, slot, result, clock::now());
                continue;
            }
            if flags & libc::EPOLLOUT as u32 != 0
                && let Err(error) = self.out.flush(slot)
            {
                handler.ended(&mut self.out, slot, Some(error), clock::now());
                continue;
            }
            if flags & !(libc::EPOLLOUT as u32) == 0 {
                continue;
            }
            let (n, at) = match self.out.came {
                Came::Read => (receive(fd, &mut self.buffer), clock::now()),
                Came::Stamped => stamp::receive(fd, &mut self.buffer, &mut self.stamps),
            };
            match n {
                1.. => handler.received(&mut self.out, slot, &self.buffer[..n as usize], at),
                0 => handler.ended(&mut self.out, slot, None, at),
                _ => match io::Error::last_os_error() {
                    error if would_block(&error) => {}
                    error => handler.ended(&mut self.out, slot, Some(error), at),
                },
            }
        }
        Ok(ready)
    }
}

impl Outgoing for Out {
    fn aim(&mut self, address: SocketAddr) -> io::Result<()> {
        self.sockets.aim(address)
    }

    fn open(&mut self, slot: Slot) -> io::Result<()> {
        let fd = self.sockets.socket()?;
        if self.came == Came::Stamped {
            stamp::ask(&fd);
        }
        let raw = fd.as_raw_fd();
        let (address, length) = self.sockets.target();
        // SAFETY: the address is valid for the call, and its length is given.
        if unsafe { libc::connect(raw, address, length) } < 0 {
            let error = io::Error::last_os_error();
            // EAGAIN on a unix socket means that the backlog is full: an error to the caller.
            if error.raw_os_error() != Some(libc::EINPROGRESS) {
                return Err(error);
            }
        }
        let connection = &mut self.slots[slot as usize];
        connection.generation = connection.generation.wrapping_add(1);
        connection.connecting = true;
        connection.fd = Some(fd);
        // A socket that is connected already reports as writable at once.
        self.control(libc::EPOLL_CTL_ADD, slot, libc::EPOLLOUT)
    }

    #[inline]
    fn send(&mut self, slot: Slot, bytes: &[u8]) -> io::Result<()> {
        let connection = &mut self.slots[slot as usize];
        if !connection.unsent.is_empty() {
            connection.unsent.extend_from_slice(bytes);
            return Ok(());
        }
        let Some(fd) = &connection.fd else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let n = transmit(fd.as_raw_fd(), bytes)?;
        if n < bytes.len() {
            connection.unsent.extend_from_slice(&bytes[n..]);
            self.control(libc::EPOLL_CTL_MOD, slot, libc::EPOLLIN | libc::EPOLLOUT)?;
        }
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
        let connection = &mut self.slots[slot as usize];
        // Closing the only descriptor of a socket takes it out of the epoll set.
        connection.fd = None;
        connection.connecting = false;
        connection.unsent.clear();
        connection.sent = 0;
    }
}

impl Out {
    fn finish_connect(&mut self, slot: Slot, fd: RawFd) -> io::Result<()> {
        let result = socket::take_error(fd)
            .and_then(|()| self.control(libc::EPOLL_CTL_MOD, slot, libc::EPOLLIN));
        self.slots[slot as usize].connecting = false;
        if result.is_err() {
            self.close(slot);
        }
        result
    }

    fn flush(&mut self, slot: Slot) -> io::Result<()> {
        let connection = &mut self.slots[slot as usize];
        let Some(fd) = &connection.fd else {
            return Ok(());
        };
        connection.sent += transmit(fd.as_raw_fd(), &connection.unsent[connection.sent..])?;
        if connection.sent == connection.unsent.len() {
            connection.unsent.clear();
            connection.sent = 0;
            self.control(libc::EPOLL_CTL_MOD, slot, libc::EPOLLIN)?;
        }
        Ok(())
    }

    fn control(&self, operation: libc::c_int, slot: Slot, interest: libc::c_int) -> io::Result<()> {
        let connection = &self.slots[slot as usize];
        let Some(fd) = &connection.fd else {
            return Ok(());
        };
        let fd = fd.as_raw_fd();
        self.readiness
            .control(operation, fd, interest, (slot, connection.generation))
    }
}

fn control(
    epoll: RawFd,
    operation: libc::c_int,
    fd: RawFd,
    interest: libc::c_int,
    tag: u64,
) -> io::Result<()> {
    let mut event = libc::epoll_event {
        events: interest as u32,
        u64: tag,
    };
    // SAFETY: both descriptors are open, and the event is valid for the call.
    let result = unsafe { libc::epoll_ctl(epoll, operation, fd, &raw mut event) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Receives once; negative after an error.
#[inline]
fn receive(fd: RawFd, buffer: &mut [u8]) -> isize {
    // SAFETY: the buffer is valid for writes of its whole length.
    unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) }
}

/// Sends as much as the kernel takes; 0 when it takes nothing now.
#[inline]
fn transmit(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: `bytes` is valid for reads of its length.
    let n = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    if n >= 0 {
        return Ok(n as usize);
    }
    match io::Error::last_os_error() {
        error if would_block(&error) => Ok(0),
        error => Err(error),
    }
}

fn tag(slot: Slot, generation: u32) -> u64 {
    u64::from(generation) << 32 | u64::from(slot)
}

pub(super) fn untag(tag: u64) -> (Slot, u32) {
    (tag as u32, (tag >> 32) as u32)
}
