//! Answers that come as a stream of events: where each event ends. Nothing of an event is kept, so its length does not
//! matter.

mod tokens;

use crate::clock::Nanos;
use serde::{Deserialize, Serialize};
use tokens::TokenReader;

/// An answer that is a stream, and what ends it before the server does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventStream {
    /// Format of the events; None: by the answer's content type.
    #[serde(default)]
    pub format: Option<EventFormat>,
    /// Content of the event that says that the stream is over, such as `[DONE]`. It is no event itself, and a stream that
    /// ends without it is wrong.
    #[serde(default)]
    pub end: Option<Vec<u8>>,
    /// After so many events, at least 1, prony ends the stream.
    #[serde(default)]
    pub events: Option<u32>,
    /// After so long since the request was sent, in nanoseconds, prony ends the stream.
    #[serde(default)]
    pub time: Option<Nanos>,
    /// Name of the number in the events' JSON that says how many tokens a response has, such as `completion_tokens`.
    #[serde(default)]
    pub tokens: Option<Vec<u8>>,
}

/// Format of a stream of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventFormat {
    /// Server-sent events (WHATWG HTML, 9.2): an event ends with an empty line. Comments, and events without data, are none.
    Sse,
    /// Lines of text, such as newline-delimited JSON. Empty ones are no events.
    Lines,
    /// Chunks of HTTP/1.1 or DATA frames; where there are none, what came together.
    Chunks,
}

impl EventFormat {
    /// The format of a body of this content type; parameters such as `charset` do not matter.
    #[must_use]
    pub fn of(content_type: &[u8]) -> Self {
        let mut parts = content_type.split(|&byte| byte == b';');
        let kind = parts.next().unwrap_or_default().trim_ascii();
        let is = |names: &[&str]| {
            let mut names = names.iter();
            names.any(|name| kind.eq_ignore_ascii_case(name.as_bytes()))
        };
        if is(&["text/event-stream"]) {
            Self::Sse
        } else if is(&[
            "application/x-ndjson",
            "application/ndjson",
            "application/jsonl",
            "application/x-jsonlines",
            "application/json-seq",
            "application/stream+json",
        ]) {
            Self::Lines
        } else {
            Self::Chunks
        }
    }
}

impl std::str::FromStr for EventFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "sse" => Ok(Self::Sse),
            "ndjson" => Ok(Self::Lines),
            "chunks" => Ok(Self::Chunks),
            _ => Err(format!(
                "{text:?} is no format of events: there are sse, ndjson and chunks"
            )),
        }
    }
}

/// News of a stream since they were last asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamNews {
    /// Events that have ended.
    pub events: u32,
    /// Tokens that the response says it has, so far; 0 if it says nothing.
    pub tokens: u32,
    /// The event has come that says that the stream is over.
    pub over: bool,
    /// No more events are wanted: the stream is to be ended from here.
    pub enough: bool,
}

/// Finds the ends of events in one answer. `Default`: an answer that is no stream, in which there are none.
#[derive(Debug, Clone, Default)]
pub struct EventReader {
    format: Option<EventFormat>,
    /// Events so far, and those of them that were not told yet.
    events: u32,
    untold: u32,
    over: bool,
    /// The end of the stream has been told.
    told_over: bool,
    /// Bytes of a byte order mark at the beginning.
    mark: u8,
    /// The last byte was a carriage return.
    cr: bool,
    place: LinePlace,
    /// The event has data, of more than one line, or of one that is so far like the last event's.
    data: Data,
    tokens: TokenReader,
}

/// Where in a line a reader of server-sent events is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinePlace {
    /// After this many bytes of `data`, and nothing else.
    Name(u8),
    /// Before the value: a space is left out.
    Colon,
    Value,
    /// In a comment, or in another field.
    Other,
}

impl Default for LinePlace {
    fn default() -> Self {
        Self::Name(0)
    }
}

/// The data of an event, as far as it matters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Data {
    /// None has come.
    #[default]
    None,
    /// Number of bytes, all like those of the last event.
    Like(usize),
    /// Others.
    Some,
}

impl Data {
    /// With these bytes after those before.
    #[inline]
    fn with(self, bytes: &[u8], last: Option<&[u8]>) -> Self {
        let (before, Some(last)) = (
            match self {
                Self::None => 0,
                Self::Like(n) => n,
                Self::Some => return Self::Some,
            },
            last,
        ) else {
            return Self::Some;
        };
        match last[before..].starts_with(bytes) {
            true => Self::Like(before + bytes.len()),
            false => Self::Some,
        }
    }
}

const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];
const NAME: &[u8] = b"data";

impl EventReader {
    /// For an answer in this format.
    #[must_use]
    pub fn new(format: EventFormat) -> Self {
        Self {
            format: Some(format),
            ..Self::default()
        }
    }

    /// Is the answer a stream?
    #[inline]
    #[must_use]
    pub fn is_stream(&self) -> bool {
        self.format.is_some()
    }

    /// Events that have come in whole.
    #[must_use]
    pub fn events(&self) -> u32 {
        self.events
    }

