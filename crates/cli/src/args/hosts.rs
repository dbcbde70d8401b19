//! `prony hosts`.

use super::machines::Machines;
use clap::{Args, Subcommand};

/// Other machines: what they are like, and the network between them
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony hosts check                           all machines of prony/hosts.toml, and all pairs\n  \
    prony hosts check --host api1 --host gen1   two that ssh knows\n  \
    prony hosts check --host 'gen=kubectl exec -i pod/gen --' --host local=env\n  \
    prony hosts check --hosts slurm             in a job: salloc -N3 prony hosts check --hosts slurm")]
pub struct HostsArgs {
    #[command(subcommand)]
    pub action: HostsAction,
}

#[derive(Debug, Subcommand)]
pub enum HostsAction {
    /// Start prony on each machine, and measure clocks, round trips and bandwidth
    Check(HostsCheck),
}

/// Which machines are looked at.
#[derive(Debug, Args)]
pub struct HostsCheck {
    /// Only these machines [default: all that are known]
    pub names: Vec<String>,
    /// Leave out the network between pairs of them
    #[arg(long)]
    pub no_pairs: bool,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub machines: Machines,
}
