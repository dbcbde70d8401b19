//! The command line of `ab`: flags first, then the URL.

use super::tls::TlsFlags;
use super::usage::USAGE;
use crate::shared::address::{Url, default_port, split_port};
use crate::shared::flags::{Instead, name, not_taken, text};
use crate::shared::load::words;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lexopt::Arg;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// The exit status after a command line that cannot be understood.
const STATUS_USAGE: u8 = 22;
/// The most requests under way at the same time that the original accepts.
const MOST: u32 = 200_000;
/// Value of `-n` that `-t` sets.
const WITH_LIMIT: u64 = 50_000;
/// With more requests than this, progress is shown.
const FEW: u64 = 150;

/// Options that the user gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AbFlags {
    pub requests: u64,
    pub concurrency: u32,
    pub time_limit: Option<u64>,
    /// Seconds.
    pub timeout: u64,
    pub keepalive: bool,
    pub head: bool,
    pub method: Option<String>,
    pub upload: Option<Upload>,
    pub content_type: String,
    pub cookie: Option<String>,
    /// Whole lines of `-A` and `-P`.
    pub credentials: Vec<String>,
    /// Lines of `-H`.
    pub headers: Vec<String>,
    pub proxy: Option<(String, u16)>,
    pub verbosity: u32,
    pub html: bool,
    pub attributes: Attributes,
    pub percentiles: bool,
    pub spread: bool,
    pub progress: bool,
    pub variable: bool,
    pub keep_going: bool,
    pub csv: Option<PathBuf>,
    pub gnuplot: Option<PathBuf>,
    pub socket_buffer: Option<String>,
    /// How TLS is spoken; none: the URL is not https.
    pub tls: Option<TlsFlags>,
    pub url: Url,
    /// How values are read that are no numbers.
    pub notes: Vec<String>,
}

/// Body of each request, and the method that sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Upload {
    pub method: &'static str,
    pub body: Vec<u8>,
}

/// Attributes of HTML elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attributes {
    pub table: String,
    pub row: String,
    pub cell: String,
}

impl AbFlags {
    fn new() -> Self {
        Self {
            requests: 1,
            concurrency: 1,
            time_limit: None,
            timeout: 30,
            keepalive: false,
            head: false,
            method: None,
            upload: None,
            content_type: "text/plain".into(),
            cookie: None,
            credentials: Vec::new(),
            headers: Vec::new(),
            proxy: None,
            verbosity: 0,
            html: false,
            attributes: Attributes {
                table: String::new(),
                row: String::new(),
                cell: "bgcolor=white".into(),
            },
            percentiles: true,
            spread: true,
            progress: true,
            variable: false,
            keep_going: false,
            csv: None,
            gnuplot: None,
            socket_buffer: None,
            // Taken out again when the URL does not ask for it.
            tls: Some(TlsFlags::default()),
            url: Url {
                host: String::new(),
                port: None,
                target: String::new(),
            },
            notes: Vec::new(),
        }
    }

    pub(super) fn method(&self) -> &str {
        match (&self.method, &self.upload) {
            (Some(method), _) => method,
            (None, Some(upload)) => upload.method,
            (None, None) if self.head => "HEAD",
            (None, None) => "GET",
        }
    }

    /// Where connections go: the proxy, or the server.
    pub(super) fn connect_to(&self) -> (&str, u16) {
        match &self.proxy {
            Some((host, port)) => (host, *port),
            None => (&self.url.host, self.port()),
        }
    }

    /// The server's.
    pub(super) fn port(&self) -> u16 {
        let default = default_port(self.tls.is_some());
        self.url.port.unwrap_or(default)
    }

    /// Requests between two lines of progress; `None` when there are none.
    pub(super) fn heartbeat(&self) -> Option<u64> {
        (self.progress && self.requests > FEW).then(|| (self.requests / 10).max(100))
    }
}

