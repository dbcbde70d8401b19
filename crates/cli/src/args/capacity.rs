//! `prony capacity` and `prony calibrate`.

use super::Shown;
use super::servers::contract;
use super::share::Share;
use clap::Args;
use prony_lab::contract::Contract;
use prony_record::Span;

/// The highest rate that a server keeps within limits, and its latency below that
///
/// Doubles the rate until a limit is broken, bisects to 1 %, and then tries the boundary three times
/// for longer; a rate counts as kept when p99 and errors are within their limits, and neither the
/// server nor the generator has fallen behind. Requests have due times (an open loop), so that no
/// stall is hidden. Then shows latency at 10, 50, 80 and 90 % of it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony capacity http://localhost:8000/\n  \
    prony capacity go-net-http --contract http-echo --within 5ms\n  \
    prony capacity './server --port {port}' --get /users/7 --percentile 99.9 --within 20ms\n  \
    prony capacity http://localhost:8000/ --at-least 5000     for CI: exit status 3 when below")]
pub struct Capacity {
    /// A URL, a server of the catalog (`name` or `name@workers`), or a command line with {port}
    pub server: String,
    /// Ask for this path
    #[arg(long, value_name = "PATH", conflicts_with = "contract")]
    pub get: Option<String>,
    /// The contract, which is verified first
    #[arg(long, value_parser = contract)]
    pub contract: Option<Contract>,
    /// The percentile of the response time that is limited
    #[arg(long, value_name = "P", default_value_t = 99.0, value_parser = percentile)]
    pub percentile: f64,
    /// To how much
    #[arg(long, value_name = "TIME", default_value = "10ms")]
    pub within: Span,
    /// The share of requests that may fail
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub errors: Share,
    /// Exit with 3 when the capacity is below this many requests per second
    #[arg(long, value_name = "RATE")]
    pub at_least: Option<f64>,
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: u32,
    /// Generator threads
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub threads: u32,
    /// Length of a trial while searching; at the boundary twice that
    #[arg(short, long, value_name = "TIME", default_value = "2s")]
    pub duration: Span,
    /// Load unmeasured until steady, for at most this long
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub warmup: Span,
    /// Print the result as JSON (`prony schema capacity` describes it)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub shown: Shown,
}

/// Calibrate this host: what prony's own server and generator reach on this host, and how noisy it is
///
/// Measures the reference server against itself. From that come the ceiling that no server can
/// exceed here, what the generator costs, and the minimum detectable effect of a number
/// of rounds. It is kept in the notebook, and later reports on this host compare with it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony calibrate\n  \
    prony calibrate --contract http-echo --connections 64,1000 --rounds 20")]
pub struct Calibrate {
    /// Contracts
    #[arg(long, value_delimiter = ',', default_values = ["tcp-echo", "http-echo"], value_parser = crate::verb::calibrate::kept_by_reference)]
    pub contract: Vec<Contract>,
    /// Numbers of connections
    #[arg(long, value_delimiter = ',', default_values = ["1", "64", "100", "256"], value_parser = clap::value_parser!(u32).range(1..))]
    pub connections: Vec<u32>,
    /// Rounds for each of them
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..))]
    pub rounds: u32,
    /// How long each side is loaded in each of the two parts of a round
    #[arg(short, long, value_name = "TIME", default_value = "500ms")]
    pub duration: Span,
    /// Print the result as JSON (`prony schema calibrate` describes it)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub shown: Shown,
}

fn percentile(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(p) if (1.0..100.0).contains(&p) => Ok(p),
        _ => Err(format!(
            "{text:?} is not a percentile: expected something like 99 or 99.9"
        )),
    }
}
