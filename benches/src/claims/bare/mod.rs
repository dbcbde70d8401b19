//! The floor: the least that a client can do for the same requests and answers. Nothing is judged,
//! recorded or given up, and the clock is hardly looked at; one thread, connections opened one
//! after the other. What a bare loop costs is the kernel's TCP, or QUIC.
//!
//! Of each transport this is the cheapest of the variants that were measured against each other in
//! interleaved rounds with 64 to 1,024 connections: edge-triggered epoll took 2 to 3% less CPU time
//! per request than level-triggered, and `io_uring` with armed receives and registered files 3 to
//! 6% less than with a receive submitted per answer, `IORING_RECVSEND_POLL_FIRST` or not. Below
//! that the variants could not be told apart.

mod epoll;
mod quic;
mod uring;

pub use epoll::epoll;
pub use quic::quic;
pub use uring::uring;

use crate::load::Span;
use prony_engine::clock;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// The clock is read once in this many turns of a loop: with few connections a turn is one request,
/// and reading it each time would be a visible part of its cost. A power of two.
const LOOK: u32 = 16;

/// A way to run the floor: a bare loop.
pub type Loop = fn(SocketAddr, usize, &Exchange, Span) -> io::Result<Floor>;

/// Results of a bare loop while it was measured.
#[derive(Debug, Clone, Copy)]
pub struct Floor {
    /// Answers.
    pub answers: u64,
    /// The time they took.
    pub elapsed: Duration,
    /// CPU time of the thread meanwhile, in nanoseconds.
    pub cpu_ns: u64,
}

/// One request, and how long its answer is.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Sent as it is.
    pub request: Vec<u8>,
    /// Bytes of each answer: all answers must be equally long.
    pub answer: usize,
    /// Sent first on each connection, and answered by a head without a body.
    pub handshake: Vec<u8>,
}

impl Exchange {
    /// Finds out how long the answer is by asking once.
    ///
    /// # Errors
    /// When there is no connection or no answer.
    pub fn ask(addr: SocketAddr, request: &[u8]) -> io::Result<Self> {
        let mut stream = TcpStream::connect(addr)?;
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        stream.write_all(request)?;
        let mut bytes = [0; 4096];
        let mut answer = 0;
        while let Ok(n @ 1..) = stream.read(&mut bytes) {
            answer += n;
        }
        match answer {
            0 => Err(io::Error::other("the server did not answer")),
            _ => Ok(Self {
                request: request.to_vec(),
                answer,
                handshake: Vec::new(),
            }),
        }
    }
}

fn connect(
    addr: SocketAddr,
    connections: usize,
    exchange: &Exchange,
) -> io::Result<Vec<TcpStream>> {
    (0..connections)
        .map(|_| {
            let mut stream = TcpStream::connect(addr)?;
            stream.set_nodelay(true)?;
            if !exchange.handshake.is_empty() {
                stream.write_all(&exchange.handshake)?;
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    stream.read_exact(&mut byte)?;
                    head.push(byte[0]);
                }
            }
            Ok(stream)
        })
        .collect()
}

/// Counts answers, and begins to measure after the warm-up.
struct Meter {
    begin: Instant,
    span: Span,
    /// When the measurement began, with the CPU time used and the answers had by then.
    from: Option<(Instant, u64, u64)>,
    answers: u64,
    turns: u32,
}

impl Meter {
    fn new(span: Span) -> Self {
        Self {
            begin: Instant::now(),
            span,
            from: None,
            answers: 0,
            turns: 0,
        }
    }

    /// To be called once per turn; what was done, when it is over.
    #[inline]
    fn turn(&mut self) -> Option<Floor> {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(LOOK) {
            self.look()
        } else {
            None
        }
    }

    fn look(&mut self) -> Option<Floor> {
        let now = Instant::now();
        match self.from {
            None if now - self.begin >= self.span.warmup => {
                self.from = Some((now, clock::thread_cpu(), self.answers));
                None
            }
            Some((from, cpu, before)) if now - from >= self.span.measured => Some(Floor {
                answers: self.answers - before,
                elapsed: now - from,
                cpu_ns: clock::thread_cpu() - cpu,
            }),
            _ => None,
        }
    }
}

/// A loop has nothing to do but wait for answers, so that a server that stops answering would stop
/// it for ever.
fn silent() -> io::Error {
    io::Error::other("the server has stopped answering a bare loop")
}

/// More bytes came than an answer has, or the connection ended.
fn off(bytes: i64) -> io::Error {
    io::Error::other(match bytes {
        0 => "the server closed a bare loop's connection".into(),
        1.. => "an answer to a bare loop is longer than the first one was".into(),
        _ => format!(
            "a bare loop's connection failed: {}",
            io::Error::from_raw_os_error(i32::try_from(-bytes).unwrap_or(0))
        ),
    })
}
