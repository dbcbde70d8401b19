//! Reading HTTP/1.x answers from a server that is not trusted: bounded in time by the step's
//! patience, in memory by [`ANSWER_LIMIT`].
//!
//! Bodies are delimited here, and by no code of the load: `httparse` reads heads, chunk sizes and trailers. Loads read
//! heads with `httparse` too, and the rest with separate code.

use super::wire::{Fault, QUIET, ReadResult, Wire, describe, excerpt};
use prony_engine::protocol::encoding::Encoding;
use prony_engine::protocol::recognized;

/// The most an answer may take, head and body together, chunk framing included. The longest that a
/// contract asks for has some 5 KiB; what users ask for may be a whole page.
const ANSWER_LIMIT: usize = 1024 * 1024;

/// The most a head may take, and the same for a trailer section. Honest ones have some hundred bytes. Both
/// are parsed anew with every read, so that this also bounds the work.
const HEAD_LIMIT: usize = 64 * 1024;

/// The most header lines an answer may have. Honest servers send about five to ten.
const HEADER_LIMIT: usize = 64;

/// One whole answer.
#[derive(Debug, Clone)]
pub(super) struct HttpAnswer {
    pub status: u16,
    pub content_type: Option<String>,
    /// Content coding that the head gives for the body; the body is kept as it came.
    pub encoding: Encoding,
    pub body: Vec<u8>,
    /// The body came in chunks, which a client that speaks HTTP/1.0 cannot read.
    pub chunked: bool,
    /// Further fields of the head.
    pub fields: OtherFields,
}

/// Fields of a head that few contracts ask for.
#[derive(Debug, Clone, Default)]
pub(super) struct OtherFields {
    pub server: Option<String>,
    pub date: Option<String>,
    pub x_cache: Option<String>,
    /// The end of the connection is the end of the body, which has neither a length nor chunks.
    pub until_close: bool,
}

/// End of the body, as the head gives it (RFC 9112, 6.3).
enum Framing {
    Length(usize),
    Chunked,
    UntilEnd,
}

struct AnswerHead {
    size: usize,
    status: u16,
    content_type: Option<String>,
    encoding: Encoding,
    framing: Framing,
    server: Option<String>,
    date: Option<String>,
    x_cache: Option<String>,
}

/// A connection on which answers are read, one after the other; bytes read too far wait for the
/// next.
pub(super) struct Listener {
    pub wire: Wire,
    heard: Vec<u8>,
    ended: bool,
}

impl Listener {
    pub fn new(wire: Wire) -> Self {
        Self {
            wire,
            heard: Vec::new(),
            ended: false,
        }
    }

    /// Reads the next answer. Returns as soon as its last byte is there.
    pub fn answer(&mut self) -> Result<HttpAnswer, Fault> {
        let head = loop {
            match parse_head(&self.heard)? {
                // Interim ones are passed over (RFC 9110, 15.2).
                Some(AnswerHead {
                    size,
                    status: 100 | 102..200,
                    ..
                }) => {
                    self.heard.drain(..size);
                }
                Some(head) => break head,
                None => self.more("an answer's head")?,
            }
        };
        let mut chunks = Chunks::default();
        let (size, body) = loop {
            let after_head = &self.heard[head.size..];
            match head.framing {
                Framing::Length(length) if after_head.len() >= length => {
                    break (length, after_head[..length].to_vec());
                }
                Framing::Length(length) => {
                    self.more(&format!("a body of {length} bytes, as Content-Length says"))?;
                }
                Framing::Chunked => match chunks.parse(after_head)? {
                    Some(size) => break (size, chunks.body),
                    None => self.more("a chunked body with its last chunk")?,
                },
                Framing::UntilEnd if self.ended => break (after_head.len(), after_head.to_vec()),
                Framing::UntilEnd => match self.more("a body and then the end of the stream") {
                    Err(_) if self.ended => {}
                    other => other?,
                },
            }
        };
        self.heard.drain(..head.size + size);
        Ok(HttpAnswer {
            status: head.status,
            content_type: head.content_type,
            encoding: head.encoding,
            body,
            chunked: matches!(head.framing, Framing::Chunked),
            fields: OtherFields {
                server: head.server,
                date: head.date,
                x_cache: head.x_cache,
                until_close: matches!(head.framing, Framing::UntilEnd),
            },
        })
    }

