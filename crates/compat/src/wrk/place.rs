//! Where the server is, as wrk finds it.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Before an address that does not answer is given up.
const PATIENCE: Duration = Duration::from_secs(5);

/// The addresses of a host.
///
/// # Errors
/// When it has none, in words.
pub(super) fn lookup(host: &str, service: &str) -> Result<Vec<SocketAddr>, String> {
    let unknown = |why: &str| format!("unable to resolve {host}:{service} {why}");
    let port = match service {
        "http" => 80,
        "https" => 443,
        number => number
            .parse::<u16>()
            .map_err(|_| unknown("a service is a port, http or https here"))?,
    };
    let found = (host, port).to_socket_addrs().map_err(|error| {
        let text = error.to_string();
        let why = text.strip_prefix("failed to lookup address information: ");
        unknown(why.unwrap_or(&text))
    })?;
    Ok(found.collect())
}

/// Connects once, to tell early that no server listens there.
///
/// # Errors
/// The error of the system call.
pub(super) fn connect(address: &SocketAddr) -> std::io::Result<()> {
    TcpStream::connect_timeout(address, PATIENCE).map(drop)
}
