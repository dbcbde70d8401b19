//! An answer while it comes: messages, then the status.

use super::head::{Code, Content, Fields};
use super::{GrpcExpect, PREFIX};
use crate::protocol::{Difference, Expect, Fault, Limits, Mismatch};

/// State of an answer that is being read. Messages are compared as they come, and not kept.
#[derive(Debug, Default)]
pub struct AnswerReader {
    content: Content,
    code: Option<Code>,
    text: Option<Box<str>>,
    encoding: Option<Box<str>>,
    /// A header section has come, so that the next one are the trailers.
    begun: bool,
    /// Prefix of the current message: its first `have` bytes have come.
    prefix: [u8; PREFIX],
    have: u8,
    /// Bytes of the current message that have yet to come.
    left: u64,
    /// Messages that have begun.
    messages: u64,
    /// The method answers with a stream.
    streaming: bool,
    /// Messages of the stream that were reported as events.
    told: u64,
    /// Bytes of messages.
    length: u64,
    difference: Option<Box<Difference>>,
}

impl AnswerReader {
    #[inline]
    pub(super) fn section(&mut self, fields: &Fields) {
        if !self.begun {
            self.begun = true;
            self.content = fields.content.clone();
            self.encoding = fields.encoding.clone();
        }
        if fields.status.is_some() {
            self.code.clone_from(&fields.status);
            self.text.clone_from(&fields.message);
        }
    }

    /// Messages that came whole.
    pub(super) fn messages(&self) -> u64 {
        self.messages - u64::from(self.left > 0)
    }

    /// Messages of a stream that have come whole since this was last asked for.
    #[inline]
    pub(super) fn untold(&mut self) -> u32 {
        if !self.streaming {
            return 0;
        }
        let whole = self.messages();
        (whole - std::mem::replace(&mut self.told, whole)) as u32
    }

    /// The status, if gRPC has it.
    pub(super) fn code(&self) -> Option<u8> {
        match self.code {
            Some(Code::Known(status)) => Some(status.number()),
            _ => None,
        }
    }

    /// Takes a piece of the body. Gives what is wrong, if the answer cannot go on.
    #[inline]
    pub(super) fn body(
        &mut self,
        expect: &GrpcExpect,
        mut bytes: &[u8],
        limits: &Limits,
    ) -> Option<Fault> {
        if self.content != Content::Grpc {
            // It has no messages; that it is not gRPC is told at its end.
            return None;
        }
        self.streaming = expect.streaming;
        loop {
            let n = bytes
                .len()
                .min(usize::try_from(self.left).unwrap_or(usize::MAX));
            if n > 0 {
                let (piece, rest) = bytes.split_at(n);
                self.message(&expect.content, piece);
                self.left -= n as u64;
                bytes = rest;
            }
            if bytes.is_empty() {
                return None;
            }
            let n = bytes.len().min(PREFIX - usize::from(self.have));
            self.prefix[usize::from(self.have)..][..n].copy_from_slice(&bytes[..n]);
            self.have += n as u8;
            bytes = &bytes[n..];
            if usize::from(self.have) == PREFIX {
                self.have = 0;
                if let Some(fault) = self.begin(expect, limits) {
                    return Some(fault);
                }
            }
        }
    }

    /// A message begins.
    #[inline]
    fn begin(&mut self, expect: &GrpcExpect, limits: &Limits) -> Option<Fault> {
        let [flag, length @ ..] = self.prefix;
        let length = u64::from(u32::from_be_bytes(length));
        let malformed = |why| Some(Fault::Malformed(why));
        match (flag, &self.encoding) {
            (0, _) => {}
            (1, None) => return malformed("a message marked as compressed, without grpc-encoding"),
            (1, Some(_)) => return malformed("a compressed message, which was not asked for"),
            _ => return malformed("a message whose flag is neither 0 nor 1"),
        }
        if length > limits.body {
            return Some(Fault::TooLong {
                part: "a message",
                limit: limits.body,
            });
        }
        self.messages += 1;
        if self.messages > 1 && !expect.streaming && expect.messages.is_none() {
            return malformed("a second message in the answer of a unary method");
        }
        self.left = length;
        None
    }

