//! A request from the command line, with what is expected of its answer.

use crate::args::request::{AnswerLimits, EncodingArgs, Login, RequestArgs, Statuses};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use miette::{Result, miette};
use prony_engine::protocol::mix::text;
use prony_engine::protocol::{Expect, Limits, Mix};
use prony_lab::requests::verify::SendMode;

/// Note that a comparison prints when its file of requests has pauses.
pub const PAUSES: &str = "the pauses of the sessions are left out: with them the number of users would be the limit of every server";

impl RequestArgs {
    /// Has the user said anything about it?
    pub fn is_given(&self) -> bool {
        let limits = &self.limits;
        self.is_described()
            || self.login.user.is_some()
            || self.encoding.compressed
            || self.streams.stream.is_some()
            || limits.max_head.is_some()
            || limits.max_body.is_some()
    }

    /// Has the user said what is asked or expected? Who asks is not counted, nor how answers may come.
    pub fn is_described(&self) -> bool {
        self.method.is_some()
            || !self.headers.is_empty()
            || self.body.is_some()
            || self.expect_status.is_some()
            || self.expect_body.is_some()
    }

    /// The method: what was said, else GET, or POST with a body, as in curl.
    pub fn method(&self) -> Result<String> {
        let has_body = self.body.is_some();
        let method = match &self.method {
            Some(method) => method.as_str(),
            None if has_body => "POST",
            None => "GET",
        };
        match is_token(method) {
            true => Ok(method.to_owned()),
            false => Err(usage!("{method:?} is not a method")),
        }
    }

    /// The header fields, as names and values, with the authorization of `--user`.
    pub fn fields(&self) -> Result<Vec<(String, String)>> {
        let clean = |value: &str| !value.bytes().any(|b| b < b' ' && b != b'\t');
        let field = |field: &String| {
            field
                .split_once(':')
                .map(|(name, value)| (name.trim(), value.trim()))
                .filter(|(name, value)| is_token(name) && clean(value))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .ok_or_else(|| usage!("{field:?} is not a header field: expected `Name: value`"))
        };
        let mut fields: Vec<(String, String)> =
            self.headers.iter().map(field).collect::<Result<_>>()?;
        if let Some(at) = fields.iter().position(|(name, _)| frames(name)) {
            let (name, value) = fields.remove(at);
            let length = name.eq_ignore_ascii_case("content-length");
            if !(length && value == self.content()?.len().to_string()) {
                return Err(miette!(
                    help = "leave it out: Content-Length is made from the body",
                    "{name}: {value} would make the server wait for another body than the one that is sent"
                ));
            }
        }
        if let Some(value) = self.login.authorization()? {
            if fields.iter().any(|(name, _)| authorizes(name)) {
                return Err(usage!(
                    help = "leave out one of them",
                    "--user and a header field Authorization both say who asks"
                ));
            }
            fields.push((AUTHORIZATION.to_owned(), value));
        }
        Ok(fields)
    }

    /// The body; empty when there is none.
    pub fn content(&self) -> Result<Vec<u8>> {
        match &self.body {
            Some(body) => text_or_file(body),
            None => Ok(Vec::new()),
        }
    }

    /// Puts what holds for a file's requests too into them: who asks, and how answers may come.
    pub fn settle(&self, mix: &mut Mix) -> Result<()> {
        self.login.authorize(mix)?;
        self.encoding.settle(mix);
        self.streams.settle(mix);
        self.fits_streams()
    }

    /// The limits of an answer: a stream may have any length, since nothing of it is kept.
    pub fn accepted(&self) -> Limits {
        let limits = self.limits.accepted();
        match (&self.streams.stream, self.limits.max_body) {
            (Some(_), None) => Limits {
                body: u64::MAX,
                ..limits
            },
            _ => limits,
        }
    }

