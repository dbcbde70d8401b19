//! Files of requests made from what people have: recordings, command lines, descriptions, logs.
//!
//! Each kind has its file, which gives `FoundRequest` requests; here they are counted, named and written.

pub(super) mod access_log;
mod curl;
mod form;
mod har;
mod openapi;
mod urls;
mod vegeta;
mod write;

pub(super) use write::free_name;

use super::{RequestsError, ServerFacts};
use crate::source::Unreadable;
use prony_engine::protocol::mix::exact_shares;
use prony_record::inert;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use url::Url;

/// Where requests come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// curl's command lines.
    Curl,
    /// Targets of vegeta, as text or JSON.
    Vegeta,
    /// A recording of a browser (HTTP Archive 1.2).
    Har,
    /// A description in JSON or YAML.
    OpenApi,
    /// A log in the common or combined format.
    AccessLog,
    /// A list of URLs, one on each line.
    Urls,
}

/// A kind: its name, what recognises it, and what reads it.
struct FormatReader {
    format: Format,
    name: &'static str,
    is: fn(&str) -> bool,
    read: fn(&str, &Path) -> Result<FoundRequests, String>,
}

/// In the order in which they are tried.
const KINDS: [FormatReader; 6] = [
    FormatReader {
        format: Format::Har,
        name: "har",
        is: har::is,
        read: har::read,
    },
    FormatReader {
        format: Format::OpenApi,
        name: "openapi",
        is: openapi::is,
        read: openapi::read,
    },
    FormatReader {
        format: Format::Vegeta,
        name: "vegeta",
        is: vegeta::is,
        read: vegeta::read,
    },
    FormatReader {
        format: Format::Curl,
        name: "curl",
        is: curl::is,
        read: curl::read,
    },
    FormatReader {
        format: Format::AccessLog,
        name: "access-log",
        is: access_log::is,
        read: access_log::read,
    },
    FormatReader {
        format: Format::Urls,
        name: "urls",
        is: urls::is,
        read: urls::read,
    },
];

impl Format {
    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|kind| kind.name)
    }

    fn kind(self) -> &'static FormatReader {
        let mut kinds = KINDS.iter();
        let own = kinds.find(|kind| kind.format == self);
        own.expect("every format has its kind")
    }

    /// Recognises the format of a text; None: it is none of the formats.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        KINDS
            .iter()
            .find(|kind| (kind.is)(text))
            .map(|kind| kind.format)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.kind().name)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let kind = KINDS.iter().find(|kind| kind.name == name);
        kind.map(|kind| kind.format).ok_or_else(|| {
            let names: Vec<&str> = Self::names().collect();
            format!(
                "{name:?} is not a format: expected one of {}",
                names.join(", ")
            )
        })
    }
}

/// Around a value that a request is filled with, until it is written: recorded texts may have any braces.
const OPEN: char = '\u{1}';
const CLOSE: char = '\u{2}';

fn is_mark(c: char) -> bool {
    c == OPEN || c == CLOSE
}

/// A request as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FoundRequest {
    /// Name to give the request; empty: it is named by method and path.
    name: String,
    pub(super) method: String,
    /// Scheme, host and port of its server; empty when the text does not say.
    origin: String,
    /// Path and query.
    pub(super) path: String,
    /// Texts have values between [`OPEN`] and [`CLOSE`].
    templates: bool,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The status with which it was answered, or is to be.
    pub(super) status: Option<u16>,
}

/// Requests that were found in a text.
#[derive(Debug, Default)]
struct FoundRequests {
    requests: Vec<FoundRequest>,
    /// Skipped, changed or guessed items.
    notes: Vec<Note>,
    /// The server that the text is about, if it says so; otherwise the one with most requests is taken.
    server: Option<String>,
}

/// Characters of a note's place and of its reason that are shown.
const LONG: usize = 300;

/// Something of a text that was left out, changed or guessed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Note {
    /// Where: a line, a URL, or an operation.
    pub place: String,
    /// Item that was left out, changed or guessed, and why.
    pub reason: String,
    /// Server to name so that the requests to it are taken, which were left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

