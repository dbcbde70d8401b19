//! Servers of arena: honest ones pass, and every cheat is refused by the step meant for it, with the reason.

mod cheats;
mod database;
mod honest;
mod server;

use prony_lab::contract::{Contract, Depth, Inspection, Verified, Violation};
use server::Site;
use std::net::SocketAddr;
use std::time::Duration;

fn inspect(site: &Site, addr: SocketAddr, depth: Depth) -> Result<Verified, Violation> {
    let how = Inspection::new(depth, 1).within(Duration::from_secs(2));
    how.of(Contract::Arena, addr, &site.fixture)
}
