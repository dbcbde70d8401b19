//! epoll, level-triggered.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use crate::Error;

/// Kinds of readiness to report. Errors and resets are always reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interest {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

impl Interest {
    pub(crate) const READ: Self = Self {
        read: true,
        write: false,
    };
    pub(crate) const WRITE: Self = Self {
        read: false,
        write: true,
    };
    pub(crate) const NONE: Self = Self {
        read: false,
        write: false,
    };

    fn bits(self) -> u32 {
        let read = if self.read { libc::EPOLLIN } else { 0 };
        let write = if self.write { libc::EPOLLOUT } else { 0 };
        (read | write) as u32
    }
}

/// An epoll instance. What is added leaves it when its last descriptor is closed.
pub(crate) struct Poller {
    epoll: OwnedFd,
}

impl Poller {
    pub(crate) fn new() -> Result<Self, Error> {
        // SAFETY: takes no pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(Error::system("epoll_create1")(io::Error::last_os_error()));
        }
        Ok(Self {
            // SAFETY: `fd` has just been opened, so this is its only owner.
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
        })
    }

    /// Watches `source`; its events carry `token`.
    pub(crate) fn add(
        &self,
        source: &impl AsRawFd,
        token: u64,
        interest: Interest,
    ) -> Result<(), Error> {
        self.control(libc::EPOLL_CTL_ADD, source, token, interest)
    }

    pub(crate) fn modify(
        &self,
        source: &impl AsRawFd,
        token: u64,
        interest: Interest,
    ) -> Result<(), Error> {
        self.control(libc::EPOLL_CTL_MOD, source, token, interest)
    }

    fn control(
        &self,
        operation: libc::c_int,
        source: &impl AsRawFd,
        token: u64,
        interest: Interest,
    ) -> Result<(), Error> {
        let mut event = libc::epoll_event {
            events: interest.bits(),
            u64: token,
        };
        let (epoll, source) = (self.epoll.as_raw_fd(), source.as_raw_fd());
        // SAFETY: `event` is an epoll_event of our own, alive during the call.
        if unsafe { libc::epoll_ctl(epoll, operation, source, &mut event) } < 0 {
            return Err(Error::system("epoll_ctl")(io::Error::last_os_error()));
        }
        Ok(())
    }

    /// Fills `events`; waits for the first one, or for so long at most: for no time, it only looks.
    pub(crate) fn wait(
        &self,
        events: &mut PollEvents,
        most: Option<Duration>,
    ) -> Result<(), Error> {
        if let Some(most) = most.filter(|most| !most.is_zero()) {
            self.sleep(most)?;
        }
        let timeout = if most.is_some() { 0 } else { -1 };
        let room = events.list.len() as libc::c_int;
        // SAFETY: the kernel writes at most `room` events, for which the list has place.
        let count = unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                events.list.as_mut_ptr(),
                room,
                timeout,
            )
        };
        events.count = usize::try_from(count).unwrap_or(0);
        unless_interrupted("epoll_wait", count)
    }

    /// Until there is an event, or for so long: `epoll_wait` itself knows whole milliseconds only.
    fn sleep(&self, most: Duration) -> Result<(), Error> {
        let mut ready = libc::pollfd {
            fd: self.epoll.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let most = libc::timespec {
            tv_sec: libc::time_t::try_from(most.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: libc::c_long::from(most.subsec_nanos().cast_signed()),
        };
        // SAFETY: one pollfd and one timespec of our own, alive during the call; no signal mask.
        let count = unsafe { libc::ppoll(&raw mut ready, 1, &raw const most, std::ptr::null()) };
        unless_interrupted("ppoll", count)
    }
}

/// Checks the result of a call that a signal may interrupt. An interruption is not an error.
fn unless_interrupted(call: &'static str, returned: libc::c_int) -> Result<(), Error> {
    if returned < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(Error::system(call)(error));
        }
    }
    Ok(())
}

/// The events of one [`Poller::wait`].
pub(crate) struct PollEvents {
    list: Vec<libc::epoll_event>,
    count: usize,
}

impl PollEvents {
    /// Room for `most` events at a time.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            list: vec![libc::epoll_event { events: 0, u64: 0 }; most],
            count: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn token(&self, index: usize) -> u64 {
        self.list[index].u64
    }

    /// Whether the connection was reset or is closed in both directions.
    pub(crate) fn is_gone(&self, index: usize) -> bool {
        self.list[index].events & (libc::EPOLLERR | libc::EPOLLHUP) as u32 != 0
    }
}
