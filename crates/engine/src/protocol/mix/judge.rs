//! What the answers to one kind of request must be.

use super::super::Expect;
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Bytes of a body that are shown.
const SHOWN: usize = 60;
/// Fields that a head may have.
const MAX_FIELDS: usize = 128;

/// What every answer to a kind of request must be. The default accepts any status below 400 and any body.
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
}

/// A value in a JSON document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct JsonValue {
    /// The path as it was written.
    pub path: String,
    /// The path as a JSON pointer (RFC 6901).
    pub pointer: String,
    /// The value.
    pub value: Value,
}

impl Expected {
    /// What is compared while an answer is read.
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

/// What [`Expect`] does not compare.
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
        }
    }

    /// Are bodies searched at all?
    #[inline]
    pub(super) fn searches(&self) -> bool {
        !(self.contains.is_empty() && self.matches.is_empty() && self.json.is_empty())
    }

    /// What is wrong with a status, where several are right.
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

    /// What is wrong with a head.
    #[cold]
    pub(super) fn head(&mut self, head: &[u8]) -> Option<String> {
        let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
        let mut response = httparse::Response::new(&mut fields);
        // The reader has parsed it before.
        let _ = response.parse(head);
        for (name, expected) in &self.headers {
            let mut values = response
                .headers
                .iter()
                .filter(|field| field.name.eq_ignore_ascii_case(name))
                .map(|field| field.value.trim_ascii())
                .peekable();
            let Some(&first) = values.peek() else {
                return Some(format!("no header field {name}"));
            };
            if let Some(expected) = expected
                && !values.any(|value| value == expected.as_bytes())
            {
                let found = String::from_utf8_lossy(first).into_owned();
                return Some(format!("{name}: expected {expected:?}, found {found:?}"));
            }
        }
        self.known.clear();
        self.known.extend_from_slice(head);
        None
    }

    /// What is wrong with a whole body.
    pub(super) fn search(&self, body: &[u8]) -> Option<String> {
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
        if self.json.is_empty() {
            return None;
        }
        let document: Value = match serde_json::from_slice(body) {
            Ok(document) => document,
            Err(error) => {
                return Some(format!("expected JSON ({error}), found {}", shown(body)));
            }
        };
        self.json.iter().find_map(|one| {
            let JsonValue {
                path,
                pointer,
                value,
            } = one;
            match document.pointer(pointer) {
                Some(found) if same(found, value) => None,
                Some(found) => Some(format!("{path}: expected {value}, found {found}")),
                None => Some(format!(
                    "{path}: expected {value}, found nothing in {}",
                    shown(body)
                )),
            }
        })
    }
}

/// Equal as JSON has it: 1 and 1.0 are the same number.
fn same(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) if found == expected => true,
        _ => found == expected,
    }
}

fn shown(body: &[u8]) -> String {
    let bytes = body[..body.len().min(SHOWN)].escape_ascii();
    match body.len() > SHOWN {
        true => format!("\"{bytes}\"… ({} bytes)", body.len()),
        false => format!("\"{bytes}\""),
    }
}

/// What is wrong, with the request that it answers.
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
