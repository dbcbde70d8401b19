//! State that all connections of a worker share: requests, limits, and the sections of answers that were decoded last.

use super::qpack;
use super::reader::{FrameReader, Piece};
use super::request::{Heads, Prepared};
use crate::protocol::h2::content::{Content, HeaderSection};
use crate::protocol::h2::head::ResponseHead;
use crate::protocol::h2::hpack::HpackError;
use crate::protocol::h2::reception::{Reception, Section};
use crate::protocol::tls::Connector;
use crate::protocol::{Fault, HeadBytes, Limits};

/// A section longer than this is decoded anew each time.
const KNOWN_SECTION: usize = 256;
/// The most header sections before an answer's own.
const MOST_INTERIM: u32 = 1_000;

/// State that is the same for all connections and requests, and memory that they share.
#[derive(Debug)]
pub(super) struct Shared<C: Content> {
    pub(super) exchanges: Vec<Prepared<C::Expect>>,
    pub(super) composed: Heads,
    pub(super) limits: Limits,
    pub(super) state: C::State,
    /// Header sections of answers.
    pub(super) heads: HeadBytes,
    /// Without a dynamic table equal sections mean equal fields, and a server under load sends the same one again and
    /// again: those decoded last, of answers and of trailers.
    known: [KnownSection<C::Fields>; 2],
    decoder: qpack::Decoder,
    /// TLS of all connections.
    pub(super) connector: Connector,
    /// Memory for a section that came in parts, and for one that is sent.
    joined: Vec<u8>,
    pub(super) section: Vec<u8>,
}

#[derive(Debug, Default)]
struct KnownSection<F> {
    bytes: Vec<u8>,
    section: HeaderSection<F>,
}

/// Progress of an answer in the frames of its stream.
#[derive(Debug, Default)]
pub(super) struct AnswerStream {
    pub(super) frames: FrameReader,
    trailers: bool,
    interim: u32,
}

impl AnswerStream {
    /// Begins anew, for another request.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
        (self.trailers, self.interim) = (false, 0);
    }
}

impl<C: Content> Shared<C> {
    pub(super) fn new(
        exchanges: Vec<Prepared<C::Expect>>,
        composed: Heads,
        limits: Limits,
        state: C::State,
        connector: &Connector,
    ) -> Self {
        Self {
            exchanges,
            composed,
            limits,
            state,
            heads: HeadBytes::default(),
            connector: connector.clone(),
            known: Default::default(),
            decoder: qpack::Decoder::default(),
            joined: Vec::new(),
            section: Vec::new(),
        }
    }

    /// Takes bytes of an answer's stream. Gives what is wrong with the answer, if its stream cannot go on.
    ///
    /// # Errors
    /// When they break the protocol: the connection cannot be used any further.
    pub(super) fn take(
        &mut self,
        stream: &mut AnswerStream,
        answer: &mut Reception<C::Reading>,
        bytes: &[u8],
    ) -> Result<Option<Fault>, Fault> {
        let mut joined = std::mem::take(&mut self.joined);
        let mut rest = bytes;
        let result = loop {
            match stream.frames.next(&mut rest, &mut joined, self.limits.head) {
                Err(fault) => break Err(fault),
                Ok(None) => break Ok(None),
                Ok(Some(_)) if stream.trailers => {
                    break Ok(Some(Fault::Malformed("a frame after the trailers")));
                }
                Ok(Some(piece @ (Piece::Section(_) | Piece::Joined))) => {
                    let section = match piece {
                        Piece::Section(section) => section,
                        _ => &joined,
                    };
                    let kind = usize::from(answer.is_headed());
                    match self.section(kind, section) {
                        Err(fault) => break Err(fault),
                        Ok(head) => {
                            if let Some(wrong) = self.headed(kind, head, stream, answer) {
                                break Ok(Some(wrong));
                            }
                        }
                    }
                }
                // Even an empty one (RFC 9114, 4.1).
                Ok(Some(Piece::Data(_))) if !answer.is_headed() => {
                    break Ok(Some(Fault::Malformed("data before the header section")));
                }
                Ok(Some(Piece::Data(data))) => {
                    let wanted = self.exchanges[answer.exchange as usize].wanted();
                    let limits = &self.limits;
                    if let Some(wrong) = answer.body::<C>(&wanted, &mut self.state, limits, data) {
                        break Ok(Some(wrong));
                    }
                    C::chunk(&mut self.state, &mut answer.reading);
                }
            }
        };
        self.joined = joined;
        result
    }

    /// A header section (`kind` 0) or trailers (1), whose fields were decoded last, have come.
    fn headed(
        &mut self,
        kind: usize,
        head: ResponseHead,
        stream: &mut AnswerStream,
        answer: &mut Reception<C::Reading>,
    ) -> Option<Fault> {
        // Trailers end their stream: what comes after them is refused.
        match answer.section(head, kind == 1) {
            Err(fault) => return Some(fault),
            Ok(Section::Interim) => {
                stream.interim += 1;
                let many = stream.interim > MOST_INTERIM;
                return many.then_some(Fault::Malformed("more than 1,000 interim answers"));
            }
            Ok(Section::Final) => {}
        }
        stream.trailers = kind == 1;
        let fields = &self.known[kind].section.fields;
        C::section(&mut self.state, &mut answer.reading, fields);
        None
    }

    /// Decodes a section of this kind, and gives its HTTP part. Its other fields are in `known` after that.
    fn section(&mut self, kind: usize, section: &[u8]) -> Result<ResponseHead, Fault> {
        let known = &mut self.known[kind];
        if section.is_empty() || known.bytes != section {
            known.bytes.clear();
            let limit = usize::try_from(self.limits.head).unwrap_or(usize::MAX);
            let mut decoded = HeaderSection::default();
            let result = self.decoder.decode(section, limit, |name, value| {
                decoded.head.field(name, value);
                C::field(&mut decoded.fields, name, value);
            });
            match result {
                Ok(()) => {}
                Err(HpackError::Invalid(why)) => return Err(Fault::Malformed(why)),
                Err(HpackError::TooLong) => {
                    return Err(Fault::TooLong {
                        part: "the header section",
                        limit: self.limits.head,
                    });
                }
            }
            C::fields_end(&mut decoded.fields);
            known.section = decoded;
            if section.len() <= KNOWN_SECTION {
                known.bytes.extend_from_slice(section);
            }
        }
        let head = known.section.head;
        self.heads.compressed += section.len() as u64;
        self.heads.plain += u64::from(head.size);
        Ok(head)
    }
}