impl Note {
    fn new(place: impl AsRef<str>, reason: impl AsRef<str>) -> Self {
        // Some URLs hold whole pictures.
        let short = |text: &str| {
            let text = inert::line(text);
            match text.char_indices().nth(LONG) {
                Some((at, _)) => format!("{}…", &text[..at]),
                None => text.into_owned(),
            }
        };
        Self {
            place: short(place.as_ref()),
            reason: short(reason.as_ref()),
            server: None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place.as_str() {
            "" => f.write_str(&self.reason),
            place if self.reason.starts_with(place) => f.write_str(&self.reason),
            place => write!(f, "{place}: {}", self.reason),
        }
    }
}

/// Notes as one text.
fn joined(notes: &[Note]) -> String {
    let all: Vec<String> = notes.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// A file of requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Made {
    /// The format of the text.
    pub format: String,
    /// The server of the requests, such as `http://localhost:8000`; empty where the text does not say.
    pub server: String,
    /// The file.
    #[serde(rename = "file")]
    pub text: String,
    /// Skipped, changed or guessed items.
    pub notes: Vec<Note>,
}

/// Reasons for a text to give no requests.
#[derive(Debug, thiserror::Error)]
pub enum FromError {
    /// The text has none of the formats.
    #[error("this is none of {}", Format::names().collect::<Vec<_>>().join(", "))]
    Unknown,
    /// A kind that is not read, with what to do instead.
    #[error("{0}")]
    Other(&'static str),
    /// The text cannot be read in its format.
    #[error("cannot be read as {format}: {why}")]
    Unreadable {
        /// Format of the text.
        format: Format,
        /// Why not.
        why: String,
    },
    /// No request goes to the server that the user wants.
    #[error("no request goes to {server}{}{found}", if .found.is_empty() { "" } else { ": there are " })]
    NoServer {
        /// The server that the user named.
        server: String,
        /// The servers that there are.
        found: String,
    },
    /// The text has no request.
    #[error("as {format} it has no request{}{}", if .notes.is_empty() { "" } else { ": " }, joined(.notes))]
    None {
        /// Format of the text.
        format: Format,
        /// Skipped items.
        notes: Vec<Note>,
    },
    /// The file that was made has a mistake, which is this program's fault.
    #[error("the requests made from it cannot be read: {0}")]
    Made(String),
}

impl From<Unreadable> for FromError {
    fn from(error: Unreadable) -> Self {
        Self::Made(error.to_string())
    }
}

/// Makes a file of requests. Files that the text names are seen from `folder`.
///
/// # Errors
/// When there are none in it.
pub fn make(
    text: &str,
    format: Option<Format>,
    server: Option<&str>,
    folder: &Path,
) -> Result<Made, FromError> {
    let text = text.trim_start_matches('\u{feff}');
    let format = match format.or_else(|| Format::of(text)) {
        Some(format) => format,
        None => return Err(other(text).map_or(FromError::Unknown, FromError::Other)),
    };
    let found = (format.kind().read)(text, folder);
    let FoundRequests {
        requests,
        mut notes,
        server: own,
    } = found.map_err(|why| FromError::Unreadable { format, why })?;
    let requests = fit(requests, &mut notes);
    let wanted = server.map(|server| wanted(server, &requests)).transpose()?;
    let (requests, origin) = one_server(requests, wanted.or(own), &mut notes);
    let mut counted = counted(requests);
    often_enough(&mut counted, &mut notes);
    let mut seen = std::collections::HashSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    if counted.is_empty() {
        return Err(FromError::None { format, notes });
    }
    let text = write::file(&counted, &origin);
    let source = crate::source::Source::new("shop.toml", text.as_str());
    match super::parse(&source, folder, &ServerFacts::anywhere()) {
        Ok(_) => Ok(Made {
            format: format.to_string(),
            server: origin,
            text,
            notes,
        }),
        Err(mistake) => Err(FromError::Made(format!(
            "{:?}",
            miette::Report::new(RequestsError::from(mistake))
        ))),
    }
}

/// Kinds of files that are not read, with what to do instead.
fn other(text: &str) -> Option<&'static str> {
    let first = text.trim_start_matches('\u{feff}').trim_start();
    let has = |word: &str| text.contains(word);
    let json = first.starts_with('{');
    if text.starts_with("\u{1f}\u{fffd}") || text.starts_with("\u{1f}\u{8b}") {
        return Some("this is packed: unpack it first (gunzip -c FILE | prony requests from -)");
    }
    if text.starts_with("(\u{fffd}/\u{fffd}") {
        return Some("this is packed: unpack it first (zstd -dc FILE | prony requests from -)");
    }
    if text.starts_with("BZh") || text.starts_with("\u{fffd}7zXZ") || text.starts_with("PK\u{3}") {
        return Some("this is packed: unpack it first");
    }
    if (json && has("\"swagger\"")) || text.lines().any(|line| line.starts_with("swagger:")) {
        return Some(
            "this is Swagger 2.0, and OpenAPI 3.0 and 3.1 are read: convert it first (npx swagger2openapi FILE)",
        );
    }
    if json && (has("schema.getpostman.com") || has("_postman_id")) {
        return Some(
            "this is a Postman collection: Code > cURL writes each request as a command line, which is read",
        );
    }
    if json && has("\"_type\"") && has("insomnia") || first.starts_with("type: collection.insomnia")
    {
        return Some(
            "this is an export of Insomnia: export it as HAR, or copy its requests as cURL",
        );
    }
    if first.starts_with("<jmeterTestPlan") || has("<jmeterTestPlan") {
        return Some(
            "this is a JMeter test plan: record the requests as HAR, or write them as cURL",
        );
    }
    if has("Invoke-WebRequest") || has("Invoke-RestMethod") {
        return Some("these are commands of PowerShell: copy them as cURL instead");
    }
    if first.starts_with("fetch(") || has("await fetch(") {
        return Some("this is a call of fetch: copy it as cURL instead");
    }
    if first.starts_with("meta {") && has("url:") {
        return Some("this is a request of Bruno: its Generate Code > Shell-cURL is read");
    }
    let methods = ["GET ", "POST ", "PUT ", "DELETE ", "PATCH ", "HEAD "];
    if first.starts_with("###") || methods.iter().any(|method| first.starts_with(method)) {
        return Some(
            "this looks like an .http file or a raw request: write it as cURL, or as a target of vegeta (GET http://host/path)",
        );
    }
    let logged = [
        "\"request_uri\"",
        "\"remote_addr\"",
        "\"remote_ip\"",
        "\"RequestPath\"",
    ];
    if json && logged.iter().any(|key| has(key)) {
        return Some("this is a log in JSON: logs are read in the common and the combined format");
    }
    if first.starts_with("#Version:") || first.starts_with("#Fields:") {
        return Some(
            "this is a log in the W3C format: logs are read in the common and the combined format",
        );
    }
    None
}

/// A URL taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SplitUrl {
    /// Scheme, host and port.
    origin: String,
    /// Host and port.
    authority: String,
    /// Path and query.
    path: String,
    /// Name and password, percent-encoded, with a colon between them.
    user: Option<String>,
}

