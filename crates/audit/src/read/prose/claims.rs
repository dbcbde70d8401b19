//! Claims of a ratio: `A / B = 0.96`, `3 % faster`, `a factor of 10`.

use super::LOOKED_AT;
use crate::read::lines::without_markup;
use crate::read::number::{Printed, leading};

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
pub(in crate::read) fn claim(line: &str, number: usize) -> Option<Claim> {
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
        // `3–5x faster`, `3x-5x`: at least the first of the two.
        let unit = range(unit).unwrap_or(unit);
        let (percent, behind) = match (unit, next(1)) {
            ("x" | "×" | "%" | "", "to" | "–" | "-")
                if leading(next(2)).is_some_and(|(n, _)| n.value > number.value) =>
            {
                // `2x to 5x faster`, `2 to 5 times faster`
                let (_, last) = leading(next(2)).unwrap_or((number, ""));
                match (last, next(3)) {
                    ("%", _) => (true, 3),
                    ("x" | "×", _) => (false, 3),
                    ("", "times") => (false, 4),
                    _ => continue,
                }
            }
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

/// What stands behind the second number of a range, `-5x`, `x–5x`: its unit.
fn range(behind: &str) -> Option<&str> {
    let behind = behind.trim_start_matches(['x', '×', '%']);
    let second = behind.strip_prefix(['-', '–', '—', '~'])?;
    let (_, unit) = leading(second)?;
    matches!(unit, "x" | "×" | "%" | "").then_some(unit)
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
