//! Logs in the common and the combined format, as Apache and nginx write them.

use super::{FoundRequest, FoundRequests, Note};
use jiff::fmt::strtime;
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
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

pub(super) fn read(text: &str, _: &Path) -> Result<FoundRequests, String> {
    let mut requests = Vec::new();
    let notes = each_line(text, |line| {
        requests.push(sent(line, has_no_body)?);
        Ok(())
    });
    let notes = notes.iter().map(|note| Note::new("", note));
    Ok(FoundRequests {
        requests,
        notes: notes.collect(),
        ..FoundRequests::default()
    })
}

/// Every request that is `taken` by its method, with the second since 1970 in which it was logged; and what was left out, in
/// words.
pub(in crate::requests) fn timed(
    text: &str,
    taken: fn(&str) -> Result<(), String>,
) -> (Vec<(i64, FoundRequest)>, Vec<String>) {
    let mut all = Vec::new();
    let notes = each_line(text, |line| {
        let sent = sent(line, taken)?;
        all.push((second(line)?, sent));
        Ok(())
    });
    (all, notes)
}

/// Calls `take` with every line that is not empty; gives why lines were left out, how many, and the first of them.
fn each_line(text: &str, mut take: impl FnMut(&str) -> Result<(), String>) -> Vec<String> {
    let mut left: BTreeMap<String, (u64, usize)> = BTreeMap::new();
    let lines = (1..).zip(text.lines());
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        if let Err(why) = take(&format!("{line} ")) {
            left.entry(why).or_insert((0, number)).0 += 1;
        }
    }
    let note = |(why, (n, first)): (String, (u64, usize))| match n {
        1 => format!("line {first}: {why}"),
        n => format!("{n} lines from line {first} on: {why}"),
    };
    left.into_iter().map(note).collect()
}

/// Text for a number of lines: `1 line`, `2 lines`.
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

fn sent(line: &str, taken: fn(&str) -> Result<(), String>) -> Result<FoundRequest, String> {
    let parts = LINE.captures(line);
    let parts = parts.ok_or("not in the common or combined format")?;
    // A path may have blanks, as nginx takes it: the version is the last word.
    let request = &parts[2];
    let words = request
        .split_once(' ')
        .and_then(|(method, rest)| Some((method, rest.rsplit_once(' ')?)));
    let Some((method, (path, version))) =
        words.filter(|(method, _)| super::super::is_token(method))
    else {
        return Err("no request over HTTP".into());
    };
    if !version.starts_with("HTTP/") {
        return Err("no request over HTTP".into());
    }
    taken(method)?;
    Ok(FoundRequest {
        method: method.to_owned(),
        path: path_of(path)?,
        status: parts[3].parse().ok().filter(|&status: &u16| status >= 100),
        ..FoundRequest::default()
    })
}

/// A path as it was sent, from a log: escapes undone, and what cannot stand in a request percent-encoded. A request to a proxy
/// has a whole URL.
fn path_of(logged: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let mut rest = logged.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        // nginx and Apache: \xHH, \", \\ and the letters of C.
        match rest.next() {
            Some(b'x' | b'X') => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                match (digit(), digit()) {
                    (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
                    _ => return Err("a path with an escape that is not known".into()),
                }
            }
            Some(b'n') => bytes.push(b'\n'),
            Some(b'r') => bytes.push(b'\r'),
            Some(b't') => bytes.push(b'\t'),
            Some(b'b') => bytes.push(8),
            Some(b'v') => bytes.push(11),
            Some(other @ (b'"' | b'\\')) => bytes.push(other),
            _ => return Err("a path with an escape that is not known".into()),
        }
    }
    let lower = bytes.to_ascii_lowercase();
    let scheme = [&b"http://"[..], b"https://"];
    if let Some(scheme) = scheme.iter().find(|scheme| lower.starts_with(scheme)) {
        let after = &bytes[scheme.len()..];
        let at = after.iter().position(|byte| *byte == b'/');
        bytes = at.map_or(b"/".to_vec(), |at| after[at..].to_vec());
    }
    if bytes.first() != Some(&b'/') {
        return Err("a path that cannot be sent".into());
    }
    // Some clients send a fragment, which no server asks for.
    let end = bytes.iter().position(|&byte| byte == b'#');
    bytes.truncate(end.unwrap_or(bytes.len()));
    Ok(percent_encode(&bytes, UNSENDABLE).to_string())
}

/// Bytes that cannot stand in a request line.
const UNSENDABLE: &AsciiSet = &CONTROLS.add(b' ').add(b'"');
