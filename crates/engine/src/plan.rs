//! What a load is: everything the engine has to know, and nothing of who answers.

use crate::protocol::{Expect, HttpExchange, Limits};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Where the server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A TCP address, IPv4 or IPv6.
    Tcp(SocketAddr),
    /// A unix stream socket.
    Unix(PathBuf),
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(addr) => addr.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// What is said on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialogue {
    /// This message, which must come back.
    Echo(Vec<u8>),
    /// These requests in turn.
    Http {
        /// The requests, at least one.
        exchanges: Vec<HttpExchange>,
        /// How much of an answer is accepted.
        limits: Limits,
    },
    /// What the caller of [`run_with`](crate::run_with) supplies.
    Own,
}

impl Dialogue {
    /// One HTTP request again and again.
    pub fn http(request: &crate::protocol::HttpRequest, expect: Expect) -> Self {
        Self::Http {
            exchanges: vec![HttpExchange::new(request, expect)],
            limits: Limits::default(),
        }
    }
}

/// When requests are due.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Arrival {
    /// Closed loop: as soon as a connection is free.
    Closed,
    /// Open loop, evenly spaced; requests per second over all connections.
    Constant(f64),
    /// Open loop, exponential gaps; the same seed gives the same due times.
    Poisson {
        /// Requests per second over all connections.
        rate: f64,
        /// Of the gaps.
        seed: u64,
    },
}

impl Arrival {
    /// The target rate in requests per second; none in a closed loop.
    pub fn rate(&self) -> Option<f64> {
        match *self {
            Self::Closed => None,
            Self::Constant(rate) | Self::Poisson { rate, .. } => Some(rate),
        }
    }
}

/// How bytes are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransportKind {
    /// `epoll_wait`, `recv`, `send`.
    Epoll,
    /// `io_uring`: one system call per turn of the loop for all connections.
    IoUring,
}

impl std::fmt::Display for TransportKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

/// A load.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Where to.
    pub target: Target,
    /// What is said.
    pub dialogue: Dialogue,
    /// When.
    pub arrival: Arrival,
    /// Connections over all threads, at least 1.
    pub connections: u32,
    /// Threads, at least 1 and at most `connections`.
    pub threads: u32,
    /// The CPUs that the threads are pinned to in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Requests in flight per connection at the most, at least 1.
    pub pipeline: u32,
    /// Keep connections open, from before the load begins; otherwise each request has a connection
    /// of its own, made when it is due.
    pub keepalive: bool,
    /// Without `keepalive`, requests on each connection before it is closed, at least 1: `pipeline`
    /// of them at once, and the next when all of these have been answered. `arrival` and
    /// `requests` then speak of connections: what falls due is a connection, and the requests on
    /// it after the first are due as soon as they can be sent. 1 with `keepalive`.
    pub calls: u32,
    /// Keep the times of every request that ends in the measurement, 64 bytes each: see
    /// [`Observation::trace`](crate::Observation::trace).
    pub trace: bool,
    /// A request, or a connection's set-up, that takes longer is given up.
    pub timeout: Duration,
    /// Length of a window.
    pub window: Duration,
    /// End the measurement after so many requests (it can also end by time, see
    /// [`Control`](crate::Control)).
    pub requests: Option<u64>,
    /// How bytes are moved.
    pub transport: TransportKind,
}

/// Why a plan cannot be carried out.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} must be {must}, but is {found}")]
pub struct Invalid {
    what: &'static str,
    must: &'static str,
    found: String,
}

impl Plan {
    /// A closed loop on one thread: `connections` connections, 1-second windows, time-out 5 s.
    pub fn closed(target: Target, dialogue: Dialogue, connections: u32) -> Self {
        Self {
            target,
            dialogue,
            arrival: Arrival::Closed,
            connections,
            threads: 1,
            cpus: Vec::new(),
            pipeline: 1,
            keepalive: true,
            calls: 1,
            trace: false,
            timeout: Duration::from_secs(5),
            window: Duration::from_secs(1),
            requests: None,
            transport: TransportKind::Epoll,
        }
    }

    /// The plan's dialogue is none that the engine could speak by itself.
    pub(crate) fn without_dialogue() -> Invalid {
        Invalid {
            what: "the dialogue",
            must: "an echo or HTTP requests, or supplied with run_with",
            found: "neither".into(),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), Invalid> {
        let rate = self.arrival.rate().unwrap_or(1.0);
        let empty = match &self.dialogue {
            Dialogue::Echo(message) => message.is_empty(),
            Dialogue::Http { exchanges, .. } => exchanges.is_empty(),
            Dialogue::Own => false,
        };
        let rules = [
            (
                "connections",
                "at least 1",
                self.connections.to_string(),
                self.connections >= 1,
            ),
            (
                "threads",
                "at least 1",
                self.threads.to_string(),
                self.threads >= 1,
            ),
            (
                "threads",
                "at most the number of connections",
                self.threads.to_string(),
                self.threads <= self.connections,
            ),
            (
                "pipeline",
                "at least 1",
                self.pipeline.to_string(),
                self.pipeline >= 1,
            ),
            (
                "the rate",
                "above 0",
                rate.to_string(),
                rate.is_finite() && rate > 0.0,
            ),
            (
                "the window",
                "above 0",
                format!("{:?}", self.window),
                !self.window.is_zero(),
            ),
            (
                "the time-out",
                "above 0",
                format!("{:?}", self.timeout),
                !self.timeout.is_zero(),
            ),
            (
                "the message or request list",
                "not empty",
                "empty".into(),
                !empty,
            ),
            (
                "calls",
                "at least 1, and 1 with keep-alive",
                self.calls.to_string(),
                self.calls == 1 || (self.calls > 1 && !self.keepalive),
            ),
            (
                "pipeline",
                "at most the requests on a connection",
                self.pipeline.to_string(),
                self.keepalive || self.pipeline <= self.calls,
            ),
            (
                "requests",
                "at least 1",
                "0".into(),
                self.requests != Some(0),
            ),
        ];
        match rules.into_iter().find(|rule| !rule.3) {
            Some((what, must, found, _)) => Err(Invalid { what, must, found }),
            None => Ok(()),
        }
    }
}
