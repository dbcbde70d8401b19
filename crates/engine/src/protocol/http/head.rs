//! The head of an answer.

use crate::protocol::{Fault, recognized};
use std::borrow::Cow;

/// The most header fields in one answer, and the most fields in a trailer section.
pub(super) const MAX_FIELDS: usize = 128;

/// Properties of an answer that its head decides.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) close: bool,
    /// The server says that it keeps the connection.
    pub(super) kept: bool,
    pub(super) framing: Framing,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// How heads of answers are parsed: with folded field lines, which a user agent takes (RFC 9112, 5.2).
#[must_use]
pub fn response_parser() -> httparse::ParserConfig {
    let mut parser = httparse::ParserConfig::default();
    parser.allow_obsolete_multiline_headers_in_responses(true);
    parser
}

/// A head with each fold of a field line as one blank.
pub(super) fn unfolded(head: &[u8]) -> Cow<'_, [u8]> {
    let folds = |at: &usize| head[*at] == b'\n' && matches!(head.get(at + 1), Some(b' ' | b'\t'));
    if !(0..head.len()).any(|at| folds(&at)) {
        return head.into();
    }
    let mut out = Vec::with_capacity(head.len());
    let mut at = 0;
    while at < head.len() {
        if folds(&at) {
            out.truncate(out.trim_ascii_end().len());
            out.push(b' ');
            while matches!(head.get(at), Some(b'\n' | b' ' | b'\t')) {
                at += 1;
            }
        } else {
            out.push(head[at]);
            at += 1;
        }
    }
    out.into()
}

/// The fault of bytes that come while nothing is in flight.
#[cold]
pub(in crate::protocol) fn unasked(bytes: &[u8]) -> Fault {
    match parse(bytes) {
        Ok(Some((_, head))) if head.close && (400..600).contains(&head.status) => {
            Fault::Farewell(head.status)
        }
        _ => Fault::Unsolicited { at: 0 },
    }
}

/// Does a request say that it is the last on its connection (RFC 9112, 9.6)?
pub(in crate::protocol) fn asks_to_close(request: &[u8]) -> bool {
    let head = request.windows(4).position(|four| four == b"\r\n\r\n");
    let lines = request[..head.unwrap_or(request.len())].split(|&byte| byte == b'\n');
    let mut values = lines.skip(1).filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let named = line[..colon].eq_ignore_ascii_case(b"connection");
        named.then(|| &line[colon + 1..])
    });
    values.any(|value| tokens(value).any(|token| token.eq_ignore_ascii_case(b"close")))
}

/// One head from the front of `bytes` and its length; `None` when it is not complete.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, Fault> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let n = match response_parser().parse_response(&mut response, bytes) {
        Ok(httparse::Status::Complete(n)) => n,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => {
            return Err(Fault::Malformed(
                recognized(bytes).unwrap_or_else(|| reason(error)),
            ));
        }
    };
    let status = response.code.unwrap_or(0);
    if !(100..1000).contains(&status) {
        return Err(Fault::Malformed("not a three-digit status code"));
    }
    let mut length = None;
    // Is chunked the last coding, and is it there at all?
    let (mut chunked, mut chunks) = (false, false);
    // RFC 9112, 9.3: HTTP/1.1 persists unless told otherwise, HTTP/1.0 closes unless told otherwise.
    let mut close = response.version == Some(0);
    let mut kept = false;
    let mut coded = false;
    for field in response.headers.iter() {
        let value = field.value.trim_ascii();
        if field.name.eq_ignore_ascii_case("content-length") {
            // Several of the same value may have been joined on the way (RFC 9110, 8.6).
            for value in tokens(value) {
                let n = std::str::from_utf8(value)
                    .ok()
                    .filter(|v| v.bytes().all(|b| b.is_ascii_digit()))
                    .and_then(|v| v.parse::<u64>().ok())
                    .ok_or(Fault::Malformed("Content-Length is not a number"))?;
                if length.is_some_and(|other| other != n) {
                    return Err(Fault::Malformed("two different Content-Length fields"));
                }
                length = Some(n);
            }
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            for coding in tokens(value).filter(|coding| !coding.is_empty()) {
                // Old servers name this coding, which is none (RFC 2616, 3.6).
                if coding.eq_ignore_ascii_case(b"identity") {
                    continue;
                }
                coded = true;
                let this = coding.eq_ignore_ascii_case(b"chunked");
                // RFC 9112, 7.1: chunked once, or the body would have to be decoded twice.
                if this && chunks {
                    return Err(Fault::Malformed("the chunked coding is there twice"));
                }
                (chunked, chunks) = (this, chunks || this);
            }
        } else if field.name.eq_ignore_ascii_case("connection") {
            for token in tokens(value) {
                if token.eq_ignore_ascii_case(b"close") {
                    close = true;
                } else if token.eq_ignore_ascii_case(b"keep-alive") {
                    kept = true;
                    close &= response.version != Some(0);
                }
            }
        }
    }
    // RFC 9112, 6.3: a transfer coding overrides a length; a coding that does not end in chunked,
    // like no framing at all, is ended by the connection.
    let framing = match (coded, chunked, length) {
        (true, true, _) => Framing::Chunked,
        (true, false, _) | (false, _, None) => Framing::UntilClose,
        (false, _, Some(n)) => Framing::Length(n),
    };
    Ok(Some((
        n,
        Head {
            status,
            close,
            kept,
            framing,
        },
    )))
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(<[u8]>::trim_ascii)
}

fn reason(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::Version => "not an HTTP/1.x version",
        httparse::Error::Status => "not a status code",
        httparse::Error::HeaderName => "a bad header field name",
        httparse::Error::HeaderValue => "a bad header field value",
        httparse::Error::TooManyHeaders => "more than 128 header fields",
        httparse::Error::NewLine => "a bad line end",
        httparse::Error::Token => "a bad character",
    }
}
