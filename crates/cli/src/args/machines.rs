//! Other machines: which there are, and what each is there for.

use clap::Args;
use prony_remote::HostSpec;

/// How programs are started on other machines.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machines")]
pub struct Machines {
    /// A machine by name, with the command that starts a program there, such as 'api1=ssh -p 2222 api1' or
    /// 'gen=kubectl exec -i pod/gen --'; a name alone is one that ssh knows; may be repeated (docs/hosts.md)
    #[arg(long = "host", value_name = "NAME[=COMMAND]", value_parser = host)]
    pub host: Vec<HostSpec>,
    /// A file of such machines, or slurm: the nodes of the Slurm job that prony runs in [default: prony/hosts.toml in the
    /// user's configuration folder]
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
    /// Send the load from these machines (see --host); connections, rate and number of requests are divided among them,
    /// --threads are those of each
    #[arg(long, value_name = "HOST,…", value_delimiter = ',')]
    pub load_from: Vec<String>,
    /// Measure from this machine too, beside the load (--load-from): a slow client sends the same requests, few and at random
    /// moments, and sees response times without what a busy generator adds to them
    #[arg(long, value_name = "HOST")]
    pub measure_from: Option<String>,
    /// Requests per second of that slow client, which the server answers besides the load's [default: 100]
    #[arg(long, value_name = "N", value_parser = slow_rate, requires = "measure_from")]
    pub measure_rate: Option<f64>,
    #[command(flatten)]
    pub machines: Machines,
}

/// On which machines servers are measured, and from which.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Machines")]
pub struct Apart {
    /// Build, start, verify and watch the servers on this machine (see --host)
    #[arg(long, value_name = "HOST")]
    pub server_on: Option<String>,
    /// Give the servers this many CPUs of their machine, the first ones: a smaller machine than it is
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub server_cpus: Option<u32>,
    /// Where the upstream of gateways runs, if it has a machine of its own: an option of `run` alone.
    #[arg(skip)]
    pub upstream_on: Option<String>,
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
