//! The command line of `h2load`.

use super::place::{Destination, elsewhere};
use super::units::size;
use super::usage::{NAMES, USAGE, long};
use super::values::{bits, field, lines, number, refused, some, span, unread, value, wrong};
use crate::shared::flags::{Instead, abbreviated, ambiguous, fitting, name};
use lexopt::Arg;
use std::ffi::OsString;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

/// The frame size of every server and client that says nothing else; prony's.
const FRAME: u64 = 16_384;
/// One less than the smallest number that frames have no room for.
const MOST_FRAME: u64 = (1 << 24) - 1;

/// The longest datagrams, in bytes.
const MOST_PAYLOAD: u64 = 65_536;

/// Options that the user gave.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct H2loadFlags {
    /// Over all clients; ignored with a duration.
    pub requests: u64,
    pub clients: u32,
    pub threads: u32,
    /// Requests in flight of each client.
    pub streams: u32,
    /// Sizes of the flow-control windows, as powers of two.
    pub window_bits: u32,
    pub connection_window_bits: u32,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// OpenSSL's lists of cipher suites.
    pub tls12: Option<String>,
    pub tls13: Option<String>,
    /// Without TLS: HTTP/1.1, not HTTP/2.
    pub plain_http1: bool,
    /// Protocols that are offered by ALPN.
    pub offered: Vec<String>,
    /// Body that is posted.
    pub data: Option<Vec<u8>>,
    /// Connections in each period; 0: all of them before the load.
    pub rate: u32,
    pub period: Duration,
    /// None: a number of requests.
    pub duration: Option<Duration>,
    pub warmup: Duration,
    /// How long the clients may live, and how long a request may take.
    pub active: Option<Duration>,
    pub inactive: Option<Duration>,
    /// Requests per second of each client.
    pub rps: Option<f64>,
    pub log: Option<PathBuf>,
    pub connect_to: Option<(String, Option<u16>)>,
    /// The name that the server is asked for in TLS.
    pub server_name: Option<String>,
    pub place: Destination,
    /// Notes about options that have no effect.
    pub notes: Vec<String>,
}

/// Understands `args`, or says why not.
pub(super) fn parse(args: Vec<OsString>) -> Result<H2loadFlags, Instead> {
    let mut given = Given::default();
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next().map_err(|error| unread(&error))? {
        let option = match &arg {
            Arg::Value(uri) => {
                given.uris.push(uri.to_string_lossy().into_owned());
                continue;
            }
            Arg::Short(letter) => {
                long(*letter).ok_or_else(|| wrong(&format!("h2load: invalid option -- '{letter}'")))
            }
            Arg::Long(word) => abbreviated(word, &NAMES).ok_or_else(|| {
                wrong(&match ambiguous(word, &NAMES) {
                    Some(text) => format!("h2load: {text}"),
                    None => format!("h2load: unrecognized option '{}'", name(&arg)),
                })
            }),
        }?;
        given.take(option, &mut parser)?;
    }
    given.flags()
}

