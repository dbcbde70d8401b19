//! Command lines of load generators, wherever they stand in a text.

use crate::model::Tool;
use crate::text::lines::without_markup;
use crate::text::number::{leading, seconds_or_bare, whole};
use std::fmt;

/// A command line that loads a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// The line, from 1.
    pub line: usize,
    /// The load generator.
    pub tool: Tool,
    /// True when prony runs under that tool's name.
    pub by_prony: bool,
    words: Vec<String>,
    /// Addresses in front of the program: `echo GET http://a/ | vegeta attack`.
    before: Vec<String>,
}

impl Command {
    /// The command line in a line of text, if there is one.
    pub(crate) fn find(line: &str, number: usize) -> Option<Self> {
        // Most lines name no load generator at all.
        NAMES
            .iter()
            .any(|(name, _)| line.contains(name))
            .then_some(())?;
        // In Chinese no space sets `wrk -t1 …` apart.
        let spaced = line.contains('`').then(|| line.replace('`', " "));
        let plain = without_markup(spaced.as_deref().unwrap_or(line));
        let words: Vec<&str> = plain.split_whitespace().take(WORDS).collect();
        let named = words.iter().enumerate().find_map(|(at, word)| {
            let base = word.rsplit('/').next()?;
            let (_, tool) = NAMES.iter().find(|(name, _)| *name == base)?;
            // In a sentence a word follows, in a command line a flag or an address.
            let next = words.get(at + 1)?;
            // `/hey -> "Hey!"` is none.
            let flag = next.strip_prefix('-').is_some_and(|flag| {
                flag.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-')
            });
            let address = next.contains("://")
                || *next == "run" && *tool == Tool::K6
                || *next == "load" && *tool == Tool::Fortio
                || matches!(*next, "attack" | "report") && *tool == Tool::Vegeta;
            (flag || address).then_some((at, *tool))
        });
        let (at, tool) = named?;
        let mut command = Self {
            line: number,
            tool,
            by_prony: at > 0 && words[at - 1].ends_with("prony"),
            words: words[at + 1..]
                .iter()
                .map(|&word| word.to_owned())
                .collect(),
            before: words[..at]
                .iter()
                .map(|word| word.trim_matches(['"', '\'']))
                .filter(|word| word.contains("://"))
                .map(str::to_owned)
                .collect(),
        };
        match tool {
            Tool::Wrk if command.value(&["-R", "--rate"]).is_some() => command.tool = Tool::Wrk2,
            // `client` may be anything.
            Tool::EchoClient if command.number(&["-h"]).is_none() => return None,
            _ => {}
        }
        Some(command)
    }

    /// Returns the value of a flag: `-c400`, `-c 400`, `--rate=9`, `--rate 9`.
    fn value(&self, flags: &[&str]) -> Option<&str> {
        self.words.iter().enumerate().find_map(|(at, word)| {
            flags.iter().find_map(|flag| {
                let rest = word.strip_prefix(flag)?;
                if rest.is_empty() {
                    self.words.get(at + 1).map(String::as_str)
                } else if flag.starts_with("--") {
                    rest.strip_prefix('=')
                } else {
                    Some(rest.trim_start_matches('='))
                }
            })
        })
    }

    fn number(&self, flags: &[&str]) -> Option<u64> {
        let value = self.value(flags)?.trim_matches(['"', '\'']);
        let (number, rest) = leading(value)?;
        match rest {
            "" => whole(value),
            "k" => Some((number.value * 1e3) as u64),
            "m" | "M" => Some((number.value * 1e6) as u64),
            _ => None,
        }
    }

    fn has(&self, flag: &str) -> bool {
        self.words.iter().any(|word| word == flag)
    }

    /// Connections.
    pub fn connections(&self) -> Option<u64> {
        match self.tool {
            Tool::Httperf => self.number(&["--num-conns"]),
            Tool::EchoClient => Some(
                self.number(&["-c"])
                    .unwrap_or(1)
                    .checked_mul(self.number(&["-o"]).unwrap_or(1))?,
            ),
            Tool::K6 => self.number(&["--vus", "-u"]),
            Tool::H2load => self.number(&["-c", "--clients"]),
            Tool::Locust => self.number(&["-u", "--users"]),
            Tool::Siege => self.number(&["-c", "--concurrent"]),
            Tool::Vegeta | Tool::Jmeter | Tool::Gatling => None,
            _ => self.number(&["-c", "--connections"]),
        }
    }

    /// Threads.
    pub fn threads(&self) -> Option<u64> {
        match self.tool {
            Tool::Wrk | Tool::Wrk2 | Tool::H2load => self.number(&["-t", "--threads"]),
            Tool::Weighttp => self.number(&["-t"]),
            _ => None,
        }
    }

