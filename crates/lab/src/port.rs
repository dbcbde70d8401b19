//! Ports for servers that are about to start.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr as UnixAddr, UnixListener};

/// Ports that are drawn before the search is given up.
const TRIES: u32 = 1_000;

/// A port that was free, and that no other prony in this network takes while this exists.
///
/// Between the choice of a port and the moment at which its server listens lies the start of a program; another prony that
/// chose the same one meanwhile would load the wrong server.
#[derive(Debug)]
pub struct Port {
    number: u16,
    /// Socket whose name is the reservation. The kernel frees it with the process, however that ends.
    _reservation: UnixListener,
}

impl Port {
    /// A free port, drawn at random below the range that the kernel hands out to clients, where a port that was free a
    /// moment ago may be any client's.
    ///
    /// # Errors
    /// When none is found.
    pub fn free() -> io::Result<Self> {
        let ephemeral = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
            .ok()
            .and_then(|text| text.split_ascii_whitespace().next()?.parse::<u16>().ok())
            .unwrap_or(32_768);
        let below = ephemeral.max(12_000);
        (0..TRIES)
            .find_map(|_| Self::of(rand::random_range(10_000..below)))
            .ok_or_else(|| {
                io::Error::new(
                    io::ErrorKind::AddrInUse,
                    format!("no free port between 10000 and {below}"),
                )
            })
    }

    /// Reserves this port.
    ///
    /// # Errors
    /// When another program has it.
    pub fn fixed(number: u16) -> io::Result<Self> {
        Self::of(number).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::AddrInUse,
                format!("port {number} is in use: end the program that listens on it"),
            )
        })
    }

    /// Reserves this port; None: another program has it.
    fn of(number: u16) -> Option<Self> {
        let name = UnixAddr::from_abstract_name(format!("prony/port/{number}")).ok()?;
        let reservation = UnixListener::bind_addr(&name).ok()?;
        TcpListener::bind(SocketAddr::from((Ipv4Addr::UNSPECIFIED, number))).ok()?;
        Some(Self {
            number,
            _reservation: reservation,
        })
    }

    /// Number of the port.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Reserved until this process ends.
    #[must_use]
    pub fn for_good(self) -> u16 {
        let number = self.number;
        std::mem::forget(self);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_given_once_until_it_is_given_back() {
        let port = Port::free().unwrap();
        let number = port.number();
        assert!(number >= 10_000);
        assert!(Port::of(number).is_none(), "it is reserved");
        // A server may listen there all the same.
        let server = TcpListener::bind(("127.0.0.1", number)).unwrap();
        drop(port);
        assert!(Port::of(number).is_none(), "a server listens there");
        drop(server);
        let again = Port::of(number).expect("nobody has it").for_good();
        assert!(Port::of(again).is_none(), "it was reserved for good");
    }
}
