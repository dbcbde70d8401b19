//! Honest servers, each in its own way.

use super::inspect;
use super::server::{Answer, Request, Site, start};
use prony_lab::contract::{Contract, Depth, Inspection};
use std::sync::Arc;
use std::time::Duration;

fn passes(answer: impl Fn(&Site, &Request) -> Answer + Send + Sync + 'static) {
    let site = Arc::new(Site::new());
    let addr = start(&site, answer);
    for depth in [Depth::Full, Depth::Quick, Depth::Thorough] {
        if let Err(violation) = inspect(&site, addr, depth) {
            panic!("{depth:?}: {violation}");
        }
    }
    // What was created for the verification is gone.
    assert_eq!(site.database.table().rows.len(), 100_000);
}

#[test]
fn an_honest_server_passes_with_every_seed() {
    passes(Site::honest);
    let site = Arc::new(Site::new());
    let addr = start(&site, Site::honest);
    for seed in 0..10 {
        let how = Inspection::new(Depth::Quick, seed);
        let verified = how.of(Contract::Arena, addr, &site.fixture);
        assert_eq!(verified.unwrap().left_out, [""; 0]);
    }
}

#[test]
fn a_server_without_a_cache_passes() {
    passes(|site, request| match request.id() {
        Some(id) if request.method == "GET" => site.read(id, Duration::ZERO),
        _ => site.honest(request),
    });
}

/// A pool tests a connection before it is used and puts it in order after that.
#[test]
fn statements_of_a_pool_pass() {
    passes(|site, request| {
        if request.path().contains("/async-db") || request.id().is_some() {
            for rows in [1, 0, 0, 0] {
                drop(site.database.executed(rows));
            }
        }
        site.honest(request)
    });
}
