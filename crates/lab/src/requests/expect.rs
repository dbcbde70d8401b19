//! Expectations of answers.

use super::template::TemplatePosition;
use super::{RequestFileReader, is_token};
use crate::source::Mistake;
use prony_engine::protocol::mix::{
    Expected, JsonPath, JsonValue, Own, Piece, ResponsePart, Schema,
};
use prony_record::inert;
use regex::bytes::Regex;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
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
    schema: Option<Spanned<Value>>,
    statements: u32,
}

impl RequestFileReader<'_> {
    pub(super) fn expected(&mut self, keys: &ExpectKeys) -> Result<Expected, Mistake> {
        let status = match &keys.status {
            None => Vec::new(),
            Some(status) => self.statuses(status)?,
        };
        if let (Some(_), Some(length)) = (&keys.body, &keys.length) {
            let what = "the whole body is given already";
            return Err(self.wrong(length.span(), what, None));
        }
        let mut own = Vec::new();
        let mut headers = Vec::new();
        for (name, value) in &keys.headers {
            if !is_token(name) {
                let what = format!("{name:?} is not the name of a header field");
                return Err(self.wrong(value.span(), what, None));
            }
            match self.own(value)? {
                Some(text) => own.push(Own {
                    part: ResponsePart::Header(name.clone()),
                    text,
                }),
                None => {
                    let value = (value.get_ref() != "*").then(|| value.get_ref().clone());
                    headers.push((name.clone(), value));
                }
            }
        }
        let mut body = None;
        if let Some(text) = &keys.body {
            match self.own(text)? {
                Some(text) => own.push(Own {
                    part: ResponsePart::Body,
                    text,
                }),
                None => body = Some(text.get_ref().clone().into()),
            }
        }
        let mut contains = Vec::new();
        for text in self.texts(keys.contains.as_ref())? {
            match self.own(&text)? {
                Some(text) => own.push(Own {
                    part: ResponsePart::Contains,
                    text,
                }),
                None => contains.push(text.into_inner().into_bytes()),
            }
        }
        let mut matches = Vec::new();
        for text in self.texts(keys.matches.as_ref())? {
            if let Err(error) = Regex::new(text.get_ref()) {
                let last = error.to_string();
                let last = last.lines().last().unwrap_or_default().to_owned();
                let what = format!("is not a regular expression: {last}");
                return Err(self.wrong(text.span(), what, None));
            }
            matches.push(text.into_inner());
        }
        let mut json = Vec::new();
        for (path, value) in &keys.json {
            let Some(path) = json_path(path) else {
                let what = format!("{path:?} is not a path such as $.items[0].name");
                return Err(self.wrong(value.span(), what, None));
            };
            match self.json(value)? {
                Json::Own(text) => own.push(Own {
                    part: ResponsePart::Json(path),
                    text,
                }),
                Json::Fixed(value) => json.push(JsonValue { path, value }),
            }
        }
        let schema = keys.schema.as_ref().map(|it| self.schema(it)).transpose()?;
        Ok(Expected {
            status,
            headers,
            body,
            length: keys.length.as_ref().map(|length| *length.get_ref()),
            contains,
            matches,
            json,
            schema,
            statements: keys.statements,
            own,
        })
    }

    /// A JSON Schema: a file, or a table.
    fn schema(&self, value: &Spanned<Value>) -> Result<Schema, Mistake> {
        let wrong = |what: String| self.wrong(value.span(), what, None);
        let schema = match value.get_ref() {
            Value::String(file) => {
                let text = self.folder.read(Path::new(file)).map_err(wrong)?;
                let schema = serde_json::from_slice(&text);
                let shown = inert::line(file).into_owned();
                Schema {
                    value: schema
                        .map_err(|error| wrong(format!("{shown} is not JSON: {error}")))?,
                    file: Some(shown),
                }
            }
            table @ Value::Table(_) => Schema {
                file: None,
                value: serde_json::to_value(table)
                    .map_err(|error| wrong(format!("is not a JSON value: {error}")))?,
            },
            _ => {
                let what = "expected a JSON Schema: the name of a file, or a table";
                return Err(wrong(what.into()));
            }
        };
        let name = schema.file.as_deref().unwrap_or("this");
        schema
            .check()
            .map_err(|place| wrong(format!("{name} is not a JSON Schema: {place}")))?;
        Ok(schema)
    }

    /// A text with values of the request in it; none without any.
    fn own(&mut self, text: &Spanned<String>) -> Result<Option<Vec<Piece>>, Mistake> {
        match text.get_ref().contains("{{") {
            true => self.template(text, TemplatePosition::Expected).map(Some),
            false => Ok(None),
        }
    }

    /// A value of a JSON document.
    fn json(&mut self, value: &Spanned<Value>) -> Result<Json, Mistake> {
        if let Value::String(text) = value.get_ref() {
            let text = Spanned::new(value.span(), text.clone());
            if let Some(text) = self.own(&text)? {
                return Ok(Json::Own(text));
            }
        }
        let fixed = serde_json::to_value(value.get_ref()).map_err(|error| {
            self.wrong(value.span(), format!("is not a JSON value: {error}"), None)
        })?;
        if fixed.to_string().contains("{{") {
            let what = "a value of the request stands alone, not in a list or a table";
            let help = "give it another path, such as \"$.items[0].id\" = \"{{id}}\"";
            return Err(self.wrong(value.span(), what, Some(help)));
        }
        Ok(Json::Fixed(fixed))
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

    /// A text, or a list of texts, each with the place of the whole.
    fn texts(&self, value: Option<&Spanned<Value>>) -> Result<Vec<Spanned<String>>, Mistake> {
        let Some(value) = value else {
            return Ok(Vec::new());
        };
        let one = |text: &Value| Some(Spanned::new(value.span(), text.as_str()?.to_owned()));
        let all: Option<Vec<Spanned<String>>> = match value.get_ref() {
            Value::Array(list) => list.iter().map(one).collect(),
            other => one(other).map(|one| vec![one]),
        };
        all.ok_or_else(|| self.wrong(value.span(), "expected a text, or a list of texts", None))
    }
}

/// Content that a JSON document must have in a place.
enum Json {
    /// A value.
    Fixed(serde_json::Value),
    /// A text with values of the request.
    Own(Vec<Piece>),
}

/// A path, at whose end `.length()` asks for the number of elements or members.
fn json_path(path: &str) -> Option<JsonPath> {
    let whole = path.strip_suffix(".length()");
    Some(JsonPath {
        shown: path.to_owned(),
        pointer: pointer(whole.unwrap_or(path))?,
        length: whole.is_some(),
    })
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
