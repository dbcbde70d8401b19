//! `prony verify`.

use super::connect::Connect;
use super::protocol::{ProtocolArgs, ProtocolChoice};
use super::request::{EncodingArgs, Login};
use super::timed::length;
use super::tls::TlsArgs;
use crate::target;
use clap::Args;
use prony_record::Span;
use std::path::PathBuf;

/// Check that a running server answers as a request file or a contract says
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony verify shop.toml :8000                  # docs/your-own-requests.md\n  \
    prony verify shop.toml h2c://localhost:8000   # over HTTP/2\n  \
    prony verify -u ada:secret shop.toml :8000\n  \
    prony verify --compressed shop.toml :8000\n  \
    prony verify --no-pipelining shop.toml :8000\n  \
    prony verify --seed 7 shop.toml :8000         # the values of another time\n  \
    prony verify http-echo https://localhost:8443 --ca ca.pem  # a contract")]
pub struct Verify {
    /// File of requests, or a contract such as http-echo
    ///
    /// A file as for `prony load --file`. Contracts: http-echo, fibonacci, http, tcp-echo.
    #[arg(value_name = "FILE|CONTRACT")]
    pub file: PathBuf,
    /// Server: http://, https://, h2c:// or :PORT
    ///
    /// Over a unix socket http+unix://%2Frun%2Fapp.sock. For tcp-echo tcp://HOST:PORT.
    #[arg(value_parser = target::url)]
    pub url: String,
    /// Protocol over https://: h2 or h3
    #[arg(long, value_name = "NAME")]
    pub protocol: Option<ProtocolChoice>,
    /// Same as --protocol h2, as in curl
    #[arg(long, hide = true, conflicts_with = "protocol")]
    pub http2: bool,
    /// Same as --protocol h3, as in curl
    #[arg(long, hide = true, conflicts_with_all = ["protocol", "http2"])]
    pub http3: bool,
    /// Do not send requests before the first response
    #[arg(long)]
    pub no_pipelining: bool,
    /// Response timeout
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = length)]
    pub timeout: Span,
    /// Seed of the values of the requests, to repeat them
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub encoding: EncodingArgs,
    #[command(flatten)]
    pub login: Login,
    #[command(flatten)]
    pub connect: Connect,
    #[command(flatten)]
    pub tls: TlsArgs,
}

impl Verify {
    /// The protocol, as other commands have it.
    pub fn protocol(&self) -> ProtocolArgs {
        ProtocolArgs {
            protocol: self.protocol.into_iter().collect(),
            http2: self.http2,
            http3: self.http3,
            ..ProtocolArgs::default()
        }
    }
}
