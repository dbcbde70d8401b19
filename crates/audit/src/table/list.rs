//! Lists of a load and its figure: `c64-t8:  48000`.

use super::{Cell, Row, Table, number, range};
use crate::figures::{is_other, rate_unit};
use crate::load::Load;
use crate::names::{is_ordinal, is_summary, words};
use crate::read::lines::{Lines, without_markup};
use crate::read::number::seconds;

/// What an item of a list begins with.
const MARKS: [char; 4] = ['-', '*', '+', '•'];
/// Fewer lines are no table.
const LEAST: usize = 3;
/// A sentence is longer than a name.
const NAME: usize = 60;
/// An item of a list is shorter.
const LONGEST: usize = 200;

/// Lines that a script has made of outputs: `alpha      Requests/sec:  32435.66`, each with the same words in front of
/// its figure.
fn of_names(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    fn entry(line: &str) -> Option<(&str, &str, &str)> {
        let (before, figure) = line.trim().split_once(": ")?;
        let (name, unit) = before.trim_end().rsplit_once("  ")?;
        rate_unit(unit)?;
        Some((name.trim(), unit.trim(), figure.trim()))
    }
    let (_, unit, _) = entry(lines.get(at))?;
    let mut rows = Vec::new();
    let mut next = at;
    while let Some((name, _, figure)) = entry(lines.get(next)).filter(|(_, own, _)| *own == unit) {
        let cell = |text: &str| Cell::new(next + 1, text.to_owned());
        rows.push(Row {
            cells: vec![cell(name), cell(figure)],
        });
        next += 1;
    }
    (rows.len() >= LEAST).then(|| {
        let table = Table {
            first: at + 1,
            header: vec![String::new(), unit.to_owned()],
            rows,
        };
        (table, next)
    })
}

/// `- Echo: 84,166 req/sec`, `* [Hyper](…) - 124974 requests per second`, `Rust (reqwest): 0.1834 s`: a name, and a figure
/// with its unit. Without a mark in front, a colon sets them apart.
fn of_figures(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    let mut rows = Vec::new();
    let mut next = at;
    let mut unit = None;
    // `alpha: 84,634 req/s, 116.71μs avg latency`
    let mut latency = behind(lines.get(at)).map(|(_, name)| name);
    while let Some((name, own, figure)) = item(lines.get(next)) {
        let unit = unit.get_or_insert(own);
        if (own == TIME) != (*unit == TIME) {
            break;
        }
        let cell = |text: &str| Cell::new(next + 1, text.to_owned());
        let mut cells = vec![cell(&name), cell(&figure)];
        match behind(lines.get(next)) {
            Some((time, name)) if latency == Some(name) => cells.push(cell(time)),
            _ => latency = None,
        }
        rows.push(Row { cells });
        next += 1;
        // Text that was taken from a page may have an empty line behind each item.
        let apart =
            lines.get(next).trim().is_empty() && lines.get(next + 1).trim_start().starts_with('•');
        next += usize::from(apart);
    }
    (rows.len() >= 2).then(|| {
        let names = ["", unit.unwrap_or_default()].into_iter().chain(latency);
        let header: Vec<String> = names.map(str::to_owned).collect();
        rows.iter_mut()
            .for_each(|row| row.cells.truncate(header.len()));
        let table = Table {
            first: at + 1,
            header,
            rows,
        };
        (table, next)
    })
}

/// A response time behind the rate of an item, and what it is called: `116.71μs`, `avg latency`.
fn behind(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.trim_end().split_once("/s, ")?;
    let (time, name) = rest.split_once(' ')?;
    seconds(time)?;
    let known = matches!(
        name,
        "latency" | "avg latency" | "mean latency" | "average latency" | "avg" | "mean"
    );
    known.then_some((
        time,
        if known && !name.contains("latency") {
            "avg latency"
        } else {
            name
        },
    ))
}

/// What the column of a list of durations is called.
const TIME: &str = "time";

