//! The server's side of a connection, in the clear or through TLS.

use super::breaking;
use rustls::{ServerConfig, ServerConnection, Stream};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

/// Closed when it is dropped, as sockets are: with data that has not been read, the kernel makes a reset of that.
pub struct Line {
    stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
}

impl Line {
    /// With a configuration, through TLS; the handshake is done with the first bytes that are read or written.
    pub fn new(stream: TcpStream, config: Option<Arc<ServerConfig>>) -> Self {
        let secured = |config| {
            // It fails only for a configuration that cannot speak over QUIC, which this is not.
            Box::new(ServerConnection::new(config).expect("a configuration for TCP"))
        };
        Self {
            stream,
            tls: config.map(secured),
        }
    }

    /// Says in TLS that no more will be sent: an end without that may have been cut off on its way.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn notify(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        while tls.is_handshaking() {
            tls.complete_io(&mut self.stream)?;
        }
        tls.send_close_notify();
        while tls.wants_write() {
            tls.write_tls(&mut self.stream)?;
        }
        Ok(())
    }

    /// Says that no more will be sent.
    ///
    /// # Errors
    /// When the connection is gone.
    pub fn end(&mut self) -> io::Result<()> {
        self.notify()?;
        self.stream.shutdown(Shutdown::Write)
    }

    /// The end of this connection becomes a reset.
    pub fn reset(&self) {
        breaking::reset(&self.stream);
    }

    /// Until the other side has closed.
    pub fn wait_until_closed(&self) {
        breaking::wait_until_closed(&self.stream);
    }
}

impl Read for Line {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.stream.read(buffer),
            Some(tls) => Stream::new(tls.as_mut(), &mut self.stream).read(buffer),
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.stream.write(bytes),
            Some(tls) => Stream::new(tls.as_mut(), &mut self.stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => self.stream.flush(),
            Some(tls) => Stream::new(tls.as_mut(), &mut self.stream).flush(),
        }
    }
}
