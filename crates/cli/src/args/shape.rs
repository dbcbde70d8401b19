//! How requests are sent, the same for every verb that loads servers.

use super::number::count;
use super::one_of;
use super::protocol::ProtocolArgs;
use super::timed::length;
use clap::{Arg, Args, Command};
use miette::Result;
use prony_record::load::Assignment;
use prony_record::{Load, Slo, Spacing, Span, Transport};

/// The shape of a load, but for its connections, its rate and its length.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Load")]
pub struct Shape {
    /// Generator threads
    ///
    /// auto: as many as it takes to have time to spare, at most one for each CPU of the generator.
    #[arg(short, long, value_name = "N", value_parser = count::<u32>)]
    pub threads: Option<u32>,
    /// Spacing at a rate
    ///
    /// constant: evenly. poisson: at random, as independent users send requests.
    #[arg(long, value_parser = one_of::<Spacing>(["constant", "poisson"]))]
    pub arrival: Option<Spacing>,
    /// Connection for the next request at a rate
    ///
    /// Any that is free, or round-robin as in wrk2.
    #[arg(long, default_value = "any", value_parser = one_of::<Assignment>(["any", "round-robin"]))]
    pub assignment: Assignment,
    /// Open at most this many connections
    ///
    /// At a rate, prony opens more connections than --connections while the rate needs them and
    /// they help.
    #[arg(long, value_name = "N", value_parser = count::<u32>, conflicts_with = "assignment")]
    pub max_connections: Option<u32>,
    /// Requests in flight on each connection (HTTP/1.1)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = count::<u32>, conflicts_with = "streams")]
    pub pipeline: u32,
    /// Open a new connection for each request
    #[arg(long)]
    pub no_keepalive: bool,
    /// Close each connection after N requests
    #[arg(long, value_name = "N", value_parser = count::<u32>, conflicts_with = "no_keepalive")]
    pub requests_per_connection: Option<u32>,
    /// Close each connection after this time
    ///
    /// Once its requests in flight have been answered. The first connections end earlier, so that
    /// not all end together.
    #[arg(long, value_name = "TIME", value_parser = length, conflicts_with = "no_keepalive")]
    pub connection_lifetime: Option<Span>,
    /// Keep N more connections open that send nothing
    ///
    /// They are opened before the load, TLS handshakes included. The report says how much memory
    /// the server took for them and how many it closed.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub idle_connections: u32,
    /// Limits of a good response, such as 'response < 50ms'
    ///
    /// Times to limit, separated by commas: response, first-event (ttft), gap (the longest of a
    /// stream) and mean-gap (tpot). The goodput counts responses within all limits.
    #[arg(long, value_name = "LIMITS")]
    pub slo: Option<Slo>,
    /// Input and output: io_uring or epoll
    ///
    /// auto: io_uring in a closed loop where the kernel has it, else epoll.
    #[arg(long, default_value = "auto", value_parser = one_of::<Transport>(["auto", "epoll", "io_uring"]), help_heading = "Generator")]
    pub transport: Transport,
}

/// An error about --pipeline over HTTP/2.
pub fn for_http1() -> miette::Report {
    usage!(
        help = "--streams N has N requests in flight on each connection",
        "--pipeline is for HTTP/1.1"
    )
}

/// Adds the defaults to the help of a verb with these options: they differ from verb to verb.
pub fn with_defaults(command: Command) -> Command {
    let (threads, arrival, connections) = match command.get_name() {
        "load" => ("1", "constant", "1000"),
        "capacity" => ("auto", "poisson", "1000"),
        "duel" | "why" => ("auto", "poisson", "4 × -c"),
        _ => return command,
    };
    command
        .mut_arg("threads", |arg| defaults_to(arg, threads))
        .mut_arg("arrival", |arg| defaults_to(arg, arrival))
        .mut_arg("max_connections", |arg| defaults_to(arg, connections))
}

fn defaults_to(arg: Arg, default: &str) -> Arg {
    let line = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let long = arg.get_long_help().map(ToString::to_string);
    let with = format!("{line} [default: {default}]");
    let long = long.map_or_else(|| with.clone(), |long| long.replacen(&line, &with, 1));
    arg.help(with).long_help(long)
}

impl Shape {
    /// The load. Requests of a rate are spaced as `usual` unless the user says otherwise.
    pub fn load(&self, usual: Spacing, protocol: &ProtocolArgs) -> Load {
        Load {
            threads: self.threads.unwrap_or(1),
            arrival: self.arrival.unwrap_or(usual),
            assignment: self.assignment,
            max_connections: self.max_connections,
            pipeline: protocol.streams.unwrap_or(self.pipeline),
            keepalive: !self.no_keepalive,
            requests_per_connection: self.requests_per_connection,
            connection_lifetime: self.connection_lifetime,
            idle_connections: self.idle_connections,
            slo: self.slo,
            udp_sockets: protocol.udp_sockets,
            transport: self.transport,
            ..Load::default()
        }
    }

    /// Refuses what has no effect in a closed loop.
    ///
    /// # Errors
    /// The option.
    pub fn closed(&self) -> Result<()> {
        let given = match (self.arrival, self.assignment) {
            (Some(_), _) => "--arrival",
            (None, Assignment::RoundRobin) => "--assignment",
            (None, Assignment::Any) => return Ok(()),
        };
        Err(usage!(
            help = "--rate N sends N requests per second",
            "{given} needs --rate: without it each request follows the answer before"
        ))
    }

    /// Refuses several requests in flight where HTTP/2 has streams.
    ///
    /// # Errors
    /// When --pipeline is given.
    pub fn not_pipelined(&self) -> Result<()> {
        match self.pipeline {
            1 => Ok(()),
            _ => Err(for_http1()),
        }
    }
}