/// Understands `args`, or says why not.
pub(super) fn parse(args: Vec<OsString>) -> Result<AbFlags, Instead> {
    let mut flags = AbFlags::new();
    let mut parser = lexopt::Parser::from_args(args);
    loop {
        match parser.next() {
            Ok(Some(Arg::Value(url))) => {
                let more = parser.raw_args().map_err(wrong)?.next().is_some();
                return if more {
                    Err(usage("wrong number of arguments"))
                } else {
                    finish(flags, &url.to_string_lossy())
                };
            }
            Ok(Some(Arg::Short(letter))) => flag(&mut flags, letter, &mut parser)?,
            Ok(Some(unknown)) => {
                return Err(usage(&format!("illegal option -- {}", name(&unknown))));
            }
            Ok(None) => return Err(usage("wrong number of arguments")),
            Err(error) => return Err(wrong(error)),
        }
    }
}

fn flag(flags: &mut AbFlags, letter: char, parser: &mut lexopt::Parser) -> Result<(), Instead> {
    let value = |parser: &mut lexopt::Parser| text(parser).map_err(wrong);
    match letter {
        'n' => {
            let invalid = || plain("Invalid number of requests");
            flags.requests = number(flags, letter, parser, 1..=u64::MAX, invalid)?;
        }
        'c' => {
            let invalid = || usage(&format!("Invalid Concurrency [Range 0..{MOST}]"));
            flags.concurrency = number(flags, letter, parser, 1..=MOST, invalid)?;
        }
        't' => {
            let invalid = || plain("Invalid time limit");
            let limit = number(flags, letter, parser, 0..=u64::MAX, invalid)?;
            flags.time_limit = (limit > 0).then_some(limit);
            flags.requests = WITH_LIMIT;
        }
        's' => {
            let invalid = || plain("Invalid time-out");
            flags.timeout = number(flags, letter, parser, 1..=u64::MAX, invalid)?;
        }
        'v' => {
            let invalid = || plain("Invalid verbosity");
            flags.verbosity = number(flags, letter, parser, 0..=u32::MAX, invalid)?;
        }
        'k' => flags.keepalive = true,
        'q' => flags.progress = false,
        'r' => flags.keep_going = true,
        'l' => flags.variable = true,
        'd' => flags.percentiles = false,
        'S' => flags.spread = false,
        'w' => flags.html = true,
        'I' | 'f' | 'Z' | 'E' => {
            let value = match letter {
                'I' => String::new(),
                _ => value(parser)?,
            };
            if let Some(tls) = &mut flags.tls {
                tls.take(letter, value).map_err(|says| plain(&says))?;
            }
        }
        'i' => {
            if flags.upload.is_some() || flags.method.is_some() {
                return Err(plain("Cannot mix HEAD with other methods"));
            }
            flags.head = true;
        }
        'm' => flags.method = Some(value(parser)?),
        'p' => upload(flags, "POST", &value(parser)?)?,
        'u' => upload(flags, "PUT", &value(parser)?)?,
        'T' => flags.content_type = value(parser)?,
        'C' => flags.cookie = Some(value(parser)?),
        'H' => flags.headers.push(value(parser)?),
        'A' => credentials(flags, "Authorization", &value(parser)?),
        'P' => credentials(flags, "Proxy-Authorization", &value(parser)?),
        'X' => {
            let proxy = value(parser)?;
            flags.proxy = Some(match split_port(&proxy) {
                Some((host, port)) => (host.to_owned(), port.unwrap_or(80)),
                // To the original the port is the number behind the first colon, 0 if there is none.
                None => {
                    let (host, port) = proxy.split_once(':').unwrap_or((&proxy, ""));
                    (host.to_owned(), leading_number(port).0 as u16)
                }
            });
        }
        'e' => flags.csv = Some(value(parser)?.into()),
        'g' => flags.gnuplot = Some(value(parser)?.into()),
        'b' => flags.socket_buffer = Some(value(parser)?),
        'x' => attribute(&mut flags.html, &mut flags.attributes.table, value(parser)?),
        'y' => attribute(&mut flags.html, &mut flags.attributes.row, value(parser)?),
        'z' => attribute(&mut flags.html, &mut flags.attributes.cell, value(parser)?),
        'V' => return Err(Instead::Said(super::who())),
        'h' => {
            return Err(Instead::Wrong {
                text: USAGE.into(),
                status: STATUS_USAGE,
            });
        }
        'B' => return Err(plain(&format!("ab: -{letter} is not supported"))),
        other => return Err(usage(&format!("illegal option -- {other}"))),
    }
    Ok(())
}

