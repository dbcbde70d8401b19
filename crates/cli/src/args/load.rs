//! `prony load`.

use super::Shown;
use super::connect::{Connect, Origin};
use super::gate::Gate;
use super::grpc::Grpc;
use super::http2::Http2;
use super::machines::LoadFrom;
use super::number::{count, times};
use super::pace::{Pace, connections, pace};
use super::request::Request;
use super::shape::Shape;
use super::timed::length;
use super::tls::Tls;
use super::ws::Messages;
use crate::target;
use clap::Args;
use prony_record::Span;
use std::path::PathBuf;

/// Load a server that is already running
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony load http://localhost:8000/                       closed loop, 64 connections, 10 s\n  \
    prony load -c 256 -t 2 -d 30s http://localhost:8000/    two threads\n  \
    prony load --rate 5000 --arrival poisson http://...     open loop: stalls are not hidden\n  \
    prony load --rate 100..5000 -d 1m http://...            a ramp: latency over time\n  \
    prony load -c '10 for 30s, 200 for 30s' http://...      more connections after a while\n  \
    prony load -n 100000 -b @body.json -H 'Content-Type: application/json' http://...\n  \
    prony load --expect-status 200 --expect-body @page.html http://...\n  \
    prony load -u ada:secret http://localhost:8000/account  HTTP Basic authentication\n  \
    prony load --compressed http://localhost:8000/          answers may be compressed, docs/curl.md\n  \
    prony load -f shop.toml --fail-if 'checkout.p99>50ms' http://localhost:8000\n  \
    prony load --replay access.log --speed 2 http://localhost:8000   a log, twice as fast as it came\n  \
    prony load --ca ca.pem https://localhost:8443/          over TLS, docs/tls.md\n  \
    prony load --insecure --no-keepalive --no-resumption https://...   full handshakes per second\n  \
    prony load --streams 32 -c 8 h2c://localhost:8080/      HTTP/2, 32 streams on each connection\n  \
    prony load --http2 https://localhost:8443/              HTTP/2 over TLS, docs/http2.md\n  \
    prony load --proto hello.proto --message @call.json grpc://localhost:50051/hello.Greeter/SayHello\n  \
    prony load --size 200 --text ws://localhost:8080/chat   WebSocket, docs/websocket.md\n  \
    prony load --message 'ping' tcp://127.0.0.1:7           raw echo\n  \
    prony load --resolve example.com:443:10.0.0.5 https://example.com/   docs/curl.md\n  \
    prony load -c 80000 --interface 10.0.0.2,10.0.0.3,10.0.0.4 http://...   from several addresses\n  \
    prony load --load-from gen1,gen2 -c 2000 http://10.0.0.5:8000/  from other machines: docs/hosts.md\n  \
    prony load --plain http://localhost:8000/               progress as lines, on a terminal too\n  \
    prony load --unix /run/app.sock http://localhost/       over a unix socket")]
