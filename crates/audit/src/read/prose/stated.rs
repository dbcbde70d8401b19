//! What sentences and settings say of how something was measured: how often, how many requests, how long, how many at once.

use super::{LOOKED_AT, MARKS};
use crate::read::lines::without_markup;
use crate::read::number::{Printed, leading};

/// How often everything was run: `run 5 times`, `5 times each`, `average of 10 runs`, `median of 3 runs`;
/// not how often something else was done: `a response generated 100 times`.
pub(in crate::read) fn repetitions(line: &str) -> Option<u64> {
    if ["generated", "faster", "slower"]
        .iter()
        .any(|word| line.contains(word))
    {
        return None;
    }
    let lower = line.to_lowercase();
    for chosen in ["best of ", "best out of ", "best from ", "fastest of "] {
        let number = lower.split_once(chosen).map(|(_, rest)| rest);
        let number = number.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric()).next());
        if let Some(n) = number.and_then(counted).filter(|n| *n <= 100) {
            return Some(n);
        }
    }
    if let Some(n) = summed(&lower) {
        return Some(n);
    }
    let mut before = None;
    for word in line.split_whitespace().take(LOOKED_AT) {
        let word = word.trim_matches(MARKS);
        if let Some(n) = before
            && is_runs(word)
        {
            return Some(n);
        }
        before = counted(word);
    }
    None
}

/// Does a line name a harness for small benchmarks, which repeats each of them many times?
pub(in crate::read) fn names_a_harness(line: &str) -> bool {
    const HARNESSES: [&str; 11] = [
        "riterion",
        "BenchmarkDotNet",
        "JMH",
        "pytest-benchmark",
        "yperfine",
        "benchmark.js",
        "mitata",
        "tinybench",
        "ns/op",
        "test -bench",
        "cargo bench",
    ];
    HARNESSES.iter().any(|name| line.contains(name))
}

/// The load generators that a line names.
pub(crate) fn tools(line: &str) -> impl Iterator<Item = &'static str> {
    // Most lines name none.
    let named = CLOSED.iter().chain(&PACED).copied().filter(|name| {
        contains(line, name)
            && crate::names::words(line).any(|word| word.eq_ignore_ascii_case(name))
    });
    let ab = ["Apache Bench", "`ab`", " ab -"]
        .iter()
        .any(|name| line.contains(name))
        .then_some(CLOSED[0]);
    named.chain(ab).collect::<Vec<_>>().into_iter()
}

/// Does a line contain a name, in small letters or with its first ones large?
fn contains(line: &str, name: &str) -> bool {
    let mut large = [0_u8; 16];
    let bytes = name.as_bytes();
    large[..bytes.len()].copy_from_slice(bytes);
    large[0] = large[0].to_ascii_uppercase();
    let first = std::str::from_utf8(&large[..bytes.len()]);
    line.contains(name)
        || first.is_ok_and(|first| line.contains(first))
        || name == "jmeter" && line.contains("JMeter")
        || name == "apachebench" && line.contains("ApacheBench")
}

/// Load generators that send the next request as soon as an answer is there.
const CLOSED: [&str; 9] = [
    "apachebench",
    "autocannon",
    "bombardier",
    "h2load",
    "oha",
    "plow",
    "rewrk",
    "weighttp",
    "wrk",
];

/// Those that send at a rate, or may, or whose users wait between their requests.
pub(crate) const PACED: [&str; 12] = [
    "artillery",
    "fortio",
    "gatling",
    "httperf",
    "hyperfoil",
    "jmeter",
    "k6",
    "locust",
    "tsung",
    "vegeta",
    "wrk2",
    "yandex-tank",
];

/// Does a word mean several runs?
fn is_runs(word: &str) -> bool {
    matches!(
        word,
        "times" | "runs" | "trials" | "executions" | "repetitions" | "iterations" | "rounds"
    )
}

/// How many runs, or samples, figures sum up: `the median of the three measured samples`, `averaged over 5 test runs`.
fn summed(lower: &str) -> Option<u64> {
    let of = ["median of ", "mean of ", "average of ", "averaged over "];
    let rest = of.iter().find_map(|of| Some(lower.split_once(of)?.1))?;
    let mut words = rest.split_whitespace().map(|word| word.trim_matches(MARKS));
    let n = words.find(|word| !matches!(*word, "the" | "all" | "its"));
    let n = n.and_then(counted).filter(|n| *n <= 100)?;
    let counts =
        |word: &str| is_runs(word) || matches!(word, "samples" | "measurements" | "attempts");
    words.take(3).any(counts).then_some(n)
}

/// `five`, `5`
fn counted(word: &str) -> Option<u64> {
    match word {
        "three" => Some(3),
        "four" => Some(4),
        "five" => Some(5),
        "ten" => Some(10),
        number if number.len() <= 3 => number.parse().ok().filter(|n| *n >= 2),
        _ => None,
    }
}