/// The number after a flag, if it fits; otherwise what the original says, and the value. It is read as the
/// original reads it, up to the first byte that belongs to no number.
fn number<T: TryFrom<i64> + PartialOrd>(
    flags: &mut AbFlags,
    letter: char,
    parser: &mut lexopt::Parser,
    fitting: RangeInclusive<T>,
    otherwise: impl Fn() -> Instead,
) -> Result<T, Instead> {
    let given = text(parser).map_err(wrong)?;
    let (read, whole) = leading_number(&given);
    let number = T::try_from(read).ok().filter(|it| fitting.contains(it));
    if number.is_some() && !whole {
        let note = format!("-{letter} {given} is read as {read}, as ab does");
        flags.notes.push(note);
    }
    number.ok_or_else(|| otherwise().and(&not_taken(letter, &given)))
}

/// The number that a text begins with, 0 if there is none, and whether it is all of the text.
fn leading_number(text: &str) -> (i64, bool) {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = digits.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = text[..text.len() - rest.len()].parse().ok();
    (number.unwrap_or(0), number.is_some() && rest.is_empty())
}

fn attribute(html: &mut bool, place: &mut String, value: String) {
    *html = true;
    *place = value;
}

fn credentials(flags: &mut AbFlags, field: &str, pair: &str) {
    flags
        .credentials
        .push(format!("{field}: Basic {}", STANDARD.encode(pair)));
}

fn upload(flags: &mut AbFlags, method: &'static str, path: &str) -> Result<(), Instead> {
    if flags.head || flags.method.is_some() || flags.upload.is_some() {
        return Err(plain(&format!("Cannot mix {method} with other methods")));
    }
    let body = std::fs::read(path).map_err(|error| {
        let why = words(&error);
        plain(&match error.kind() {
            ErrorKind::IsADirectory => format!("ab: Could not read POST data file: {why}"),
            _ => format!("ab: Could not open POST data file ({path}): {why}"),
        })
    })?;
    flags.upload = Some(Upload { method, body });
    Ok(())
}

fn finish(mut flags: AbFlags, url: &str) -> Result<AbFlags, Instead> {
    let parsed = match url.strip_prefix("https://") {
        Some(rest) => Url::parse(&format!("http://{rest}")),
        None => {
            flags.tls = None;
            Url::parse(url)
        }
    };
    flags.url = parsed.map_err(|_| usage("invalid URL"))?;
    if !flags.url.target.starts_with('/') {
        return Err(usage("invalid URL"));
    }
    if u64::from(flags.concurrency) > flags.requests {
        return Err(usage(
            "Cannot use concurrency level greater than total number of requests",
        ));
    }
    Ok(flags)
}

/// Something is wrong, and help will help.
fn usage(what: &str) -> Instead {
    Instead::Wrong {
        text: format!("ab: {what}\n{USAGE}"),
        status: STATUS_USAGE,
    }
}

fn plain(what: &str) -> Instead {
    Instead::Wrong {
        text: format!("{what}\n"),
        status: 1,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "to be handed to map_err")]
fn wrong(error: lexopt::Error) -> Instead {
    match &error {
        lexopt::Error::MissingValue {
            option: Some(option),
        } => {
            let letter = option.trim_start_matches('-');
            usage(&format!("option requires an argument -- {letter}"))
        }
        other => usage(&other.to_string()),
    }
}

#[cfg(test)]
mod tests;
