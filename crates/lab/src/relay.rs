//! Plain TCP on one side, a server's TLS on the other: what verifies a server over TCP verifies it over TLS
//! through this. Nothing is measured through it.

use prony_engine::protocol::tls::{TlsOptions, TlsStream};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// A handshake takes at most this, and so does a silence of either side; a verification gives up before.
const SILENCE: Duration = Duration::from_secs(600);

/// Accepts connections until it is dropped.
#[derive(Debug)]
pub(crate) struct Relay {
    addr: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Relay {
    /// To the server at `server`.
    ///
    /// # Errors
    /// When no port can be had.
    pub(crate) fn to(server: SocketAddr, options: &TlsOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let (ends, options) = (Arc::clone(&over), options.clone());
        thread::Builder::new()
            .name("tls relay".into())
            .spawn(move || {
                for client in listener.incoming().map_while(Result::ok) {
                    if ends.load(Ordering::Relaxed) {
                        return;
                    }
                    let options = options.clone();
                    // One that cannot be served is closed: the verification says so.
                    let _ = thread::Builder::new()
                        .name("tls relay".into())
                        .spawn(move || serve(&client, server, &options));
                }
            })?;
        Ok(Self { addr, over })
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // It looks when a connection comes.
        let _ = TcpStream::connect_timeout(&self.addr, Duration::from_secs(1));
    }
}

fn serve(client: &TcpStream, server: SocketAddr, options: &TlsOptions) {
    let _ = client.set_nodelay(true);
    let Ok(server) = TlsStream::connect(server, options, SILENCE) else {
        let _ = client.shutdown(Shutdown::Both);
        return;
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            copy(client, &server);
            let _ = server.finish();
        });
        let whole = copy(&server, client);
        // A client that waits for a whole answer is told that there is none by an end in the middle of it.
        let _ = client.shutdown(match whole {
            true => Shutdown::Write,
            false => Shutdown::Both,
        });
    });
}

/// Passes on what comes, as it comes. True: until its end.
fn copy(mut from: impl Read, mut to: impl Write) -> bool {
    let mut buffer = [0; 16 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return true,
            Ok(n) if to.write_all(&buffer[..n]).is_ok() => {}
            _ => return false,
        }
    }
}
