//! `prony agent`: see [`prony_remote::agent`].

use crate::CommandEnd;
use crate::built::VERSION;
use miette::{IntoDiagnostic, Result};
use prony_reference::ceiling::{Options, Server};
use std::net::SocketAddr;

pub fn main() -> Result<CommandEnd> {
    prony_remote::agent::main(VERSION, echo).into_diagnostic()?;
    Ok(CommandEnd::Done)
}

/// Serves echoes from a thread of its own, until this program ends.
fn echo(listen: SocketAddr) -> std::io::Result<SocketAddr> {
    let server = Server::bind(&Options::new(listen)).map_err(std::io::Error::other)?;
    let address = server.local_addr();
    std::thread::spawn(move || server.run());
    Ok(address)
}
