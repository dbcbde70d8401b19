//! Expectations of the answers to one kind of request.

use super::super::{Expect, response_parser};
use super::own::{Own, Owns};
use super::schema::{Compiled, Schema};
use super::table::Column;
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// Bytes of a body that are shown.
const SHOWN: usize = 60;
/// Fields that a head may have.
const MAX_FIELDS: usize = 128;

/// Expectations of every answer to a kind of request. The default accepts any status below 400 and any body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The status codes to accept, each from the first to the last; empty accepts 100 to 399.
    pub status: Vec<(u16, u16)>,
    /// Header fields with their values; without a value the field must be there.
    pub headers: Vec<(String, Option<String>)>,
    /// The whole body.
    pub body: Option<Vec<u8>>,
    /// The body's length, in bytes.
    pub length: Option<u64>,
    /// The body contains each of these. Searched on a sample.
    pub contains: Vec<Vec<u8>>,
    /// The body matches each of these regular expressions. Searched on a sample.
    pub matches: Vec<String>,
    /// The body is JSON in which each path has this value. Searched on a sample.
    pub json: Vec<JsonValue>,
    /// The body is JSON that this describes. Compared on a sample.
    #[serde(default)]
    pub schema: Option<Schema>,
    /// Expectations with values of the request itself. Compared on a sample.
    #[serde(default)]
    pub own: Vec<Own>,
    /// Statements that the server's database executes for an answer, at the least. Not judged by answer: compared with what
    /// the database counts.
    #[serde(default)]
    pub statements: u32,
}

/// A place in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonPath {
    /// The path as the user wrote it.
    pub shown: String,
    /// The path as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// Not what stands there, but how many elements or members that has.
    pub length: bool,
}

/// A value in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonValue {
    /// Where it is.
    pub path: JsonPath,
    /// The value.
    pub value: Value,
}

impl JsonPath {
    /// Returns the value at this path, or its number of elements or members; None if there is none.
    pub(super) fn find<'a>(&self, document: &'a Value) -> Option<Cow<'a, Value>> {
        let found = document.pointer(&self.pointer)?;
        if !self.length {
            return Some(Cow::Borrowed(found));
        }
        let length = match found {
            Value::Array(elements) => elements.len(),
            Value::Object(members) => members.len(),
            _ => return None,
        };
        Some(Cow::Owned(length.into()))
    }

    /// Describes what is wrong at this path; None if `is_right` accepts the value found there. `expected` is for the
    /// description only.
    pub(super) fn wrong(
        &self,
        (document, body): (&Value, &[u8]),
        expected: impl FnOnce() -> Value,
        is_right: impl FnOnce(&Value) -> bool,
    ) -> Option<String> {
        let path = &self.shown;
        match self.find(document) {
            Some(found) if is_right(&found) => None,
            Some(found) => Some(format!("{path}: expected {}, found {found}", expected())),
            None => Some(format!(
                "{path}: expected {}, found nothing in {}",
                expected(),
                shown(body)
            )),
        }
    }
}

impl Expected {
    /// Returns the expectations that are compared while an answer is read.
    pub(super) fn cheap(&self) -> Expect {
        let status = match self.status.as_slice() {
            [] => None,
            &[only] => Some(only),
            // All: one of several is looked at when the answer is whole.
            _ => Some((100, 999)),
        };
        match &self.body {
            Some(body) => Expect {
                status,
                ..Expect::body(body.clone())
            },
            None => Expect {
                status,
                length: self.length,
                ..Expect::default()
            },
        }
    }
}

/// Expectations that [`Expect`] does not compare.
#[derive(Debug)]
pub(super) struct Checks {
    /// More than one.
    statuses: Vec<(u16, u16)>,
    headers: Vec<(String, Option<String>)>,
    /// The last head that was right, so that most heads are compared and not parsed.
    known: Vec<u8>,
    contains: Vec<memchr::memmem::Finder<'static>>,
    matches: Vec<Regex>,
    json: Vec<JsonValue>,
    schema: Option<Compiled>,
    pub(super) own: Owns,
}

impl Checks {
    pub(super) fn new(expected: &Expected) -> Self {
        let finder = |bytes: &Vec<u8>| memchr::memmem::Finder::new(bytes).into_owned();
        let regex = |text: &String| Regex::new(text).expect("it was compiled before");
        Self {
            statuses: match expected.status.len() {
                0 | 1 => Vec::new(),
                _ => expected.status.clone(),
            },
            headers: expected.headers.clone(),
            known: Vec::new(),
            contains: expected.contains.iter().map(finder).collect(),
            matches: expected.matches.iter().map(regex).collect(),
            json: expected.json.clone(),
            schema: expected.schema.as_ref().map(Compiled::new),
            own: Owns::new(expected.own.clone()),
        }
    }

    /// Are bodies searched at all?
    #[inline]
    pub(super) fn searches(&self) -> bool {
        !(self.contains.is_empty()
            && self.matches.is_empty()
            && self.json.is_empty()
            && self.schema.is_none()
            && self.own.is_empty())
    }

    /// Describes a wrong status, where several are right; None if it is right.
    #[inline]
    pub(super) fn status(&self, status: u16) -> Option<String> {
        let right = |&(first, last): &(u16, u16)| (first..=last).contains(&status);
        match self.statuses.is_empty() || self.statuses.iter().any(right) {
            true => None,
            false => Some(self.wrong_status(status)),
        }
    }

