//! The command line of wrk 4.2 and wrk2.

use super::units::{scan_metric, scan_time};
use super::url::Url;
use crate::shared::flags::{abbreviated, ambiguous, not_taken};
use lexopt::Arg;
use prony_record::Spacing;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Usage that wrk prints on request, or for a command line that it does not understand.
pub(super) const USAGE: &str = include_str!("usage.txt");

/// Message of wrk2 for a command line without a rate.
pub(super) const NO_RATE: &str = "Throughput MUST be specified with the --rate or -R option";

/// wrk's: after this a request has failed.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The long flags, each with the letter that means the same; wrk's own first.
const LONG: [(&str, char); 13] = [
    ("connections", 'c'),
    ("duration", 'd'),
    ("threads", 't'),
    ("script", 's'),
    ("header", 'H'),
    ("latency", 'L'),
    ("timeout", 'T'),
    ("help", 'h'),
    ("version", 'v'),
    ("u_latency", 'U'),
    ("batch_latency", 'B'),
    ("rate", 'R'),
    ("dist", 'D'),
];
/// How many of them wrk has: what abbreviates one of these in wrk does so here, whatever wrk2 has besides.
const OF_WRK: usize = 9;

/// A load as the command line describes it.
#[derive(Debug, PartialEq)]
pub(super) struct Args {
    pub url: Url,
    /// At least `threads`.
    pub connections: u32,
    /// At least 1.
    pub threads: u32,
    /// Whole seconds, at least 1.
    pub duration: Duration,
    pub timeout: Duration,
    pub script: Option<PathBuf>,
    /// Header lines as given: `Name: value`.
    pub headers: Vec<String>,
    /// Print percentiles.
    pub latency: bool,
    /// Print those without the lag, too.
    pub uncorrected: bool,
    /// Requests per second over all connections; makes it wrk2.
    pub rate: Option<u64>,
    /// How requests at a rate are spaced.
    pub arrival: Spacing,
    /// A batch of pipelined requests is to be measured as one.
    pub batches: bool,
    /// For the script: the URL, then what followed it.
    pub rest: Vec<String>,
}

/// Result of parsing a command line.
#[derive(Debug, PartialEq)]
pub(super) struct Parsed {
    /// The version was asked for; it is printed before anything else.
    pub version: bool,
    /// A load, or the usage, with what is wrong.
    pub args: Result<Args, Option<String>>,
}

impl Parsed {
    pub(super) fn from(args: Vec<OsString>) -> Self {
        let mut version = false;
        let args = parse(args, &mut version);
        Self { version, args }
    }
}

