//! Reading one answer: a state machine that takes bytes as they come.

use super::{Answer, Expect, Fault, Limits};

/// The most header fields in one answer.
const MAX_FIELDS: usize = 128;

/// A head longer than this is parsed anew each time, see [`HttpReader::known`].
const KNOWN_HEAD: usize = 1024;

/// Where in an answer a connection is. `Default`: before its first byte.
#[derive(Debug, Default)]
pub struct HttpState {
    phase: Phase,
    /// The beginning of a head, chunk-size line or trailer that came in pieces.
    partial: Vec<u8>,
    status: u16,
    close: bool,
    body: u64,
    differs: bool,
    /// The request was a HEAD.
    to_head: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Phase {
    #[default]
    Head,
    /// Bytes of the body that are still to come.
    Length(u64),
    /// The body ends when the server closes.
    UntilClose,
    ChunkSize,
    ChunkData(u64),
    /// The line end after a chunk's data.
    ChunkEnd,
    Trailer,
}

/// What a head says about the rest of the answer.
#[derive(Debug, Clone, Copy)]
struct Head {
    status: u16,
    close: bool,
    framing: Framing,
}

#[derive(Debug, Clone, Copy)]
enum Framing {
    Length(u64),
    Chunked,
    UntilClose,
}

/// Who is shown the parts of answers while they are read. `()` looks at nothing, and costs nothing.
pub trait Keep {
    /// The head of an answer, whole with its empty line; interim (1xx) ones are not shown.
    fn head(&mut self, bytes: &[u8]);

    /// The next piece of the body, without any chunked coding.
    fn body(&mut self, bytes: &[u8]);
}

impl Keep for () {
    #[inline]
    fn head(&mut self, _bytes: &[u8]) {}

