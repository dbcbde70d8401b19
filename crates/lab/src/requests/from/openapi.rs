//! Descriptions of interfaces: `OpenAPI` 3, in JSON or YAML. One request for each operation, with values
//! where the description says what they are.

use super::{Found, Sent};
use serde_json::{Map, Value, json};
use std::path::Path;

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];
/// How deep schemas are followed: they may contain themselves.
const DEEP: usize = 6;

pub(super) fn is(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    lines.any(|line| line.starts_with("openapi:") || line.contains("\"openapi\""))
}

pub(super) fn read(text: &str, _: &Path) -> Result<Found, String> {
    let mut document: Value = match text.trim_start().starts_with('{') {
        true => serde_json::from_str(text).map_err(|error| error.to_string())?,
        false => serde_norway::from_str(text).map_err(|error| error.to_string())?,
    };
    let braces = part_braces(&mut document);
    let version = document["openapi"].as_str().unwrap_or_default();
    if !version.starts_with("3.") {
        return Err(format!("it is version {version:?}: 3.0 and 3.1 are read"));
    }
    let mut reading = Reading {
        document: &document,
        found: Found::default(),
    };
    if braces {
        reading.note("texts with {{", "it would be a value, and was made { {");
    }
    let (origin, prefix) = reading.server();
    let none = Map::new();
    for (path, item) in document["paths"].as_object().unwrap_or(&none) {
        let item = reading.resolved(item);
        for method in METHODS {
            if let Some(operation) = item.get(method) {
                reading.operation(
                    method,
                    (&origin, &format!("{prefix}{path}")),
                    item,
                    operation,
                );
            }
        }
    }
    Ok(reading.found)
}

/// Parts double braces in all texts, which would be values in a file of requests. Were there any?
fn part_braces(value: &mut Value) -> bool {
    // Every text is looked at, whatever was found before.
    let any = |of: &mut dyn Iterator<Item = &mut Value>| {
        let mut any = false;
        for value in of {
            any |= part_braces(value);
        }
        any
    };
    match value {
        Value::String(text) if text.contains("{{") => {
            *text = text.replace("{{", "{ {");
            true
        }
        Value::Array(all) => any(&mut all.iter_mut()),
        Value::Object(all) => any(&mut all.values_mut()),
        _ => false,
    }
}

struct Reading<'a> {
    document: &'a Value,
    found: Found,
}

impl<'a> Reading<'a> {
    fn note(&mut self, name: &str, what: &str) {
        self.found.notes.push(format!("{name}: {what}"));
    }

