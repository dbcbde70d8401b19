//! Definition of a load: how requests are sent, and for how long.

mod addresses;
mod change;
mod check;
mod extent;
mod over;
mod proxy;

use crate::{Slo, Span, Stage, stages};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

pub use addresses::Addresses;
pub use change::Change;
pub use check::Invalid;
pub use extent::Extent;
pub use over::{KeyKind, Protocol};
pub use proxy::ProxyProtocol;

/// The most requests per second: one per nanosecond, the clock's resolution.
pub const MOST_RATE: f64 = 1e9;
/// The most requests in flight over all connections. The times of each take 16 bytes: 64 MiB in all.
pub const MOST_IN_FLIGHT: u64 = 4 << 20;
/// The most generator threads.
pub const MOST_THREADS: u32 = 1024;

/// Length of a payload over WebSocket unless said otherwise, in bytes: that of a chat line or a price.
pub const USUAL_SIZE: u32 = 32;
/// The largest, in bytes.
pub const MOST_SIZE: u32 = 64 << 20;

/// How a server is loaded: the shape of the load, without who is loaded and what is said.
///
/// This is the one definition of each option: the command line, experiment files, the engine's plan
/// and the record of a trial all take it from here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Load {
    /// Name of the load, where the experiment gives one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Contract or requests that the load sends, in words, for runs with several of them; otherwise it may be absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contract: Option<String>,
    /// Transport and HTTP version, for servers that prony starts.
    #[serde(skip_serializing_if = "Protocol::is_plain")]
    pub over: Protocol,
    /// The key of the certificate that they are given, where they speak TLS.
    #[serde(skip_serializing_if = "KeyKind::is_default")]
    pub key: KeyKind,
    /// Proxy that connections go through, as a URL without user and password: http, https, socks5 or socks5h. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// PROXY protocol header that each connection begins with, as from a balancer. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<ProxyProtocol>,
    /// Addresses of the server's name that connections go to.
    #[serde(skip_serializing_if = "Addresses::is_default")]
    pub addresses: Addresses,
    /// How often the name is looked up again while the load runs; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns_refresh: Option<Span>,
    /// Connections over TLS resume earlier sessions where the server allows it.
    #[serde(skip_serializing_if = "is_true")]
    pub resumption: bool,
    /// Connections over all threads, at least 1; of a number that changes the largest.
    pub connections: u32,
    /// A number of connections that changes, in a closed loop: stages one after the other, from the load's beginning on, whose
    /// lengths make its duration. Empty: the same number throughout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connection_stages: Vec<Stage>,
    /// The most connections of an open loop: while its rate needs more than `connections`, and more of them help, it opens
    /// more. Absent: no more than `connections`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_connections: Option<u32>,
    /// Rule by which a request at a rate gets its connection.
    #[serde(skip_serializing_if = "Assignment::is_default")]
    pub assignment: Assignment,
    /// Generator threads, at least 1 and at most `connections` and 1,024.
    pub threads: u32,
    /// Requests per second over all connections, above 0 and at most 1,000,000,000; absent in a closed loop, in which a request
    /// is due as soon as a connection is free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,
    /// A rate that changes: stages one after the other, from the load's beginning on, whose lengths
    /// make its duration; `rate` is then their mean. Empty: the same rate throughout.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// Log that is replayed at its own times. `rate` is then their mean, and `stages` are what fell due in each part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// How requests at a rate are spaced.
    pub arrival: Spacing,
    /// Requests in flight per connection, over HTTP/2 as streams, at least 1; over all connections at most 4,194,304.
    pub pipeline: u32,
    /// Keep connections open, from before the load begins; otherwise each connection is made when it
    /// is due, for `calls` requests.
    pub keepalive: bool,
    /// Without `keepalive`, requests on each connection before it is closed: `pipeline` of them at
    /// once, and the next when all of these have been answered. `rate` and a number of requests then
    /// speak of connections: what falls due is a connection, and the requests on it after the first
    /// are due as soon as they can be sent. 1 with `keepalive`.
    #[serde(skip_serializing_if = "is_one")]
    pub calls: u32,
    /// Each connection is closed after this many requests, the first ones after fewer, so that not all end together; null: none
    /// is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_per_connection: Option<u32>,
    /// Each connection is closed after this time, once what is in flight on it has been answered; null: none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection_lifetime: Option<Span>,
    /// Idle connections: open throughout the load, and nothing is sent on them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub idle_connections: u32,
    /// Over HTTP/3, sockets of each thread, which its connections share; null: each connection has its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp_sockets: Option<u32>,
    /// Limits that an answer keeps to be a good one; null: there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slo: Option<Slo>,
    /// How long the measurement lasts.
    #[serde(flatten)]
    pub extent: Extent,
    /// Message to be echoed, for tcp-echo.
    pub message: String,
    /// Length of each message's payload over WebSocket, in bytes, at most 64 MiB.
    #[serde(skip_serializing_if = "is_usual_size")]
    pub size: u32,
    /// Messages over WebSocket are text, of ASCII characters; otherwise binary.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub text: bool,
    /// A request, or a connection's set-up, that takes longer is given up.
    pub timeout: Span,
    /// The longest that the warm-up may take; it ends sooner when the load is steady.
    pub warmup: Span,
    /// Loaded unmeasured for this long before the measurement, where there is no warm-up: until connections are spread and
    /// answers have begun to come.
    #[serde(skip_serializing_if = "Span::is_zero")]
    pub lead_in: Span,
    /// Length of a window.
    pub window: Span,
    /// How bytes are moved.
    pub transport: Transport,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(calls: &u32) -> bool {
    *calls == 1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &u32) -> bool {
    *n == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_usual_size(size: &u32) -> bool {
    *size == USUAL_SIZE
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_true(yes: &bool) -> bool {
    *yes
}

impl Default for Load {
    /// A closed loop of 64 connections on one thread for 10 seconds.
    fn default() -> Self {
        let extent = Extent::default();
        Self {
            name: None,
            contract: None,
            over: Protocol::Plain,
            key: KeyKind::EcdsaP256,
            proxy: None,
            proxy_protocol: None,
            addresses: Addresses::First,
            dns_refresh: None,
            resumption: true,
            connections: 64,
            connection_stages: Vec::new(),
            max_connections: None,
            assignment: Assignment::Any,
            threads: 1,
            rate: None,
            stages: Vec::new(),
            replay: None,
            arrival: Spacing::Constant,
            pipeline: 1,
            keepalive: true,
            calls: 1,
            requests_per_connection: None,
            connection_lifetime: None,
            idle_connections: 0,
            udp_sockets: None,
            slo: None,
            extent,
            message: "hello\n".into(),
            size: USUAL_SIZE,
            text: false,
            timeout: Span(Duration::from_secs(5)),
            warmup: Span(Duration::from_secs(3)),
            lead_in: Span(Duration::ZERO),
            window: Span(extent.window()),
            transport: Transport::Auto,
        }
    }
}

/// A server's log that is sent again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replay {
    /// Path of the log file.
    pub log: String,
    /// How many times as fast as it came, above 0.
    pub speed: f64,
}

impl fmt::Display for Replay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "replay of {}", self.log)?;
        match self.speed {
            1.0 => Ok(()),
            speed => write!(f, " ×{speed}"),
        }
    }
}