    /// Requests in flight on each connection: one, unless it says otherwise; unknown where a script
    /// may decide it.
    pub fn pipeline(&self) -> Option<u64> {
        match self.tool {
            Tool::H2load => Some(
                self.number(&["-m", "--max-concurrent-streams"])
                    .unwrap_or(1),
            ),
            Tool::Weighttp => Some(self.number(&["-K"]).unwrap_or(1)),
            Tool::Oha => Some(self.number(&["-p"]).unwrap_or(1)),
            Tool::Autocannon => Some(self.number(&["-p", "--pipelining"]).unwrap_or(1)),
            Tool::Wrk | Tool::Wrk2 => {
                let script = self.value(&["-s", "--script"]);
                if !script.is_some_and(|script| script.contains("pipeline")) {
                    return Some(1);
                }
                // The well-known script takes its depth behind a path: `-- / 16`.
                let own = self.words.iter().position(|word| word == "--")?;
                let mut own = self.words[own + 1..].iter().rev();
                own.find_map(|word| whole(word))
                    .filter(|depth| (1..=4_096).contains(depth))
            }
            _ => Some(1),
        }
    }

    /// Requests in all.
    pub fn requests(&self) -> Option<u64> {
        match self.tool {
            Tool::Wrk | Tool::Wrk2 => None,
            Tool::Httperf => self
                .number(&["--num-conns"])?
                .checked_mul(self.number(&["--num-calls"]).unwrap_or(1)),
            Tool::EchoClient => self
                .connections()?
                .checked_mul(self.number(&["-h"])?)?
                .checked_mul(self.number(&["-n"]).unwrap_or(1)),
            Tool::K6 => self.number(&["--iterations", "-i"]),
            Tool::Autocannon => self.number(&["-a", "--amount"]),
            Tool::Vegeta | Tool::Jmeter | Tool::Gatling | Tool::Locust => None,
            Tool::Siege | Tool::Rewrk => None,
            _ => self.number(&["-n", "--requests"]),
        }
    }

    /// How long it is to last, in seconds.
    pub fn seconds(&self) -> Option<f64> {
        let flags: &[&str] = match self.tool {
            Tool::Wrk
            | Tool::Wrk2
            | Tool::K6
            | Tool::Autocannon
            | Tool::Bombardier
            | Tool::Rewrk => &["-d", "--duration"],
            Tool::Vegeta => &["-duration", "--duration"],
            Tool::Siege => return None,
            Tool::H2load => &["-D", "--duration"],
            Tool::Oha | Tool::Hey => &["-z"],
            _ => return None,
        };
        Some(seconds_or_bare(self.value(flags)?.trim_matches(['"', '\'']))?.value)
    }

    /// Value of `--timeout`, in seconds; wrk's own 2 s otherwise. `None` for other tools.
    pub fn timeout(&self) -> Option<f64> {
        let flags: &[&str] = match self.tool {
            Tool::Wrk => &["-T", "--timeout"],
            Tool::Wrk2 => &["--timeout"],
            _ => return None,
        };
        match self.value(flags) {
            Some(time) => Some(seconds_or_bare(time)?.value),
            None => Some(WRK_TIMEOUT),
        }
    }

    /// Requests per second that are asked for.
    pub fn rate(&self) -> Option<f64> {
        let flags: &[&str] = match self.tool {
            Tool::Wrk2 => &["-R", "--rate"],
            Tool::Bombardier => &["-r", "--rate"],
            Tool::Vegeta => &["-rate", "--rate"],
            Tool::Oha | Tool::Hey => &["-q"],
            Tool::Fortio => &["-qps"],
            Tool::Autocannon => &["-R", "--overallRate"],
            _ => return None,
        };
        // vegeta's `500/s`
        let rate = self
            .value(flags)?
            .trim_end_matches("/1s")
            .trim_end_matches("/s");
        whole(rate)
            .map(|rate| rate as f64)
            .filter(|rate| *rate > 0.0)
    }

    /// Connections per second that httperf is to open, and the requests on each of them.
    pub fn connection_rate(&self) -> Option<(f64, u64)> {
        if self.tool != Tool::Httperf {
            return None;
        }
        let (rate, rest) = leading(self.value(&["--rate"])?)?;
        (rest.is_empty() && rate.value > 0.0)
            .then_some((rate.value, self.number(&["--num-calls"]).unwrap_or(1)))
    }

    /// Does each request have a connection of its own?
    pub fn connection_per_request(&self) -> bool {
        matches!(self.tool, Tool::Ab | Tool::Weighttp) && !self.has("-k")
    }

    /// The host that is loaded.
    pub fn host(&self) -> Option<&str> {
        match self.tool {
            Tool::Httperf => self.value(&["--server"]),
            // Its last word.
            Tool::EchoClient => self
                .words
                .last()
                .map(String::as_str)
                .filter(|word| !word.starts_with('-') && whole(word).is_none()),
            // `ghz --call … localhost:3000`
            Tool::Ghz => self
                .words
                .last()?
                .rsplit_once(':')
                .filter(|(_, port)| whole(port).is_some())
                .map(|(host, _)| host),
            _ => match self.url() {
                Some(url) => host_of(url),
                // Some tools take an address without its scheme.
                None => self.words.iter().find_map(|word| bare_host(word)),
            },
        }
    }

