//! `prony verify`.

use super::connect::Connect;
use super::request::{Encoding, Login};
use super::timed::length;
use super::tls::Tls;
use crate::target;
use clap::Args;
use prony_record::Span;
use std::path::PathBuf;

/// Test whether a running server answers the requests of a file as it says, or keeps a contract
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony verify shop.toml http://localhost:8000       docs/your-own-requests.md\n  \
    prony verify -u ada:secret shop.toml http://localhost:8000\n  \
    prony verify --compressed shop.toml http://localhost:8000\n  \
    prony verify shop.toml h2c://localhost:8000        over HTTP/2\n  \
    prony verify --no-pipelining shop.toml http://localhost:8000\n  \
    prony verify http-echo https://localhost:8443 --ca ca.pem    a contract, over TLS\n  \
    prony verify http-echo h2c://localhost:8000   over HTTP/2, with what only a right server survives\n  \
    prony verify --seed 7 shop.toml http://localhost:8000   the very values of another time")]
pub struct Verify {
    /// A file of requests, as `prony load --file` takes it; or the name of a contract: http-echo, fibonacci, http, or tcp-echo
    #[arg(value_name = "FILE|CONTRACT")]
    pub file: PathBuf,
    /// http://HOST[:PORT], https://HOST[:PORT], h2c://HOST[:PORT] (HTTP/2), or http+unix://%2Frun%2Fapp.sock; for contracts
    /// also tcp://HOST:PORT
    #[arg(value_parser = target::url)]
    pub url: String,
    /// Speak HTTP/2 over https://
    #[arg(long)]
    pub http2: bool,
    /// Do not send several requests before the first answer
    #[arg(long)]
    pub no_pipelining: bool,
    /// How long the server may say nothing
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = length)]
    pub timeout: Span,
    /// Draws the values of the requests from this number, to repeat them
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub encoding: Encoding,
    #[command(flatten)]
    pub login: Login,
    #[command(flatten)]
    pub connect: Connect,
    #[command(flatten)]
    pub tls: Tls,
}
