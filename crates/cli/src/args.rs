//! What the user may type: the one definition of the command line.

use clap::{Args, Parser, Subcommand, ValueEnum};
use prony_lab::contract::Contract;
use prony_lab::text::Span;
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;

/// hyperfine for servers: starts them, proves that they answer correctly, loads them, and says
/// which is faster and how sure that is.
#[derive(Debug, Parser)]
#[command(
    name = "prony",
    version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PRONY_COMMIT"), ")"),
    max_term_width = 100,
    after_help = "Other tools' command lines, also through a link with the tool's name (docs/compat.md):\n  \
        prony wrk -t2 -c100 -d10s -s script.lua http://localhost:8000/\n  \
        prony ab -n 10000 -c 50 -k http://localhost:8000/\n  \
        prony weighttp -n 10000 -c 50 -t 2 -k localhost:8000/\n  \
        prony httperf --hog --server localhost --port 8000 --num-conns 1000 --rate 100\n\n\
        Examples:\n  \
        prony run quickstart                      compare prony's own servers and your languages\n  \
        prony load http://localhost:8000/         load a server that is already running\n  \
        prony load -c 100 --rate 5000 tcp://[::1]:7   open loop against an echo server\n  \
        prony servers list                        what can be started\n  \
        prony report latest                       the last run again\n  \
        prony view                                all runs as a web page, live while one goes on\n  \
        prony audit results.md                    what is wrong with this benchmark?\n\n\
        Results go to standard output, everything else to standard error.\n\
        Exit status: 0 done, 1 something could not be done, 2 the command line is wrong, 3 done, and a\n\
        limit that was given is broken, or an audit found something serious."
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
    /// The catalog, a folder with a folder for each server [default: servers/ of the project in
    /// this folder or above it, else the catalog inside prony]
    #[arg(
        long,
        global = true,
        value_name = "FOLDER",
        env = "PRONY_CATALOG",
        hide_env_values = true
    )]
    pub catalog: Option<PathBuf>,
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
    Duel(Duel),
    Capacity(Capacity),
    #[command(alias = "tare")]
    Calibrate(Calibrate),
    Load(Box<Load>),
    Servers(Servers),
    Runs(Runs),
    Report(Report),
    Export(Export),
    View(View),
    Compare(Compare),
    Explain(Explain),
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
    Schema(Schema),
    Completions(Completions),
    Man(Man),
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

/// Run an experiment: every server in it, verified and loaded, round after round
///
/// An experiment is a TOML file, or the name of one that ships with prony. Each round starts every
/// server once, in an order drawn afresh. Each trial is in the notebook before the next begins, so
/// Ctrl-C loses at most the one under way.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony run quickstart\n  \
    prony run quickstart --rounds 10 --json > result.json\n  \
    prony run weather --load 'c64 t8' --only finagle\n  \
    prony run my-experiment.toml --only go-net-http --only node")]
pub struct Run {
    /// A file, or the name of an experiment
    pub experiment: String,
    /// Rounds, instead of those that the experiment says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// Only these servers, and the baseline (as `name` or `name@workers`; may be repeated)
    #[arg(long, value_name = "SERVER")]
    pub only: Vec<String>,
    /// Only these loads (as reports label them: `c64 t8`, or a load's name; may be repeated)
    #[arg(long, value_name = "LOAD")]
    pub load: Vec<String>,
    /// Shorter: one round, a tenth of the work, and at most 3 s of warm-up
    #[arg(long)]
    pub quick: bool,
    /// Draw the orders from this number, to repeat them
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Print the result as JSON (`prony schema run` describes it)
    #[arg(long)]
    pub json: bool,
    /// Write no page; otherwise the report is written beside the notebook, and its path printed
    #[arg(long)]
    pub no_html: bool,
    #[command(flatten)]
    pub shown: Shown,
}