fn parse(args: Vec<OsString>, version: &mut bool) -> Result<Args, Option<String>> {
    let mut connections = 10;
    let mut threads = 2;
    let mut duration = 10;
    let mut timeout = TIMEOUT;
    let mut script = None;
    let mut headers = Vec::new();
    let (mut latency, mut uncorrected, mut batches) = (false, false, false);
    let mut rate = None;
    let mut arrival = Spacing::Constant;
    let mut rest = Vec::new();

    let complain = |error: lexopt::Error| Some(format!("wrk: {error}"));
    let text = |value: OsString| {
        value
            .into_string()
            .map_err(|value| Some(format!("wrk: {} is not UTF-8", value.display())))
    };
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(argument) = parser.next().map_err(complain)? {
        let flag = match argument {
            Arg::Value(value) => {
                rest.push(text(value)?);
                continue;
            }
            Arg::Short(letter) => letter,
            Arg::Long(name) => {
                let names = LONG.map(|(name, _)| name);
                let of_wrk = abbreviated(name, &names[..OF_WRK]);
                let known = of_wrk.or_else(|| abbreviated(name, &names));
                let found = LONG.iter().find(|(long, _)| Some(*long) == known);
                match found {
                    Some((_, letter)) => *letter,
                    None => {
                        let why = ambiguous(name, &names)
                            .unwrap_or_else(|| format!("unrecognized option '--{name}'"));
                        return Err(Some(format!("wrk: {why}")));
                    }
                }
            }
        };
        let mut value = || parser.value().map_err(complain).and_then(text);
        // The original answers a value that is none with the usage alone.
        let bad = |value: &str| Some(not_taken(flag, value));
        let metric = |value: String| scan_metric(&value).ok_or_else(|| bad(&value));
        let time = |value: String| scan_time(&value).ok_or_else(|| bad(&value));
        match flag {
            'c' => connections = metric(value()?)?,
            't' => threads = metric(value()?)?,
            'd' => duration = time(value()?)?,
            // Of the wrk2 that DeathStarBench has.
            'D' => {
                let shape = value()?;
                arrival = match shape.as_str() {
                    "fixed" => Spacing::Constant,
                    "exp" => Spacing::Poisson,
                    _ => return Err(bad(&shape)),
                };
            }
            's' => script = Some(PathBuf::from(parser.value().map_err(complain)?)),
            'H' => headers.push(value()?),
            'L' => latency = true,
            'U' => (latency, uncorrected) = (true, true),
            'B' => batches = true,
            'T' => timeout = Duration::from_secs(time(value()?)?),
            'R' => rate = Some(metric(value()?)?),
            'v' => *version = true,
            'h' | '?' => return Err(None),
            other => return Err(Some(format!("wrk: invalid option -- '{other}'"))),
        }
    }

    let wanted = rest.first().filter(|_| threads > 0 && duration > 0);
    let url = wanted.ok_or(None)?;
    let url = Url::parse(url).ok_or_else(|| Some(format!("invalid URL: {url}")))?;
    if connections == 0 || connections < threads {
        return Err(Some("number of connections must be >= threads".into()));
    }
    if rate == Some(0) || (rate.is_none() && uncorrected) {
        return Err(Some(NO_RATE.into()));
    }
    let count = |number: u64| {
        u32::try_from(number).map_err(|_| Some(format!("{number} is more than there can be")))
    };
    Ok(Args {
        url,
        connections: count(connections)?,
        threads: count(threads)?,
        duration: Duration::from_secs(duration),
        timeout,
        script,
        headers,
        latency,
        uncorrected,
        rate,
        arrival,
        batches,
        rest,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Parsed {
        Parsed::from(
            line.split(' ')
                .filter(|arg| !arg.is_empty())
                .map(OsString::from)
                .collect(),
        )
    }

    fn args(line: &str) -> Args {
        parsed(line)
            .args
            .unwrap_or_else(|why| panic!("{line}: {why:?}"))
    }

    fn complaint(line: &str) -> Option<String> {
        parsed(line).args.expect_err(line)
    }

    #[test]
    fn nothing_said_means_what_wrk_means() {
        let it = args("http://h/");
        assert_eq!((it.connections, it.threads), (10, 2));
        assert_eq!((it.duration.as_secs(), it.timeout.as_secs()), (10, 2));
        assert_eq!((it.latency, it.uncorrected, it.rate), (false, false, None));
        assert_eq!(it.rest, ["http://h/"]);
    }

    #[test]
    fn flags_in_every_spelling() {
        let published = args("-t16 -c400 -d60s -s fin-fan.lua http://localhost:8888/fibonacci");
        assert_eq!((published.threads, published.connections), (16, 400));
        assert_eq!(published.duration.as_secs(), 60);
        assert_eq!(published.script, Some("fin-fan.lua".into()));
        let it = args("http://h/ --conn=1k --dur 2m --threads 3 --time 1m --lat -H A:b -HC:d");
        assert_eq!((it.connections, it.threads), (1_000, 3));
        assert_eq!((it.duration.as_secs(), it.timeout.as_secs()), (120, 60));
        assert_eq!(it.headers, ["A:b", "C:d"]);
        assert!(it.latency);
        let it = args("-LR2k -U -T5 -B http://h/");
        assert_eq!(
            (it.rate, it.latency, it.uncorrected),
            (Some(2_000), true, true)
        );
        assert!(it.batches);
        // `--dist` is of wrk2 alone.
        assert_eq!(args("--d 3 http://h/").duration.as_secs(), 3);
        assert_eq!(args("-R5 --di exp http://h/").arrival, Spacing::Poisson);
        assert_eq!(args("-R5 http://h/").arrival, Spacing::Constant);
        assert_eq!(args("-R5 -D exp http://h/").arrival, Spacing::Poisson);
    }

    #[test]
    fn the_script_gets_the_url_and_what_follows() {
        assert_eq!(
            args("http://h/ -c10 -- a -b").rest,
            ["http://h/", "a", "-b"]
        );
        assert_eq!(
            args("-c10 -- http://h/ -d 3").rest,
            ["http://h/", "-d", "3"]
        );
        assert_eq!(args("http://h/ a -c10").rest, ["http://h/", "a"]);
    }

    #[test]
    fn what_is_wrong_is_said_as_wrk_says_it() {
        for (line, said) in [
            ("", None),
            ("-h", None),
            ("--help", None),
            ("-v", None),
            (
                "-d5q http://h/",
                Some("prony: -d 5q: not a value that it takes"),
            ),
            (
                "-c abc http://h/",
                Some("prony: -c abc: not a value that it takes"),
            ),
            (
                "-D norm -R9 http://h/",
                Some("prony: -D norm: not a value that it takes"),
            ),
            (
                "--t 3 http://h/",
                Some("wrk: option '--t' is ambiguous; possibilities: '--threads' '--timeout'"),
            ),
            ("-t0 http://h/", None),
            ("-d0 http://h/", None),
            ("foo", Some("invalid URL: foo")),
            ("-x http://h/", Some("wrk: invalid option -- 'x'")),
            ("--foo http://h/", Some("wrk: unrecognized option '--foo'")),
            (
                "-c1 -t2 http://h/",
                Some("number of connections must be >= threads"),
            ),
            (
                "-c0 http://h/",
                Some("number of connections must be >= threads"),
            ),
            (
                "-U http://h/",
                Some("Throughput MUST be specified with the --rate or -R option"),
            ),
            (
                "-R0 http://h/",
                Some("Throughput MUST be specified with the --rate or -R option"),
            ),
            (
                "-c5G http://h/",
                Some("5000000000 is more than there can be"),
            ),
        ] {
            assert_eq!(complaint(line).as_deref(), said, "{line}");
        }
        assert!(complaint("http://h/ -c").unwrap().contains("-c"));
    }

    #[test]
    fn the_version_is_told_whatever_follows() {
        assert!(parsed("-v").version);
        assert!(parsed("-v http://h/").version && parsed("-v http://h/").args.is_ok());
        assert!(parsed("-v -x").version);
    }
}
