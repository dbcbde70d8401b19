//! Names: what was measured, by the headings, labels and columns it stands under, and which of them
//! only count runs or sum others up.

use crate::load::Load;
use crate::model::OutputContext;
use crate::text::number::seconds;
use crate::words::{Words, is_generic, words};
use std::sync::Arc;

/// System that was measured.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct System {
    /// The headings and labels, in short: `Go (1), GOMAXPROCS=3 ./server`.
    pub name: Arc<str>,
    /// The headings above the one that names it, where what is compared stands together.
    pub section: Arc<str>,
    /// The text it is of: `A` in one file is not `A` in another, but `play-1.txt` and `play-2.txt`
    /// are of one.
    pub origin: Arc<str>,
    /// Only a sentence stands between it and the one before: the two may be of the same system.
    pub unsure: bool,
}

/// The name of what was measured: the innermost heading that does not only count, with the label
/// when that is not a load.
pub(crate) fn system(place: &OutputContext, column: Option<&str>, file: &str) -> System {
    let label = place
        .label
        .as_ref()
        .map(|label| label.0.as_str())
        .filter(|label| {
            Load::parse(label).is_none()
                && !counts(label)
                && !is_ordinal(label)
                && !is_duration(label)
        });
    let mut headings: Vec<&str> = place
        .headings
        .iter()
        .map(|heading| heading.0.as_str())
        .filter(|heading| {
            !counts(heading) && !is_ordinal(heading) && Load::parse(heading).is_none()
        })
        .collect();
    let named = headings.last().is_some_and(|heading| !is_generic(heading));
    let heading = if named { headings.pop() } else { None };
    let base = file.rsplit('/').next().unwrap_or(file);
    let mut unsure = false;
    let name = match (column, heading, label) {
        (Some(column), heading, label) => {
            // The table may be one of several below a heading: of another machine, or another page.
            headings.extend(heading);
            headings.extend(label);
            column.to_owned()
        }
        (None, Some(heading), Some(label)) if heading == label => heading.to_owned(),
        (None, Some(heading), Some(label)) => format!("{heading}, {label}"),
        (None, None, Some(label)) => label.to_owned(),
        (None, heading, None) => {
            let name = heading.unwrap_or(base);
            match &place.sentence {
                Some(line) => {
                    unsure = true;
                    format!("{name} (below line {line})")
                }
                None => name.to_owned(),
            }
        }
    };
    System {
        name: name.into(),
        section: headings.join(" / ").into(),
        origin: file.into(),
        unsure,
    }
}

/// Does a label only say how long it lasted: `Duration: 30 s`, `5 minutes`, `Длительность - 1 минута`, `时长 30 秒`?
fn is_duration(label: &str) -> bool {
    const NAMES: Words = Words(
        "duration, длительность, dauer, durée, duración, duração, durata, 时长, for, test, run, \
        время",
    );
    let label = label.to_lowercase();
    let rest: Vec<&str> = words(&label).filter(|word| !NAMES.has(word)).collect();
    seconds(&rest.join(" ")).is_some()
}

/// Does a heading only say which run it is: `Results - Execution 2`, `Test 2`?
pub(crate) fn counts(heading: &str) -> bool {
    let words: Vec<&str> = words(heading).collect();
    let counted = words.iter().enumerate().any(|(at, word)| {
        is_run(word)
            && (words.get(at + 1).is_some_and(|n| is_number(n))
                || at > 0 && (is_number(words[at - 1]) || is_ordinal(words[at - 1])))
    });
    // `Test 2: with a cache` names something as well.
    let rest = words.iter().filter(|word| {
        !is_run(word)
            && !is_number(word)
            && !is_generic(word)
            && !is_ordinal(word)
            && !matches!(**word, "st" | "nd" | "rd" | "th")
    });
    counted && rest.count() == 0
}

/// `totalRequests` as `total requests`. Capitals that stand together stay so: `QPS`.
pub(crate) fn spaced(name: &str) -> String {
    let mut out = String::new();
    let mut small = false;
    for c in name.chars() {
        if small && c.is_ascii_uppercase() {
            out.push(' ');
        }
        small = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(c);
    }
    out
}

fn is_number(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_digit()) && word.len() <= 4
}

/// Words for one of several runs, in the languages in which results are published most.
pub(crate) fn is_run(word: &str) -> bool {
    const WORDS: Words = Words(
        "run, runs, execution, round, trial, iteration, attempt, repetition, pass, take, bench, \
        benchmark, test, try, durchlauf, lauf, versuch, messung, essai, mesure, intento, rodada, \
        tentativa, попытка, измерение, prueba, ejecución, corrida, execução, teste, prova, \
        próba, замер, запуск, прогон, тест",
    );
    let word = word.to_lowercase();
    WORDS.has(word.as_str())
}

