//! A blocking connection with its prelude, for tries and verifications that are no load.

use super::fault::{ProxyFault, Refusal};
use super::tunnel::{Tunnel, fault};
use super::{Proxy, ProxyWay, header};
use crate::protocol::tls::{ProbeError, TlsStream};
use crate::remedy::Remedy;
use prony_record::load::ProxyProtocol;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// Why a server cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The first connection could not be made, or broke.
    #[error("cannot connect to {0}: {1}")]
    Connection(String, io::Error),
    /// TLS could not be spoken with the proxy.
    #[error("the proxy {0}: {1}")]
    Tls(String, ProbeError),
    /// The proxy made no connection.
    #[error(transparent)]
    Proxy(#[from] ProxyFault),
}

impl DialError {
    /// Returns the action of the user that may help; None: the error says it all.
    #[must_use]
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Connection(..) => None,
            Self::Tls(_, error) => Some(error.remedy()),
            Self::Proxy(fault) => Some(fault.remedy()),
        }
    }
}

/// A connection that leads to the server.
#[derive(Debug)]
pub struct Dialed {
    wire: DialedStream,
    /// The server's first bytes, which came with the proxy's last.
    pub first: Vec<u8>,
}

#[derive(Debug)]
enum DialedStream {
    Plain(TcpStream),
    Tls(Box<TlsStream>),
}

/// Connects to this address, and goes on as a load does: with a header, or through a proxy. No step takes longer than
/// `timeout`.
///
/// # Errors
/// Why the server cannot be reached so.
pub fn dial(
    address: SocketAddr,
    (proxy, version): (Option<&Proxy>, Option<ProxyProtocol>),
    timeout: Duration,
) -> Result<Dialed, DialError> {
    let name = || {
        proxy.map_or_else(
            || address.to_string(),
            |proxy| format!("the proxy {}", proxy.name),
        )
    };
    let broken = |error| DialError::Connection(name(), error);
    let wire = match proxy.and_then(|proxy| Some((proxy, proxy.tls.as_ref()?))) {
        Some((proxy, options)) => {
            let stream = TlsStream::connect(address, options, timeout);
            let stream = stream.map_err(|error| DialError::Tls(proxy.name.clone(), error))?;
            DialedStream::Tls(Box::new(stream))
        }
        None => {
            let stream = TcpStream::connect_timeout(&address, timeout).map_err(broken)?;
            let ready = (stream.set_nodelay(true))
                .and_then(|()| stream.set_read_timeout(Some(timeout)))
                .and_then(|()| stream.set_write_timeout(Some(timeout)));
            ready.map_err(broken)?;
            DialedStream::Plain(stream)
        }
    };
    let mut dialed = Dialed {
        wire,
        first: Vec::new(),
    };
    match proxy {
        Some(proxy) if proxy.way != ProxyWay::Forward => dialed.tunnel(proxy)?,
        _ => {}
    }
    if let (Some(version), DialedStream::Plain(stream)) = (version, &dialed.wire) {
        let ends = stream.local_addr().map_err(broken)?;
        let mut bytes = Vec::new();
        header::header(version, Some((ends, address)), &mut bytes);
        (&dialed).write_all(&bytes).map_err(broken)?;
    }
    Ok(dialed)
}

impl Dialed {
    fn tunnel(&mut self, proxy: &Proxy) -> Result<(), ProxyFault> {
        let mut out = Vec::new();
        let mut tunnel = Tunnel::begin(proxy, &mut out);
        let mut buffer = [0; 4096];
        loop {
            let n = (&*self)
                .write_all(&out)
                .and_then(|()| (&*self).read(&mut buffer))
                .map_err(|error| fault(proxy, refusal(&error)))?;
            out.clear();
            if n == 0 {
                return Err(fault(proxy, Refusal::Closed));
            }
            if let Some(used) = tunnel.received(proxy, &buffer[..n], &mut out)? {
                self.first = buffer[used..n].to_vec();
                return Ok(());
            }
        }
    }

    /// Sets how long reads and writes may take from now on.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn patience(&self, silence: Duration) -> io::Result<()> {
        let wire = match &self.wire {
            DialedStream::Plain(stream) => stream,
            DialedStream::Tls(stream) => stream.wire(),
        };
        wire.set_read_timeout(Some(silence))?;
        wire.set_write_timeout(Some(silence))
    }

    /// Tells the server that nothing more comes, and ends that direction.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn finish(&self) -> io::Result<()> {
        match &self.wire {
            DialedStream::Plain(stream) => stream.shutdown(Shutdown::Write),
            DialedStream::Tls(stream) => stream.finish(),
        }
    }
}

fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Refusal::Silent,
        _ => Refusal::Closed,
    }
}

impl Read for &Dialed {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match &self.wire {
            DialedStream::Plain(stream) => (&*stream).read(out),
            DialedStream::Tls(stream) => (&**stream).read(out),
        }
    }
}

impl Write for &Dialed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.wire {
            DialedStream::Plain(stream) => (&*stream).write(bytes),
            DialedStream::Tls(stream) => (&**stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
