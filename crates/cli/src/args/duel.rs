//! `prony duel`.

use super::DisplayArgs;
use super::anatomy::AnatomyArgs;
use super::around::Around;
use super::connect::{Connect, SourceArgs};
use super::driven::Driven;
use super::gate::Gate;
use super::grpc::Called;
use super::machines::Apart;
use super::pace::steady_rate;
use super::protocol::{ProtocolArgs, ServerKey};
use super::request::{RequestArgs, RequestFileArgs};
use super::servers::contract;
use super::share::Share;
use super::timed::length;
use super::tls::TlsArgs;
use super::ws::Messages;
use crate::complete;
use crate::target;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use prony_lab::contract::Contract;
use prony_record::Span;
use prony_record::bounds::MOST_ROUNDS;
use prony_record::verdict::Quantity;
use std::path::PathBuf;

/// Compare two or more servers: which is faster, and by how much?
///
/// A side is a command line (with `{port}` where the port goes, and `{host}` where the address
/// goes; the variables PORT and HOST are set too), a server of the catalog, or the URL of a server
/// that already runs.
///
/// In every round, prony starts all sides anew and loads them round-robin: as fast as responses
/// come, then at a rate that all can keep. It compares throughput, response times and CPU time per
/// request with those of the first side, and gives each a verdict with its 95% interval. After
/// four rounds it says what it can find. It ends when every quantity has a verdict, or when time
/// runs out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony duel 'node old.js --port {port}' 'node new.js --port {port}'\n  \
    prony duel -n old './server {port} -g 1' -n new './server {port} -g 2'\n  \
    prony duel --path /users/7 './old {port}' './new {port}'\n  \
    prony duel :8001 :8002 --precision 1%         # servers that already run\n  \
    prony duel --rev main --rev HEAD --build make './app {port}'  # two commits\n  \
    prony duel --run './app {port}' --build make ../main .  # two folders\n  \
    prony duel --image shop:1.4 --image shop:1.5  # two container images\n  \
    prony duel --contract http-echo node go-net-http  # from the catalog\n  \
    prony duel --path /cart -b '{\"item\":7}' './old {port}' './new {port}'\n  \
    prony duel -u ada:secret --path /account './old {port}' './new {port}'\n  \
    prony duel --compressed --path /page './old {port}' './new {port}'\n  \
    prony duel -f shop.toml './old {port}' './new {port}'  # a request file\n  \
    prony duel :8001 h2c://localhost:8001/        # HTTP/1.1 and HTTP/2\n  \
    prony duel --contract http-echo --protocol plain,tls nginx nginx\n  \
    prony duel --call hello.Greeter/SayHello './old {port}' './new {port}'\n  \
    prony duel --protocol ws --text './old {port}' './new {port}'\n  \
    prony duel :8001 http://shop.test/ --resolve shop.test:80:10.0.0.5\n  \
    prony duel './old {port}' './new {port}' --only cpu --min-effect 0.5%\n  \
    prony duel './old {port}' './new {port}' --why --html why.html\n  \
    prony duel './old {port}' './new {port}' --server-cpu 0.5  # a limit\n  \
    prony duel go-net-http --contract http-echo --self-check  # the noise of this host\n  \
    prony duel :8001 :8002 --fail-if 'cpu > +5%'  # exit status 3 if so")]
