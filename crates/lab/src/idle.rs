//! Idle connections: prony opens them before a load, sends nothing on them, and holds them until the load has ended.

use crate::tree::{Root, memory};
use prony_engine::protocol::tls::{TlsOptions, TlsStream};
use prony_engine::{Target, clock};
use prony_record::IdleConnections;
use std::any::Any;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that are being opened at the same time: fewer than the shortest queues of servers.
const AT_ONCE: usize = 4;

/// prony reads the server's memory until it has not grown for this time: a server may accept connections after the kernel
/// has opened them.
const SETTLED: Duration = Duration::from_millis(100);
/// The longest that prony waits for this.
const LONGEST_GROWTH: Duration = Duration::from_secs(3);

/// An open connection.
struct Held {
    socket: RawFd,
    _owner: Box<dyn Any + Send>,
}

/// Connections that are open until this is dropped.
pub(crate) struct HeldConnections {
    all: Vec<Held>,
    took: Duration,
    /// By how much the server's memory grew while they were opened, in bytes.
    memory: Option<u64>,
}

impl HeldConnections {
    /// Opens so many, with TLS where the server speaks it. `stop` ends it early.
    ///
    /// # Errors
    /// When one of them cannot be opened, in words.
    pub(crate) fn open(
        number: u32,
        (target, tls): (&Target, Option<&TlsOptions>),
        timeout: Duration,
        root: Option<&Root>,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Self, String> {
        let before = root.and_then(resident);
        let begun = Instant::now();
        let left = AtomicU32::new(number);
        let (all, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
        let work = || {
            let one = || left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            while one().is_ok() && !stop() {
                match connect(target, tls, timeout) {
                    Ok(held) => all.lock().expect("no panic").push(held),
                    Err(why) => {
                        left.store(0, Relaxed);
                        failed.lock().expect("no panic").get_or_insert(why);
                    }
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(work);
            }
        });
        let all = all.into_inner().expect("no panic");
        if let Some(why) = failed.into_inner().expect("no panic") {
            return Err(format!(
                "idle connection {} of {number}: {why}",
                all.len() + 1
            ));
        }
        let took = begun.elapsed();
        let after = root.and_then(settled);
        Ok(Self {
            took,
            memory: before
                .zip(after)
                .map(|(before, after)| after.saturating_sub(before)),
            all,
        })
    }

    /// Number of connections, and how many of them the server has not closed until now.
    pub(crate) fn seen(&self) -> IdleConnections {
        let open = self.all.iter().filter(|one| one.is_open()).count();
        IdleConnections {
            opened: self.all.len() as u32,
            open: open as u32,
            opened_ns: clock::nanos(self.took),
            memory_bytes: self.memory,
        }
    }
}

fn connect(target: &Target, tls: Option<&TlsOptions>, timeout: Duration) -> Result<Held, String> {
    match (target, tls) {
        (Target::Tcp(addr), Some(options)) => TlsStream::connect(*addr, options, timeout)
            .map(|stream| Held::new(stream.wire().as_raw_fd(), stream))
            .map_err(|error| error.to_string()),
        (Target::Tcp(addr), None) => TcpStream::connect_timeout(addr, timeout)
            .map(|stream| Held::new(stream.as_raw_fd(), stream))
            .map_err(|error| match error.kind() {
                ErrorKind::AddrNotAvailable => {
                    "no port is left: one address has some 28,000 for each server".to_owned()
                }
                _ => error.to_string(),
            }),
        (Target::Unix(path), _) => UnixStream::connect(path)
            .map(|stream| Held::new(stream.as_raw_fd(), stream))
            .map_err(|error| error.to_string()),
    }
}

impl Held {
    fn new(socket: RawFd, owner: impl Any + Send) -> Self {
        Self {
            socket,
            _owner: Box::new(owner),
        }
    }

    /// Has the server not closed it? A server may have sent something.
    fn is_open(&self) -> bool {
        let mut byte = 0_u8;
        let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
        // SAFETY: the owner keeps the socket open, and one byte has room.
        let n = unsafe { libc::recv(self.socket, (&raw mut byte).cast(), 1, flags) };
        n > 0 || (n < 0 && io::Error::last_os_error().kind() == ErrorKind::WouldBlock)
    }
}

/// Memory of a server when it has not grown for a while.
fn settled(root: &Root) -> Option<u64> {
    let begun = Instant::now();
    let mut last = resident(root)?;
    while begun.elapsed() < LONGEST_GROWTH {
        thread::sleep(SETTLED);
        let now = resident(root)?;
        if now <= last {
            break;
        }
        last = now;
    }
    Some(last)
}

/// Resident memory of all processes of a server, in bytes.
fn resident(root: &Root) -> Option<u64> {
    root.processes().into_iter().map(memory).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn those_that_the_server_closes_are_not_open() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let target = Target::Tcp(listener.local_addr().unwrap());
        let open = |number| {
            let second = Duration::from_secs(60);
            HeldConnections::open(number, (&target, None), second, None, &|| false)
        };
        let held = open(20).unwrap();
        assert_eq!((held.seen().opened, held.seen().open), (20, 20));
        for _ in 0..5 {
            drop(listener.accept().unwrap());
        }
        // A close arrives in a moment.
        while held.seen().open > 15 {
            thread::yield_now();
        }
        assert_eq!(held.seen().open, 15);
        drop(listener);
        let why = open(1).err().unwrap();
        assert!(why.starts_with("idle connection 1 of 1: "), "{why}");
    }
}
