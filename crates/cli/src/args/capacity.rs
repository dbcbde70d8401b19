//! `prony capacity` and `prony calibrate`.

use super::DisplayArgs;
use super::around::Around;
use super::connect::{Connect, SourceArgs};
use super::gate::Gate;
use super::grpc::Called;
use super::machines::Apart;
use super::number::count;
use super::pace::steady_connections;
use super::protocol::{ProtocolArgs, ServerKey};
use super::request::{RequestArgs, RequestFileArgs};
use super::servers::contract;
use super::shape::Shape;
use super::share::Share;
use super::timed::{length, more_than_all, percent, with_unit};
use super::tls::TlsArgs;
use super::ws::Messages;
use crate::complete;
use crate::target;
use clap::Args;
use clap_complete::engine::ArgValueCandidates;
use prony_lab::contract::Contract;
use prony_record::bounds::MOST_ROUNDS;
use prony_record::service::{LatencyLimit, Limits};
use prony_record::{Slo, Span, Timed};
use prony_verdict::capacity::STARTS;
use std::time::Duration;

/// The default of `--max-connections`: the usual limit of open files, 1,024, lets a server accept so many.
pub const MAX_CONNECTIONS: u32 = 1_000;
/// The latency limit when none is given.
const USUAL: Duration = Duration::from_millis(10);

/// Find the highest rate that a server keeps within limits
///
/// Starts the server several times. Each start climbs from rate to rate until it exceeds a limit:
/// the first begins at what a pilot shows, the next near what the others have shown, in smaller
/// steps. The capacity is the rate at which half of all starts keep the limits, with its 95%
/// interval. Requests have due times (an open loop), so no stall is hidden. One more start shows
/// latency at 10, 50, 80 and 90% of the capacity, and what the server keeps after an overload of
/// 125%.
///
/// prony repeats a trial that other processes or a late generator may have spoiled; if that does
/// not help, the trial is inconclusive. When the capacity is not known, the result is a range with
/// the reason, and the exit status is 1. A server that already runs is not started anew: its
/// interval says nothing about other starts.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony capacity :8000                          # p99 within 10 ms\n  \
    prony capacity :8000 --p99 10ms --p50 2ms --errors 0.1%  # several limits\n  \
    prony capacity './server {port}' --path /users/7 --p90 20ms\n  \
    prony capacity go-net-http --contract http-echo --p99 5ms\n  \
    prony capacity './server {port}' --server-cpu 0.5 --server-memory 256MiB\n  \
    prony capacity -f shop.toml :8000             # a request file\n  \
    prony capacity --resolve shop.test:80:127.0.0.1 http://shop.test/\n  \
    prony capacity -u ada:secret :8000/account\n  \
    prony capacity --compressed :8000             # docs/curl.md\n  \
    prony capacity --streams 8 h2c://localhost:8000/  # docs/http2.md\n  \
    prony capacity go-net-http --contract http-echo --protocol h2\n  \
    prony capacity grpc://localhost:50051/hello.Greeter/SayHello  # docs/grpc.md\n  \
    prony capacity --size 200 ws://localhost:8000/chat  # docs/websocket.md\n  \
    prony capacity :8000 --beyond 200%            # overload and recovery\n  \
    prony capacity :8000 --starts 3               # faster, a wider interval\n  \
    prony capacity :8000 --fail-if 'capacity < 5k'  # exit status 3 if so")]