    /// The script that says what is sent: k6's, or wrk's.
    pub(crate) fn script(&self) -> Option<&str> {
        if matches!(self.tool, Tool::Wrk | Tool::Wrk2) {
            return self.value(&["-s", "--script"]);
        }
        let mut words = self.words.iter().map(String::as_str);
        let script = |word: &&str| word.ends_with(".js") || word.ends_with(".ts");
        words.find(script).filter(|_| self.tool == Tool::K6)
    }

    /// The address that is loaded.
    pub fn url(&self) -> Option<&str> {
        // k6's and Locust's results may go to a database on this machine.
        let output = |at: usize| at > 0 && matches!(self.words[at - 1].as_str(), "--out" | "-o");
        let own = self.words.iter().enumerate();
        let own = own.filter(|(at, word)| {
            self.tool != Tool::K6 || !output(*at) && !word.starts_with("--out=")
        });
        let words = own.map(|(_, word)| word).chain(&self.before);
        let mut words = words.map(|word| match word.split_once('=') {
            // `--url=http://…`, `API_URL=http://…`
            Some((flag, value)) if flag.starts_with('-') || host_of(value).is_some() => value,
            _ => word,
        });
        words.find(|word| host_of(word).is_some())
    }
}

impl fmt::Display for Command {
    /// The command line without what stands before the program.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.tool)?;
        self.words.iter().try_for_each(|word| write!(f, " {word}"))
    }
}

/// wrk's time-out unless another is given, in seconds.
pub(crate) const WRK_TIMEOUT: f64 = 2.0;

/// A command line has fewer words; a text without line ends has more.
const WORDS: usize = 200;

/// The names of programs.
const NAMES: [(&str, Tool); 22] = [
    ("wrk", Tool::Wrk),
    ("wrk2", Tool::Wrk2),
    ("ab", Tool::Ab),
    ("httperf", Tool::Httperf),
    ("weighttp", Tool::Weighttp),
    ("h2load", Tool::H2load),
    ("oha", Tool::Oha),
    ("hey", Tool::Hey),
    ("k6", Tool::K6),
    ("client", Tool::EchoClient),
    ("echo-client", Tool::EchoClient),
    ("apachebench", Tool::Ab),
    ("autocannon", Tool::Autocannon),
    ("bombardier", Tool::Bombardier),
    ("vegeta", Tool::Vegeta),
    ("jmeter", Tool::Jmeter),
    ("locust", Tool::Locust),
    ("siege", Tool::Siege),
    ("fortio", Tool::Fortio),
    ("ghz", Tool::Ghz),
    ("rewrk", Tool::Rewrk),
    ("gatling", Tool::Gatling),
];

/// Is a text the name of a load generator and nothing else?
pub(crate) fn names_tool(text: &str) -> bool {
    NAMES
        .iter()
        .any(|(name, _)| text.trim().eq_ignore_ascii_case(name))
}

/// The host of an address, without its port.
pub(crate) fn host_of(url: &str) -> Option<&str> {
    let rest = url.trim_matches(['"', '\'', '<', '>', '(', ')']);
    let (scheme, rest) = rest.split_once("://")?;
    matches!(scheme, "http" | "https" | "ws" | "tcp").then_some(())?;
    let authority = rest.split(['/', '?', '#', '"']).next()?;
    let authority = authority.rsplit('@').next()?;
    let host = match authority.strip_prefix('[') {
        Some(v6) => v6.split(']').next()?,
        None => authority.split(':').next()?,
    };
    (!host.is_empty()).then_some(host)
}

/// Returns the name of this machine in an address without a scheme: `localhost:3000`, `127.0.0.1/x`.
fn bare_host(word: &str) -> Option<&str> {
    let word = word.trim_matches(['"', '\'', '`']);
    let host = word.split([':', '/', '?']).next()?;
    is_this_machine(host).then_some(host)
}

/// Host, port and path of an address; the port is that of the scheme where none is given.
pub(crate) fn parts_of(url: &str) -> Option<(String, String, String)> {
    let host = host_of(url)?;
    let url = url.trim_matches(['"', '\'', '<', '>', '(', ')']);
    let (scheme, rest) = url.split_once("://")?;
    let (authority, path) = match rest.find(['/', '?', '#']) {
        Some(at) => rest.split_at(at),
        None => (rest, "/"),
    };
    let port = authority.rsplit_once(':').map(|(_, port)| port);
    let port = port.filter(|port| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()));
    let default = if scheme == "https" { "443" } else { "80" };
    let path = path.trim_end_matches('/');
    let path = if path.is_empty() { "/" } else { path };
    Some((
        host.to_owned(),
        port.unwrap_or(default).to_owned(),
        path.to_owned(),
    ))
}

/// Is this host the machine itself?
pub(crate) fn is_this_machine(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost")
        || host.ends_with(".localhost")
        || host.starts_with("127.") && host.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        || matches!(host, "::1" | "0.0.0.0")
}

#[cfg(test)]
mod tests;
