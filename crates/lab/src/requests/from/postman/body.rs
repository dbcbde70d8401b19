//! Bodies of a collection.

use super::{CollectionReader, Skip};
use crate::requests::from::openapi::{style, values};
use crate::requests::from::{CLOSE, OPEN, form};
use crate::requests::template::UNRESERVED;
use form::FormPart;
use serde_json::{Map, Value};
use std::io::Read;

/// The longest file that is read into a body, in bytes.
const LONGEST: u64 = 64 << 20;

/// A body, and its content type unless the request has one.
pub(super) struct FilledBody {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: Option<String>,
    /// The content type goes before that of the request.
    pub(super) replaces: bool,
}

impl FilledBody {
    fn new(bytes: impl Into<Vec<u8>>, kind: &str) -> Self {
        Self {
            bytes: bytes.into(),
            kind: Some(kind.to_owned()),
            replaces: false,
        }
    }
}

/// Entries of a list that are not disabled.
fn enabled(list: &Value) -> impl Iterator<Item = &Value> {
    let all = list.as_array().into_iter().flatten();
    all.filter(|one| one["disabled"] != true)
}

impl CollectionReader<'_> {
    pub(super) fn body(&mut self, body: &Value) -> Result<Option<FilledBody>, Skip> {
        if body["disabled"] == true {
            return Ok(None);
        }
        let mode = body["mode"].as_str().unwrap_or_default();
        let of = &body[mode];
        Ok(match mode {
            "raw" => {
                let text = self.filler.text(of);
                let kind = match body["options"]["raw"]["language"].as_str() {
                    Some("json") => "application/json",
                    Some("xml") => "application/xml",
                    Some("html") => "text/html",
                    Some("javascript") => "application/javascript",
                    _ => "text/plain",
                };
                (!text.is_empty()).then(|| FilledBody::new(text, kind))
            }
            "urlencoded" => {
                let text = match of {
                    Value::String(text) => self.filler.filled(text),
                    list => {
                        let encoded =
                            |value: &Value| style::encoded(&self.filler.text(value), UNRESERVED);
                        let pairs: Vec<String> = enabled(list)
                            .map(|one| {
                                format!("{}={}", encoded(&one["key"]), encoded(&one["value"]))
                            })
                            .collect();
                        pairs.join("&")
                    }
                };
                let kind = "application/x-www-form-urlencoded";
                (!text.is_empty()).then(|| FilledBody::new(text, kind))
            }
            "formdata" => {
                let mut parts = Vec::new();
                for one in enabled(of) {
                    self.parts(one, &mut parts)?;
                }
                let (boundary, bytes) = form::body(&parts, true);
                (!parts.is_empty()).then(|| FilledBody {
                    replaces: true,
                    ..FilledBody::new(bytes, &format!("{}; boundary={boundary}", form::KIND))
                })
            }
            "file" => {
                let bytes = match (&of["src"], &of["content"]) {
                    (Value::String(src), _) => self.file(src)?,
                    (_, Value::String(text)) => self.filler.filled(text).into_bytes(),
                    _ => return Err("a body of a file, which is not named".into()),
                };
                Some(FilledBody {
                    bytes,
                    kind: None,
                    replaces: false,
                })
            }
            "graphql" => {
                let text = self.graphql(of)?;
                Some(FilledBody::new(text, "application/json"))
            }
            "" => None,
            other => return Err(format!("a body of the kind {other:?}").into()),
        })
    }

    /// A field of a form as its parts: a text, or files.
    fn parts(&mut self, one: &Value, parts: &mut Vec<FormPart>) -> Result<(), Skip> {
        let name = self.filler.text(&one["key"]);
        let kind = match self.filler.text(&one["contentType"]) {
            kind if kind.is_empty() => None,
            kind => Some(kind),
        };
        if kind
            .as_ref()
            .is_some_and(|kind| kind.contains(['\r', '\n']))
        {
            return Err("a part of a form whose content type has a line end".into());
        }
        if one["type"] != "file" {
            let text = self.filler.text(&one["value"]);
            parts.push(FormPart::new(&name, None, kind, text.into_bytes()));
            return Ok(());
        }
        let files: Vec<&str> = match &one["src"] {
            Value::String(src) => vec![src],
            Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if files.is_empty() {
            return Err(
                format!("the field {name:?} of its form is a file that is not named").into(),
            );
        }
        for src in files {
            let content = self.file(src)?;
            let file = src.rsplit(['/', '\\']).next().unwrap_or(src).to_owned();
            let kind = kind.clone().unwrap_or_else(|| form::type_of(&file).into());
            parts.push(FormPart::new(&name, Some(file), Some(kind), content));
        }
        Ok(())
    }

    /// The content of a file: where the collection says, or in the folder of the collection.
    fn file(&mut self, src: &str) -> Result<Vec<u8>, Skip> {
        let src = self.filler.filled(src);
        let name = src.rsplit(['/', '\\']).next().unwrap_or(&src);
        let here = [self.folder.join(&src), self.folder.join(name)];
        // What is no plain file may have no end.
        let Some(path) = here.iter().find(|path| path.is_file()) else {
            return Err(format!(
                "no file {src}, and none {name:?} in the folder of the collection"
            )
            .into());
        };
        let mut bytes = Vec::new();
        let read = std::fs::File::open(path)
            .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            return Err(format!("cannot read {src}: {error}").into());
        }
        if bytes.len() as u64 > LONGEST {
            return Err(format!("{src} is longer than 64 MiB").into());
        }
        let marks = [OPEN as u8, CLOSE as u8];
        self.filler.raw_marks |= bytes.iter().any(|byte| marks.contains(byte));
        Ok(bytes)
    }

    /// A query of GraphQL, as Postman sends it.
    fn graphql(&self, of: &Value) -> Result<String, Skip> {
        let mut all = Map::new();
        let query = self.filler.text(&of["query"]);
        all.insert("query".into(), query.into());
        let name = self.filler.text(&of["operationName"]);
        if !name.is_empty() {
            all.insert("operationName".into(), name.into());
        }
        let mut text = values::json(&Value::Object(all));
        // Not parsed: values may stand in it without quotes.
        let variables = self.filler.text(&of["variables"]);
        if !variables.trim().is_empty() {
            text.pop();
            text += &format!(",\"variables\":{}}}", variables.trim());
        }
        Ok(text)
    }
}