/// How requests that are due at a rate are spaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Evenly.
    #[default]
    Constant,
    /// With exponential gaps, as independent users would.
    Poisson,
}

impl fmt::Display for Spacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Constant => "constant",
            Self::Poisson => "poisson",
        })
    }
}

impl std::str::FromStr for Spacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Constant, Self::Poisson]
            .into_iter()
            .find(|spacing| spacing.to_string() == text)
            .ok_or_else(|| format!("{text:?} is not a spacing: there are constant and poisson"))
    }
}

/// Rule by which a request of an open loop gets its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Assignment {
    /// Any that is free: a request waits only while all of them are busy.
    #[default]
    Any,
    /// Each in its turn, whether it is free or not, as wrk2 does; of Poisson arrivals one drawn at random.
    RoundRobin,
}

impl Assignment {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    fn is_default(&self) -> bool {
        *self == Self::Any
    }
}

impl fmt::Display for Assignment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Any => "any",
            Self::RoundRobin => "round-robin",
        })
    }
}

impl std::str::FromStr for Assignment {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Any, Self::RoundRobin]
            .into_iter()
            .find(|one| one.to_string() == text)
            .ok_or_else(|| format!("{text:?} is no assignment: there are any and round-robin"))
    }
}

impl Load {
    /// The most connections that it may have open at once.
    #[must_use]
    pub fn max_connections(&self) -> u32 {
        match (self.rate, self.max_connections) {
            (Some(_), Some(most)) => most.max(self.connections),
            _ => self.connections,
        }
    }
}

