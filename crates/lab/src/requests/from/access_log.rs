//! Logs in the common and the combined format, as Apache and nginx write them.

use super::{Found, Sent};
use jiff::fmt::strtime;
use regex::Regex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// Host, identity, user, time, request, status; what follows differs.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let text = r#"^\S+ \S+ .+? \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3}) "#;
    Regex::new(text).expect("a constant expression")
});

pub(super) fn is(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .next()
        .is_some_and(|line| LINE.is_match(&format!("{line} ")))
}

pub(super) fn read(text: &str, _: &Path) -> Result<Found, String> {
    let mut requests = Vec::new();
    let notes = each_line(text, |line| {
        requests.push(sent(line, has_no_body)?);
        Ok(())
    });
    Ok(Found { requests, notes })
}

/// Every request that is `taken` by its method, with the second since 1970 in which it was logged; and what was left out, in
/// words.
pub(in crate::requests) fn timed(
    text: &str,
    taken: fn(&str) -> Result<(), String>,
) -> (Vec<(i64, Sent)>, Vec<String>) {
    let mut all = Vec::new();
    let notes = each_line(text, |line| {
        let sent = sent(line, taken)?;
        all.push((second(line)?, sent));
        Ok(())
    });
    (all, notes)
}

/// Calls `take` with every line that is not empty; gives why lines were left out, and how many.
fn each_line(text: &str, mut take: impl FnMut(&str) -> Result<(), String>) -> Vec<String> {
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if let Err(why) = take(&format!("{line} ")) {
            *left.entry(why).or_default() += 1;
        }
    }
    let note = |(why, n): (String, u64)| format!("{}: {why}", lines_of(n));
    left.into_iter().map(note).collect()
}

/// So many lines, in words.
pub(in crate::requests) fn lines_of(n: u64) -> String {
    format!("{n} line{}", if n == 1 { "" } else { "s" })
}

/// When a line was logged.
fn second(line: &str) -> Result<i64, String> {
    let time = LINE.captures(line).and_then(|parts| parts.get(1));
    let time = time.map_or("", |time| time.as_str());
    let parsed = strtime::parse("%d/%b/%Y:%H:%M:%S %z", time);
    let timestamp = parsed.and_then(|parsed| parsed.to_timestamp());
    let timestamp = timestamp.map_err(|_| "a time that is not like 10/Oct/2000:13:55:36 -0700")?;
    Ok(timestamp.as_second())
}

/// Requests whose bodies are not in a log cannot be sent again.
pub(in crate::requests) fn has_no_body(method: &str) -> Result<(), String> {
    match method {
        "GET" | "HEAD" => Ok(()),
        _ => Err(format!("{method}, whose bodies are not in a log")),
    }
}

fn sent(line: &str, taken: fn(&str) -> Result<(), String>) -> Result<Sent, String> {
    let parts = LINE.captures(line);
    let parts = parts.ok_or("not in the common or combined format")?;
    let mut words = parts[2].split(' ');
    let (Some(method), Some(path), Some(_)) = (words.next(), words.next(), words.next()) else {
        return Err("no request over HTTP".into());
    };
    taken(method)?;
    let unfit = |c: char| c.is_control() || c == '\\' || c == '"';
    if !path.starts_with('/') || path.contains(unfit) {
        return Err("a path that cannot be sent".into());
    }
    Ok(Sent {
        method: method.to_owned(),
        path: path.to_owned(),
        status: parts[3].parse().ok().filter(|&status: &u16| status >= 100),
        ..Sent::default()
    })
}
