//! The command line of `httperf`: long options, which may be abbreviated.

use super::request::unescape;
use super::working_set::{WorkingSet, unsigned};
use crate::shared::flags::{Instead, abbreviated, ambiguous, name, text};
use lexopt::Arg;
use prony_record::Spacing;
use std::ffi::OsString;
use std::fmt::Write;
use std::str::FromStr;
use std::time::Duration;

/// Where the original would wait for ever.
const PATIENCE: Duration = Duration::from_secs(60);

const USAGE: &str = "\
Usage: httperf [-hdvV] [--add-header S] [--burst-length N] [--client N/N]
\t[--debug N] [--help] [--hog] [--http-version S] [--method S]
\t[--no-host-hdr] [--num-calls N] [--num-conns N] [--period [d|e]T]
\t[--port N] [--rate X] [--recv-buffer N] [--send-buffer N]
\t[--server S] [--server-name S] [--think-timeout X] [--timeout X]
\t[--uri S] [--verbose] [--version] [--wset N,X] [--quiet]
";

/// Options that take a value.
const WITH_VALUE: [&str; 19] = [
    "add-header",
    "burst-length",
    "client",
    "debug",
    "http-version",
    "method",
    "num-calls",
    "num-conns",
    "period",
    "port",
    "rate",
    "recv-buffer",
    "send-buffer",
    "server",
    "server-name",
    "think-timeout",
    "timeout",
    "uri",
    "wset",
];

/// All options of the original, so that an abbreviation means here what it means there.
const NAMES: [&str; 44] = [
    "add-header",
    "burst-length",
    "client",
    "close-with-reset",
    "debug",
    "failure-status",
    "help",
    "hog",
    "http-version",
    "max-connections",
    "max-piped-calls",
    "method",
    "no-host-hdr",
    "num-calls",
    "num-conns",
    "period",
    "port",
    "print-reply",
    "print-request",
    "rate",
    "recv-buffer",
    "retry-on-failure",
    "send-buffer",
    "server",
    "server-name",
    "session-cookies",
    "ssl",
    "ssl-ca-file",
    "ssl-ca-path",
    "ssl-certificate",
    "ssl-ciphers",
    "ssl-key",
    "ssl-no-reuse",
    "ssl-verify",
    "think-timeout",
    "timeout",
    "uri",
    "verbose",
    "version",
    "wlog",
    "wsess",
    "wsesslog",
    "wsesspage",
    "wset",
];

/// Options that the user gave.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct HttperfFlags {
    pub server: String,
    pub server_name: Option<String>,
    pub port: u16,
    pub uri: String,
    pub method: String,
    pub version: String,
    pub host_field: bool,
    /// Header fields, each with its line end.
    pub fields: Vec<u8>,
    pub connections: u64,
    pub calls: u32,
    pub burst: u32,
    /// Connections per second; without, one after the other.
    pub rate: Option<f64>,
    /// How connections at a rate are spaced.
    pub spacing: Spacing,
    pub verbose: bool,
    /// Index of this client among several, from 0, and how many there are.
    pub client: (u64, u64),
    /// The files that are asked for in place of one URI.
    pub files: Option<WorkingSet>,
    /// The sizes of sockets' buffers were given.
    pub buffers: bool,
    timeout: Option<f64>,
    think: Option<f64>,
    /// Options as they were typed, for [`echo`](Self::echo).
    typed: Typed,
}

/// Options that are only repeated, as they were typed.
#[derive(Debug, Clone, Default, PartialEq)]
struct Typed {
    hog: bool,
    version: bool,
    method: bool,
    burst: bool,
    no_host: bool,
    header: Option<String>,
    rate: Option<f64>,
    period: Option<String>,
    send: Option<u64>,
    receive: Option<u64>,
}

impl HttperfFlags {
    fn new() -> Self {
        Self {
            server: "localhost".into(),
            server_name: None,
            port: 80,
            uri: "/".into(),
            method: "GET".into(),
            version: "1.1".into(),
            host_field: true,
            fields: Vec::new(),
            connections: 1,
            calls: 1,
            burst: 1,
            rate: None,
            spacing: Spacing::Constant,
            verbose: false,
            client: (0, 1),
            files: None,
            buffers: false,
            timeout: None,
            think: None,
            typed: Typed::default(),
        }
    }

