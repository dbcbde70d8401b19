//! How a connection's bytes travel: as they are, or over TLS.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use rustls::{ServerConfig, ServerConnection};

use crate::sys::is_passing;

/// A socket, with TLS around what goes over it if that is spoken.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
}

impl Wire {
    pub(super) fn new(stream: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Self {
        let secured = |config: &Arc<ServerConfig>| {
            // It fails only for a configuration that cannot speak over QUIC, which this is not.
            let mut tls =
                ServerConnection::new(Arc::clone(config)).expect("a configuration for TCP");
            tls.set_buffer_limit(None);
            Box::new(tls)
        };
        let tls = tls.map(secured);
        Self { stream, tls }
    }

    /// Reads once, into a buffer that holds more than a record of TLS. Nothing: the peer has closed its side. An error that is
    /// [passing](is_passing): nothing has come yet.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return self.stream.read(buffer);
        };
        if tls.read_tls(&mut self.stream)? == 0 {
            return Ok(0);
        }
        let processed = tls.process_new_packets().map_err(io::Error::other);
        self.flush()?;
        processed?;
        let Some(tls) = &mut self.tls else {
            return Ok(0);
        };
        let mut length = 0;
        while length < buffer.len() {
            match tls.reader().read(&mut buffer[length..]) {
                // close_notify, after what came before it.
                Ok(0) => break,
                Ok(n) => length += n,
                Err(error) if is_passing(&error) && length > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(length)
    }

    /// Takes bytes that are to be sent, and sends as many as there is room for; says how many it has taken.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else {
            return or_nothing(self.stream.write(bytes));
        };
        let taken = tls.writer().write(bytes)?;
        self.flush()?;
        Ok(taken)
    }

    /// Sends what TLS has written, as far as there is room.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let Some(tls) = &mut self.tls else {
            return Ok(());
        };
        while tls.wants_write() {
            if or_nothing(tls.write_tls(&mut self.stream))? == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Does something that was taken wait for room?
    pub(super) fn waits(&self) -> bool {
        self.tls.as_ref().is_some_and(|tls| tls.wants_write())
    }

    /// Closes our side, after what was taken.
    pub(super) fn close(&mut self) -> io::Result<()> {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
        }
        self.flush()?;
        self.stream.shutdown(Shutdown::Write)
    }
}

/// Returns the number of bytes written; 0 if there is no room now.
fn or_nothing(written: io::Result<usize>) -> io::Result<usize> {
    written.or_else(|error| {
        if is_passing(&error) {
            Ok(0)
        } else {
            Err(error)
        }
    })
}
