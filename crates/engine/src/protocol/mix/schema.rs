//! JSON Schemas of bodies.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{ReferencingError, ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// Characters of a value, and of what is said about it, that are shown.
const SHOWN: usize = 60;
const SAID: usize = 200;
/// What stands before a relative reference of a schema that has no address of its own.
const NOWHERE: &str = "json-schema:///";

/// A JSON Schema, in the draft that its `$schema` names, or that of 2020-12.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schema {
    /// Where it is from: a file, as it is shown. None: it stands in the file of requests.
    pub file: Option<String>,
    /// The schema.
    pub value: Value,
}

impl Schema {
    /// Can bodies be compared with it?
    ///
    /// # Errors
    /// What is wrong with it, and where in it, in words.
    pub fn check(&self) -> Result<(), String> {
        self.compile().map(drop)
    }

    fn compile(&self) -> Result<Validator, String> {
        jsonschema::validator_for(&self.value).map_err(|wrong| mistake(&wrong))
    }
}

/// A schema, ready for use.
pub(super) struct Compiled {
    name: String,
    validator: Validator,
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").finish_non_exhaustive()
    }
}

impl Compiled {
    /// # Panics
    /// When it does not compile: the caller that builds a mix has checked it before.
    pub(super) fn new(schema: &Schema) -> Self {
        Self {
            name: schema.file.clone().unwrap_or_else(|| "its schema".into()),
            validator: schema.compile().expect("it was compiled before"),
        }
    }

    /// What does not fit first, and where.
    pub(super) fn wrong(&self, document: &Value) -> Option<String> {
        let wrong = self.validator.iter_errors(document).next()?;
        Some(format!(
            "expected what {} says: {}",
            self.name,
            told(&wrong)
        ))
    }
}

/// What is wrong with a schema, in a line.
fn mistake(wrong: &ValidationError<'_>) -> String {
    let place = wrong.instance_path().as_str();
    match wrong.kind() {
        ValidationErrorKind::Referencing(ReferencingError::Unretrievable { uri, .. }) => {
            let other = cut(uri.strip_prefix(NOWHERE).unwrap_or(uri), SHOWN);
            format!("a $ref leads to {other}, and only the schema itself is read")
        }
        ValidationErrorKind::Referencing(error) => {
            format!("a $ref leads nowhere: {}", cut(&error.to_string(), SAID))
        }
        // The schema of schemas says this by two others, one for a type and one for a list of them.
        _ if place.ends_with("/type") && !place.ends_with("/properties/type") => format!(
            "{}: expected a type, such as \"string\" or \"integer\", found {}",
            place.escape_debug(),
            cut(&wrong.instance().to_string(), SHOWN)
        ),
        _ => told(wrong),
    }
}

/// What does not fit, in a line: the place as a JSON pointer (RFC 6901), what should be there, and what is.
fn told(wrong: &ValidationError<'_>) -> String {
    let place = match wrong.instance_path().as_str() {
        "" => "the whole",
        pointer => pointer,
    };
    let said = wrong.masked_with("it").to_string();
    let found = wrong.instance().to_string();
    format!(
        "{}: {}, found {}",
        place.escape_debug(),
        cut(&said, SAID),
        cut(&found, SHOWN)
    )
}

fn cut(text: &str, most: usize) -> String {
    let text = text.replace(char::is_control, " ");
    match text.char_indices().nth(most) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema(value: Value) -> Schema {
        Schema { file: None, value }
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let order = schema(json!({
            "type": "object",
            "required": ["id"],
            "properties": {
                "id": { "type": "integer", "minimum": 1 },
                "items": { "type": "array", "items": { "$ref": "#/$defs/item" }, "minItems": 1 },
            },
            "$defs": { "item": { "type": "object", "properties": { "a/b": { "enum": [1, 2] } } } },
        }));
        assert_eq!(order.check(), Ok(()));
        let order = Compiled::new(&order);
        assert_eq!(
            order.wrong(&json!({ "id": 7, "items": [{ "a/b": 2 }] })),
            None
        );
        for (body, expected) in [
            (
                json!({ "id": "7" }),
                "/id: it is not of type \"integer\", found \"7\"",
            ),
            (
                json!({ "id": 0 }),
                "/id: it is less than the minimum of 1, found 0",
            ),
            (
                json!({}),
                "the whole: \"id\" is a required property, found {}",
            ),
            (
                json!([1]),
                "the whole: it is not of type \"object\", found [1]",
            ),
            (
                json!({ "id": 7, "items": [{}, { "a/b": 3 }] }),
                "/items/1/a~1b: it is not one of 1 or 2, found 3",
            ),
        ] {
            let wrong = order.wrong(&body).unwrap();
            assert_eq!(wrong, format!("expected what its schema says: {expected}"));
        }
        let long = order.wrong(&json!({ "id": "x\n".repeat(500) })).unwrap();
        assert!(long.len() < 400 && long.lines().count() == 1, "{long}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn a_mistake_in_a_schema_is_told_with_its_place() {
        let wrong = |value| schema(value).check().unwrap_err();
        let of_type = wrong(json!({ "properties": { "id": { "type": "intger" } } }));
        assert_eq!(
            of_type,
            "/properties/id/type: expected a type, such as \"string\" or \"integer\", found \"intger\""
        );
        let pattern = wrong(json!({ "pattern": "(" }));
        assert!(pattern.starts_with("/pattern: "), "{pattern}");
        // Nothing is fetched, from nowhere.
        for (other, expected) in [
            (
                "other.json",
                "a $ref leads to other.json, and only the schema itself is read",
            ),
            (
                "http://localhost:1/a.json#/b",
                "a $ref leads to http://localhost:1/a.json, and only the schema itself is read",
            ),
            (
                "#/$defs/none",
                "a $ref leads nowhere: Pointer '/$defs/none' does not exist",
            ),
        ] {
            assert_eq!(wrong(json!({ "$ref": other })), expected);
        }
    }
}