/// Hyperfine for servers: which of these is faster, by how much, and how sure is that?
///
/// A side is a command line (with `{port}` where the port goes, and `{host}` where the address goes;
/// PORT and HOST are set as well), a server of the catalog, or the URL of a server that is already
/// running. In every round all sides are started anew and loaded in turns, as fast as answers come and
/// then at a rate that all of them can keep. The others are compared with the first: throughput,
/// response times, and CPU time per request, each with a verdict of its own. The duel ends when all
/// are settled, or time is up; its intervals allow for being looked at after every round.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony duel 'node old.js --port {port}' 'node new.js --port {port}'\n  \
    prony duel --get /users/7 './a {port}' './b {port}'\n  \
    prony duel --contract http-echo node go-net-http\n  \
    prony duel http://localhost:8001/ http://localhost:8002/ --precision 1%\n  \
    prony duel './old {port}' './new {port}' --only cpu --band 0.5%   small changes\n  \
    prony duel --rev main --rev HEAD --build 'cargo build --release' 'target/release/app --port {port}'")]
pub struct Duel {
    /// Command lines, servers of the catalog (`name` or `name@workers`), or URLs
    #[arg(required = true)]
    pub sides: Vec<String>,
    /// Ask all sides for this path
    #[arg(long, value_name = "PATH", conflicts_with = "contract")]
    pub get: Option<String>,
    /// All sides must keep this contract, which is verified
    #[arg(long, value_parser = contract)]
    pub contract: Option<Contract>,
    /// A git revision in which the command line is run, in a worktree of its own (give two or more)
    #[arg(long, value_name = "REVISION")]
    pub rev: Vec<String>,
    /// A shell command that builds a revision, run in its worktree
    #[arg(long, value_name = "COMMAND", requires = "rev")]
    pub build: Option<String>,
    /// A shell command that is run once before everything
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Compare only this: throughput, p50, p99, or cpu (per request); may be given more than once. What
    /// is not compared is not measured where that saves time, and what is gets narrower intervals
    #[arg(long, value_name = "QUANTITY", value_enum, conflicts_with = "no_rate")]
    pub only: Vec<Only>,
    /// Exactly so many rounds [default: until everything is settled, 60 at most, or 120 when throughput
    /// or all the rest is left out]
    #[arg(long, value_name = "N", conflicts_with = "precision", value_parser = clap::value_parser!(u32).range(2..=10000))]
    pub rounds: Option<u32>,
    /// Go on until every ratio is known to this much either way, such as 1%
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<Share>,
    /// Differences smaller than this count as none [default: 1%, or what this host's noise allows
    /// when `prony calibrate` has found that to be more]
    #[arg(long, value_name = "SHARE")]
    pub band: Option<Share>,
    /// Begin no round that would end after this [default: 5m; none with --rounds]
    #[arg(long, value_name = "TIME")]
    pub max_time: Option<Span>,
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Load")]
    pub connections: u32,
    /// Generator threads
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), help_heading = "Load")]
    pub threads: u32,
    /// How long each side is loaded in each of the two parts of a round
    #[arg(
        short,
        long,
        value_name = "TIME",
        default_value = "1s",
        help_heading = "Load"
    )]
    pub duration: Span,
    /// Load each start unmeasured until steady, for at most this long
    #[arg(long, value_name = "TIME", default_value = "3s", help_heading = "Load")]
    pub warmup: Span,
    /// The common rate in requests per second [default: half of what the slowest side reaches]
    #[arg(long, value_name = "N", help_heading = "Load")]
    pub rate: Option<f64>,
    /// No part at a common rate: compare throughput alone
    #[arg(long, conflicts_with = "rate", help_heading = "Load")]
    pub no_rate: bool,
    /// Give up a request after this
    #[arg(long, value_name = "TIME", default_value = "5s", help_heading = "Load")]
    pub timeout: Span,
    /// Print the result as JSON (`prony schema duel` describes it)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten, next_help_heading = "Output")]
    pub shown: Shown,
}

/// A quantity that a duel compares, as it is called on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Only(pub prony_report::duel::Quantity);

