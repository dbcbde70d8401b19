//! Credentials of a collection: of the request, or of the nearest folder that has some.

use super::{CollectionReader, Skip, entry};
use crate::requests::from::address::Fields;
use crate::requests::from::openapi::style::sendable;
use crate::requests::from::openapi::values::filled as value_of;
use crate::requests::from::{CLOSE, OPEN, is_mark};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

impl CollectionReader<'_> {
    /// Adds credentials to the fields or the query.
    pub(super) fn auth(
        &mut self,
        auth: &Value,
        fields: &mut Fields,
        path: &mut String,
        shown: &str,
    ) -> Result<(), Skip> {
        let kind = auth["type"].as_str().unwrap_or_default();
        let of = &auth[kind];
        let mut set = |name: &str, value: String| {
            fields.retain(|field| !field.0.eq_ignore_ascii_case(name));
            fields.push((name.to_owned(), value));
        };
        match kind {
            "" | "noauth" => {}
            "bearer" => {
                let token = self.filler.text(entry(of, "token"));
                set("Authorization", format!("Bearer {token}"));
            }
            "basic" => {
                let name = self.filler.text(entry(of, "username"));
                let password = self.filler.text(entry(of, "password"));
                set("Authorization", basic(&format!("{name}:{password}"))?);
            }
            "apikey" => {
                let name = self.filler.text(entry(of, "key"));
                let value = self.filler.text(entry(of, "value"));
                if name.is_empty() {
                    self.note(shown, "skipped: an API key without a name");
                } else if entry(of, "in") == "query" {
                    let before = if path.contains('?') { '&' } else { '?' };
                    *path += &sendable(&format!("{before}{name}={value}"));
                } else {
                    set(&name, value);
                }
            }
            other => self.note(
                shown,
                format!("skipped: credentials of type {other}, to be added to its headers"),
            ),
        }
        Ok(())
    }
}

/// The value of `Authorization` for name and password, which may change.
fn basic(user: &str) -> Result<String, Skip> {
    if !user.contains(is_mark) {
        return Ok(format!("Basic {}", BASE64.encode(user)));
    }
    if user.contains(['{', '}']) {
        return Err("name and password with braces and with values that change".into());
    }
    let inner = user.replace(OPEN, "{").replace(CLOSE, "}");
    Ok(format!("Basic {}", value_of(&format!("base64 {inner}"))))
}