    /// Refuses what streams of events cannot have.
    pub fn fits_streams(&self) -> Result<()> {
        match (&self.streams.stream, self.encoding.compressed) {
            (Some(_), true) => Err(usage!(
                help = "leave out --compressed",
                "--compressed asks for encoded responses, and prony reads streams of events as they come"
            )),
            _ => Ok(()),
        }
    }

    /// Returns the status and the body that every answer must have.
    pub fn expect(&self) -> Result<Expect> {
        let expect = match &self.expect_body {
            Some(body) => Expect::body(text_or_file(body)?),
            None => Expect::default(),
        };
        let status = match self.expect_status {
            None => None,
            Some(Statuses::Http(first, last)) => Some((first, last)),
            Some(Statuses::Grpc(status)) => {
                return Err(usage!(
                    "--expect-status {status}: that is a status of gRPC, expected one of HTTP such as 200 or 2xx"
                ));
            }
        };
        Ok(Expect { status, ..expect })
    }
}

impl AnswerLimits {
    /// The limits: those that were given, else the usual ones.
    pub fn accepted(&self) -> Limits {
        let usual = Limits::default();
        Limits {
            head: self.max_head.unwrap_or(usual.head),
            body: self.max_body.unwrap_or(usual.body),
        }
    }
}

impl EncodingArgs {
    /// Has the answers of a file's requests judged decoded, if they may come compressed.
    pub fn settle(self, mix: &mut Mix) {
        if self.compressed {
            mix.decode();
        }
    }
}

/// The field that says who asks.
const AUTHORIZATION: &str = "Authorization";

/// Does a header field say where the request ends?
fn frames(name: &str) -> bool {
    ["content-length", "transfer-encoding"]
        .iter()
        .any(|it| name.eq_ignore_ascii_case(it))
}

fn authorizes(name: &str) -> bool {
    name.eq_ignore_ascii_case(AUTHORIZATION)
}

impl Login {
    /// The value of the field `Authorization` (RFC 7617); none: nobody in particular asks. What is wrong is said without
    /// the password.
    fn authorization(&self) -> Result<Option<String>> {
        let Some(user) = &self.user else {
            return Ok(None);
        };
        if !user.contains(':') {
            return Err(usage!(
                help = "an empty password is `--user NAME:`",
                "--user has no colon: expected NAME:PASSWORD"
            ));
        }
        if user.chars().any(char::is_control) {
            return Err(usage!(
                "--user has a control character, which names and passwords cannot have"
            ));
        }
        Ok(Some(format!("Basic {}", BASE64.encode(user))))
    }

    /// Gives each request of a file that has no `Authorization` field this one.
    pub fn authorize(&self, mix: &mut Mix) -> Result<()> {
        let Some(value) = self.authorization()? else {
            return Ok(());
        };
        for request in &mut mix.requests {
            if !request.headers.iter().any(|(name, _)| authorizes(name)) {
                let field = (AUTHORIZATION.to_owned(), vec![text(value.as_str())]);
                request.headers.push(field);
            }
        }
        Ok(())
    }
}

/// Returns the path of the URL, which stands before every path of a file's requests.
pub fn prefix(path: &str) -> Result<String> {
    match path.contains('?') {
        true => Err(usage!(
            "with --file the URL has no query: it stands before every path"
        )),
        false => Ok(path.trim_end_matches('/').to_owned()),
    }
}

/// How the requests of a file are sent when they are verified.
pub fn ways(no_pipelining: bool) -> Vec<SendMode> {
    let all = SendMode::ALL.into_iter();
    all.filter(|&way| !(no_pipelining && way == SendMode::Pipelined))
        .collect()
}

/// Text, or the content of a file after `@`.
pub fn text_or_file(text: &str) -> Result<Vec<u8>> {
    match text.strip_prefix('@') {
        None => Ok(text.as_bytes().to_vec()),
        Some(path) => std::fs::read(path).map_err(|error| miette!("cannot read {path}: {error}")),
    }
}

/// May it be a method, or the name of a header field (RFC 9110, 5.6.2)?
fn is_token(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(fits)
}