impl clap::ValueEnum for Only {
    fn value_variants<'a>() -> &'a [Self] {
        use prony_report::duel::Quantity;
        const ALL: [Only; 4] = [
            Only(Quantity::Throughput),
            Only(Quantity::P50),
            Only(Quantity::P99),
            Only(Quantity::Cpu),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        use prony_report::duel::Quantity;
        Some(clap::builder::PossibleValue::new(match self.0 {
            Quantity::Throughput => "throughput",
            Quantity::P50 => "p50",
            Quantity::P99 => "p99",
            Quantity::Cpu => "cpu",
        }))
    }
}

/// The highest rate that a server keeps within limits, and its latency below that
///
/// Doubles the rate until a limit is broken, bisects to 1 %, and then tries the boundary three times
/// for longer; a rate counts as kept when p99 and errors are within their limits, and neither the
/// server nor the generator has fallen behind. Requests have due times (an open loop), so that no
/// stall is hidden. Then shows latency at 10, 50, 80 and 90 % of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony capacity http://localhost:8000/\n  \
    prony capacity go-net-http --contract http-echo --within 5ms\n  \
    prony capacity './server --port {port}' --get /users/7 --percentile 99.9 --within 20ms\n  \
    prony capacity http://localhost:8000/ --at-least 5000     for CI: exit status 3 when below")]
pub struct Capacity {
    /// A URL, a server of the catalog (`name` or `name@workers`), or a command line with {port}
    pub server: String,
    /// Ask for this path
    #[arg(long, value_name = "PATH", conflicts_with = "contract")]
    pub get: Option<String>,
    /// The contract, which is verified first
    #[arg(long, value_parser = contract)]
    pub contract: Option<Contract>,
    /// The percentile of the response time that is limited
    #[arg(long, value_name = "P", default_value_t = 99.0, value_parser = percentile)]
    pub percentile: f64,
    /// To how much
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub within: Span,
    /// The share of requests that may fail
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub errors: Share,
    /// Exit with 3 when the capacity is below this many requests per second
    #[arg(long, value_name = "RATE")]
    pub at_least: Option<f64>,
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,
    /// Generator threads
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Length of a trial while searching; at the boundary twice that
    #[arg(short, long, value_name = "TIME", default_value = "2s")]
    pub duration: Span,
    /// Load unmeasured until steady, for at most this long
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub warmup: Span,
    /// Print the result as JSON (`prony schema capacity` describes it)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub shown: Shown,
}

/// Calibrate this host: what prony's own server and generator reach on this host, and how noisy it is
///
/// Measures the reference server against itself. From that come the ceiling that no server can
/// exceed here, what the generator costs, and the minimum detectable effect of a number
/// of rounds. It is kept in the notebook, and later reports on this host compare with it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony calibrate\n  \
    prony calibrate --contract http-echo --connections 64,1000 --rounds 20")]
pub struct Calibrate {
    /// Contracts
    #[arg(long, value_delimiter = ',', default_values = ["tcp-echo", "http-echo"], value_parser = crate::verb::calibrate::kept_by_reference)]
    pub contract: Vec<Contract>,
    /// Numbers of connections
    #[arg(long, value_delimiter = ',', default_values = ["1", "64", "100", "256"], value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: Vec<u32>,
    /// Rounds for each of them
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..))]
    pub rounds: u32,
    /// How long each side is loaded in each of the two parts of a round
    #[arg(short, long, value_name = "TIME", default_value = "500ms")]
    pub duration: Span,
    /// Print the result as JSON (`prony schema calibrate` describes it)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub shown: Shown,
}

fn percentile(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(p) if (1.0..100.0).contains(&p) => Ok(p),
        _ => Err(format!(
            "{text:?} is not a percentile: expected something like 99 or 99.9"
        )),
    }
}

/// A share of one, as people write it: `5%`, `0.05`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Share(pub f64);

impl std::str::FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (number, scale) = match text.strip_suffix('%') {
            Some(number) => (number, 100.0),
            None => (text, 1.0),
        };
        let share = number.trim().parse::<f64>().map(|n| n / scale);
        match share {
            Ok(share) if (0.0..1.0).contains(&share) => Ok(Self(share)),
            _ => Err(format!(
                "{text:?} is not a share: expected something like 1% or 0.01"
            )),
        }
    }
}

/// Load a server that is already running
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony load http://localhost:8000/                       closed loop, 64 connections, 10 s\n  \
    prony load -c 256 -t 2 -d 30s http://localhost:8000/    two threads\n  \
    prony load --rate 5000 --arrival poisson http://...     open loop: stalls are not hidden\n  \
    prony load -n 100000 -m POST -b @body.json -H 'Content-Type: application/json' http://...\n  \
    prony load --expect-status 200 --expect-body @page.html http://...\n  \
    prony load --message 'ping' tcp://127.0.0.1:7           raw echo\n  \
    prony load --plain http://localhost:8000/               progress as lines, on a terminal too\n  \
    prony load --unix /run/app.sock http://localhost/       over a unix socket")]
