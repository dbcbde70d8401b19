//! A client of HTTP/2 that can say every frame (RFC 9113): the crate `h2`, which asks for everything ordinary, speaks
//! only as a well-behaved client does, and what is odd and right has to be sent by hand. What comes back is read
//! without any code of the load: frames by [`Frame`], header blocks by [`Blocks`].

use super::super::Visit;
use super::super::answer::{HttpAnswer, OtherFields};
use super::super::http::Case;
use super::super::wire::{Fault, ReadResult, Wire};
use super::blocks::{Blocks, Head, MOST_FIELDS};
use super::frame::{self, H2Frame, kind};
use http::HeaderValue;
use prony_engine::protocol::encoding::Encoding;
use std::collections::{BTreeMap, BTreeSet};

/// The greeting of every client.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The most bytes of a body.
const MOST_BODY: usize = 1 << 20;
/// The window unless settings say otherwise.
const WINDOW: i64 = 65_535;

/// A connection.
pub(super) struct Client {
    wire: Wire,
    heard: Vec<u8>,
    blocks: Blocks,
    /// How many bytes the server may send on a new stream.
    window: i64,
    /// The next stream.
    next: u32,
    streams: BTreeMap<u32, PendingStream>,
    /// Streams that this side has reset: what still comes on them is dropped.
    reset: BTreeSet<u32>,
    /// A header block that is not complete yet: its stream, whether it ends it, and its fragments.
    block: Option<(u32, bool, Vec<u8>)>,
    /// The most streams that the server allows.
    pub(super) most_streams: u32,
    /// The last payload of a PING that the server has sent back.
    pub(super) ponged: Option<[u8; 8]>,
    scheme: &'static str,
    authority: String,
}

/// A stream on which an answer is awaited.
struct PendingStream {
    case: Case,
    /// How many bytes the server may still send.
    window: i64,
    status: Option<u16>,
    content_type: Option<String>,
    codings: Vec<Vec<u8>>,
    fields: OtherFields,
    body: Vec<u8>,
    ended: bool,
}

impl Client {
    /// Connects and greets, with these settings; waits for the server's.
    pub(super) fn open(visit: &Visit<'_>, settings: &[(u16, u32)]) -> Result<Self, Fault> {
        let window = settings
            .iter()
            .find(|setting| setting.0 == frame::INITIAL_WINDOW)
            .map_or(WINDOW, |setting| i64::from(setting.1));
        let mut this = Self {
            wire: visit.open()?,
            heard: Vec::new(),
            blocks: Blocks::new(),
            window,
            next: 1,
            streams: BTreeMap::new(),
            reset: BTreeSet::new(),
            block: None,
            most_streams: u32::MAX,
            ponged: None,
            scheme: match visit.way.over.is_tls() {
                true => "https",
                false => "http",
            },
            authority: visit.way.authority.to_owned(),
        };
        this.send(&[PREFACE, &frame::settings(settings)].concat())?;
        let first = this.frame("the server's settings")?;
        if first.kind != kind::SETTINGS || first.flags & frame::ACK != 0 {
            return Err(Fault::new("the server's settings first", first.to_string()));
        }
        this.settings(&first)?;
        Ok(this)
    }

    /// Sends frames.
    pub(super) fn send(&self, frames: &[u8]) -> Result<(), Fault> {
        let taken = self.wire.send(frames);
        taken.map_err(|error| Fault::io("the server to take frames", &error))
    }

    /// Sends what a frame of the server asks for. A server that has said everything may have closed the connection: what is
    /// missing then, reading tells.
    fn reply(&self, frames: &[u8]) {
        let _ = self.wire.send(frames);
    }

    /// Is an answer awaited on this stream?
    fn awaits(&self, number: u32) -> bool {
        let stream = self.streams.get(&number);
        stream.is_some_and(|stream| !stream.ended)
    }

    /// Opens a stream for a request: gives its number and its header block. Nothing is sent.
    pub(super) fn begin(&mut self, case: Case) -> (u32, Vec<u8>) {
        let number = self.next;
        self.next += 2;
        let mut block = Vec::new();
        let mut field = |name: &str, value: &str| frame::literal(name, value, &mut block);
        field(":method", case.method);
        field(":scheme", self.scheme);
        field(":authority", &self.authority);
        field(":path", &case.target);
        field("user-agent", "prony");
        if let Some(body) = &case.body {
            field("content-type", "application/json");
            field("content-length", &body.len().to_string());
        }
        let stream = PendingStream {
            case,
            window: self.window,
            status: None,
            content_type: None,
            codings: Vec::new(),
            fields: OtherFields::default(),
            body: Vec::new(),
            ended: false,
        };
        self.streams.insert(number, stream);
        (number, block)
    }

