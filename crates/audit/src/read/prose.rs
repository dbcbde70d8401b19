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

/// How many connections a line says there were, where it is about how something was measured: `Connections: 100`,
/// `500 connections, 10s duration`. 0 where several requests may be on one.
pub(super) fn stated_connections(line: &str) -> Option<u64> {
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

/// Does a line say that client and server were one machine?
pub(super) fn is_of_one_machine(line: &str) -> bool {
    const SAID: [&str; 28] = [
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
        "같은 머신",
        "동일한 머신",
        "동일 서버에서",
        "на одной машине",
        "на той же машине",
        "на одном компьютере",
        "на одном ноутбуке",
        "auf derselben maschine",
        "auf demselben rechner",
        "sur la même machine",
        "en la misma máquina",
        "en el mismo equipo",
        "na mesma máquina",
        "no mesmo computador",
    ];
    const LOCAL: [&str; 4] = [
        "from a local machine",
        "on my local machine",
        "local development measurements",
        "same laptop",
    ];
    // Most lines have none of these words.
    const PARTS: [&str; 19] = [
        "oopback",
        "ループバック",
        "local ",
        "same",
        "single",
        "one ",
        "my own",
        "dersel",
        "demsel",
        "même",
        "mism",
        "mesm",
        "одно",
        "той же",
        "から",
        "同",
        "本",
        "같은",
        "동일",
    ];
    if !PARTS.iter().any(|part| line.contains(part)) {
        return false;
    }
    let lower = line.to_lowercase();
    if SAID.iter().any(|said| lower.contains(said)) {
        return true;
    }
    let of_results = |text: &str| {
        let results = ["result", "benchmark", "measured"];
        results.iter().any(|word| text.contains(word))
    };
    let local = LOCAL.iter().filter_map(|said| lower.split_once(said));
    let mut local = local.map(|(before, _)| before);
    of_results(&lower) && local.any(|before| !is_denied(before))
        || lower.split(". ").any(|sentence| {
            let words: Vec<&str> = sentence
                .split_whitespace()
                .take(LOOKED_AT)
                .map(|word| word.trim_matches(['"', '\'', '*', '_', '`', '(']))
                .collect();
            one_machine(&words).is_some_and(|(only, clause)| {
                // What is said in the next clause denies something else.
                let clause = words[..clause].join(" ");
                !is_denied(&clause) && (says_both(&words) || only && of_results(sentence))
            })
        })
}

/// `on the same machine`, `on a single M2 laptop`: is it only said that there was one, and not that it was the same; and the
/// number of words up to the end of the clause that says it.
fn one_machine(words: &[&str]) -> Option<(bool, usize)> {
    const MACHINES: [&str; 15] = [
        "machine",
        "computer",
        "box",
        "laptop",
        "notebook",
        "macbook",
        "desktop",
        "workstation",
        "pc",
        "vm",
        "host",
        // One of these may be one of several on a machine.
        "server",
        "instance",
        "node",
        "vps",
    ];
    let (from, noun) = words.iter().enumerate().find_map(|(at, word)| {
        let machines = match *word {
            "same" => &MACHINES[..],
            "single" | "one" => &MACHINES[..11],
            "own" if at > 0 && words[at - 1] == "my" => &MACHINES[..11],
            _ => return None,
        };
        let noun = (at + 1..words.len().min(at + 4))
            .find(|i| machines.contains(&words[*i].trim_end_matches(MARKS)))?;
        // `the same for each machine`
        let joined = words[at + 1..noun].iter().all(|word| {
            !matches!(
                *word,
                "for" | "on" | "of" | "in" | "per" | "as" | "and" | "is"
            )
        });
        joined.then_some((at, noun))
    })?;
    let ends = |word: &str| word.ends_with([',', ';', ')', ':', '.', '!']);
    let ends_before = |word: &str| matches!(word, "so" | "which" | "hence" | "therefore" | "but");
    let clause = (noun..words.len())
        .find(|i| ends(words[*i]) || words.get(i + 1).is_none_or(|word| ends_before(word)))
        .map_or(words.len(), |i| i + 1);
    // `on a single machine`, `on one machine`, `on my own laptop`
    let on = (from.saturating_sub(2)..from).any(|i| words[i] == "on");
    Some((words[from] != "same" && on, clause))
}

/// Are both named, what loads and what is loaded, or everything?
fn says_both(words: &[&str]) -> bool {
    const LOAD: [&str; 23] = [
        "client",
        "clients",
        "generator",
        "generators",
        "tester",
        "wrk",
        "wrk2",
        "ab",
        "hey",
        "oha",
        "k6",
        "ghz",
        "h2load",
        "httperf",
        "bombardier",
        "autocannon",
        "vegeta",
        "locust",
        "jmeter",
        "gatling",
        "siege",
        "artillery",
        "fortio",
    ];
    const LOADED: [&str; 16] = [
        "server",
        "servers",
        "webserver",
        "app",
        "apps",
        "application",
        "service",
        "services",
        "api",
        "backend",
        "broker",
        "database",
        "proxy",
        "nginx",
        "sut",
        "target",
    ];
    const ALL: [&str; 4] = ["everything", "components", "processes", "containers"];
    let has = |names: &[&str]| {
        let parts = words
            .iter()
            .flat_map(|word| word.split(['/', '-', '+', '&']));
        parts
            .map(|word| word.trim_matches(MARKS))
            .any(|word| names.contains(&word))
    };
    let tool = words.iter().any(|word| word.starts_with("benchmark"))
        && words
            .iter()
            .any(|word| word.trim_end_matches(MARKS) == "tool");
    (has(&LOAD) || tool) && has(&LOADED) || has(&ALL)
}

/// Is something said not to be so, or only said of what could be: `should not run on`, `if both were on`?
fn is_denied(clause: &str) -> bool {
    const DENIED: [&str; 21] = [
        "not ",
        "n't",
        "never",
        "different",
        "separate",
        "another",
        "second ",
        "other ",
        "would",
        "could",
        "should",
        "must ",
        "may ",
        "might ",
        "can ",
        "if ",
        "when ",
        "unless",
        "avoid",
        "instead of",
        "rather than",
    ];
    let clause = format!("{clause} ");
    DENIED.iter().any(|word| {
        let starts = |at: usize| at == 0 || !word.ends_with(' ') || clause[..at].ends_with(' ');
        clause.match_indices(word).any(|(at, _)| starts(at))
    })
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
