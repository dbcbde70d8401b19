//! `prony duel`.

use super::Shown;
use super::anatomy::AnatomyArgs;
use super::connect::{Connect, Origin};
use super::driven::Driven;
use super::gate::Gate;
use super::grpc::Called;
use super::http2::Http2;
use super::machines::Apart;
use super::over::OverArgs;
use super::pace::steady_rate;
use super::request::{Asked, Request};
use super::servers::contract;
use super::share::Share;
use super::timed::length;
use super::tls::Tls;
use super::ws::Ws;
use crate::complete;
use crate::target;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use prony_lab::contract::Contract;
use prony_record::Span;
use prony_record::bounds::MOST_ROUNDS;
use prony_record::verdict::Quantity;

/// Hyperfine for servers: which of these is faster, by how much, and how sure is that?
///
/// A side is a command line (with `{port}` where the port goes, and `{host}` where the address goes;
/// PORT and HOST are set as well), a server of the catalog, or the URL of a server that is already
/// running. In every round all sides are started anew and loaded in turns, as fast as answers come and
/// then at a rate that all of them can keep. The others are compared with the first: throughput,
/// response times, and CPU time per request, each with a verdict of its own. The duel says after four
/// rounds what it can find, and ends when everything is settled that can be in its time; its intervals
/// allow for being looked at after every round.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony duel 'node old.js --port {port}' 'node new.js --port {port}'\n  \
    prony duel --get /users/7 './a {port}' './b {port}'\n  \
    prony duel --contract http-echo node go-net-http\n  \
    prony duel http://localhost:8001/ http://localhost:8002/ --precision 1%\n  \
    prony duel './old {port}' './new {port}' --only cpu --band 0.5%   small changes\n  \
    prony duel --get /cart -b '{\"item\":7}' --expect-status 201 './old {port}' './new {port}'\n  \
    prony duel -u ada:secret --get /account './old {port}' './new {port}'\n  \
    prony duel --compressed --get /page './old {port}' './new {port}'   docs/curl.md\n  \
    prony duel -f shop.toml './old {port}' './new {port}'   docs/your-own-requests.md\n  \
    prony duel http://localhost:8001/ h2c://localhost:8001/    HTTP/1.1 and HTTP/2, docs/http2.md\n  \
    prony duel --contract http-echo --over plain,tls go-net-http go-net-http    what encryption costs\n  \
    prony duel --call hello.Greeter/SayHello './old {port}' './new {port}'   gRPC, docs/grpc.md\n  \
    prony duel --ws --size 200 --text './old {port}' './new {port}'   WebSocket, docs/websocket.md\n  \
    prony duel http://shop.test/ http://localhost/ --resolve shop.test:80:10.0.0.5   docs/curl.md\n  \
    prony duel --run './server --port {port}' --build make ../main .   two folders\n  \
    prony duel --image shop:1.4 --image shop:1.5       two container images, each with its own command\n  \
    prony duel './old {port}' './new {port}' --why --why-page why.html  which functions differ\n  \
    prony duel go-net-http --contract http-echo --aa                   a server against itself\n  \
    prony duel --rev main --rev HEAD --build 'cargo build --release' 'target/release/app {port}'")]
pub struct Duel {
    /// Command lines, servers of the catalog (`name` or `name@workers`), or URLs; with --run folders; with --image the
    /// command line that is run in each image, if it is not the image's own
    #[arg(required_unless_present = "image", value_parser = target::server, add = ArgValueCandidates::new(complete::servers))]
    pub sides: Vec<String>,
    /// Ask all sides for this path
    #[arg(long, value_name = "PATH", conflicts_with = "contract")]
    pub get: Option<String>,
    /// All sides must keep this contract, which is verified
    #[arg(long, value_parser = contract)]
    pub contract: Option<Contract>,
    #[command(flatten)]
    pub request: Request,
    #[command(flatten)]
    pub asked: Asked,
    /// The command line that is run in each side; sides are then folders
    #[arg(long, value_name = "COMMAND", conflicts_with = "rev")]
    pub run: Option<String>,
    /// Compare the first side with itself too: that shows what differences this host makes up
    #[arg(long)]
    pub aa: bool,
    /// A git revision in which the command line is run, in a worktree of its own (give two or more)
    #[arg(long, value_name = "REVISION")]
    pub rev: Vec<String>,
    /// A container image that has a server (give two or more), for podman or Docker. The server listens where the variables
    /// HOST and PORT say (or `{host}` and `{port}` in its command line), on this machine's network, or see --image-port
    #[arg(long, value_name = "IMAGE", conflicts_with_all = ["rev", "run", "build"])]
    pub image: Vec<String>,
    /// The servers listen on this port of their containers, to which the engine forwards
    #[arg(long, value_name = "PORT", requires = "image", value_parser = clap::value_parser!(u16).range(1..))]
    pub image_port: Option<u16>,
    /// What runs images [default: podman, or else docker]
    #[arg(long, value_name = "PROGRAM", requires = "image")]
    pub container_engine: Option<String>,
    /// A shell command that builds a side, run in its worktree or folder
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// A shell command that is run once before everything
    #[arg(long, value_name = "COMMAND")]
    pub setup: Option<String>,
    /// Compare only this: throughput, p50, p99, or cpu (per request); may be given more than once. What
    /// is not compared is not measured where that saves time, and what is gets narrower intervals
    #[arg(long, value_name = "QUANTITY", value_enum, conflicts_with = "no_rate")]
    pub only: Vec<Only>,
    /// Number of rounds, exactly [default: until everything is settled that can be, 60 at most, or 120 when throughput
    /// or all the rest is left out]
    #[arg(long, value_name = "N", conflicts_with = "precision", value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_ROUNDS)))]
    pub rounds: Option<u32>,
    /// Go on until every ratio is known to this much either way, such as 1%
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<Share>,
    /// Differences smaller than this count as none [default: 1%, or what this host's noise allows
    /// when `prony calibrate` has found that to be more]
    #[arg(long, value_name = "SHARE")]
    pub band: Option<Share>,
    /// Begin no round that would end after this [default: 3m; none with --rounds]
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub max_time: Option<Span>,
    #[command(flatten)]
    pub why: AnatomyArgs,
    #[command(flatten)]
    pub driven: Driven,
    /// The common rate in requests per second [default: half of what the slowest side reaches]
    #[arg(long, value_name = "N", value_parser = steady_rate, help_heading = "Load")]
    pub rate: Option<f64>,
    /// No part at a common rate: compare throughput alone
    #[arg(long, conflicts_with = "rate", help_heading = "Load")]
    pub no_rate: bool,
    #[command(flatten)]
    pub tls: Tls,
    #[command(flatten)]
    pub http2: Http2,
    #[command(flatten)]
    pub over: OverArgs,
    #[command(flatten)]
    pub called: Called,
    #[command(flatten)]
    pub ws: Ws,
    #[command(flatten)]
    pub connect: Connect,
    #[command(flatten)]
    pub origin: Origin,
    #[command(flatten)]
    pub apart: Apart,
    #[command(flatten)]
    pub gate: Gate,
    /// Print the result as JSON (`prony schema duel` describes it)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten, next_help_heading = "Output")]
    pub shown: Shown,
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
