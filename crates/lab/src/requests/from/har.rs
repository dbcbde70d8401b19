//! Recordings of browsers: HTTP Archive 1.2.

use super::{Found, Sent, is_own, taken_apart};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct File {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
    response: Option<Response>,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    #[serde(rename = "postData")]
    body: Option<Body>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: String,
    /// `base64`, where a recorder says so of binary bodies.
    #[serde(alias = "_encoding")]
    encoding: Option<String>,
    #[serde(default)]
    params: Vec<Pair>,
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status: i64,
}

pub(super) fn is(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with('{') && text.contains("\"log\"") && text.contains("\"entries\"")
}

pub(super) fn read(text: &str, _: &Path) -> Result<Found, String> {
    let text = text.trim_start_matches('\u{feff}');
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut found = Found::default();
    for entry in file.log.entries {
        let url = entry.request.url.clone();
        match sent(entry) {
            Ok(sent) => found.requests.push(sent),
            Err(why) => found.notes.push(match why.starts_with(&url) {
                true => why,
                false => format!("{url}: {why}"),
            }),
        }
    }
    Ok(found)
}

fn sent(entry: Entry) -> Result<Sent, String> {
    let Request {
        method,
        url,
        headers,
        body,
    } = entry.request;
    let (origin, path) = taken_apart(&url)?;
    let mut fields: Vec<(String, String)> = headers
        .into_iter()
        .map(|pair| (pair.name, pair.value))
        .filter(|(name, _)| !is_own(name))
        .collect();
    let mut bytes = Vec::new();
    if let Some(body) = body {
        let typed = fields
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        if !typed && !body.mime_type.is_empty() {
            fields.push(("Content-Type".into(), body.mime_type.clone()));
        }
        bytes = content(body)?;
    }
    Ok(Sent {
        method,
        origin,
        path,
        headers: super::once_each(fields)?,
        body: bytes,
        // 0: there was no answer.
        status: entry
            .response
            .and_then(|response| u16::try_from(response.status).ok())
            .filter(|status| (100..1_000).contains(status)),
        ..Sent::default()
    })
}

fn content(body: Body) -> Result<Vec<u8>, String> {
    if body.encoding.as_deref() == Some("base64") {
        let bytes = BASE64.decode(body.text.trim());
        return bytes.map_err(|error| format!("the body is not base64: {error}"));
    }
    if !body.text.is_empty() || body.params.is_empty() {
        return Ok(body.text.into_bytes());
    }
    match body
        .mime_type
        .starts_with("application/x-www-form-urlencoded")
    {
        true => {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            for pair in &body.params {
                form.append_pair(&pair.name, &pair.value);
            }
            Ok(form.finish().into_bytes())
        }
        false => Err(format!(
            "a form of {} was recorded without its text",
            body.mime_type
        )),
    }
}