pub struct Load {
    /// http://HOST[:PORT]/PATH, or tcp://HOST:PORT for a raw echo; over a unix socket
    /// http+unix://%2Frun%2Fapp.sock/PATH, or unix:///run/app.sock
    pub url: String,
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,
    /// Generator threads
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Length of the measurement
    #[arg(
        short,
        long,
        value_name = "TIME",
        default_value = "10s",
        conflicts_with = "requests"
    )]
    pub duration: Span,
    /// Number of requests, instead of a duration
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub requests: Option<u64>,
    /// Load unmeasured until steady, for at most this long
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub warmup: Span,
    /// Requests per second over all connections: an open loop, in which each request has a due
    /// time that no stall of the server moves [default: closed loop, as fast as answers come]
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// How requests at a rate are spaced
    #[arg(long, value_enum, default_value_t = Arrival::Constant, requires = "rate")]
    pub arrival: Arrival,
    /// Requests in flight per connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub pipeline: u32,
    /// A connection of its own for every request
    #[arg(long)]
    pub no_keepalive: bool,
    /// Method
    #[arg(
        short,
        long,
        value_name = "METHOD",
        default_value = "GET",
        help_heading = "Request"
    )]
    pub method: String,
    /// A header field, as `Name: value` (may be repeated)
    #[arg(
        short = 'H',
        long = "header",
        value_name = "FIELD",
        help_heading = "Request"
    )]
    pub headers: Vec<String>,
    /// Body, or @FILE
    #[arg(short, long, value_name = "BODY", help_heading = "Request")]
    pub body: Option<String>,
    /// What tcp:// sends and expects back, or @FILE; \n, \r, \t and \\ are understood
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "hello\\n",
        help_heading = "Request"
    )]
    pub message: String,
    /// Connect to this unix socket instead of the URL's host
    #[arg(long, value_name = "PATH", help_heading = "Request")]
    pub unix: Option<PathBuf>,
    /// The status that every answer must have [default: any below 400]
    #[arg(long, value_name = "CODE", value_parser = clap::value_parser!(u16).range(100..1000), help_heading = "Answer")]
    pub expect_status: Option<u16>,
    /// The body that every answer must have, or @FILE [default: any]
    #[arg(long, value_name = "BODY", help_heading = "Answer")]
    pub expect_body: Option<String>,
    /// Give up a request, or a connection's set-up, after this
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5s",
        help_heading = "Answer"
    )]
    pub timeout: Span,
    /// The largest head that is accepted, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 10, help_heading = "Answer")]
    pub max_head: u64,
    /// The largest body that is accepted, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, help_heading = "Answer")]
    pub max_body: u64,
    /// How bytes are moved
    #[arg(long, value_enum, default_value_t = Transport::Auto, help_heading = "Generator")]
    pub transport: Transport,
    /// The CPUs that the generator's threads are pinned to, such as 0,2-3 [default: not pinned]
    #[arg(long, value_name = "LIST", value_parser = cpus, help_heading = "Generator")]
    pub cpus: Option<Cpus>,
    /// Draws Poisson arrivals from this number, to repeat them
    #[arg(long, value_name = "N", help_heading = "Generator")]
    pub seed: Option<u64>,
    /// Print the result as JSON (`prony schema load` describes it)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten, next_help_heading = "Output")]
    pub shown: Shown,
}

/// A list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

