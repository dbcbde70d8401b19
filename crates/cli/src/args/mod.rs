//! The only definition of the command line.

mod anatomy;
pub mod around;
pub mod capacity;
pub mod connect;
mod driven;
mod duel;
#[cfg(test)]
mod examples;
pub mod gate;
pub mod grpc;
mod hosts;
mod limited;
mod listen;
mod load;
pub mod machines;
mod number;
mod others;
pub mod pace;
pub mod protocol;
pub mod request;
mod requests;
mod results;
mod run;
mod servers;
pub mod shape;
mod share;
mod short;
pub mod stream;
mod timed;
pub mod tls;
mod verify;
mod why;
pub mod ws;

pub use capacity::{Calibrate, Capacity};
pub use duel::Duel;
pub use hosts::{HostsAction, HostsArgs, HostsCheck};
pub use limited::Limited;
pub use load::LoadArgs;
pub use others::{Audit, Completions, Import, Man, SchemaArgs, SchemaOf, Serve, Served};
pub use requests::{From, Requests, RequestsCommand};
pub use results::{Diff, Explain, Export, Format, ReportArgs, Runs, View};
pub use run::RunArgs;
pub use servers::{Servers, ServersAction};
pub use verify::Verify;
pub use why::Why;

use crate::paint::{self, When};
use clap::builder::TypedValueParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// The first screen: what people need first, and where the rest is.
const HELP: &str = "\
hyperfine for servers: starts network servers, verifies, loads and compares them

Usage: prony [OPTIONS] <COMMAND>

Start here:
  duel         Compare two or more servers: which is faster, and by how much?
  load         Load a server that already runs
  capacity     Find the highest rate that a server keeps within limits
  run          Run an experiment: many servers, round after round
  view         Browse all results in a web browser

More commands:
  why          Find what a request costs a server, by function and system call
  verify       Check the responses of a running server
  requests     Make request files from curl lines, HAR, OpenAPI or logs
  servers      List, set up, check and start the servers of the catalog
  serve        Serve a contract with one of prony's own servers
  hosts        Check other machines, and the network between them
  calibrate    Calibrate this host: its ceiling, and how noisy it is
  explain      Explain a check
  audit        Find errors in the benchmarks of others
  runs, report, diff, export, import         Work with results
  schema, completions, man                   Set up prony and other programs

Command lines of other tools:
  wrk, ab, h2load, weighttp, httperf, echo-client

Examples:
  prony duel 'node old.js --port {port}' 'node new.js --port {port}'
  prony load localhost:8000

Options: --notebook FILE, --catalog FOLDER, --color WHEN, --version
Exit status: 0 done; 1 failed; 2 mistake on the command line; 3 limit exceeded
  or serious finding; 4 with --strict: not known whether a limit was exceeded
Help: `prony COMMAND -h` fits a screen, `prony COMMAND --help` has all options.
";

/// hyperfine for servers: starts network servers, verifies, loads and compares them
#[derive(Debug, Parser)]
#[command(
    name = "prony",
    version = crate::built::version(),
    max_term_width = short::WIDTH,
    override_help = HELP,
    after_help = "Examples:\n  \
        prony duel 'node old.js --port {port}' 'node new.js --port {port}'\n  \
        prony load localhost:8000\n  \
        prony run quickstart\n\n\
        Exit status:\n  \
        0  done\n  \
        1  failed, or only partly done\n  \
        2  mistake on the command line; nothing was loaded\n  \
        3  done, and a limit was exceeded or an audit found something serious\n  \
        4  done, and not known whether a limit was exceeded (only with --strict)"
)]
pub struct Cli {
    #[command(flatten)]
    pub places: Places,
    #[command(subcommand)]
    pub command: Command,
}