/// The command line as it is read.
struct Given {
    flags: H2loadFlags,
    /// Options that are for QUIC, and what to do without them there.
    of_quic: Vec<(String, &'static str)>,
    uris: Vec<String>,
    input: Option<String>,
    base: Option<String>,
}

impl Default for Given {
    fn default() -> Self {
        let place = Destination {
            secure: false,
            host: String::new(),
            port: 0,
            unix: None,
            paths: Vec::new(),
        };
        let flags = H2loadFlags {
            requests: 1,
            clients: 1,
            threads: 1,
            streams: 1,
            window_bits: 30,
            connection_window_bits: 30,
            headers: Vec::new(),
            tls12: None,
            tls13: None,
            plain_http1: false,
            offered: vec!["h2".into(), "http/1.1".into()],
            data: None,
            rate: 0,
            period: Duration::from_secs(1),
            duration: None,
            warmup: Duration::ZERO,
            active: None,
            inactive: None,
            rps: None,
            log: None,
            connect_to: None,
            server_name: None,
            place,
            notes: Vec::new(),
        };
        Self {
            flags,
            of_quic: Vec::new(),
            uris: Vec::new(),
            input: None,
            base: None,
        }
    }
}

impl Given {
    fn take(&mut self, option: &str, parser: &mut lexopt::Parser) -> Result<(), Instead> {
        let it = &mut self.flags;
        match option {
            "requests" => it.requests = number("-n", parser)?,
            "clients" => it.clients = number("-c", parser)?,
            "threads" => it.threads = number("-t", parser)?,
            "max-concurrent-streams" => it.streams = number("-m", parser)?,
            "rate" => it.rate = number("-r", parser)?,
            "window-bits" => it.window_bits = bits("-w", parser)?,
            "connection-window-bits" => it.connection_window_bits = bits("-W", parser)?,
            "rate-period" => it.period = span("--rate-period: value error", parser)?,
            "duration" => it.duration = some(span("-D: value error", parser)?),
            "warm-up-time" => it.warmup = span("--warm-up-time: value error", parser)?,
            "connection-active-timeout" => {
                let says = "-T: bad value for the conn_active_timeout wait time:";
                it.active = some(span(says, parser)?);
            }
            "connection-inactivity-timeout" => {
                let says = "-N: bad value for the conn_inactivity_timeout wait time:";
                it.inactive = some(span(says, parser)?);
            }
            "rps" => {
                let fits = |rate: &f64| rate.is_finite() && *rate >= 0.0;
                let rate = fitting(parser, fits).map_err(|error| unread(&error))?;
                let rate = rate.map_err(|given| wrong(&format!("--rps: Invalid value {given}")))?;
                it.rps = (rate > 0.0).then_some(rate);
            }
            "header" => it.headers.push(field(&value(parser)?)?),
            "data" => {
                let path = value(parser)?;
                let bytes = std::fs::read(&path);
                let bytes = bytes.map_err(|_| wrong(&format!("-d: Could not open file {path}")))?;
                it.data = Some(bytes);
            }
            "ciphers" => it.tls12 = Some(value(parser)?),
            "tls13-ciphers" => it.tls13 = Some(value(parser)?),
            "sni" => it.server_name = Some(value(parser)?),
            "log-file" => it.log = Some(value(parser)?.into()),
            "h1" => {
                it.offered = vec!["http/1.1".into()];
                it.plain_http1 = true;
            }
            "h3" => it.offered = vec!["h3".into()],
            "no-tls-proto" => match value(parser)?.as_str() {
                "h2c" => it.plain_http1 = false,
                "http/1.1" => it.plain_http1 = true,
                other => return Err(wrong(&format!("-p: unsupported protocol {other}"))),
            },
            "npn-list" | "alpn-list" => self.offer(&value(parser)?, option)?,
            "connect-to" => {
                let given = value(parser)?;
                let place = elsewhere(&given);
                let says = || wrong(&format!("--connect-to: Invalid value {given}"));
                it.connect_to = Some(place.ok_or_else(says)?);
            }
            "input-file" => self.input = Some(value(parser)?),
            "base-uri" => self.base = Some(value(parser)?),
            "help" => return Err(Instead::Said(USAGE.into())),
            "version" => return Err(Instead::Said(version())),
            other => self.without_effect(other, parser)?,
        }
        Ok(())
    }

    /// The names of ALPN. When HTTP/3 is the first, it is spoken, and otherwise not.
    fn offer(&mut self, list: &str, option: &str) -> Result<(), Instead> {
        let names: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
        let quic = match names.first() {
            Some(&"h3") => true,
            Some(draft) if draft.starts_with("h3-") => {
                let why = "prony speaks HTTP/3 of RFC 9114, which is h3";
                return Err(refused(&format!("{option} with {draft}"), why));
            }
            _ => false,
        };
        let is_known = |name: &str| match quic {
            true => name == "h3",
            false => matches!(name, "h2" | "http/1.1"),
        };
        let (known, other): (Vec<&str>, Vec<&str>) =
            names.into_iter().partition(|&name| is_known(name));
        if !other.is_empty() {
            let other = other.join(", ");
            let speaks = match quic {
                true => "behind h3 nothing else is spoken",
                false => "prony speaks h2 and http/1.1, or h3 where it comes first",
            };
            self.flags.notes.push(format!(
                "of --{option} these are not offered: {other}: {speaks}"
            ));
        }
        self.flags.offered = known.into_iter().map(str::to_owned).collect();
        Ok(())
    }

    /// Options that prony only names.
    fn without_effect(&mut self, option: &str, parser: &mut lexopt::Parser) -> Result<(), Instead> {
        let why = match option {
            "timing-script-file" => {
                let why = "`prony load --replay` sends a log at its own times";
                return Err(refused(option, why));
            }
            "groups" => {
                let why = "X25519, P-256 and P-384 are offered, in this order";
                return Err(refused(option, why));
            }
            "qlog-file-base" => {
                value(parser)?;
                let why = "without it, --log-file has the times of each request";
                self.of_quic.push((option.to_owned(), why));
                return Ok(());
            }
            "no-udp-gso" => {
                let why = "without it, several datagrams go in one system call where the kernel can (GSO)";
                self.of_quic.push((option.to_owned(), why));
                return Ok(());
            }
            "max-udp-payload-size" => {
                let given = value(parser)?;
                let says = |what: &str| wrong(&format!("--max-udp-payload-size: {what}"));
                match size(&given) {
                    None => return Err(says(&format!("bad option value: {given}"))),
                    Some(..=MOST_PAYLOAD) => {}
                    Some(_) => return Err(says("must not exceed 65536")),
                }
                let why = "without it, QUIC finds the largest datagrams that the path takes";
                self.of_quic.push((option.to_owned(), why));
                return Ok(());
            }
            "max-frame-size" => {
                let given = value(parser)?;
                let says = |what: &str| wrong(&format!("--max-frame-size: {what}"));
                match size(&given) {
                    None => return Err(says(&format!("bad option value: {given}"))),
                    Some(..FRAME) => return Err(says("minimum 16384")),
                    Some(FRAME) => return Ok(()),
                    Some(FRAME..=MOST_FRAME) => "frames of up to 16384 bytes are received",
                    Some(_) => return Err(says("maximum 16777215")),
                }
            }
            "header-table-size" | "encoder-header-table-size" => {
                let given = value(parser)?;
                match size(&given) {
                    Some(4_096) => return Ok(()),
                    Some(_) => "header tables have 4096 bytes",
                    None => {
                        let says = format!("--{option}: Bad option value: {given}");
                        return Err(wrong(&says));
                    }
                }
            }
            "ktls" => "TLS is done in the program",
            _ => "there is no more to say about a load; its checks are always printed",
        };
        self.flags
            .notes
            .push(format!("--{option} has no effect: {why}"));
        Ok(())
    }

