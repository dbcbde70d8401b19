//! The little that is understood of sentences: claims of a ratio, how often something was run,
//! pictures.

use super::command::{host_of, is_this_machine};
use super::lines::without_markup;
use super::number::{Printed, leading};
use crate::document::Failure;

/// A sentence that says how two systems compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// Its line, from 1.
    pub line: usize,
    /// What it is about: what is divided by what, or a sentence.
    pub about: About,
    /// The ratio.
    pub ratio: Printed,
}

/// What a claim is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// `A / B = 0.96`
    Ratio(String, String),
    /// `A is 3 % faster than B`
    Sentence(String),
}

/// The claim in a line of this number.
pub(super) fn claim(line: &str, number: usize) -> Option<Claim> {
    // Most lines have no number at all, or nothing that could follow it in a claim.
    if !line.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let divided = line.contains(" / ") && line.contains(['=', '≈']);
    let compared = [
        "er", "more", "less", "worse", "actor", "aktor", "acteur", "倍",
    ]
    .iter()
    .any(|way| line.contains(way));
    if !divided && !compared {
        return None;
    }
    let plain = without_markup(line);
    ratio(&plain, number).or_else(|| difference(&plain, number))
}

/// At most this many words of a line are read.
const LOOKED_AT: usize = 200;

/// A name in a ratio is no longer than this.
const NAME: usize = 60;

fn ratio(plain: &str, line: usize) -> Option<Claim> {
    let (names, number) = plain.rsplit_once(['=', '≈'])?;
    let (a, b) = names.split_once(" / ")?;
    let (ratio, rest) = leading(number.trim())?;
    let rest = rest.trim_start_matches(['x', '×', '.']).trim();
    let name = |name: &str| {
        let name = name.trim();
        (!name.is_empty() && name.len() <= NAME && name.contains(char::is_alphabetic))
            .then(|| name.to_owned())
    };
    (rest.is_empty() && ratio.value > 0.0).then_some(())?;
    Some(Claim {
        line,
        about: About::Ratio(name(a)?, name(b)?),
        ratio,
    })
}

/// `3.5 % faster`, `1.2x slower`.
fn difference(plain: &str, line: usize) -> Option<Claim> {
    let words: Vec<&str> = plain.split_whitespace().take(LOOKED_AT).collect();
    if let Some(ratio) = factor(&words) {
        return Some(Claim {
            line,
            about: About::Sentence(plain.chars().take(200).collect()),
            ratio: Printed::exact(ratio),
        });
    }
    for (at, word) in words.iter().enumerate() {
        let Some((number, unit)) = leading(word.trim_start_matches(['~', '≈', '(', '+'])) else {
            continue;
        };
        let next = |n: usize| words.get(at + n).copied().unwrap_or("");
        let (percent, behind) = match (unit, next(1)) {
            ("%", _) => (true, 1),
            ("", "%" | "percent") => (true, 2),
            ("x" | "×", _) => (false, 1),
            ("", "times") => (false, 2),
            _ => continue,
        };
        let way = next(behind).trim_end_matches(['.', ',', ';', ':', ')']);
        let up = matches!(way, "faster" | "quicker" | "better" | "higher" | "more");
        let down = matches!(way, "slower" | "worse" | "lower" | "less");
        if !up && !down || number.value <= 0.0 {
            continue;
        }
        let value = match (percent, up) {
            (true, true) => 1.0 + number.value / 100.0,
            (true, false) => 1.0 - number.value / 100.0,
            (false, true) => number.value,
            (false, false) => 1.0 / number.value,
        };
        return Some(Claim {
            line,
            about: About::Sentence(plain.chars().take(200).collect()),
            ratio: Printed::exact(value),
        });
    }
    None
}

/// `a factor of 10`, `um Faktor 10`, `提升了 3 倍`: what changed by it is not said.
fn factor(words: &[&str]) -> Option<f64> {
    let named = |word: &str| {
        matches!(
            word.to_lowercase().as_str(),
            "factor" | "faktor" | "facteur"
        )
    };
    let number = |word: &str, ends: &[&str]| {
        let (number, rest) = leading(word.trim_start_matches('~'))?;
        let rest = rest.trim_end_matches(['.', ',', ';', ')', '!']);
        (number.value > 1.0 && ends.contains(&rest)).then_some(number.value)
    };
    words.iter().enumerate().find_map(|(at, word)| {
        let next = |n: usize| words.get(at + n).copied().unwrap_or("");
        if named(word) {
            let behind = if matches!(next(1), "of" | "von" | "de") {
                2
            } else {
                1
            };
            return number(next(behind), &["", "x"]);
        }
        let times = next(1).starts_with('倍');
        let digits = word.trim_start_matches(|c: char| !c.is_ascii());
        number(digits, &["倍"]).or_else(|| times.then(|| number(digits, &[""]))?)
    })
}