/// How it is shown what goes on.
#[derive(Debug, Clone, Default, Args)]
pub struct DisplayArgs {
    /// Show progress as lines, on a terminal too
    #[arg(long, conflicts_with = "quiet")]
    pub plain: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// File for the result; - for standard output
    ///
    /// The report, or the JSON of --json, instead of standard output.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Where things are.
#[derive(Debug, Args)]
#[command(next_help_heading = "Places")]
pub struct Places {
    /// Notebook, the database of all runs
    ///
    /// By default prony/notebook.db in the user's data folder.
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        hide_short_help = true,
        env = "PRONY_NOTEBOOK",
        hide_env_values = true
    )]
    pub notebook: Option<PathBuf>,
    /// Further folder of servers
    ///
    /// In addition to the catalog inside prony and ./servers. May be repeated.
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        hide_short_help = true,
        env = "PRONY_CATALOG",
        value_delimiter = ':',
        hide_env_values = true
    )]
    pub catalog: Vec<PathBuf>,
    /// Folder of servers, instead of the catalog and ./servers
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        hide_short_help = true,
        env = "PRONY_ONLY_CATALOG",
        hide_env_values = true
    )]
    pub only_catalog: Option<PathBuf>,
    /// Cache, where servers are built
    ///
    /// By default prony/ in the user's cache folder.
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        hide_short_help = true,
        env = "PRONY_CACHE",
        hide_env_values = true
    )]
    pub cache: Option<PathBuf>,
    /// Use colors: auto, always or never
    ///
    /// By default on a terminal, unless NO_COLOR or CLICOLOR=0 is set.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        hide_short_help = true,
        value_enum,
        default_value_t,
        hide_possible_values = true,
        hide_default_value = true
    )]
    pub color: When,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Box<RunArgs>),
    #[command(visible_alias = "compare")]
    Duel(Box<Duel>),
    Capacity(Box<Capacity>),
    Why(Box<Why>),
    Calibrate(Calibrate),
    Load(Box<LoadArgs>),
    Servers(Servers),
    Hosts(HostsArgs),
    Runs(Runs),
    Report(ReportArgs),
    Export(Export),
    View(View),
    Diff(Diff),
    Explain(Explain),
    Verify(Verify),
    Requests(Requests),
    Audit(Audit),
    Import(Import),
    Serve(Serve),
    /// The client of the published benchmark of TCP echo servers: its flags, its output line
    ///
    /// Unlike the original it counts from the first request to the last answer, compares every
    /// byte, and exits with 1 when replies were lost.
    #[command(
        name = "echo-client",
        disable_help_flag = true,
        after_help = "Examples:\n  \
            prony echo-client -c50 -o2 -h10000 localhost        as it was published\n  \
            prony echo-client -c50 -o2 -h10000 -v -p 7000 localhost\n  \
            prony echo-client -c50 -o2 -h10000 --as-published localhost"
    )]
    EchoClient(prony_compat::echo_client::EchoClient),
    /// wrk 4.2 and wrk2: flags, output, and Lua scripts unmodified
    #[command(
        hide = true,
        disable_help_flag = true,
        after_help = "Examples:\n  \
            prony wrk -t2 -c100 -d10s --latency http://localhost:8000/\n  \
            prony wrk -t16 -c400 -d60s -s fin-fan.lua http://localhost:8888/fibonacci\n  \
            prony wrk -t2 -c100 -d10s -R 2000 -L http://localhost:8000/\n  \
            prony wrk --help                                     its own flags"
    )]
    Wrk(Passed),
    /// ab, the Apache HTTP server benchmarking tool: flags and output of 2.3
    #[command(
        hide = true,
        disable_help_flag = true,
        after_help = "Examples:\n  \
            prony ab -n 10000 -c 50 -k http://localhost:8000/\n  \
            prony ab -n 10000 -c 50 -e percentiles.csv -g times.tsv http://localhost:8000/\n  \
            prony ab -h                                          its own flags"
    )]
    Ab(Passed),
    /// weighttp: flags and output of 0.4
    #[command(
        hide = true,
        disable_help_flag = true,
        after_help = "Examples:\n  \
            prony weighttp -n 100000 -c 1000 -t 3 -k http://localhost:8000/\n  \
            prony weighttp -h                                    its own flags"
    )]
    Weighttp(Passed),
    /// httperf: flags and output of 0.9; its --rate is connections per second
    #[command(
        hide = true,
        disable_help_flag = true,
        after_help = "Examples:\n  \
            prony httperf --hog --server localhost --port 8000 --num-conns 1000 --rate 100\n  \
            prony httperf --hog --server localhost --port 8000 --num-conns 10 --num-calls 1000\n  \
            prony httperf --help                                 its own flags"
    )]
    Httperf(Passed),
    /// h2load, the benchmarking tool of nghttp2: flags and output of 1.52
    #[command(
        name = "h2load",
        hide = true,
        disable_help_flag = true,
        after_help = "Examples:\n  \
            prony h2load -n 100000 -c 10 -m 32 https://localhost:8443/\n  \
            prony h2load -D 10 -c 50 --h1 http://localhost:8000/\n  \
            prony h2load --help                                  its own flags"
    )]
    H2load(Passed),
    Schema(SchemaArgs),
    Completions(Completions),
    Man(Man),
    /// Is prony on another machine, told over standard input what to do.
    #[command(hide = true)]
    Agent,
    /// Keeps a server, and ends it when prony ends.
    #[command(hide = true)]
    Supervisor {
        /// CPUs, program, arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

impl Command {
    /// How a measurement shows its progress and result.
    pub const fn shown(&self) -> Option<&DisplayArgs> {
        match self {
            Self::Run(args) => Some(&args.shown),
            Self::Duel(args) => Some(&args.shown),
            Self::Capacity(args) => Some(&args.shown),
            Self::Why(args) => Some(&args.shown),
            Self::Calibrate(args) => Some(&args.shown),
            Self::Load(args) => Some(&args.shown),
            _ => None,
        }
    }
}

/// Arguments that a compatibility command gets unchanged.
#[derive(Debug, Args)]
pub struct Passed {
    /// Arguments of the tool itself, and `--quiet`: no checks on standard error
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
}

/// The command line, with a short help and a long one for every verb.
pub fn command() -> clap::Command {
    short::with_both(Cli::command())
}

impl Cli {
    /// Parses a command line.
    pub fn read(
        line: impl IntoIterator<Item = impl Into<OsString> + Clone>,
    ) -> Result<Self, clap::Error> {
        let line: Vec<OsString> = line.into_iter().map(Into::into).collect();
        let mut command = command().color(paint::asked_for(&line).into());
        let matches = command.try_get_matches_from_mut(line)?;
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }
}

/// One of these words, as a value of the type that they stand for.
fn one_of<T>(
    words: impl Into<clap::builder::PossibleValuesParser>,
) -> impl TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    words.into().try_map(|word: String| word.parse::<T>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn the_first_screen_names_every_command() {
        for command in command().get_subcommands() {
            let name = command.get_name();
            if name != "supervisor" && name != "agent" && name != "help" {
                assert!(HELP.contains(name), "{name}");
            }
        }
    }
}
