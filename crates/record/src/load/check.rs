//! Loads that cannot be carried out.

use super::{
    Addresses, Assignment, Extent, Load, MOST_IN_FLIGHT, MOST_RATE, MOST_SIZE, MOST_THREADS,
    Protocol,
};
use crate::{Span, stages};
use std::time::Duration;

/// A shorter window holds too little to be a rate, and costs more than it shows.
const LEAST_WINDOW: Duration = Duration::from_millis(10);

/// An option of a load that cannot be carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option} must be {must}, but is {found}")]
pub struct Invalid {
    /// The option's key.
    pub option: &'static str,
    /// Requirement that the option does not meet, to follow "must be".
    pub must: &'static str,
    /// Value of the option.
    pub found: String,
}

impl Load {
    /// Can it be carried out?
    ///
    /// # Errors
    /// The first option that says no.
    pub fn check(&self) -> Result<(), Invalid> {
        let span = |span: Span| span.to_string();
        let none = String::new;
        let rate = self.rate.unwrap_or(1.0);
        let in_flight = u64::from(self.max_connections()) * u64::from(self.pipeline);
        let extent = match self.extent {
            Extent::Duration(length) => ("duration", !length.0.is_zero(), "longer than 0s", "0s"),
            Extent::Requests(n) => ("requests", n > 0, "at least 1", "0"),
        };
        let rules = [
            ("connections", self.connections >= 1, "at least 1", none()),
            (
                "max-connections",
                self.max_connections
                    .is_none_or(|most| most >= self.connections),
                "at least the number of connections that the load begins with",
                self.max_connections.unwrap_or_default().to_string(),
            ),
            (
                "max-connections",
                self.max_connections.is_none() || self.assignment == Assignment::Any,
                "left out where requests are assigned round-robin: a connection's requests wait for it",
                self.max_connections.unwrap_or_default().to_string(),
            ),
            ("threads", self.threads >= 1, "at least 1", none()),
            (
                "threads",
                self.threads <= self.connections,
                "at most the number of connections: each thread needs at least one",
                self.threads.to_string(),
            ),
            (
                "threads",
                self.threads <= MOST_THREADS,
                "at most 1024",
                self.threads.to_string(),
            ),
            ("pipeline", self.pipeline >= 1, "at least 1", none()),
            (
                "pipeline",
                in_flight <= MOST_IN_FLIGHT,
                "small enough that at most 4194304 requests are in flight over all connections",
                format!("{}, which makes {in_flight}", self.pipeline),
            ),
            (
                "calls",
                self.calls == 1 || (self.calls > 1 && !self.keepalive),
                "at least 1, and 1 with keep-alive",
                self.calls.to_string(),
            ),
            (
                "requests-per-connection",
                self.requests_per_connection
                    .is_none_or(|n| n >= 1 && self.keepalive),
                "at least 1, and needs keep-alive",
                self.requests_per_connection.unwrap_or_default().to_string(),
            ),
            (
                "connection-lifetime",
                self.connection_lifetime
                    .is_none_or(|time| !time.is_zero() && self.keepalive),
                "longer than 0, and needs keep-alive",
                self.connection_lifetime
                    .map_or_else(String::new, |it| it.to_string()),
            ),
            (
                "idle-connections",
                self.idle_connections == 0
                    || (self.proxy.is_none()
                        && self.proxy_protocol.is_none()
                        && self.over != Protocol::H3),
                "0 over HTTP/3, through a proxy, and with the PROXY protocol",
                self.idle_connections.to_string(),
            ),
            (
                "dns-refresh",
                self.dns_refresh
                    .is_none_or(|every| !every.0.is_zero() && self.addresses != Addresses::First),
                "longer than 0s, and needs connections that are spread over all addresses",
                self.dns_refresh.map_or_else(String::new, span),
            ),
            (
                "udp-sockets",
                self.udp_sockets != Some(0),
                "at least 1",
                self.udp_sockets.unwrap_or_default().to_string(),
            ),
            (
                "pipeline",
                self.keepalive || self.pipeline <= self.calls,
                match self.calls {
                    1 => {
                        "1 without keep-alive: several requests in flight need a connection that is kept open"
                    }
                    _ => "at most the requests on a connection",
                },
                self.pipeline.to_string(),
            ),
            (
                "rate",
                rate > 0.0 && rate <= MOST_RATE,
                "above 0 and at most 1000000000 requests per second, one per nanosecond",
                rate.to_string(),
            ),
            (
                "rate",
                self.stages.iter().all(|stage| {
                    // In a part of a log there may be nothing.
                    let fits = |rate: f64| {
                        (rate > 0.0 || rate == 0.0 && self.replay.is_some()) && rate <= MOST_RATE
                    };
                    fits(stage.from) && fits(stage.to) && !stage.duration.0.is_zero()
                }),
                "above 0 and at most 1000000000 requests per second in every stage, and every stage longer than 0s",
                stages::shown(&self.stages),
            ),
            (
                "connections",
                self.connection_stages.iter().all(|stage| {
                    let fits = |n: f64| n >= 1.0 && n <= f64::from(self.connections);
                    fits(stage.from) && fits(stage.to) && !stage.duration.0.is_zero()
                }),
                "at least 1 in every stage, and every stage longer than 0s",
                stages::shown(&self.connection_stages),
            ),
            (
                "connections",
                self.connection_stages.is_empty() || self.rate.is_none(),
                "constant at a rate, which sets the number of requests",
                stages::shown(&self.connection_stages),
            ),
            (
                "warmup",
                (self.stages.is_empty() && self.connection_stages.is_empty())
                    || self.warmup.0.is_zero(),
                "0s where the rate or the number of connections changes: the first stage is the warm-up",
                span(self.warmup),
            ),
            (extent.0, extent.1, extent.2, extent.3.to_owned()),
            (
                "timeout",
                !self.timeout.0.is_zero(),
                "longer than 0s",
                span(self.timeout),
            ),
            (
                "window",
                self.window.0 >= LEAST_WINDOW,
                "at least 10ms",
                span(self.window),
            ),
            (
                "message",
                !self.message.is_empty(),
                "at least one byte",
                "empty".into(),
            ),
            (
                "size",
                self.size <= MOST_SIZE,
                "at most 67108864 bytes (64 MiB)",
                self.size.to_string(),
            ),
        ];
        match rules.into_iter().find(|rule| !rule.1) {
            Some((option, _, must, found)) => Err(Invalid {
                option,
                must,
                found: if found.is_empty() { "0".into() } else { found },
            }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_carried_out_is_named() {
        type Change = fn(&mut Load);
        let cases: [(&str, Change); 15] = [
            ("connections", |load| load.connections = 0),
            ("max-connections", |load| load.max_connections = Some(63)),
            ("max-connections", |load| {
                (load.max_connections, load.assignment) = (Some(640), Assignment::RoundRobin);
            }),
            ("threads", |load| load.threads = 65),
            ("pipeline", |load| load.pipeline = 0),
            ("pipeline", |load| {
                (load.keepalive, load.pipeline) = (false, 2);
            }),
            ("pipeline", |load| load.pipeline = 100_000_000),
            ("threads", |load| {
                (load.threads, load.connections) = (1_025, 2_000);
            }),
            ("rate", |load| load.rate = Some(1e12)),
            ("calls", |load| load.calls = 2),
            ("rate", |load| load.rate = Some(f64::NAN)),
            ("requests", |load| load.extent = Extent::Requests(0)),
            ("window", |load| {
                load.window = Span(Duration::from_millis(1));
            }),
            ("message", |load| load.message.clear()),
            ("size", |load| load.size = MOST_SIZE + 1),
        ];
        assert_eq!(Load::default().check(), Ok(()));
        for (option, change) in cases {
            let mut load = Load::default();
            change(&mut load);
            assert_eq!(load.check().unwrap_err().option, option);
        }
    }
}
