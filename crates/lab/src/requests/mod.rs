//! Requests of one's own, from a file: what is asked, how often, and what must be answered.

mod expect;
mod table;
mod template;
pub mod verify;

use crate::source::{Mistake, Source, Unreadable};
use expect::ExpectKeys;
use prony_engine::protocol::mix::{CYCLE, MILLION, MixRequest, Shares, exact_shares, text};
use prony_engine::protocol::{Limits, Mix};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use table::Tables;
use template::{Kind, Place};
use toml::Spanned;

/// The share of answers whose bodies are searched, unless the file says otherwise.
const SAMPLE: f64 = 0.01;

/// Why a file of requests cannot be used.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum RequestsError {
    /// It cannot be read.
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

/// What requests need to know of the server that they are sent to.
#[derive(Debug, Clone)]
pub struct Server {
    /// The `Host` field.
    pub host: String,
    /// What stands before every path; empty, or it begins with a slash and ends without one.
    pub prefix: String,
    /// Ask it to keep connections open.
    pub keepalive: bool,
    /// How much of an answer is accepted.
    pub limits: Limits,
    /// How the shares of requests are kept.
    pub shares: Shares,
}

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// The share of answers whose bodies are searched, from 0 to 1.
    sample: Option<Spanned<f64>>,
    request: Vec<Spanned<RequestKeys>>,
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
    weight: Option<Spanned<u32>>,
    #[serde(default)]
    expect: ExpectKeys,
}

/// A file that is being read.
struct Reading<'a> {
    source: &'a Source,
    /// The folder that its paths are seen from.
    folder: &'a Path,
    tables: Tables,
}

impl Reading<'_> {
    /// A mistake at a place.
    fn wrong(&self, at: Range<usize>, what: impl Into<String>, help: Option<&str>) -> Mistake {
        let title = "the requests are not right";
        self.source
            .mistake(at, title, what, help.map(str::to_owned))
    }
}

/// Reads requests from a file.
///
/// # Errors
/// The first mistake, with its place.
pub fn read(path: &Path, server: &Server) -> Result<Mix, RequestsError> {
    let source = Source::read(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    Ok(parse(&source, folder, server)?)
}

/// Reads requests. Paths in them are seen from `folder`.
///
/// # Errors
/// The first mistake, with its place.
pub fn parse(source: &Source, folder: &Path, server: &Server) -> Result<Mix, Mistake> {
    let file: File = source.parse()?;
    let mut reading = Reading {
        source,
        folder,
        tables: Tables::default(),
    };
    if file.request.is_empty() {
        return Err(reading.wrong(0..0, "there must be at least one [[request]]", None));
    }
    let sample = match &file.sample {
        None => SAMPLE,
        Some(sample) if (0.0..=1.0).contains(sample.get_ref()) => *sample.get_ref(),
        Some(sample) => {
            let what = "must be a share from 0 to 1, such as 0.01";
            return Err(reading.wrong(sample.span(), what, None));
        }
    };
    let mut requests: Vec<MixRequest> = Vec::new();
    for keys in &file.request {
        let request = reading.request(keys.get_ref(), server)?;
        if requests.iter().any(|known| known.name == request.name) {
            let what = "another request has this name";
            return Err(reading.wrong(keys.get_ref().name.span(), what, None));
        }
        requests.push(request);
    }
    let weights: Vec<u32> = requests.iter().map(|request| request.weight).collect();
    let never = exact_shares(&weights).iter().position(|&count| count == 0);
    if let (Some(place), Shares::Exact) = (never, server.shares) {
        let keys = file.request[place].get_ref();
        let at = keys.weight.as_ref().map_or(keys.name.span(), Spanned::span);
        let what = format!("less than one in {CYCLE} requests: it would never be sent");
        let help = "give it a larger weight, or draw requests with --random-shares";
        return Err(reading.wrong(at, what, Some(help)));
    }
    Ok(Mix {
        requests,
        tables: reading.tables.finish(),
        shares: server.shares,
        sample: (sample * f64::from(MILLION)).round() as u32,
        limits: server.limits,
    })
}

impl Reading<'_> {
    fn request(&mut self, keys: &RequestKeys, server: &Server) -> Result<MixRequest, Mistake> {
        let name = keys.name.get_ref();
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '/');
        if name.is_empty() || !name.chars().all(plain) {
            let what = "a name has letters, digits, '-', '_' and '/'";
            return Err(self.wrong(keys.name.span(), what, None));
        }
        let has_body = keys.body.is_some() || keys.body_file.is_some();
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
        let mut pieces = vec![text(server.prefix.as_str())];
        pieces.extend(self.template(&keys.path, Place::Path)?);
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
            headers.push((name.clone(), self.template(value, Place::Header)?));
        }
        let body = match (&keys.body, &keys.body_file) {
            (Some(_), Some(file)) => {
                let what = "there is a body already";
                return Err(self.wrong(file.span(), what, None));
            }
            (Some(body), None) => {
                let mut fields = keys.headers.iter();
                let content_type = fields
                    .find(|(name, _)| name.eq_ignore_ascii_case("content-type"))
                    .map(|(_, value)| value.get_ref().as_str());
                let kind = Kind::of(content_type, body.get_ref());
                self.template(body, Place::Body(kind))?
            }
            (None, Some(file)) => {
                let path = self.folder.join(file.get_ref());
                let bytes = std::fs::read(&path).map_err(|error| {
                    let what = format!("cannot read {}: {error}", path.display());
                    self.wrong(file.span(), what, None)
                })?;
                vec![text(bytes)]
            }
            (None, None) => Vec::new(),
        };
        let weight = match &keys.weight {
            None => 1,
            Some(weight) if *weight.get_ref() > 0 => *weight.get_ref(),
            Some(weight) => return Err(self.wrong(weight.span(), "must be at least 1", None)),
        };
        Ok(MixRequest {
            name: name.clone(),
            method: method.to_owned(),
            path: pieces,
            host: server.host.clone(),
            headers,
            body,
            keepalive: server.keepalive,
            weight,
            expected: self.expected(&keys.expect)?,
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