    /// The same as frames: the whole request.
    pub(super) fn whole(&mut self, case: Case) -> (u32, Vec<u8>) {
        let body = case.body.clone();
        let (number, block) = self.begin(case);
        let last = if body.is_some() { 0 } else { frame::END_STREAM };
        let mut frames = frame::frame(kind::HEADERS, frame::END_HEADERS | last, number, &block);
        if let Some(body) = body {
            frames.extend(frame::frame(kind::DATA, frame::END_STREAM, number, &body));
        }
        (number, frames)
    }

    /// Nothing is awaited on this stream any more: a RST_STREAM of this side.
    pub(super) fn cancel(&mut self, number: u32) -> Vec<u8> {
        self.streams.remove(&number);
        self.reset.insert(number);
        let cancel = 8_u32;
        frame::frame(kind::RST_STREAM, 0, number, &cancel.to_be_bytes())
    }

    /// Reads until every stream has its whole answer, and judges each.
    pub(super) fn answers(&mut self) -> Result<(), Fault> {
        while self.streams.values().any(|stream| !stream.ended) {
            let done = self.streams.values().filter(|stream| stream.ended).count();
            let expected = format!(
                "whole answers on {} streams ({done} have come)",
                self.streams.len()
            );
            self.read(&expected)?;
        }
        for stream in std::mem::take(&mut self.streams).into_values() {
            let codings = stream.codings.iter().map(Vec::as_slice);
            let answer = HttpAnswer {
                status: stream.status.unwrap_or_default(),
                content_type: stream.content_type,
                encoding: Encoding::of(codings),
                body: stream.body,
                chunked: false,
                fields: stream.fields,
            };
            (stream.case.check)(&answer)?;
        }
        Ok(())
    }

    /// Reads a frame and does what it asks for.
    pub(super) fn read(&mut self, expected: &str) -> Result<(), Fault> {
        let frame = self.frame(expected)?;
        let wrong = |expected: &str| Err(Fault::new(expected, frame.to_string()));
        if let Some((stream, ..)) = self.block
            && (frame.kind != kind::CONTINUATION || frame.stream != stream)
        {
            return wrong("the rest of a header block");
        }
        match frame.kind {
            kind::SETTINGS => self.settings(&frame),
            kind::PING if frame.flags & frame::ACK != 0 => {
                self.ponged = frame.payload.as_slice().try_into().ok();
                Ok(())
            }
            kind::PING => {
                self.reply(&frame::frame(kind::PING, frame::ACK, 0, &frame.payload));
                Ok(())
            }
            kind::HEADERS | kind::CONTINUATION => self.fields(&frame),
            kind::DATA => self.data(&frame),
            // After a whole answer it is allowed: the server wants nothing more of the request (RFC 9113, 8.1).
            kind::RST_STREAM if self.awaits(frame.stream) => {
                wrong(&format!("an answer on stream {}", frame.stream))
            }
            kind::GOAWAY => match frame.last_stream() {
                Some((last, 0)) if self.streams.keys().all(|&own| own <= last) => Ok(()),
                _ => wrong("answers on all streams"),
            },
            kind::PUSH_PROMISE => wrong("no push, which this client's settings forbid"),
            // What a server says with the others changes nothing for this client.
            _ => Ok(()),
        }
    }

    /// The next frame.
    fn frame(&mut self, expected: &str) -> Result<H2Frame, Fault> {
        loop {
            if let Some(frame) = H2Frame::take(&mut self.heard)? {
                return Ok(frame);
            }
            let mut buffer = [0; 4096];
            match self.wire.hear(&mut buffer) {
                Ok(ReadResult::Bytes(n)) => self.heard.extend_from_slice(&buffer[..n]),
                Ok(ReadResult::End) => {
                    return Err(Fault::new(expected, "the end of the connection"));
                }
                Ok(ReadResult::Silence) => {
                    return Err(Fault::new(expected, self.wire.patience().ran_out()));
                }
                Err(error) => return Err(Fault::io(expected, &error)),
            }
        }
    }

