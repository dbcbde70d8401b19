//! `--why`, of verbs that measure something else first.

use clap::Args;

/// Rounds that say why servers differ.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Why")]
pub struct AnatomyArgs {
    /// Also find the functions and calls that differ
    ///
    /// Loads all servers in further rounds at a rate that all can keep. Samples their stacks,
    /// counts their system calls and records their waits, and names the functions, calls, counts
    /// and waits that differ. Needs root or a kernel setting: docs/why.md
    #[arg(long, conflicts_with_all = ["server_host", "client_host"])]
    pub why: bool,
    /// Rounds of --why; more find smaller differences
    #[arg(long, value_name = "N", requires = "why", default_value_t = prony_lab::why::ROUNDS, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub why_rounds: u32,
}
