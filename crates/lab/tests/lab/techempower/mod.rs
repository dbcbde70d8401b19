//! Servers of techempower: honest ones pass, and every cheat is refused by the step meant for it, with the reason.

mod cheats;
mod database;
mod honest;
mod server;

use prony_lab::contract::{Contract, Depth, Fixture, Inspection, Verified, Violation};
use server::Site;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

fn fixture(site: &Site) -> Fixture {
    let fixture = Fixture::set_up(Contract::Techempower, &std::env::temp_dir());
    let database = Arc::clone(&site.database);
    fixture
        .expect("nothing is to be made")
        .with_database(database)
}

fn inspect(site: &Site, addr: SocketAddr, depth: Depth) -> Result<Verified, Violation> {
    let how = Inspection::new(depth, 1).within(Duration::from_secs(2));
    how.of(Contract::Techempower, addr, &fixture(site))
}
