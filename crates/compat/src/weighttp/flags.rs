//! The command line of `weighttp`, and the request that it asks for.

use crate::shared::address::{BadUrl, Url};
use crate::shared::flags::{Instead, fitting, name, not_taken, text};
use lexopt::Arg;
use std::ffi::OsString;

const HELP: &str = "\
weighttp <options> <url>
  -n num   requests, at least 1
  -t num   threads (1)
  -c num   clients at the same time (1)
  -k       keep connections open
  -6       use IPv6
  -i       HEAD instead of GET
  -H str   send a header field, \"Name: value\"; may be repeated
  -h       show this
  -v       show the version
  --quiet  no remarks about the measurement on standard error

example: weighttp -n 10000 -c 10 -t 2 -k -H \"User-Agent: foo\" localhost/index.html

";

/// Options that the user gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WeighttpFlags {
    pub requests: u64,
    pub threads: u32,
    pub clients: u32,
    pub keepalive: bool,
    pub ipv6: bool,
    pub head: bool,
    /// Lines of `-H`.
    pub headers: Vec<String>,
    pub url: Url,
}

/// The first line of every run, and an empty one.
pub(super) fn version() -> String {
    format!("weighttp 0.4 (prony {})\n\n", env!("CARGO_PKG_VERSION"))
}

/// Understands `args`, or says why not.
pub(super) fn parse(args: Vec<OsString>) -> Result<WeighttpFlags, Instead> {
    let (mut requests, mut threads, mut clients) = (0, 1, 1);
    let (mut keepalive, mut ipv6, mut head) = (false, false, false);
    let mut headers = Vec::new();
    let mut urls = Vec::new();
    let mut parser = lexopt::Parser::from_args(args);
    while let Some(arg) = parser.next().map_err(|error| wrong(&error.to_string()))? {
        match arg {
            Arg::Short('n') => requests = count('n', &mut parser)?,
            Arg::Short('t') => threads = count('t', &mut parser)?,
            Arg::Short('c') => clients = count('c', &mut parser)?,
            Arg::Short('H') => {
                headers.push(text(&mut parser).map_err(|error| wrong(&error.to_string()))?);
            }
            Arg::Short('k') => keepalive = true,
            Arg::Short('6') => ipv6 = true,
            Arg::Short('i') => head = true,
            Arg::Short('h') => return Err(Instead::Said(HELP.into())),
            Arg::Short('v' | 'V') => return Err(Instead::Said(String::new())),
            Arg::Value(url) => urls.push(url.to_string_lossy().into_owned()),
            other => return Err(wrong(&format!("unknown option: -{}", name(&other)))),
        }
    }
    let url = match &urls[..] {
        [] => return Err(wrong("missing url argument")),
        [url] => url,
        _ => return Err(wrong("too many arguments")),
    };
    for (n, what) in [
        (threads, "thread count"),
        (clients, "number of concurrent clients"),
        (requests, "number of requests"),
    ] {
        if n == 0 {
            return Err(wrong(&format!("{what} has to be > 0")));
        }
    }
    let small = |n: u64| u32::try_from(n).ok();
    let (Some(threads), Some(clients)) = (small(threads), small(clients)) else {
        return Err(wrong("insane arguments"));
    };
    if threads > clients || u64::from(clients) > requests {
        return Err(wrong("insane arguments"));
    }
    let url = Url::parse(url).map_err(|bad| Instead::Wrong {
        text: match bad {
            BadUrl::Tls => "error: no ssl support yet\n".into(),
            BadUrl::Malformed => "error: could not parse url\n".into(),
        },
        status: 1,
    })?;
    Ok(WeighttpFlags {
        requests,
        threads,
        clients,
        keepalive,
        ipv6,
        head,
        headers,
        url,
    })
}

fn count(letter: char, parser: &mut lexopt::Parser) -> Result<u64, Instead> {
    let number = fitting(parser, |_| true).map_err(|error| wrong(&error.to_string()))?;
    number.map_err(|given| wrong("insane arguments").and(&not_taken(letter, &given)))
}

fn wrong(what: &str) -> Instead {
    Instead::Wrong {
        text: format!("error: {what}\n\n{HELP}"),
        status: 1,
    }
}

impl WeighttpFlags {
    /// The original's bytes. Names in `-H` are told apart by their case, as there.
    pub(super) fn request(&self) -> Vec<u8> {
        let method = if self.head { "HEAD" } else { "GET" };
        let target = match self.url.target.as_str() {
            "" => "/".to_owned(),
            query if query.starts_with('?') => format!("/{query}"),
            path => path.to_owned(),
        };
        let host = self
            .headers
            .iter()
            .find_map(|field| field.strip_prefix("Host:"))
            .map_or_else(
                || self.url.authority(80),
                |host| host.trim_start().to_owned(),
            );
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {host}\r\n");
        let mut line = |text: &str| {
            head += text;
            head += "\r\n";
        };
        if !self
            .headers
            .iter()
            .any(|field| field.starts_with("User-Agent:"))
        {
            line("User-Agent: weighttp/0.4");
        }
        for field in self
            .headers
            .iter()
            .filter(|field| !field.starts_with("Host:"))
        {
            line(field);
        }
        line(if self.keepalive {
            "Connection: keep-alive"
        } else {
            "Connection: close"
        });
        line("");
        head.into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Result<WeighttpFlags, Instead> {
        parse(line.split('|').map(OsString::from).collect())
    }

    #[test]
    fn the_published_command_line() {
        let it = flags("-n|100000|-c|1000|-t|3|-k|http://127.0.0.1:8000/").unwrap();
        assert_eq!(
            (it.requests, it.clients, it.threads, it.keepalive),
            (100_000, 1_000, 3, true)
        );
        assert_eq!(
            String::from_utf8(it.request()).unwrap(),
            "GET / HTTP/1.1\r\nHost: 127.0.0.1:8000\r\nUser-Agent: weighttp/0.4\r\nConnection: keep-alive\r\n\r\n"
        );
    }

    #[test]
    fn flags_may_follow_the_url_and_fields_replace_the_defaults() {
        let it = flags("localhost/x|-n1|-iH|User-Agent: me|-H|Host: other|-H|A: b").unwrap();
        assert_eq!(
            String::from_utf8(it.request()).unwrap(),
            "HEAD /x HTTP/1.1\r\nHost: other\r\nUser-Agent: me\r\nA: b\r\nConnection: close\r\n\r\n"
        );
    }

    #[test]
    fn what_cannot_be_meant_has_status_1() {
        for (line, says) in [
            ("h", "number of requests has to be > 0"),
            ("-n|5", "missing url"),
            ("-n|5|a|b", "too many"),
            ("-n|5|-c|10|h", "insane"),
            ("-n|5|-c|2|-t|3|h", "insane"),
            ("-n|x|h", "insane"),
            ("-n|x|h", "\nprony: -n x: not a value that it takes\n"),
            ("-n|5|-c|0|h", "clients has to be > 0"),
            ("-n|5|-x|h", "unknown option: -x"),
            ("-n|5|https://h/", "no ssl"),
            ("-n|5|h:x", "could not parse url"),
        ] {
            match flags(line) {
                Err(Instead::Wrong { text, status: 1 }) => {
                    assert!(text.contains(says), "{line}: {text}");
                }
                other => panic!("{line}: {other:?}"),
            }
        }
        assert_eq!(flags("-v"), Err(Instead::Said(String::new())));
    }
}
