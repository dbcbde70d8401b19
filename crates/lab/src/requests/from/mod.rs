//! Files of requests made from what people have: recordings, command lines, descriptions, logs.
//!
//! Each kind has its file, which gives `Sent` requests; here they are counted, named and written.

pub(super) mod access_log;
mod curl;
mod har;
mod openapi;
mod vegeta;
mod write;

pub(super) use write::free_name;

use super::{RequestsError, Server};
use crate::source::Unreadable;
use prony_engine::protocol::mix::exact_shares;
use prony_record::inert;
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
}

/// A kind: its name, what recognises it, and what reads it.
struct Kind {
    format: Format,
    name: &'static str,
    is: fn(&str) -> bool,
    read: fn(&str, &Path) -> Result<Found, String>,
}

/// In the order in which they are tried.
const KINDS: [Kind; 5] = [
    Kind {
        format: Format::Har,
        name: "har",
        is: har::is,
        read: har::read,
    },
    Kind {
        format: Format::OpenApi,
        name: "openapi",
        is: openapi::is,
        read: openapi::read,
    },
    Kind {
        format: Format::Vegeta,
        name: "vegeta",
        is: vegeta::is,
        read: vegeta::read,
    },
    Kind {
        format: Format::Curl,
        name: "curl",
        is: curl::is,
        read: curl::read,
    },
    Kind {
        format: Format::AccessLog,
        name: "access-log",
        is: access_log::is,
        read: access_log::read,
    },
];

impl Format {
    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|kind| kind.name)
    }

    fn kind(self) -> &'static Kind {
        let mut kinds = KINDS.iter();
        let own = kinds.find(|kind| kind.format == self);
        own.expect("every format has its kind")
    }

    /// What a text looks like.
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

/// A request as it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Sent {
    /// What it is to be called; empty: by method and path.
    name: String,
    pub(super) method: String,
    /// Scheme, host and port of its server; empty when the text does not say.
    origin: String,
    /// Path and query.
    pub(super) path: String,
    /// In it, `{{…}}` is a value.
    templates: bool,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// The status with which it was answered, or is to be.
    pub(super) status: Option<u16>,
}

/// What a text has.
#[derive(Debug, Default)]
struct Found {
    requests: Vec<Sent>,
    /// What could not be carried over, in words.
    notes: Vec<String>,
}

/// A file of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Made {
    /// Its text.
    pub text: String,
    /// What could not be carried over, in words.
    pub notes: Vec<String>,
}

/// What a text has been, and why no requests came of it.
#[derive(Debug, thiserror::Error)]
pub enum FromError {
    /// It is none of the kinds.
    #[error("this is none of {}", Format::names().collect::<Vec<_>>().join(", "))]
    Unknown,
    /// It cannot be read as what it is.
    #[error("cannot be read as {format}: {why}")]
    Unreadable {
        /// What it is.
        format: Format,
        /// Why not.
        why: String,
    },
    /// It has none.
    #[error("as {format} it has no request{}", .notes.first().map_or(String::new(), |note| format!(": {note}")))]
    None {
        /// What it is.
        format: Format,
        /// What could not be carried over.
        notes: Vec<String>,
    },
    /// What was made of it is not right: the fault is this program's.
    #[error("what was made of it cannot be read: {0}")]
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
pub fn make(text: &str, format: Option<Format>, folder: &Path) -> Result<Made, FromError> {
    let format = format
        .or_else(|| Format::of(text))
        .ok_or(FromError::Unknown)?;
    let found = (format.kind().read)(text, folder);
    let Found {
        requests,
        mut notes,
    } = found.map_err(|why| FromError::Unreadable { format, why })?;
    let requests = fit(requests, &mut notes);
    let (requests, origin) = one_server(requests, &mut notes);
    let mut counted = counted(requests);
    often_enough(&mut counted, &mut notes);
    for note in &mut notes {
        *note = inert::line(note).into_owned();
    }
    if counted.is_empty() {
        return Err(FromError::None { format, notes });
    }
    let text = write::file(&counted, &origin);
    let source = crate::source::Source::new("shop.toml", text.as_str());
    match super::parse(&source, folder, &Server::anywhere()) {
        Ok(_) => Ok(Made { text, notes }),
        Err(mistake) => Err(FromError::Made(format!(
            "{:?}",
            miette::Report::new(RequestsError::from(mistake))
        ))),
    }
}

/// A URL as origin, and path with query; in words why not.
fn taken_apart(url: &str) -> Result<(String, String), String> {
    let parsed = Url::parse(url).map_err(|error| format!("{url}: {error}"))?;
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(format!("{url}: not over HTTP"));
    }
    let authority = &parsed[url::Position::BeforeHost..url::Position::AfterPort];
    let path = &parsed[url::Position::BeforePath..url::Position::AfterQuery];
    Ok((
        format!("{}://{authority}", parsed.scheme()),
        path.to_owned(),
    ))
}

/// Header fields that the generator makes itself, or that belong to one connection.
fn is_own(name: &str) -> bool {
    let own = [
        "host",
        "content-length",
        "connection",
        "keep-alive",
        "transfer-encoding",
    ];
    name.starts_with(':') || own.iter().any(|it| name.eq_ignore_ascii_case(it))
}

/// Each field once: several of one name are joined, as HTTP has it (RFC 9110, 5.3); cookies by `;`.
fn once_each(all: Vec<(String, String)>) -> Result<Vec<(String, String)>, String> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for (name, value) in all {
        if !super::is_token(&name) || value.chars().any(char::is_control) {
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
fn fit(all: Vec<Sent>, notes: &mut Vec<String>) -> Vec<Sent> {
    let mut kept = Vec::new();
    for sent in all {
        let Sent { method, path, .. } = &sent;
        let braces = |(_, value): &(String, String)| value.contains("{{");
        if !super::is_token(method) {
            notes.push(format!("{method:?} {path}: not a method"));
        } else if !sent.templates && sent.headers.iter().any(braces) {
            notes.push(format!(
                "{method} {path}: a header with {{{{, which would be a value"
            ));
        } else {
            kept.push(sent);
        }
    }
    kept
}

/// The requests to the server that has most of them: a file is for one server.
fn one_server(all: Vec<Sent>, notes: &mut Vec<String>) -> (Vec<Sent>, String) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for sent in &all {
        *counts.entry(&sent.origin).or_default() += 1;
    }
    let most = counts.values().max().copied().unwrap_or_default();
    // Of equal ones the first in the text.
    let own = all.iter().map(|sent| sent.origin.as_str());
    let own = own.clone().find(|origin| counts[origin] == most);
    let own = own.unwrap_or_default().to_owned();
    for (origin, n) in counts.iter().filter(|(origin, _)| **origin != own) {
        notes.push(format!(
            "{n} requests to {origin}: a file is for one server, here {own}"
        ));
    }
    let mut requests = all;
    requests.retain(|sent| sent.origin == own);
    (requests, own)
}

/// A request, and how often it was found.
struct Counted {
    sent: Sent,
    times: u32,
    /// The statuses with which it was answered, each once.
    statuses: Vec<u16>,
}

/// Each request once, in the order of the text.
fn counted(all: Vec<Sent>) -> Vec<Counted> {
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
fn often_enough(all: &mut Vec<Counted>, notes: &mut Vec<String>) {
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
        notes.push(format!(
            "{} kinds of requests, each less than one in a thousand: {left} of {requests} requests",
            before - all.len()
        ));
    }
}

#[cfg(test)]
mod tests;