    /// Reads an answer that has no body, whatever its head says (to HEAD); gives its status.
    pub fn head_alone(&mut self) -> Result<u16, Fault> {
        loop {
            if let Some(head) = parse_head(&self.heard)? {
                self.heard.drain(..head.size);
                return Ok(head.status);
            }
            self.more("an answer's head")?;
        }
    }

    /// No byte beyond the answers read so far. The server may have closed the connection.
    pub fn expect_nothing_more(&self) -> Result<(), Fault> {
        let expected = "nothing after the answer";
        if self.heard.is_empty() {
            self.wire.expect_quiet(QUIET, expected)
        } else {
            Err(Fault::new(expected, excerpt(&self.heard)))
        }
    }

    /// The stream must end here.
    pub fn expect_end(&self, expected: &str) -> Result<(), Fault> {
        if self.heard.is_empty() && self.ended {
            Ok(())
        } else if self.heard.is_empty() {
            self.wire.expect_end(expected)
        } else {
            Err(Fault::new(expected, excerpt(&self.heard)))
        }
    }

    /// Reads on, because `expected` is not there yet.
    fn more(&mut self, expected: &str) -> Result<(), Fault> {
        let mut buf = [0; 4096];
        let so_far = match self.heard.len() {
            0 => "no byte".to_owned(),
            n => format!("{n} bytes: {}", excerpt(&self.heard)),
        };
        if self.heard.len() > ANSWER_LIMIT {
            let limit = ANSWER_LIMIT / 1024;
            return Err(Fault::new(format!("{expected} within {limit} KiB"), so_far));
        }
        match self.wire.hear(&mut buf) {
            Ok(ReadResult::Bytes(n)) => {
                self.heard.extend_from_slice(&buf[..n]);
                Ok(())
            }
            Ok(ReadResult::End) => {
                self.ended = true;
                Err(Fault::new(
                    expected,
                    format!("the end of the stream after {so_far}"),
                ))
            }
            Ok(ReadResult::Silence) => Err(Fault::new(
                expected,
                format!("{}, after {so_far}", self.wire.patience().ran_out()),
            )),
            Err(error) => Err(Fault::new(
                expected,
                format!("{} after {so_far}", describe(&error)),
            )),
        }
    }
}

/// Parses a head, or returns None while it is not complete.
fn parse_head(bytes: &[u8]) -> Result<Option<AnswerHead>, Fault> {
    let mut headers = [httparse::EMPTY_HEADER; HEADER_LIMIT];
    let mut response = httparse::Response::new(&mut headers);
    let mut parser = httparse::ParserConfig::default();
    // A user agent takes folded field lines (RFC 9112, 5.2).
    parser.allow_obsolete_multiline_headers_in_responses(true);
    let size = match parser.parse_response(&mut response, bytes) {
        Ok(httparse::Status::Complete(size)) => size,
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_LIMIT => return Ok(None),
        Ok(httparse::Status::Partial) => {
            let expected = format!("an answer's head within {} KiB", HEAD_LIMIT / 1024);
            return Err(Fault::new(expected, excerpt(bytes)));
        }
        Err(error) => {
            let error = error.to_string();
            let why = recognized(bytes).unwrap_or(&error);
            return Err(Fault::new(
                "an HTTP/1.x answer",
                format!("{} ({why})", excerpt(bytes)),
            ));
        }
    };
    let value = |name: &str| {
        let mut values = response
            .headers
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case(name));
        let first = values.next().map(|header| header.value.trim_ascii());
        match values.find(|header| Some(header.value.trim_ascii()) != first) {
            Some(other) => Err(Fault::new(
                format!("one {name} header"),
                format!("also {}", excerpt(other.value)),
            )),
            None => Ok(first),
        }
    };
    let status = response.code.unwrap_or(0);
    // Old servers name the coding `identity`, which is none.
    let coding = value("Transfer-Encoding")?;
    let coding = coding.filter(|coding| !coding.eq_ignore_ascii_case(b"identity"));
    let framing = match (coding, value("Content-Length")?) {
        // These never have a body, whatever the head says (RFC 9112, 6.3).
        _ if matches!(status, 204 | 304) => Framing::Length(0),
        (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => Framing::Chunked,
        (Some(coding), None) => {
            return Err(Fault::new(
                "Transfer-Encoding: chunked, if any",
                excerpt(coding),
            ));
        }
        (Some(_), Some(_)) => {
            return Err(Fault::new(
                "Content-Length or Transfer-Encoding",
                "both in one answer",
            ));
        }
        (None, Some(length)) => Framing::Length(parse_length(length)?),
        (None, None) => Framing::UntilEnd,
    };
    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let content_type = value("Content-Type")?.map(text);
    let first = |name: &str| {
        let mut headers = response.headers.iter();
        let named = headers.find(|header| header.name.eq_ignore_ascii_case(name));
        named.map(|header| text(header.value.trim_ascii()))
    };
    let codings = response.headers.iter();
    let codings = codings.filter(|field| field.name.eq_ignore_ascii_case("content-encoding"));
    let encoding = Encoding::of(codings.map(|field| field.value));
    Ok(Some(AnswerHead {
        size,
        status,
        content_type,
        encoding,
        framing,
        server: first("Server"),
        date: first("Date"),
        x_cache: first("X-Cache"),
    }))
}

