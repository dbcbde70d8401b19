//! The little that is understood of sentences: claims of a ratio, how often something was run,
//! pictures.

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
    let compared = ["er", "more", "less", "worse"]
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
    for (at, word) in words.iter().enumerate() {
        let Some((number, unit)) = leading(word) else {
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

/// How often everything was run: `5 times`, `average of 10 runs`, `median of 3 runs`.
pub(super) fn repetitions(line: &str) -> Option<u64> {
    let mut before = None;
    for word in line.split_whitespace().take(LOOKED_AT) {
        let word = word.trim_matches(['*', '_', '`', '.', ',', ';', ':', '(', ')']);
        if let Some(n) = before {
            let runs = matches!(
                word,
                "times"
                    | "runs"
                    | "trials"
                    | "executions"
                    | "repetitions"
                    | "iterations"
                    | "rounds"
            );
            if runs {
                return Some(n);
            }
        }
        before = match word {
            "three" => Some(3),
            "four" => Some(4),
            "five" => Some(5),
            "ten" => Some(10),
            number if number.len() <= 3 => number.parse().ok().filter(|n| *n >= 2),
            _ => None,
        };
    }
    None
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios() {
        let found = claim("Finatra / Finagle = 0.964027331", 9).unwrap();
        assert_eq!(
            found.about,
            About::Ratio("Finatra".into(), "Finagle".into())
        );
        assert_eq!((found.ratio.value, found.line), (0.964_027_331, 9));
        for line in [
            "a = b / c",
            "x / y = z",
            "1 / 2 = 0.5",
            "url = http://a/b=3",
            "=",
        ] {
            assert_eq!(claim(line, 1), None, "{line}");
        }
    }

    #[test]
    fn differences() {
        for (line, ratio) in [
            ("A is 3 % faster than B", 1.03),
            ("so it is 25% slower.", 0.75),
            ("A is 2x faster", 2.0),
            ("about 4 times slower, then", 0.25),
        ] {
            let found = claim(line, 1).unwrap().ratio.value;
            assert!((found - ratio).abs() < 1e-9, "{line}: {found}");
        }
        for line in [
            "100% of requests",
            "3 % of more",
            "0 % faster",
            "10 x 3 faster",
        ] {
            assert_eq!(claim(line, 1), None, "{line}");
        }
    }

    #[test]
    fn failures_in_sentences() {
        let found = |line| failure(line, 3).map(|f| (f.failed, f.of, f.timed_out));
        assert_eq!(found("3 of 200 requests failed."), Some((3, 200, false)));
        assert_eq!(
            found("it made 296 requests in 30 s, timeout 41"),
            Some((41, 296, true))
        );
        assert_eq!(
            found("5 out of 100 requests timed out"),
            Some((5, 100, true))
        );
        for line in [
            "0 of 200 requests failed",
            "3 requests, none failed",
            "timeout 30 for requests",
        ] {
            assert_eq!(found(line), None, "{line}");
        }
    }

    #[test]
    fn how_often() {
        assert_eq!(
            repetitions("bench.sh does kick client 3 times with"),
            Some(3)
        );
        assert_eq!(repetitions("the average of 10 runs."), Some(10));
        assert_eq!(repetitions("it ran 1 times, and 12 minutes"), None);
    }

    #[test]
    fn charts_and_logos() {
        for line in [
            "![Fig1](a.png)",
            "  ![](assets/measuring-graph-1.png)",
            "<p><img src=\"rps.svg\"></p>",
            ".. image:: throughput.png",
        ] {
            assert!(is_chart(line), "{line}");
        }
        for line in [
            "![logo](logo.png)",
            "[![build](ci.svg)](x)",
            "a chart",
            "<img src=face.png>",
        ] {
            assert!(!is_chart(line), "{line}");
        }
    }
}
