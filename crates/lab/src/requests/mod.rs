//! Requests of one's own, from a file: what is asked, how often, and what must be answered.

pub mod begun;
mod expect;
pub mod from;
mod names;
pub mod replay;
mod session;
mod stream;
mod table;
mod template;
pub mod verify;

use crate::source::{Mistake, Source, Unreadable};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use expect::ExpectKeys;
use include_dir::Dir;
use names::Names;
use prony_engine::protocol::mix::{
    CYCLE, MILLION, MixRequest, MixSession, SAMPLE, Shares, exact_shares, text,
};
use prony_engine::protocol::{Limits, Mix};
use serde::Deserialize;
use session::{SessionKeys, TakeKeys};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use stream::StreamKeys;
use table::Tables;
use template::{BodyFormat, TemplatePosition};
use toml::Spanned;

/// Why a file of requests cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RequestsError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Something in it is not right.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Mistake(#[from] Box<Mistake>),
}

impl From<Mistake> for RequestsError {
    fn from(mistake: Mistake) -> Self {
        Self::Mistake(Box::new(mistake))
    }
}

/// Facts about a server that the requests to it depend on.
#[derive(Debug, Clone)]
pub struct ServerFacts {
    /// The `Host` field.
    pub host: String,
    /// Prefix of every path; empty, or it begins with a slash and ends without one.
    pub prefix: String,
    /// Ask it to keep connections open.
    pub keepalive: bool,
    /// How much of an answer is accepted.
    pub limits: Limits,
    /// How the shares of requests are kept.
    pub shares: Shares,
}

impl ServerFacts {
    /// Any server, whose name is said later: see [`Mix::for_host`].
    #[must_use]
    pub fn anywhere() -> Self {
        Self {
            host: String::new(),
            prefix: String::new(),
            keepalive: true,
            limits: Limits::default(),
            shares: Shares::Exact,
        }
    }
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The share of answers whose bodies are searched, from 0 to 1.
    sample: Option<Spanned<f64>>,
    #[serde(default)]
    request: Vec<Spanned<RequestKeys>>,
    #[serde(default)]
    session: Vec<Spanned<SessionKeys>>,
}

/// One request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RequestKeys {
    name: Spanned<String>,
    method: Option<Spanned<String>>,
    path: Spanned<String>,
    #[serde(default)]
    headers: BTreeMap<String, Spanned<String>>,
    body: Option<Spanned<String>>,
    body_file: Option<Spanned<PathBuf>>,
    body_base64: Option<Spanned<String>>,
    weight: Option<Spanned<u32>>,
    #[serde(default)]
    expect: ExpectKeys,
    stream: Option<StreamKeys>,
    /// Only in a step of a session.
    #[serde(default)]
    take: BTreeMap<String, Spanned<TakeKeys>>,
    /// Only in a step of a session.
    think: Option<Spanned<String>>,
    /// Only in a step of a session.
    redirects: Option<Spanned<u32>>,
}

/// Where the files are that requests name.
#[derive(Debug, Clone, Copy)]
pub enum Folder<'a> {
    /// On a disk.
    Disk(&'a Path),
    /// Inside this program.
    Program(&'a Dir<'a>),
}

impl Folder<'_> {
    /// The content of a file, or why it cannot be read.
    fn read(&self, file: &Path) -> Result<Vec<u8>, String> {
        match self {
            Self::Disk(folder) => {
                let path = folder.join(file);
                std::fs::read(&path)
                    .map_err(|error| format!("cannot read {}: {error}", path.display()))
            }
            Self::Program(folder) => match folder.get_file(folder.path().join(file)) {
                Some(file) => Ok(file.contents().to_vec()),
                None => Err(format!("there is no {} in this program", file.display())),
            },
        }
    }
}

/// A file that is being read.
struct RequestFileReader<'a> {
    source: &'a Source,
    /// The folder that its paths are seen from.
    folder: Folder<'a>,
    tables: Tables,
    /// Names that the request has given, and that earlier steps of the session have given or taken.
    taken: Names,
}

