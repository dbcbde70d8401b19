//! `prony hosts`.

use super::machines::Machines;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "Examples:\n  \
    prony hosts check  # all of prony/hosts.toml, and all pairs\n  \
    prony hosts check --host api1 --host gen1     # two that ssh knows\n  \
    prony hosts check --host 'gen=kubectl exec -i pod/gen --'\n  \
    salloc -N3 prony hosts check --hosts slurm    # in a job of Slurm";

/// Check other machines, and the network between them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct HostsArgs {
    #[command(subcommand)]
    pub action: HostsAction,
}

#[derive(Debug, Subcommand)]
pub enum HostsAction {
    /// Start prony on each machine, and measure clocks, round trips and bandwidth
    #[command(after_help = EXAMPLES)]
    Check(HostsCheck),
}

/// Machines to check, and options of the check.
#[derive(Debug, Args)]
pub struct HostsCheck {
    /// Machines to check [default: all that are known]
    pub names: Vec<String>,
    /// Leave out the network between pairs of machines
    #[arg(long)]
    pub no_pairs: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub machines: Machines,
}
