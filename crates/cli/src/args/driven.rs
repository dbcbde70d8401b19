//! How servers are loaded that are measured in rounds.

use super::pace::steady_connections;
use super::shape::Shape;
use super::timed::length;
use clap::Args;
use prony_lab::duel::WINDOW;
use prony_record::{Load, Spacing, Span};
use prony_verdict::design::Given;

/// The load of a server in a round, but for its rate. What is not said follows from a pilot.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct Driven {
    /// Connections [default: by a pilot]
    ///
    /// By default as many as keep the servers busy.
    #[arg(short, long, value_name = "N", value_parser = steady_connections)]
    pub connections: Option<u32>,
    /// Length of a measurement, twice a round [default: auto]
    ///
    /// By default as long as response times ask for and half of the time allows.
    #[arg(short, long, value_name = "TIME", value_parser = length)]
    pub duration: Option<Span>,
    /// Warm up each start for at most this long [default: 3s]
    ///
    /// Loads without measuring until throughput is steady. By default 3 s, or 20 response times
    /// where that is longer.
    #[arg(long, value_name = "TIME")]
    pub warmup: Option<Span>,
    /// Response timeout [default: 5s, or 10 response times]
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub timeout: Option<Span>,
    #[command(flatten)]
    pub shape: Shape,
}

impl Driven {
    /// The load, but for what a pilot decides.
    pub fn load(&self, protocol: &super::protocol::ProtocolArgs) -> Load {
        Load {
            window: Span(WINDOW),
            ..self.shape.load(Spacing::Poisson, protocol)
        }
    }

    /// The options that the user has given, with the rate.
    pub fn given(&self, rate: Option<f64>) -> Given {
        Given {
            connections: self.connections,
            threads: self.shape.threads,
            duration: self.duration.map(|span| span.0),
            warmup: self.warmup.map(|span| span.0),
            timeout: self.timeout.map(|span| span.0),
            rate,
            no_pause: false,
            other_rates: false,
        }
    }
}
