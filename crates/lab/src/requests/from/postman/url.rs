//! URLs of a collection: texts, or taken apart.

use super::{CollectionReader, FilledUrl, Skip};
use crate::requests::from::openapi::style::sendable;
use crate::requests::from::{Note, SplitUrl, is_mark, split_url};
use serde_json::Value;

/// Place of the first of these characters that is in no reference to a variable.
fn find_outside(text: &str, begins: usize, wanted: &[char]) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().filter(|(at, _)| *at >= begins) {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            c if depth == 0 && wanted.contains(&c) => return Some(at),
            _ => {}
        }
    }
    None
}

/// The text before and after the first such character that is in no reference to a variable.
fn split_outside(text: &str, at: char) -> (&str, Option<&str>) {
    match find_outside(text, 0, &[at]) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

/// Texts in a list or in one text, joined.
fn joined(value: &Value, between: &str) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(all) => {
            let text = |part: &Value| match part {
                Value::Object(part) => part.get("value").and_then(Value::as_str).map(str::to_owned),
                Value::String(text) => Some(text.clone()),
                other => Some(other.to_string()),
            };
            let all: Vec<String> = all.iter().filter_map(text).collect();
            Some(all.join(between))
        }
        _ => None,
    }
}

/// A URL with its variables: scheme, host and port; the path; the query.
struct UrlTexts {
    head: String,
    path: String,
    query: Option<String>,
}

impl UrlTexts {
    fn of_text(url: &str) -> Self {
        let url = url.trim();
        let begins = url.find("://").map_or(0, |at| at + 3);
        let end = find_outside(url, begins, &['/', '?', '#']).unwrap_or(url.len());
        let (head, rest) = url.split_at(end);
        let (rest, _) = split_outside(rest, '#');
        let (path, query) = split_outside(rest, '?');
        Self {
            head: head.to_owned(),
            path: path.trim_start_matches('/').to_owned(),
            query: query.map(str::to_owned),
        }
    }

    fn of(url: &Value) -> Result<Self, Skip> {
        if let Some(text) = url.as_str() {
            return Ok(Self::of_text(text));
        }
        let raw = url["raw"].as_str().map(Self::of_text);
        let mut texts = match (joined(&url["host"], "."), raw) {
            (Some(host), raw) => {
                let scheme = url["protocol"].as_str();
                let scheme = scheme.map_or(String::new(), |it| format!("{it}://"));
                let port = match &url["port"] {
                    Value::String(port) if !port.is_empty() => format!(":{port}"),
                    Value::Number(port) => format!(":{port}"),
                    _ => String::new(),
                };
                Self {
                    head: format!("{scheme}{host}{port}"),
                    path: joined(&url["path"], "/").unwrap_or_default(),
                    query: raw.and_then(|raw| raw.query),
                }
            }
            (None, Some(raw)) => raw,
            (None, None) => return Err("no URL".into()),
        };
        texts.path = texts.path.trim_start_matches('/').to_owned();
        if let Some(all) = url["query"].as_array() {
            let enabled = all.iter().filter(|one| one["disabled"] != true);
            let pair = |one: &Value| {
                let text = |value: &Value| match value {
                    Value::String(text) => Some(text.clone()),
                    Value::Null => None,
                    other => Some(other.to_string()),
                };
                match (text(&one["key"]), text(&one["value"])) {
                    (None, None) => None,
                    (name, Some(value)) => Some(format!("{}={value}", name.unwrap_or_default())),
                    (Some(name), None) => Some(name),
                }
            };
            let all: Vec<String> = enabled.filter_map(pair).collect();
            texts.query = (!all.is_empty()).then(|| all.join("&"));
        }
        Ok(texts)
    }
}

impl CollectionReader<'_> {
    /// A URL, its variables filled in. Without a value for its server the path is known nevertheless.
    pub(super) fn url(&mut self, url: &Value, shown: &str) -> Result<FilledUrl, Skip> {
        let texts = UrlTexts::of(url)?;
        let head = self.filler.filled(texts.head.trim());
        let missing = self.filler.missing();
        let split = match missing.as_slice() {
            [] if head.is_empty() => unknown(),
            [] => {
                if head.contains(is_mark) {
                    return Err("a server with a value that changes".into());
                }
                let scheme = if head.contains("://") { "" } else { "http://" };
                split_url(&format!("{scheme}{head}"), false)?
            }
            names => {
                let shown_names: Vec<String> =
                    names.iter().map(|it| format!("{{{{{it}}}}}")).collect();
                let has = if names.len() > 1 { "have" } else { "has" };
                let reason = format!(
                    "guessed: {} {has} no value, taken for a server without a path",
                    shown_names.join(" and ")
                );
                self.notes.push(Note {
                    variable: names.first().cloned(),
                    ..Note::new(shown, reason)
                });
                unknown()
            }
        };
        let variables = url["variable"].as_array();
        let own = |name: &str| {
            let mut all = variables.into_iter().flatten();
            let found = all.find(|one| one["key"] == name || one["id"] == name);
            found.and_then(|one| one.get("value"))
        };
        let segment = |segment: &str| match segment.strip_prefix(':') {
            Some(name) if !name.is_empty() => self.filler.path_variable(name, own(name)),
            _ => self.filler.filled(segment),
        };
        let segments: Vec<String> = texts.path.split('/').map(segment).collect();
        let before = split.path.split('?').next().unwrap_or_default();
        let mut path = format!("{}/{}", before.trim_end_matches('/'), segments.join("/"));
        if let Some(query) = texts.query {
            path = format!("{path}?{}", self.filler.filled(&query));
        }
        // A name with a slash is no part of a path.
        self.filler.check(&path);
        Ok(FilledUrl {
            path: sendable(&path).replace('\\', "%5C"),
            split,
        })
    }
}

/// A server that the collection does not name.
fn unknown() -> SplitUrl {
    SplitUrl {
        origin: String::new(),
        authority: String::new(),
        path: "/".into(),
        user: None,
    }
}
