//! Input of the engine: a load shape, a target and a dialogue, without any knowledge of the server that answers.

use crate::clock::Nanos;
use crate::lookups::Lookups;
use crate::protocol::grpc::GrpcExpect;
use crate::protocol::h2::StreamedExchange;
use crate::protocol::mix::{Recorded, RecordedRequest};
use crate::protocol::proxy::{self, Proxy};
use crate::protocol::tls::TlsOptions;
use crate::protocol::ws::WsMessages;
use crate::protocol::{Expect, HttpExchange, Limits, Mix};
use crate::target::Target;
use prony_record::load::{Invalid, Load, Spacing, Transport};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Protocol and messages of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialogue {
    /// A message that the server must send back.
    Echo(Vec<u8>),
    /// HTTP/1.1 requests, in turn.
    Http {
        /// The requests, at least one.
        exchanges: Vec<HttpExchange>,
        /// How much of an answer is accepted.
        limits: Limits,
    },
    /// HTTP/2 requests, in turn: the load's `pipeline` is the number of streams in flight on each connection.
    H2(Box<StreamedRequests>),
    /// HTTP/3 requests, in turn: the plan has TLS, and the load's `pipeline` is the number of streams in flight on each
    /// connection.
    H3(Box<StreamedRequests>),
    /// gRPC calls, in turn, over HTTP/2.
    Grpc(Box<StreamedRequests<GrpcExpect>>),
    /// Messages over WebSocket, which must come back.
    Ws(Box<WsMessages>),
    /// Several kinds of requests, each with its share of all.
    Mix(Box<Mix>),
    /// Session that the caller of [`run_with`](crate::run_with) supplies.
    Own,
}

/// Requests over HTTP/2 or HTTP/3.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamedRequests<E = Expect> {
    /// The requests, at least one.
    pub exchanges: Vec<StreamedExchange<E>>,
    /// How much of an answer is accepted.
    pub limits: Limits,
    /// The window of each stream and of each connection, in bytes, at least 1 and at most 2^31 − 1; a connection has at
    /// least 65,535.
    pub window: u32,
}

impl<E> StreamedRequests<E> {
    /// The longest request, in bytes.
    fn longest(&self) -> u64 {
        let lengths = self.exchanges.iter().map(StreamedExchange::length);
        lengths.max().unwrap_or_default()
    }
}

impl Dialogue {
    /// One HTTP request again and again.
    pub fn http(request: &crate::protocol::HttpRequest, expect: Expect) -> Self {
        Self::Http {
            exchanges: vec![HttpExchange::new(request, expect)],
            limits: Limits::default(),
        }
    }

    /// Does the user say which status answers must have?
    pub(crate) fn expects_status(&self) -> bool {
        match self {
            Self::Http { exchanges, .. } => exchanges.iter().any(HttpExchange::expects_status),
            Self::H2(it) | Self::H3(it) => {
                it.exchanges.iter().any(StreamedExchange::expects_status)
            }
            Self::Mix(mix) => mix.requests.iter().any(|it| !it.expected.status.is_empty()),
            Self::Echo(_) | Self::Grpc(_) | Self::Ws(_) | Self::Own => false,
        }
    }

    /// Does it go over UDP?
    fn is_http3(&self) -> bool {
        match self {
            Self::H3(_) => true,
            Self::Mix(mix) => mix.http2.is_some_and(|how| how.http3),
            _ => false,
        }
    }

    /// The longest request, in bytes; 0 where the caller supplies them.
    fn longest(&self) -> u64 {
        match self {
            Self::Echo(message) => message.len() as u64,
            Self::Http { exchanges, .. } => exchanges
                .iter()
                .map(HttpExchange::length)
                .max()
                .unwrap_or_default(),
            Self::H2(it) | Self::H3(it) => it.longest(),
            Self::Grpc(it) => it.longest(),
            Self::Ws(it) => it.length(),
            Self::Mix(mix) => mix.longest(),
            Self::Own => 0,
        }
    }

