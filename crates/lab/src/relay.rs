//! Relays that servers are verified through. Plain TCP on one side, a server's TLS on the other: what verifies a server over
//! TCP verifies it over TLS through this. And plain TCP on both sides, from one machine to another. Nothing is measured
//! through them.

mod http3;
mod passage;

pub use passage::Passage;

use prony_engine::protocol::tls::{TlsOptions, TlsStream};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// A handshake takes at most this, and so does a silence of either side; a verification gives up before.
const SILENCE: Duration = Duration::from_secs(600);
/// A connection from one machine to another takes at most this.
const CONNECT: Duration = Duration::from_secs(10);

/// Takes TLS off, until it is dropped.
#[derive(Debug)]
pub(crate) struct Relay(Door);

impl Relay {
    /// To the server at `server`. With options for HTTP/3 it takes QUIC off, and is itself spoken to in HTTP/2.
    ///
    /// # Errors
    /// When no port can be had.
    pub(crate) fn to(server: SocketAddr, options: &TlsOptions) -> io::Result<Self> {
        let options = options.clone();
        let serve = match options.is_http3() {
            true => http3::serve,
            false => serve,
        };
        Door::open(move |client| serve(client, server, &options)).map(Self)
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.0.addr
    }
}

/// Passes on what clients send byte by byte, each in a packet of its own, until it is dropped.
#[derive(Debug)]
pub(crate) struct Crumbs(Door);

impl Crumbs {
    /// To the server at `server`.
    ///
    /// # Errors
    /// When no port can be had.
    pub(crate) fn to(server: SocketAddr) -> io::Result<Self> {
        Door::open(move |client| crumble(client, server)).map(Self)
    }

    /// Where it listens.
    pub(crate) fn addr(&self) -> SocketAddr {
        self.0.addr
    }
}

/// Passes connections on to a server, as they are, until it is dropped; then its port is free again, and no connection is
/// left.
#[derive(Debug)]
pub struct Forward {
    addr: SocketAddr,
    listener: TcpListener,
    clients: Arc<Mutex<Vec<Weak<TcpStream>>>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Forward {
    /// From `at`, where port 0 stands for a free one, to the server at `to`.
    ///
    /// # Errors
    /// When the address cannot be used.
    pub fn open(at: SocketAddr, to: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        let addr = listener.local_addr()?;
        let clients: Arc<Mutex<Vec<Weak<TcpStream>>>> = Arc::default();
        let (accepting, known) = (listener.try_clone()?, Arc::clone(&clients));
        let thread = thread::Builder::new().name("relay".into()).spawn(move || {
            while let Ok((client, _)) = accepting.accept() {
                let client = Arc::new(client);
                {
                    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                    known.retain(|client| client.strong_count() > 0);
                    known.push(Arc::downgrade(&client));
                }
                // One that cannot be served is closed: the verification says so.
                let _ = thread::Builder::new()
                    .name("relay".into())
                    .spawn(move || forward(&client, to));
            }
        })?;
        Ok(Self {
            addr,
            listener,
            clients,
            thread: Some(thread),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }
}

impl Drop for Forward {
    fn drop(&mut self) {
        // Ends the accepting, and the listening of every copy of the descriptor.
        // SAFETY: takes two numbers.
        unsafe { libc::shutdown(self.listener.as_raw_fd(), libc::SHUT_RDWR) };
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        for client in clients.iter().filter_map(Weak::upgrade) {
            let _ = client.shutdown(Shutdown::Both);
        }
    }
}

fn forward(client: &TcpStream, server: SocketAddr) {
    let Ok(server) = TcpStream::connect_timeout(&server, CONNECT) else {
        let _ = client.shutdown(Shutdown::Both);
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            copy(client, &server);
            let _ = server.shutdown(Shutdown::Write);
        });
        let whole = copy(&server, client);
        let _ = client.shutdown(match whole {
            true => Shutdown::Write,
            false => Shutdown::Both,
        });
    });
}

/// Accepts connections until it is dropped.
#[derive(Debug)]
struct Door {
    addr: SocketAddr,
    over: Arc<AtomicBool>,
}

impl Door {
    fn open(serve: impl Fn(&TcpStream) + Send + Sync + 'static) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let addr = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let (ends, serve) = (Arc::clone(&over), Arc::new(serve));
        thread::Builder::new().name("relay".into()).spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ends.load(Ordering::Relaxed) {
                    return;
                }
                let serve = Arc::clone(&serve);
                // One that cannot be served is closed: the verification says so.
                let _ = thread::Builder::new()
                    .name("relay".into())
                    .spawn(move || serve(&client));
            }
        })?;
        Ok(Self { addr, over })
    }
}

impl Drop for Door {
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

fn crumble(client: &TcpStream, server: SocketAddr) {
    let Ok(server) = TcpStream::connect_timeout(&server, SILENCE) else {
        let _ = client.shutdown(Shutdown::Both);
        return;
    };
    let _ = client.set_nodelay(true);
    let _ = server.set_nodelay(true);
    thread::scope(|scope| {
        scope.spawn(|| {
            copy(client, Single(&server));
            let _ = server.shutdown(Shutdown::Write);
        });
        copy(&server, client);
        let _ = client.shutdown(Shutdown::Both);
    });
}

/// Takes one byte at a time.
struct Single<'a>(&'a TcpStream);

impl Write for Single<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(&bytes[..bytes.len().min(1)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Says `hello` to each connection, then what comes, until its end.
    fn greeter() -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let addr = listener.local_addr().unwrap();
        thread::spawn(move || {
            for mut stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || {
                    stream.write_all(b"hello ").unwrap();
                    let mut all = Vec::new();
                    let _ = stream.read_to_end(&mut all);
                    let _ = stream.write_all(&all);
                });
            }
        });
        addr
    }

    #[test]
    fn a_forward_passes_on_both_ways_and_half_closed_ends_and_frees_its_port() {
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let forward = Forward::open(at, greeter()).unwrap();
        let addr = forward.addr();
        let mut client = TcpStream::connect(addr).unwrap();
        client.write_all(b"there").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello there");
        let mut open = TcpStream::connect(addr).unwrap();
        let mut greeting = [0; 6];
        open.read_exact(&mut greeting).unwrap();
        drop(forward);
        let rest = open.read(&mut greeting);
        assert!(matches!(rest, Ok(0) | Err(_)), "{rest:?}");
        let again = Forward::open(addr, greeter()).unwrap();
        assert_eq!(again.addr(), addr);
    }

    #[test]
    fn a_server_that_is_not_there_closes_the_connection() {
        let gone = {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            listener.local_addr().unwrap()
        };
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let forward = Forward::open(at, gone).unwrap();
        let mut client = TcpStream::connect(forward.addr()).unwrap();
        assert!(matches!(client.read(&mut [0; 1]), Ok(0) | Err(_)));
    }
}
