//! Loads that are spread over several addresses.

use crate::invariants::hold;
use crate::servers::Server;
use crate::support::*;
use prony_engine::{Control, Lookups, Plan, Target};
use prony_record::load::Addresses;
use prony_record::{ByAddress, Span, Transport};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn server() -> Server {
    Server::tcp(|it| it.requests(|_, _| it.write(ANSWER)))
}

fn address(server: &Server) -> SocketAddr {
    match &server.target {
        Target::Tcp(address) => *address,
        Target::Unix(path) => panic!("{}", path.display()),
    }
}

/// A closed loop of 12 connections over these.
fn spread(addresses: &[SocketAddr], kind: Transport) -> Plan {
    plan(&Target::Tcp(addresses[0]), http(), 12, kind).with(|plan| {
        plan.addresses = addresses.to_vec();
        plan.load.addresses = Addresses::Even;
    })
}

fn of(seen: &[ByAddress], address: SocketAddr) -> &ByAddress {
    let name = address.to_string();
    let found = seen.iter().find(|it| it.address == name);
    found.unwrap_or_else(|| panic!("{name}: {seen:?}"))
}

#[test]
fn connections_are_spread_evenly_or_by_thread_and_results_are_by_address() {
    let servers = [server(), server(), server()];
    let addresses: Vec<SocketAddr> = servers.iter().map(address).collect();
    for kind in transports() {
        for (which, threads) in [
            (Addresses::Even, 1),
            (Addresses::Even, 2),
            (Addresses::PerThread, 3),
        ] {
            for due in [CLOSED, CONSTANT] {
                let plan = spread(&addresses, kind)
                    .with(|plan| plan.load.addresses = which)
                    .threads(threads)
                    .due(due)
                    .ends_after(300);
                let seen = until_done(&plan);
                hold(&plan, &seen);
                assert_eq!(seen.outcomes.ok, 300, "{:?}", seen.errors);
                for &one in &addresses {
                    let by = of(&seen.by_address, one);
                    assert_eq!((by.connections, by.not_connected), (4, 0), "{which}");
                    assert_eq!(by.times.response.len(), by.answers);
                }
                let answers: u64 = seen.by_address.iter().map(|by| by.answers).sum();
                assert_eq!(answers, 300);
                if due == CLOSED {
                    assert!(seen.by_address.iter().all(|by| by.answers > 0), "{which}");
                }
            }
        }
    }
    // A connection for each request.
    let plan = spread(&addresses, transports()[0])
        .keepalive(false)
        .ends_after(300);
    let seen = until_done(&plan);
    assert_eq!(seen.outcomes.ok, 300);
    let each: Vec<u64> = addresses
        .iter()
        .map(|&it| of(&seen.by_address, it).answers)
        .collect();
    assert_eq!(each, [100, 100, 100]);
}

#[test]
fn one_that_is_dead_from_the_beginning_is_named_and_the_rest_goes_on() {
    let servers = [server(), server()];
    let dead = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let addresses = [address(&servers[0]), dead, address(&servers[1])];
    for kind in transports() {
        let plan = spread(&addresses, kind).ends_after(300);
        let seen = until_done(&plan);
        assert_eq!(seen.outcomes.ok, 300, "{:?}", seen.outcomes);
        let by = of(&seen.by_address, dead);
        assert_eq!((by.connections, by.answers), (0, 0));
        assert!(by.not_connected > 0);
        assert!(by.error.as_ref().unwrap().contains("refused"), "{by:?}");
        let alive = seen.by_address.iter().filter(|by| by.answers > 0).count();
        assert_eq!(alive, 2);
    }
}

#[test]
fn one_that_dies_under_load_is_named_and_the_rest_goes_on() {
    for kind in transports() {
        let (stays, dies) = (server(), server());
        let dead = address(&dies);
        let plan = spread(&[address(&stays), dead], kind);
        let control = Arc::new(Control::at_once(prony_engine::Nanos::MAX));
        let running = begin(&plan, &control);
        let dying = Arc::clone(&dies.count);
        eventually("both answer", || dying.requests.load(Relaxed) > 100);
        drop(dies);
        // Every connection is the other's: it has as many answers as twelve connections give.
        let count = Arc::clone(&stays.count);
        eventually("all of them go on", || {
            count.connections.load(Relaxed) >= 12
        });
        let before = count.requests.load(Relaxed);
        eventually("it goes on", || {
            count.requests.load(Relaxed) > before + 1_000
        });
        control.stop();
        let seen = running.end();
        let by = of(&seen.by_address, dead);
        assert!(by.not_connected > 0 && by.answers > 0, "{by:?}");
        assert!(by.error.is_some());
        assert!(of(&seen.by_address, address(&stays)).answers > by.answers);
    }
}

#[test]
fn connections_follow_the_name_when_it_is_looked_up_again() {
    for kind in transports() {
        let (old, new) = (server(), server());
        let known = Arc::new(Mutex::new(vec![address(&old)]));
        let named = Arc::clone(&known);
        let plan = spread(&[address(&old)], kind).with(|plan| {
            plan.load.dns_refresh = Some(Span(Duration::from_millis(20)));
            plan.name = Some(("example.test".into(), 80));
            plan.lookups = Lookups::by(move || Ok(named.lock().unwrap().clone()));
        });
        let control = Arc::new(Control::at_once(prony_engine::Nanos::MAX));
        let running = begin(&plan, &control);
        let (was, is) = (Arc::clone(&old.count), Arc::clone(&new.count));
        eventually("the old one answers", || was.requests.load(Relaxed) > 100);
        *known.lock().unwrap() = vec![address(&new)];
        eventually("all go to the new one", || {
            is.connections.load(Relaxed) >= 12
        });
        eventually("the old one is left", || {
            let before = was.requests.load(Relaxed);
            let more = is.requests.load(Relaxed) + 200;
            while is.requests.load(Relaxed) < more {
                thread::sleep(Duration::from_millis(1));
            }
            was.requests.load(Relaxed) == before
        });
        control.stop();
        let seen = running.end();
        // None was lost by moving.
        assert_eq!(
            seen.outcomes.failed(),
            0,
            "{:?} {:?}",
            seen.outcomes,
            seen.errors
        );
        assert_eq!(seen.by_address.len(), 2);
        assert_eq!(of(&seen.by_address, address(&new)).connections, 12);
    }
}

#[test]
fn options_that_do_not_fit_several_addresses_are_refused() {
    let one = server();
    let plan = spread(&[address(&one)], transports()[0]).with(|plan| {
        plan.sources = vec!["::1".parse().unwrap()];
    });
    assert!(plan.validate().is_err());
    let plan = spread(&[address(&one)], transports()[0])
        .with(|plan| plan.load.dns_refresh = Some(Span(Duration::ZERO)));
    let error = plan.validate().unwrap_err().to_string();
    assert!(
        error.starts_with("dns-refresh must be longer than 0s"),
        "{error}"
    );
}
