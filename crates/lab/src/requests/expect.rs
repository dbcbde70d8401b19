//! What must be answered.

use super::{Reading, is_token};
use crate::source::Mistake;
use prony_engine::protocol::mix::{Expected, JsonValue};
use regex::bytes::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::{Spanned, Value};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ExpectKeys {
    status: Option<Spanned<Value>>,
    headers: BTreeMap<String, Spanned<String>>,
    body: Option<Spanned<String>>,
    length: Option<Spanned<u64>>,
    contains: Option<Spanned<Value>>,
    matches: Option<Spanned<Value>>,
    json: BTreeMap<String, Spanned<Value>>,
}

impl Reading<'_> {
    pub(super) fn expected(&self, keys: &ExpectKeys) -> Result<Expected, Mistake> {
        let status = match &keys.status {
            None => Vec::new(),
            Some(status) => self.statuses(status)?,
        };
        if let (Some(_), Some(length)) = (&keys.body, &keys.length) {
            let what = "the whole body is given already";
            return Err(self.wrong(length.span(), what, None));
        }
        let mut headers = Vec::new();
        for (name, value) in &keys.headers {
            if !is_token(name) {
                let what = format!("{name:?} is not the name of a header field");
                return Err(self.wrong(value.span(), what, None));
            }
            let value = (value.get_ref() != "*").then(|| value.get_ref().clone());
            headers.push((name.clone(), value));
        }
        let matches = self.texts(keys.matches.as_ref())?;
        for text in &matches {
            if let (Err(error), Some(at)) = (Regex::new(text), &keys.matches) {
                let last = error.to_string();
                let last = last.lines().last().unwrap_or_default().to_owned();
                let what = format!("is not a regular expression: {last}");
                return Err(self.wrong(at.span(), what, None));
            }
        }
        let mut json = Vec::new();
        for (path, value) in &keys.json {
            let Some(pointer) = pointer(path) else {
                let what = format!("{path:?} is not a path such as $.items[0].name");
                return Err(self.wrong(value.span(), what, None));
            };
            let document = serde_json::to_value(value.get_ref()).map_err(|error| {
                self.wrong(value.span(), format!("is not a JSON value: {error}"), None)
            })?;
            json.push(JsonValue {
                path: path.clone(),
                pointer,
                value: document,
            });
        }
        Ok(Expected {
            status,
            headers,
            body: keys.body.as_ref().map(|body| body.get_ref().clone().into()),
            length: keys.length.as_ref().map(|length| *length.get_ref()),
            contains: self
                .texts(keys.contains.as_ref())?
                .into_iter()
                .map(String::into_bytes)
                .collect(),
            matches,
            json,
        })
    }

    /// A status, a class, or a list of both.
    fn statuses(&self, value: &Spanned<Value>) -> Result<Vec<(u16, u16)>, Mistake> {
        let one = |value: &Value| match value {
            Value::Integer(code @ 100..=999) => u16::try_from(*code).ok().map(|code| (code, code)),
            Value::String(text) => {
                let class: u16 = text.strip_suffix("xx")?.parse().ok()?;
                (1..=9)
                    .contains(&class)
                    .then_some((100 * class, 100 * class + 99))
            }
            _ => None,
        };
        let all = match value.get_ref() {
            Value::Array(list) if !list.is_empty() => list.iter().map(one).collect(),
            other => one(other).map(|one| vec![one]),
        };
        all.ok_or_else(|| {
            let what = "expected a status such as 200, a class such as \"2xx\", or a list of these";
            self.wrong(value.span(), what, None)
        })
    }

    /// A text, or a list of texts.
    fn texts(&self, value: Option<&Spanned<Value>>) -> Result<Vec<String>, Mistake> {
        let Some(value) = value else {
            return Ok(Vec::new());
        };
        let one = |value: &Value| value.as_str().map(str::to_owned);
        let all: Option<Vec<String>> = match value.get_ref() {
            Value::Array(list) => list.iter().map(one).collect(),
            other => one(other).map(|one| vec![one]),
        };
        all.ok_or_else(|| self.wrong(value.span(), "expected a text, or a list of texts", None))
    }
}

/// A path such as `$.items[0].name` as a JSON pointer (RFC 6901). Names with dots or brackets in them
/// cannot be written.
pub(super) fn pointer(path: &str) -> Option<String> {
    let mut rest = path.strip_prefix('$')?;
    let mut pointer = String::new();
    while !rest.is_empty() {
        let step = if let Some(after) = rest.strip_prefix('[') {
            let (index, behind) = after.split_once(']')?;
            rest = behind;
            index
                .bytes()
                .all(|byte| byte.is_ascii_digit())
                .then_some(index)?
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (name, behind) = after.split_at(end);
            rest = behind;
            name
        };
        if step.is_empty() {
            return None;
        }
        pointer += "/";
        pointer += &step.replace('~', "~0").replace('/', "~1");
    }
    Some(pointer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_pointers() {
        for (path, expected) in [
            ("$", Some("")),
            ("$.id", Some("/id")),
            ("$.items[0].a/b", Some("/items/0/a~1b")),
            ("$[12]", Some("/12")),
            ("id", None),
            ("$.", None),
            ("$[x]", None),
            ("$[1", None),
        ] {
            assert_eq!(pointer(path).as_deref(), expected, "{path}");
        }
    }
}