    /// The shortest time after which this side ends a stream, in nanoseconds.
    pub(crate) fn listens(&self) -> Option<Nanos> {
        match self {
            Self::Mix(mix) => {
                let streams = mix.requests.iter().filter_map(|it| it.stream.as_ref());
                streams.filter_map(|stream| stream.time).min()
            }
            _ => None,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Echo(message) => message.is_empty(),
            Self::Http { exchanges, .. } => exchanges.is_empty(),
            Self::H2(it) | Self::H3(it) => it.exchanges.is_empty(),
            Self::Grpc(it) => it.exchanges.is_empty(),
            Self::Mix(mix) => mix.requests.is_empty(),
            Self::Ws(_) | Self::Own => false,
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
    /// Open loop, evenly spaced at a rate that changes, by the stages of the [load](Load::stages).
    Staged,
    /// Open loop, exponential gaps at a rate that changes, by the stages of the [load](Load::stages); the same seed gives
    /// the same due times.
    StagedPoisson {
        /// Seed of the gaps.
        seed: u64,
    },
    /// Open loop, at the times of a [recording](crate::protocol::mix::Recorded).
    Recorded,
    /// Open loop, exponential gaps; the same seed gives the same due times.
    Poisson {
        /// Requests per second over all connections.
        rate: f64,
        /// Seed of the gaps.
        seed: u64,
    },
}

/// Requests whose times are kept, 64 bytes each: see [`Detail::trace`](crate::Detail::trace).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trace {
    /// None.
    #[default]
    None,
    /// The first request on each connection that ends in the measurement. It gives set-up times and times to the
    /// first byte, without the memory that all requests need.
    FirstOnConnection,
    /// Every request that ends in the measurement.
    All,
}

/// A load of a target: three parts, each of which can be written down and sent elsewhere, and what is
/// the generator's own affair.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Plan {
    /// The load's shape. Its warm-up is the affair of the caller, who [steers](crate::Control).
    pub load: Load,
    /// Where to; with a proxy, its address.
    pub target: Target,
    /// Protocol and messages of each connection.
    pub dialogue: Dialogue,
    /// How it is encrypted; none: it is not.
    #[serde(default)]
    pub tls: Option<TlsOptions>,
    /// Proxy that connections go through; None: they go to the server itself.
    #[serde(default)]
    pub proxy: Option<Proxy>,
    /// Addresses that connections are spread over, as the load says, the target's among them; empty: all go to the
    /// target.
    #[serde(default)]
    pub addresses: Vec<SocketAddr>,
    /// Host and port that are looked up again, where the load says so; None: the addresses stay.
    #[serde(default)]
    pub name: Option<(String, u16)>,
    /// Where they are looked up, and read.
    #[serde(skip)]
    pub lookups: Lookups,
    /// The addresses of the machine that sends, of the target's family, which connections come from in turns; empty: the
    /// kernel chooses. Each has its own ports, some 28,000 towards one target.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    /// Seed of the gaps between Poisson arrivals: the same seed gives the same due times.
    pub seed: u64,
    /// Seed of the values in requests; None: `seed`. With both, servers that share a database can have the same
    /// arrivals with different values.
    pub values: Option<u64>,
    /// The CPUs that the threads are pinned to in turn; empty: not pinned.
    pub cpus: Vec<usize>,
    /// Requests whose times are kept.
    pub trace: Trace,
    /// The first requests of a closed loop are sent evenly over this time, in nanoseconds: otherwise the answers of a server that
    /// takes the same time for each would come all at once, again and again.
    #[serde(default)]
    pub spread: Nanos,
    /// Before a connection is tried again that brought no answer the last time, in nanoseconds.
    #[serde(default = "retry")]
    pub retry: Nanos,
}

/// 20 ms, so that a server that refuses connections is not asked by a loop without an end.
fn retry() -> Nanos {
    20_000_000
}

impl Plan {
    /// Plan for this load of a target, not pinned to CPUs, without a trace.
    pub fn new(load: Load, target: Target, dialogue: Dialogue) -> Self {
        Self {
            load,
            target,
            dialogue,
            tls: None,
            proxy: None,
            addresses: Vec::new(),
            name: None,
            lookups: Lookups::default(),
            sources: Vec::new(),
            seed: 0,
            values: None,
            cpus: Vec::new(),
            trace: Trace::None,
            spread: 0,
            retry: retry(),
        }
    }

    /// A closed loop on one thread over epoll: `connections` connections, 1-second windows, time-out
    /// 5 s.
    pub fn closed(target: Target, dialogue: Dialogue, connections: u32) -> Self {
        let load = Load {
            connections,
            transport: Transport::Epoll,
            ..Load::default()
        };
        Self::new(load, target, dialogue)
    }

    /// When requests are due.
    pub fn arrival(&self) -> Arrival {
        match (self.load.rate, self.load.arrival) {
            (None, _) => Arrival::Closed,
            _ if self.recorded().is_some() => Arrival::Recorded,
            (Some(_), Spacing::Constant) if !self.load.stages.is_empty() => Arrival::Staged,
            (Some(rate), Spacing::Constant) => Arrival::Constant(rate),
            (Some(_), Spacing::Poisson) if !self.load.stages.is_empty() => {
                Arrival::StagedPoisson { seed: self.seed }
            }
            (Some(rate), Spacing::Poisson) => Arrival::Poisson {
                rate,
                seed: self.seed,
            },
        }
    }

