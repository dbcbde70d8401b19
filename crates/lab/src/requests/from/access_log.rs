//! Lines in the common and the combined format, as Apache and nginx write them.

use super::log::{Logged, path_of, request_line};
use super::{FoundRequest, LogTime};
use regex::Regex;
use std::sync::LazyLock;

/// Host, identity, user, time, request, status; what follows differs.
static LINE: LazyLock<Regex> = LazyLock::new(|| {
    let text = r#"^\S+ \S+ .+? \[([^\]]+)\] "((?:[^"\\]|\\.)*)" (\d{3})(?: |$)"#;
    Regex::new(text).expect("a constant expression")
});

pub(super) fn is_line(line: &str) -> bool {
    LINE.is_match(line)
}

pub(super) fn logged(line: &str, taken: fn(&str) -> Result<(), String>) -> Result<Logged, String> {
    let parts = LINE.captures(line);
    let parts = parts.ok_or("not in the common or combined format")?;
    let (method, target) = request_line(&parts[2])?;
    taken(method)?;
    let time = LogTime::of_text(&parts[1]);
    Ok(Logged {
        request: FoundRequest {
            method: method.to_owned(),
            path: path_of(unescaped(target)?)?,
            status: parts[3].parse().ok().filter(|&status: &u16| status >= 100),
            ..FoundRequest::default()
        },
        time: time.ok_or_else(|| "a time that is not like 10/Oct/2000:13:55:36 -0700".into()),
    })
}

/// The bytes of a target, its escapes undone.
fn unescaped(logged: &str) -> Result<Vec<u8>, String> {
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
    Ok(bytes)
}
