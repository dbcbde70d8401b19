//! The answer on one stream of HTTP/2 or HTTP/3, judged while it is received.

use super::content::Content;
use super::head::ResponseHead;
use crate::protocol::{Answer, AnswerProgress, Fault, Limits, Mismatch};

/// State of an answer that is being read; `R` is what its content keeps of it.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Reception<R> {
    /// Index of the request among the exchanges.
    pub(in crate::protocol) exchange: u32,
    /// 0 until the header section has come.
    status: u16,
    length: Option<u64>,
    /// Bytes of the body so far.
    body: u64,
    /// The first byte of the body has been told of.
    told: bool,
    pub(in crate::protocol) reading: R,
}

/// A header section that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::protocol) enum Section {
    /// One before the answer's own, such as 103.
    Interim,
    /// The answer's own, or its trailers.
    Final,
}

/// Expectation of an answer; `head`: its request is one of HEAD.
#[derive(Debug)]
pub(in crate::protocol) struct Wanted<'a, E> {
    pub(in crate::protocol) expect: &'a E,
    pub(in crate::protocol) head: bool,
}

impl<R> Reception<R> {
    /// The answer to a request of this exchange begins. What is kept of answers is the content's affair, which may use its
    /// memory again.
    #[inline]
    pub(in crate::protocol) fn begin(&mut self, exchange: u32) {
        self.exchange = exchange;
        self.status = 0;
        self.length = None;
        self.body = 0;
        self.told = false;
    }

    /// Has the body begun? True once for each answer.
    #[inline]
    pub(in crate::protocol) fn begins(&mut self) -> bool {
        self.body > 0 && !std::mem::replace(&mut self.told, true)
    }

    /// Has the header section come?
    #[inline]
    pub(in crate::protocol) fn is_headed(&self) -> bool {
        self.status != 0
    }

    /// How much of it has come.
    pub(in crate::protocol) fn progress(&self) -> AnswerProgress {
        match self.status {
            0 => AnswerProgress::Nothing,
            _ => AnswerProgress::Body(self.body),
        }
    }

    /// Takes a header section, or trailers. `end`: nothing comes after it.
    ///
    /// # Errors
    /// Why the answer is malformed.
    #[inline]
    pub(in crate::protocol) fn section(
        &mut self,
        head: ResponseHead,
        end: bool,
    ) -> Result<Section, Fault> {
        let trailers = self.is_headed();
        let wrong = match (head.wrong, head.status) {
            (Some(why), _) => Some(why),
            (None, None) if !trailers => Some("an answer without :status"),
            (None, Some(_)) if trailers => Some(":status in the trailers"),
            (None, None) if !end => Some("trailers that do not end their stream"),
            (None, Some(101)) => {
                Some("the server switched protocols (101), which only HTTP/1.1 has")
            }
            (None, Some(..200)) if end => Some("an interim answer that ends its stream"),
            _ => None,
        };
        if let Some(why) = wrong {
            return Err(Fault::Malformed(why));
        }
        match head.status {
            Some(..200) => return Ok(Section::Interim),
            Some(status) => (self.status, self.length) = (status, head.length),
            None => {}
        }
        Ok(Section::Final)
    }

    /// Takes a piece of the body. Gives what is wrong, if the stream cannot go on.
    #[inline(always)] // for every DATA frame
    pub(in crate::protocol) fn body<C: Content<Reading = R>>(
        &mut self,
        wanted: &Wanted<'_, C::Expect>,
        state: &mut C::State,
        limits: &Limits,
        bytes: &[u8],
    ) -> Option<Fault> {
        if bytes.is_empty() {
            return None;
        }
        if self.status == 0 {
            return Some(Fault::Malformed("data before the header section"));
        }
        let to_head = C::is_head(wanted.head, state, &self.reading);
        if to_head || matches!(self.status, 204 | 304) {
            return Some(Fault::Malformed("a body where there must be none"));
        }
        let (reading, offset) = (&mut self.reading, self.body);
        if let Some(wrong) = C::body(state, wanted.expect, reading, offset, bytes, limits) {
            return Some(wrong);
        }
        self.body += bytes.len() as u64;
        if self.length.is_some_and(|length| self.body > length) {
            return Some(Fault::Malformed("a body longer than content-length says"));
        }
        (self.body > limits.body).then_some(Fault::TooLong {
            part: "the body",
            limit: limits.body,
        })
    }

    /// Judges the answer, which is whole.
    #[inline]
    pub(in crate::protocol) fn judge<C: Content<Reading = R>>(
        &mut self,
        wanted: &Wanted<'_, C::Expect>,
        state: &mut C::State,
    ) -> Option<Mismatch> {
        let (status, body) = (self.status, self.body);
        let to_head = C::is_head(wanted.head, state, &self.reading);
        let bodiless = to_head || matches!(status, 204 | 304);
        let short = self.length.is_some_and(|length| length != body) && !bodiless;
        match short {
            true => Some(Mismatch::Fault(Fault::Malformed(
                "a body shorter than content-length says",
            ))),
            false => {
                let reading = &mut self.reading;
                C::judge(state, wanted.expect, reading, to_head, status, body)
            }
        }
    }

    /// The answer, or what came instead.
    #[inline]
    pub(in crate::protocol) fn answer(&self, wrong: Option<Mismatch>) -> Answer {
        Answer {
            status: self.status,
            wrong,
            last: false,
            body: self.body,
        }
    }
}