    #[inline]
    fn body(&mut self, _bytes: &[u8]) {}
}

/// Reads answers for all connections of a worker; each connection has an [`HttpState`].
#[derive(Debug, Clone)]
pub struct HttpReader {
    limits: Limits,
    /// The head that was parsed last, whole with its empty line. A server under load sends the
    /// same one again and again (its date changes once a second), and comparing bytes is an order
    /// of magnitude cheaper than parsing them.
    known: Vec<u8>,
    known_head: Head,
    /// The first head of all.
    first: Vec<u8>,
}

impl HttpReader {
    /// A reader that accepts answers within `limits`.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            known: Vec::new(),
            known_head: Head {
                status: 0,
                close: false,
                framing: Framing::Length(0),
            },
            first: Vec::new(),
        }
    }

    pub(super) fn first_head(&self) -> &[u8] {
        &self.first
    }

    /// Takes bytes from the front of `bytes`, which must not be empty, until an answer is
    /// complete or nothing is left; gives how many, and the answer. `to_head`: the request was a
    /// HEAD, so its answer has no body.
    ///
    /// # Errors
    /// A [`Fault`] when the bytes cannot be an answer; `state` is of no further use then.
    #[inline]
    pub fn read(
        &mut self,
        state: &mut HttpState,
        bytes: &[u8],
        to_head: bool,
        expect: &Expect,
        keep: &mut impl Keep,
    ) -> Result<(usize, Option<Answer>), Fault> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            match state.phase {
                Phase::Head => {
                    let Some(n) = self.head(state, rest, to_head, keep)? else {
                        return Ok((bytes.len(), None));
                    };
                    used += n;
                    if state.phase == Phase::Length(0) {
                        return Ok((used, Some(finish(state, expect))));
                    }
                }
                Phase::Length(left) | Phase::ChunkData(left) => {
                    let n = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                    self.body(state, &rest[..n], expect, keep)?;
                    used += n;
                    let left = left - n as u64;
                    match state.phase {
                        Phase::Length(_) if left == 0 => {
                            return Ok((used, Some(finish(state, expect))));
                        }
                        Phase::Length(_) => state.phase = Phase::Length(left),
                        _ if left == 0 => state.phase = Phase::ChunkEnd,
                        _ => state.phase = Phase::ChunkData(left),
                    }
                }
                Phase::UntilClose => {
                    self.body(state, rest, expect, keep)?;
                    used = bytes.len();
                }
                Phase::ChunkSize => {
                    let Some(n) = self.line(state, rest, "a chunk-size line")? else {
                        return Ok((bytes.len(), None));
                    };
                    used += n;
                    let size = chunk_size(&state.partial)?;
                    state.partial.clear();
                    state.phase = if size == 0 {
                        Phase::Trailer
                    } else {
                        Phase::ChunkData(size)
                    };
                }
                Phase::ChunkEnd => {
                    let Some(n) = self.line(state, rest, "the end of a chunk")? else {
                        return Ok((bytes.len(), None));
                    };
                    used += n;
                    if !matches!(&state.partial[..], b"\r\n" | b"\n") {
                        return Err(Fault::Malformed("a chunk is longer than its size says"));
                    }
                    state.partial.clear();
                    state.phase = Phase::ChunkSize;
                }
                Phase::Trailer => {
                    let Some(n) = self.line(state, rest, "the trailer section")? else {
                        return Ok((bytes.len(), None));
                    };
                    used += n;
                    let empty = matches!(&state.partial[..], b"\r\n" | b"\n");
                    state.partial.clear();
                    if empty {
                        return Ok((used, Some(finish(state, expect))));
                    }
                }
            }
            if used == bytes.len() {
                return Ok((used, None));
            }
        }
    }

    /// The server has closed: an answer that ends with the connection is complete.
    pub fn end(&mut self, state: &mut HttpState, expect: &Expect) -> Option<Answer> {
        (state.phase == Phase::UntilClose).then(|| finish(state, expect))
    }

    /// Reads a head, skipping interim (1xx) ones. `None`: all bytes are used and more are needed.
    #[inline]
    fn head(
        &mut self,
        state: &mut HttpState,
        bytes: &[u8],
        to_head: bool,
        keep: &mut impl Keep,
    ) -> Result<Option<usize>, Fault> {
        if state.partial.is_empty() && !self.known.is_empty() && bytes.starts_with(&self.known) {
            let n = self.known.len();
            let head = self.known_head;
            keep.head(&bytes[..n]);
            begin(state, head, to_head, self.limits)?;
            return Ok(Some(n));
        }
        self.parse_head(state, bytes, to_head, keep)
    }

    #[cold]
    fn parse_head(
        &mut self,
        state: &mut HttpState,
        bytes: &[u8],
        to_head: bool,
        keep: &mut impl Keep,
    ) -> Result<Option<usize>, Fault> {
        let before = state.partial.len();
        let mut joined = std::mem::take(&mut state.partial);
        let whole = if before == 0 {
            bytes
        } else {
            joined.extend_from_slice(bytes);
            &joined
        };
        let mut at = 0;
        loop {
            match parse(&whole[at..])? {
                Some((n, head)) => {
                    let first = at;
                    at += n;
                    if at as u64 > self.limits.head {
                        return Err(Fault::TooLong {
                            part: "the head",
                            limit: self.limits.head,
                        });
                    }
                    // 101 ends HTTP on this connection; every other 1xx is followed by the answer.
                    if head.status < 200 && head.status != 101 {
                        continue;
                    }
                    if self.first.is_empty() {
                        self.first.extend_from_slice(&whole[first..at]);
                    }
                    if first == 0 && at <= KNOWN_HEAD {
                        self.known.clear();
                        self.known.extend_from_slice(&whole[..at]);
                        self.known_head = head;
                    }
                    keep.head(&whole[first..at]);
                    begin(state, head, to_head, self.limits)?;
                    return Ok(Some(at - before));
                }
                None if whole.len() as u64 > self.limits.head => {
                    return Err(Fault::TooLong {
                        part: "the head",
                        limit: self.limits.head,
                    });
                }
                None => {
                    if before == 0 {
                        joined.extend_from_slice(bytes);
                    }
                    state.partial = joined;
                    return Ok(None);
                }
            }
        }
    }

    /// Moves bytes up to and including the next line feed to `state.partial`.
    fn line(
        &self,
        state: &mut HttpState,
        bytes: &[u8],
        part: &'static str,
    ) -> Result<Option<usize>, Fault> {
        let end = memchr::memchr(b'\n', bytes).map(|at| at + 1);
        let piece = &bytes[..end.unwrap_or(bytes.len())];
        if (state.partial.len() + piece.len()) as u64 > self.limits.head {
            return Err(Fault::TooLong {
                part,
                limit: self.limits.head,
            });
        }
        state.partial.extend_from_slice(piece);
        Ok(end)
    }

    #[inline]
    fn body(
        &self,
        state: &mut HttpState,
        bytes: &[u8],
        expect: &Expect,
        keep: &mut impl Keep,
    ) -> Result<(), Fault> {
        keep.body(bytes);
        state.differs |= !expect.matches_at(state.body, bytes);
        state.body += bytes.len() as u64;
        if state.body > self.limits.body {
            return Err(Fault::TooLong {
                part: "the body",
                limit: self.limits.body,
            });
        }
        Ok(())
    }
}

