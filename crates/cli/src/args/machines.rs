//! Other machines: which there are, and what each is there for.

use super::limited::Limited;
use clap::Args;
use prony_remote::HostSpec;

/// How programs are started on other machines.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machines")]
pub struct Machines {
    /// Another machine: 'api1=ssh -p 2222 api1'
    ///
    /// A name and the command that starts a program there, such as 'api1=ssh -p 2222 api1' or
    /// 'gen=kubectl exec -i pod/gen --'. A name alone is for ssh. May be repeated: docs/hosts.md
    #[arg(long = "host", value_name = "NAME[=COMMAND]", value_parser = host)]
    pub host: Vec<HostSpec>,
    /// File of machines, or slurm
    ///
    /// slurm: the nodes of the Slurm job that prony runs in. By default prony/hosts.toml in the
    /// user's configuration folder.
    #[arg(
        long,
        value_name = "FILE|slurm",
        env = "PRONY_HOSTS",
        hide_env_values = true
    )]
    pub hosts: Option<String>,
}

/// Machines that send a load.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machines")]
pub struct LoadFrom {
    /// Send the load from these machines
    ///
    /// See --host. Connections, rate and number of requests are divided among the machines;
    /// --threads is for each.
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub client_host: Vec<String>,
    /// Also measure from this idle machine
    ///
    /// A slow client there sends a few of the same requests, at random moments, while --client-host
    /// loads the server. Its response times are free of what a busy generator adds.
    #[arg(long, value_name = "HOST")]
    pub probe_host: Option<String>,
    /// Rate of --probe-host [default: 100]
    ///
    /// In requests per second, in addition to the load's.
    #[arg(long, value_name = "N", value_parser = slow_rate, requires = "probe_host")]
    pub probe_rate: Option<f64>,
    #[command(flatten)]
    pub machines: Machines,
}

/// On which machines servers are measured, and from which.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machines")]
pub struct Apart {
    /// Run the servers on this machine
    ///
    /// Builds, starts, verifies and watches them there; see --host.
    #[arg(long, value_name = "HOST")]
    pub server_host: Option<String>,
    /// Run the servers' services on this machine
    ///
    /// Such as their databases. See --host. Needs --server-host; otherwise they run on the servers' machine.
    #[arg(long, value_name = "HOST")]
    pub service_host: Option<String>,
    /// Limit the servers to the first N CPUs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub server_cpus: Option<u32>,
    #[command(flatten)]
    pub limited: Limited,
    /// Where the upstream of gateways runs, if it has a machine of its own: an option of `run` alone.
    #[arg(skip)]
    pub upstream_host: Option<String>,
    #[command(flatten)]
    pub from: LoadFrom,
}

fn slow_rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.1..=10_000.0).contains(&rate) => Ok(rate),
        _ => Err("a slow client sends 0.1 to 10000 requests per second".to_owned()),
    }
}

fn host(text: &str) -> Result<HostSpec, String> {
    HostSpec::parse(text).map_err(|error| error.to_string())
}
