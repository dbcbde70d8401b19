//! A connection that cannot hang: whatever the peer does, every read and every write ends at the
//! step's deadline.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes shown of what a server sent: enough to recognise it, short enough for one line.
const SHOWN: usize = 60;

/// How long to listen for bytes that must not come: some fifty times a loopback round trip with
/// its scheduling, so that an honest silence costs little and a server that says more is heard.
pub(super) const QUIET: Duration = Duration::from_millis(10);

/// What a sender that is not read sends at once, and how long it pauses then.
const PIECE: usize = 64 * 1024;
const PAUSE: Duration = Duration::from_micros(200);

/// What was expected and what was found instead.
#[derive(Debug)]
pub(super) struct Fault {
    pub expected: String,
    pub found: String,
}

impl Fault {
    pub fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            found: found.into(),
        }
    }

    /// The socket failed where `expected` should have happened.
    pub fn io(expected: impl Into<String>, error: &io::Error) -> Self {
        Self::new(expected, describe(error))
    }
}

/// A socket error in words that say what the server did.
pub(super) fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "the connection was refused: nothing listens".into(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => {
            "the server broke the connection off".into()
        }
        _ => error.to_string(),
    }
}

/// Bytes escaped and cut short.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let shown = bytes[..bytes.len().min(SHOWN)].escape_ascii();
    if bytes.len() > SHOWN {
        format!("\"{shown}\"… ({} bytes)", bytes.len())
    } else {
        format!("\"{shown}\"")
    }
}

/// The end of a step, and how long the step was allowed to take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    pub at: Instant,
    limit: Duration,
}

impl Deadline {
    pub fn within(limit: Duration) -> Self {
        Self {
            at: Instant::now() + limit,
            limit,
        }
    }

    /// The silence that made the step fail, in words.
    pub fn silence(&self) -> String {
        format!(
            "silence until the step's limit of {:.1} s",
            self.limit.as_secs_f64()
        )
    }
}

/// What a read brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    /// So many bytes, at least one.
    Bytes(usize),
    /// The peer has closed its sending side.
    End,
    /// Nothing until the time given.
    Silence,
}

/// One connection to the server under test.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    deadline: Deadline,
}

