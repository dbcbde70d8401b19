//! Where a worker's connections come from and go to.

use super::socket::{RawAddress, switch_on};
use crate::target::Target;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

/// Where a worker's connections come from and go to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoints<'a> {
    pub(crate) target: &'a Target,
    /// The source addresses, taken in turns; none: the kernel chooses.
    pub(crate) sources: &'a [IpAddr],
    /// The source of the first connection, by its place among all, counted round: workers begin at different ones.
    pub(crate) first: u32,
}

impl<'a> Endpoints<'a> {
    /// From wherever the kernel chooses.
    pub(crate) fn to(target: &'a Target) -> Self {
        Self {
            target,
            sources: &[],
            first: 0,
        }
    }
}

/// Makes sockets for the connections between these.
pub(super) struct Sockets {
    /// Boxed, because the kernel reads it while a connect is under way.
    target: Box<RawAddress>,
    /// Addresses that connections have gone to before, kept for the same reason.
    others: Vec<(SocketAddr, Box<RawAddress>)>,
    /// Place in `others` of the address that the next connection goes to; None: the target.
    aimed: Option<usize>,
    kind: libc::c_int,
    sources: Vec<RawAddress>,
    next: usize,
}

impl Sockets {
    /// # Errors
    /// When a unix path does not fit (107 bytes at most).
    pub(super) fn new(endpoints: &Endpoints<'_>) -> io::Result<Self> {
        Self::of_kind(endpoints, libc::SOCK_STREAM)
    }

    /// Makes sockets for datagrams.
    ///
    /// # Errors
    /// For a unix socket, over which none go.
    pub(super) fn datagrams(endpoints: &Endpoints<'_>) -> io::Result<Self> {
        match endpoints.target {
            Target::Tcp(_) => Self::of_kind(endpoints, libc::SOCK_DGRAM),
            Target::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    fn of_kind(endpoints: &Endpoints<'_>, kind: libc::c_int) -> io::Result<Self> {
        let sources = endpoints.sources.iter().map(|&source| any_port(source));
        Ok(Self {
            target: Box::new(RawAddress::new(endpoints.target)?),
            others: Vec::new(),
            aimed: None,
            kind,
            sources: sources.collect::<io::Result<_>>()?,
            next: endpoints.first as usize,
        })
    }

    /// Where connections go; valid as long as `self` is there.
    pub(super) fn target(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        self.address().as_ptr()
    }

    fn address(&self) -> &RawAddress {
        self.aimed
            .map_or(&self.target, |place| &self.others[place].1)
    }

    /// Sets where the next connection goes to.
    ///
    /// # Errors
    /// None for an address.
    pub(super) fn aim(&mut self, address: SocketAddr) -> io::Result<()> {
        let known = self.others.iter().position(|(it, _)| *it == address);
        let place = match known {
            Some(place) => place,
            None => {
                let raw = Box::new(RawAddress::new(&Target::Tcp(address))?);
                self.others.push((address, raw));
                self.others.len() - 1
            }
        };
        self.aimed = Some(place);
        Ok(())
    }

    /// Is the target's address one of IPv6?
    pub(super) fn is_ipv6(&self) -> bool {
        self.target.is_ipv6()
    }

    /// A socket to connect with, from the source whose turn it is.
    pub(super) fn socket(&mut self) -> io::Result<OwnedFd> {
        let socket = self.address().socket(self.kind)?;
        if !self.sources.is_empty() {
            bind(&socket, &self.sources[self.next % self.sources.len()])?;
            self.next = self.next.wrapping_add(1);
        }
        Ok(socket)
    }
}

/// Can connections come from this address?
///
/// # Errors
/// What the kernel says of it.
pub(crate) fn try_source(source: IpAddr) -> io::Result<()> {
    let address = any_port(source)?;
    bind(&address.socket(libc::SOCK_STREAM)?, &address)
}

fn any_port(source: IpAddr) -> io::Result<RawAddress> {
    RawAddress::new(&Target::Tcp(SocketAddr::new(source, 0)))
}

/// Gives a socket its source address, and leaves the port open until it is connected: the kernel then needs a port that
/// is free towards this target, and not one that nobody has at all.
fn bind(socket: &OwnedFd, source: &RawAddress) -> io::Result<()> {
    // Of IPv6 sockets too: the kernel keeps one flag for both.
    switch_on(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT)?;
    let (address, length) = source.as_ptr();
    // SAFETY: the address is valid for the call, and its length is given.
    match unsafe { libc::bind(socket.as_raw_fd(), address, length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