/// Does a line say that this machine is loaded: `Base URL: http://localhost:3000`? That a server listens there does not.
pub(super) fn loads_this_machine(line: &str) -> bool {
    const SAID: [&str; 9] = [
        "target",
        "target url",
        "target host",
        "target server",
        "base url",
        "base_url",
        "test url",
        "tested url",
        "url under test",
    ];
    let Some(at) = line.find("://") else {
        return false;
    };
    let from = line[..at]
        .rfind(|c: char| !c.is_ascii_alphabetic())
        .map_or(0, |i| i + 1);
    let from = (from..=at)
        .find(|i| line.is_char_boundary(*i))
        .unwrap_or(at);
    let here = host_of(line[from..].split_whitespace().next().unwrap_or(""));
    if !here.is_some_and(is_this_machine) {
        return false;
    }
    let before = without_markup(&line[..from]).to_lowercase();
    let before = before.trim_end_matches(|c: char| !c.is_alphanumeric());
    SAID.iter().any(|said| {
        let rest = before.strip_suffix(said);
        rest.is_some_and(|rest| !rest.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
    })
}

/// Does a line have a link to a text with results: `[here](results/json.md)`?
pub(super) fn links_to_results(line: &str) -> bool {
    const TEXTS: [&str; 6] = [".md", ".csv", ".txt", ".json", ".log", ".html"];
    let targets = line.split("](").skip(1);
    targets
        .filter_map(|rest| rest.split(')').next())
        .any(|target| {
            let target = target.to_lowercase();
            target.contains("result") && TEXTS.iter().any(|text| target.ends_with(text))
        })
}

/// How often everything was run: `run 5 times`, `5 times each`, `average of 10 runs`, `median of 3 runs`;
/// not how often something else was done: `a response generated 100 times`.
pub(super) fn repetitions(line: &str) -> Option<u64> {
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

/// What stands around words in a sentence.
const MARKS: [char; 9] = ['*', '_', '`', '.', ',', ';', ':', '(', ')'];

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
pub(super) fn stated_requests(line: &str) -> Option<u64> {
    const AT_ONCE: [&str; 4] = ["concurren", "connections", "clients", "parallel"];
    if let Some(all) = counted_requests(line) {
        return Some(all);
    }
    // Most lines count nothing.
    let counts = line.bytes().any(|b| b.is_ascii_digit());
    (counts && (line.contains("equest") || line.contains("call"))).then_some(())?;
    let lower = line.to_lowercase();
    let described = AT_ONCE.iter().any(|word| lower.contains(word));
    if !described || lower.contains("per s") || lower.contains("/s") || lower.contains("://") {
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
        (counted && all >= 1_000.0 && !lower.contains("batch")).then_some(all as u64)
    })
}

/// A setting of how many requests were sent: `- Total requests: 2000`, `总请求数: 2000`.
fn counted_requests(line: &str) -> Option<u64> {
    const NAMES: [&str; 6] = [
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
    (rest.is_empty() && number.value >= 1_000.0).then_some(number.value as u64)
}

/// How long each run lasted, as a line says: `5s duration, 50 workers`, `Duration: 30 seconds`, `ran for 10 seconds each`.
pub(super) fn stated_seconds(line: &str) -> Option<f64> {
    let counts = line.bytes().any(|b| b.is_ascii_digit()) && line.len() < 400;
    counts.then_some(())?;
    let lower = without_markup(&line.to_lowercase());
    let named = lower.contains("duration") || lower.contains("each") || lower.contains("per test");
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
            || next(behind) == "per" && matches!(next(behind + 1), "test" | "run");
        (said && number.value > 0.0).then_some(number.value * factor)
    })
}

/// Does a line say that client and server were one machine?
pub(super) fn is_of_one_machine(line: &str) -> bool {
    const SAID: [&str; 20] = [
        "(loopback",
        "over loopback",
        "via loopback",
        "over the loopback",
        "ローカルホストから",
        "、ループバック",
        "ループバックで",
        "ループバック経由",
        "同じマシン",
        "同一マシン",
        "同一台",
        "测试环境为本地",
        "本机压测",
        "本机测试",
        "на одной машине",
        "auf derselben maschine",
        "auf demselben rechner",
        "sur la même machine",
        "en la misma máquina",
        "na mesma máquina",
    ];
    const SAME: [&str; 5] = [
        "same machine",
        "same host",
        "same computer",
        "same box",
        "one machine",
    ];
    // Most lines have none of these words.
    const ALONE: [&str; 8] = [
        "from a local machine",
        "on my local machine",
        "local development measurements",
        "on a single laptop",
        "on a single machine",
        "on one laptop",
        "on my own laptop",
        "same laptop",
    ];
    const PARTS: [&str; 16] = [
        "loopback",
        "ループバック",
        "local ",
        "same",
        "on a single",
        "laptop",
        "one machine",
        "dersel",
        "demsel",
        "même",
        "misma",
        "mesma",
        "одной",
        "から",
        "同",
        "本",
    ];
    if !PARTS.iter().any(|part| line.contains(part)) {
        return false;
    }
    let lower = line.to_lowercase();
    let both = lower.contains("client") && lower.contains("server")
        || lower.contains("wrk") && lower.contains("server");
    let denied = [
        "not ",
        "n't",
        "never",
        "different",
        "separate",
        "would",
        "could",
        "should",
    ];
    let deny = |text: &str| denied.iter().any(|word| text.contains(word));
    let denied = deny(&lower);
    let results = ["result", "benchmark", "measured"];
    let results = results.iter().any(|word| lower.contains(word));
    SAID.iter().any(|said| lower.contains(said))
        || results
            && ALONE.iter().any(|said| {
                // What is said behind it denies something else.
                let before = lower.split_once(said).map(|(before, _)| before);
                before.is_some_and(|before| !deny(before))
            })
        || both && !denied && SAME.iter().any(|same| lower.contains(same))
}

