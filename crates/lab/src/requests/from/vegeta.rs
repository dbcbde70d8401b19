//! Targets of vegeta, as text or as lines of JSON.

use super::{FoundRequest, FoundRequests, Note, ReadContext, SplitUrl, headers_of, split_url};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct Target {
    method: String,
    url: String,
    #[serde(default)]
    body: String,
    #[serde(default)]
    header: BTreeMap<String, Vec<String>>,
}

pub(super) fn is(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| match line.starts_with('{') {
        true => serde_json::from_str::<Target>(line).is_ok(),
        false => target(line).is_some(),
    })
}

/// Method and URL.
fn target(line: &str) -> Option<(&str, &str)> {
    let (method, url) = line.split_once(' ')?;
    let (method, url) = (method.trim(), url.trim());
    let upper = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    (upper && url.contains("://") && !url.contains(' ')).then_some((method, url))
}

pub(super) fn read(text: &str, context: &ReadContext<'_>) -> Result<FoundRequests, String> {
    let first = text.trim_start().chars().next();
    match first {
        Some('{') => json(text),
        _ => plain(text, context.folder),
    }
}

fn json(text: &str) -> Result<FoundRequests, String> {
    let mut found = FoundRequests::default();
    for (line, number) in text
        .lines()
        .zip(1..)
        .filter(|(line, _)| !line.trim().is_empty())
    {
        let wrong = |why: String| format!("line {number}: {why}");
        let target: Target =
            serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
        let url = split_url(&target.url, true).map_err(wrong)?;
        let body = BASE64.decode(&target.body);
        let body = body.map_err(|error| wrong(format!("the body is not base64: {error}")))?;
        let fields = target.header.into_iter().flat_map(|(name, values)| {
            let pair = move |value| (name.clone(), value);
            values.into_iter().map(pair)
        });
        let (headers, left) = headers_of(fields.collect(), &url).map_err(wrong)?;
        let place = format!("line {number}");
        found
            .notes
            .extend(left.iter().map(|left| Note::new(&place, left)));
        found.requests.push(FoundRequest {
            method: target.method,
            origin: url.origin,
            path: url.path,
            headers,
            body,
            ..FoundRequest::default()
        });
    }
    Ok(found)
}

/// `METHOD URL`, then header fields and `@FILE` with the body, up to the next target.
fn plain(text: &str, folder: &Path) -> Result<FoundRequests, String> {
    let mut found = FoundRequests::default();
    // Line and URL of each target.
    let mut places: Vec<(usize, SplitUrl)> = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        let wrong = |why: String| format!("line {number}: {why}");
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some((method, url)) = target(line) {
            let url = split_url(url, true).map_err(wrong)?;
            places.push((number, url.clone()));
            found.requests.push(FoundRequest {
                method: method.to_owned(),
                origin: url.origin,
                path: url.path,
                ..FoundRequest::default()
            });
            continue;
        }
        let Some(last) = found.requests.last_mut() else {
            return Err(wrong(
                "expected a target such as GET http://host/path".into(),
            ));
        };
        if let Some(file) = line.strip_prefix('@') {
            let path = folder.join(file);
            let bytes = std::fs::read(&path);
            last.body = bytes.map_err(|error| wrong(format!("{}: {error}", path.display())))?;
        } else if let Some((name, value)) = line.split_once(':') {
            let (name, value) = (name.trim(), value.trim());
            last.headers.push((name.to_owned(), value.to_owned()));
        } else {
            return Err(wrong(format!(
                "{line:?} is no target, header field or @FILE"
            )));
        }
    }
    for (sent, (number, url)) in found.requests.iter_mut().zip(places) {
        let wrong = |why: String| format!("line {number}: {why}");
        let (headers, left) = headers_of(std::mem::take(&mut sent.headers), &url).map_err(wrong)?;
        sent.headers = headers;
        let place = format!("line {number}");
        found
            .notes
            .extend(left.iter().map(|left| Note::new(&place, left)));
    }
    Ok(found)
}