/// How many requests a line says were sent, if it says how many at once as well: `1 million requests with 10k
/// concurrency`, `50,000 calls, for each concurrency`.
pub(in crate::read) fn stated_requests(line: &str) -> Option<u64> {
    const AT_ONCE: [&str; 4] = ["concurren", "connections", "clients", "parallel"];
    if let Some(all) = counted_requests(line) {
        return Some(all);
    }
    // Most lines count nothing.
    let counts = line.bytes().any(|b| b.is_ascii_digit());
    (counts && (line.contains("equest") || line.contains("call"))).then_some(())?;
    let lower = line.to_lowercase();
    let described = AT_ONCE.iter().any(|word| lower.contains(word));
    if lower.contains("per s") || lower.contains("/s") || lower.contains("://") {
        return None;
    }
    let plain = without_markup(&lower);
    let words: Vec<&str> = plain.split_whitespace().take(LOOKED_AT).collect();
    (0..words.len()).find_map(|at| {
        let (number, unit) = leading(words[at])?;
        let next = |n: usize| words.get(at + n).copied().unwrap_or("");
        let (factor, behind) = match (unit, next(1)) {
            ("", "million") => (1e6, 2),
            ("", "thousand") => (1e3, 2),
            ("m", _) => (1e6, 1),
            ("k", _) => (1e3, 1),
            ("", _) => (1.0, 1),
            _ => return None,
        };
        let what = next(behind).trim_end_matches([',', '.', ';', ':', ')']);
        let counted = matches!(what, "request" | "requests" | "calls");
        // A batch is a part of what was sent.
        let all = number.value * factor;
        // `on 50,000 requests`, `(…, 1k requests)`
        let before = at.checked_sub(1).map_or("", |before| words[before]);
        let alone = matches!(before, "on" | "with" | "sent" | "sending" | "fired")
            || next(behind).ends_with([')', ':']);
        let counted = counted && (described || alone);
        (counted && all >= 1_000.0 && !lower.contains("batch")).then_some(all as u64)
    })
}

/// A setting of how many requests were sent: `- Total requests: 2000`, `总请求数: 2000`.
fn counted_requests(line: &str) -> Option<u64> {
    const NAMES: [&str; 10] = [
        "requests",
        "requests per endpoint",
        "requests per server",
        "total de peticiones",
        "total requests",
        "number of requests",
        "requests per test",
        "requests per run",
        "总请求数",
        "請求總數",
    ];
    let (name, number) = line.split_once([':', '：'])?;
    if !number.bytes().any(|b| b.is_ascii_digit()) || name.len() > 60 {
        return None;
    }
    let name = without_markup(name).to_lowercase();
    let name = name.trim_start_matches(|c: char| !c.is_alphabetic()).trim();
    NAMES.contains(&name).then_some(())?;
    let number = without_markup(number);
    let (number, rest) = leading(number.trim())?;
    (rest.is_empty() && number.value >= FEWEST).then_some(number.value as u64)
}

/// A number of requests that is smaller counts something else.
const FEWEST: f64 = 100.0;

/// How many requests a heading says were sent: `100 Requests`, `Test: 1,000 requests`.
pub(in crate::read) fn heads_requests(heading: &str) -> Option<u64> {
    let heading = heading.to_lowercase();
    let heading = heading.trim_matches(|c: char| !c.is_alphanumeric());
    let text = heading.strip_suffix("requests")?.trim_end();
    let from = text.rfind(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '.' | '_'));
    let text = match from {
        // What stands in front of it is no longer number.
        Some(at) if text[..=at].ends_with([' ', ':', '(', '-']) => &text[at + 1..],
        Some(_) => return None,
        None => text,
    };
    let (number, rest) = leading(text)?;
    (rest.is_empty() && number.value >= FEWEST && number.value.fract() == 0.0)
        .then_some(number.value as u64)
}

/// How long each run lasted, as a line says: `5s duration, 50 workers`, `Duration: 30 seconds`, `ran for 10 seconds each`.
pub(in crate::read) fn stated_seconds(line: &str) -> Option<f64> {
    let counts = line.bytes().any(|b| b.is_ascii_digit()) && line.len() < 400;
    counts.then_some(())?;
    let lower = without_markup(&line.to_lowercase());
    let named = lower.contains("duration") || lower.contains("each") || lower.contains(" per ");
    named.then_some(())?;
    let words: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | ':' | ';' | '='))
        .filter(|word| !word.is_empty())
        .take(LOOKED_AT)
        .collect();
    words.iter().enumerate().find_map(|(at, word)| {
        let (number, unit) = leading(word)?;
        let next = |n: usize| {
            words
                .get(at + n)
                .copied()
                .unwrap_or("")
                .trim_end_matches('.')
        };
        let (unit, behind) = if unit.is_empty() {
            (next(1), 2)
        } else {
            (unit, 1)
        };
        let factor = match unit.trim_end_matches('.') {
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            _ => return None,
        };
        let before = at.checked_sub(1).map_or("", |i| words[i]);
        let said = before == "duration"
            || matches!(next(behind), "duration" | "each")
            || next(behind) == "per"
                && matches!(
                    next(behind + 1),
                    "test" | "run" | "endpoint" | "server" | "framework" | "benchmark"
                );
        (said && number.value > 0.0).then_some(number.value * factor)
    })
}

