//! Verbs that show, export and compare results.

use super::gate::Conditions;
use super::listen::listen;
use super::share::Share;
use crate::complete;
use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCandidates;
use std::net::SocketAddr;
use std::path::PathBuf;

/// List the runs in the notebook
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  prony runs\n  prony runs -n 100 --json")]
pub struct Runs {
    /// Number of runs, the latest first
    #[arg(short = 'n', long, default_value_t = 20)]
    pub limit: usize,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Show a run again
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony report latest\n  \
    prony report 12 --html report.html            # a page with charts\n  \
    prony report 12 --json\n  \
    prony report quickstart\n  \
    prony report latest --published theirs")]
pub struct ReportArgs {
    /// Run number, `latest`, or an experiment's name
    #[arg(default_value = "latest", add = ArgValueCandidates::new(complete::runs))]
    pub run: String,
    /// Show these published figures next to the measured ones
    ///
    /// Figures of a file in published/, or figures that `prony import` has put in under this name. By
    /// default those that the experiment names.
    #[arg(long, value_name = "NAME")]
    pub published: Option<String>,
    /// Print the result as JSON, as `prony run --json` does
    #[arg(long)]
    pub json: bool,
    /// Name every server that is not set up
    #[arg(long, short)]
    pub verbose: bool,
    /// Write a page with charts; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub html: Option<PathBuf>,
}

/// Write a run in the format of another tool
///
/// json has everything (`prony schema export` describes it); csv a row per trial; markdown is for a
/// pull request; hlog and hgrm are HdrHistogram's log of all trials and its table of percentiles;
/// benchstat is for Go's benchstat; openmetrics is for a database; svg is one chart; folded and
/// pprof are the stacks that `--why` has sampled, for flame graph tools and for `go tool pprof`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony export latest --format csv -o trials.csv\n  \
    prony export 12 --format markdown\n  \
    prony export 12 --format svg --chart throughput-c64 -o chart.svg\n  \
    prony export 12 --format hgrm --server node --load c64 -o node.hgrm\n  \
    prony export 12 --format benchstat -o 12.txt\n  \
    prony export 12 --format pprof --server node -o node.pb.gz\n  \
    prony export 12 --format folded --waits --server node")]
pub struct Export {
    /// Run number, `latest`, or an experiment's name
    #[arg(default_value = "latest", add = ArgValueCandidates::new(complete::runs))]
    pub run: String,
    /// Format
    #[arg(long, short, value_enum)]
    pub format: Format,
    /// Output file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Chart of svg [default: list them]
    #[arg(long, value_name = "NAME")]
    pub chart: Option<String>,
    /// Server of hgrm, folded and pprof
    #[arg(long, value_name = "SERVER")]
    pub server: Option<String>,
    /// Stacks in which threads wait, of folded
    ///
    /// In nanoseconds, instead of the sampled stacks.
    #[arg(long)]
    pub waits: bool,
    /// Load of hgrm, as reports label it
    #[arg(long, value_name = "LOAD")]
    pub load: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Everything, from which every report can be made again
    Json,
    /// A row per trial
    Csv,
    /// Tables for a pull request
    Markdown,
    /// HdrHistogram's log, an interval per trial
    Hlog,
    /// HdrHistogram's percentiles of one server under one load
    Hgrm,
    /// Go's benchmark format, a line per trial
    Benchstat,
    /// OpenMetrics
    Openmetrics,
    /// One chart
    Svg,
    /// Stacks that `--why` has sampled of one server, for flame graph tools
    Folded,
    /// The same as a profile for `go tool pprof` and others, compressed
    Pprof,
}

/// The port of `prony view` unless another is asked for: P, R, O, N on a telephone.
const PORT: u16 = 7766;

/// Browse all results in a web browser
///
/// The address goes to standard output; Ctrl-C ends it. A run that is under way appears trial by
/// trial. Only this machine can see it, unless --listen names another address: then a reader needs
/// the token in the printed address. Connections are not encrypted: on a network that others can
/// read, prefer `ssh -L 7766:localhost:7766 HOST`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony view\n  \
    prony view --notebook ci.db --listen :0       # any free port\n  \
    prony view --listen 0.0.0.0                   # for others, with a token")]
pub struct View {
    /// Address to listen on
    ///
    /// ADDR:PORT, :PORT on this machine alone, or an address with the usual port; port 0 is a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7766", value_parser = |text: &str| listen(text, PORT))]
    pub listen: SocketAddr,
}

/// Compare two runs: is a server slower now?
///
/// Compares servers that both runs have under the same load. The ratio is that of the second run to
/// the first, with an interval from how much the starts of each differ. The runs were not measured
/// round-robin, so other changes of the machine between them are in the ratio too: for a verdict on
/// two servers prefer `prony duel`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony diff 12 15\n  \
    prony diff 12 latest --fail-if 'throughput < -5%'  # exit status 3 if so")]
pub struct Diff {
    /// Earlier run: its number, `latest`, or an experiment's name
    #[arg(add = ArgValueCandidates::new(complete::runs))]
    pub before: String,
    /// Later run
    #[arg(add = ArgValueCandidates::new(complete::runs))]
    pub after: String,
    #[command(flatten)]
    pub conditions: Conditions,
    /// Treat smaller differences as equal
    #[arg(long, value_name = "SHARE", default_value = "1%")]
    pub min_effect: Share,
    /// Print the result as JSON
    ///
    /// `prony schema diff` describes it.
    #[arg(long)]
    pub json: bool,
}

/// Explain a check, of a measurement or of an audit
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony explain server-idle\n  \
    prony explain back-filled                     # a check of `prony audit`\n  \
    prony explain                                 # all of them")]
pub struct Explain {
    /// Name of a check, as in reports and audits [default: all]
    #[arg(add = ArgValueCandidates::new(complete::checks))]
    pub check: Option<String>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}