impl RequestFileReader<'_> {
    /// A mistake at a place.
    fn wrong(&self, at: Range<usize>, what: impl Into<String>, help: Option<&str>) -> Mistake {
        let title = "the requests are not right";
        self.source
            .mistake(at, title, what, help.map(str::to_owned))
    }
}

/// Reads requests. Paths in them are seen from `folder`.
///
/// # Errors
/// The first mistake, with its place.
pub fn parse(source: &Source, folder: &Path, server: &ServerFacts) -> Result<Mix, Mistake> {
    parse_in(source, Folder::Disk(folder), server)
}

/// Reads requests. Paths in them are seen from `folder`.
///
/// # Errors
/// The first mistake, with its place.
pub fn parse_in(source: &Source, folder: Folder<'_>, server: &ServerFacts) -> Result<Mix, Mistake> {
    let file: File = source.parse()?;
    let mut reading = RequestFileReader {
        source,
        folder,
        tables: Tables::default(),
        taken: Names::default(),
    };
    match (file.request.first(), file.session.first()) {
        (None, None) => {
            let what = "there must be at least one [[request]] or [[session]]";
            return Err(reading.wrong(0..0, what, None));
        }
        (Some(_), Some(session)) => {
            let what = "a file has either requests or sessions";
            let help = "a session of one step is as good as a request";
            return Err(reading.wrong(session.span(), what, Some(help)));
        }
        _ => {}
    }
    let sample = match &file.sample {
        None => SAMPLE,
        Some(sample) if (0.0..=1.0).contains(sample.get_ref()) => {
            (sample.get_ref() * f64::from(MILLION)).round() as u32
        }
        Some(sample) => {
            let what = "must be a share from 0 to 1, such as 0.01";
            return Err(reading.wrong(sample.span(), what, None));
        }
    };
    let mut requests: Vec<MixRequest> = Vec::new();
    for keys in &file.request {
        reading.stands_alone(keys.get_ref())?;
        reading.taken.clear();
        let request = reading.request(keys.get_ref(), server)?;
        reading.add(&mut requests, request, keys.get_ref())?;
    }
    let sessions = reading.sessions(&file.session, server, &mut requests)?;
    if !sessions.is_empty() {
        return Ok(reading.mix(requests, sessions, sample, server));
    }
    let weights: Vec<u32> = requests.iter().map(|request| request.weight).collect();
    let never = exact_shares(&weights).iter().position(|&count| count == 0);
    if let (Some(place), Shares::Exact) = (never, server.shares) {
        let keys = file.request[place].get_ref();
        let at = keys.weight.as_ref().map_or(keys.name.span(), Spanned::span);
        let what = format!("less than one in {CYCLE} requests: it would never be sent");
        let help = "give it a larger weight";
        return Err(reading.wrong(at, what, Some(help)).helped_by_chance());
    }
    Ok(reading.mix(requests, sessions, sample, server))
}