    /// What a `$ref` within the document refers to.
    fn resolved(&self, value: &'a Value) -> &'a Value {
        let mut value = value;
        for _ in 0..DEEP {
            let Some(at) = value["$ref"].as_str().and_then(|at| at.strip_prefix('#')) else {
                break;
            };
            value = self.document.pointer(at).unwrap_or(&Value::Null);
        }
        value
    }

    /// Origin and path of the first server.
    fn server(&mut self) -> (String, String) {
        let url = self.document["servers"][0]["url"]
            .as_str()
            .unwrap_or_default();
        let url = url.trim_end_matches('/');
        match super::taken_apart(url) {
            Ok((origin, path)) => (origin, path.trim_end_matches('/').to_owned()),
            Err(_) if url.starts_with('/') && !url.contains('{') => (String::new(), url.to_owned()),
            Err(_) => {
                if !url.is_empty() {
                    self.note(url, "a server's URL with variables");
                }
                (String::new(), String::new())
            }
        }
    }

    fn operation(
        &mut self,
        method: &str,
        (origin, path): (&str, &str),
        item: &'a Value,
        operation: &'a Value,
    ) {
        let name = operation["operationId"].as_str().map(str::to_owned);
        let name = name.unwrap_or_else(|| format!("{method} {path}"));
        let shown = format!("{} {path}", method.to_uppercase());
        let mut sent = Sent {
            name,
            method: method.to_uppercase(),
            origin: origin.to_owned(),
            path: path.replace(' ', "%20"),
            templates: true,
            status: status(&operation["responses"]),
            ..Sent::default()
        };
        let mut query = Vec::new();
        let lists = [&operation["parameters"], &item["parameters"]];
        let all = lists.into_iter().filter_map(Value::as_array).flatten();
        let mut known: Vec<(&str, &str)> = Vec::new();
        for parameter in all.map(|it| self.resolved(it)).collect::<Vec<_>>() {
            let text = |key: &str| parameter[key].as_str().unwrap_or_default();
            let (place, name) = (text("in"), text("name"));
            // What an operation says goes before what its path says.
            if known.contains(&(place, name)) {
                continue;
            }
            known.push((place, name));
            let needed = parameter["required"] == true || place == "path";
            if !needed {
                continue;
            }
            let value = self.parameter(parameter);
            match place {
                "path" => sent.path = sent.path.replace(&format!("{{{name}}}"), &encoded(&value)),
                "query" => query.push(format!("{}={}", encoded(name), encoded(&value))),
                "header" => sent.headers.push((name.to_owned(), value)),
                _ => self.note(&shown, &format!("the {place} {name}")),
            }
        }
        if !query.is_empty() {
            sent.path = format!("{}?{}", sent.path, query.join("&"));
        }
        self.body(&mut sent, &operation["requestBody"], &shown);
        let secured = operation.get("security").or(self.document.get("security"));
        if secured
            .and_then(Value::as_array)
            .is_some_and(|all| !all.is_empty())
        {
            self.note(
                &shown,
                "it needs credentials, which are to be added to its headers",
            );
        }
        match super::once_each(std::mem::take(&mut sent.headers)) {
            Ok(headers) => {
                sent.headers = headers;
                self.found.requests.push(sent);
            }
            Err(why) => self.note(&shown, &why),
        }
    }

    fn body(&mut self, sent: &mut Sent, body: &'a Value, shown: &str) {
        let body = self.resolved(body);
        let Some(content) = body["content"].as_object() else {
            return;
        };
        let is_json = |name: &str| name.contains("json");
        let Some((name, media)) = content.iter().find(|(name, _)| is_json(name)) else {
            let names: Vec<&str> = content.keys().map(String::as_str).collect();
            self.note(shown, &format!("a body of {}", names.join(" or ")));
            return;
        };
        let first = |all: &'a Value| all.as_object()?.values().next();
        let example = media.get("example").or_else(|| {
            let example = self.resolved(first(&media["examples"])?);
            example.get("value")
        });
        let (value, templated) = match example {
            Some(value) => (value.clone(), false),
            None => (self.example(&media["schema"], 0), true),
        };
        let mut text = serde_json::to_string(&value).unwrap_or_default();
        if templated {
            text = bare_numbers(&text);
        }
        sent.body = text.into_bytes();
        sent.headers.push(("Content-Type".into(), name.clone()));
    }

    /// The value of a parameter.
    fn parameter(&self, parameter: &'a Value) -> String {
        let example = parameter.get("example").or_else(|| {
            let all = parameter["examples"].as_object()?;
            self.resolved(all.values().next()?).get("value")
        });
        let value = match example {
            Some(value) => value.clone(),
            None => self.example(&parameter["schema"], 0),
        };
        match value {
            Value::String(text) => text.strip_prefix(NUMBER).unwrap_or(&text).to_owned(),
            Value::Array(all) => all.first().map_or(String::new(), plain),
            other => plain(&other),
        }
    }

    /// A value that a schema allows.
    fn example(&self, schema: &'a Value, depth: usize) -> Value {
        let schema = self.resolved(schema);
        if depth > DEEP {
            return Value::Null;
        }
        for key in ["example", "default", "const"] {
            if let Some(value) = schema.get(key) {
                return value.clone();
            }
        }
        for key in ["enum", "examples"] {
            if let Some(value) = schema[key].get(0) {
                return value.clone();
            }
        }
        if let Some(all) = schema["allOf"].as_array() {
            let mut merged = Map::new();
            for part in all {
                if let Value::Object(part) = self.example(part, depth + 1) {
                    merged.extend(part);
                }
            }
            return Value::Object(merged);
        }
        for key in ["oneOf", "anyOf"] {
            if let Some(first) = schema[key].get(0) {
                return self.example(first, depth + 1);
            }
        }
        let kind = schema["type"].as_str().or(schema["type"][0].as_str());
        let object = schema.get("properties").map(|_| "object");
        match kind.or(object).unwrap_or("string") {
            "object" => {
                let mut object = Map::new();
                if let Some(properties) = schema["properties"].as_object() {
                    let required = schema["required"].as_array();
                    for (name, property) in properties {
                        let needed = required.is_none_or(|all| all.contains(&json!(name)));
                        let made_by_server = self.resolved(property)["readOnly"] == true;
                        if needed && !made_by_server {
                            object.insert(name.clone(), self.example(property, depth + 1));
                        }
                    }
                }
                Value::Object(object)
            }
            "array" => json!([self.example(&schema["items"], depth + 1)]),
            "integer" | "number" => {
                let bound = |key: &str| schema[key].as_i64();
                let low = bound("minimum").unwrap_or(1);
                let high = bound("maximum").unwrap_or(low.max(1).saturating_mul(1_000));
                json!(format!("{NUMBER}{{{{int {low} {}}}}}", high.max(low)))
            }
            "boolean" => json!(true),
            "null" => Value::Null,
            _ => json!(match schema["format"].as_str() {
                Some("uuid") => "{{uuid}}",
                Some("date-time") => "2026-01-01T00:00:00Z",
                Some("date") => "2026-01-01",
                Some("email") => "user{{seq}}@example.com",
                _ => "text",
            }),
        }
    }
}

/// Stands before a template that is a number, until it is written without quotes.
const NUMBER: &str = "\u{1}";

/// Numbers that are templates, without the quotes that JSON gives to them.
fn bare_numbers(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\"\\u0001") {
        out += before;
        let (number, behind) = after.split_once('"').unwrap_or((after, ""));
        out += number;
        rest = behind;
    }
    out + rest
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.strip_prefix(NUMBER).unwrap_or(text).to_owned(),
        other => other.to_string(),
    }
}

/// A value as it stands in a path or query; a template is left alone.
fn encoded(value: &str) -> String {
    match value.contains("{{") {
        true => value.to_owned(),
        false => percent_encoding::utf8_percent_encode(value, super::super::template::UNRESERVED)
            .to_string(),
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