impl SplitUrl {
    /// The host alone.
    fn host(&self) -> &str {
        let host = self.authority.rsplit_once(':');
        match host.filter(|(host, _)| !host.contains(':') || host.ends_with(']')) {
            Some((host, _)) => host,
            None => &self.authority,
        }
    }
}

/// A URL taken apart; in words why not. Path and query stay as they are written, as far as they can be sent: without a
/// fragment, and (unless they are wanted `as_is`) without segments that are dots.
fn split_url(url: &str, as_is: bool) -> Result<SplitUrl, String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("{url}: not over HTTP"));
    }
    let authority = &parsed[url::Position::BeforeHost..url::Position::AfterPort];
    let user = match (parsed.username(), parsed.password()) {
        ("", None) => None,
        (name, None) => Some(name.to_owned()),
        (name, Some(password)) => Some(format!("{name}:{password}")),
    };
    let after = url.split_once("://").map_or("", |(_, after)| after);
    let written = &after[after.find(['/', '?', '#']).unwrap_or(after.len())..];
    let written = written.split('#').next().unwrap_or_default();
    let segments = written.split('?').next().unwrap_or_default().split('/');
    let mut dots = segments.filter(|segment| {
        let plain = segment.to_ascii_lowercase().replace("%2e", ".");
        plain == "." || plain == ".."
    });
    let fits = written
        .bytes()
        .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    let path = match fits && (as_is || dots.next().is_none()) {
        true if written.starts_with('/') => written.to_owned(),
        true => format!("/{written}"),
        false => parsed[url::Position::BeforePath..url::Position::AfterQuery].to_owned(),
    };
    Ok(SplitUrl {
        origin: format!("{}://{authority}", parsed.scheme()),
        authority: authority.to_owned(),
        path,
        user,
    })
}

