//! Listening and accepting.

use std::io;
use std::mem::size_of;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::Error;

/// Connections that may wait to be accepted; the kernel lowers it to `net.core.somaxconn`.
/// `std` has 128, and a connection beyond it waits a second for its SYN to be sent again.
const BACKLOG: libc::c_int = 4096;

/// Options that [`listen`] sets on its socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sharing {
    /// Lets several sockets listen on one address; the kernel spreads connections over them.
    pub(crate) reuse_port: bool,
    /// Leaves Nagle's algorithm on in accepted connections.
    pub(crate) nagle: bool,
}

/// A listening socket. The connections that it accepts inherit `TCP_NODELAY` from it.
pub(crate) fn listen(address: SocketAddr, sharing: Sharing) -> Result<TcpListener, Error> {
    listening_socket(address, sharing).map_err(|source| Error::Listen { address, source })
}

/// Bytes of datagrams that wait for a server.
const RECEIVE_BUFFER: libc::c_int = 8 << 20;

/// A socket for datagrams at this address; with `shared`, others may have the same one.
pub(crate) fn bind_datagrams(address: SocketAddr, shared: bool) -> Result<UdpSocket, Error> {
    let bound = || {
        let domain = match address {
            SocketAddr::V4(_) => libc::AF_INET,
            SocketAddr::V6(_) => libc::AF_INET6,
        };
        // SAFETY: takes no pointers.
        let fd = check(unsafe { libc::socket(domain, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })?;
        // SAFETY: `fd` has just been opened, so this is its only owner.
        let socket = unsafe { UdpSocket::from_raw_fd(fd) };
        if shared {
            switch_on(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT)?;
        }
        // As much as the kernel gives: the first datagrams of thousands of connections may come at once.
        for option in [libc::SO_RCVBUFFORCE, libc::SO_RCVBUF] {
            if set(fd, libc::SOL_SOCKET, option, RECEIVE_BUFFER).is_ok() {
                break;
            }
        }
        bind(fd, address)?;
        Ok(socket)
    };
    bound().map_err(|source| Error::Listen { address, source })
}

fn listening_socket(address: SocketAddr, sharing: Sharing) -> io::Result<TcpListener> {
    let domain = match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    // SAFETY: takes no pointers.
    let fd = check(unsafe { libc::socket(domain, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) })?;
    // SAFETY: `fd` has just been opened, so this is its only owner.
    let listener = unsafe { TcpListener::from_raw_fd(fd) };
    switch_on(fd, libc::SOL_SOCKET, libc::SO_REUSEADDR)?;
    if sharing.reuse_port {
        switch_on(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT)?;
    }
    if !sharing.nagle {
        switch_on(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY)?;
    }
    bind(fd, address)?;
    // SAFETY: takes no pointers.
    check(unsafe { libc::listen(fd, BACKLOG) })?;
    Ok(listener)
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

fn switch_on(fd: RawFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    set(fd, level, option, 1)
}

fn set(fd: RawFd, level: libc::c_int, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option value is a c_int of the given length, alive during the call.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const value).cast(), length) })?;
    Ok(())
}

fn bind(fd: RawFd, address: SocketAddr) -> io::Result<()> {
    let result = match address {
        SocketAddr::V4(address) => {
            let address = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: address.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(address.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            let length = size_of_val(&address) as libc::socklen_t;
            // SAFETY: the address is a sockaddr_in of the given length, alive during the call.
            unsafe { libc::bind(fd, (&raw const address).cast(), length) }
        }
        SocketAddr::V6(address) => {
            let address = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: address.port().to_be(),
                sin6_flowinfo: address.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: address.ip().octets(),
                },
                sin6_scope_id: address.scope_id(),
            };
            let length = size_of_val(&address) as libc::socklen_t;
            // SAFETY: the address is a sockaddr_in6 of the given length, alive during the call.
            unsafe { libc::bind(fd, (&raw const address).cast(), length) }
        }
    };
    check(result).map(drop)
}

/// Result of an attempt to accept.
pub(crate) enum Accepted {
    /// A non-blocking connection.
    Connection(TcpStream),
    /// No connection is waiting.
    NoneWaiting,
    /// No descriptor or memory is left for another connection.
    Exhausted(io::Error),
}

/// Accepts one connection from a non-blocking listener. The peer's address is not asked for, and
/// connections that failed before they could be accepted are passed over.
pub(crate) fn accept(listener: &TcpListener) -> Result<Accepted, Error> {
    loop {
        // SAFETY: null pointers say that the peer's address is not wanted.
        let result = check(unsafe {
            libc::accept4(
                listener.as_raw_fd(),
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC,
            )
        });
        match result {
            Ok(fd) => {
                // SAFETY: the kernel has just opened `fd`, so this is its only owner.
                let fd = unsafe { OwnedFd::from_raw_fd(fd) };
                return Ok(Accepted::Connection(fd.into()));
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                return Ok(Accepted::NoneWaiting);
            }
            Err(error) if out_of_descriptors(&error) => return Ok(Accepted::Exhausted(error)),
            Err(error) if listener_is_broken(&error) => {
                return Err(Error::system("accept4")(error));
            }
            Err(_) => {} // that connection's own misfortune: accept(2), "Error handling"
        }
    }
}

/// Whether trying again later can succeed, on a non-blocking socket.
pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

/// Whether accepting can succeed again once a connection has been closed.
pub(crate) fn out_of_descriptors(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM)
    )
}

/// Whether no connection will ever be accepted again.
pub(crate) fn listener_is_broken(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::EBADF | libc::EINVAL | libc::ENOTSOCK | libc::EOPNOTSUPP | libc::EFAULT)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepted_connections_inherit_nodelay() {
        for nagle in [false, true] {
            let sharing = Sharing {
                reuse_port: false,
                nagle,
            };
            for address in ["127.0.0.1:0", "[::1]:0"] {
                let listener = listen(address.parse().unwrap(), sharing).unwrap();
                let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let Accepted::Connection(connection) = accept(&listener).unwrap() else {
                    panic!("the client is connected");
                };
                assert_eq!(connection.nodelay().unwrap(), !nagle);
            }
        }
    }
}
