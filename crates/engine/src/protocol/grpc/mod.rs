//! gRPC as a client speaks it, over the session of [HTTP/2](super::h2): calls with one message, answers with one or
//! several.
//!
//! | file | what it is about |
//! |---|---|
//! | `call` | a call as a request of HTTP/2 |
//! | `status` | the status codes |
//! | `head` | what header sections and trailers say |
//! | `reading` | an answer while it comes |
//! | `expect` | what an answer must be |

mod call;
mod expect;
mod head;
mod reading;
mod status;
#[cfg(test)]
mod tests;

pub use call::{Call, ForbiddenMetadata};
pub use expect::GrpcExpect;
pub use head::shown;
pub use status::GrpcStatus;

use super::h2::Content;
use super::{Answer, Events, Fault, Limits, Mismatch, StreamNews, Tag};
use head::Fields;
use reading::AnswerReader;
use std::collections::BTreeMap;

/// The length of what stands before each message: a flag, and the message's length.
pub const PREFIX: usize = 5;

/// A message as it goes over the wire, uncompressed.
#[must_use]
pub fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).expect("a message of less than 4 GiB");
    [&[0], &length.to_be_bytes()[..], message].concat()
}

/// gRPC over HTTP/2.
#[derive(Debug, Clone)]
pub struct Grpc;

/// Answers by their status.
#[derive(Debug, Clone, Default)]
pub struct StatusTally {
    messages: u64,
    /// By code; the last is for those without a status that is known.
    statuses: [u64; GrpcStatus::ALL.len() + 1],
}

impl Content for Grpc {
    type Expect = GrpcExpect;
    type Fields = Fields;
    type Reading = AnswerReader;
    type State = StatusTally;

    const STREAMS: bool = true;

    fn field(fields: &mut Fields, name: &[u8], value: &[u8]) {
        fields.take(name, value);
    }

    #[inline]
    fn section(_: &mut StatusTally, reading: &mut AnswerReader, fields: &Fields) {
        reading.section(fields);
    }

    #[inline]
    fn body(
        _: &mut StatusTally,
        expect: &GrpcExpect,
        reading: &mut AnswerReader,
        _offset: u64,
        bytes: &[u8],
        limits: &Limits,
    ) -> Option<Fault> {
        reading.body(expect, bytes, limits)
    }

    #[inline]
    fn news(_: &mut StatusTally, reading: &mut AnswerReader) -> StreamNews {
        StreamNews {
            events: reading.untold(),
            ..StreamNews::default()
        }
    }

    fn is_stream(expect: &GrpcExpect) -> bool {
        expect.streaming
    }

    #[inline]
    fn judge(
        _: &mut StatusTally,
        expect: &GrpcExpect,
        reading: &mut AnswerReader,
        _head: bool,
        status: u16,
        _length: u64,
    ) -> Option<Mismatch> {
        reading.judge(expect, status)
    }

    #[inline]
    fn answered(
        tally: &mut StatusTally,
        reading: &mut AnswerReader,
        answer: Answer,
        tag: Tag,
        events: &mut impl Events<Tag>,
    ) {
        if events.answered(tag, answer).ended_inside {
            let place = reading.code().map_or(GrpcStatus::ALL.len(), usize::from);
            tally.messages += reading.messages();
            tally.statuses[place] += 1;
        }
    }

    fn counted(tally: &StatusTally) -> Option<prony_record::Grpc> {
        let names = GrpcStatus::ALL.iter().map(|status| status.name());
        let counts = names.chain(["none"]).zip(tally.statuses);
        let statuses: BTreeMap<String, u64> = counts
            .filter(|(_, n)| *n > 0)
            .map(|(name, n)| (name.to_owned(), n))
            .collect();
        Some(prony_record::Grpc {
            messages: tally.messages,
            statuses,
        })
    }
}
