//! A connection that cannot hang: every connect, read and write ends when the step's [`Patience`]
//! does, whatever the peer does.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::CEILING;

/// Bytes shown of what a server sent: enough to recognise it, short enough for one line.
const SHOWN: usize = 60;

/// How long to listen for bytes that must not come: some fifty times a loopback round trip with
/// its scheduling, so that an honest silence costs little and a server that says more is heard. On a
/// busy machine they may come later and be missed, which fails no honest server.
pub(super) const QUIET: Duration = Duration::from_millis(10);

/// Most bytes that are sent in one call, so that progress shows soon.
const PIECE: usize = 64 * 1024;
/// Pause after each piece that [`Wire::send_until_stalled`] sends.
const PAUSE: Duration = Duration::from_micros(200);

/// A server has stopped reading when it takes nothing for this many times its longest pause so far:
/// on a busy machine an honest pause is longer.
const STALL_FACTOR: u32 = 10;
/// Or for this long: once the server's receive buffer is full, the client's kernel probes its window at ever longer intervals,
/// and the few bytes that a probe lets through do not mean that the server reads.
const LONGEST_STALL: Duration = Duration::from_secs(1);

/// A fault: what was expected, and what was found instead.
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

/// Sends in a thread of its own, while what comes back is read.
pub(super) fn sending<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    send: impl FnOnce() + Send + 'scope,
) -> Result<(), Fault> {
    match thread::Builder::new().spawn_scoped(scope, send) {
        Ok(_) => Ok(()),
        Err(error) => Err(Fault::io("prony to have a thread that sends", &error)),
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

/// When a step gives up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The longest without progress.
    pub silence: Duration,
    /// The longest in all.
    pub ceiling: Duration,
}

impl Bounds {
    pub const fn of_silence(silence: Duration) -> Self {
        Self {
            silence,
            ceiling: silence.saturating_mul(CEILING),
        }
    }
}

/// How long a step still waits for its server. All connections and threads of a step share it: the
/// step goes on for as long as one of them makes progress, which is a connection established, or bytes
/// read, or bytes that the kernel takes from us.
#[derive(Debug, Clone)]
pub(super) struct Patience {
    bounds: Bounds,
    begun: Instant,
    progress: Arc<Mutex<Instant>>,
}

impl Patience {
    /// From now on.
    pub fn new(bounds: Bounds) -> Self {
        let now = Instant::now();
        Self {
            bounds,
            begun: now,
            progress: Arc::new(Mutex::new(now)),
        }
    }

    /// The longest without progress.
    pub fn silence(&self) -> Duration {
        self.bounds.silence
    }

    /// The time left at `now` to a wait that began at `since`, or None when there is none (a socket's
    /// time-out must not be zero). What the step does between two waits is not the server's silence.
    fn left(&self, since: Instant, now: Instant) -> Option<Duration> {
        let progress = *self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let silence = progress.max(since) + self.bounds.silence;
        let ceiling = self.begun + self.bounds.ceiling;
        let left = silence.min(ceiling).saturating_duration_since(now);
        (!left.is_zero()).then_some(left)
    }

    fn progressed(&self, at: Instant) {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        *progress = at.max(*progress);
    }

    /// Why there is no time left, in words that `after …` may follow.
    pub fn ran_out(&self) -> String {
        self.ran_out_at(Instant::now())
    }

    fn ran_out_at(&self, now: Instant) -> String {
        let Bounds { silence, ceiling } = self.bounds;
        if now.saturating_duration_since(self.begun) < ceiling {
            format!("silence for {:.1} s", silence.as_secs_f64())
        } else {
            format!(
                "the limit of {:.1} s for a step reached",
                ceiling.as_secs_f64()
            )
        }
    }
}

/// How far a transfer has come: `13.2 of 16.8 MB`, or `12 of 64 bytes`.
pub(super) fn portion(done: usize, all: usize) -> String {
    if all < 1_000_000 {
        return format!("{done} of {all} bytes");
    }
    let megabytes = |bytes: usize| bytes as f64 / 1e6;
    format!("{:.1} of {:.1} MB", megabytes(done), megabytes(all))
}

/// Result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadResult {
    /// Number of bytes, at least one.
    Bytes(usize),
    /// The peer has closed its sending side.
    End,
    /// Nothing until the time given, or the step's patience ran out.
    Silence,
}

/// One connection to the server under test.
#[derive(Debug)]
pub(super) struct Wire {
    stream: TcpStream,
    patience: Patience,
}

impl Wire {
    /// Connects, with Nagle's algorithm off: a fragment must leave when it is written.
    pub fn open(addr: SocketAddr, patience: &Patience) -> io::Result<Self> {
        let ran_out = || timed_out(&patience.ran_out());
        let now = Instant::now();
        let left = patience.left(now, now).ok_or_else(ran_out)?;
        let stream = TcpStream::connect_timeout(&addr, left)
            .map_err(|error| if is_timeout(&error) { ran_out() } else { error })?;
        patience.progressed(Instant::now());
        stream.set_nodelay(true)?;
        Ok(Self {
            stream,
            patience: patience.clone(),
        })
    }

    pub fn patience(&self) -> &Patience {
        &self.patience
    }

