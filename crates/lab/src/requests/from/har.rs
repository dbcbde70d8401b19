//! Recordings of browsers: HTTP Archive 1.2.

use super::{FoundRequest, FoundRequests, Note, headers_of, split_url};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Deserialize)]
struct File {
    log: HarLog,
}

#[derive(Deserialize)]
struct HarLog {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: HarRequest,
    response: Option<Response>,
    /// Chrome's kind of an entry: `websocket`, `xhr` and so on.
    #[serde(rename = "_resourceType", default)]
    kind: Option<String>,
}

#[derive(Deserialize)]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarPair>,
    #[serde(default)]
    cookies: Vec<HarPair>,
    #[serde(rename = "postData")]
    body: Option<HarBody>,
}

#[derive(Deserialize)]
struct HarPair {
    name: String,
    #[serde(default)]
    value: String,
    /// The name of the file that a part of a form is.
    #[serde(default, rename = "fileName")]
    file: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarBody {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: String,
    /// `base64`, where a recorder says so of binary bodies.
    #[serde(alias = "_encoding")]
    encoding: Option<String>,
    #[serde(default, deserialize_with = "null_is_none")]
    params: Vec<HarPair>,
}

fn null_is_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<HarPair>, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
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

pub(super) fn read(text: &str, _: &Path) -> Result<FoundRequests, String> {
    let text = text.trim_start_matches('\u{feff}');
    let file: File = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut found = FoundRequests::default();
    // What a page has in itself is not asked of a server.
    let mut within: BTreeMap<String, usize> = BTreeMap::new();
    for (number, entry) in (1..).zip(file.log.entries) {
        let url = entry.request.url.clone();
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        if ["data", "blob", "about", "file"].contains(&scheme) || scheme.ends_with("-extension") {
            *within.entry(scheme.to_owned()).or_default() += 1;
            continue;
        }
        let place = format!("entry {number}, {} {url}", entry.request.method);
        // The page itself: what a redirect leads to, if that is where it began.
        let is_page = found.server.is_none() && !is_redirect(&entry);
        let mut notes = Vec::new();
        match sent(entry, &mut notes) {
            Ok(sent) => {
                if is_page {
                    found.server = Some(sent.origin.clone());
                }
                found.requests.push(sent);
            }
            Err(why) => notes.push(why),
        }
        let plain = |why: String| match why.strip_prefix(&format!("{url}: ")) {
            Some(rest) => Note::new(&place, rest),
            None => Note::new(&place, why),
        };
        found.notes.extend(notes.into_iter().map(plain));
    }
    for (scheme, n) in within {
        let entries = if n == 1 { "entry" } else { "entries" };
        let why = format!("{n} {entries} of {scheme}:, which no server is asked for");
        found.notes.push(Note::new("", why));
    }
    Ok(found)
}

fn is_redirect(entry: &Entry) -> bool {
    let response = entry.response.as_ref();
    response.is_some_and(|it| matches!(it.status, 301 | 302 | 303 | 307 | 308))
}

fn sent(entry: Entry, notes: &mut Vec<String>) -> Result<FoundRequest, String> {
    let HarRequest {
        method,
        url,
        headers,
        cookies,
        body,
    } = entry.request;
    if entry.kind.as_deref() == Some("websocket") {
        return Err("a WebSocket: prony load ws://… sends messages".into());
    }
    let split = split_url(&url, false)?;
    let mut fields: Vec<(String, String)> = headers
        .into_iter()
        .map(|pair| (pair.name, pair.value))
        .collect();
    let has = |fields: &[(String, String)], name: &str| {
        let mut names = fields.iter().map(|(known, _)| known);
        names.any(|known| known.eq_ignore_ascii_case(name))
    };
    // Some recorders have cookies in their own list only.
    if !cookies.is_empty() && !has(&fields, "cookie") {
        let pairs = cookies.iter().map(|it| format!("{}={}", it.name, it.value));
        let pairs: Vec<String> = pairs.collect();
        fields.push(("Cookie".into(), pairs.join("; ")));
    }
    if let Some(user) = &split.user
        && !has(&fields, "authorization")
    {
        let user = percent_decode_str(user).decode_utf8_lossy();
        let colon = if user.contains(':') { "" } else { ":" };
        let value = format!("Basic {}", BASE64.encode(format!("{user}{colon}")));
        fields.push(("Authorization".into(), value));
    }
    let mut bytes = Vec::new();
    if let Some(body) = body {
        if !has(&fields, "content-type") && !body.mime_type.is_empty() {
            fields.push(("Content-Type".into(), body.mime_type.clone()));
        }
        bytes = content(body, &fields)?;
    }
    let (headers, left) = headers_of(fields, &split)?;
    notes.extend(left);
    Ok(FoundRequest {
        method,
        origin: split.origin,
        path: split.path,
        headers,
        body: bytes,
        // 0: there was no answer.
        status: entry
            .response
            .and_then(|response| u16::try_from(response.status).ok())
            .filter(|status| (100..1_000).contains(status)),
        ..FoundRequest::default()
    })
}

fn content(body: HarBody, fields: &[(String, String)]) -> Result<Vec<u8>, String> {
    if body.encoding.as_deref() == Some("base64") {
        let bytes = BASE64.decode(body.text.trim());
        return bytes.map_err(|error| format!("the body is not base64: {error}"));
    }
    if !body.text.is_empty() || body.params.is_empty() {
        return bytes_of(body.text, &body.mime_type);
    }
    let mut kinds = fields
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let kind = kinds
        .next()
        .map_or(body.mime_type.as_str(), |(_, kind)| kind);
    if kind.starts_with("application/x-www-form-urlencoded") {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        for pair in &body.params {
            form.append_pair(&decoded(&pair.name), &decoded(&pair.value));
        }
        return Ok(form.finish().into_bytes());
    }
    match kind.split_once("boundary=") {
        Some((_, boundary)) if body.params.iter().all(|pair| pair.file.is_none()) => {
            let boundary = boundary.split(';').next().unwrap_or_default();
            let boundary = boundary.trim().trim_matches('"');
            let mut out = String::new();
            for pair in &body.params {
                let name = pair.name.replace('"', "%22");
                out += &format!(
                    "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{}\r\n",
                    pair.value
                );
            }
            Ok(format!("{out}--{boundary}--\r\n").into_bytes())
        }
        _ => Err(format!("a form of {kind} was recorded without its text")),
    }
}

/// Chrome's fields of a form are percent-encoded, and others' are not.
fn decoded(text: &str) -> String {
    let plain = text.bytes().all(|byte| byte.is_ascii_graphic());
    let escapes = text.contains('%') && plain && !text.contains(['&', '=']);
    match percent_decode_str(&text.replace('+', " ")).decode_utf8() {
        Ok(decoded) if escapes => decoded.into_owned(),
        _ => text.to_owned(),
    }
}

/// The bytes of a recorded text. Chrome records a body of bytes as a text whose characters are bytes; what is a type of text is
/// in UTF-8.
fn bytes_of(text: String, mime_type: &str) -> Result<Vec<u8>, String> {
    let kind = mime_type.to_ascii_lowercase();
    let is_text = kind.is_empty()
        || kind.starts_with("text/")
        || [
            "json",
            "xml",
            "urlencoded",
            "javascript",
            "graphql",
            "utf-8",
        ]
        .iter()
        .any(|word| kind.contains(word));
    if text.is_ascii() || is_text {
        return Ok(text.into_bytes());
    }
    if text.contains('\u{fffd}') {
        return Err("a body of bytes was recorded as text, in which some are lost".into());
    }
    let bytes: Option<Vec<u8>> = text
        .chars()
        .map(|c| u8::try_from(u32::from(c)).ok())
        .collect();
    Ok(bytes.unwrap_or_else(|| text.into_bytes()))
}
