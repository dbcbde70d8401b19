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

/// Make a request file from curl, HAR, Postman, OpenAPI, vegeta, a log or URLs
///
/// The file goes to standard output. Items that were skipped, changed or guessed are listed on
/// standard error, each reason with its number of items; the exit status is then 1.
/// docs/your-own-requests.md describes the file.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony requests from curl.txt > shop.toml\n  \
    prony requests from recording.har > shop.toml  # Network, Save all as HAR\n  \
    prony requests from openapi.yaml > shop.toml  # a request per operation\n  \
    prony requests from access.log > shop.toml    # weights by frequency\n  \
    prony requests from collection.json -e environment.json > shop.toml  # Postman\n  \
    pbpaste | prony requests from --format curl - > shop.toml")]
pub struct From {
    /// File; - for standard input
    pub file: PathBuf,
    /// Format [default: detected]
    ///
    /// har, postman, access-log, openapi, vegeta, curl or urls.
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Take the requests to this server only
    ///
    /// A URL, or HOST[:PORT]. By default the page's own server for a HAR, else the one with most
    /// requests.
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Postman: values of an exported environment
    ///
    /// Or of globals. Of several files the last value counts. The collection's own variables are read with it.
    #[arg(short, long, value_name = "FILE")]
    pub environment: Vec<PathBuf>,
    /// Postman: the value of a variable, before all others
    ///
    /// With values of request files, such as --var 'id={{int 1 1000}}' or
    /// --var 'token={{row users.csv token}}'. :id is the path variable of /items/:id.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    pub var: Vec<(String, String)>,
    /// Print JSON: the file, server, and what was left out
    #[arg(long)]
    pub json: bool,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').unwrap_or_default();
    match name.trim() {
        "" => Err("expected NAME=VALUE, such as token=secret".into()),
        // As the collection has it.
        name => Ok((name.trim_matches(['{', '}']).to_owned(), value.to_owned())),
    }
}
