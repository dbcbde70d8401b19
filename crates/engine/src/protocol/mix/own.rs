//! Expectations with values of the request itself: they are filled when the request is sent, if its answer
//! is among those that are searched, and compared when that has come.

use super::judge::{JsonPath, same, shown, with_fields, wrong_field};
use super::table::Column;
use super::template::{Filler, Piece};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Expectation of a part of an answer, with values of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// Part of the answer that is compared.
    pub part: ResponsePart,
    /// Expected content of the part. Its values are the same each time within one request: rows of tables, the
    /// request's number, and values that were named or taken.
    pub text: Vec<Piece>,
}

/// A part of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponsePart {
    /// The value of this header field.
    Header(String),
    /// The whole body.
    Body,
    /// Somewhere in the body.
    Contains,
    /// A value in the body, which is JSON.
    Json(JsonPath),
}

/// All of a kind of request.
#[derive(Debug)]
pub(super) struct Owns(Vec<Own>);

impl Owns {
    pub(super) fn new(all: Vec<Own>) -> Self {
        Self(all)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Writes what is expected, with the values of the request that was just filled.
    #[inline]
    pub(super) fn fill(&self, filler: &mut Filler, values: &mut Column) {
        values.clear();
        for own in &self.0 {
            values.push_written(|out| own.text.iter().for_each(|piece| filler.put(piece, out)));
        }
    }

    /// Each with what it must be.
    fn each<'a>(
        &'a self,
        values: &'a Column,
    ) -> impl Iterator<Item = (&'a ResponsePart, &'a [u8])> {
        let own = self.0.iter().enumerate();
        own.map(|(at, own)| (&own.part, values.value(at)))
    }

    /// Describes the first wrong header field of a head; None if all are right.
    pub(super) fn head(&self, head: &[u8], values: &Column) -> Option<String> {
        let is_field = |own: &Own| matches!(own.part, ResponsePart::Header(_));
        if !self.0.iter().any(is_field) {
            return None;
        }
        with_fields(head, |fields| {
            self.each(values).find_map(|(part, expected)| match part {
                ResponsePart::Header(name) => wrong_field(fields, name, Some(expected)),
                _ => None,
            })
        })
    }

    /// Describes what is wrong with a body as a text; None if it is right.
    pub(super) fn text(&self, body: &[u8], values: &Column) -> Option<String> {
        self.each(values).find_map(|(part, expected)| {
            let (right, what) = match part {
                ResponsePart::Body => (body == expected, "the body"),
                ResponsePart::Contains => {
                    let found = memchr::memmem::find(body, expected).is_some();
                    (found, "a body that contains")
                }
                ResponsePart::Header(_) | ResponsePart::Json(_) => return None,
            };
            let expected = expected.escape_ascii();
            let wrong = || format!("expected {what} \"{expected}\", found {}", shown(body));
            (!right).then(wrong)
        })
    }

    /// Must the body be JSON?
    pub(super) fn has_json(&self) -> bool {
        self.0
            .iter()
            .any(|own| matches!(own.part, ResponsePart::Json(_)))
    }

    /// Describes what is wrong with a body as JSON; None if it is right.
    pub(super) fn json(&self, place: (&Value, &[u8]), values: &Column) -> Option<String> {
        self.each(values).find_map(|(part, expected)| match part {
            ResponsePart::Json(path) => {
                path.wrong(place, || as_json(expected), |it| is(it, expected))
            }
            _ => None,
        })
    }
}

/// Has a JSON value this text? A string, when that is its content; anything else, when the text is that value.
fn is(found: &Value, text: &[u8]) -> bool {
    match found {
        Value::String(found) => found.as_bytes() == text,
        _ => serde_json::from_slice(text).is_ok_and(|expected| same(found, &expected)),
    }
}

/// A text as it is shown: a number, or a string.
fn as_json(text: &[u8]) -> Value {
    match serde_json::from_slice(text) {
        Ok(value @ Value::Number(_)) => value,
        _ => String::from_utf8_lossy(text).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_text_is_a_value_by_what_it_says() {
        for (found, text, right) in [
            (json!(17), "17", true),
            (json!(17.0), "17", true),
            (json!("17"), "17", true),
            (json!(18), "17", false),
            (json!(9_007_199_254_740_993_u64), "9007199254740992", false),
            (json!("017"), "17", false),
            (json!(17), "017", false),
            (json!(true), "true", true),
            (json!(null), "", false),
            (json!({ "a": [1] }), r#"{ "a": [1] }"#, true),
            (json!("ann"), "ann", true),
            (json!("ann"), "Ann", false),
        ] {
            assert_eq!(is(&found, text.as_bytes()), right, "{found} {text}");
        }
    }
}