pub struct Load {
    /// http://HOST[:PORT]/PATH, https:// for TLS, h2c:// for HTTP/2 without TLS, grpc://HOST:PORT/package.Service/Method or grpcs:// for calls of gRPC,
    /// ws:// or wss:// for WebSocket, or tcp://HOST:PORT for a raw echo; over a unix socket
    /// http+unix://%2Frun%2Fapp.sock/PATH, or unix:///run/app.sock
    #[arg(value_parser = target::url)]
    pub url: String,
    /// Connections; without --rate 10..200 opens or closes them evenly over the duration, and '10 for 30s, 200 for 1m,
    /// 200..10 for 30s' are stages one after the other
    #[arg(short, long, value_name = "N", default_value = "64", value_parser = connections)]
    pub connections: Pace,
    /// Length of the measurement [default: 10s; with stages of --rate or --connections, theirs; with --replay, the log's,
    /// of which a shorter time sends the beginning]
    #[arg(short, long, value_name = "TIME", value_parser = length, conflicts_with = "requests")]
    pub duration: Option<Span>,
    /// Number of requests, instead of a duration
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<u64>)]
    pub requests: Option<u64>,
    /// Load unmeasured until steady, for at most this long
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub warmup: Span,
    /// Requests per second over all connections: an open loop, in which each request has a due
    /// time that no stall of the server moves; 100..5000 grows or falls evenly over the duration, and
    /// '100 for 30s, 500 for 1m, 500..100 for 30s' are stages one after the other [default: closed loop, as
    /// fast as answers come]
    #[arg(long, value_name = "N", value_parser = pace)]
    pub rate: Option<Pace>,
    #[command(flatten)]
    pub shape: Shape,
    /// Requests by name, with weights, values and what must be answered, from a file
    /// (docs/your-own-requests.md); the URL says where to
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with_all = ["method", "headers", "body", "body_file", "expect_status", "expect_body"],
        help_heading = "Request"
    )]
    pub file: Option<PathBuf>,
    /// Send a server's log again, in the common or combined format, in its order and at its own times; with --file each line is the
    /// request of the file that has its method and path, otherwise what the log has is asked for (GET and HEAD)
    #[arg(
        long,
        value_name = "LOG",
        conflicts_with_all = ["rate", "requests", "arrival", "random_shares", "method", "body", "body_file", "expect_status", "expect_body"],
        help_heading = "Request"
    )]
    pub replay: Option<PathBuf>,
    /// Send it so many times as fast as it came
    #[arg(long, value_name = "N", default_value = "1", value_parser = times, requires = "replay", help_heading = "Request")]
    pub speed: f64,
    /// Draw each request of --file for itself; otherwise shares are exact in any 1,000 requests of a
    /// thread
    #[arg(long, requires = "file", help_heading = "Request")]
    pub random_shares: bool,
    /// Do not try the requests of --file before and after the load, nor one of each kind of --replay's. Without this the load is not made
    /// when one of them is never answered as expected (with rows that are sent once, and with --load-from if this machine cannot reach the server, they are
    /// not tried). With grpc://, do not look at answers before the load
    #[arg(long, help_heading = "Request")]
    pub no_verify: bool,
    #[command(flatten)]
    pub request: Request,
    /// What tcp:// sends and expects back, or @FILE; \n, \r, \t and \\ are understood [default: hello\n]. With grpc:// and
    /// --proto the message of a call as JSON, or @FILE [default: an empty message]
    #[arg(
        long,
        value_name = "TEXT",
        conflicts_with_all = ["message_file", "message_hex", "message_base64"],
        help_heading = "Request"
    )]
    pub message: Option<String>,
    /// Connect to this unix socket instead of the URL's host
    #[arg(
        long,
        value_name = "PATH",
        conflicts_with_all = ["load_from", "resolve", "connect_to", "interface"],
        help_heading = "Request"
    )]
    pub unix: Option<PathBuf>,
    /// Give up a request, or a connection's set-up, after this
    #[arg(
        long,
        value_name = "TIME",
        default_value = "5s",
        value_parser = length,
        help_heading = "Answer"
    )]
    pub timeout: Span,
    /// The largest head that is accepted, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 10, help_heading = "Answer")]
    pub max_head: u64,
    /// The largest body that is accepted, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30, help_heading = "Answer")]
    pub max_body: u64,
    /// The CPUs that the generator's threads are pinned to, such as 0,2-3 [default: not pinned]
    #[arg(long, value_name = "LIST", value_parser = cpus, conflicts_with = "load_from", help_heading = "Generator")]
    pub cpus: Option<Cpus>,
    /// Draws Poisson arrivals and the values of --file from this number, to repeat them
    #[arg(long, value_name = "N", help_heading = "Generator")]
    pub seed: Option<u64>,
    /// Do not keep the result in the notebook
    #[arg(long, help_heading = "Output")]
    pub no_keep: bool,
    /// What is known of the server's version, kept with the result [default: the commit of this folder]
    #[arg(long, value_name = "TEXT", help_heading = "Output")]
    pub label: Option<String>,
    #[command(flatten)]
    pub connect: Connect,
    #[command(flatten)]
    pub origin: Origin,
    #[command(flatten)]
    pub from: LoadFrom,
    #[command(flatten)]
    pub gate: Gate,
    #[command(flatten)]
    pub tls: Tls,
    #[command(flatten)]
    pub http2: Http2,
    #[command(flatten)]
    pub grpc: Grpc,
    /// Print the first answer of a call before the load, with --proto as JSON
    #[arg(long, help_heading = "gRPC")]
    pub show_answer: bool,
    #[command(flatten)]
    pub messages: Messages,
    /// Print the result as JSON (`prony schema load` describes it)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    #[command(flatten, next_help_heading = "Output")]
    pub shown: Shown,
}

/// A list of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpus(pub Vec<usize>);

fn cpus(text: &str) -> Result<Cpus, String> {
    prony_lab::placement::parse_cpus(text).map(Cpus)
}
