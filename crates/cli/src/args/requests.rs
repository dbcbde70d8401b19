//! `prony requests`.

use clap::{Args, Subcommand};
use prony_lab::requests::from::Format;
use std::path::PathBuf;

/// Files of requests (docs/your-own-requests.md)
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony requests from curl.txt > shop.toml            prony requests from --help")]
pub struct Requests {
    #[command(subcommand)]
    pub command: RequestsCommand,
}

#[derive(Debug, Subcommand)]
pub enum RequestsCommand {
    From(From),
}

/// Make a file of requests from what there is: curl command lines, vegeta targets, a HAR recording, an
/// OpenAPI description, an access log, or a list of URLs
///
/// The file goes to standard output. What was left out, changed or guessed is listed on standard error; the exit status is
/// then 1.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony requests from curl.txt > shop.toml\n  \
    prony requests from recording.har > shop.toml       of a browser: Network, Save all as HAR\n  \
    prony requests from openapi.yaml > shop.toml        one request for each operation\n  \
    prony requests from access.log > shop.toml          weights from how often each was asked\n  \
    pbpaste | prony requests from --format curl - > shop.toml")]
pub struct From {
    /// The file; - for standard input
    pub file: PathBuf,
    /// What it is: har, openapi, vegeta, curl, access-log, or urls [default: what it looks like]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Take the requests to this server, as a URL or HOST[:PORT] [default: of a HAR the page's own, else the one with most
    /// requests]
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Print JSON: the file, its server, and what was left out
    #[arg(long)]
    pub json: bool,
}
