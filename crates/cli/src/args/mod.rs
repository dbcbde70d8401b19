//! What the user may type: the one definition of the command line.

mod anatomy;
pub mod capacity;
pub mod connect;
mod driven;
mod duel;
pub mod gate;
pub mod grpc;
mod hosts;
pub mod http2;
mod load;
pub mod machines;
mod number;
mod others;
pub mod over;
pub mod pace;
pub mod request;
mod requests;
mod results;
mod run;
mod servers;
pub mod shape;
mod share;
mod timed;
pub mod tls;
mod verify;
mod why;
pub mod ws;

pub use capacity::{Calibrate, Capacity};
pub use duel::Duel;
pub use hosts::{HostsAction, HostsArgs, HostsCheck};
pub use load::Load;
pub use others::{Audit, Completions, Import, Man, Schema, SchemaOf, Serve, Served};
pub use requests::{From, Requests, RequestsCommand};
pub use results::{Compare, Explain, Export, Format, Report, Runs, View};
pub use run::Run;
pub use servers::{Servers, ServersAction};
pub use verify::Verify;
pub use why::Why;

use clap::builder::TypedValueParser;
use clap::{Args, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// The first screen: what people need first, and where the rest is.
const HELP: &str = "\
hyperfine for servers: starts servers, proves that they answer correctly, loads them, and says
which is faster, by how much, and how certain that is

Usage: prony [OPTIONS] <COMMAND>

Start here:
  duel       Compare two or more servers: which is faster, and how certain is that?
  load       Load a server that is already running
  capacity   Find the highest rate that a server sustains within a latency limit
  run        Run an experiment: many servers, verified and loaded over several rounds
  view       Browse all results in a web browser

More commands:
  results      runs, report, compare, export, import
  servers      servers (list, setup, check, start), serve, hosts (check)
  one server   why: what a request costs it, by function and system call
  trust        calibrate, explain, verify
  requests     requests (from): files of requests out of curl commands, HAR, OpenAPI, logs
  other tools  audit, echo-client, wrk, ab, h2load, weighttp, httperf
  setup        schema, completions, man

Options: --notebook FILE, --catalog FOLDER, --cache FOLDER, -h/--help, -V/--version

Examples:
  prony duel 'node old.js --port {port}' 'node new.js --port {port}'
  prony load http://localhost:8000/

`prony COMMAND --help` explains a command; docs/commands.md has examples of all of them.
Results go to standard output, everything else to standard error.
Exit status: 0 done; 1 failed; 2 mistake on the command line; 3 a limit was exceeded, or an audit
found something serious; 4 with --strict: not known whether a limit was exceeded
";

/// hyperfine for servers: starts them, proves that they answer correctly, loads them, and says
/// which is faster and how sure that is.
#[derive(Debug, Parser)]
#[command(
    name = "prony",
    version = crate::built::version(),
    max_term_width = 100,
override_help = HELP,
    after_help = "Examples:\n  \
        prony duel 'node old.js --port {port}' 'node new.js --port {port}'\n  \
        prony load http://localhost:8000/\n  \
        prony run quickstart\n\n\
        Exit status:\n  \
        0  done\n  \
        1  failed, or only partly done\n  \
        2  mistake on the command line; nothing was started\n  \
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
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Shown {
    /// Show progress as lines, on a terminal too
    #[arg(long, conflicts_with = "quiet")]
    pub plain: bool,
    /// Show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Where things are.
#[derive(Debug, Args)]
#[command(next_help_heading = "Places")]
pub struct Places {
    /// The notebook, the database of all runs [default: prony/notebook.db in the user's data folder]
    #[arg(
        long,
        global = true,
        value_name = "FILE",
        env = "PRONY_NOTEBOOK",
        hide_env_values = true
    )]
    pub notebook: Option<PathBuf>,
    /// A folder of servers besides the catalog inside prony and ./servers; may be repeated
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "PRONY_CATALOG",
        value_delimiter = ':',
        hide_env_values = true
    )]
    pub catalog: Vec<PathBuf>,
    /// A folder of servers instead of the catalog inside prony and ./servers
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "PRONY_ONLY_CATALOG",
        hide_env_values = true
    )]
    pub only_catalog: Option<PathBuf>,
    /// The cache, where servers are built [default: prony/ in the user's cache folder]
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "PRONY_CACHE",
        hide_env_values = true
    )]
    pub cache: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Run(Run),
    Duel(Box<Duel>),
    Capacity(Box<Capacity>),
    Why(Box<Why>),
    Calibrate(Calibrate),
    Load(Box<Load>),
    Servers(Servers),
    Hosts(HostsArgs),
    Runs(Runs),
    Report(Report),
    Export(Export),
    View(View),
    Compare(Compare),
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
    Schema(Schema),
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

/// What a compatibility command gets as it stands.
#[derive(Debug, Args)]
pub struct Passed {
    /// As the tool itself takes them, and `--quiet`: no checks on standard error
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<OsString>,
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
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_first_screen_names_every_command() {
        for command in Cli::command().get_subcommands() {
            let name = command.get_name();
            if name != "supervisor" && name != "agent" && name != "help" {
                assert!(HELP.contains(name), "{name}");
            }
        }
        assert!(HELP.lines().count() <= 36 && HELP.lines().all(|line| line.len() <= 100));
    }

    /// A command that is broken into two lines cannot be copied.
    #[test]
    fn examples_fit_a_line() {
        fn look(command: &clap::Command) {
            if let Some(examples) = command.get_after_help() {
                for line in examples.to_string().lines() {
                    assert!(
                        line.chars().count() <= 100,
                        "{}: {line}",
                        command.get_name()
                    );
                }
            }
            command.get_subcommands().for_each(look);
        }
        look(&Cli::command());
    }
}