pub struct Capacity {
    /// A URL, a command line with {port}, or a server of the catalog
    ///
    /// A server of the catalog is `name`, or `name@workers`.
    #[arg(value_parser = target::server, add = ArgValueCandidates::new(complete::servers))]
    pub server: String,
    /// Request path
    #[arg(long, value_name = "PATH", conflicts_with = "contract")]
    pub path: Option<String>,
    /// Contract to verify and load, such as http-echo
    #[arg(long, value_parser = contract)]
    pub contract: Option<Contract>,
    /// Also overload, up to this share of the capacity
    ///
    /// Loads the server with 110, 125, 150, 200% and so on of its capacity. Reports how many
    /// correct responses still come in time, and how soon the server recovers.
    #[arg(long, value_name = "SHARE", value_parser = more_than_all)]
    pub beyond: Option<f64>,
    /// Starts of the server to search on
    ///
    /// Fewer than 3 give a range instead of an estimate.
    #[arg(long, value_name = "N", default_value_t = STARTS, value_parser = count::<u32>)]
    pub starts: u32,
    /// Connections at the start of a trial [default: by rate]
    #[arg(short, long, value_name = "N", value_parser = steady_connections)]
    pub connections: Option<u32>,
    #[command(flatten)]
    pub shape: Shape,
    #[command(flatten)]
    pub around: Around,
    /// Length of the deciding trials
    ///
    /// Trials are longer where responses are slow or few. Trials that explore take a third, trials
    /// for the latency below the capacity a half.
    #[arg(short, long, value_name = "TIME", default_value = "6s", value_parser = length)]
    pub duration: Span,
    /// Time limit [default: none]
    ///
    /// prony begins no trial that would end after it, and reports what is known by then. A search
    /// takes some minutes.
    #[arg(long, value_name = "TIME", value_parser = length)]
    pub max_time: Option<Span>,
    /// Warm up each start for at most this long
    ///
    /// Loads without measuring until throughput is steady.
    #[arg(long, value_name = "TIME", default_value = "3s")]
    pub warmup: Span,
    /// Response timeout
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = length)]
    pub timeout: Span,
    #[command(flatten)]
    pub request: RequestArgs,
    #[command(flatten)]
    pub asked: RequestFileArgs,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub protocol: ProtocolArgs,
    #[command(flatten)]
    pub key: ServerKey,
    #[command(flatten)]
    pub called: Called,
    #[command(flatten)]
    pub messages: Messages,
    #[command(flatten)]
    pub connect: Connect,
    #[command(flatten)]
    pub origin: SourceArgs,
    #[command(flatten)]
    pub apart: Apart,
    #[command(flatten)]
    pub gate: Gate,
    /// Print the result as JSON
    ///
    /// `prony schema capacity` describes it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub shown: DisplayArgs,
    // Last: its heading holds for what follows.
    #[command(flatten)]
    pub limits: LimitArgs,
}

/// Limits that the server must keep. Times need a unit, shares a percent sign.
#[derive(Debug, Args)]
#[command(next_help_heading = "Limits")]
pub struct LimitArgs {
    /// Limit of the median response time
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p50: Option<Span>,
    /// Limit of the 75th percentile
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p75: Option<Span>,
    /// Limit of the 90th percentile
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p90: Option<Span>,
    /// Limit of the 95th percentile
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p95: Option<Span>,
    /// Limit of the 99th percentile [default: 10ms]
    ///
    /// The default holds where no other latency limit is given.
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p99: Option<Span>,
    /// Limit of the 99.9th percentile
    #[arg(long = "p99.9", value_name = "TIME", value_parser = with_unit)]
    p99_9: Option<Span>,
    /// Limit of the 99.99th percentile
    #[arg(long = "p99.99", value_name = "TIME", value_parser = with_unit)]
    p99_99: Option<Span>,
    /// Limit of the median time to the first byte
    ///
    /// From when a request was due to the first byte of its response's body.
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p50_ttfb: Option<Span>,
    /// Limit of its 99th percentile
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p99_ttfb: Option<Span>,
    /// Limit of the median time to the first event of a stream
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p50_first_event: Option<Span>,
    /// Limit of its 99th percentile
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p99_first_event: Option<Span>,
    /// Limit of the 99th percentile of the gaps between events
    #[arg(long, value_name = "TIME", value_parser = with_unit)]
    p99_gap: Option<Span>,
    /// Share of requests that must keep --slo
    #[arg(long, value_name = "SHARE", default_value = "99%", value_parser = percent)]
    good: Share,
    /// Limit of failed requests
    #[arg(long, value_name = "SHARE", default_value = "0.1%", value_parser = percent)]
    errors: Share,
}