fn cpus(text: &str) -> Result<Cpus, String> {
    prony_lab::placement::parse_cpus(text).map(Cpus)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Arrival {
    /// Evenly
    Constant,
    /// With exponential gaps, as independent users would
    Poisson,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// `io_uring` in a closed loop where the kernel has it, else epoll
    Auto,
    /// epoll
    Epoll,
    /// `io_uring`
    #[value(name = "io_uring")]
    IoUring,
}

/// The servers of the catalog: list, setup, check, start
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony servers list http-echo\n  \
    prony servers setup tcp-echo\n  \
    prony servers check\n  \
    prony servers start node@2 --contract http-echo --port 8000")]
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
        /// Only those that keep this contract
        #[arg(value_parser = contract)]
        contract: Option<Contract>,
        /// Print JSON
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
        /// Servers, a contract for all that keep it, or an experiment for all in it [default: all]
        names: Vec<String>,
        /// Do not ask
        #[arg(long, short)]
        yes: bool,
        /// Show what would be installed, and stop
        #[arg(long, conflicts_with = "yes")]
        dry_run: bool,
    },
    /// Build servers, start them and verify their contracts
    ///
    /// Exit status 1 when one of them fails; a server that is not set up is no failure.
    #[command(after_help = "Examples:\n  \
        prony servers check                 all of them\n  \
        prony servers check http-echo       all that keep this contract\n  \
        prony servers check node go-copy")]
    Check {
        /// Servers, a contract for all that keep it, or an experiment for all in it [default: all]
        names: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Build a server and run it until Ctrl-C
    ///
    /// Its address goes to standard output.
    #[command(after_help = "Examples:\n  \
        prony servers start go-copy\n  \
        prony servers start node@2 --contract http-echo --port 8000\n  \
        prony servers start go-copy --host 192.0.2.7     on an address that other machines can reach")]
    Start {
        /// The server, as `name` or `name@workers`
        name: String,
        /// The contract, where the server keeps several
        #[arg(long, value_parser = contract)]
        contract: Option<Contract>,
        /// The IP address to listen on
        #[arg(long, value_name = "ADDR", default_value = "127.0.0.1")]
        host: IpAddr,
        /// The port; 0: a free one
        #[arg(long, default_value_t = 0)]
        port: u16,
    },
}

fn contract(text: &str) -> Result<Contract, String> {
    text.parse()
        .map_err(|error: prony_lab::contract::UnknownContract| error.to_string())
}

/// List the runs in the notebook
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony runs\n  prony runs -n 100 --json")]
pub struct Runs {
    /// So many at the most, the latest first
    #[arg(short = 'n', long, default_value_t = 20)]
    pub limit: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Show a run again
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony report latest\n  \
    prony report 12 --html report.html      as one page with charts\n  \
    prony report 12 --json\n  \
    prony report quickstart\n  \
    prony report latest --published theirs")]
pub struct Report {
    /// A run's number, `latest`, or an experiment's name for its latest run
    #[arg(default_value = "latest")]
    pub run: String,
    /// Show these figures beside it: those of a file in published/, or those that `prony import` has
    /// put in under this name [default: those that the experiment names]
    #[arg(long, value_name = "NAME")]
    pub published: Option<String>,
    /// Print JSON, as `prony run --json` does
    #[arg(long)]
    pub json: bool,
    /// Write it as a page with charts, which needs nothing but itself; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}

/// Write a run as a file of another tool
///
/// json has everything (`prony schema export` describes it); csv a row per trial; markdown is for a pull
/// request; hlog and hgrm are HdrHistogram's log of all trials and its table of percentiles; benchstat is
/// what Go's benchstat compares; openmetrics is for a database; svg is one chart.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony export latest --format csv --out trials.csv\n  \
    prony export 12 --format markdown\n  \
    prony export 12 --format svg --chart throughput-c64 --out throughput.svg\n  \
    prony export 12 --format hgrm --server node --load c64 --out node.hgrm\n  \
    prony export 12 --format benchstat --out 12.txt")]
pub struct Export {
    /// A run's number, `latest`, or an experiment's name for its latest run
    #[arg(default_value = "latest")]
    pub run: String,
    /// The format
    #[arg(long, short, value_enum)]
    pub format: Format,
    /// Into this file instead of to standard output
    #[arg(long, short, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Of svg: the chart [default: list them]
    #[arg(long, value_name = "NAME")]
    pub chart: Option<String>,
    /// Of hgrm: the server, as `name` or `name@workers`
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Of hgrm: the load, as reports label it
    #[arg(long, value_name = "LOAD")]
    pub load: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Everything, from which every report can be made again
    Json,
    /// A row per trial
    Csv,
    /// Tables for a pull request
    Markdown,
    /// HdrHistogram's log, an interval per trial
    Hlog,
    /// HdrHistogram's percentiles of one server under one load
    Hgrm,
    /// Go's benchmark format, a line per trial
    Benchstat,
    /// OpenMetrics
    Openmetrics,
    /// One chart
    Svg,
}

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony completions bash > ~/.local/share/bash-completion/completions/prony\n  \
    prony completions zsh > \"${fpath[1]}/_prony\"\n  \
    prony completions fish > ~/.config/fish/completions/prony.fish")]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Print the manual page
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony man | man -l -\n  \
    prony man --out ~/.local/share/man/man1      one page for every verb")]