impl RequestFileReader<'_> {
    fn mix(
        self,
        requests: Vec<MixRequest>,
        sessions: Vec<MixSession>,
        sample: u32,
        server: &ServerFacts,
    ) -> Mix {
        Mix {
            requests,
            tables: self.tables.finish(),
            shares: server.shares,
            sample,
            decodes: false,
            limits: server.limits,
            sessions,
            recorded: None,
            http2: None,
        }
    }

    /// Adds a request, whose name must be its own.
    fn add(
        &self,
        all: &mut Vec<MixRequest>,
        request: MixRequest,
        keys: &RequestKeys,
    ) -> Result<(), Mistake> {
        if all.iter().any(|known| known.name == request.name) {
            let what = "another request has this name";
            return Err(self.wrong(keys.name.span(), what, None));
        }
        all.push(request);
        Ok(())
    }

    fn request(&mut self, keys: &RequestKeys, server: &ServerFacts) -> Result<MixRequest, Mistake> {
        let name = keys.name.get_ref();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/');
        if name.is_empty() || !name.chars().all(plain) {
            let what = "a name has letters, digits, '-', '_' and '/'";
            return Err(self.wrong(keys.name.span(), what, None));
        }
        let has_body =
            keys.body.is_some() || keys.body_file.is_some() || keys.body_base64.is_some();
        let method = match &keys.method {
            None if has_body => "POST",
            None => "GET",
            Some(method) if is_token(method.get_ref()) => method.get_ref(),
            Some(method) => return Err(self.wrong(method.span(), "is not a method", None)),
        };
        let path = keys.path.get_ref();
        let unfit = |c: char| c.is_ascii_whitespace() || c.is_control();
        let outside = template::outside(path);
        if !path.starts_with('/') || outside.contains(unfit) {
            let what = "a path begins with a slash and has no spaces";
            let help = path.starts_with("http").then_some(
                "the server's address comes from the command line, and serves all requests",
            );
            return Err(self.wrong(keys.path.span(), what, help));
        }
        if outside.contains('#') {
            let what = "a fragment (#…) is not sent to a server";
            let help = "leave it out, or write %23 for the character";
            return Err(self.wrong(keys.path.span(), what, Some(help)));
        }
        let mut pieces = vec![text(server.prefix.as_str())];
        pieces.extend(self.template(&keys.path, TemplatePosition::Path)?);
        let mut headers = Vec::new();
        for (name, value) in &keys.headers {
            if !is_token(name)
                || value
                    .get_ref()
                    .contains(|c: char| c.is_control() && c != '\t')
            {
                let what = format!("{name:?} with this value is not a header field");
                return Err(self.wrong(value.span(), what, None));
            }
            if ["content-length", "transfer-encoding"].contains(&&*name.to_ascii_lowercase()) {
                let what = "would make the server wait for another body than the one that is sent";
                let help = "leave it out: Content-Length is made from the body";
                return Err(self.wrong(value.span(), what, Some(help)));
            }
            headers.push((
                name.clone(),
                self.template(value, TemplatePosition::Header)?,
            ));
        }
        let body = match (&keys.body, &keys.body_file, &keys.body_base64) {
            (Some(_), Some(file), _) => {
                let what = "there is a body already";
                return Err(self.wrong(file.span(), what, None));
            }
            (Some(_), _, Some(text)) | (_, Some(_), Some(text)) => {
                let what = "there is a body already";
                return Err(self.wrong(text.span(), what, None));
            }
            (None, None, Some(encoded)) => match BASE64.decode(encoded.get_ref()) {
                Ok(bytes) => vec![text(bytes)],
                Err(error) => {
                    let what = format!("is not base64: {error}");
                    return Err(self.wrong(encoded.span(), what, None));
                }
            },
            (Some(body), None, None) => {
                let mut fields = keys.headers.iter();
                let content_type = fields
                    .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
                    .map(|(_, value)| value.get_ref().as_str());
                let kind = BodyFormat::of(content_type, body.get_ref());
                self.template(body, TemplatePosition::Body(kind))?
            }
            (None, Some(file), None) => {
                let bytes = self.folder.read(file.get_ref());
                let wrong = |what| self.wrong(file.span(), what, None);
                vec![text(bytes.map_err(wrong)?)]
            }
            (None, None, None) => Vec::new(),
        };
        let weight = match &keys.weight {
            None => 1,
            Some(weight) if *weight.get_ref() > 0 => *weight.get_ref(),
            Some(weight) => return Err(self.wrong(weight.span(), "must be at least 1", None)),
        };
        let mut takes = keys.take.iter();
        if let Some((name, take)) = takes.find(|(name, _)| self.taken.is_named(name)) {
            let what = format!("a request has a value {name:?} already");
            return Err(self.wrong(take.span(), what, None));
        }
        Ok(MixRequest {
            name: name.clone(),
            method: method.to_owned(),
            path: pieces,
            host: server.host.clone(),
            headers,
            cookies: false,
            body,
            keepalive: server.keepalive,
            weight,
            expected: self.expected(&keys.expect)?,
            stream: match &keys.stream {
                Some(keys) => Some(self.stream(keys)?),
                None => None,
            },
        })
    }
}

/// Is it a token of RFC 9110 (5.6.2), as methods and names of fields are?
fn is_token(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(fits)
}

#[cfg(test)]
mod tests;
