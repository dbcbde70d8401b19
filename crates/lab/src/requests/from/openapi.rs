//! Descriptions of interfaces: `OpenAPI` 3, in JSON or YAML. One request for each operation, with values
//! where the description says what they are.

mod files;
mod pattern;
pub(super) mod style;
pub(super) mod values;

pub(super) use values::NUMBER;

use super::{
    CLOSE, FoundRequest, FoundRequests, Note, OPEN, ReadContext, form, json, split_url,
    without_marks,
};
use regex::Regex;
use serde_json::{Map, Value};
use std::cell::RefCell;
use std::sync::LazyLock;
use style::Style;

const METHODS: [&str; 8] = [
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];
/// A whole number of more than 64 bits at the end of a line.
static LONG: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)(: *-?\d{19,}) *$").expect("a constant expression"));
/// How deep schemas and references are followed: they may contain themselves.
const DEEP: usize = 6;

pub(super) fn is(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("openapi:") || line.contains("\"openapi\""))
}

/// A document in JSON or YAML.
fn document(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    match text.trim_start().starts_with('{') {
        true => json(text),
        false => {
            let read = |error: serde_norway::Error| error.to_string();
            let mut yaml: serde_norway::Value = match serde_norway::from_str(text) {
                Ok(yaml) => yaml,
                // Whole numbers beyond 64 bits, which some bounds are.
                Err(error) if error.to_string().contains("128") => {
                    let long = LONG.replace_all(text, "$1.0");
                    serde_norway::from_str(&long).map_err(read)?
                }
                Err(error) => return Err(read(error)),
            };
            yaml.apply_merge().map_err(read)?;
            Ok(as_json(yaml))
        }
    }
}

/// YAML as JSON has it: keys are texts, such as those of `200: {}`, and numbers may be too large for whole ones.
fn as_json(yaml: serde_norway::Value) -> Value {
    match yaml {
        serde_norway::Value::Null => Value::Null,
        serde_norway::Value::Bool(it) => it.into(),
        serde_norway::Value::Number(it) => match (it.as_i64(), it.as_u64()) {
            (Some(it), _) => it.into(),
            (None, Some(it)) => it.into(),
            (None, None) => it.as_f64().into(),
        },
        serde_norway::Value::String(it) => it.into(),
        serde_norway::Value::Sequence(all) => all.into_iter().map(as_json).collect(),
        serde_norway::Value::Mapping(all) => {
            let pair = |(key, value)| (values::plain(&as_json(key)), as_json(value));
            Value::Object(all.into_iter().map(pair).collect())
        }
        serde_norway::Value::Tagged(it) => as_json(it.value),
    }
}

pub(super) fn read(text: &str, context: &ReadContext<'_>) -> Result<FoundRequests, String> {
    let mut document = document(text)?;
    let version = document["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        return Err(format!("it is version {version:?}: 3.0 and 3.1 are read"));
    }
    let notes = files::join(&mut document, context.folder);
    without_marks(&mut document);
    let mut reading = OpenApiReader {
        document: &document,
        requests: Vec::new(),
        notes: RefCell::new(notes),
    };
    let none = Map::new();
    for (path, item) in document["paths"].as_object().unwrap_or(&none) {
        let item = reading.resolved(item, path);
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                let shown = format!("{} {path}", method.to_uppercase());
                let operation = reading.resolved(operation, &shown);
                let sent = reading.operation((method, path), item, operation, &shown);
                match sent {
                    Ok(sent) => reading.requests.push(sent),
                    Err(why) => reading.note(&shown, format!("left out: {why}")),
                }
            }
        }
    }
    Ok(FoundRequests {
        requests: reading.requests,
        notes: reading.notes.into_inner(),
        ..FoundRequests::default()
    })
}

struct OpenApiReader<'a> {
    document: &'a Value,
    requests: Vec<FoundRequest>,
    notes: RefCell<Vec<Note>>,
}

impl<'a> OpenApiReader<'a> {
    fn note(&self, place: &str, what: impl AsRef<str>) {
        self.notes.borrow_mut().push(Note::new(place, what));
    }

