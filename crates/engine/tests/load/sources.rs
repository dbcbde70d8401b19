//! Connections from several source addresses.

use crate::invariants::flawless;
use crate::servers::{Server, echo};
use crate::support::*;
use prony_engine::{Error, Plan, Target, check_sources};
use prony_record::Transport;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

/// How many connections came from each address.
type Peers = Arc<Mutex<BTreeMap<IpAddr, u32>>>;

fn noting() -> (Server, Peers) {
    let peers = Peers::default();
    let noted = Arc::clone(&peers);
    let server = Server::tcp(move |it| {
        *noted.lock().unwrap().entry(it.peer()).or_default() += 1;
        echo(it)
    });
    (server, peers)
}

fn loopback(last: u8) -> IpAddr {
    [127, 0, 0, last].into()
}

fn from(target: &Target, sources: &[IpAddr], kind: Transport) -> Plan {
    let plan = plan(target, hello(), 6, kind).ends_after(300);
    plan.with(|plan| plan.sources = sources.to_vec())
}

#[test]
fn connections_come_from_the_sources_in_turns() {
    for kind in transports() {
        for (sources, threads, each) in [
            (&[2][..], 1, 6),
            (&[2, 3], 1, 3),
            (&[2, 3], 2, 3),
            (&[2, 3, 4], 1, 2),
            (&[2, 3, 4], 3, 2),
        ] {
            let sources: Vec<IpAddr> = sources.iter().map(|&last| loopback(last)).collect();
            let (server, peers) = noting();
            let plan = from(&server.target, &sources, kind).threads(threads);
            flawless(&plan, &until_done(&plan));
            let expected = sources.iter().map(|&ip| (ip, each)).collect();
            assert_eq!(*peers.lock().unwrap(), expected, "{kind} {threads}");
        }
    }
}

#[test]
fn connections_that_are_made_anew_take_turns_too() {
    for kind in transports() {
        let sources = [loopback(2), loopback(3), loopback(4)];
        let (server, peers) = noting();
        let plan = from(&server.target, &sources, kind).keepalive(false);
        flawless(&plan, &until_done(&plan));
        let peers = peers.lock().unwrap();
        assert!(peers.keys().eq(&sources), "{kind}: {peers:?}");
        assert!(
            peers.values().all(|&n| (95..=105).contains(&n)),
            "{kind}: {peers:?}"
        );
    }
}

#[test]
fn sources_of_ipv6() {
    let Some(server) = Server::tcp6(echo) else {
        return;
    };
    for kind in transports() {
        let source = "::1".parse().unwrap();
        let plan = from(&server.target, &[source], kind);
        flawless(&plan, &until_done(&plan));
    }
}

#[test]
fn sources_that_cannot_be_are_told_before_the_load() {
    let (server, peers) = noting();
    // RFC 5737: for documentation, and no machine's.
    let nowhere: IpAddr = [192, 0, 2, 1].into();
    assert!(matches!(
        check_sources(&[loopback(2), nowhere]),
        Err(Error::Source { address, .. }) if address == nowhere
    ));
    let six: IpAddr = "::1".parse().unwrap();
    let unix = Server::unix(echo);
    for kind in transports() {
        for (target, source, why) in [
            (&server.target, nowhere, "the machine has no such address"),
            (&server.target, six, "of the server's family"),
            (&unix.target, loopback(2), "left out for a unix socket"),
        ] {
            let error = fails(&from(target, &[loopback(2), source], kind));
            assert!(error.contains(why), "{error}");
        }
    }
    assert!(peers.lock().unwrap().is_empty());
}

fn fails(plan: &Plan) -> String {
    let control = prony_engine::Control::default();
    let seen = prony_engine::run(plan, &control, |_: &prony_record::Window| {});
    seen.map(drop).unwrap_err().to_string()
}
