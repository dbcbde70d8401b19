//! Logs in the common and the combined format, as Apache and nginx write them.

use super::{Found, Sent};
use regex::Regex;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

/// Host, identity, user, time, request, status; what follows differs.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let text = r#"^\S+ \S+ .+? \[[^\]]+\] "((?:[^"\\]|\\.)*)" (\d{3}) "#;
    Regex::new(text).expect("a constant expression")
});

pub(super) fn is(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .next()
        .is_some_and(|line| LINE.is_match(&format!("{line} ")))
}

pub(super) fn read(text: &str, _: &Path) -> Result<Found, String> {
    let mut found = Found::default();
    // Why lines are left out, and how many.
    let mut left: BTreeMap<String, u64> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match sent(line) {
            Ok(sent) => found.requests.push(sent),
            Err(why) => *left.entry(why).or_default() += 1,
        }
    }
    let note = |(why, n): (String, u64)| format!("{n} lines: {why}");
    found.notes.extend(left.into_iter().map(note));
    Ok(found)
}

fn sent(line: &str) -> Result<Sent, String> {
    let line = format!("{line} ");
    let parts = LINE.captures(&line);
    let parts = parts.ok_or("not in the common or combined format")?;
    let mut words = parts[1].split(' ');
    let (Some(method), Some(path), Some(_)) = (words.next(), words.next(), words.next()) else {
        return Err("no request over HTTP".into());
    };
    if !matches!(method, "GET" | "HEAD") {
        return Err(format!("{method}, whose bodies are not in a log"));
    }
    let unfit = |c: char| c.is_control() || c == '\\' || c == '"';
    if !path.starts_with('/') || path.contains(unfit) {
        return Err("a path that cannot be sent".into());
    }
    Ok(Sent {
        method: method.to_owned(),
        path: path.to_owned(),
        status: parts[2].parse().ok().filter(|&status: &u16| status >= 100),
        ..Sent::default()
    })
}