    /// How long to wait for an answer, and for a connection.
    pub(super) fn patience(&self) -> Duration {
        match self.timeout {
            None => PATIENCE,
            Some(timeout) => Duration::try_from_secs_f64(timeout + self.think.unwrap_or(0.0))
                .unwrap_or(Duration::MAX)
                // The engine counts nanoseconds in 64 bits.
                .min(Duration::from_secs(1 << 32)),
        }
    }

    /// The command line as the original repeats it.
    pub(super) fn echo(&self) -> String {
        let typed = &self.typed;
        let mut out = String::from("httperf");
        let mut add = |on: bool, text: String| {
            if on {
                let _ = write!(out, " --{text}");
            }
        };
        add(self.verbose, "verbose".into());
        add(typed.hog, "hog".into());
        if let Some(think) = self.think {
            add(true, format!("think-timeout={think}"));
        }
        if let Some(timeout) = self.timeout {
            add(true, format!("timeout={timeout}"));
        }
        add(true, format!("client={}/{}", self.client.0, self.client.1));
        add(true, format!("server={}", self.server));
        if let Some(name) = &self.server_name {
            add(true, format!("server_name={name}"));
        }
        add(true, format!("port={}", self.port));
        add(true, format!("uri={}", self.uri));
        add(typed.version, format!("http-version={}", self.version));
        if let Some(rate) = typed.rate {
            add(rate > 0.0, format!("rate={rate}"));
        }
        if let Some(period) = &typed.period {
            add(true, format!("period={period}"));
        }
        add(true, format!("send-buffer={}", typed.send.unwrap_or(4096)));
        add(
            true,
            format!("recv-buffer={}", typed.receive.unwrap_or(16384)),
        );
        if let Some(header) = &typed.header {
            add(true, format!("add-header='{header}'"));
        }
        add(typed.no_host, "no-host-hdr".into());
        add(typed.method, format!("method={}", self.method));
        add(true, format!("num-conns={}", self.connections));
        add(true, format!("num-calls={}", self.calls));
        add(typed.burst, format!("burst-length={}", self.burst));
        if let Some(set @ WorkingSet { files: 1.., .. }) = &self.files {
            add(true, format!("wset={set}"));
        }
        out
    }
}

/// Understands `args`, or says why not.
pub(super) fn parse(args: Vec<OsString>) -> Result<HttperfFlags, Instead> {
    let mut flags = HttperfFlags::new();
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next().map_err(|error| wrong(&error.to_string()))? {
        let option = match arg {
            Arg::Short('h') => "help",
            Arg::Short('v') => "verbose",
            Arg::Short('V') => "version",
            Arg::Short('d') => "debug",
            Arg::Long(given) => match abbreviated(given, &NAMES) {
                Some(option) => option,
                None => {
                    return Err(match ambiguous(given, &NAMES) {
                        Some(why) => wrong(&why),
                        None => unknown(&format!("--{given}")),
                    });
                }
            },
            // The original passes over what is no option.
            Arg::Value(_) => continue,
            Arg::Short(_) => return Err(unknown(&format!("-{}", name(&arg)))),
        };
        set(&mut flags, option, &mut parser)?;
    }
    if flags.burst == 0 || flags.calls == 0 || flags.connections == 0 {
        return Err(wrong(
            "numbers of connections, calls and bursts must be above 0",
        ));
    }
    if let Some(set) = flags.files {
        set.first_uri(&flags.uri).map_err(|why| wrong(&why))?;
    }
    if flags.burst > 1 && flags.calls == 1 {
        flags.burst = 1;
    }
    Ok(flags)
}

