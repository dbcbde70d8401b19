//! JSON Schemas of bodies.

use boon::{CompileError, Compiler, ErrorKind, SchemaIndex, Schemas, UrlLoader, ValidationError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::error::Error;
use std::fmt;

/// Characters of a value, and of what is said about it, that are shown.
const SHOWN: usize = 60;
const SAID: usize = 200;
/// The address of a schema that names none, and what its relative references begin with.
const HERE: &str = "json-schema:///schema";
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

    fn compile(&self) -> Result<(Schemas, SchemaIndex), String> {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler.use_loader(Box::new(Unread));
        compiler
            .add_resource(HERE, self.value.clone())
            .map_err(|wrong| mistake(&wrong, &self.value))?;
        let index = compiler.compile(HERE, &mut schemas);
        index
            .map(|index| (schemas, index))
            .map_err(|wrong| mistake(&wrong, &self.value))
    }
}

/// Other schemas are not read, from nowhere.
struct Unread;

impl UrlLoader for Unread {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(url.into())
    }
}

/// A schema, ready for use.
pub(super) struct Compiled {
    name: String,
    schemas: Schemas,
    index: SchemaIndex,
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
        let (schemas, index) = schema.compile().expect("it was compiled before");
        Self {
            name: schema.file.clone().unwrap_or_else(|| "its schema".into()),
            schemas,
            index,
        }
    }

    /// Describes the first value that does not fit, and its place; None if all fit.
    pub(super) fn wrong(&self, document: &Value) -> Option<String> {
        let wrong = self.schemas.validate(document, self.index).err()?;
        Some(format!(
            "expected what {} says: {}",
            self.name,
            told(&wrong, document)
        ))
    }
}

/// Describes a mistake in a schema, in one line.
fn mistake(wrong: &CompileError, schema: &Value) -> String {
    match wrong {
        CompileError::LoadUrlError { url, .. } | CompileError::UnsupportedUrlScheme { url } => {
            let other = cut(url.strip_prefix(NOWHERE).unwrap_or(url), SHOWN);
            format!("a $ref leads to {other}, and only the schema itself is read")
        }
        CompileError::JsonPointerNotFound(url) | CompileError::InvalidJsonPointer(url) => {
            let place = url.strip_prefix(HERE).unwrap_or(url);
            format!("a $ref leads nowhere: {}", cut(place, SAID))
        }
        CompileError::AnchorNotFound { reference, .. } => {
            format!("a $ref leads nowhere: {}", cut(reference, SAID))
        }
        CompileError::InvalidRegex { url, regex, src } => {
            let place = url.strip_prefix(HERE).unwrap_or(url);
            let place = place.strip_prefix('#').unwrap_or(place);
            let why = src.to_string();
            // A regex's error ends with a sentence after lines that show the place.
            let why = why.lines().last().unwrap_or_default();
            format!(
                "{}: {:?} is no regex: {}",
                place.escape_debug(),
                cut(regex, SHOWN),
                cut(why.trim_start_matches("error: "), SAID)
            )
        }
        CompileError::ValidationError { src, .. } => {
            let place = pointer(first(src));
            let found = schema.pointer(&place).unwrap_or(schema).to_string();
            // The schema of schemas says this by two others, one for a type and one for a list of them.
            match place.ends_with("/type") && !place.ends_with("/properties/type") {
                true => format!(
                    "{}: expected a type, such as \"string\" or \"integer\", found {}",
                    place.escape_debug(),
                    cut(&found, SHOWN)
                ),
                false => told(src, schema),
            }
        }
        other => cut(&format!("{other:#}"), SAID),
    }
}

/// Describes a value that does not fit, in one line: its place as a JSON pointer (RFC 6901), the expectation, and the
/// value.
fn told(wrong: &ValidationError<'_, '_>, document: &Value) -> String {
    let wrong = first(wrong);
    let place = pointer(wrong);
    let found = document.pointer(&place).unwrap_or(document).to_string();
    format!(
        "{}: {}, found {}",
        shown(&place),
        cut(&wrong.kind.to_string(), SAID),
        cut(&found, SHOWN)
    )
}

/// The first error that says more than that others follow.
fn first<'a, 's, 'v>(wrong: &'a ValidationError<'s, 'v>) -> &'a ValidationError<'s, 'v> {
    let follows = matches!(
        wrong.kind,
        ErrorKind::Group
            | ErrorKind::Schema { .. }
            | ErrorKind::Reference { .. }
            | ErrorKind::ContentSchema
            | ErrorKind::AllOf
    );
    match wrong.causes.first() {
        Some(cause) if follows => first(cause),
        _ => wrong,
    }
}

fn pointer(wrong: &ValidationError<'_, '_>) -> String {
    wrong.instance_location.to_string()
}

fn shown(pointer: &str) -> String {
    match pointer {
        "" => "the whole".into(),
        pointer => pointer.escape_debug().to_string(),
    }
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
                "/id: want integer, but got string, found \"7\"",
            ),
            (json!({ "id": 0 }), "/id: must be >=1, but got 0, found 0"),
            (json!({}), "the whole: missing properties 'id', found {}"),
            (
                json!([1]),
                "the whole: want object, but got array, found [1]",
            ),
            (
                json!({ "id": 7, "items": [{}, { "a/b": 3 }] }),
                "/items/1/a~1b: value must be one of 1, 2, found 3",
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
            ("#/$defs/none", "a $ref leads nowhere: #/$defs/none"),
        ] {
            assert_eq!(wrong(json!({ "$ref": other })), expected);
        }
    }
}