    /// The recording that is sent, if it is one.
    pub(crate) fn recorded(&self) -> Option<&Recorded> {
        match &self.dialogue {
            Dialogue::Mix(mix) => mix.recorded.as_deref(),
            _ => None,
        }
    }

    /// The number of requests after which the measurement ends, unless it ends by time (see
    /// [`Control`](crate::Control)).
    pub fn requests(&self) -> Option<u64> {
        match self.load.extent {
            prony_record::Extent::Requests(n) => Some(n),
            prony_record::Extent::Duration(_) => None,
        }
    }

    /// The plan's dialogue is none that the engine could speak by itself.
    pub(crate) fn without_dialogue() -> Invalid {
        Invalid {
            option: "the dialogue",
            must: "an echo or HTTP requests, or supplied with run_with",
            found: "neither".into(),
        }
    }

    /// HTTP/3 cannot be spoken without TLS, or over a unix socket.
    pub(crate) fn without_quic() -> Invalid {
        Invalid {
            option: "HTTP/3",
            must: "spoken over TLS, with a host and a port",
            found: "not so".into(),
        }
    }

    /// Can it be carried out?
    ///
    /// # Errors
    /// The first option that says no.
    pub fn validate(&self) -> Result<(), Invalid> {
        self.load.check()?;
        if self.dialogue.is_empty() {
            return Err(Invalid {
                option: "the message or request list",
                must: "not empty",
                found: "empty".into(),
            });
        }
        self.check_families()?;
        proxy::check(self, self.dialogue.is_http3())?;
        self.check_recorded()?;
        let Load {
            connections,
            pipeline,
            ..
        } = self.load;
        let in_flight = u64::from(connections) * u64::from(pipeline);
        let bytes = in_flight.saturating_mul(self.dialogue.longest());
        if matches!(self.dialogue, Dialogue::Ws(_)) && bytes > MOST_BYTES {
            return Err(Invalid {
                option: "size",
                must: "small enough that the messages in flight over all connections have at most 1 GiB",
                found: format!("one that makes {bytes} bytes"),
            });
        }
        // One request per connection may have any length: the user's file of that length is in memory anyway.
        if pipeline > 1 && bytes > MOST_BYTES {
            return Err(Invalid {
                option: "pipeline",
                must: "small enough that the requests in flight over all connections have at most 1 GiB",
                found: format!("{pipeline}, which makes {bytes} bytes"),
            });
        }
        Ok(())
    }
}

impl Plan {
    /// Is what was recorded whole?
    fn check_recorded(&self) -> Result<(), Invalid> {
        let Some(recorded) = self.recorded() else {
            return Ok(());
        };
        let requests = match &self.dialogue {
            Dialogue::Mix(mix) => mix.requests.len(),
            _ => 0,
        };
        let known = |it: &RecordedRequest| (it.request as usize) < requests;
        let whole = !recorded.due.is_empty()
            && recorded.due.len() == recorded.requests.len()
            && recorded.due.is_sorted()
            && recorded.requests.iter().all(known);
        match whole && self.load.rate.is_some() {
            true => Ok(()),
            false => Err(Invalid {
                option: "the recording",
                must: "requests of the mix with their times, in order, at their mean rate",
                found: "something else".into(),
            }),
        }
    }

    /// Do the sources fit the target?
    fn check_families(&self) -> Result<(), Invalid> {
        let fits = |ip: &&IpAddr| match &self.target {
            Target::Tcp(addr) => addr.is_ipv6() == ip.is_ipv6(),
            Target::Unix(_) => false,
        };
        let families = |it: &&SocketAddr| {
            let sources = &mut self.sources.iter();
            sources.any(|ip| ip.is_ipv6() != it.is_ipv6())
        };
        if let Some(other) = self.addresses.iter().find(families) {
            return Err(Invalid {
                option: "interface",
                must: "left out where connections go to addresses of both families",
                found: format!("given, for {other} too"),
            });
        }
        let must = match &self.target {
            Target::Tcp(_) => "of the server's family, IPv4 or IPv6",
            Target::Unix(_) => "left out for a unix socket",
        };
        match self.sources.iter().find(|ip| !fits(ip)) {
            None => Ok(()),
            Some(ip) => Err(Invalid {
                option: "interface",
                must,
                found: format!("{ip}, for the server at {}", self.target),
            }),
        }
    }
}

/// The most bytes of pipelined requests that may be in flight: so many may have to be kept until the server
/// reads them.
const MOST_BYTES: u64 = 1 << 30;