pub struct Man {
    /// Write a page for every verb into this folder
    #[arg(long, value_name = "FOLDER")]
    pub out: Option<PathBuf>,
}

/// Show the notebook as a web page: runs, reports, comparisons, histories
///
/// Its address goes to standard output; Ctrl-C ends it. A run that is under way appears trial by trial,
/// whichever prony makes it. Only this machine can see it, unless --listen says another address: then
/// whoever opens it needs the token in the address that is printed. The way there is not encrypted: on
/// a network that others can read, prefer `ssh -L 7766:localhost:7766 HOST`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony view\n  \
    prony view --notebook ci.db --port 0        any free port\n  \
    prony view --listen 0.0.0.0                 for others too, with a token")]
pub struct View {
    /// The port; 0 for any free one
    #[arg(long, value_name = "N", default_value_t = prony_view::PORT)]
    pub port: u16,
    /// Listen on this address of this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub listen: IpAddr,
}

/// Compare two runs: has anything become slower?
///
/// Servers that both runs have under the same load are compared: the ratio is that of the second run
/// to the first, with an interval from resampling starts and the windows in them. The runs were not
/// made in turns, so whatever else changed on the machine between them is in the ratio too: for a
/// verdict on two servers prefer `prony duel`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony compare 12 15\n  \
    prony compare 12 latest --fail-if-slower 5%     for CI: exit status 3 when it has")]
pub struct Compare {
    /// The earlier run: its number, `latest`, or an experiment's name
    pub before: String,
    /// The later run
    pub after: String,
    /// Exit with 3 when a server is shown to be slower (or to need more CPU time per request), by
    /// this much or more
    #[arg(long, value_name = "SHARE")]
    pub fail_if_slower: Option<Share>,
    /// Differences smaller than this count as none
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub band: Share,
    /// Draw the resamples from this number
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Print the result as JSON (`prony schema compare` describes it)
    #[arg(long)]
    pub json: bool,
}

/// What a check means, of a measurement or of an audit: cause, evidence, remedy
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony explain server-idle\n  \
    prony explain back-filled      a check of `prony audit`\n  \
    prony explain                  all of them")]