/// How bytes are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub enum Transport {
    /// The one that suits the load best, of those that the kernel has.
    #[default]
    #[serde(rename = "auto")]
    Auto,
    /// `epoll_wait`, `recv`, `send`.
    #[serde(rename = "epoll")]
    Epoll,
    /// `io_uring`: one system call per turn of the loop for all connections.
    #[serde(rename = "io_uring")]
    IoUring,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Auto => "auto",
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

impl std::str::FromStr for Transport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::Auto, Self::Epoll, Self::IoUring]
            .into_iter()
            .find(|kind| kind.to_string() == text)
            .ok_or_else(|| {
                format!("{text:?} is not a transport: there are auto, epoll and io_uring")
            })
    }
}

impl fmt::Display for Load {
    /// Writes the load's name, or a short label that distinguishes the load in its experiment: `c64`,
    /// `c100 t2 10000/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            return f.write_str(name);
        }
        match self.connection_stages.as_slice() {
            [] => write!(f, "c{}", self.connections)?,
            stages => write!(f, "c {}", stages::shown(stages))?,
        }
        if self.threads > 1 {
            write!(f, " t{}", self.threads)?;
        }
        match self.pipeline {
            0 | 1 => {}
            streams if self.over.has_streams() => write!(f, " s{streams}")?,
            requests => write!(f, " p{requests}")?,
        }
        if let Some(replay) = &self.replay {
            write!(f, " {replay}")?;
        } else if !self.stages.is_empty() {
            write!(f, " {}", stages::shown(&self.stages))?;
        } else if let Some(rate) = self.rate {
            write!(f, " {rate}/s")?;
        }
        if self.rate.is_some() && self.arrival == Spacing::Poisson {
            write!(f, " poisson")?;
        }
        if self.rate.is_some() && self.assignment != Assignment::Any {
            write!(f, " {}", self.assignment)?;
        }
        if !self.keepalive {
            write!(f, " no-keepalive")?;
        }
        if let Some(requests) = self.requests_per_connection {
            write!(f, " r{requests}")?;
        }
        if let Some(lifetime) = self.connection_lifetime {
            write!(f, " life {lifetime}")?;
        }
        if self.idle_connections > 0 {
            write!(f, " idle {}", self.idle_connections)?;
        }
        if let Some(sockets) = self.udp_sockets {
            write!(f, " u{sockets}")?;
        }
        if !self.over.is_plain() {
            write!(f, " {}", self.over)?;
        }
        if self.over.is_tls() && !self.key.is_default() {
            write!(f, " {}", self.key)?;
        }
        if self.over.is_tls() && !self.resumption {
            write!(f, " no-resumption")?;
        }
        if let Some(proxy) = &self.proxy {
            write!(f, " through {proxy}")?;
        }
        if let Some(version) = &self.proxy_protocol {
            write!(f, " proxy-protocol-{version}")?;
        }
        if !self.addresses.is_default() {
            write!(f, " addresses-{}", self.addresses)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_load_survives_json() {
        for load in [
            Load::default(),
            Load {
                rate: Some(5.0),
                extent: Extent::Requests(1_000_000),
                keepalive: false,
                calls: 3,
                ..Load::default()
            },
        ] {
            let json = serde_json::to_value(&load).unwrap();
            assert_eq!(serde_json::from_value::<Load>(json).unwrap(), load);
        }
    }

    #[test]
    fn a_label_says_what_it_is_over() {
        let load = |over, key| Load {
            over,
            key,
            pipeline: 8,
            ..Load::default()
        };
        for (load, label) in [
            (load(Protocol::Plain, KeyKind::Rsa2048), "c64 p8"),
            (load(Protocol::Tls, KeyKind::EcdsaP256), "c64 p8 tls"),
            (load(Protocol::H2c, KeyKind::Rsa2048), "c64 s8 h2c"),
            (load(Protocol::H2, KeyKind::Rsa2048), "c64 s8 h2 rsa2048"),
        ] {
            assert_eq!(load.to_string(), label);
        }
    }

    #[test]
    fn loads_of_earlier_duels_are_read() {
        let old = json!({"connections": 7, "threads": 2, "rate": null, "contract": "tcp-echo"});
        let load: Load = serde_json::from_value(old).unwrap();
        assert_eq!((load.connections, load.threads, load.rate), (7, 2, None));
        assert_eq!(load.contract.as_deref(), Some("tcp-echo"));
    }
}
