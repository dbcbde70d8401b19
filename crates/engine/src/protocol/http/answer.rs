//! Reading one answer: a state machine that takes bytes as they come.

use super::head::{Framing, Head, MAX_FIELDS, parse, unfolded};
use super::{Expect, Fault, Limits};
use crate::protocol::{Answer, Difference, chunked};

/// A head longer than this is parsed anew each time, see [`HttpReader::known`].
const KNOWN_HEAD: usize = 1024;

/// Where in an answer a connection is. `Default`: before its first byte.
#[derive(Debug, Default)]
pub struct HttpState {
    phase: AnswerPhase,
    /// The beginning of a head, chunk-size line or trailer that came in pieces.
    partial: Vec<u8>,
    status: u16,
    close: bool,
    body: u64,
    /// Where the body first differs from what is expected.
    difference: Option<Box<Difference>>,
    /// The request was a HEAD.
    to_head: bool,
    /// The first byte of the body has been told of.
    told: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum AnswerPhase {
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
    Trailer(Trailer),
}

/// How much of an answer has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerProgress {
    /// The protocol does not say.
    Unknown,
    /// Not a byte.
    Nothing,
    /// A part of its head.
    Head,
    /// The head, and so many bytes of the body.
    Body(u64),
    /// The same without a length: it ends with its connection.
    Endless(u64),
}

impl HttpState {
    /// Has the body of the answer begun that is being read? True once for each.
    #[inline]
    pub(in crate::protocol) fn begins(&mut self) -> bool {
        self.body > 0 && !std::mem::replace(&mut self.told, true)
    }

    /// How much of the answer has come that is being read.
    #[must_use]
    pub fn progress(&self) -> AnswerProgress {
        match self.phase {
            AnswerPhase::Head if self.partial.is_empty() => AnswerProgress::Nothing,
            AnswerPhase::Head => AnswerProgress::Head,
            AnswerPhase::UntilClose => AnswerProgress::Endless(self.body),
            _ => AnswerProgress::Body(self.body),
        }
    }
}

/// Size of the part of a trailer section that has come.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Trailer {
    bytes: u32,
    fields: u32,
}

/// Receiver of the parts of answers while they are read. `()` ignores them, and costs nothing.
pub trait Keep {
    /// The head of an answer, whole with its empty line; interim ones (1xx but 101) are not shown.
    fn head(&mut self, bytes: &[u8]);

    /// The next piece of the body, without any chunked coding.
    fn body(&mut self, bytes: &[u8]);

