//! A connection on which a session speaks, with plain system calls.

use super::{PAUSE, PIECES, REPEATS, SendMode, SessionResults};
use crate::relay::Relay;
use prony_engine::Target;
use prony_engine::protocol::tls::{TlsOptions, TlsStream};
use prony_engine::protocol::{Answer, Booked, Events, Fault, InFlight, Session, StreamNews, Token};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::Duration;

trait ByteStream: Read + Write {}
impl ByteStream for TcpStream {}
impl ByteStream for UnixStream {}
impl ByteStream for TlsStream {}
impl ByteStream for Relayed {}

/// A connection to a server over QUIC, through a relay that takes it off.
struct Relayed {
    stream: TcpStream,
    /// Relay that lasts as long as the connection.
    _relay: Relay,
}

impl Read for Relayed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.read(buffer)
    }
}

impl Write for Relayed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The connection, with what the session remembers of it.
pub(super) struct VerifyConnection<S: Session> {
    stream: Box<dyn ByteStream>,
    pub(super) conn: S::Conn,
    flow: <S::Token as Token>::InFlight,
    ready: bool,
    /// Requests whose answers are streams of which an event has come.
    streams: Vec<S::Token>,
}

impl<S: Session> VerifyConnection<S> {
    /// Connects, and waits until requests can be sent.
    pub(super) fn open(
        session: &mut S,
        place: (&Target, Option<&TlsOptions>),
        silence: Duration,
        seen: &mut SessionResults,
    ) -> io::Result<Self> {
        let mut line = Self {
            stream: connect(place, silence)?,
            conn: S::Conn::default(),
            flow: Default::default(),
            ready: false,
            streams: Vec::new(),
        };
        let mut out = Vec::new();
        line.tell(seen, |conn, heard| {
            session.opened(conn, 0, &mut out, heard);
        });
        line.stream.write_all(&out)?;
        while !line.ready {
            line.hear(session, seen)?;
        }
        Ok(line)
    }

    /// Sends so many requests in this way, at most [`REPEATS`], and reads until all are answered or one is wrong.
    pub(super) fn ask(
        &mut self,
        session: &mut S,
        n: usize,
        way: SendMode,
        seen: &mut SessionResults,
    ) -> io::Result<()> {
        let mut out = Vec::new();
        for _ in 0..n {
            if !session.accepts(&self.conn) {
                break;
            }
            let (token, _) = self.flow.put(REPEATS);
            session.request(&mut self.conn, 0, token, &mut out);
            seen.waiting += 1;
        }
        match way {
            SendMode::Fragments => {
                for piece in out.chunks(out.len().div_ceil(PIECES).max(1)) {
                    self.stream.write_all(piece)?;
                    thread::sleep(PAUSE);
                }
            }
            SendMode::Whole | SendMode::Pipelined | SendMode::Streams => {
                self.stream.write_all(&out)?;
            }
        }
        while seen.waiting > 0 && seen.wrong.is_none() {
            self.hear(session, seen)?;
        }
        Ok(())
    }

    /// Reads once.
    fn hear(&mut self, session: &mut S, seen: &mut SessionResults) -> io::Result<()> {
        let mut buffer = vec![0; 64 << 10];
        let n = self
            .stream
            .read(&mut buffer)
            .map_err(|error| match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                    io::Error::other("the server said nothing for too long")
                }
                _ => error,
            })?;
        if n == 0 {
            self.tell(seen, |conn, heard| session.end(conn, 0, heard));
            return match seen.waiting {
                0 if self.ready => Ok(()),
                0 => Err(io::Error::other(session.how_ended(&self.conn))),
                n => Err(io::Error::other(format!(
                    "the server closed the connection with {n} requests unanswered"
                ))),
            };
        }
        let mut out = Vec::new();
        self.tell(seen, |conn, heard| {
            session.received(conn, 0, &buffer[..n], &mut out, heard)
        })
        .map_err(io::Error::other::<Fault>)?;
        // A stream has been seen to work: it may have no end.
        for token in std::mem::take(&mut self.streams) {
            if self.flow.place(token).is_some() {
                self.tell(seen, |conn, heard| {
                    session.hang_up(conn, 0, token, &mut out, heard)
                });
            }
        }
        self.stream.write_all(&out)
    }

    /// Tells the session something, and takes note of what it reports.
    fn tell<R>(
        &mut self,
        seen: &mut SessionResults,
        tell: impl FnOnce(&mut S::Conn, &mut SessionEvents<'_, S::Token>) -> R,
    ) -> R {
        let mut heard = SessionEvents {
            seen,
            flow: &mut self.flow,
            ready: &mut self.ready,
            streams: &mut self.streams,
        };
        tell(&mut self.conn, &mut heard)
    }
}

/// Takes note of what a session reports.
struct SessionEvents<'a, T: Token> {
    seen: &'a mut SessionResults,
    flow: &'a mut T::InFlight,
    ready: &'a mut bool,
    streams: &'a mut Vec<T>,
}

impl<T: Token> Events<T> for SessionEvents<'_, T> {
    fn ready(&mut self) {
        *self.ready = true;
    }

    fn streamed(&mut self, token: T, _: StreamNews) {
        self.streams.push(token);
    }

    fn answered(&mut self, token: T, answer: Answer) -> Booked {
        self.flow.take(token, REPEATS);
        self.seen.answered(answer)
    }

    /// The next request goes over another connection.
    fn closing(&mut self) {
        self.seen.last = true;
    }
}

fn connect(
    (target, tls): (&Target, Option<&TlsOptions>),
    silence: Duration,
) -> io::Result<Box<dyn ByteStream>> {
    let tcp = |address: &SocketAddr| {
        let stream = TcpStream::connect_timeout(address, silence)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(silence))?;
        stream.set_write_timeout(Some(silence))?;
        Ok::<_, io::Error>(stream)
    };
    if let (Some(tls), Target::Tcp(address)) = (tls, target) {
        if tls.is_http3() {
            let relay = Relay::to(*address, tls)?;
            return Ok(Box::new(Relayed {
                stream: tcp(&relay.addr())?,
                _relay: relay,
            }));
        }
        let stream = TlsStream::connect(*address, tls, silence).map_err(io::Error::other)?;
        return Ok(Box::new(stream));
    }
    Ok(match target {
        Target::Tcp(address) => Box::new(tcp(address)?),
        Target::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(silence))?;
            stream.set_write_timeout(Some(silence))?;
            Box::new(stream)
        }
    })
}
