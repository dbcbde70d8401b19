//! A client that does next to nothing: it sends a few requests beside a load and measures how long they take.
//!
//! A generator that sends tens of thousands of requests each second may keep its own requests waiting, and cannot tell that
//! time from the server's. A client that has only a few requests to send adds hardly any.

use prony_engine::{Dialogue, Plan};
use prony_record::{Extent, Spacing, Span};
use std::time::Duration;

/// Connections of the slow client: when an answer takes long, the next request that is due goes over another one.
const CONNECTIONS: u32 = 4;
/// Longer than any load.
const WITHOUT_END: Duration = Duration::from_secs(365 * 86_400);

/// A slow client beside a load.
#[derive(Debug, Clone, PartialEq)]
pub struct SlowClient {
    /// The host that it runs on.
    pub host: String,
    /// Requests per second of the slow client.
    pub rate: f64,
}

impl SlowClient {
    /// Returns the plan of the client beside this load: the same requests at its own rate, at random moments. It thus
    /// meets the server as often in any state as the server is in it (Wolff, 1982: Poisson arrivals see time averages).
    ///
    /// # Errors
    /// When the load's requests cannot be sent by one more.
    pub(crate) fn plan(&self, of: &Plan) -> Result<Plan, &'static str> {
        if let Dialogue::Mix(mix) = &of.dialogue {
            if mix.recorded.is_some() {
                return Err("a slow client cannot send a part of a recording: leave it out");
            }
            if mix.tables.iter().any(|table| table.once) {
                return Err(
                    "a slow client would send rows that the load is to send once: leave it out",
                );
            }
        }
        let mut plan = of.clone();
        let load = &mut plan.load;
        load.connections = CONNECTIONS;
        load.max_connections = None;
        load.threads = 1;
        load.pipeline = 1;
        load.rate = Some(self.rate);
        load.arrival = Spacing::Poisson;
        load.stages.clear();
        load.connection_stages.clear();
        // It ends when the load does.
        if plan.requests().is_some() {
            plan.load.extent = Extent::Duration(Span(WITHOUT_END));
        }
        plan.sources.clear();
        // Not the gaps of the load, if that is sent at random moments too.
        plan.seed = of.seed.wrapping_add(1);
        plan.values = None;
        plan.validate()
            .map_err(|_| "a slow client cannot send these requests: leave it out")?;
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_engine::Target;
    use prony_engine::protocol::mix::{Mix, ValueTable};
    use prony_engine::protocol::{Expect, HttpRequest, Limits};
    use prony_record::Load;
    use std::net::{Ipv4Addr, SocketAddr};

    fn slow() -> SlowClient {
        SlowClient {
            host: "h".into(),
            rate: 50.0,
        }
    }

    fn plan(load: Load, dialogue: Dialogue) -> Plan {
        let target = Target::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 1)));
        Plan::new(load, target, dialogue)
    }

    #[test]
    fn it_sends_the_same_at_its_own_rate_until_the_load_ends() {
        let load = Load {
            connections: 500,
            max_connections: Some(900),
            threads: 3,
            pipeline: 8,
            extent: Extent::Requests(7),
            ..Load::default()
        };
        let of = plan(load, Dialogue::Echo(b"hello\n".to_vec()));
        let beside = slow().plan(&of).unwrap();
        assert_eq!(beside.dialogue, of.dialogue);
        let load = &beside.load;
        assert_eq!((load.threads, load.pipeline, load.rate), (1, 1, Some(50.0)));
        assert_eq!(beside.requests(), None);
        assert_eq!(load.max_connections(), CONNECTIONS);
        assert_ne!(beside.seed, of.seed);
    }

    #[test]
    fn rows_that_are_sent_once_are_the_loads() {
        let mut mix = Mix::one(
            "a",
            &HttpRequest::get("h", "/"),
            &Expect::default(),
            Limits::default(),
        );
        mix.tables.push(ValueTable {
            name: "rows".into(),
            columns: Vec::new(),
            once: true,
        });
        let of = plan(Load::default(), Dialogue::Mix(Box::new(mix)));
        assert!(slow().plan(&of).unwrap_err().contains("rows"));
    }
}