/// `第一次`, `第2轮测试`, `3回目`, `2차`: Chinese, Japanese and Korean for one of several runs.
fn is_ordinal_in_cjk(text: &str) -> bool {
    const NUMERALS: &str = "一二三四五六七八九十";
    const COUNTED: [&str; 10] = [
        "回目", "번째", "次", "回", "轮", "輪", "遍", "趟", "차", "회",
    ];
    const MEASURED: [&str; 7] = ["", "测试", "測試", "压测", "运行", "運行", "结果"];
    let text = text.trim_matches(|c: char| !c.is_alphanumeric());
    let number = text.strip_prefix(['第', '제']).unwrap_or(text).trim_start();
    let rest = number.trim_start_matches(|c: char| c.is_ascii_digit() || NUMERALS.contains(c));
    let counted = COUNTED
        .iter()
        .find_map(|word| rest.trim_start().strip_prefix(word));
    rest.len() < number.len() && counted.is_some_and(|rest| MEASURED.contains(&rest.trim_start()))
}

/// `1st`, `#2`, `run 3`, `4`, `Test 2:`, `bench1`, `第一次`.
pub(crate) fn is_ordinal(text: &str) -> bool {
    if is_ordinal_in_cjk(text) {
        return true;
    }
    let mut parts = words(text);
    let (Some(first), second, None) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let numbered = |word: &str| {
        let digits = word.trim_start_matches(['r', 'R']);
        let bare = ["st", "nd", "rd", "th"]
            .iter()
            .find_map(|ending| digits.strip_suffix(ending))
            .unwrap_or(digits);
        !bare.is_empty() && is_number(bare)
    };
    // A number with a point in it, or a unit's sign, counts nothing.
    let counted = !text.contains(['.', '%', '$', '/']) || text.trim_end().ends_with('.');
    match second {
        None => {
            let name = first.trim_end_matches(|c: char| c.is_ascii_digit());
            counted && (numbered(first) || name.len() < first.len() && is_run(name))
        }
        Some(second) => is_run(first) && numbered(second) || numbered(first) && is_run(second),
    }
}

/// The bare number that a label is.
pub(crate) fn bare(label: &str) -> Option<u64> {
    let label = label.trim();
    (label.len() <= 9 && !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit()))
        .then(|| label.parse().ok())?
}

/// Does a row or column sum others up?
pub(crate) fn is_mean(label: &str) -> bool {
    let first = words(label).next().unwrap_or("").to_lowercase();
    matches!(
        first.as_str(),
        "ave" | "avg" | "average" | "mean" | "averages"
    )
}

/// Does a row or column sum others up in some other way?
pub(crate) fn is_summary(label: &str) -> bool {
    let first = words(label).next().unwrap_or("").to_lowercase();
    is_mean(label)
        || matches!(
            first.as_str(),
            "median"
                | "best"
                | "worst"
                | "max"
                | "min"
                | "maximum"
                | "minimum"
                | "total"
                | "totals"
                | "aggregated"
                | "overall"
                | "sum"
                | "stdev"
                | "std"
                | "stddev"
                | "sd"
                | "cv"
                | "geomean"
                | "spread"
        )
}

/// A file's path without its ending and number: `run/play-2.txt` is one of several `run/play`.
/// Folders that only count runs are left out.
pub(crate) fn stem(name: &str) -> String {
    let (folders, file) = name.rsplit_once('/').unwrap_or(("", name));
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let bare = stem
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .trim_end_matches(['-', '_', '.', ' ']);
    let folders = folders
        .split('/')
        .filter(|part| !part.is_empty() && !is_ordinal(part));
    let file = if bare.is_empty() { stem } else { bare };
    folders.chain([file]).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_names_nothing() {
        for ordinal in [
            "1st",
            "#2",
            "run 3",
            "4",
            "Round 2",
            "r1",
            "3rd run",
            "Test 2:",
            "bench 5",
            "take 3",
            "bench1",
            "**第一次**",
            "第 3 轮测试：",
            "2回目",
            "Запуск 2",
            "Tentativa 3",
            "Попытка 1",
        ] {
            assert!(is_ordinal(ordinal), "{ordinal}");
        }
        for other in [
            "A",
            "node 18",
            "",
            "run",
            "c64",
            "2024-01-01",
            "1 2 3",
            "1.10",
            "8%",
            "utf8",
            "第一服务器",
            "三次握手",
        ] {
            assert!(!is_ordinal(other), "{other}");
        }
        assert!(counts("Results - Execution 2") && counts("2nd run") && counts("Test 2:"));
        assert!(!counts("Go (1)") && !counts("Test 2: with a cache"));
        assert!(is_generic("Benchmark results") && !is_generic("nginx results"));
    }

    #[test]
    fn names_of_files() {
        assert_eq!(stem("wrk-2.txt"), "wrk");
        assert_eq!(stem("1.txt"), "1");
        assert_eq!(stem("before/play-2.txt"), "before/play");
        assert_eq!(stem("run-1/play.txt"), "play");
    }
}