    #[cold]
    fn wrong_status(&self, status: u16) -> String {
        let shown = |&(first, last): &(u16, u16)| match first == last {
            true => first.to_string(),
            false => format!("{first} to {last}"),
        };
        let expected: Vec<String> = self.statuses.iter().map(shown).collect();
        format!("status {status}, expected {}", expected.join(" or "))
    }

    /// Nothing is expected of the head, or it is one that was right before.
    #[inline]
    pub(super) fn head_is_known(&self, head: &[u8]) -> bool {
        self.headers.is_empty() || self.known == head
    }

    /// Describes the first wrong header field of a head; None if all are right.
    #[cold]
    pub(super) fn head(&mut self, head: &[u8]) -> Option<String> {
        with_fields(head, |fields| {
            let mut headers = self.headers.iter();
            headers.find_map(|(name, expected)| {
                wrong_field(fields, name, expected.as_ref().map(String::as_bytes))
            })
        })
        .or_else(|| {
            self.known.clear();
            self.known.extend_from_slice(head);
            None
        })
    }

    /// Describes what is wrong with a whole body; None if it is right. `own` has the expectations that were filled
    /// with the request's own values.
    pub(super) fn search(&self, body: &[u8], own: &Column) -> Option<String> {
        let missing = |finder: &&memchr::memmem::Finder<'_>| finder.find(body).is_none();
        if let Some(finder) = self.contains.iter().find(missing) {
            let expected = finder.needle().escape_ascii();
            return Some(format!(
                "expected a body that contains \"{expected}\", found {}",
                shown(body)
            ));
        }
        if let Some(regex) = self.matches.iter().find(|regex| !regex.is_match(body)) {
            return Some(format!(
                "expected a body that matches /{regex}/, found {}",
                shown(body)
            ));
        }
        if let Some(wrong) = self.own.text(body, own) {
            return Some(wrong);
        }
        if self.json.is_empty() && self.schema.is_none() && !self.own.has_json() {
            return None;
        }
        let document: Value = match serde_json::from_slice(body) {
            Ok(document) => document,
            Err(error) => {
                return Some(format!("expected JSON ({error}), found {}", shown(body)));
            }
        };
        let place = (&document, body);
        let mut fixed = self.json.iter();
        fixed
            .find_map(|JsonValue { path, value }| {
                path.wrong(place, || value.clone(), |found| same(found, value))
            })
            .or_else(|| self.own.json(place, own))
            .or_else(|| self.schema.as_ref()?.wrong(&document))
    }
}

/// Looks at the header fields of a head, which the reader has parsed before.
pub(super) fn with_fields<T>(head: &[u8], look: impl FnOnce(&[httparse::Header<'_>]) -> T) -> T {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let _ = response_parser().parse_response(&mut response, head);
    look(response.headers)
}

/// Describes what is wrong with a header field; None if it is right. The field must be there, with the `expected`
/// value if there is one.
pub(super) fn wrong_field(
    fields: &[httparse::Header<'_>],
    name: &str,
    expected: Option<&[u8]>,
) -> Option<String> {
    let mut values = fields
        .iter()
        .filter(|field| field.name.eq_ignore_ascii_case(name))
        .map(|field| field.value.trim_ascii())
        .peekable();
    let Some(&first) = values.peek() else {
        return Some(format!("no header field {name}"));
    };
    let expected = expected?;
    if values.any(|value| value == expected) {
        return None;
    }
    let shown = |value| String::from_utf8_lossy(value).into_owned();
    let (expected, found) = (shown(expected), shown(first));
    Some(format!("{name}: expected {expected:?}, found {found:?}"))
}

/// Equal as JSON has it: 1 and 1.0 are the same number.
pub(super) fn same(found: &Value, expected: &Value) -> bool {
    // Whole numbers are compared as such: beyond 2^53 several have the same double.
    match (found.as_f64(), expected.as_f64()) {
        (Some(one), Some(other)) if found.is_f64() || expected.is_f64() => one == other,
        _ => found == expected,
    }
}

pub(super) fn shown(body: &[u8]) -> String {
    let bytes = body[..body.len().min(SHOWN)].escape_ascii();
    match body.len() > SHOWN {
        true => format!("\"{bytes}\"… ({} bytes)", body.len()),
        false => format!("\"{bytes}\""),
    }
}

/// Returns a description of a wrong answer, with the request that it answers.
#[cold]
pub(super) fn with_request(name: &str, wrong: &str, (request, cut): (&[u8], bool)) -> String {
    let line_end = |at: &usize| request[*at..].starts_with(b"\r\n");
    let head_end = request.windows(4).position(|four| four == b"\r\n\r\n");
    let line = (0..request.len()).find(line_end).unwrap_or(request.len());
    let line = request[..line]
        .strip_suffix(b" HTTP/1.1")
        .unwrap_or(&request[..line]);
    let body = head_end.map_or(&[][..], |at| &request[at + 4..]);
    let body = match (body, cut) {
        ([], _) => String::new(),
        (body, false) => format!(" with \"{}\"", body.escape_ascii()),
        (body, true) => format!(" with \"{}\"…", body.escape_ascii()),
    };
    format!("{name}: {wrong}; asked {}{body}", line.escape_ascii())
}
