//! `prony run`.

use super::DisplayArgs;
use super::anatomy::AnatomyArgs;
use super::gate::Gate;
use super::machines::Apart;
use crate::complete;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use prony_record::Span;
use prony_record::bounds::MOST_ROUNDS;
use prony_record::load::Protocol;
use std::path::PathBuf;

/// Run an experiment: many servers, verified and loaded round after round
///
/// An experiment is a TOML file, or the name of one that ships with prony. Each round starts every
/// server once, in a fresh random order. Each trial is in the notebook before the next begins, so
/// Ctrl-C loses at most the one under way.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony run quickstart\n  \
    prony run quickstart --rounds 10 --json > result.json\n  \
    prony run my-experiment.toml --only go-net-http,node\n  \
    prony run weather --load 'c64 t8' --only finagle\n  \
    prony run http-echo --only node --protocol plain,tls  # TLS\n  \
    prony run techempower --as-published          # its own connections, 15 s\n  \
    prony run quickstart --server-cpu 0.5 --server-memory 256MiB\n  \
    prony run quickstart --why                    # docs/why.md\n  \
    prony run techempower --from FrameworkBenchmarks --only gin,axum\n  \
    prony run weather --server-host gw --upstream-host up --client-host gen\n  \
    salloc -N16 prony run tcp-echo --shard-rounds slurm   # 16 nodes at once")]
pub struct RunArgs {
    /// Experiment file, or the name of an experiment
    #[arg(add = ArgValueCandidates::new(complete::experiments))]
    pub experiment: String,
    /// Rounds, instead of those of the experiment
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)))]
    pub rounds: Option<u32>,
    /// Only these servers, and the baseline
    ///
    /// As `name` or `name@workers`, separated by commas; may be repeated.
    #[arg(long, value_name = "SERVER", value_delimiter = ',', add = ArgValueCandidates::new(complete::servers))]
    pub only: Vec<String>,
    /// Take the servers from this checkout of a suite
    ///
    /// For techempower a checkout of TechEmpower/FrameworkBenchmarks, for arena one of
    /// MDA2AV/HttpArena (docs/from-a-suite.md). --only names its entries, and servers of the
    /// catalog. Images are built and run by podman or Docker.
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["shard_rounds", "server_host"])]
    pub from: Option<PathBuf>,
    /// Program that runs images [default: podman, else docker]
    #[arg(long, value_name = "PROGRAM", requires = "from")]
    pub container_engine: Option<String>,
    /// Only this load, as reports label it
    ///
    /// `c64 t8`, or a load's name; may be repeated.
    #[arg(long, value_name = "LOAD")]
    pub load: Vec<String>,
    /// Protocols, instead of those of the experiment
    ///
    /// plain, tls, h2c, h2, separated by commas; each load is made over each of them.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub protocol: Vec<Protocol>,
    /// Connections and durations as published
    ///
    /// Those that the experiment names in `as_published`, instead of those for a small machine.
    #[arg(long)]
    pub as_published: bool,
    /// One round, a tenth of the work, 3 s of warm-up
    #[arg(long)]
    pub quick: bool,
    /// Warm up each start at most this long
    ///
    /// Instead of what the experiment or --quick says.
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Span>,
    /// Seed of the order of trials, to repeat it
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub why: AnatomyArgs,
    #[command(flatten)]
    pub apart: Apart,
    /// Run the upstream of gateways on this machine
    ///
    /// See --host. Otherwise it runs beside the gateways, on other CPUs.
    #[arg(long, value_name = "HOST", help_heading = "Machines")]
    pub upstream_host: Option<String>,
    /// Divide rounds among these machines
    ///
    /// Whole rounds go to the machines as they become free. HOST is a machine for server and load;
    /// SERVER+GENERATOR… are one for the server and others for the load. slurm: each node of the
    /// Slurm job that prony runs in.
    #[arg(
        long,
        value_name = "HOST,…",
        value_delimiter = ',',
        help_heading = "Machines",
        conflicts_with_all = ["server_host", "client_host", "probe_host", "upstream_host", "service_host"]
    )]
    pub shard_rounds: Vec<String>,
    #[command(flatten)]
    pub gate: Gate,
    /// Write the page to this file [default: beside the notebook]
    ///
    /// It has charts, and with --why flame graphs.
    #[arg(
        long,
        value_name = "FILE",
        help_heading = "Output",
        conflicts_with = "no_html"
    )]
    pub html: Option<PathBuf>,
    /// Print the result as JSON
    ///
    /// `prony schema run` describes it.
    #[arg(long)]
    pub json: bool,
    /// Write no page
    ///
    /// Otherwise the report is written beside the notebook, and its path printed.
    #[arg(long)]
    pub no_html: bool,
    /// Name every server that is not set up
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub shown: DisplayArgs,
}