#[inline]
fn begin(state: &mut HttpState, head: Head, to_head: bool, limits: Limits) -> Result<(), Fault> {
    state.status = head.status;
    state.close = head.close;
    state.to_head = to_head;
    let bodiless = to_head || matches!(head.status, 204 | 304);
    state.phase = match head.framing {
        _ if bodiless => Phase::Length(0),
        Framing::Length(n) if n > limits.body => {
            return Err(Fault::TooLong {
                part: "the body",
                limit: limits.body,
            });
        }
        Framing::Length(n) => Phase::Length(n),
        Framing::Chunked => Phase::ChunkSize,
        Framing::UntilClose => Phase::UntilClose,
    };
    Ok(())
}

#[inline]
fn finish(state: &mut HttpState, expect: &Expect) -> Answer {
    let wrong = if state.to_head {
        expect.judge_status(state.status)
    } else {
        expect.judge(state.status, state.body, !state.differs)
    };
    let answer = Answer {
        status: state.status,
        wrong,
        last: state.close || state.phase == Phase::UntilClose,
        body: state.body,
    };
    // `partial` is kept: it is empty here, but owns its memory for the next fragmented answer.
    state.phase = Phase::Head;
    state.body = 0;
    state.differs = false;
    answer
}

/// One head from the front of `bytes` and its length; `None` when it is not complete.
fn parse(bytes: &[u8]) -> Result<Option<(usize, Head)>, Fault> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut response = httparse::Response::new(&mut fields);
    let n = match response.parse(bytes) {
        Ok(httparse::Status::Complete(n)) => n,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(Fault::Malformed(reason(error))),
    };
    let status = response.code.unwrap_or(0);
    if !(100..1000).contains(&status) {
        return Err(Fault::Malformed("not a three-digit status code"));
    }
    let mut length = None;
    let mut chunked = false;
    // RFC 9112, 9.3: HTTP/1.1 persists unless told otherwise, HTTP/1.0 closes unless told otherwise.
    let mut close = response.version == Some(0);
    let mut coded = false;
    for field in response.headers.iter() {
        let value = field.value.trim_ascii();
        if field.name.eq_ignore_ascii_case("content-length") {
            let n = std::str::from_utf8(value)
                .ok()
                .filter(|v| v.bytes().all(|b| b.is_ascii_digit()))
                .and_then(|v| v.parse::<u64>().ok())
                .ok_or(Fault::Malformed("Content-Length is not a number"))?;
            if length.is_some_and(|other| other != n) {
                return Err(Fault::Malformed("two different Content-Length fields"));
            }
            length = Some(n);
        } else if field.name.eq_ignore_ascii_case("transfer-encoding") {
            coded = true;
            chunked = tokens(value)
                .last()
                .is_some_and(|t| t.eq_ignore_ascii_case(b"chunked"));
        } else if field.name.eq_ignore_ascii_case("connection") {
            for token in tokens(value) {
                if token.eq_ignore_ascii_case(b"close") {
                    close = true;
                } else if token.eq_ignore_ascii_case(b"keep-alive") && response.version == Some(0) {
                    close = false;
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
            framing,
        },
    )))
}

fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&b| b == b',').map(<[u8]>::trim_ascii)
}

fn chunk_size(line: &[u8]) -> Result<u64, Fault> {
    match httparse::parse_chunk_size(line) {
        Ok(httparse::Status::Complete((_, size))) => Ok(size),
        // `line` ends in a line feed, so nothing can be missing but the carriage return.
        _ => Err(Fault::Malformed("a chunk size is not a hexadecimal number")),
    }
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
