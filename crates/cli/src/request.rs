//! A request from the command line, with what is expected of its answer.

use crate::args::request::{Request, Statuses};
use miette::{Result, miette};
use prony_engine::protocol::Expect;
use prony_lab::requests::verify::Way;

/// What is said of a file that is compared with.
pub const PAUSES: &str = "the pauses of the sessions are left out: with them the number of users would be the limit of every server";

impl Request {
    /// Has the user said anything about it?
    pub fn is_given(&self) -> bool {
        self.method.is_some()
            || !self.headers.is_empty()
            || self.body.is_some()
            || self.body_file.is_some()
            || self.expect_status.is_some()
            || self.expect_body.is_some()
    }

    /// The method: what was said, else GET, or POST with a body, as in curl.
    pub fn method(&self) -> Result<String> {
        let has_body = self.body.is_some() || self.body_file.is_some();
        let method = match &self.method {
            Some(method) => method.as_str(),
            None if has_body => "POST",
            None => "GET",
        };
        match is_token(method) {
            true => Ok(method.to_owned()),
            false => Err(miette!("{method:?} is not a method")),
        }
    }

    /// The header fields, as names and values.
    pub fn fields(&self) -> Result<Vec<(String, String)>> {
        let clean = |value: &str| !value.bytes().any(|b| b < b' ' && b != b'\t');
        let field = |field: &String| {
            field
                .split_once(':')
                .map(|(name, value)| (name.trim(), value.trim()))
                .filter(|(name, value)| is_token(name) && clean(value))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .ok_or_else(|| miette!("{field:?} is not a header field: expected `Name: value`"))
        };
        self.headers.iter().map(field).collect()
    }

    /// The body; empty when there is none.
    pub fn content(&self) -> Result<Vec<u8>> {
        match (&self.body, &self.body_file) {
            (_, Some(path)) => read(path),
            (Some(body), None) => text_or_file(body),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// What every answer must be.
    pub fn expect(&self) -> Result<Expect> {
        let expect = match &self.expect_body {
            Some(body) => Expect::body(text_or_file(body)?),
            None => Expect::default(),
        };
        Ok(Expect {
            status: self
                .expect_status
                .map(|Statuses(first, last)| (first, last)),
            ..expect
        })
    }
}

/// What stands before every path of a file's requests: the path of the URL.
pub fn prefix(path: &str) -> Result<String> {
    match path.contains('?') {
        true => Err(miette!(
            "with --file the URL has no query: it stands before every path"
        )),
        false => Ok(path.trim_end_matches('/').to_owned()),
    }
}

/// How the requests of a file are sent when they are verified.
pub fn ways(no_pipelining: bool) -> Vec<Way> {
    let all = Way::ALL.into_iter();
    all.filter(|&way| !(no_pipelining && way == Way::Pipelined))
        .collect()
}

/// Text, or the content of a file after `@`.
pub fn text_or_file(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix('@') {
        None => Ok(text.as_bytes().to_vec()),
        Some(path) => read(path),
    }
}

fn read(path: &str) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| miette!("cannot read {path}: {error}"))
}

/// May it be a method, or the name of a header field (RFC 9110, 5.6.2)?
fn is_token(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(fits)
}