    /// Sends all of `bytes`.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        let mut sent = 0;
        while sent < bytes.len() {
            sent += self.write(&bytes[sent..])?.ok_or_else(|| {
                let taken = portion(sent, bytes.len());
                timed_out(&format!(
                    "{} after it took {taken}",
                    self.patience.ran_out()
                ))
            })?;
        }
        Ok(())
    }

    /// Sends the first of `bytes`, waiting for room if there is none; None when the step's patience ran
    /// out.
    fn write(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        let bytes = &bytes[..bytes.len().min(PIECE)];
        self.wait(
            |left| self.stream.set_write_timeout(Some(left)),
            || (&self.stream).write(bytes),
        )
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

    /// Sends until all is taken, or nothing more has been taken for `stalled` or [`STALL_FACTOR`] times
    /// the longest pause before, whichever is longer, but at most [`LONGEST_STALL`]; tells how
    /// much was taken. Not as fast as it could: the kernel widens a receiver's buffer by how much is read
    /// per round trip, and a wide one that is then left full takes seconds to empty through a small
    /// window.
    pub fn send_until_stalled(&self, bytes: &[u8], mut stalled: Duration) -> io::Result<usize> {
        let mut sent = 0;
        while sent < bytes.len() {
            let piece = &bytes[sent..bytes.len().min(sent + PIECE)];
            let begun = Instant::now();
            let left = self
                .patience
                .left(begun, begun)
                .ok_or_else(|| timed_out(&self.patience.ran_out()))?;
            self.stream.set_write_timeout(Some(left.min(stalled)))?;
            match (&self.stream).write(piece) {
                Ok(n) => {
                    sent += n;
                    let now = Instant::now();
                    self.patience.progressed(now);
                    stalled = stalled.max((now - begun) * STALL_FACTOR).min(LONGEST_STALL);
                    thread::sleep(PAUSE);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(sent)
    }

    /// Reads what comes next.
    pub fn hear(&self, buf: &mut [u8]) -> io::Result<ReadResult> {
        self.read(|| (&self.stream).read(buf))
    }

    /// Waits until something can be read, and leaves it unread.
    pub fn hear_without_taking(&self) -> io::Result<ReadResult> {
        self.read(|| self.stream.peek(&mut [0]))
    }

    fn read(&self, read: impl FnMut() -> io::Result<usize>) -> io::Result<ReadResult> {
        let read = self.wait(|left| self.stream.set_read_timeout(Some(left)), read)?;
        Ok(match read {
            Some(0) => ReadResult::End,
            Some(n) => ReadResult::Bytes(n),
            None => ReadResult::Silence,
        })
    }

    /// Repeats a call that times out until it succeeds, or until the step's patience runs out: while it
    /// waits, another thread may make progress.
    fn wait(
        &self,
        set_timeout: impl Fn(Duration) -> io::Result<()>,
        mut call: impl FnMut() -> io::Result<usize>,
    ) -> io::Result<Option<usize>> {
        let since = Instant::now();
        let mut now = since;
        while let Some(left) = self.patience.left(since, now) {
            set_timeout(left)?;
            match call() {
                Ok(n) => {
                    self.patience.progressed(Instant::now());
                    return Ok(Some(n));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => {}
                Err(error) => return Err(error),
            }
            now = Instant::now();
        }
        Ok(None)
    }

    /// Nothing may come for a while; that the server closes is allowed.
    pub fn expect_quiet(&self, pause: Duration, expected: &str) -> Result<(), Fault> {
        let mut buf = [0; 256];
        let read = self
            .stream
            .set_read_timeout(Some(pause))
            .and_then(|()| (&self.stream).read(&mut buf));
        match read {
            Ok(0) => Ok(()),
            Ok(n) => Err(Fault::new(expected, excerpt(&buf[..n]))),
            Err(error) if is_timeout(&error) || error.kind() == io::ErrorKind::Interrupted => {
                Ok(())
            }
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
            Ok(ReadResult::End) => Ok(()),
            Ok(ReadResult::Silence) => Err(Fault::new(
                expected,
                format!("no end, {}", self.patience.ran_out()),
            )),
            Ok(ReadResult::Bytes(n)) => Err(Fault::new(expected, excerpt(&buf[..n]))),
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

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

fn timed_out(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds {
        silence: Duration::from_millis(5),
        ceiling: Duration::from_millis(60),
    };

    /// A patience, and the time `ms` after its beginning.
    fn patience() -> (Patience, impl Fn(u64) -> Instant) {
        let patience = Patience::new(BOUNDS);
        let begun = patience.begun;
        (patience, move |ms| begun + Duration::from_millis(ms))
    }

    #[test]
    fn silence_ends_a_wait() {
        let (patience, at) = patience();
        assert_eq!(patience.left(at(0), at(3)), Some(Duration::from_millis(2)));
        assert_eq!(patience.left(at(0), at(5)), None);
        assert_eq!(patience.ran_out_at(at(5)), "silence for 0.0 s");
    }

    #[test]
    fn progress_on_any_connection_begins_the_silence_anew() {
        let (patience, at) = patience();
        let other = patience.clone();
        for ms in 1..12 {
            other.progressed(at(4 * ms));
            assert!(patience.left(at(0), at(4 * ms + 4)).is_some(), "{ms}");
        }
        assert_eq!(patience.left(at(0), at(49)), None);
    }

    #[test]
    fn what_we_do_between_two_waits_is_no_silence_of_the_server() {
        let (patience, at) = patience();
        assert!(patience.left(at(40), at(40)).is_some());
    }

    #[test]
    fn progress_does_not_move_the_ceiling() {
        let (patience, at) = patience();
        for ms in 0..60 {
            patience.progressed(at(ms));
            assert!(patience.left(at(ms), at(ms)).is_some(), "{ms}");
        }
        patience.progressed(at(60));
        assert_eq!(patience.left(at(60), at(60)), None);
        let why = patience.ran_out_at(at(60));
        assert_eq!(why, "the limit of 0.1 s for a step reached");
    }

    #[test]
    fn portions_have_the_unit_that_suits_them() {
        assert_eq!(portion(0, 32), "0 of 32 bytes");
        assert_eq!(portion(13_200_000, 16_777_216), "13.2 of 16.8 MB");
    }
}