    /// All of it, if it can be carried out.
    fn flags(self) -> Result<H2loadFlags, Instead> {
        let mut it = self.flags;
        let mut uris = self.uris;
        match &self.input {
            Some(path) => uris = lines(path)?,
            None if uris.is_empty() => return Err(wrong("no URI or input file given")),
            None => {}
        }
        let rate = it.rate;
        let timed = it.duration.is_some();
        let cores = available_parallelism().map_or(1, usize::from);
        if it.threads as usize > cores {
            it.notes
                .push(format!("-t {}: there are only {cores} CPUs", it.threads));
        }
        for (bad, says) in [
            (
                it.threads == 0,
                "-t: the number of threads must be strictly greater than 0.",
            ),
            (
                it.clients == 0,
                "-c: the number of clients must be strictly greater than 0.",
            ),
            (
                it.requests == 0 && !timed,
                "-n: the number of requests must be strictly greater than 0 if timing-based test is not being run.",
            ),
            (
                it.streams == 0,
                "-m: the max concurrent streams must be strictly greater than 0.",
            ),
            (timed && rate > 0, "-r, -D: they are mutually exclusive."),
            (
                it.clients < it.threads,
                "-c, -t: the number of clients must be greater than or equal to the number of threads.",
            ),
            (
                it.requests < u64::from(it.clients) && !timed,
                "-n, -c: the number of requests must be greater than or equal to the clients.",
            ),
            (
                rate > 0 && rate < it.threads,
                "-r, -t: the connection rate must be greater than or equal to the number of threads.",
            ),
            (
                rate > it.clients,
                "-r, -c: the connection rate must be smaller than or equal to the number of clients.",
            ),
            (
                rate > 0 && !it.requests.is_multiple_of(u64::from(it.clients)),
                "prony: -r: -n must be a multiple of -c, so that all connections make the same number of requests",
            ),
            (
                rate > 0 && it.period.is_zero(),
                "prony: -r: --rate-period must be longer than 0",
            ),
            (
                rate > 0 && it.rps.is_some(),
                "prony: -r and --rps together are not supported: use one of them",
            ),
            (
                rate > 0 && it.active.is_some(),
                "prony: -r and -T together are not supported: -N limits each request",
            ),
            (
                timed && it.active.is_some(),
                "prony: -D and -T together are not supported: -D says when the clients end",
            ),
            (
                it.window_bits == 0,
                "prony: -w 0: a window of 0 bytes lets the server send nothing",
            ),
        ] {
            if bad {
                return Err(wrong(says));
            }
        }
        if it.warmup > Duration::ZERO && !timed {
            it.notes
                .push("--warm-up-time has no effect without -D".into());
            it.warmup = Duration::ZERO;
        }
        for (option, why) in self.of_quic {
            match it.is_quic() {
                true => return Err(refused(&format!("{option} with HTTP/3"), why)),
                false => it
                    .notes
                    .push(format!("--{option} has no effect: it is for HTTP/3 (--h3)")),
            }
        }
        if it.is_quic() && it.window_bits != it.connection_window_bits {
            let why = "over HTTP/3 a connection has the window of its streams: give -w and -W the same number";
            return Err(refused(
                "connection-window-bits other than -w with HTTP/3",
                why,
            ));
        }
        it.place = Destination::new(&uris, self.base.as_deref()).map_err(|says| wrong(&says))?;
        if it.is_quic() && (!it.place.secure || it.place.unix.is_some()) {
            return Err(wrong(
                "prony: HTTP/3 is spoken over UDP and with TLS: give https:// and a host",
            ));
        }
        Ok(it)
    }
}

impl H2loadFlags {
    /// Is HTTP/3 spoken?
    pub(super) fn is_quic(&self) -> bool {
        self.offered.first().is_some_and(|name| name == "h3")
    }

    /// Requests on each connection, where connections are opened at a rate.
    pub(super) fn calls(&self) -> u64 {
        self.requests / u64::from(self.clients)
    }
}

fn version() -> String {
    format!(
        "h2load nghttp2/1.52.0 as spoken by prony {}\n",
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests;