fn parse_length(value: &[u8]) -> Result<usize, Fault> {
    let digits = value.iter().all(u8::is_ascii_digit);
    let length = std::str::from_utf8(value)
        .ok()
        .filter(|_| digits)
        .and_then(|v| v.parse().ok());
    match length {
        Some(length) if length <= ANSWER_LIMIT => Ok(length),
        _ => Err(Fault::new(
            format!("a Content-Length of at most {ANSWER_LIMIT} bytes"),
            excerpt(value),
        )),
    }
}

/// A chunked body (RFC 9112, 7.1) as it comes.
#[derive(Default)]
struct Chunks {
    /// Bytes of whole chunks, framing included.
    at: usize,
    /// Content of these chunks.
    body: Vec<u8>,
}

impl Chunks {
    /// Decodes all of the body that is there, of which `bytes` is what came so far; gives its size on the
    /// wire once it is complete.
    fn parse(&mut self, bytes: &[u8]) -> Result<Option<usize>, Fault> {
        let wrong = |at: usize| Fault::new("a chunked body", excerpt(&bytes[at..]));
        loop {
            let Some(line) = line(&bytes[self.at..]) else {
                // Its digits and its extensions have to fit.
                return match bytes.len() - self.at > HEAD_LIMIT {
                    true => Err(wrong(self.at)),
                    false => Ok(None),
                };
            };
            let length = chunk_size(line).filter(|&n| n <= ANSWER_LIMIT);
            let length = length.ok_or_else(|| wrong(self.at))?;
            let start = self.at + line.len();
            if length == 0 {
                let size = trailers_end(&bytes[start..]).map_err(|()| wrong(start))?;
                return Ok(size.map(|size| start + size));
            }
            let end = start + length;
            match bytes.get(end..end + 2) {
                Some(b"\r\n") => {
                    self.body.extend_from_slice(&bytes[start..end]);
                    self.at = end + 2;
                }
                Some(_) => return Err(wrong(end)),
                None => return Ok(None),
            }
        }
    }
}

/// The first line, with its line feed.
fn line(bytes: &[u8]) -> Option<&[u8]> {
    let end = bytes.iter().position(|&byte| byte == b'\n')?;
    Some(&bytes[..=end])
}

/// The size on a chunk-size line, which ends in a line feed; none when the line is wrong.
fn chunk_size(line: &[u8]) -> Option<usize> {
    let text = line.strip_suffix(b"\r\n")?;
    // Left to the caller by `httparse`: that there are digits, and what an extension consists of.
    let digits = text.first().is_some_and(u8::is_ascii_hexdigit);
    let plain = |byte: &u8| *byte == b'\t' || !byte.is_ascii_control();
    if !digits || !text.iter().all(plain) {
        return None;
    }
    match httparse::parse_chunk_size(line) {
        Ok(httparse::Status::Complete((end, size))) if end == line.len() => size.try_into().ok(),
        _ => None,
    }
}

