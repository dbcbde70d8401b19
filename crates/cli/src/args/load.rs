//! `prony load`.

use super::DisplayArgs;
use super::connect::{Connect, SourceArgs};
use super::gate::Gate;
use super::grpc::GrpcArgs;
use super::machines::LoadFrom;
use super::number::{count, times};
use super::pace::{Pace, connections, pace};
use super::protocol::ProtocolArgs;
use super::request::RequestArgs;
use super::shape::Shape;
use super::timed::length;
use super::tls::TlsArgs;
use super::ws::Messages;
use crate::target;
use clap::Args;
use prony_record::Span;
use std::path::PathBuf;

/// Load a server that already runs
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony load :8000                              # 64 connections, 10 s\n  \
    prony load -c 256 -t 2 -d 30 https://localhost:8443/  # two threads\n  \
    prony load --rate 5000 --arrival poisson :8000  # stalls are not hidden\n  \
    prony load --rate 100..5000 -d 1m :8000       # a ramp\n  \
    prony load -c '10 for 30s, 200 for 30s' :8000  # stages\n  \
    prony load -b @body.json -H 'Content-Type: application/json' :8000\n  \
    prony load --expect-status 200 --expect-body @page.html :8000\n  \
    prony load -u ada:secret :8000/account\n  \
    prony load --compressed :8000                 # docs/curl.md\n  \
    prony load -f shop.toml --fail-if 'checkout.p99>50ms' :8000\n  \
    prony load --replay access.log --speed 2 :8000\n  \
    prony load --ca ca.pem https://localhost:8443/  # docs/tls.md\n  \
    prony load --no-keepalive --no-resumption https://localhost:8443/\n  \
    prony load --streams 32 -c 8 h2c://localhost:8080/  # docs/http2.md\n  \
    prony load --protocol h2 https://localhost:8443/  # HTTP/2 over TLS\n  \
    prony load --proto greeter.proto grpc://localhost:50051/hello.Greeter/Hi\n  \
    prony load --size 200 --text ws://localhost:8080/chat  # docs/websocket.md\n  \
    prony load --message ping tcp://localhost:7   # raw echo\n  \
    prony load --resolve example.com:443:10.0.0.5 https://example.com/\n  \
    prony load -c 80000 --interface 10.0.0.2,10.0.0.3 http://10.0.0.5/\n  \
    prony load --client-host gen1,gen2 -c 2000 http://10.0.0.5/  # docs/hosts.md\n  \
    prony load --unix /run/app.sock http://localhost/")]
