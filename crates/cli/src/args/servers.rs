//! `prony servers`.

use super::listen::listen;
use crate::complete;
use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCandidates;
use prony_lab::contract::Contract;
use prony_record::load::{KeyKind, Protocol};
use std::net::SocketAddr;
use std::num::NonZeroUsize;

/// List, set up, check and start the servers of the catalog
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony servers list http-echo\n  \
    prony servers setup tcp-echo\n  \
    prony servers check\n  \
    prony servers start node@2 --contract http-echo --listen :8000")]
pub struct Servers {
    #[command(subcommand)]
    pub action: ServersAction,
}

#[derive(Debug, Subcommand)]
pub enum ServersAction {
    /// Show the servers, and whether their toolchains are on this machine
    #[command(after_help = "Examples:\n  \
        prony servers list\n  \
        prony servers list tcp-echo --json")]
    List {
        /// Only servers of this contract
        #[arg(value_parser = contract)]
        contract: Option<Contract>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Install what servers need and do not have yet, and build them
    ///
    /// Shows what would be installed, and asks. Debian packages are installed for the whole machine
    /// (as root, or through sudo); what comes from the registries of languages (PyPI, npm,
    /// crates.io, Maven Central) goes into prony's cache and nowhere else. With everything in place
    /// nothing is done.
    #[command(after_help = "Examples:\n  \
        prony servers setup tcp-echo        all that keep this contract\n  \
        prony servers setup haskell erlang  two servers\n  \
        prony servers setup --dry-run       show what would be installed for all of them\n  \
        prony servers setup tcp-echo --yes  without a question, for scripts")]
    Setup {
        /// Servers, contracts or experiments [default: all]
        #[arg(add = ArgValueCandidates::new(complete::entrants))]
        names: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        /// Show what would be installed, and stop
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
        /// Servers at a time [default: CPUs, 8 at most]
        #[arg(long, short, value_name = "N")]
        jobs: Option<NonZeroUsize>,
    },
    /// Build servers, start them and verify their contracts
    ///
    /// Exit status 1 when one of them fails; a server that is not set up is no failure.
    #[command(after_help = "Examples:\n  \
        prony servers check                 all of them\n  \
        prony servers check http-echo       all that keep this contract\n  \
        prony servers check node go-copy\n  \
        prony servers check nginx --protocol tls,h2     these, of what it speaks")]
    Check {
        /// Servers, contracts or experiments [default: all]
        #[arg(add = ArgValueCandidates::new(complete::entrants))]
        names: Vec<String>,
        /// Only these protocols: plain, tls, h2c, h2
        ///
        /// Of those that each server speaks, separated by commas.
        #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
        protocol: Vec<Protocol>,
        /// Certificate's key: ecdsa-p256 or rsa2048
        ///
        /// For tls and h2. By default ecdsa-p256.
        #[arg(long, value_name = "KIND")]
        server_key: Option<KeyKind>,
        /// Checks at a time [default: CPUs, 8 at most]
        #[arg(long, short, value_name = "N")]
        jobs: Option<NonZeroUsize>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Build a server and run it until Ctrl-C
    ///
    /// Its address goes to standard output.
    #[command(after_help = "Examples:\n  \
        prony servers start go-copy\n  \
        prony servers start node@2 --contract http-echo --listen :8000\n  \
        prony servers start nginx --protocol h2          # HTTP/2 over TLS\n  \
        prony servers start go-copy --listen 192.0.2.7:0  # for other machines")]
    Start {
        /// Server, as `name` or `name@workers`
        name: String,
        /// Contract, where the server has several
        #[arg(long, value_parser = contract)]
        contract: Option<Contract>,
        /// Address to listen on
        ///
        /// ADDR:PORT, or :PORT on this machine alone; port 0 is a free one.
        #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0", value_parser = |text: &str| listen(text, 0))]
        listen: SocketAddr,
        /// Protocol: plain, tls, h2c or h2
        #[arg(long, value_name = "NAME", default_value = "plain")]
        protocol: Protocol,
        /// Certificate's key: ecdsa-p256 or rsa2048
        ///
        /// For tls and h2. By default ecdsa-p256.
        #[arg(long, value_name = "KIND")]
        server_key: Option<KeyKind>,
    },
}

pub(super) fn contract(text: &str) -> Result<Contract, String> {
    text.parse()
        .map_err(|error: prony_lab::contract::UnknownContract| error.to_string())
}
