//! `epoll_wait`, `recv`, `send` and nothing else.

use super::{Exchange, Floor, Meter, Span, connect, off, silent};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// Readiness reports taken at once.
const BATCH: usize = 256;
/// Far longer than an answer: what one `recv` leaves behind is never reported again, since the
/// loop is edge-triggered. That saves the kernel a second look at each connection.
const BUFFER: usize = 64 << 10;
/// After this many milliseconds without an answer the server counts as dead.
const SILENCE_MS: libc::c_int = 5_000;

/// Runs the loop on the calling thread.
///
/// # Errors
/// When a connection cannot be made or ends, or a send is not taken whole.
pub fn epoll(
    addr: SocketAddr,
    connections: usize,
    exchange: &Exchange,
    span: Span,
) -> io::Result<Floor> {
    let streams = connect(addr, connections, exchange)?;
    // SAFETY: a plain system call without pointers.
    let raw = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, so this is its only owner.
    let epoll = unsafe { OwnedFd::from_raw_fd(raw) };
    let mut missing = vec![exchange.answer; connections];
    let fds: Vec<RawFd> = streams.iter().map(AsRawFd::as_raw_fd).collect();
    for (index, &fd) in fds.iter().enumerate() {
        let mut event = libc::epoll_event {
            events: (libc::EPOLLIN | libc::EPOLLET) as u32,
            u64: index as u64,
        };
        // SAFETY: both descriptors are open, and the event is valid for the call.
        let result =
            unsafe { libc::epoll_ctl(epoll.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &raw mut event) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    let mut events = [libc::epoll_event { events: 0, u64: 0 }; BATCH];
    let mut buffer = vec![0u8; BUFFER];
    let mut meter = Meter::new(span);
    for &fd in &fds {
        send(fd, &exchange.request)?;
    }
    loop {
        // SAFETY: the event array is valid and its length is given.
        let ready = unsafe {
            libc::epoll_wait(
                epoll.as_raw_fd(),
                events.as_mut_ptr(),
                BATCH as i32,
                SILENCE_MS,
            )
        };
        match ready {
            1.. => {}
            0 => return Err(silent()),
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => continue,
                error => return Err(error),
            },
        }
        for event in &events[..ready as usize] {
            let index = event.u64 as usize;
            let fd = fds[index];
            // SAFETY: the buffer is valid for writes of its length.
            let n = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), BUFFER, 0) };
            if n <= 0 || n as usize > missing[index] {
                let error = -i64::from(io::Error::last_os_error().raw_os_error().unwrap_or(0));
                return Err(off(if n < 0 { error } else { n as i64 }));
            }
            missing[index] -= n as usize;
            if missing[index] == 0 {
                missing[index] = exchange.answer;
                meter.answers += 1;
                send(fd, &exchange.request)?;
            }
        }
        if let Some(floor) = meter.turn() {
            return Ok(floor);
        }
    }
}

#[inline]
fn send(fd: RawFd, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: `bytes` is valid for reads of its length.
    let n = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    if n == bytes.len() as isize {
        return Ok(());
    }
    Err(match n {
        ..0 => io::Error::last_os_error(),
        _ => io::Error::other("a bare loop takes no short sends"),
    })
}