fn set(flags: &mut HttperfFlags, option: &str, parser: &mut lexopt::Parser) -> Result<(), Instead> {
    let value = if WITH_VALUE.contains(&option) {
        text(parser).map_err(|_| wrong(&format!("option '--{option}' requires an argument")))?
    } else {
        String::new()
    };
    match option {
        "server" => flags.server = value,
        "server-name" => flags.server_name = Some(value),
        "port" => flags.port = number(&value, "port number")?,
        "uri" => flags.uri = value,
        "method" => {
            flags.method = value;
            flags.typed.method = true;
        }
        "http-version" => {
            if !is_version(&value) {
                return Err(wrong(&format!("illegal version number {value}")));
            }
            flags.version = value;
            flags.typed.version = true;
        }
        "add-header" => {
            let fields =
                unescape(&value).ok_or_else(|| wrong(&format!("illegal escape in {value}")))?;
            flags.fields.extend_from_slice(&fields);
            flags.typed.header = Some(value);
        }
        "num-conns" => flags.connections = number(&value, "number of connections")?,
        "num-calls" => flags.calls = number(&value, "number of calls")?,
        "burst-length" => {
            flags.burst = number(&value, "burst-length")?;
            flags.typed.burst = true;
        }
        "rate" => {
            let rate = amount(&value, "request rate")?;
            flags.typed.rate = Some(rate);
            (flags.rate, flags.spacing) = (above_zero(rate), Spacing::Constant);
        }
        "period" => {
            (flags.rate, flags.spacing) = period(&value)?;
            flags.typed.period = Some(value);
        }
        "timeout" => {
            flags.timeout = Some(amount(&value, "connection timeout")?).filter(|&t| t > 0.0);
        }
        "think-timeout" => {
            flags.think = Some(amount(&value, "timeout value")?).filter(|&t| t > 0.0);
        }
        "send-buffer" => {
            flags.typed.send = Some(number(&value, "send buffer size")?);
            flags.buffers = true;
        }
        "recv-buffer" => {
            flags.typed.receive = Some(number(&value, "receive buffer size")?);
            flags.buffers = true;
        }
        "client" => flags.client = client(&value).map_err(|why| wrong(&why))?,
        "wset" => flags.files = Some(WorkingSet::parse(&value).map_err(|why| wrong(&why))?),
        "no-host-hdr" => {
            flags.host_field = false;
            flags.typed.no_host = true;
        }
        "verbose" => flags.verbose = true,
        "hog" => flags.typed.hog = true,
        // Debugging the original makes no sense here.
        "debug" => {}
        "help" => return Err(Instead::Said(USAGE.into())),
        "version" => {
            return Err(Instead::Said(format!(
                "httperf-0.9.0 as spoken by prony {}\n",
                env!("CARGO_PKG_VERSION")
            )));
        }
        other => return Err(wrong(&format!("--{other} is not supported"))),
    }
    Ok(())
}

fn number<T: FromStr>(value: &str, what: &str) -> Result<T, Instead> {
    let parsed = value.trim().parse();
    parsed.map_err(|_| wrong(&format!("illegal {what} {value}")))
}

/// `I/N`: this is client I of N. What follows is passed over, as by the original.
fn client(value: &str) -> Result<(u64, u64), String> {
    let rest = |what: &str, rest: &str| format!("{what} (rest: `{rest}')");
    let (id, after) = unsigned(value).ok_or_else(|| rest("bad client id", value))?;
    let of = after
        .strip_prefix('/')
        .ok_or_else(|| rest("client id not followed by `/'", after))?;
    match unsigned(of) {
        Some((clients, _)) if id < clients => Ok((id, clients)),
        _ => Err(rest("bad number of clients", of)),
    }
}

/// A number that is not below 0.
fn amount(value: &str, what: &str) -> Result<f64, Instead> {
    let amount: f64 = number(value, what)?;
    if amount.is_finite() && amount >= 0.0 {
        Ok(amount)
    } else {
        Err(wrong(&format!("illegal {what} {value}")))
    }
}

/// Connections per second; at 0 they are made one after the other.
fn above_zero(rate: f64) -> Option<f64> {
    Some(rate).filter(|&rate| rate > 0.0)
}

/// `T` or `dT`: every T seconds; `eT`: with exponential gaps of mean T.
fn period(value: &str) -> Result<(Option<f64>, Spacing), Instead> {
    let (kind, rest) = match value.as_bytes().first() {
        Some(&kind @ (b'd' | b'e' | b'u' | b'v')) => (kind, &value[1..]),
        _ => (b'd', value),
    };
    if !matches!(kind, b'd' | b'e') {
        return Err(wrong(&format!(
            "--period={value}: only d and e are supported"
        )));
    }
    let seconds = amount(rest, "interarrival time")?;
    let spacing = match kind {
        b'e' => Spacing::Poisson,
        _ => Spacing::Constant,
    };
    Ok((above_zero(seconds).map(|seconds| 1.0 / seconds), spacing))
}

fn unknown(option: &str) -> Instead {
    Instead::Wrong {
        text: format!("httperf: unrecognized option '{option}'\n{USAGE}"),
        status: 1,
    }
}

/// Two numbers and a point between them, as the original reads them: what follows does not matter.
fn is_version(text: &str) -> bool {
    let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let after = text.trim_start_matches(|c: char| c.is_ascii_digit());
    digit(text) && after.strip_prefix('.').is_some_and(digit)
}

fn wrong(what: &str) -> Instead {
    Instead::Wrong {
        text: format!("httperf: {what}\n"),
        status: 1,
    }
}

#[cfg(test)]
mod tests;