impl LimitArgs {
    /// In the order of their percentiles, as they are kept.
    pub fn limits(&self, slo: Option<Slo>) -> Limits {
        let named = [
            (50.0, self.p50, Timed::Response),
            (75.0, self.p75, Timed::Response),
            (90.0, self.p90, Timed::Response),
            (95.0, self.p95, Timed::Response),
            (99.0, self.p99, Timed::Response),
            (99.9, self.p99_9, Timed::Response),
            (99.99, self.p99_99, Timed::Response),
            (50.0, self.p50_ttfb, Timed::FirstByte),
            (99.0, self.p99_ttfb, Timed::FirstByte),
            (50.0, self.p50_first_event, Timed::FirstEvent),
            (99.0, self.p99_first_event, Timed::FirstEvent),
            (99.0, self.p99_gap, Timed::Gap),
        ];
        let ms = |span: Duration| span.as_secs_f64() * 1e3;
        let mut latency: Vec<LatencyLimit> = named
            .into_iter()
            .filter_map(|(percentile, within, of)| {
                Some(LatencyLimit {
                    of,
                    ..LatencyLimit::new(percentile, ms(within?.0))
                })
            })
            .collect();
        if latency.is_empty() && slo.is_none() {
            latency.push(LatencyLimit::new(99.0, ms(USUAL)));
        }
        Limits {
            latency,
            errors: self.errors.0,
            good: slo.map(|_| self.good.0),
        }
    }
}

/// Calibrate this host: its ceiling, and how noisy it is
///
/// Measures the reference server against itself. The results are the ceiling that no server can
/// exceed here, the generator's cost, and the minimum detectable effect of a number of rounds. They
/// are kept in the notebook, and later reports on this host use them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony calibrate\n  \
    prony calibrate --contract http-echo --connections 64,1000 --rounds 20")]
pub struct Calibrate {
    /// Contracts to calibrate
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_values = ["tcp-echo", "http-echo"], value_parser = crate::verb::calibrate::kept_by_reference)]
    pub contract: Vec<Contract>,
    /// Numbers of connections
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values = ["1", "64", "100", "256"], value_parser = count::<u32>)]
    pub connections: Vec<u32>,
    /// Rounds for each number
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_ROUNDS)))]
    pub rounds: u32,
    /// Load of a side, twice a round
    #[arg(short, long, value_name = "TIME", default_value = "500ms", value_parser = length)]
    pub duration: Span,
    /// Print the result as JSON
    ///
    /// `prony schema calibrate` describes it.
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub apart: Apart,
    #[command(flatten)]
    pub shown: DisplayArgs,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct TestArgs {
        #[command(flatten)]
        limits: LimitArgs,
    }

    fn limits(line: &str) -> Vec<(f64, f64)> {
        let words = std::iter::once("it").chain(line.split_whitespace());
        let limits = TestArgs::try_parse_from(words).map(|line| line.limits.limits(None));
        let latency = limits.unwrap_or_else(|error| panic!("{error}")).latency;
        latency
            .iter()
            .map(|limit| (limit.percentile, limit.within_ms))
            .collect()
    }

    #[test]
    fn one_limit_or_several() {
        for (line, expected) in [
            ("", vec![(99.0, 10.0)]),
            ("--p99 5ms", vec![(99.0, 5.0)]),
            ("--p50 2ms", vec![(50.0, 2.0)]),
            ("--p99 10ms --p50 2ms", vec![(50.0, 2.0), (99.0, 10.0)]),
            ("--p99.9 1s --p95 5ms", vec![(95.0, 5.0), (99.9, 1_000.0)]),
            ("--p99.99 2s --p75 1ms", vec![(75.0, 1.0), (99.99, 2_000.0)]),
        ] {
            assert_eq!(limits(line), expected, "{line}");
        }
    }
}
