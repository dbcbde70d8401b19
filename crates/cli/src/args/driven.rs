//! How servers are loaded that are measured in rounds.

use super::number::count;
use clap::Args;
use prony_record::Span;

/// The load of a server in a round, but for its rate.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct Driven {
    /// Connections
    #[arg(short, long, value_name = "N", default_value_t = 64, value_parser = count::<u32>)]
    pub connections: u32,
    /// Generator threads
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = count::<u32>)]
    pub threads: u32,
    /// How long each server is loaded in each part of a round
    #[arg(short, long, value_name = "TIME", default_value = "1s")]
    pub duration: Span,
    /// Load each start unmeasured until steady, for at most this long
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub warmup: Span,
    /// Give up a request after this
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub timeout: Span,
}