    /// Has the event come that says that the stream is over?
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Has an event begun that has not ended?
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.format == Some(EventFormat::Sse) && self.data != Data::None && !self.over
    }

    /// Returns the news since this was last asked for.
    #[inline]
    pub fn news(&mut self, stream: &EventStream) -> StreamNews {
        StreamNews {
            events: std::mem::take(&mut self.untold),
            tokens: self.tokens.tokens,
            over: self.over && !std::mem::replace(&mut self.told_over, self.over),
            enough: stream.events.is_some_and(|most| self.events >= most),
        }
    }

    /// Takes the next bytes of the body.
    pub fn read(&mut self, bytes: &[u8], stream: &EventStream) {
        if let Some(name) = stream.tokens.as_ref().filter(|_| self.is_stream()) {
            self.tokens.read(bytes, name);
        }
        let last = stream.end.as_deref();
        match self.format {
            Some(EventFormat::Sse) => self.sse(bytes, stream, last),
            Some(EventFormat::Lines) => self.lines(bytes, stream, last),
            Some(EventFormat::Chunks) => self.data = self.data.with(bytes, last),
            None => {}
        }
    }

    /// A chunk has ended, or what came together.
    pub fn chunk(&mut self, stream: &EventStream) {
        if self.format == Some(EventFormat::Chunks) {
            self.event(stream);
        }
    }

    /// The body has ended: a line needs no line end.
    pub fn end(&mut self, stream: &EventStream) {
        if self.format == Some(EventFormat::Lines) {
            self.event(stream);
        }
    }

    /// An event has ended; without data it is none.
    fn event(&mut self, stream: &EventStream) {
        let enough = stream.events.is_some_and(|most| self.events >= most);
        match std::mem::take(&mut self.data) {
            _ if self.over || enough => {}
            Data::None => {}
            Data::Like(n) if stream.end.as_ref().is_some_and(|it| it.len() == n) => {
                self.over = true;
            }
            Data::Like(_) | Data::Some => {
                self.events = self.events.saturating_add(1);
                self.untold += 1;
            }
        }
    }

    fn lines(&mut self, bytes: &[u8], stream: &EventStream, last: Option<&[u8]>) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest);
            let line = &rest[..end.unwrap_or(rest.len())];
            let (text, cr) = match line.strip_suffix(b"\r") {
                Some(text) => (text, true),
                None => (line, false),
            };
            // One that was not before a line feed is a part of the line.
            let within = std::mem::replace(&mut self.cr, cr) && !line.is_empty();
            if within && self.data != Data::None {
                self.data = self.data.with(b"\r", last);
            }
            let text = match self.data {
                Data::None => text.trim_ascii_start(),
                _ => text,
            };
            if !text.is_empty() {
                self.data = self.data.with(text, last);
            }
            let Some(end) = end else {
                return;
            };
            self.cr = false;
            self.event(stream);
            rest = &rest[end + 1..];
        }
    }

    fn sse(&mut self, bytes: &[u8], stream: &EventStream, last: Option<&[u8]>) {
        let mut rest = bytes;
        while let Some((&byte, after)) = rest.split_first() {
            if std::mem::take(&mut self.cr) && byte == b'\n' {
                rest = after;
                continue;
            }
            if usize::from(self.mark) < MARK.len() {
                if byte == MARK[usize::from(self.mark)] {
                    self.mark += 1;
                    rest = after;
                    continue;
                }
                self.mark = MARK.len() as u8;
            }
            match self.place {
                LinePlace::Value | LinePlace::Other => {
                    let end = memchr::memchr2(b'\r', b'\n', rest);
                    let (text, from) = rest.split_at(end.unwrap_or(rest.len()));
                    if self.place == LinePlace::Value && !text.is_empty() {
                        self.data = self.data.with(text, last);
                    }
                    rest = from;
                    if let Some(&byte) = from.first() {
                        self.line_end(byte, stream, last);
                        rest = &from[1..];
                    }
                    continue;
                }
                LinePlace::Colon => {
                    self.place = LinePlace::Value;
                    if byte != b' ' {
                        continue;
                    }
                }
                LinePlace::Name(_) if matches!(byte, b'\r' | b'\n') => {
                    self.line_end(byte, stream, last);
                }
                LinePlace::Name(n) if usize::from(n) == NAME.len() => {
                    self.place = match byte {
                        b':' => self.value(last),
                        _ => LinePlace::Other,
                    };
                }
                LinePlace::Name(n) => {
                    self.place = match byte == NAME[usize::from(n)] {
                        true => LinePlace::Name(n + 1),
                        false => LinePlace::Other,
                    };
                }
            }
            rest = after;
        }
    }

    /// A line of data begins.
    fn value(&mut self, last: Option<&[u8]>) -> LinePlace {
        self.data = match self.data {
            Data::None => Data::None.with(b"", last),
            // The lines of an event are joined by line feeds.
            before => before.with(b"\n", last),
        };
        LinePlace::Colon
    }

    fn line_end(&mut self, byte: u8, stream: &EventStream, last: Option<&[u8]>) {
        self.cr = byte == b'\r';
        match std::mem::take(&mut self.place) {
            LinePlace::Name(0) => self.event(stream),
            // A field without a colon has an empty value.
            LinePlace::Name(n) if usize::from(n) == NAME.len() => {
                self.value(last);
            }
            LinePlace::Name(_) | LinePlace::Colon | LinePlace::Value | LinePlace::Other => {}
        }
    }
}

#[cfg(test)]
mod tests;