    /// The target of a `$ref`.
    fn resolved(&self, value: &'a Value, place: &str) -> &'a Value {
        let mut value = value;
        for _ in 0..DEEP {
            let Some(whole) = value["$ref"].as_str() else {
                break;
            };
            let pointer = whole.strip_prefix('#').map(|at| {
                percent_encoding::percent_decode_str(at)
                    .decode_utf8_lossy()
                    .into_owned()
            });
            match pointer.and_then(|at| self.document.pointer(&at)) {
                Some(found) => value = found,
                None => {
                    let reference = files::shown(whole);
                    self.note(
                        place,
                        format!("{reference} refers to nothing that can be read"),
                    );
                    return &Value::Null;
                }
            }
        }
        value
    }

    /// Origin and path of the first server of an operation, of its path, or of the document.
    fn server(&self, item: &Value, operation: &Value) -> Result<(String, String), String> {
        let all = [operation, item, self.document];
        let servers = all.into_iter().map(|it| &it["servers"][0]);
        let Some(server) = servers.into_iter().find(|server| server.is_object()) else {
            return Ok(Default::default());
        };
        let mut url = server["url"].as_str().unwrap_or_default().to_owned();
        if let Some(variables) = server["variables"].as_object() {
            for (name, variable) in variables {
                let value = variable.get("default").or(variable["enum"].get(0));
                if let Some(value) = value {
                    url = url.replace(&format!("{{{name}}}"), &values::plain(value));
                }
            }
        }
        if let Some((_, after)) = url.split_once('{') {
            let name = after.split('}').next().unwrap_or_default();
            return Err(format!(
                "its server {url} has a variable {name:?} without a default"
            ));
        }
        let without_slash = url.trim_end_matches('/');
        if url.contains("://") {
            let split = split_url(without_slash, false)?;
            return Ok((split.origin, split.path.trim_end_matches('/').to_owned()));
        }
        let path = without_slash.trim_start_matches(['.', '/']);
        let path = match path {
            "" => String::new(),
            path => format!("/{path}"),
        };
        Ok((String::new(), path))
    }

    fn operation(
        &self,
        (method, path): (&str, &str),
        item: &'a Value,
        operation: &'a Value,
        shown: &str,
    ) -> Result<FoundRequest, String> {
        let (origin, prefix) = self.server(item, operation)?;
        // What tells two operations apart, and is not sent; and a query that all requests of the path have.
        let path = path.split('#').next().unwrap_or_default();
        let (path, own_query) = path.split_once('?').unwrap_or((path, ""));
        let name = operation["operationId"].as_str().map(str::to_owned);
        let mut sent = FoundRequest {
            name: name.unwrap_or_else(|| format!("{method} {prefix}{path}")),
            method: method.to_uppercase(),
            origin,
            path: format!("{prefix}{}", style::sendable(path)),
            templates: true,
            status: status(&operation["responses"]),
            ..FoundRequest::default()
        };
        let mut query: Vec<String> = Vec::new();
        if !own_query.is_empty() {
            query.push(style::sendable(own_query));
        }
        let mut cookies: Vec<String> = Vec::new();
        let lists = [&operation["parameters"], &item["parameters"]];
        let all = lists.into_iter().filter_map(Value::as_array).flatten();
        let mut known: Vec<(&str, &str)> = Vec::new();
        for parameter in all.map(|it| self.resolved(it, shown)).collect::<Vec<_>>() {
            let text = |key: &str| parameter[key].as_str().unwrap_or_default();
            let (place, name) = (text("in"), text("name"));
            // What an operation says goes before what its path says.
            if name.is_empty() || known.contains(&(place, name)) {
                continue;
            }
            known.push((place, name));
            let needed = parameter["required"] == true || place == "path";
            let ignored = ["accept", "content-type", "authorization"];
            if !needed || place == "header" && ignored.contains(&&*name.to_lowercase()) {
                continue;
            }
            let of_parameter = |why: String| format!("the {place} {name}: {why}");
            let value = self.parameter(parameter, shown).map_err(of_parameter)?;
            let style = Style::of(parameter, place);
            match place {
                "path" => {
                    let value = style.in_path(name, &value);
                    let place = format!("{{{}}}", style::sendable(name));
                    sent.path = sent.path.replace(&place, &value);
                }
                "query" => query.extend(style.in_query(name, &value)),
                "header" => sent
                    .headers
                    .push((name.to_owned(), style.in_header(&value))),
                "cookie" => cookies.extend(style.in_query(name, &value)),
                other => self.note(shown, format!("the {other} {name} was left out")),
            }
        }
        if let Some((_, after)) = sent.path.split_once('{') {
            let name = after.split('}').next().unwrap_or_default();
            return Err(format!(
                "its path has {{{name}}}, which no parameter describes"
            ));
        }
        if !cookies.is_empty() {
            sent.headers.push(("Cookie".into(), cookies.join("; ")));
        }
        let query: Vec<String> = query.into_iter().filter(|it| !it.is_empty()).collect();
        if !query.is_empty() {
            sent.path = format!("{}?{}", sent.path, query.join("&"));
        }
        self.body(&mut sent, &operation["requestBody"], shown)?;
        let secured = operation.get("security").or(self.document.get("security"));
        let secured = secured.and_then(Value::as_array);
        let open = |all: &Vec<Value>| {
            let none = |it: &Value| it.as_object().is_some_and(Map::is_empty);
            all.is_empty() || all.iter().any(none)
        };
        if secured.is_some_and(|all| !open(all)) {
            self.note(
                shown,
                "it needs credentials, which are to be added to its headers",
            );
        }
        sent.headers = super::once_each(std::mem::take(&mut sent.headers))?;
        Ok(sent)
    }

    fn body(&self, sent: &mut FoundRequest, body: &'a Value, shown: &str) -> Result<(), String> {
        let body = self.resolved(body, shown);
        let Some(content) = body["content"].as_object() else {
            return Ok(());
        };
        let plain = |name: &str| {
            let name = name.split(';').next().unwrap_or_default();
            name.trim().to_ascii_lowercase()
        };
        let kinds: [fn(&str) -> bool; 4] = [
            |name| name == "application/json" || name.ends_with("+json"),
            |name| name.contains("json") || name == "*/*",
            |name| name == "application/x-www-form-urlencoded",
            |name| name == "multipart/form-data",
        ];
        let found = kinds
            .iter()
            .find_map(|kind| content.iter().find(|(name, _)| kind(&plain(name))));
        // Of another kind with an example that is a text.
        let other = || {
            content
                .iter()
                .find(|(_, media)| self.given(media, shown).is_some_and(Value::is_string))
        };
        let Some((name, media)) = found.or_else(other) else {
            let text = content
                .iter()
                .find(|(name, _)| plain(name).starts_with("text/"));
            if let Some((name, media)) = text {
                let value = self.example(&media["schema"], shown, 0)?;
                sent.body = values::plain(&value).into_bytes();
                sent.headers.push(("Content-Type".into(), name.clone()));
                return Ok(());
            }
            let names: Vec<&str> = content.keys().map(String::as_str).collect();
            let what = format!("a body of {}", names.join(" or "));
            if body["required"] == true {
                return Err(what);
            }
            self.note(shown, format!("{what} was left out"));
            return Ok(());
        };
        let value = match self.given(media, shown) {
            Some(value) => value.clone(),
            None => self.example(&media["schema"], shown, 0)?,
        };
        let mut content_type = if name == "*/*" {
            "application/json".to_owned()
        } else {
            name.clone()
        };
        sent.body = match plain(name).as_str() {
            "application/x-www-form-urlencoded" => {
                let style = Style::FORM;
                let fields = value.as_object().into_iter().flatten();
                let fields: Vec<String> = fields
                    .flat_map(|(name, value)| style.in_query(name, value))
                    .collect();
                fields.join("&").into_bytes()
            }
            "multipart/form-data" => {
                let schema = self.resolved(&media["schema"], shown);
                let fields = value.as_object().into_iter().flatten();
                let parts: Vec<form::FormPart> = fields
                    .map(|(name, value)| {
                        let of = self.resolved(&schema["properties"][name], shown);
                        let encoding = media["encoding"][name]["contentType"].as_str();
                        self.part(name, value, of, encoding)
                    })
                    .collect();
                let (boundary, bytes) = form::body(&parts, true);
                content_type = format!("{}; boundary={boundary}", form::KIND);
                bytes
            }
            kind if kind.contains("json") || kind == "*/*" => {
                let schema = self.resolved(&media["schema"], shown);
                match &value {
                    // Some give JSON as a text.
                    Value::String(text)
                        if schema["type"] != "string"
                            && serde_json::from_str::<Value>(text).is_ok() =>
                    {
                        text.clone().into_bytes()
                    }
                    _ => values::json(&value).into_bytes(),
                }
            }
            _ => values::plain(&value).into_bytes(),
        };
        sent.headers.push(("Content-Type".into(), content_type));
        Ok(())
    }

    /// A property as a part of a form.
    fn part(&self, name: &str, value: &Value, of: &Value, kind: Option<&str>) -> form::FormPart {
        let is_file = of["format"] == "binary" || of.get("contentMediaType").is_some();
        let nested = value.is_object() || value.is_array();
        let content = match nested {
            true => values::json(value),
            false => values::plain(value),
        };
        let fallback = match (is_file, nested) {
            (true, _) => Some("application/octet-stream"),
            (false, true) => Some("application/json"),
            (false, false) => None,
        };
        let of_file = of["contentMediaType"].as_str();
        let kind = kind.or(of_file).or(fallback).map(str::to_owned);
        form::FormPart::new(
            name,
            is_file.then(|| "file".to_owned()),
            kind,
            content.into_bytes(),
        )
    }

    /// The example that a parameter or a body gives.
    fn given(&self, of: &'a Value, shown: &str) -> Option<&'a Value> {
        of.get("example").or_else(|| {
            let first = of["examples"].as_object()?.values().next()?;
            self.resolved(first, shown).get("value")
        })
    }

    /// The value of a parameter.
    fn parameter(&self, parameter: &'a Value, shown: &str) -> Result<Value, String> {
        if let Some(value) = self.given(parameter, shown) {
            return Ok(value.clone());
        }
        // One that is written as JSON, or as something else.
        if let Some((name, media)) = parameter["content"]
            .as_object()
            .and_then(|it| it.iter().next())
        {
            let value = match self.given(media, shown) {
                Some(value) => value.clone(),
                None => self.example(&media["schema"], shown, 0)?,
            };
            return Ok(match name.contains("json") && !value.is_string() {
                true => Value::String(values::json(&value)),
                false => value,
            });
        }
        self.example(&parameter["schema"], shown, 0)
    }
}

/// The first status of success that is described.
fn status(responses: &Value) -> Option<u16> {
    let mut all = responses.as_object()?.keys();
    all.find_map(|key| {
        key.parse()
            .ok()
            .filter(|status| (200..300).contains(status))
    })
}
