//! `prony why`.

use super::DisplayArgs;
use super::around::Around;
use super::connect::{Connect, SourceArgs};
use super::driven::Driven;
use super::grpc::Called;
use super::limited::Limited;
use super::pace::steady_rate;
use super::protocol::{ProtocolArgs, ServerKey};
use super::request::{RequestArgs, RequestFileArgs};
use super::servers::contract;
use super::tls::TlsArgs;
use super::ws::Messages;
use crate::complete;
use crate::target;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use prony_lab::contract::Contract;
use std::path::PathBuf;

/// Find what a request costs a server: functions, system calls, waits
///
/// Loads the server at a rate. In short segments it samples the server's stacks, counts its system
/// calls, records when its threads wait, or does none of it, for several rounds. The CPU time of a
/// request is divided among functions and system calls, with intervals over rounds. `prony duel
/// --why` compares two servers in this way.
///
/// Sampling needs root or a kernel setting: docs/why.md. prony leaves out and names what the system
/// does not allow.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony why './server --port {port}' --path /users/7\n  \
    prony why :8000 --pid 4711                    # a server that runs\n  \
    prony why go-net-http --contract http-echo    # from the catalog\n  \
    prony why './server {port}' --rate 5000 --rounds 20  # narrower intervals\n  \
    prony why './server {port}' --server-cpu 0.5  # as in production\n  \
    prony why './server {port}' -f shop.toml      # a request file\n  \
    prony why './server {port}' --html why.html --folded stacks")]
pub struct Why {
    /// A command line with {port}, a server of the catalog, or a URL
    ///
    /// A server of the catalog is `name`, or `name@workers`. A URL needs --pid.
    #[arg(value_parser = target::server, add = ArgValueCandidates::new(complete::servers))]
    pub server: String,
    /// Process of a server that already runs
    ///
    /// prony looks at this process and all below it, and leaves them running.
    #[arg(long, value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub pid: Option<i32>,
    /// Request path
    #[arg(long, value_name = "PATH", conflicts_with = "contract")]
    pub path: Option<String>,
    /// Contract to verify and load, such as http-echo
    #[arg(long, value_parser = contract)]
    pub contract: Option<Contract>,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub asked: RequestFileArgs,
    /// Rounds; more give narrower intervals
    #[arg(long, value_name = "N", default_value_t = prony_lab::why::ROUNDS, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub rounds: u32,
    #[command(flatten)]
    pub driven: Driven,
    #[command(flatten)]
    pub around: Around,
    #[command(flatten)]
    pub limited: Limited,
    /// Requests per second [default: half the throughput]
    #[arg(long, short_alias = 'R', value_name = "N", value_parser = steady_rate, help_heading = "Load")]
    pub rate: Option<f64>,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub protocol: ProtocolArgs,
    #[command(flatten)]
    pub key: ServerKey,
    #[command(flatten)]
    pub called: Called,
    #[command(flatten)]
    pub messages: Messages,
    #[command(flatten)]
    pub connect: Connect,
    #[command(flatten)]
    pub origin: SourceArgs,
    /// Write a page with the flame graph
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Write the stacks as FOLDER/SERVER.folded
    ///
    /// And those in which threads wait as FOLDER/SERVER.waits.folded, for other flame graph tools.
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub folded: Option<PathBuf>,
    /// Also write the result as Markdown; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,
    /// Print the result as JSON
    ///
    /// `prony schema why` describes it.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten, next_help_heading = "Output")]
    pub shown: DisplayArgs,
}
