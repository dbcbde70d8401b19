//! `prony run`.

use super::Shown;
use super::anatomy::AnatomyArgs;
use super::gate::Gate;
use super::machines::Apart;
use crate::complete;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use prony_record::Span;
use prony_record::bounds::MOST_ROUNDS;
use prony_record::load::Over;

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
    prony run http-echo --only node --over plain,tls   what encryption costs\n  \
    prony run weather --server-on gw --upstream-on up --load-from gen   three machines, docs/hosts.md\n  \
    salloc -N16 prony run tcp-echo --rigs slurm     rounds on 16 nodes at once\n  \
    prony run quickstart --why                      which functions and calls differ, docs/why.md\n  \
    prony run my-experiment.toml --only go-net-http --only node")]
pub struct Run {
    /// A file, or the name of an experiment
    #[arg(add = ArgValueCandidates::new(complete::experiments))]
    pub experiment: String,
    /// Rounds, instead of those that the experiment says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_ROUNDS)))]
    pub rounds: Option<u32>,
    /// Only these servers, and the baseline (as `name` or `name@workers`, separated by commas; may be repeated)
    #[arg(long, value_name = "SERVER", value_delimiter = ',', add = ArgValueCandidates::new(complete::servers))]
    pub only: Vec<String>,
    /// Only these loads (as reports label them: `c64 t8`, or a load's name; may be repeated)
    #[arg(long, value_name = "LOAD")]
    pub load: Vec<String>,
    /// Speak HTTP over these instead of what the experiment says: plain, tls, h2c, h2, separated by commas; each load is
    /// made over each of them
    #[arg(long, value_name = "OVER", value_delimiter = ',')]
    pub over: Vec<Over>,
    /// Shorter: one round, a tenth of the work, and at most 3 s of warm-up
    #[arg(long)]
    pub quick: bool,
    /// Load each start unmeasured until steady, for at most this long, instead of what the experiment or --quick says
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Span>,
    /// The random seed for the trial order, to repeat it
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub why: AnatomyArgs,
    #[command(flatten)]
    pub apart: Apart,
    /// Build and start the upstream of gateways on this machine (see --host); otherwise it runs beside them, on other CPUs
    #[arg(long, value_name = "HOST", help_heading = "Machines")]
    pub upstream_on: Option<String>,
    /// Hand whole rounds to these rigs as they become free. A rig is a machine for server and load (HOST), or one for the
    /// server and others for the load (SERVER+GENERATOR…); slurm: each node of the Slurm job that prony runs in
    #[arg(
        long,
        value_name = "RIG,…|slurm",
        value_delimiter = ',',
        help_heading = "Machines",
        conflicts_with_all = ["server_on", "load_from", "measure_from", "upstream_on"]
    )]
    pub rigs: Vec<String>,
    #[command(flatten)]
    pub gate: Gate,
    /// Print the result as JSON (`prony schema run` describes it)
    #[arg(long)]
    pub json: bool,
    /// Write no page; otherwise the report is written beside the notebook, and its path printed
    #[arg(long)]
    pub no_html: bool,
    /// Name every server that is not set up
    #[arg(long, short)]
    pub verbose: bool,
    #[command(flatten)]
    pub shown: Shown,
}
