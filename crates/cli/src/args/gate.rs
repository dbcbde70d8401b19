//! What continuous integration wants: conditions under which it fails, and a comment for a pull request.

use clap::Args;
use prony_verdict::gate::Condition;
use std::path::PathBuf;

#[derive(Debug, Clone, Default, Args)]
pub struct Gate {
    /// Exit with 3 when this is so, judged by the 95 % interval: 'p99 > 10ms', 'errors > 0.1%', or against
    /// the first side or the baseline 'cpu > +5%', 'throughput < -5%' (may be repeated)
    #[arg(long, value_name = "CONDITION", help_heading = "Output")]
    pub fail_if: Vec<Condition>,
    /// Exit with 4 when it is not known whether a condition of --fail-if is so [default: say so and exit
    /// with 0]
    #[arg(long, requires = "fail_if", help_heading = "Output")]
    pub strict: bool,
    /// Write the result as Markdown too, as a pull request's comment takes it; - for standard output
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,
}