pub struct Duel {
    /// Command lines with {port}, URLs, or servers of the catalog
    ///
    /// A server of the catalog is `name`, or `name@workers`. With --run, sides are folders. With
    /// --image, the one command line that every image runs, if not its own.
    #[arg(required_unless_present = "image", value_parser = target::server, add = ArgValueCandidates::new(complete::servers))]
    pub sides: Vec<String>,
    /// Name of a side, in their order; one for each
    ///
    /// By default the shortest part that distinguishes the sides: a file name, an argument, a port.
    #[arg(short, long, value_name = "NAME")]
    pub name: Vec<String>,
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
    /// Run this command line in each side, a folder
    #[arg(long, value_name = "COMMAND", conflicts_with = "rev")]
    pub run: Option<String>,
    /// Also run the first side against itself, to measure noise
    #[arg(long)]
    pub self_check: bool,
    /// Git revision to run the command in; repeat it
    ///
    /// Give two or more. prony runs the command line in a temporary worktree of each.
    #[arg(long, value_name = "REVISION")]
    pub rev: Vec<String>,
    /// Container image to run; repeat it
    ///
    /// Give two or more, for podman or Docker. The server listens where the variables HOST and PORT say (or `{host}` and `{port}` in its
    /// command line), on this machine's network; see --image-port.
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["rev", "run", "build"])]
    pub image: Vec<String>,
    /// Forward to this port of each container
    #[arg(long, value_name = "PORT", requires = "image", value_parser = clap::value_parser!(u16).range(1..))]
    pub image_port: Option<u16>,
    /// Program that runs images [default: podman, else docker]
    #[arg(long, value_name = "PROGRAM", requires = "image")]
    pub container_engine: Option<String>,
    /// Shell command that builds each side
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Run this shell command once, before everything
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,
    #[command(flatten)]
    pub around: Around,
    /// Compare only throughput, p50, p99 or cpu
    ///
    /// May be repeated. Saves the time that the others would need, and gives narrower intervals.
    #[arg(long, value_name = "QUANTITY", value_enum, hide_possible_values = true)]
    pub only: Vec<Only>,
    /// Number of rounds [default: until decided]
    ///
    /// By default, rounds go on until every quantity has a verdict or cannot get one in time: 60
    /// rounds at most, or 120 where only one part of a round is needed.
    #[arg(long, value_name = "N", conflicts_with = "precision", value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_ROUNDS)))]
    pub rounds: Option<u32>,
    /// Stop when every interval is within ± this share
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<Share>,
    /// Treat differences below this share as equal [default: 1%]
    ///
    /// By default 1%, or what this host's noise allows where `prony calibrate` found that to be
    /// more.
    #[arg(long, value_name = "SHARE")]
    pub min_effect: Option<Share>,
    /// Time limit [default: 3m; none with --rounds]
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub max_time: Option<Span>,
    #[command(flatten)]
    pub why: AnatomyArgs,
    #[command(flatten)]
    pub driven: Driven,
    /// Requests per second for latency and CPU time
    ///
    /// prony loads all sides at this rate. By default half of what the slowest side reaches.
    #[arg(long, short_alias = 'R', value_name = "N", value_parser = steady_rate, help_heading = "Load")]
    pub rate: Option<f64>,
    /// Compare CPU per request at a lower and a higher rate too
    ///
    /// At 20% and 80% of what the slowest side reaches, besides the common rate. A server that has
    /// time to spare sleeps and wakes up more often, so a difference may depend on the rate. Rounds
    /// take about twice as long.
    #[arg(long, help_heading = "Load")]
    pub cpu_rates: bool,
    /// Let the other sides run while one is measured
    ///
    /// By default prony stops their processes (SIGSTOP) and continues them before their turn, where
    /// it has started them itself.
    #[arg(long, help_heading = "Load")]
    pub no_pause: bool,
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
    #[command(flatten)]
    pub apart: Apart,
    #[command(flatten)]
    pub gate: Gate,
    /// Write a page with charts
    ///
    /// With --why, also with flame graphs.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub html: Option<PathBuf>,
    /// Print the result as JSON
    ///
    /// `prony schema duel` describes it.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten, next_help_heading = "Output")]
    pub shown: DisplayArgs,
}

/// A quantity that a duel compares, as it is called on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Only(pub Quantity);

impl clap::ValueEnum for Only {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [Only; 4] = [
            Only(Quantity::Throughput),
            Only(Quantity::P50),
            Only(Quantity::P99),
            Only(Quantity::Cpu),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.word()))
    }
}
