//! `prony run`.

use super::Shown;
use super::gate::Gate;
use super::machines::Apart;
use crate::complete;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use prony_record::bounds::MOST_ROUNDS;

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
    /// Shorter: one round, a tenth of the work, and at most 3 s of warm-up
    #[arg(long)]
    pub quick: bool,
    /// The random seed for the trial order, to repeat it
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub apart: Apart,
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