    fn settings(&mut self, frame: &H2Frame) -> Result<(), Fault> {
        if frame.flags & frame::ACK != 0 {
            return Ok(());
        }
        for (setting, value) in frame.settings() {
            if setting == frame::MAX_STREAMS {
                self.most_streams = value;
            }
        }
        self.reply(&frame::frame(kind::SETTINGS, frame::ACK, 0, &[]));
        Ok(())
    }

    /// A header block, or a part of one.
    fn fields(&mut self, frame: &H2Frame) -> Result<(), Fault> {
        let wrong = |expected: &str| Err(Fault::new(expected, frame.to_string()));
        let Some(fragment) = frame.content() else {
            return wrong("a frame whose padding fits into it");
        };
        let ends = frame.flags & frame::END_STREAM != 0;
        let (number, ends, mut block) = match (frame.kind, self.block.take()) {
            (kind::HEADERS, None) => (frame.stream, ends, Vec::new()),
            (kind::CONTINUATION, Some(block)) => block,
            _ => return wrong("a header block that begins with HEADERS"),
        };
        block.extend_from_slice(fragment);
        if block.len() > MOST_FIELDS {
            return wrong("a header section of at most 64 KiB");
        }
        if frame.flags & frame::END_HEADERS == 0 {
            self.block = Some((number, ends, block));
            return Ok(());
        }
        let invalid = |error: h2::Error| {
            Fault::new(
                "a valid header section: HPACK, :status first, and lower case names that HTTP/2 allows",
                error.to_string(),
            )
        };
        let Some(stream) = self.streams.get_mut(&number) else {
            self.unknown(number, "an answer")?;
            // Which section of its answer it is does not matter, but the blocks after it depend on it.
            return match self.blocks.head(&block) {
                Err(error) if !error.is_reset() => Err(invalid(error)),
                _ => Ok(()),
            };
        };
        if stream.status.is_none() {
            let head = self.blocks.head(&block).map_err(invalid)?;
            stream.head(&head);
        } else {
            self.blocks.trailers(&block).map_err(invalid)?;
        }
        stream.ended |= ends;
        Ok(())
    }

    /// A part of a body; the server is given as much room as it has used.
    fn data(&mut self, frame: &H2Frame) -> Result<(), Fault> {
        let Some(content) = frame.content() else {
            let expected = "a frame whose padding fits into it";
            return Err(Fault::new(expected, frame.to_string()));
        };
        let (number, used) = (frame.stream, frame.payload.len());
        let more = u32::try_from(used).unwrap_or_default();
        let mut out = frame::more_room(0, more);
        let Some(stream) = self.streams.get_mut(&number) else {
            self.unknown(number, "a body")?;
            self.reply(&out);
            return Ok(());
        };
        stream.window -= used as i64;
        if stream.window < 0 {
            let allowed = stream.window + used as i64;
            return Err(Fault::new(
                format!("at most {allowed} bytes, as the stream's window allows"),
                format!("{used} bytes of DATA"),
            ));
        }
        if stream.status.is_none() || stream.ended {
            let expected = "DATA after a header section and before the stream's end";
            return Err(Fault::new(expected, frame.to_string()));
        }
        stream.body.extend_from_slice(content);
        stream.ended = frame.flags & frame::END_STREAM != 0;
        if stream.body.len() > MOST_BODY {
            return Err(Fault::new("a body of at most 1 MiB", frame.to_string()));
        }
        if !stream.ended && used > 0 {
            stream.window += used as i64;
            out.extend(frame::more_room(number, more));
        }
        if used > 0 {
            self.reply(&out);
        }
        Ok(())
    }

    /// Handles `what` on a stream on which nothing is awaited: a fault, unless this side has reset the stream.
    fn unknown(&self, number: u32, what: &str) -> Result<(), Fault> {
        match self.reset.contains(&number) {
            true => Ok(()),
            false => Err(Fault::new(
                "responses to the requests",
                format!("{what} on stream {number}"),
            )),
        }
    }
}

impl PendingStream {
    /// The head of an interim answer, or of the answer.
    fn head(&mut self, head: &Head) {
        if head.status < 200 {
            return;
        }
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        let codings = head.fields.get_all("content-encoding").into_iter();
        self.status = Some(head.status);
        self.content_type = head.fields.get("content-type").map(text);
        self.fields = OtherFields {
            server: head.fields.get("server").map(text),
            date: head.fields.get("date").map(text),
            x_cache: head.fields.get("x-cache").map(text),
            until_close: false,
        };
        self.codings = codings.map(|value| value.as_bytes().to_vec()).collect();
    }
}