/// An item of a list of figures: its name, the unit, and the figure.
fn item(line: &str) -> Option<(String, &'static str, String)> {
    const UNITS: [&str; 13] = [
        "[#/sec]",
        "req/s",
        "req/sec",
        "reqs/s",
        "reqs/sec",
        "requests/s",
        "requests/sec",
        "requests/second",
        "requests per second",
        "requests per sec",
        "rps",
        "qps",
        "ops/s",
    ];
    let line = line.trim();
    let marked = line.starts_with(MARKS);
    let digit = line.bytes().any(|b| b.is_ascii_digit());
    let good = line.len() < LONGEST && digit && !line.starts_with(['"', '{', '<', '|']);
    (good && (marked || line.contains(": "))).then_some(())?;
    let text = without_markup(line.trim_start_matches(MARKS));
    // What stands behind it in brackets is about it: `~6–10k req/sec (bad for async apps)`.
    let text = match text.rsplit_once(" (") {
        Some((before, rest)) if rest.ends_with(')') && before.contains(": ") => before,
        _ => &text,
    };
    let text = text.trim_end_matches(['.', ',', ';', '。', '，', '；']);
    // `alpha: ~84,634 req/s, 116.71μs avg latency`
    let first = text.split_once("/s, ").map(|(first, _)| first.len() + 2);
    let text = first.map_or(text, |end| &text[..end]);
    let lower = text.to_lowercase();
    let unit = UNITS
        .iter()
        .filter(|unit| lower.ends_with(*unit))
        .max_by_key(|unit| unit.len());
    let Some(unit) = unit else {
        let (name, figure) = text.split_once(':')?;
        let (name, figure) = (name.trim(), figure.trim());
        seconds(figure)?;
        return is_name(name).then(|| (name.to_owned(), TIME, figure.to_owned()));
    };
    let rest = text.get(..text.len() - unit.len())?.trim_end();
    let from = rest.rfind(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | 'k' | 'K')))?;
    let mut from = from + rest[from..].chars().next()?.len_utf8();
    if let Some((_, whole)) = rest
        .rsplit_once(": ")
        .filter(|(_, whole)| range(whole).is_some())
    {
        from = rest.len() - whole.len();
    }
    let figure = &rest[from..];
    number(figure)?;
    let name = rest[..from]
        .trim_end_matches(|c: char| !c.is_alphanumeric() && !matches!(c, ')' | ']' | '+'));
    let good = name.chars().any(char::is_alphabetic) && name.chars().count() <= NAME;
    (good && is_name(name)).then(|| (name.to_owned(), *unit, figure.to_owned()))
}

/// May a label be one of something that is compared with others? A quantity of one thing is none, nor is a setting.
fn is_name(label: &str) -> bool {
    const QUANTITIES: [&str; 51] = [
        "average",
        "peak",
        "maximum",
        "minimum",
        "target",
        "expected",
        "throughput",
        "rate",
        "rps",
        "qps",
        "overall",
        "sustained",
        "current",
        "requests",
        "request",
        "response",
        "connect",
        "connection",
        "processing",
        "waiting",
        "timeout",
        "interval",
        "warmup",
        "warm",
        "ramp",
        "delay",
        "period",
        "elapsed",
        "started",
        "finished",
        "uptime",
        "startup",
        "build",
        "run",
        "test",
        "slowest",
        "fastest",
        "dns",
        "tls",
        "read",
        "write",
        "resp",
        "percentile",
        "sleep",
        "attack",
        "wait",
        "ttfb",
        // What a load begins and ends with.
        "start",
        "end",
        "initial",
        "final",
    ];
    let lower = label.to_lowercase();
    let first = words(&lower).next().unwrap_or("");
    let named = label.chars().any(char::is_alphabetic) && label.chars().count() <= NAME;
    // `gRPC throughput` names something, `Throughput` does not.
    named
        && !QUANTITIES.contains(&first)
        && !is_other(first)
        && !is_summary(label)
        && Load::parse(label).is_none()
        && !first.starts_with(|c: char| c.is_ascii_digit())
        && !is_ordinal(label)
        && !label.contains(['=', '"', '{', '/'])
        && !words(&lower).any(is_percentile)
        && !is_quantity(&lower)
}

