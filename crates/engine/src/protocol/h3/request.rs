//! Requests of HTTP/3, encoded once, and the heads of those that differ each time.

use super::{frame, qpack};
use crate::protocol::h2::text::{DIFFERS, HeadParts, field, forbids, is_host};
use crate::protocol::h2::{StreamedExchange, Wanted};
use bytes::Bytes;

/// An exchange as it goes over a stream.
#[derive(Debug)]
pub(super) struct Prepared<E> {
    /// Frames of the whole request.
    pub(super) frames: Bytes,
    expect: E,
    head: bool,
}

impl<E> Prepared<E> {
    pub(super) fn new(exchange: StreamedExchange<E>) -> Self {
        let mut section = Vec::new();
        qpack::begin(&mut section);
        for (name, value) in exchange.fields() {
            qpack::put(name, value.as_bytes(), &mut section);
        }
        let (body, expect, head) = exchange.into_rest();
        Self {
            frames: frames(&section, &body),
            expect,
            head,
        }
    }

    #[inline]
    pub(super) fn wanted(&self) -> Wanted<'_, E> {
        Wanted {
            expect: &self.expect,
            head: self.head,
        }
    }
}

impl Prepared<()> {
    /// In the place of requests that are composed.
    pub(super) fn of_composed() -> Self {
        Self {
            frames: Bytes::new(),
            expect: (),
            head: false,
        }
    }
}

/// How the heads of composed requests are encoded, from texts of HTTP/1.1.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    /// Lines that come again, as they stand in the text, and as fields.
    lines: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Heads {
    /// Takes note of what comes again in heads like this one, which has [`DIFFERS`] in the place of what does not.
    pub(in crate::protocol) fn learn(&mut self, sample: &[u8]) {
        let Some(head) = HeadParts::of(sample) else {
            return;
        };
        for line in head.lines().filter(|line| !line.contains(&DIFFERS)) {
            if !self.lines.iter().any(|(known, _)| known == line) {
                let mut encoded = Vec::new();
                put_line(line, &mut encoded);
                self.lines.push((line.to_vec(), encoded));
            }
        }
    }

    /// Writes the section of a request whose head is this text, with its empty line.
    pub(super) fn section(&self, text: &[u8], out: &mut Vec<u8>) {
        out.clear();
        qpack::begin(out);
        let Some(head) = HeadParts::of(text) else {
            return;
        };
        // Pseudo-header fields come first.
        for line in head.lines().filter(|line| is_host(line)) {
            self.put(line, out);
        }
        qpack::put(":method", head.method, out);
        qpack::put(":scheme", b"https", out);
        qpack::put(":path", head.target, out);
        for line in head.lines().filter(|line| !is_host(line)) {
            self.put(line, out);
        }
    }

    fn put(&self, line: &[u8], out: &mut Vec<u8>) {
        match self.lines.iter().find(|(known, _)| known == line) {
            Some((_, encoded)) => out.extend_from_slice(encoded),
            None => put_line(line, out),
        }
    }
}

/// The frames of a request.
pub(super) fn frames(section: &[u8], body: &[u8]) -> Bytes {
    let mut frames = Vec::with_capacity(section.len() + body.len() + 24);
    frame::put(frame::HEADERS, section, &mut frames);
    if !body.is_empty() {
        frame::put(frame::DATA, body, &mut frames);
    }
    frames.into()
}

/// Appends the field of a line, if HTTP/3 has a place for it: the same that HTTP/2 has.
fn put_line(line: &[u8], out: &mut Vec<u8>) {
    match field(line) {
        Some((name, value)) if name == "host" => qpack::put(":authority", value, out),
        Some((name, value)) if !forbids(&name, value) => qpack::put(&name, value, out),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Expect, HttpRequest};

    fn fields(frames: &[u8]) -> String {
        let mut rest = frames;
        assert_eq!(frame::varint(&mut rest), Some(frame::HEADERS));
        let length = frame::varint(&mut rest).unwrap() as usize;
        let mut fields = String::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        qpack::Decoder::default()
            .decode(&rest[..length], 65_536, |name, value| {
                fields += &format!("{}={}|", text(name), text(value));
            })
            .unwrap();
        let mut rest = &rest[length..];
        if !rest.is_empty() {
            assert_eq!(frame::varint(&mut rest), Some(frame::DATA));
            assert_eq!(frame::varint(&mut rest), Some(rest.len() as u64));
            fields += &text(rest);
        }
        fields
    }

    #[test]
    fn a_request_has_its_fields_and_its_body() {
        let request = HttpRequest {
            method: "POST".into(),
            headers: vec![("X-One".into(), "1".into())],
            body: b"hello".to_vec(),
            ..HttpRequest::get("h:1", "/a?b")
        };
        let exchange = StreamedExchange::new(&request, true, Expect::default()).unwrap();
        assert_eq!(
            fields(&Prepared::new(exchange).frames),
            ":method=POST|:scheme=https|:authority=h:1|:path=/a?b|x-one=1|content-length=5|hello"
        );
    }

    #[test]
    fn heads_keep_their_fields_whether_learnt_or_not() {
        let text =
            "PUT /x HTTP/1.1\r\nhOST: a\r\nTE: gzip\r\nX-Y:  z \r\nConnection: close\r\n\r\n";
        let mut heads = Heads::default();
        for _ in 0..2 {
            let mut section = Vec::new();
            heads.section(text.as_bytes(), &mut section);
            assert_eq!(
                fields(&frames(&section, b"body")),
                ":authority=a|:method=PUT|:scheme=https|:path=/x|x-y=z|body"
            );
            heads.learn(text.as_bytes());
        }
    }
}
