//! Options for continuous integration: conditions under which a command fails, and a comment for a pull request.

use clap::Args;
use prony_verdict::gate::Condition;
use std::path::PathBuf;

/// Conditions under which the command fails, and the comment.
#[derive(Debug, Clone, Default, Args)]
pub struct Gate {
    #[command(flatten)]
    pub conditions: Conditions,
    /// Also write the result as Markdown; - for stdout
    ///
    /// The format is that of a comment on a pull request.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub markdown: Option<PathBuf>,
}

/// Conditions under which the command fails.
#[derive(Debug, Clone, Default, Args)]
pub struct Conditions {
    /// Exit with 3 if so: 'p99 > 10ms', 'cpu > +5%'
    ///
    /// Judged by the 95% interval. 'p99 > 10ms' and 'errors > 0.1%' are limits; 'cpu > +5%' and
    /// 'throughput < -5%' compare with the first side or the baseline. May be repeated.
    #[arg(long, value_name = "CONDITION", help_heading = "Output")]
    pub fail_if: Vec<Condition>,
    /// Exit with 4 if --fail-if is undecided
    #[arg(long, requires = "fail_if", help_heading = "Output")]
    pub strict: bool,
}
