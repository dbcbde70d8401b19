//! Lists of URLs, one on each line, as h2load, siege and others read them.

use super::{FoundRequest, FoundRequests, Note, ReadContext, basic, headers_of, split_url};
use std::path::Path;

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.trim_start_matches('\u{feff}');
    let all = (1..).zip(text.lines().map(str::trim));
    all.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

pub(super) fn is(text: &str) -> bool {
    let begins = |line: &str| {
        let lower = line.to_ascii_lowercase();
        lower.starts_with("http://") || lower.starts_with("https://") || is_path(&lower)
    };
    lines(text).next().is_some_and(|(_, line)| begins(line))
}

pub(super) fn read(text: &str, context: &ReadContext<'_>) -> Result<FoundRequests, String> {
    let mut found = FoundRequests::default();
    for (number, line) in lines(text) {
        match sent(line, context.folder) {
            Ok(sent) => found.requests.push(sent),
            Err(why) => found.notes.push(Note::new(format!("line {number}"), why)),
        }
    }
    Ok(found)
}

/// A path alone, as h2load takes it beside a URL.
fn is_path(line: &str) -> bool {
    line.starts_with('/') && !line.starts_with("//") && !line.contains(char::is_whitespace)
}

/// `URL`, or as siege has it `URL POST body`, where the body may be `<FILE`.
fn sent(line: &str, folder: &Path) -> Result<FoundRequest, String> {
    if is_path(line) {
        let path = split_url(&format!("http://host{line}"), true)?.path;
        return Ok(FoundRequest {
            method: "GET".into(),
            path,
            ..FoundRequest::default()
        });
    }
    let (url, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let url = split_url(url, false)?;
    let (method, data) = match rest.trim() {
        "" => ("GET", None),
        rest => {
            let (method, data) = rest.split_once(' ').unwrap_or((rest, ""));
            match method {
                "POST" | "PUT" | "PATCH" => (method, Some(data.trim())),
                _ => return Err(format!("{line}: a URL with {rest:?} behind it")),
            }
        }
    };
    let mut headers = Vec::new();
    if let Some(user) = &url.user {
        headers.push(basic(user));
    }
    let body = match data.map(|data| (data, data.strip_prefix('<'))) {
        None => Vec::new(),
        Some((_, Some(file))) => {
            let path = folder.join(file.trim());
            std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?
        }
        Some((text, None)) => text.as_bytes().to_vec(),
    };
    if data.is_some() {
        let form = "application/x-www-form-urlencoded";
        headers.push(("Content-Type".into(), form.into()));
    }
    Ok(FoundRequest {
        method: method.to_owned(),
        headers: headers_of(headers, &url)?.0,
        origin: url.origin,
        path: url.path,
        body,
        ..FoundRequest::default()
    })
}
