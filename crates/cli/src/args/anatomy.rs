//! `--why`, of verbs that measure something else first.

use clap::Args;
use std::path::PathBuf;

/// Rounds that say why servers differ.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Why")]
pub struct AnatomyArgs {
    /// Say why: afterwards, load all servers in further rounds at a rate that all can keep while their stacks are sampled, their
    /// system calls counted and their waits recorded, and name the functions, calls, counts and waits that differ (needs root or a kernel setting, see docs/why.md)
    #[arg(long, conflicts_with_all = ["server_on", "load_from"])]
    pub why: bool,
    /// Rounds of --why; more find smaller differences
    #[arg(long, value_name = "N", requires = "why", default_value_t = prony_lab::why::ROUNDS, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub why_rounds: u32,
    /// Write a page with the flame graph of each server and of their differences
    #[arg(long, value_name = "FILE", requires = "why")]
    pub why_page: Option<PathBuf>,
    /// Write the stacks of each server as FOLDER/SERVER.folded, and those in which its threads wait as
    /// FOLDER/SERVER.waits.folded, for other flame graph tools
    #[arg(long, value_name = "FOLDER", requires = "why")]
    pub why_folded: Option<PathBuf>,
}
