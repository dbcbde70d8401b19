//! `prony requests`.

use clap::{Args, Subcommand};
use prony_lab::requests::from::Format;
use std::path::PathBuf;

/// Make request files from other formats
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony requests from curl.txt > shop.toml\n  \
    prony requests from --help")]
pub struct Requests {
    #[command(subcommand)]
    pub command: RequestsCommand,
}

#[derive(Debug, Subcommand)]
pub enum RequestsCommand {
    From(From),
}

/// Make a request file from curl lines, HAR, OpenAPI, vegeta, a log or URLs
///
/// The file goes to standard output. Items that were skipped, changed or guessed are listed on
/// standard error; the exit status is then 1.
/// docs/your-own-requests.md describes the file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony requests from curl.txt > shop.toml\n  \
    prony requests from recording.har > shop.toml  # Network, Save all as HAR\n  \
    prony requests from openapi.yaml > shop.toml  # a request per operation\n  \
    prony requests from access.log > shop.toml    # weights by frequency\n  \
    pbpaste | prony requests from --format curl - > shop.toml")]
pub struct From {
    /// File; - for standard input
    pub file: PathBuf,
    /// Format [default: detected]
    ///
    /// har, openapi, vegeta, curl, access-log or urls.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Take the requests to this server only
    ///
    /// A URL, or HOST[:PORT]. By default the page's own server for a HAR, else the one with most
    /// requests.
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Print JSON: the file, its server, and what was left out
    #[arg(long)]
    pub json: bool,
}
