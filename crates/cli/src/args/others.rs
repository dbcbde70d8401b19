//! Audit, import, the reference servers, schemas, completions.

use super::listen::listen;
use clap::{Args, ValueEnum};
use prony_record::Span;
use prony_record::load::Protocol;
use std::ffi::OsString;
use std::path::PathBuf;

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony completions bash > ~/.local/share/bash-completion/completions/prony\n  \
    prony completions zsh > \"${fpath[1]}/_prony\"\n  \
    prony completions fish > ~/.config/fish/completions/prony.fish")]
pub struct Completions {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// Print the manual page
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony man | man -l -\n  \
    prony man -o ~/.local/share/man/man1       # a page for every command")]
pub struct Man {
    /// Write a page for every command into this folder
    #[arg(short, long, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
}

/// Find errors in benchmark outputs, tables and pages
///
/// Reads outputs of wrk, wrk2, ab, httperf, weighttp, h2load, oha, hey and k6, tables in Markdown,
/// HTML or CSV, and whole pages that mix them with sentences and command lines. Give files that
/// belong together in one command. The exit status is 3 when something serious was found: figures
/// that do not mean what they seem to mean.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony audit README.md                         # a page with outputs and tables\n  \
    prony audit run-1.txt run-2.txt run-3.txt     # three runs of one server\n  \
    prony audit results.csv --json                # see `prony schema audit`\n  \
    wrk -c64 -d10s http://10.0.0.2/ | prony audit -")]
pub struct Audit {
    /// Files; - is standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Import runs of other notebooks, or published figures
///
/// A file that `prony export --format json` has written becomes a run with a new number. Report,
/// export and diff treat it like the original. A run that is already there is not imported
/// again.
///
/// From other files, import keeps the rates that `prony audit` finds in them (and response times,
/// where there was one run) under a name. An experiment with `published = "NAME"` shows them next to
/// the measured ones, and so does `prony report --published NAME` for any run.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony import run-12.json                      # a run, from another machine\n  \
    ssh rig prony export latest -f json | prony import -\n  \
    prony import README.md --as theirs            # figures, under a name\n  \
    prony import run-*.txt --as ours --server 'nginx 1.2=nginx'\n  \
    prony import results.csv --as theirs --json")]
pub struct Import {
    /// Files; - is standard input
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Name of the figures; replaces those with this name
    #[arg(long = "as", value_name = "NAME", value_parser = table_name)]
    pub name: Option<String>,
    /// Server of the catalog for a row of figures
    ///
    /// By default the server with the row's name. May be repeated.
    #[arg(long, value_name = "ROW=SERVER", value_parser = row_and_server)]
    pub server: Vec<(String, String)>,
    /// Import runs again that the notebook already has
    #[arg(long, conflicts_with_all = ["name", "server"])]
    pub again: bool,
    /// Print the result as JSON
    ///
    /// `prony schema published` describes that of figures; of runs it is their numbers.
    #[arg(long)]
    pub json: bool,
}

fn table_name(text: &str) -> Result<String, String> {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    if text.is_empty() || text.starts_with('.') || !text.chars().all(good) {
        return Err("a name has letters, digits, -, _ and . in it, and nothing else".into());
    }
    Ok(text.to_owned())
}

fn row_and_server(text: &str) -> Result<(String, String), String> {
    match text.rsplit_once('=') {
        Some((row, server)) if !row.is_empty() && !server.is_empty() => {
            Ok((row.to_owned(), server.to_owned()))
        }
        _ => Err("must be ROW=SERVER, such as 'nginx 1.2=nginx'".into()),
    }
}

/// Serve a contract with one of prony's own servers, until Ctrl-C
///
/// `tcp-echo`, `http-echo` and `ws-echo` are as fast as the kernel allows: the ceiling of a host.
/// `clockwork` answers exactly when a script says, to test load generators.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony serve http-echo --listen :8000\n  \
    prony serve http-echo --protocol h2 --cert c.pem --key k.pem --listen :8443\n  \
    prony serve tcp-echo --model io-uring --workers 2 --listen :7000\n  \
    prony serve clockwork --stall 100ms/1s --listen :7000\n  \
    prony serve clockwork --contract http-echo --delay 1ms --queue\n  \
    prony serve clockwork --contract http-echo --protocol h2c")]
pub struct Serve {
    /// Server: an echo, or clockwork
    pub what: Served,
    /// Address to listen on
    ///
    /// ADDR:PORT, or :PORT on this machine alone; port 0 is a free one. The address is printed.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0", value_parser = |text: &str| listen(text, 0))]
    pub listen: std::net::SocketAddr,
    /// How connections are served
    #[arg(long, default_value = "epoll")]
    pub model: prony_reference::ceiling::Model,
    /// Event loops
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: u32,
    /// Over plain, tls, h2c, h2 or h3
    #[arg(long, value_name = "NAME", default_value = "plain")]
    pub protocol: Protocol,
    /// Certificate for TLS, a PEM file
    #[arg(long, value_name = "FILE", requires = "key")]
    pub cert: Option<OsString>,
    /// Key of --cert, a PEM file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub key: Option<OsString>,
    /// Busy work per request, for a known slowness
    #[arg(long, value_name = "TIME", default_value = "0s")]
    pub busy: Span,
    /// Contract of the clockwork
    #[arg(long, default_value = "tcp-echo", help_heading = "Clockwork")]
    pub contract: prony_reference::Contract,
    /// Response delay, such as 1ms
    ///
    /// Or a distribution: uniform:1ms..3ms, bimodal:1ms,10ms,0.1.
    #[arg(long, default_value = "none", help_heading = "Clockwork")]
    pub delay: prony_reference::clockwork::Delay,
    /// Send nothing for LENGTH in every PERIOD: 100ms/1s
    #[arg(long, value_name = "LENGTH/PERIOD", help_heading = "Clockwork")]
    pub stall: Option<prony_reference::clockwork::Stall>,
    /// Serve one request at a time: the delay is a service time
    #[arg(long, help_heading = "Clockwork")]
    pub queue: bool,
    /// Answer HTTP requests with streams of N events
    ///
    /// Server-sent events as model servers send them; --delay is the time to the first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), help_heading = "Clockwork")]
    pub events: Option<u32>,
    /// Time between two events, as --delay has it
    #[arg(
        long,
        value_name = "TIME",
        default_value = "none",
        requires = "events",
        help_heading = "Clockwork"
    )]
    pub gap: prony_reference::clockwork::Delay,
    /// Bytes of a tcp-echo request [default: what arrives at once]
    #[arg(long, value_name = "BYTES", help_heading = "Clockwork")]
    pub message: Option<std::num::NonZeroUsize>,
    /// Send responses in two pieces with Nagle's algorithm
    ///
    /// Shows the 40 ms of a delayed acknowledgement.
    #[arg(long, help_heading = "Clockwork")]
    pub nagle: bool,
    /// Wait asleep instead of spinning
    ///
    /// Leaves the CPU to others; responses are some 0.1 ms late.
    #[arg(long, help_heading = "Clockwork")]
    pub sleep: bool,
    /// Seed of the delays
    #[arg(long, default_value_t = 0, help_heading = "Clockwork")]
    pub seed: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Served {
    /// Every byte comes back
    TcpEcho,
    /// GET /any/path is answered with the path and the date
    HttpEcho,
    /// Messages over WebSocket come back, at any path
    WsEcho,
    /// Delays and stalls that are known exactly
    Clockwork,
}

/// Print the JSON Schema of a file or of an output
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    prony schema experiment > experiment.schema.json\n  \
    prony schema load                   what `prony load --json` prints")]
pub struct SchemaArgs {
    /// File or output that the schema describes
    #[arg(value_enum)]
    pub what: SchemaOf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// Output of `prony load --json`
    Load,
    /// Output of `prony run --json` and `prony report --json`
    Run,
    /// Output of `prony duel --json`
    Duel,
    /// Output of `prony diff --json`
    Diff,
    /// Output of `prony capacity --json`
    Capacity,
    /// Output of `prony why --json`
    Why,
    /// Output of `prony calibrate --json`
    Calibrate,
    /// Output of `prony export --format json`
    Export,
    /// An experiment file
    Experiment,
    /// A server's manifest
    Server,
    /// A file of published figures, and what `prony import --json` prints
    Published,
    /// Output of `prony audit --json`
    Audit,
    /// The service of the contract grpc-echo, as a .proto file
    GrpcEcho,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_rows() {
        assert!(table_name("mine-2.1").is_ok());
        for name in ["", "a/b", ".hidden", "a b"] {
            assert!(table_name(name).is_err(), "{name}");
        }
        assert_eq!(
            row_and_server("a=b=node@2"),
            Ok(("a=b".to_owned(), "node@2".to_owned()))
        );
        assert!(row_and_server("node").is_err() && row_and_server("=node").is_err());
    }
}