/// The size of the trailer section, its empty line included; none while it is not complete.
fn trailers_end(bytes: &[u8]) -> Result<Option<usize>, ()> {
    let mut fields = [httparse::EMPTY_HEADER; HEADER_LIMIT];
    match httparse::parse_headers(bytes, &mut fields) {
        // A bare line feed would do for `httparse`.
        Ok(httparse::Status::Complete((size, _)))
            if size <= HEAD_LIMIT && bytes[..size].ends_with(b"\r\n") =>
        {
            Ok(Some(size))
        }
        Ok(httparse::Status::Partial) if bytes.len() <= HEAD_LIMIT => Ok(None),
        _ => Err(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_joined_and_their_end_is_found() {
        let wire = b"4;ext=1\r\nWiki\r\n6\r\npedia \r\n0\r\nTrailer: x\r\n\r\nrest";
        let end = wire.len() - 4;
        for step in [1, 3, end] {
            let mut chunks = Chunks::default();
            for so_far in (0..end).step_by(step) {
                assert_eq!(chunks.parse(&wire[..so_far]).unwrap(), None, "{so_far}");
            }
            assert_eq!(chunks.parse(wire).unwrap(), Some(end));
            assert_eq!(chunks.body, b"Wikipedia ");
        }
    }

    #[test]
    fn broken_chunks_are_refused() {
        for broken in [
            &b"zz\r\n"[..],
            b"2\r\nabcd\r\n",
            b"ffffffffffff\r\n",
            b"10000000000000000\r\n",
            b"\r\n",
            b"2\r\nab\r\n\r\n",
            b";a\r\n",
            b" 5\r\n",
            b"+5\r\n",
            b"-0\r\n",
            b"0x5\r\n",
            b"5 5\r\n",
            b"5\n",
            b"5;a\n",
            b"5;a\0\r\n",
            b"5;a\rb\r\n",
            b"0\r\n\n",
            b"0\r\nA: b\r\n\n",
            b"0\r\nA: b\0\r\n",
            b"0\r\nA : b\r\n",
            b"0\r\n: b\r\n",
            b"0\r\nHTTP/1.1 200 OK\r\n",
            b"0\r\nno field\r\n\r\n",
        ] {
            let found = Chunks::default().parse(broken);
            assert!(found.is_err(), "{}", broken.escape_ascii());
        }
        let endless = b"0".repeat(HEAD_LIMIT + 1);
        assert!(Chunks::default().parse(&endless).is_err());
    }

    #[test]
    fn chunk_sizes_may_have_extensions_and_leading_zeros() {
        for (line, size) in [
            (&b"0\r\n"[..], 0),
            (b"1aF\r\n", 0x1af),
            (b"0000000000000005\r\n", 5),
            (b"5;name=value\r\n", 5),
            (b"5 ; name=\"a b\"\r\n", 5),
        ] {
            assert_eq!(chunk_size(line), Some(size), "{}", line.escape_ascii());
        }
    }

    #[test]
    fn heads_and_trailers_without_end_are_refused() {
        let head = [&b"HTTP/1.1 200 OK\r\nX: "[..], &b"y".repeat(HEAD_LIMIT)].concat();
        assert!(parse_head(&head).is_err());
        assert!(parse_head(&head[..1_000]).unwrap().is_none());
        let trailers = [&b"0\r\n"[..], &b"X: y\r\n".repeat(HEAD_LIMIT / 6 + 1)].concat();
        assert!(Chunks::default().parse(&trailers).is_err());
    }

    #[test]
    fn ambiguous_framing_is_refused() {
        let both = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
        let two = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        let signed = b"HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n";
        let huge = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n";
        for head in [&both[..], two, signed, huge] {
            assert!(parse_head(head).is_err(), "{}", head.escape_ascii());
        }
    }
}
