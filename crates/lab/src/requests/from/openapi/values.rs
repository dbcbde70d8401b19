//! Values that schemas allow.

use super::{CLOSE, DEEP, OPEN, OpenApiReader, pattern};
use serde_json::{Map, Value, json};

/// Stands before a value that is a number, until it is written without quotes.
pub(in crate::requests::from) const NUMBER: char = '\u{3}';

/// A value that requests are filled with.
pub(in crate::requests::from) fn filled(value: &str) -> String {
    format!("{OPEN}{value}{CLOSE}")
}

/// A value as text.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.strip_prefix(NUMBER).unwrap_or(text).to_owned(),
        Value::Null => String::new(),
        Value::Array(_) | Value::Object(_) => json(value),
        other => other.to_string(),
    }
}

/// A value as JSON; numbers that requests are filled with have no quotes.
pub(in crate::requests::from) fn json(value: &Value) -> String {
    let text = value.to_string();
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("\"\\u0003") {
        out += before;
        let (number, behind) = after.split_once('"').unwrap_or((after, ""));
        out += number;
        rest = behind;
    }
    out += rest;
    let out = out.replace("\\u0001", &OPEN.to_string());
    out.replace("\\u0002", &CLOSE.to_string())
}

impl<'a> OpenApiReader<'a> {
    /// A value that a schema allows.
    pub(super) fn example(
        &self,
        schema: &'a Value,
        shown: &str,
        depth: usize,
    ) -> Result<Value, String> {
        let schema = self.resolved(schema, shown);
        if depth > DEEP {
            return Ok(Value::Null);
        }
        for key in ["example", "default", "const"] {
            if let Some(value) = schema.get(key) {
                return Ok(value.clone());
            }
        }
        for key in ["enum", "examples"] {
            let mut all = schema[key].as_array().into_iter().flatten();
            if let Some(value) = all.find(|value| !value.is_null()) {
                return Ok(value.clone());
            }
        }
        if let Some(all) = schema["allOf"].as_array() {
            let mut merged = Map::new();
            for part in all {
                match self.example(part, shown, depth + 1)? {
                    Value::Object(part) => merged.extend(part),
                    // A simple type under another name.
                    other if merged.is_empty() && schema.get("properties").is_none() => {
                        return Ok(other);
                    }
                    _ => {}
                }
            }
            if schema.get("properties").is_some() {
                merged.extend(self.object(schema, shown, depth)?);
            }
            return Ok(Value::Object(merged));
        }
        for key in ["oneOf", "anyOf"] {
            let mut all = schema[key].as_array().into_iter().flatten();
            if let Some(first) = all.find(|it| it["type"] != "null") {
                let value = self.example(first, shown, depth + 1)?;
                let Value::Object(mut value) = value else {
                    return Ok(value);
                };
                value.extend(self.object(schema, shown, depth)?);
                return Ok(Value::Object(value));
            }
        }
        let mut kinds = schema["type"].as_array().into_iter().flatten();
        let kind = schema["type"]
            .as_str()
            .or_else(|| kinds.find_map(|kind| kind.as_str().filter(|kind| *kind != "null")));
        let guessed = [
            ("properties", "object"),
            ("items", "array"),
            ("additionalProperties", "object"),
        ];
        let guessed = guessed.iter().find(|(key, _)| schema.get(key).is_some());
        match kind.or(guessed.map(|(_, kind)| *kind)).unwrap_or("string") {
            "object" => Ok(Value::Object(self.object(schema, shown, depth)?)),
            "array" => {
                let least = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 1_000);
                let all: Result<Vec<Value>, String> = (0..least)
                    .map(|_| self.example(&schema["items"], shown, depth + 1))
                    .collect();
                let all = all?;
                if schema["uniqueItems"] == true
                    && least > 1
                    && !all[0].to_string().contains("\\u0001")
                {
                    return Err(format!("an array of {least} different values"));
                }
                Ok(Value::Array(all))
            }
            "integer" => number(schema, true),
            "number" => number(schema, false),
            "boolean" => Ok(json!(true)),
            "null" => Ok(Value::Null),
            _ => string(schema),
        }
    }

    fn object(
        &self,
        schema: &'a Value,
        shown: &str,
        depth: usize,
    ) -> Result<Map<String, Value>, String> {
        let mut object = Map::new();
        let required = schema["required"].as_array();
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let needed = required.is_none_or(|all| all.contains(&json!(name)));
            if !needed || self.resolved(property, shown)["readOnly"] == true {
                continue;
            }
            match self.example(property, shown, depth + 1) {
                Ok(value) => {
                    object.insert(name.clone(), value);
                }
                // It need not be there.
                Err(_) if required.is_none() => {}
                Err(why) => return Err(format!("{name}: {why}")),
            }
        }
        Ok(object)
    }
}

