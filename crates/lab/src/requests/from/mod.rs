//! Files of requests made from what people have: recordings, command lines, descriptions, logs.
//!
//! Each kind has its file, which gives `FoundRequest` requests; here they are counted, named and written.

mod access_log;
mod address;
mod curl;
mod form;
mod har;
mod json_log;
pub(super) mod log;
mod log_time;
pub(super) mod notes;
mod openapi;
mod pick;
mod postman;
mod unread;
mod urls;
mod vegeta;
mod write;

pub(super) use log_time::LogTime;
pub use notes::{Note, listed};
pub use postman::Variables;
pub(super) use write::free_name;

use super::{RequestsError, ServerFacts};
use crate::source::Unreadable;
use address::{SplitUrl, basic, headers_of, once_each, split_url};
use notes::{grouped, joined};
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

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
    /// A collection of Postman, version 2.
    Postman,
    /// A log in the common or combined format, or of lines of JSON.
    AccessLog,
    /// A list of URLs, one on each line.
    Urls,
}

/// A request, and how often it was found.
struct Counted {
    sent: FoundRequest,
    times: u32,
    /// The statuses with which it was answered, each once.
    statuses: Vec<u16>,
}

/// Files and values that a text refers to.
struct ReadContext<'a> {
    /// Folder from which the files are seen that the text names.
    folder: &'a Path,
    variables: &'a Variables,
}

/// A kind: its name, what recognises it, and what reads it.
struct FormatReader {
    format: Format,
    name: &'static str,
    is: fn(&str) -> bool,
    read: fn(&str, &ReadContext<'_>) -> Result<FoundRequests, String>,
}

/// In the order in which they are tried.
const KINDS: [FormatReader; 7] = [
    FormatReader {
        format: Format::Har,
        name: "har",
        is: har::is,
        read: har::read,
    },
    FormatReader {
        format: Format::Postman,
        name: "postman",
        is: postman::is,
        read: postman::read,
    },
    FormatReader {
        format: Format::AccessLog,
        name: "access-log",
        is: log::is,
        read: log::read,
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

/// Takes the marks of values out of all texts of a document, which are none of a text's.
fn without_marks(value: &mut serde_json::Value) {
    use serde_json::Value;
    let marked = |c: char| is_mark(c) || c == openapi::NUMBER;
    match value {
        Value::String(text) => text.retain(|c| !marked(c)),
        Value::Array(all) => all.iter_mut().for_each(without_marks),
        Value::Object(all) => {
            all.retain(|name, _| !name.contains(marked));
            all.values_mut().for_each(without_marks);
        }
        _ => {}
    }
}

/// A document in JSON; in words why not.
fn json<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Eof => format!(
            "its JSON is cut off at line {}, column {}",
            error.line(),
            error.column()
        ),
        _ => error.to_string().replace(
            "recursion limit exceeded",
            "its JSON is nested more than 128 deep",
        ),
    })
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

impl FoundRequest {
    /// The host of its server, with the port; empty when the text does not say.
    pub(super) fn host(&self) -> &str {
        let host = self.origin.split_once("://");
        host.map_or("", |(_, host)| host)
    }
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

/// Choices for the file that is made.
#[derive(Debug, Default)]
pub struct MakeOptions<'a> {
    /// Format of the text; None: it is recognised.
    pub format: Option<Format>,
    /// The server whose requests are taken; None: chosen by the text.
    pub server: Option<&'a str>,
    /// Folder from which the files are seen that the text names.
    pub folder: Option<&'a Path>,
    /// Values of variables that the text does not have.
    pub variables: Variables,
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
    let options = MakeOptions {
        format,
        server,
        folder: Some(folder),
        ..MakeOptions::default()
    };
    make_with(text, &options)
}

/// Makes a file of requests.
///
/// # Errors
/// When there are none in it.
pub fn make_with(text: &str, options: &MakeOptions<'_>) -> Result<Made, FromError> {
    let text = text.trim_start_matches('\u{feff}');
    let folder = options.folder.unwrap_or(Path::new(""));
    let format = match options.format.or_else(|| Format::of(text)) {
        Some(format) => format,
        None => return Err(unread::other(text).map_or(FromError::Unknown, FromError::Other)),
    };
    let context = ReadContext {
        folder,
        variables: &options.variables,
    };
    let found = (format.kind().read)(text, &context);
    let FoundRequests {
        requests,
        mut notes,
        server: own,
    } = found.map_err(|why| FromError::Unreadable { format, why })?;
    // Bytes that are no text were replaced when the file was read.
    let requests = pick::fit(requests, text.contains('\u{fffd}'), &mut notes);
    let wanted = options
        .server
        .map(|server| pick::wanted(server, &requests))
        .transpose()?;
    let (requests, origin) = pick::one_server(requests, wanted.or(own), &mut notes);
    let mut counted = pick::counted(requests);
    pick::often_enough(&mut counted, &mut notes);
    let notes = grouped(notes);
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

#[cfg(test)]
mod tests;