/// Names and values of header fields.
type Fields = Vec<(String, String)>;

/// Header fields that are sent with a request to this URL, each once, and what was left out of them. The generator
/// makes some itself, and others belong to one connection.
fn headers_of(all: Fields, url: &SplitUrl) -> Result<(Fields, Vec<String>), String> {
    let mut notes = Vec::new();
    let mut kept = Vec::new();
    for (name, value) in all {
        let lower = name.to_ascii_lowercase();
        let keeps = match lower.as_str() {
            _ if name.starts_with(':') => false,
            "content-length" | "keep-alive" | "proxy-connection" => false,
            "host" => !value.eq_ignore_ascii_case(&url.authority),
            "connection" => {
                // What it asks for is usual, and over TLS the file may be sent over HTTP/2, which has no such field.
                let kept = url.origin.starts_with("http://") && !value.contains(',');
                let has = |word: &str| {
                    let mut tokens = value.split(',').map(str::trim);
                    tokens.any(|token| token.eq_ignore_ascii_case(word))
                };
                has("close") || kept && has("keep-alive")
            }
            "transfer-encoding" => {
                notes.push(format!(
                    "{name}: {value} was left out: the body is sent with its length"
                ));
                false
            }
            "upgrade" | "http2-settings" => {
                notes.push(format!("{name}: {value} was left out"));
                false
            }
            // The marks are of descriptions.
            _ if value.contains(is_mark) => {
                return Err(format!("{name:?} with its value is not a header field"));
            }
            _ => true,
        };
        if keeps {
            kept.push((name, value));
        }
    }
    Ok((once_each(kept)?, notes))
}

/// Each field once: several of one name are joined, as HTTP has it (RFC 9110, 5.3); cookies by `;`.
fn once_each(all: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for (name, value) in all {
        let unfit = |c: char| c.is_control() && c != '\t' && !is_mark(c);
        if !super::is_token(&name) || value.chars().any(unfit) {
            return Err(format!("{name:?} with its value is not a header field"));
        }
        let same = |known: &&mut (String, String)| known.0.eq_ignore_ascii_case(&name);
        match fields.iter_mut().find(same) {
            Some((known, text)) => {
                let between = match known.eq_ignore_ascii_case("cookie") {
                    true => "; ",
                    false => ", ",
                };
                *text += between;
                *text += &value;
            }
            None => fields.push((name, value)),
        }
    }
    Ok(fields)
}

/// Leaves out what a file cannot have.
fn fit(all: Vec<FoundRequest>, notes: &mut Vec<Note>) -> Vec<FoundRequest> {
    let mut kept = Vec::new();
    for sent in all {
        let FoundRequest { method, path, .. } = &sent;
        let place = format!("{method} {path}");
        let unfit = |c: char| c.is_ascii_whitespace() || c.is_control();
        if !super::is_token(method) {
            notes.push(Note::new(format!("{method:?} {path}"), "not a method"));
        } else if method == "CONNECT" {
            notes.push(Note::new(place, "CONNECT is for proxies"));
        } else if !path.starts_with('/') {
            notes.push(Note::new(
                place,
                "not a path: it does not begin with a slash",
            ));
        } else if !sent.templates && path.contains(unfit) {
            notes.push(Note::new(
                place,
                "a path with a blank or a control character",
            ));
        } else {
            kept.push(sent);
        }
    }
    kept
}

/// The server that the user wants, as a URL or as a host with or without a port.
fn wanted(server: &str, all: &[FoundRequest]) -> Result<String, FromError> {
    let server = server.trim_end_matches('/');
    let host = |origin: &str| {
        let authority = origin.split_once("://").map_or(origin, |(_, rest)| rest);
        authority.to_ascii_lowercase()
    };
    let name = |origin: &str| {
        let authority = host(origin);
        let bare = authority.rsplit_once(':');
        let bare = bare.filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        bare.map_or(authority.clone(), |(name, _)| name.to_owned())
    };
    let origins = || all.iter().map(|sent| sent.origin.as_str());
    let lower = server.to_ascii_lowercase();
    let exact = origins().find(|origin| origin.eq_ignore_ascii_case(server));
    let found = exact
        .or_else(|| origins().find(|origin| host(origin) == lower))
        .or_else(|| origins().find(|origin| name(origin) == lower));
    found.map(str::to_owned).ok_or_else(|| {
        let all: std::collections::BTreeSet<&str> =
            origins().filter(|origin| !origin.is_empty()).collect();
        FromError::NoServer {
            server: server.to_owned(),
            found: all.into_iter().collect::<Vec<_>>().join(", "),
        }
    })
}

