//! Any plan against any honest server.

use crate::invariants::flawless;
use crate::servers::{Server, echo_in_pieces, write_in_pieces};
use crate::support::*;
use crate::words::*;
use prony_engine::{Arrival, Dialogue};
use proptest::prelude::*;

#[derive(Debug, Clone)]
struct Load {
    connections: u32,
    threads: u32,
    pipeline: u32,
    keepalive: bool,
    arrival: Arrival,
    requests: u64,
    /// The echoed message's length; none for HTTP.
    message: Option<usize>,
    /// Lengths of the server's writes.
    pieces: Vec<usize>,
}

fn arrival() -> impl Strategy<Value = Arrival> {
    prop_oneof![
        Just(Arrival::Closed),
        (1_000.0..50_000.0).prop_map(Arrival::Constant),
        (1_000.0..50_000.0, any::<u64>()).prop_map(|(rate, seed)| Arrival::Poisson { rate, seed }),
    ]
}

prop_compose! {
    fn any_load()(
        connections in 1u32..20,
        threads in 1u32..4,
        pipeline in 1u32..9,
        keepalive: bool,
        arrival in arrival(),
        requests in 1u64..200,
        message in proptest::option::of(1usize..5_000),
        pieces in proptest::collection::vec(1usize..3_000, 1..6),
    ) -> Load {
        Load {
            connections,
            threads: threads.min(connections),
            pipeline: if keepalive { pipeline } else { 1 },
            keepalive,
            arrival,
            requests,
            message,
            pieces,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        max_shrink_iters: 20,
        ..ProptestConfig::default()
    })]

    // Slow: 48 loads of up to 199 requests, answered in small pieces.
    #[test]
    fn every_request_is_answered(load in any_load()) {
        let pieces = load.pieces.clone();
        let (server, dialogue) = match load.message {
            Some(length) => {
                let message = (0..length).map(|at| (at * 7) as u8).collect();
                (Server::tcp(echo_in_pieces(pieces)), Dialogue::Echo(message))
            }
            None => {
                let serve = move |it: &crate::servers::Connection| {
                    let mut lengths = pieces.iter().cycle();
                    it.requests(|nth, _| {
                        let wire = [LENGTH, CHUNKED, INTERIM, OLD_KEEP][nth as usize % 4];
                        write_in_pieces(it, wire, &mut lengths)
                    })
                };
                (Server::tcp(serve), http())
            }
        };
        for kind in transports() {
            let plan = plan(&server.target, dialogue.clone(), load.connections, kind).threads(load.threads).pipeline(load.pipeline).keepalive(load.keepalive).due(load.arrival).ends_after(load.requests);
            flawless(&plan, &until_done(&plan));
        }
    }
}
