//! Ways to treat a connection that the standard library does not have. `prony-benches hostile` includes this file too.

use std::os::fd::AsRawFd;

/// Listens again on a socket that listens, with this backlog, in connections.
pub fn listen_with_backlog(listener: &impl AsRawFd, length: libc::c_int) {
    // SAFETY: a plain system call on an open descriptor; listening again changes the backlog.
    let result = unsafe { libc::listen(listener.as_raw_fd(), length) };
    assert_eq!(result, 0, "the socket listens");
}

/// Makes the end of a connection a reset.
pub fn reset(stream: &impl AsRawFd) {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    // SAFETY: the option is valid for the call, and its size is given.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            size_of::<libc::linger>() as libc::socklen_t,
        );
    }
}

/// Waits until the other side has closed, and reads nothing.
pub fn wait_until_closed(stream: &impl AsRawFd) {
    let mut poll = libc::pollfd {
        fd: stream.as_raw_fd(),
        events: libc::POLLRDHUP,
        revents: 0,
    };
    // SAFETY: one valid pollfd, and its number.
    unsafe { libc::poll(&raw mut poll, 1, -1) };
}