pub struct Explain {
    /// The check's name, as reports and audits give it [default: all]
    pub check: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Say what is wrong with benchmark outputs, tables and pages
///
/// Reads outputs of wrk, wrk2, ab, httperf, weighttp, h2load, oha, hey and k6, tables in Markdown,
/// HTML or CSV, and whole pages that mix them with sentences and command lines. Files that belong
/// together are best given together. Exit status 3 when something serious was found: figures that do
/// not mean what they seem to mean.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony audit README.md                       a page with outputs and tables\n  \
    prony audit run-1.txt run-2.txt run-3.txt   three runs of one server\n  \
    prony audit results.csv --json              for programs (`prony schema audit` describes it)\n  \
    wrk -c64 -d10s http://10.0.0.2/ | prony audit -")]
pub struct Audit {
    /// Files; - is standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Put runs of other notebooks, or figures that others have published, into the notebook
///
/// A file that `prony export --format json` has written becomes a run with a number of its own, of which
/// report, export and compare say what they say of the original; one that is there already is not put in
/// again. Of everything else it reads what `prony audit` reads, and keeps its rates (and response times,
/// where there was one run) under a name. An experiment with `published = "NAME"` shows them beside what
/// it measures, and `prony report --published NAME` beside any run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony import run-12.json                    a run, from another machine\n  \
    ssh rig prony export latest -f json | prony import -\n  \
    prony import README.md --as theirs          figures, under a name\n  \
    prony import run-*.txt --as ours --server 'nginx 1.2=nginx' --server 'node=node@2'\n  \
    prony import results.csv --as theirs --json")]
pub struct Import {
    /// Files; - is standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Of figures: their name; those that have it already are replaced
    #[arg(long = "as", value_name = "NAME", value_parser = table_name)]
    pub name: Option<String>,
    /// Of figures: the server of the catalog that stands for a row [default: the one of that name] (may be
    /// repeated)
    #[arg(long, value_name = "ROW=SERVER", value_parser = row_and_server)]
    pub server: Vec<(String, String)>,
    /// Of runs: put them in even if they are there already
    #[arg(long, conflicts_with_all = ["name", "server"])]
    pub again: bool,
    /// Print JSON (`prony schema published` describes that of figures; of runs it is their numbers)
    #[arg(long)]
    pub json: bool,
}

fn table_name(text: &str) -> Result<String, String> {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.starts_with('.') || !text.chars().all(good) {
        return Err("a name has letters, digits, -, _ and . in it, and nothing else".into());
    }
    Ok(text.to_owned())
}

fn row_and_server(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((row, server)) if !row.is_empty() && !server.is_empty() => {
            Ok((row.to_owned(), server.to_owned()))
        }
        _ => Err("must be ROW=SERVER, such as 'nginx 1.2=nginx'".into()),
    }
}

/// Serve a contract with one of prony's own servers, until Ctrl-C
///
/// `tcp-echo` and `http-echo` are as fast as the kernel allows: the ceiling of a host. `clockwork`
/// answers exactly when a script says, to test load generators.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony serve http-echo --port 8000\n  \
    prony serve tcp-echo --model io-uring --workers 2 --port 7000\n  \
    prony serve clockwork --stall 100ms/1s --port 7000\n  \
    prony serve clockwork --contract http-echo --delay uniform:1ms..3ms --queue")]
pub struct Serve {
    /// tcp-echo, http-echo, or clockwork
    pub what: Served,
    /// The port; 0: a free one, which is printed
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: std::net::IpAddr,
    /// How connections are served
    #[arg(long, default_value = "epoll")]
    pub model: prony_reference::ceiling::Model,
    /// Event loops, each with its own listener
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: u32,
    /// Busy work per request, to make a server that is slower by a known amount
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub busy: Span,
    /// What the clockwork answers
    #[arg(long, default_value = "tcp-echo", help_heading = "Clockwork")]
    pub contract: prony_reference::Contract,
    /// Time from a request to its answer: 1ms, uniform:1ms..3ms, bimodal:1ms,10ms,0.1
    #[arg(long, default_value = "none", help_heading = "Clockwork")]
    pub delay: prony_reference::clockwork::Delay,
    /// Answer nothing for LENGTH in every PERIOD: 100ms/1s
    #[arg(long, value_name = "LENGTH/PERIOD", help_heading = "Clockwork")]
    pub stall: Option<prony_reference::clockwork::Stall>,
    /// Serve one request at a time: the delay is a service time
    #[arg(long, help_heading = "Clockwork")]
    pub queue: bool,
    /// Bytes of a tcp-echo request [default: whatever arrives at once]
    #[arg(long, value_name = "BYTES", help_heading = "Clockwork")]
    pub message: Option<std::num::NonZeroUsize>,
    /// Send answers in two pieces with Nagle's algorithm on (the 40 ms of a delayed acknowledgement)
    #[arg(long, help_heading = "Clockwork")]
    pub nagle: bool,
    /// Draws delays from this number
    #[arg(long, default_value_t = 0, help_heading = "Clockwork")]
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Served {
    /// Every byte comes back
    TcpEcho,
    /// GET /any/path is answered with the path and the date
    HttpEcho,
    /// Delays and stalls that are known exactly
    Clockwork,
}

/// Print the JSON Schema of a file or of an output
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony schema experiment > experiment.schema.json\n  \
    prony schema load                   what `prony load --json` prints")]
pub struct Schema {
    /// Of what
    #[arg(value_enum)]
    pub what: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// What `prony load --json` prints
    Load,
    /// What `prony run --json` and `prony report --json` print
    Run,
    /// What `prony duel --json` prints
    Duel,
    /// What `prony compare --json` prints
    Compare,
    /// What `prony capacity --json` prints
    Capacity,
    /// What `prony calibrate --json` prints
    Calibrate,
    /// What `prony export --format json` writes
    Export,
    /// An experiment file
    Experiment,
    /// A server's manifest
    Server,
    /// A file of published figures, and what `prony import --json` prints
    Published,
    /// What `prony audit --json` prints
    Audit,
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
    fn names_and_rows() {
        assert!(table_name("mine-2.1").is_ok());
        for name in ["", "a/b", ".hidden", "a b"] {
            assert!(table_name(name).is_err(), "{name}");
        }
        assert_eq!(
            row_and_server("a=b=node@2"),
            Ok(("a=b".to_owned(), "node@2".to_owned()))
        );
        assert!(row_and_server("node").is_err() && row_and_server("=node").is_err());
    }
}