/// The requests to one server, for which a file is: the `wanted` one, or the one that has most of them.
fn one_server(
    all: Vec<FoundRequest>,
    wanted: Option<String>,
    notes: &mut Vec<Note>,
) -> (Vec<FoundRequest>, String) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for sent in &all {
        *counts.entry(&sent.origin).or_default() += 1;
    }
    let most = counts.values().max().copied().unwrap_or_default();
    let wanted = wanted.filter(|wanted| counts.contains_key(wanted.as_str()));
    // Of equal ones the first in the text.
    let own = all.iter().map(|sent| sent.origin.as_str());
    let own = own.clone().find(|origin| counts[origin] == most);
    let own = wanted.unwrap_or_else(|| own.unwrap_or_default().to_owned());
    for (origin, n) in counts.iter().filter(|(origin, _)| **origin != own) {
        let requests = if *n == 1 { "request" } else { "requests" };
        let other = match (*origin, own.as_str()) {
            ("", own) => format!("without a server: a file is for one server, here {own}"),
            (origin, "") => {
                format!("to {origin}: a file is for one server, and most have none")
            }
            (origin, own) => format!("to {origin}: a file is for one server, here {own}"),
        };
        notes.push(Note {
            server: (!origin.is_empty()).then(|| (*origin).to_owned()),
            ..Note::new("", format!("{n} {requests} {other}"))
        });
    }
    let mut requests = all;
    requests.retain(|sent| sent.origin == own);
    (requests, own)
}

/// A request, and how often it was found.
struct Counted {
    sent: FoundRequest,
    times: u32,
    /// The statuses with which it was answered, each once.
    statuses: Vec<u16>,
}

/// Each request once, in the order of the text.
fn counted(all: Vec<FoundRequest>) -> Vec<Counted> {
    let mut places = std::collections::HashMap::new();
    let mut counted: Vec<Counted> = Vec::new();
    for sent in all {
        let key = (
            sent.method.clone(),
            sent.path.clone(),
            sent.headers.clone(),
            sent.body.clone(),
        );
        let at = *places.entry(key).or_insert_with(|| {
            counted.push(Counted {
                sent: sent.clone(),
                times: 0,
                statuses: Vec::new(),
            });
            counted.len() - 1
        });
        let one = &mut counted[at];
        one.times = one.times.saturating_add(1);
        if let Some(status) = sent.status
            && !one.statuses.contains(&status)
        {
            one.statuses.push(status);
        }
    }
    counted
}

/// Leaves out what would never be sent, because its share is less than one in a thousand.
fn often_enough(all: &mut Vec<Counted>, notes: &mut Vec<Note>) {
    let sum = |all: &[Counted]| all.iter().map(|one| u64::from(one.times)).sum::<u64>();
    let (before, requests) = (all.len(), sum(all));
    // The most frequent first: of equal ones the earlier.
    let mut places: Vec<usize> = (0..all.len()).collect();
    places.sort_by_key(|&place| std::cmp::Reverse(all[place].times));
    let mut kept = places.len();
    loop {
        let weights: Vec<u32> = places[..kept]
            .iter()
            .map(|&place| all[place].times)
            .collect();
        let sent = exact_shares(&weights).iter().filter(|&&n| n > 0).count();
        if sent == kept {
            break;
        }
        kept = sent;
    }
    let kept: std::collections::HashSet<usize> = places[..kept].iter().copied().collect();
    let mut place = 0;
    all.retain(|_| {
        place += 1;
        kept.contains(&(place - 1))
    });
    if all.len() < before {
        let left = requests - sum(all);
        let kinds = before - all.len();
        notes.push(Note::new(
            "",
            format!(
                "{kinds} kinds of requests, each less than one in a thousand: {left} of {requests} requests"
            ),
        ));
    }
}

#[cfg(test)]
mod tests;
