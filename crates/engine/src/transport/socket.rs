//! Sockets as both transports need them.

use crate::clock::{Nanos, SECOND};
use crate::target::Target;
use std::io;
use std::mem::ManuallyDrop;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A socket address in the kernel's form.
#[derive(Clone)]
pub(super) struct RawAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
    family: libc::c_int,
}

impl RawAddress {
    /// # Errors
    /// When a unix path does not fit (107 bytes at most).
    pub(super) fn new(target: &Target) -> io::Result<Self> {
        // SAFETY: all-zero bytes are a valid sockaddr_storage (family AF_UNSPEC).
        let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
        let place = (&raw mut storage).cast::<u8>();
        let (length, family) = match target {
            Target::Tcp(std::net::SocketAddr::V4(addr)) => {
                let raw = libc::sockaddr_in {
                    sin_family: libc::AF_INET as libc::sa_family_t,
                    sin_port: addr.port().to_be(),
                    sin_addr: libc::in_addr {
                        s_addr: u32::from_ne_bytes(addr.ip().octets()),
                    },
                    sin_zero: [0; 8],
                };
                // SAFETY: sockaddr_storage is large enough and aligned for every sockaddr.
                unsafe { place.cast::<libc::sockaddr_in>().write(raw) };
                (size_of::<libc::sockaddr_in>(), libc::AF_INET)
            }
            Target::Tcp(std::net::SocketAddr::V6(addr)) => {
                let raw = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as libc::sa_family_t,
                    sin6_port: addr.port().to_be(),
                    sin6_flowinfo: addr.flowinfo(),
                    sin6_addr: libc::in6_addr {
                        s6_addr: addr.ip().octets(),
                    },
                    sin6_scope_id: addr.scope_id(),
                };
                // SAFETY: as above.
                unsafe { place.cast::<libc::sockaddr_in6>().write(raw) };
                (size_of::<libc::sockaddr_in6>(), libc::AF_INET6)
            }
            Target::Unix(path) => {
                use std::os::unix::ffi::OsStrExt;
                let bytes = path.as_os_str().as_bytes();
                let mut raw = libc::sockaddr_un {
                    sun_family: libc::AF_UNIX as _,
                    sun_path: [0; 108],
                };
                if bytes.len() >= raw.sun_path.len() {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        format!(
                            "a unix socket's path has at most 107 bytes, this one {}",
                            bytes.len()
                        ),
                    ));
                }
                for (to, from) in raw.sun_path.iter_mut().zip(bytes) {
                    *to = *from as libc::c_char;
                }
                // SAFETY: as above.
                unsafe { place.cast::<libc::sockaddr_un>().write(raw) };
                (size_of::<libc::sockaddr_un>(), libc::AF_UNIX)
            }
        };
        Ok(Self {
            storage,
            length: length as libc::socklen_t,
            family,
        })
    }

    /// The address for a call that takes one; valid as long as `self` is not moved.
    pub(super) fn as_ptr(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.storage).cast(), self.length)
    }

    /// Is it one of IPv6?
    pub(super) fn is_ipv6(&self) -> bool {
        self.family == libc::AF_INET6
    }

    /// A new non-blocking socket for this address, `SOCK_STREAM` or `SOCK_DGRAM`, without Nagle's delay.
    pub(super) fn socket(&self, kind: libc::c_int) -> io::Result<OwnedFd> {
        let stream = kind == libc::SOCK_STREAM;
        let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: a plain system call without pointers.
        let fd = unsafe { libc::socket(self.family, kind, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` was just opened and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        if stream && self.family != libc::AF_UNIX {
            switch_on(&fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
        }
        Ok(fd)
    }
}

/// Is there nothing wrong but that the kernel has, or takes, nothing now?
pub(super) fn would_block(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Sets a socket option that is on or off to on.
pub(super) fn switch_on(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<()> {
    set(socket, level, option, 1)
}

/// Sets a socket option that is a number.
pub(super) fn set(
    socket: &impl AsRawFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: `value` is valid for the call, and its size is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The error that a non-blocking connect left on its socket, if any.
pub(super) fn take_error(fd: RawFd) -> io::Result<()> {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both pointers are valid for the call, and the size is given.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut error).cast(),
            &raw mut length,
        )
    };
    match (result, error) {
        (0, 0) => Ok(()),
        (0, error) => Err(io::Error::from_raw_os_error(error)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Addresses of both ends of a TCP connection, this side's first; None: it is another one, or has ended.
pub(super) fn addresses(socket: &OwnedFd) -> Option<(SocketAddr, SocketAddr)> {
    // A view of the same socket, which the standard library asks; it must not close it.
    let stream = ManuallyDrop::new(std::net::TcpStream::from(
        // SAFETY: the descriptor is open as long as `socket` is borrowed, and is not closed by this owner.
        unsafe { OwnedFd::from_raw_fd(socket.as_raw_fd()) },
    ));
    stream.local_addr().ok().zip(stream.peer_addr().ok())
}

/// Segments of a TCP connection that this side has sent again, and those that came out of order because the other side had to
/// send one again (`tcpi_total_retrans`, `tcpi_rcv_ooopack`); 0 for other sockets.
pub(super) fn lost_segments(fd: RawFd) -> u64 {
    // Places in the kernel's `struct tcp_info`, in words of four bytes; older kernels do not have the second one.
    const SENT_AGAIN: usize = 25;
    const OUT_OF_ORDER: usize = 56;
    let mut info = [0_u32; 64];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: both pointers are valid for the call, and the size is given.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    match result {
        0 => u64::from(info[SENT_AGAIN]) + u64::from(info[OUT_OF_ORDER]),
        _ => 0,
    }
}

/// Datagrams that the kernel has dropped for a socket because its buffer was full; 0 where that is not known.
pub(super) fn dropped_datagrams(fd: RawFd) -> u64 {
    // The place of `SK_MEMINFO_DROPS` in what `SO_MEMINFO` gives (Linux, include/uapi/linux/sock_diag.h).
    const DROPS: usize = 8;
    let mut info = [0_u32; DROPS + 1];
    let mut length = size_of_val(&info) as libc::socklen_t;
    // SAFETY: both pointers are valid for the call, and the size is given.
    let result = unsafe {
        libc::getsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_MEMINFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    match result {
        0 => u64::from(info[DROPS]),
        _ => 0,
    }
}

/// A timer that becomes readable after `period`, and again so long after each [`ticked`]: the
/// kernel arms a periodic timer anew only when it is read.
pub(super) fn ticker(period: Nanos) -> io::Result<OwnedFd> {
    let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
    // SAFETY: a plain system call without pointers.
    let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: `fd` was just opened and has no other owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let time = libc::timespec {
        tv_sec: (period / SECOND) as libc::time_t,
        tv_nsec: (period % SECOND) as libc::c_long,
    };
    let spec = libc::itimerspec {
        it_interval: time,
        it_value: time,
    };
    // SAFETY: `spec` is valid for the call; a null pointer asks for no old value.
    let result =
        unsafe { libc::timerfd_settime(fd.as_raw_fd(), 0, &raw const spec, std::ptr::null_mut()) };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(fd)
    }
}

/// Reads a [`ticker`] that is readable, so that it ticks on.
pub(super) fn ticked(ticker: &OwnedFd) {
    let mut expirations = 0u64;
    // SAFETY: the number is valid for writes of its size. That nothing could be read is no harm.
    unsafe {
        libc::read(
            ticker.as_raw_fd(),
            (&raw mut expirations).cast(),
            size_of::<u64>(),
        );
    }
}
