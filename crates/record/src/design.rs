//! How servers are measured in rounds: as a pilot has found that it fits them, or as their user has said.

use crate::load::{Assignment, Load};
use crate::{Extent, Nanos, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Windows in a segment: enough to see in them whether a backlog grows.
const WINDOWS: u32 = 10;
/// A shorter window holds too little to be a rate.
const LEAST_WINDOW: Duration = Duration::from_millis(10);

/// Connections that a rate may open, as a multiple of those that it begins with.
const GROWTH: u32 = 4;

/// How the servers of a duel are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Design {
    /// Findings of the pilot on each server, in the order of the servers.
    pub pilots: Vec<Pilot>,
    /// Measurement at saturation: as fast as responses come.
    pub saturation: Segment,
    /// At the common rate, which all servers can keep.
    pub at_rate: Segment,
    /// Requests per second at the common rate; null where nothing is measured at one.
    pub rate: Option<f64>,
    /// Generator threads.
    pub threads: u32,
    /// Segments of each kind per start of a server.
    pub segments: u32,
    /// The longest that a start is loaded unmeasured until it is steady.
    pub warmup: Span,
    /// After this, a request is given up.
    pub timeout: Span,
    /// While one server is measured the others are stopped (SIGSTOP), where prony has started them and may stop them.
    #[serde(default)]
    pub paused: bool,
    /// How long a round takes, as far as is known.
    pub round: Span,
    /// Options that the user gave, by name: `connections`, `threads`, `duration`, `warmup`, `timeout`, `rate`,
    /// `no-pause`, `cpu-rates`.
    pub given: Vec<String>,
}

/// One measurement of a started server: an unmeasured beginning, and what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// Connections.
    pub connections: u32,
    /// Loaded unmeasured for this long: five median response times at least.
    pub lead_in: Span,
    /// Measured for this long: twenty median response times at least, unless the user has said otherwise.
    pub length: Span,
}

/// Findings of a pilot on one server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pilot {
    /// The server.
    pub name: String,
    /// Median response time of the server to one request after the other, in nanoseconds.
    pub alone_ns: Nanos,
    /// Rates and response times with more connections, in the order in which they were tried.
    pub steps: Vec<PilotStep>,
    /// Generator threads: as many as it took to load it with time to spare, or as the user has said, or as there are CPUs for.
    pub threads: u32,
    /// How long its start, its verification, its warm-up and its end took together, in nanoseconds.
    pub start_ns: Nanos,
}

/// A number of connections that was tried, as fast as responses came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PilotStep {
    /// Connections.
    pub connections: u32,
    /// Right answers per second.
    pub rate: f64,
    /// The median response time, in nanoseconds.
    pub p50_ns: Nanos,
    /// The longest response time, in nanoseconds; for requests without a response, how long they were waited for. 0 where
    /// it is not known.
    #[serde(default)]
    pub longest_ns: Nanos,
}

impl Design {
    /// The load of one of its measurements: as fast as responses come, or at a rate.
    #[must_use]
    pub fn load(&self, base: &Load, rate: Option<f64>) -> Load {
        let segment = match rate {
            None => self.saturation,
            Some(_) => self.at_rate,
        };
        let length = segment.length.0;
        Load {
            connections: segment.connections,
            threads: self.threads.clamp(1, segment.connections.max(1)),
            max_connections: match (rate, base.assignment) {
                (Some(_), Assignment::Any) => {
                    let usual = segment.connections.saturating_mul(GROWTH);
                    Some(
                        base.max_connections
                            .unwrap_or(usual)
                            .max(segment.connections),
                    )
                }
                _ => None,
            },
            rate,
            lead_in: segment.lead_in,
            extent: Extent::Duration(segment.length),
            window: Span((length / WINDOWS).max(LEAST_WINDOW)),
            warmup: self.warmup,
            timeout: self.timeout,
            ..base.clone()
        }
    }

    /// How long a round measures, of so many servers.
    #[must_use]
    pub fn measured(&self, servers: usize, saturation: bool, at_rate: bool) -> Duration {
        let of = |segment: &Segment, is: bool| if is { segment.length.0 } else { Duration::ZERO };
        let once = of(&self.saturation, saturation) + of(&self.at_rate, at_rate);
        once * self.segments * servers as u32
    }
}