/// Does a name, in small letters, say in some language that it is of a time, a mean, or an extreme?
fn is_quantity(name: &str) -> bool {
    const SAID: [&str; 37] = [
        "latence",
        "latência",
        "latencia",
        "latenz",
        "latensi",
        "durée",
        "duração",
        "duración",
        "dauer",
        "durasi",
        "длительность",
        "задержка",
        "время",
        "temps",
        "tempo",
        "tiempo",
        "zeit",
        "waktu",
        "moyen",
        "médio",
        "promedio",
        "mediana",
        "médiane",
        "медиана",
        "среднее",
        "максимум",
        "минимум",
        "durchschnitt",
        "rata-rata",
        "trung bình",
        "延迟",
        "耗时",
        "平均",
        "最大",
        "最小",
        "レイテンシ",
        "평균",
    ];
    SAID.iter().any(|said| name.contains(said))
}

/// `p99`, `95th`
fn is_percentile(word: &str) -> bool {
    let number = word.strip_prefix('p').or_else(|| word.strip_suffix("th"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Names and figures set apart by spaces, a little below a line that says that they are rates: `alpha [tokio]   559,042`.
fn of_aligned(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    fn entry(line: &str) -> Option<(&str, &str)> {
        let line = line.trim();
        let (name, rest) = line.split_once("  ")?;
        let rest = rest.trim_start();
        let figure = rest.split_once(' ').map_or(rest, |(figure, _)| figure);
        // What stands behind it in brackets is about it.
        let behind = rest[figure.len()..].trim();
        let good = behind.is_empty() || behind.starts_with('(');
        let digits = figure.bytes().filter(u8::is_ascii_digit).count() >= 2;
        (good && digits && is_name(name) && number(figure).is_some())
            .then_some((name.trim(), figure))
    }
    entry(lines.get(at))?;
    // Another list may stand between.
    let mut above = (0..at)
        .rev()
        .map(|i| lines.get(i))
        .filter(|line| !line.trim().is_empty())
        .take(ABOVE);
    let said = above.find(|line| rate_unit(line).is_some() && !line.contains("  "))?;
    let unit = if rate_unit(said)? > 1.0 {
        "krps"
    } else {
        "rps"
    };
    let mut rows = Vec::new();
    let mut next = at;
    while let Some((name, figure)) = entry(lines.get(next)) {
        let cell = |text: &str| Cell::new(next + 1, text.to_owned());
        rows.push(Row {
            cells: vec![cell(name), cell(figure)],
        });
        next += 1;
    }
    (rows.len() >= 2).then(|| {
        let table = Table {
            first: at + 1,
            header: vec![String::new(), unit.to_owned()],
            rows,
        };
        (table, next)
    })
}

/// What figures are stands within so many lines above them.
const ABOVE: usize = 8;

pub(super) fn read(lines: &Lines<'_>, at: usize) -> Option<(Table, usize)> {
    if let Some(found) = of_names(lines, at).or_else(|| of_figures(lines, at)) {
        return Some(found);
    }
    if let Some(found) = of_aligned(lines, at) {
        return Some(found);
    }
    let mut rows = Vec::new();
    let mut next = at;
    while let Some((label, figure)) = entry(lines.get(next)) {
        let cell = |text: &str| Cell::new(next + 1, text.to_owned());
        let cells = vec![cell(label), cell(figure)];
        rows.push(Row { cells });
        next += 1;
    }
    (rows.len() >= LEAST).then(|| {
        let table = Table {
            first: at + 1,
            header: Vec::new(),
            rows,
        };
        (table, next)
    })
}

fn entry(line: &str) -> Option<(&str, &str)> {
    let line = line.trim().trim_start_matches(['-', '*', '+']).trim_start();
    let (label, figure) = line.split_once(':')?;
    let figure = figure.trim();
    Load::parse(label)?;
    number(figure).map(|_| (label.trim(), figure))
}

#[cfg(test)]
mod tests;