pub struct LoadArgs {
    /// http://, https://, h2c://, grpc://, ws://, tcp:// or :PORT
    ///
    /// http://HOST[:PORT]/PATH, or HOST:PORT and :PORT for short; https:// for TLS; h2c:// for
    /// HTTP/2 without TLS; grpc:// or grpcs://HOST:PORT/package.Service/Method; ws:// or wss:// for
    /// WebSocket; tcp://HOST:PORT for a raw echo. Over a unix socket:
    /// http+unix://%2Frun%2Fapp.sock/PATH, or unix:///run/app.sock for a raw echo.
    #[arg(value_parser = target::url)]
    pub url: String,
    /// Connections, or a ramp: 10..200
    ///
    /// Without --rate, 10..200 opens or closes connections evenly over the duration, and '10 for
    /// 30s, 200 for 1m, 200..10 for 30s' are stages.
    #[arg(short, long, value_name = "N", default_value = "64", value_parser = connections)]
    pub connections: Pace,
    /// Length of the measurement [default: 10s]
    ///
    /// With stages of --rate or --connections, their length; with --replay, the log's, of which a
    /// shorter time sends the beginning.
    #[arg(short, long, value_name = "TIME", value_parser = length, conflicts_with = "requests")]
    pub duration: Option<Span>,
    /// Number of requests, instead of a duration
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<u64>)]
    pub requests: Option<u64>,
    /// Warm up at most this long
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub warmup: Span,
    /// Requests per second [default: unlimited]
    ///
    /// An open loop: each request has a due time that no stall of the server moves, over all
    /// connections. 100..5000 grows or falls evenly over the duration; '100 for 30s, 500 for 1m,
    /// 500..100 for 30s' are stages. By default a closed loop, as fast as responses come. Also -R, as in wrk2.
    #[arg(long, short_alias = 'R', value_name = "N", value_parser = pace)]
    pub rate: Option<Pace>,
    #[command(flatten)]
    pub shape: Shape,
    /// Requests and expected responses from FILE
    ///
    /// Requests have names, weights, values and expected responses: docs/your-own-requests.md. The
    /// URL says where they go.
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with_all = ["method", "headers", "body", "expect_status", "expect_body"],
        help_heading = "Request"
    )]
    pub file: Option<PathBuf>,
    /// Replay an access log, at its own times
    ///
    /// In the common or combined format, or JSON of Caddy, Traefik or nginx. With --file, each line
    /// is the request of that file with its method and path; otherwise prony sends the log's GET
    /// and HEAD requests. Fractions of seconds are kept.
    #[arg(
        long,
        value_name = "LOG",
        conflicts_with_all = ["rate", "requests", "arrival", "random_shares", "method", "body", "expect_status", "expect_body"],
        help_heading = "Request"
    )]
    pub replay: Option<PathBuf>,
    /// Replay speed (2 = twice as fast)
    #[arg(long, value_name = "N", default_value = "1", value_parser = times, requires = "replay", help_heading = "Request")]
    pub speed: f64,
    /// Pick requests of --file at random, by weight
    ///
    /// Otherwise the shares are exact in any 1,000 requests of a thread.
    #[arg(long, requires = "file", help_heading = "Request")]
    pub random_shares: bool,
    /// Skip verification before and after the load
    ///
    /// Otherwise prony verifies the requests of --file, or one of each kind of --replay, and does
    /// not load a server that never responds as expected. With grpc://, prony looks at responses
    /// before the load. Rows that are sent only once are not verified, nor a server that this
    /// machine cannot reach (--client-host).
    #[arg(long, help_heading = "Request")]
    pub no_verify: bool,
    #[command(flatten)]
    pub request: RequestArgs,
    /// Message of tcp:// or grpc://, or @FILE [default: hello\n]
    ///
    /// tcp:// expects it back; \n, \r, \t and \\ are escapes. With grpc://, the message of a call
    /// as JSON [default: empty]. A method that takes a stream gets several JSON messages, one after
    /// the other.
    #[arg(long, value_name = "TEXT", help_heading = "Request")]
    pub message: Option<String>,
    /// Connect to this unix socket
    ///
    /// Also --unix-socket, as in curl.
    #[arg(
        long,
        alias = "unix-socket",
        value_name = "PATH",
        conflicts_with_all = ["client_host", "resolve", "connect_to", "interface"],
        help_heading = "Request"
    )]
    pub unix: Option<PathBuf>,
    /// Timeout of a response
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5s",
        value_parser = length,
        help_heading = "Answer"
    )]
    pub timeout: Span,
    /// Pin the generator to these CPUs, such as 0,2-3
    #[arg(long, value_name = "LIST", value_parser = cpus, conflicts_with = "client_host", help_heading = "Generator")]
    pub cpus: Option<Cpus>,
    /// Seed of Poisson arrivals and of the values of --file
    #[arg(long, value_name = "N", help_heading = "Generator")]
    pub seed: Option<u64>,
    /// Do not keep the result in the notebook
    #[arg(long, help_heading = "Output")]
    pub no_keep: bool,
    /// Label stored with the result [default: the commit]
    ///
    /// Such as the server's version. By default the commit of this folder.
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub label: Option<String>,
    #[command(flatten)]
    pub connect: Connect,
    #[command(flatten)]
    pub origin: SourceArgs,
    #[command(flatten)]
    pub from: LoadFrom,
    #[command(flatten)]
    pub gate: Gate,
    #[command(flatten)]
    pub tls: TlsArgs,
    #[command(flatten)]
    pub protocol: ProtocolArgs,
    #[command(flatten)]
    pub grpc: GrpcArgs,
    /// Print the first response of a call before the load
    ///
    /// As JSON with --proto, or with a server that has reflection.
    #[arg(long, help_heading = "gRPC")]
    pub show_answer: bool,
    #[command(flatten)]
    pub messages: Messages,
    /// Print the result as JSON
    ///
    /// `prony schema load` describes it.
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten, next_help_heading = "Output")]
    pub shown: DisplayArgs,
}

/// A list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

fn cpus(text: &str) -> Result<Cpus, String> {
    prony_lab::placement::parse_cpus(text).map(Cpus)
}
