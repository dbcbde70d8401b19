//! Messages larger than what a socket takes at once.

use crate::invariants::{conserved, flawless};
use crate::servers::{Server, echo, echo_in_pieces};
use crate::support::*;
use prony_engine::Dialogue;
use std::time::Duration;

const MIB: usize = 1 << 20;

/// A mebibyte without a period that a buffer could have.
fn large() -> Vec<u8> {
    (0..MIB as u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

#[test]
fn a_mebibyte_there_and_back() {
    for kind in transports() {
        for (server, pipeline) in [
            (Server::tcp(echo), 1),
            (Server::tcp(echo), 8),
            (Server::unix(echo), 8),
        ] {
            let plan = plan(&server.target, Dialogue::Echo(large()), 3, kind)
                .pipeline(pipeline)
                .threads(2)
                .ends_after(24);
            let seen = until_done(&plan);
            flawless(&plan, &seen);
            assert_eq!(seen.bytes_sent, 24 * MIB as u64);
            assert_eq!(seen.bytes_received, 24 * MIB as u64);
        }
    }
}

#[test]
fn a_mebibyte_in_odd_pieces() {
    for kind in transports() {
        let server = Server::tcp(echo_in_pieces(vec![1, 4_095, 70_000, 3, 16_384]));
        let plan = plan(&server.target, Dialogue::Echo(large()), 2, kind)
            .pipeline(3)
            .ends_after(6);
        flawless(&plan, &until_done(&plan));
    }
}

#[test]
fn a_byte_at_a_time() {
    for kind in transports() {
        for pipeline in [1, 8] {
            let server = Server::tcp(echo_in_pieces(vec![1]));
            let plan = plan(&server.target, hello(), 3, kind)
                .pipeline(pipeline)
                .ends_after(100);
            flawless(&plan, &until_done(&plan));
        }
    }
}

#[test]
fn a_server_that_never_reads_stops_no_load() {
    at_once(2, &transports(), |&kind| {
        for (pipeline, keepalive) in [(1, true), (8, true), (1, false)] {
            let server = Server::tcp(|it| {
                it.ignore();
                Ok(())
            });
            let plan = plan(&server.target, Dialogue::Echo(large()), 4, kind)
                .pipeline(pipeline)
                .keepalive(keepalive)
                .threads(2)
                .timeout(Duration::from_millis(100))
                .ends_after(16);
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            assert_eq!(seen.outcomes.timeout, 16, "{:?}", seen.outcomes);
        }
    });
}

/// The connection is closed while sends are under way: what was being sent must stay in memory
/// until the kernel has done with it.
#[test]
fn a_server_that_closes_while_much_is_being_sent() {
    for kind in transports() {
        for reset in [false, true] {
            let server = Server::tcp(move |it| {
                it.read(&mut [0; 1_000])?;
                if reset {
                    it.reset();
                }
                Ok(())
            });
            let plan = plan(&server.target, Dialogue::Echo(large()), 4, kind)
                .pipeline(4)
                .threads(2)
                .ends_after(64);
            let seen = until_done(&plan);
            conserved(&plan, &seen);
            let all = &seen.outcomes;
            assert_eq!(all.read_error + all.write_error, 64, "{all:?}");
        }
    }
}