    /// A chunk of the body has come whole, or, of a body without chunks, what came together.
    #[inline]
    fn chunk(&mut self) {}
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
    /// A connection is kept only where the answer says so.
    only_if_said: bool,
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
            only_if_said: false,
            known: Vec::new(),
            known_head: Head {
                status: 0,
                close: false,
                kept: false,
                framing: Framing::Length(0),
            },
            first: Vec::new(),
        }
    }

    /// For answers to `request`. Where that is one of HTTP/1.0 that asks the server to keep the connection, a
    /// server that does so says it (RFC 9112, C.2.2): not every answer of HTTP/1.1 means that it does.
    #[must_use]
    pub fn to(mut self, request: &[u8]) -> Self {
        let head = request.windows(4).position(|four| four == b"\r\n\r\n");
        let head = &request[..head.unwrap_or(request.len())];
        let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
        let old = lines
            .next()
            .is_some_and(|line| line.ends_with(b" HTTP/1.0"));
        self.only_if_said =
            old && lines.any(|line| line.eq_ignore_ascii_case(b"connection: keep-alive"));
        self
    }

    pub(in crate::protocol) fn first_head(&self) -> &[u8] {
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
                AnswerPhase::Head => {
                    let Some(n) = self.head(state, rest, to_head, expect, keep)? else {
                        return Ok((bytes.len(), None));
                    };
                    used += n;
                    if state.phase == AnswerPhase::Length(0) {
                        return Ok((used, Some(finish(state, expect))));
                    }
                }
                AnswerPhase::Length(left) | AnswerPhase::ChunkData(left) => {
                    let n = usize::try_from(left).map_or(rest.len(), |left| left.min(rest.len()));
                    self.body(state, &rest[..n], expect, keep)?;
                    used += n;
                    let left = left - n as u64;
                    if left == 0 || matches!(state.phase, AnswerPhase::Length(_)) {
                        keep.chunk();
                    }
                    match state.phase {
                        AnswerPhase::Length(_) if left == 0 => {
                            return Ok((used, Some(finish(state, expect))));
                        }
                        AnswerPhase::Length(_) => state.phase = AnswerPhase::Length(left),
                        _ if left == 0 => state.phase = AnswerPhase::ChunkEnd,
                        _ => state.phase = AnswerPhase::ChunkData(left),
                    }
                }
                AnswerPhase::UntilClose => {
                    self.body(state, rest, expect, keep)?;
                    keep.chunk();
                    used = bytes.len();
                }
                AnswerPhase::ChunkSize => {
                    let Some(n) = self.line(state, rest, "a chunk-size line")? else {
                        return Ok((bytes.len(), None));
                    };
                    used += n;
                    let size = chunked::size(&state.partial)
                        .ok_or(Fault::Malformed("a chunk size is not a hexadecimal number"))?;
                    state.partial.clear();
                    state.phase = if size == 0 {
                        AnswerPhase::Trailer(Trailer::default())
                    } else {
                        AnswerPhase::ChunkData(size)
                    };
                }
                AnswerPhase::ChunkEnd => {
                    let Some(n) = self.line(state, rest, "the end of a chunk")? else {
                        return Ok((bytes.len(), None));
                    };
                    used += n;
                    if !matches!(&state.partial[..], b"\r\n" | b"\n") {
                        return Err(Fault::Malformed("a chunk is longer than its size says"));
                    }
                    state.partial.clear();
                    state.phase = AnswerPhase::ChunkSize;
                }
                AnswerPhase::Trailer(so_far) => {
                    let Some(n) = self.line(state, rest, "a line of the trailer section")? else {
                        return Ok((bytes.len(), None));
                    };
                    used += n;
                    let whole = self.trailer(&state.partial, so_far)?;
                    state.partial.clear();
                    match whole {
                        None => return Ok((used, Some(finish(state, expect)))),
                        Some(so_far) => state.phase = AnswerPhase::Trailer(so_far),
                    }
                }
            }
            if used == bytes.len() {
                return Ok((used, None));
            }
        }
    }

    /// Ends the answer that is being read, with what has come of it: its connection is of no use then. None: its head has
    /// not come.
    pub(in crate::protocol) fn hang_up(state: &mut HttpState, expect: &Expect) -> Option<Answer> {
        (state.phase != AnswerPhase::Head).then(|| Answer {
            wrong: expect.judge_status(state.status),
            last: true,
            ..finish(state, expect)
        })
    }

    /// The server has closed: an answer that ends with the connection is complete.
    pub fn end(&mut self, state: &mut HttpState, expect: &Expect) -> Option<Answer> {
        (state.phase == AnswerPhase::UntilClose).then(|| finish(state, expect))
    }

    /// Reads a head, skipping interim ones (1xx but 101). `None`: all bytes are used and more are needed.
    #[inline]
    fn head(
        &mut self,
        state: &mut HttpState,
        bytes: &[u8],
        to_head: bool,
        expect: &Expect,
        keep: &mut impl Keep,
    ) -> Result<Option<usize>, Fault> {
        if state.partial.is_empty() && !self.known.is_empty() && bytes.starts_with(&self.known) {
            let n = self.known.len();
            let head = self.known_head;
            keep.head(&bytes[..n]);
            begin(state, head, to_head, self.limits)?;
            return Ok(Some(n));
        }
        self.parse_head(state, bytes, to_head, expect, keep)
    }

    #[cold]
    fn parse_head(
        &mut self,
        state: &mut HttpState,
        bytes: &[u8],
        to_head: bool,
        expect: &Expect,
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
                    let head = match head.status {
                        // Also those that are not known (RFC 9110, 15.2).
                        100 | 102..200 => continue,
                        // It ends HTTP on this connection.
                        101 if expect.asks_for(101) => Head {
                            close: true,
                            framing: Framing::Length(0),
                            ..head
                        },
                        101 => {
                            return Err(Fault::Malformed(
                                "the server switched protocols (101) unasked",
                            ));
                        }
                        _ => Head {
                            close: head.close || (self.only_if_said && !head.kept),
                            ..head
                        },
                    };
                    let plain = unfolded(&whole[first..at]);
                    if self.first.is_empty() {
                        self.first.extend_from_slice(&plain);
                    }
                    // What was folded is unfolded anew each time.
                    if first == 0 && plain.len() == at && at <= KNOWN_HEAD && head.status >= 200 {
                        self.known.clear();
                        self.known.extend_from_slice(&whole[..at]);
                        self.known_head = head;
                    }
                    keep.head(&plain);
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

    /// Takes a line of a trailer section; `None` when it is the empty one at the end.
    fn trailer(&self, line: &[u8], so_far: Trailer) -> Result<Option<Trailer>, Fault> {
        if matches!(line, b"\r\n" | b"\n") {
            return Ok(None);
        }
        let folded = so_far.fields > 0 && matches!(line, [b' ' | b'\t', ..]);
        if !folded && !chunked::is_field(line) {
            return Err(Fault::Malformed(
                "a line of the trailer section is not a field",
            ));
        }
        let bytes = u64::from(so_far.bytes) + line.len() as u64;
        if bytes > self.limits.head {
            return Err(Fault::TooLong {
                part: "the trailer section",
                limit: self.limits.head,
            });
        }
        let fields = so_far.fields + 1;
        if fields as usize > MAX_FIELDS {
            return Err(Fault::Malformed("more than 128 trailer fields"));
        }
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        Ok(Some(Trailer { bytes, fields }))
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
        if !expect.matches_at(state.body, bytes) && state.difference.is_none() {
            state.difference = expect.difference_at(state.body, bytes);
        }
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
    state.told = false;
    let bodiless = to_head || matches!(head.status, 204 | 304);
    state.phase = match head.framing {
        _ if bodiless => AnswerPhase::Length(0),
        Framing::Length(n) if n > limits.body => {
            return Err(Fault::TooLong {
                part: "the body",
                limit: limits.body,
            });
        }
        Framing::Length(n) => AnswerPhase::Length(n),
        Framing::Chunked => AnswerPhase::ChunkSize,
        Framing::UntilClose => AnswerPhase::UntilClose,
    };
    Ok(())
}

#[inline]
fn finish(state: &mut HttpState, expect: &Expect) -> Answer {
    let wrong = if state.to_head {
        expect.judge_status(state.status)
    } else {
        expect.judge(state.status, state.body, state.difference.take())
    };
    let answer = Answer {
        status: state.status,
        wrong,
        last: state.close || state.phase == AnswerPhase::UntilClose,
        body: state.body,
    };
    // `partial` is kept: it is empty here, but owns its memory for the next fragmented answer.
    state.phase = AnswerPhase::Head;
    state.body = 0;
    state.difference = None;
    answer
}
