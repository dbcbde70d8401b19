//! Recordings of browsers: HTTP Archive 1.2.

use super::form::{self, FormPart};
use super::{FoundRequest, FoundRequests, Note, ReadContext, basic, headers_of, json, split_url};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use percent_encoding::percent_decode_str;
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    log: HarLog<'a>,
}

/// Pages and their titles are optional, as proxies and programs record none.
#[derive(Deserialize)]
struct HarLog<'a> {
    #[serde(default, deserialize_with = "or_default")]
    pages: Vec<IgnoredAny>,
    /// Each read for itself: some recorders write one that lacks something.
    #[serde(borrow)]
    entries: Vec<&'a RawValue>,
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
    #[serde(default, deserialize_with = "or_default")]
    headers: Vec<HarPair>,
    #[serde(default, deserialize_with = "or_default")]
    cookies: Vec<HarPair>,
    #[serde(rename = "postData")]
    body: Option<HarBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarPair {
    name: String,
    value: Option<String>,
    /// The name of the file that a part of a form is.
    file_name: Option<String>,
    /// Content type of a part of a form.
    content_type: Option<String>,
    /// `base64`, where a recorder says so of a part.
    #[serde(alias = "_encoding")]
    encoding: Option<String>,
}

impl HarPair {
    fn value(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarBody {
    #[serde(default, deserialize_with = "or_default")]
    mime_type: String,
    #[serde(default, deserialize_with = "or_default")]
    text: String,
    /// `base64`, where a recorder says so of binary bodies.
    #[serde(alias = "_encoding")]
    encoding: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    params: Vec<HarPair>,
}

/// Null as nothing.
fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

#[derive(Deserialize)]
struct Response {
    #[serde(default)]
    status: i64,
    content: Option<HarContent>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarContent {
    mime_type: Option<String>,
}

pub(super) fn is(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.starts_with('{') && text.contains("\"log\"") && text.contains("\"entries\"")
}

pub(super) fn read(text: &str, _: &ReadContext<'_>) -> Result<FoundRequests, String> {
    let File { log } = json(text.trim_start_matches('\u{feff}'))?;
    let mut found = FoundRequests::default();
    // What a page has in itself is not asked of a server.
    let mut within: BTreeMap<String, Note> = BTreeMap::new();
    // Without pages, a request for a document is one.
    let has_pages = !log.pages.is_empty();
    for (number, entry) in (1..).zip(log.entries) {
        let entry: Entry = match json(entry.get()) {
            Ok(entry) => entry,
            Err(why) => {
                let why = why.split(" at line ").next().unwrap_or(&why);
                let why = format!("skipped: its entry cannot be read: {why}");
                found.notes.push(Note::new(format!("entry {number}"), why));
                continue;
            }
        };
        let url = entry.request.url.clone();
        let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
        if ["data", "blob", "about", "file"].contains(&scheme) || scheme.ends_with("-extension") {
            let place = format!("entry {number}");
            match within.get_mut(scheme) {
                Some(note) => note.add(&place),
                None => {
                    let why = format!("{scheme}:, which no server is asked for");
                    within.insert(scheme.to_owned(), Note::new(place, why));
                }
            }
            continue;
        }
        let place = format!("entry {number}, {} {url}", entry.request.method);
        // The page itself: what a redirect leads to, if that is where it began.
        let is_page =
            found.server.is_none() && !is_redirect(&entry) && (has_pages || is_document(&entry));
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
    found.notes.extend(within.into_values());
    Ok(found)
}

fn is_document(entry: &Entry) -> bool {
    let content = entry.response.as_ref().and_then(|it| it.content.as_ref());
    let kind = content.and_then(|content| content.mime_type.as_deref());
    entry.kind.as_deref() == Some("document")
        || kind.is_some_and(|kind| kind.starts_with("text/html"))
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
        .map(|pair| (pair.name, pair.value.unwrap_or_default()))
        .collect();
    let has = |fields: &[(String, String)], name: &str| {
        let mut names = fields.iter().map(|(known, _)| known);
        names.any(|known| known.eq_ignore_ascii_case(name))
    };
    // Some recorders have cookies in their own list only.
    if !cookies.is_empty() && !has(&fields, "cookie") {
        let pairs = cookies
            .iter()
            .map(|it| format!("{}={}", it.name, it.value()));
        let pairs: Vec<String> = pairs.collect();
        fields.push(("Cookie".into(), pairs.join("; ")));
    }
    if let Some(user) = &split.user
        && !has(&fields, "authorization")
    {
        fields.push(basic(user));
    }
    let mut bytes = Vec::new();
    if let Some(body) = body {
        if !has(&fields, "content-type") && !body.mime_type.is_empty() {
            fields.push(("Content-Type".into(), body.mime_type.clone()));
        }
        bytes = content(body, &mut fields)?;
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

/// The bytes of a body. The boundary of a form that was recorded without it is added to the fields.
fn content(body: HarBody, fields: &mut [(String, String)]) -> Result<Vec<u8>, String> {
    let mut named = fields.iter_mut();
    let field = named.find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let mut none = String::new();
    let kind = field.map_or(&mut none, |(_, kind)| kind);
    let is_form = kind.to_ascii_lowercase().starts_with(form::KIND);
    if body.encoding.as_deref() == Some("base64") && !body.text.is_empty() {
        return decoded_base64(&body.text);
    }
    if !body.text.is_empty() || body.params.is_empty() {
        if is_form && boundary_of(kind).is_none() {
            let first = body.text.lines().next().unwrap_or_default();
            match first.strip_prefix("--").filter(|it| !it.is_empty()) {
                Some(boundary) => *kind = format!("{}; boundary={}", form::KIND, boundary.trim()),
                None => return Err("a form was recorded without its boundary".into()),
            }
        }
        return bytes_of(body.text, &body.mime_type);
    }
    if is_form {
        let parts: Result<Vec<FormPart>, String> = body.params.iter().map(part).collect();
        let parts = parts?;
        let (boundary, bytes) = match boundary_of(kind) {
            Some(boundary) => form::body_between(boundary.to_owned(), &parts, true),
            None => form::body(&parts, true),
        };
        *kind = format!("{}; boundary={boundary}", form::KIND);
        return Ok(bytes);
    }
    let is_encoded = kind.starts_with("application/x-www-form-urlencoded") || kind.is_empty();
    if is_encoded && body.params.iter().all(|pair| pair.file_name.is_none()) {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        for pair in &body.params {
            form.append_pair(&decoded(&pair.name), &decoded(pair.value()));
        }
        return Ok(form.finish().into_bytes());
    }
    Err(format!("a form of {kind} was recorded without its text"))
}

/// The boundary in a content type, with which the parts of the form were recorded.
fn boundary_of(kind: &str) -> Option<&str> {
    let (_, boundary) = kind.split_once("boundary=")?;
    let boundary = boundary.split(';').next().unwrap_or_default();
    let boundary = boundary.trim().trim_matches('"');
    (!boundary.is_empty()).then_some(boundary)
}

fn decoded_base64(text: &str) -> Result<Vec<u8>, String> {
    let text: String = text.split_ascii_whitespace().collect();
    let bytes = BASE64.decode(text);
    bytes.map_err(|error| format!("the body is not base64: {error}"))
}

/// A part of a form. Browsers name files that are sent, and do not record what is in them.
fn part(pair: &HarPair) -> Result<FormPart, String> {
    let file = pair.file_name.clone().filter(|name| !name.is_empty());
    let content = match (&pair.value, &file) {
        (None, Some(file)) => {
            return Err(format!("the content of the file {file:?} was not recorded"));
        }
        _ if pair.encoding.as_deref() == Some("base64") => decoded_base64(pair.value())?,
        _ if file.is_some() => {
            let kind = pair.content_type.as_deref();
            bytes_of(
                pair.value().to_owned(),
                kind.unwrap_or("application/octet-stream"),
            )?
        }
        _ => pair.value().as_bytes().to_vec(),
    };
    let kind = match (&pair.content_type, &file) {
        (Some(kind), _) if !kind.is_empty() => Some(kind.clone()),
        (_, Some(file)) => Some(form::type_of(file).to_owned()),
        _ => None,
    };
    if kind
        .as_ref()
        .is_some_and(|kind| kind.contains(['\r', '\n']))
    {
        return Err("a part of a form whose content type has a line end".into());
    }
    Ok(FormPart::new(&pair.name, file, kind, content))
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

#[cfg(test)]
mod tests;
