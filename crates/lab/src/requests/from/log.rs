//! Access logs, line by line: in the common or combined format ([`access_log`]), or JSON ([`json_log`]).

use super::{FoundRequest, FoundRequests, LogTime, Note, ReadContext, access_log, json_log};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};
use std::collections::BTreeMap;

/// The longest line that is read, in bytes: servers refuse longer requests.
const LONGEST: usize = 1 << 20;

/// A request of a log, and when it came; in words why that is not known.
pub(in crate::requests) struct Logged {
    pub(in crate::requests) request: FoundRequest,
    pub(in crate::requests) time: Result<LogTime, String>,
}

/// Lines among which a log of JSON has a request: servers also log when they start.
const LOOKED_AT: usize = 100;

pub(super) fn is(text: &str) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    match lines.next() {
        Some(line) if line.starts_with('{') => {
            let mut all = std::iter::once(line).chain(lines.take(LOOKED_AT));
            all.any(|line| line.len() <= LONGEST && json_log::is_request(line))
        }
        Some(line) => access_log::is_line(line),
        None => false,
    }
}

pub(super) fn read(text: &str, _: &ReadContext<'_>) -> Result<FoundRequests, String> {
    let mut requests = Vec::new();
    let notes = each_line(text, has_no_body, |logged| {
        requests.push(logged.request);
        Ok(())
    });
    Ok(FoundRequests {
        requests,
        notes,
        ..FoundRequests::default()
    })
}

/// Every request that is `taken` by its method, with when it came; and what was left out.
pub(in crate::requests) fn timed(
    text: &str,
    taken: fn(&str) -> Result<(), String>,
) -> (Vec<(LogTime, FoundRequest)>, Vec<Note>) {
    let mut all = Vec::new();
    let notes = each_line(text, taken, |logged| {
        all.push((logged.time?, logged.request));
        Ok(())
    });
    (all, notes)
}

/// Calls `take` with the request of every line; gives why lines were left out, the most frequent reason first.
fn each_line(
    text: &str,
    taken: fn(&str) -> Result<(), String>,
    mut take: impl FnMut(Logged) -> Result<(), String>,
) -> Vec<Note> {
    let mut left: BTreeMap<String, Note> = BTreeMap::new();
    let text = text.trim_start_matches('\u{feff}');
    let lines = (1..).zip(text.lines());
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        if let Err(why) = logged(line, taken).and_then(&mut take) {
            let place = format!("line {number}");
            match left.get_mut(&why) {
                Some(note) => note.add(&place),
                None => {
                    let note = Note::new(place, &why);
                    left.insert(why, note);
                }
            }
        }
    }
    let mut notes: Vec<Note> = left.into_values().collect();
    notes.sort_by_key(|note| std::cmp::Reverse(note.count));
    notes
}

/// The request of a line, whatever its format: a log may have changed it.
fn logged(line: &str, taken: fn(&str) -> Result<(), String>) -> Result<Logged, String> {
    if line.len() > LONGEST {
        return Err("a line longer than 1 MiB".into());
    }
    let logged = match line.trim_start().starts_with('{') {
        true => json_log::logged(line, taken)?,
        false => access_log::logged(line, taken)?,
    };
    // Bytes that are not UTF-8 were replaced when the log was read.
    match logged.request.path.contains("%EF%BF%BD") && line.contains('\u{fffd}') {
        true => Err("a path with bytes that are not UTF-8".into()),
        false => Ok(logged),
    }
}

/// Requests whose bodies are not in a log cannot be sent again.
pub(in crate::requests) fn has_no_body(method: &str) -> Result<(), String> {
    match method {
        "GET" | "HEAD" => Ok(()),
        _ => Err(format!("{method}, whose bodies are not in a log")),
    }
}

/// Method and target of a line such as `GET /a HTTP/1.1`. A path may have blanks, as nginx takes it: the version is the
/// last word.
pub(super) fn request_line(line: &str) -> Result<(&str, &str), String> {
    let words = line
        .split_once(' ')
        .and_then(|(method, rest)| Some((method, rest.rsplit_once(' ')?)));
    match words {
        Some((method, (target, version)))
            if crate::requests::is_token(method) && version.starts_with("HTTP/") =>
        {
            Ok((method, target))
        }
        _ => Err("no request over HTTP".into()),
    }
}

/// A path as it was sent, of the bytes of a target; what cannot stand in a request is percent-encoded. A request to a proxy
/// has a whole URL.
pub(super) fn path_of(mut bytes: Vec<u8>) -> Result<String, String> {
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