    #[inline]
    fn message(&mut self, expect: &Expect, bytes: &[u8]) {
        if !expect.matches_at(self.length, bytes) && self.difference.is_none() {
            self.difference = expect.difference_at(self.length, bytes);
        }
        self.length += bytes.len() as u64;
    }

    /// Judges the whole answer.
    #[inline]
    pub(super) fn judge(&mut self, expect: &GrpcExpect, status: u16) -> Option<Mismatch> {
        let whole = self.left == 0 && self.have == 0;
        let grpc = status == 200 && self.content == Content::Grpc && whole;
        let (least, most) = expect.range();
        match &self.code {
            Some(Code::Known(code))
                if grpc && *code == expect.status && (least..=most).contains(&self.messages) =>
            {
                match self.messages {
                    // Without a message there is nothing to compare, unless one must be there.
                    0 if least == 0 && expect.content.length.is_none() => None,
                    _ => self.judge_content(&expect.content),
                }
            }
            _ => Some(Mismatch::Stated(self.wrong(expect, status).into())),
        }
    }

    #[inline]
    fn judge_content(&mut self, expect: &Expect) -> Option<Mismatch> {
        match expect.judge(200, self.length, self.difference.take())? {
            Mismatch::Body(difference) => Some(Mismatch::Stated(
                format!("another message: {difference}").into(),
            )),
            Mismatch::Length {
                expected,
                found,
                difference,
            } => {
                let mut text = format!("messages of {found} bytes, expected {expected}");
                if let Some(difference) = difference {
                    text += &format!(": {difference}");
                }
                Some(Mismatch::Stated(text.into()))
            }
            other => Some(other),
        }
    }

    /// Describes why the answer is wrong. The status comes first: it explains the other faults.
    #[cold]
    fn wrong(&self, expect: &GrpcExpect, status: u16) -> String {
        let text = self
            .text
            .as_ref()
            .map_or(String::new(), |text| format!(": {text}"));
        if status != 200 && self.code.is_none() {
            return format!("HTTP status {status}, expected an answer of gRPC");
        }
        match (&self.content, self.code.is_some()) {
            (Content::Other(other), _) => {
                return format!("content-type {other}, expected application/grpc{text}");
            }
            (Content::Missing, false) => {
                return "no content-type, expected application/grpc".to_owned();
            }
            _ => {}
        }
        match &self.code {
            None => return "no grpc-status".to_owned(),
            Some(Code::Two) => return "two different fields grpc-status".to_owned(),
            Some(Code::Other(other)) => {
                return format!("grpc-status {other:?}, which is none of gRPC's{text}");
            }
            Some(Code::Known(code)) if *code != expect.status => {
                return format!("status {code}, expected {}{text}", expect.status);
            }
            Some(Code::Known(_)) => {}
        }
        if status != 200 {
            return format!("HTTP status {status} with a grpc-status, expected 200");
        }
        if self.content == Content::Missing {
            return "no content-type, expected application/grpc".to_owned();
        }
        if self.have > 0 {
            return format!(
                "the answer ends within the {PREFIX} bytes before a message: {} came",
                self.have
            );
        }
        if self.left > 0 {
            return format!(
                "the answer ends within a message: {} bytes are missing",
                self.left
            );
        }
        let (found, (least, most)) = (self.messages, expect.range());
        match (least, most) {
            (1, 1) => format!("{found} messages, expected one"),
            (least, u64::MAX) => format!("{found} messages, expected {least} or more"),
            (least, most) if least == most => format!("{found} messages, expected {least}"),
            (least, most) => format!("{found} messages, expected {least} to {most}"),
        }
    }
}
