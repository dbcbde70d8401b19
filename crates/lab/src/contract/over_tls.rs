//! Steps of every contract over TLS, whatever HTTP the server speaks there. All other steps are those of plain TCP,
//! through a relay that takes TLS off.

use super::wire::{Fault, ReadResult, Wire, excerpt};
use super::{Act, Depth, Visit};
use crate::relay::{Crumbs, Relay};
use prony_engine::protocol::tls::TlsOptions;
use std::io;
use std::net::SocketAddr;

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "tls-only",
        tried: "a request without TLS on the same port",
        from: Depth::Full,
        run: only,
    },
    Act {
        name: "tls-in-pieces",
        tried: "a handshake and a request whose bytes arrive one by one",
        from: Depth::Full,
        run: in_pieces,
    },
];

/// The server itself, and how it speaks TLS.
fn secured<'a>(visit: &Visit<'a>) -> (SocketAddr, &'a TlsOptions) {
    visit.way.tls.expect("these steps are taken over TLS alone")
}

/// TCP may cut records anywhere.
fn in_pieces(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let (server, options) = secured(visit);
    let none = |error: io::Error| Fault::io("a port for the relay", &error);
    let crumbs = Crumbs::to(server).map_err(none)?;
    let relay = Relay::to(crumbs.addr(), options).map_err(none)?;
    let case = visit.case(20);
    let through = std::mem::replace(&mut visit.addr, relay.addr());
    let result = case.exchange(visit);
    visit.addr = through;
    result
}

/// Checks that the port serves nothing without TLS: a load could otherwise measure answers that are not encrypted.
fn only(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let (server, _) = secured(visit);
    let case = visit.case(20);
    let expected = "no answer in plain HTTP but an error";
    let wire = Wire::open(server, &visit.patience)
        .map_err(|error| Fault::io("a connection to be accepted", &error))?;
    if wire.send(&case.request(visit.way.authority, "")).is_err() {
        return Ok(());
    }
    // Some say why in HTTP, others in an alert, and others close the connection.
    let start = b"HTTP/1.1 2";
    let (mut heard, mut buffer) = (Vec::new(), [0; 256]);
    while heard.len() < start.len() {
        let Ok(ReadResult::Bytes(n)) = wire.hear(&mut buffer) else {
            break;
        };
        heard.extend_from_slice(&buffer[..n]);
    }
    match heard.starts_with(start) {
        true => Err(Fault::new(expected, excerpt(&heard))),
        false => Ok(()),
    }
}