/// How many connections a line says there were, where it is about how something was measured: `Connections: 100`,
/// `500 connections, 10s duration`. 0 where several requests may be on one.
pub(in crate::read) fn stated_connections(line: &str) -> Option<u64> {
    const NAMES: [&str; 9] = [
        "connections",
        "concurrent connections",
        "concurrency",
        "concurrency level",
        "clients",
        "concurrent clients",
        "并发",
        "并发数",
        "并发连接数",
    ];
    const SETTING: [&str; 8] = [
        "duration",
        "threads",
        "second",
        "setup",
        "load:",
        "wrk",
        "autocannon",
        "bombardier",
    ];
    let counts = line.bytes().any(|b| b.is_ascii_digit()) && line.len() < 400;
    counts.then_some(())?;
    let lower = line.to_lowercase();
    if lower.contains("pipelin") {
        return Some(0);
    }
    let stated = NAMES[..5].iter().any(|name| lower.contains(name)) || lower.contains("并发");
    // A command line says it better, and a table has a column of it.
    if !stated || lower.contains("://") || lower.contains('|') {
        return None;
    }
    let plain = without_markup(&lower);
    if let Some((name, number)) = plain.split_once([':', '：']) {
        let name = name.trim_start_matches(|c: char| !c.is_alphabetic()).trim();
        let (number, rest) = leading(number.trim()).unwrap_or((Printed::exact(0.0), " "));
        if NAMES.contains(&name) {
            let known = rest.trim().is_empty() || NAMES.contains(&rest.trim());
            return (known && number.value >= 1.0).then_some(number.value as u64);
        }
    }
    // `- 100 concurrent connections`
    let item = plain.trim_start_matches(|c: char| !c.is_alphanumeric());
    if let Some((number, rest)) = leading(item)
        && NAMES[..6].contains(&rest.trim())
    {
        return (number.value >= 1.0).then_some(number.value as u64);
    }
    SETTING
        .iter()
        .any(|word| plain.contains(word))
        .then_some(())?;
    let words: Vec<&str> = plain.split_whitespace().take(LOOKED_AT).collect();
    (1..words.len()).find_map(|at| {
        let word = words[at].trim_matches(MARKS);
        let concurrent =
            word == "concurrent" && words.get(at + 1).is_some_and(|next| next.starts_with("co"));
        (matches!(word, "connections" | "clients") || concurrent).then_some(())?;
        let (number, rest) = leading(words[at - 1].trim_matches(MARKS))?;
        (rest.is_empty() && number.value >= 1.0).then_some(number.value as u64)
    })
}

/// How many requests were in flight on each connection, of a line that says nothing else: `Pipelining: 10`.
pub(in crate::read) fn stated_depth(line: &str) -> Option<u64> {
    const NAMES: [&str; 4] = [
        "pipelining",
        "pipeline",
        "pipelining factor",
        "pipeline depth",
    ];
    const DEEPEST: f64 = 1_024.0;
    let (name, number) = line.split_once(':').filter(|_| line.len() < 80)?;
    let name = without_markup(name).to_lowercase();
    let name = name.trim_start_matches(|c: char| !c.is_alphabetic()).trim();
    let number = without_markup(number);
    let (number, rest) = leading(number.trim_matches(|c: char| c == '*' || c.is_whitespace()))?;
    let known = NAMES.contains(&name) && rest.trim().is_empty() && number.half <= 0.5;
    (known && (1.0..=DEEPEST).contains(&number.value)).then_some(number.value as u64)
}

/// Does a line say that requests were sent at a rate, whether they were answered or not: `constant-arrival-rate`?
pub(in crate::read) fn sends_at_a_rate(line: &str) -> bool {
    const SAID: [&str; 9] = [
        "arrival rate",
        "arrival-rate",
        "arrivalrate",
        "attack rate",
        "target rps",
        "target rate",
        "fixed rate",
        "constant rate",
        "constant throughput",
    ];
    // Most lines have none of these words.
    let some = ["rate", "Rate", "RPS", "rps", "RATE", "throughput"];
    if !some.iter().any(|word| line.contains(word)) || line.len() > 400 {
        return false;
    }
    let lower = line.to_lowercase();
    SAID.iter().any(|said| lower.contains(said))
}