impl Wire {
    /// Connects, with Nagle's algorithm off: a fragment must leave when it is written.
    pub fn open(addr: SocketAddr, deadline: Deadline) -> io::Result<Self> {
        let left = left_until(deadline.at).ok_or_else(|| timed_out("no time left to connect"))?;
        let stream = TcpStream::connect_timeout(&addr, left)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, deadline })
    }

    pub fn deadline(&self) -> Deadline {
        self.deadline
    }

    /// Sends all of `bytes`.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut sent = 0;
        while sent < bytes.len() {
            let stuck = || timed_out(&format!("it took {sent} of {} bytes in time", bytes.len()));
            let left = left_until(self.deadline.at).ok_or_else(stuck)?;
            self.stream.set_write_timeout(Some(left))?;
            match (&self.stream).write(&bytes[sent..]) {
                Ok(n) => sent += n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => return Err(stuck()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sends `bytes` one at a time, pausing before those at `pauses`, so that the server sees
    /// several reads even where the kernel would have joined them.
    pub fn send_in_crumbs(&self, bytes: &[u8], pauses: &[usize]) -> io::Result<()> {
        for (at, byte) in bytes.iter().enumerate() {
            if pauses.contains(&at) {
                std::thread::sleep(Duration::from_millis(1));
            }
            self.send(std::slice::from_ref(byte))?;
        }
        Ok(())
    }

    /// Sends as much of `bytes` as fits without waiting; for a client about to break off.
    pub fn send_without_waiting(&self, bytes: &[u8]) -> io::Result<()> {
        self.stream.set_nonblocking(true)?;
        let sent = (&self.stream).write(bytes);
        self.stream.set_nonblocking(false)?;
        match sent {
            Err(error) if !is_timeout(&error) => Err(error),
            _ => Ok(()),
        }
    }

    /// Holds this side's kernel buffers down to about `size` bytes each, so that what the peer has
    /// taken can be told from what waits here.
    pub fn shrink_buffers(&self, size: usize) -> io::Result<()> {
        let size = libc::c_int::try_from(size).expect("a small size");
        for option in [libc::SO_RCVBUF, libc::SO_SNDBUF] {
            // SAFETY: the socket is open, and `size` is valid for the length given.
            let result = unsafe {
                libc::setsockopt(
                    self.stream.as_raw_fd(),
                    libc::SOL_SOCKET,
                    option,
                    (&raw const size).cast(),
                    size_of::<libc::c_int>() as libc::socklen_t,
                )
            };
            if result < 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(())
    }

    /// Sends until all is taken or nothing more has been taken for `stalled`; tells how much was.
    /// Not as fast as it could: the kernel widens a receiver's buffer by how much is read per round
    /// trip, and a wide one that is then left full takes seconds to empty through a small window.
    pub fn send_until_stalled(&self, bytes: &[u8], stalled: Duration) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            let left = left_until(self.deadline.at)
                .ok_or_else(|| timed_out("it took bytes until the end of the step"))?;
            self.stream.set_write_timeout(Some(left.min(stalled)))?;
            let piece = &bytes[sent..bytes.len().min(sent + PIECE)];
            match (&self.stream).write(piece) {
                Ok(n) => {
                    sent += n;
                    thread::sleep(PAUSE);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Reads what comes next, waiting no longer than the step's deadline.
    pub fn hear(&self, buf: &mut [u8]) -> io::Result<Heard> {
        self.hear_until(buf, self.deadline.at)
    }

    /// Reads what comes next, waiting until `until` or the step's deadline.
    pub fn hear_until(&self, buf: &mut [u8], until: Instant) -> io::Result<Heard> {
        self.wait(until, || (&self.stream).read(buf))
    }

    /// Waits until something can be read, and leaves it unread.
    pub fn hear_without_taking(&self) -> io::Result<Heard> {
        self.wait(self.deadline.at, || self.stream.peek(&mut [0]))
    }

    fn wait(
        &self,
        until: Instant,
        mut read: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<Heard> {
        let until = until.min(self.deadline.at);
        loop {
            let Some(left) = left_until(until) else {
                return Ok(Heard::Silence);
            };
            self.stream.set_read_timeout(Some(left))?;
            match read() {
                Ok(0) => return Ok(Heard::End),
                Ok(n) => return Ok(Heard::Bytes(n)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => return Ok(Heard::Silence),
                Err(error) => return Err(error),
            }
        }
    }

    /// Nothing may come for a while; that the server closes is allowed.
    pub fn expect_quiet(&self, pause: Duration, expected: &str) -> Result<(), Fault> {
        let mut buf = [0; 256];
        match self.hear_until(&mut buf, Instant::now() + pause) {
            Ok(Heard::Silence | Heard::End) => Ok(()),
            Ok(Heard::Bytes(n)) => Err(Fault::new(expected, excerpt(&buf[..n]))),
            Err(error) => Err(Fault::io(expected, &error)),
        }
    }

    /// Nothing may have come so far, neither bytes nor the end. Does not wait: a socket's time-out
    /// is a matter of several milliseconds, however short it is asked to be.
    pub fn expect_nothing_yet(&self, expected: &str) -> Result<(), Fault> {
        let mut buf = [0; 256];
        let read = self
            .stream
            .set_nonblocking(true)
            .and_then(|()| (&self.stream).read(&mut buf));
        let found = match read {
            Ok(0) => "the server closed the connection".to_owned(),
            Ok(n) => excerpt(&buf[..n]),
            Err(error) if is_timeout(&error) => {
                return self
                    .stream
                    .set_nonblocking(false)
                    .map_err(|error| Fault::io(expected, &error));
            }
            Err(error) => describe(&error),
        };
        Err(Fault::new(expected, found))
    }

    /// The stream must end now: no more bytes, no silence.
    pub fn expect_end(&self, expected: &str) -> Result<(), Fault> {
        let mut buf = [0; 256];
        match self.hear(&mut buf) {
            Ok(Heard::End) => Ok(()),
            Ok(Heard::Silence) => Err(Fault::new(
                expected,
                format!("no end, {}", self.deadline.silence()),
            )),
            Ok(Heard::Bytes(n)) => Err(Fault::new(expected, excerpt(&buf[..n]))),
            Err(error) => Err(Fault::io(expected, &error)),
        }
    }

    /// Closes the sending side: the server reads an end of stream.
    pub fn finish_sending(&self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)
    }

    /// Closes both sides at once, so that a thread still writing comes back.
    pub fn hang_up(&self) {
        // Fails only if the connection is gone already, which is what is wanted.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

/// The time left, or None when there is none (a socket's time-out must not be zero).
fn left_until(until: Instant) -> Option<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    (!left.is_zero()).then_some(left)
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn timed_out(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, message)
}