/// A number within its bounds, drawn anew for each request where it is a whole one.
fn number(schema: &Value, whole: bool) -> Result<Value, String> {
    let bound = |key: &str| schema[key].as_f64();
    // In OpenAPI 3.0 `exclusiveMinimum: true` stands beside `minimum`.
    let low = bound("exclusiveMinimum").or(bound("minimum"));
    let high = bound("exclusiveMaximum").or(bound("maximum"));
    let open = |key: &str| schema[key] == true || schema[key].is_number();
    let first = low.map_or(1.0, |low| match open("exclusiveMinimum") {
        true => low.floor() + 1.0,
        false => low.ceil(),
    });
    let last = match high {
        Some(high) if open("exclusiveMaximum") => high.ceil() - 1.0,
        Some(high) => high.floor(),
        None => first.max(1.0) * 1_000.0,
    };
    // Without a lower bound it may be below one.
    let first = if low.is_none() {
        first.min(last)
    } else {
        first
    };
    if let Some(step) = bound("multipleOf").filter(|step| *step > 0.0 && *step != 1.0) {
        let value = (first / step).ceil() * step;
        let fits = value <= high.unwrap_or(f64::INFINITY);
        return match fits {
            true if value.fract() == 0.0 => Ok(json!(value as i64)),
            true if !whole => Ok(json!(value)),
            _ => Err(format!("no multiple of {step} within its bounds")),
        };
    }
    if first <= last {
        let (first, last) = (first as i64, last as i64);
        return Ok(json!(format!(
            "{NUMBER}{}",
            filled(&format!("int {first} {last}"))
        )));
    }
    match (low, high) {
        (Some(low), Some(high)) if !whole && low <= high => Ok(json!(f64::midpoint(low, high))),
        _ => Err("no number within its bounds".into()),
    }
}

fn string(schema: &Value) -> Result<Value, String> {
    let length = |key: &str| schema[key].as_u64().map(|n| n as usize);
    let shortest = length("minLength").unwrap_or(0);
    let longest = length("maxLength").unwrap_or(usize::MAX);
    if let Some(pattern) = schema["pattern"].as_str() {
        return pattern::matching(pattern, shortest, longest)
            .map(Value::String)
            .ok_or_else(|| format!("no text is found that matches its pattern {pattern}"));
    }
    let formatted = match schema["format"].as_str().unwrap_or_default() {
        "uuid" => filled("uuid"),
        "date-time" => "2026-01-01T00:00:00Z".into(),
        "date" => "2026-01-01".into(),
        "time" => "00:00:00Z".into(),
        "duration" => "P1D".into(),
        "email" => format!("user{}@example.com", filled("seq")),
        "uri" | "url" | "iri" => "https://example.com/".into(),
        "hostname" => "example.com".into(),
        "ipv4" => "192.0.2.1".into(),
        "ipv6" => "2001:db8::1".into(),
        "byte" => "dGV4dA==".into(),
        _ => {
            let text = "text".chars().cycle();
            let wanted = 4.max(shortest).min(longest);
            if shortest > longest {
                return Err("no text is as long as it must be".into());
            }
            return Ok(Value::String(text.take(wanted.min(1_000_000)).collect()));
        }
    };
    let bare = formatted.replace([OPEN, CLOSE], "");
    if bare.chars().count() > longest {
        let format = &schema["format"];
        return Err(format!("no {format} has at most {longest} characters"));
    }
    Ok(Value::String(formatted))
}
