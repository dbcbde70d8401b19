//! A blocking connection over TLS, for tests of a server that are no load.

use super::connector::{Connector, TlsOptions};
use super::probe::ProbeError;
use rustls::ClientConnection;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A connection whose two directions can be used by two threads.
#[derive(Debug)]
pub struct TlsStream {
    tls: Mutex<ClientConnection>,
    wire: TcpStream,
}

impl TlsStream {
    /// Connects and carries out the handshake; a write or read of the socket takes at most `silence`.
    ///
    /// # Errors
    /// As [`probe`](fn@super::probe).
    pub fn connect(
        addr: SocketAddr,
        options: &TlsOptions,
        silence: Duration,
    ) -> Result<Self, ProbeError> {
        let connector = Connector::new(options)?;
        let mut wire =
            TcpStream::connect_timeout(&addr, silence).map_err(ProbeError::Connection)?;
        let ready = wire
            .set_nodelay(true)
            .and_then(|()| wire.set_read_timeout(Some(silence)))
            .and_then(|()| wire.set_write_timeout(Some(silence)));
        ready.map_err(ProbeError::Connection)?;
        let mut tls = super::probe::handshake(&connector, &mut wire, silence)?;
        tls.set_buffer_limit(None);
        Ok(Self {
            tls: Mutex::new(tls),
            wire,
        })
    }

    /// The connection under it.
    #[must_use]
    pub fn wire(&self) -> &TcpStream {
        &self.wire
    }

    /// Tells the server that nothing more comes, and ends that direction.
    ///
    /// # Errors
    /// When the connection is broken.
    pub fn finish(&self) -> io::Result<()> {
        let mut tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        tls.send_close_notify();
        self.flush_into(&mut tls)?;
        self.wire.shutdown(Shutdown::Write)
    }

    fn flush_into(&self, tls: &mut ClientConnection) -> io::Result<()> {
        let mut wire = &self.wire;
        while tls.wants_write() {
            tls.write_tls(&mut wire)?;
        }
        Ok(())
    }
}

impl Read for &TlsStream {
    /// 0 only after the server's close_notify; an end without it is an error.
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
            match tls.reader().read(out) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return result,
            }
            // Not while the other direction waits for the connection.
            drop(tls);
            if self.wire.peek(&mut [0])? == 0 {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the server closed the connection without TLS's close_notify",
                ));
            }
            let mut tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
            // Bytes are there, so that this does not wait. It takes as many as rustls has room for, as all that was
            // decrypted has been read: more than that would be an error.
            tls.read_tls(&mut &self.wire)?;
            let result = tls.process_new_packets();
            self.flush_into(&mut tls)?;
            result.map_err(io::Error::other)?;
        }
    }
}

impl Write for &TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut tls = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        let n = tls.writer().write(bytes)?;
        self.flush_into(&mut tls)?;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TlsStream {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        (&*self).read(out)
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