/// Requests that failed, as a line says: `3 of 200 requests failed`, `296 requests in 30 s, timeout 41`.
pub(super) fn failure(line: &str, number: usize) -> Option<Failure> {
    const FAILED: [&str; 8] = [
        "failed", "failures", "errors", "errored", "timeout", "timeouts", "timed", "lost",
    ];
    if !line.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let lower = line.to_lowercase();
    if let Some(failed) = socket_errors(&lower) {
        return Some(Failure {
            line: number,
            failed,
            of: 0,
            timed_out: false,
        });
    }
    if !lower.contains("request") || !FAILED.iter().any(|word| lower.contains(word)) {
        return None;
    }
    let plain = without_markup(&lower);
    let words: Vec<&str> = plain
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | ':'))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| !word.is_empty())
        .take(LOOKED_AT)
        .collect();
    let n = |word: &str| word.parse::<u64>().ok();
    let at = |i: usize| words.get(i).copied().unwrap_or("");
    for i in 0..words.len() {
        // `3 of 200 requests failed`, `3 out of 200 requests timed out`
        let of = if at(i + 1) == "of" { 2 } else { 3 };
        let out_of = at(i + 1) == "of" || at(i + 1) == "out" && at(i + 2) == "of";
        if let (Some(failed), true, Some(all)) = (n(words[i]), out_of, n(at(i + of)))
            && at(i + of + 1).starts_with("request")
            && let Some(how) = words[i + of..]
                .iter()
                .take(6)
                .find(|word| FAILED.contains(word))
        {
            return (failed > 0 && failed <= all).then_some(Failure {
                line: number,
                failed,
                of: all,
                timed_out: how.starts_with("time"),
            });
        }
    }
    // `296 requests … timeout 41`: counts as wrk prints them, on one line.
    let all = (0..words.len())
        .find(|i| at(i + 1) == "requests")
        .and_then(|i| n(words[i]))?;
    let late = (0..words.len()).find(|i| matches!(words[*i], "timeout" | "timeouts"))?;
    let failed = n(at(late + 1)).filter(|failed| *failed > 0)?;
    Some(Failure {
        line: number,
        failed,
        of: all.max(failed),
        timed_out: true,
    })
}

/// wrk's counts of errors, copied into a sentence or a list: `connect 0, read 63, write 0, timeout 162`.
fn socket_errors(line: &str) -> Option<u64> {
    let from = line.find("connect ")?;
    let mut parts = line[from..].split(',');
    let sum = ["connect", "read", "write", "timeout"]
        .iter()
        .try_fold(0_u64, |sum, how| {
            let mut words = parts.next()?.split_whitespace();
            let named = words.next()? == *how;
            let digits = words
                .next()?
                .trim_end_matches(|c: char| !c.is_ascii_digit());
            named.then_some(sum.checked_add(digits.parse().ok()?)?)
        })?;
    (sum > 0).then_some(sum)
}

/// Words in the text or the address of a picture that shows results.
const CHARTS: [&str; 14] = [
    "fig",
    "graph",
    "chart",
    "plot",
    "throughput",
    "latency",
    "req",
    "rps",
    "qps",
    "bench",
    "perf",
    "result",
    "measur",
    "speed",
];

/// Is this a picture of results: `![text](address)`, `<img …>`, `.. image::`? A logo is none.
pub(super) fn is_chart(line: &str) -> bool {
    let line = line.trim_start();
    if !(line.starts_with("![") || line.contains("<img ") || line.starts_with(".. image::")) {
        return false;
    }
    let line = line.to_lowercase();
    CHARTS.iter().any(|word| line.contains(word))
}

/// Does a picture say that it is of a rate or a time: `![Throughput](…)`?
pub(super) fn is_measured(line: &str) -> bool {
    const MEASURED: [&str; 7] = [
        "throughput",
        "latency",
        "req/s",
        "requests/s",
        "requests per s",
        "rps",
        "qps",
    ];
    let line = line.to_lowercase();
    MEASURED.iter().any(|word| line.contains(word))
}

#[cfg(test)]
mod tests;
