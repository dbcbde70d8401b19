//! Entry for fuzzing: bytes of a server's streams, without QUIC around them.

use super::control::{Control, Incoming};
use super::qpack::Decoder;
use super::reader::{FrameReader, Piece};
use quinn_proto::{Dir, Side, StreamId};
use std::fmt::Write;

/// The longest header section that is accepted, in bytes.
const MOST: u64 = 4_096;

/// Describes what bytes mean as the stream of an answer, and as one that the server opens, if they come `step` at a time. Data
/// that follows on data counts as one piece.
#[must_use]
pub fn read(bytes: &[u8], step: usize) -> String {
    let mut said = String::new();
    let (mut reader, mut decoder) = (FrameReader::default(), Decoder::default());
    let mut data = 0;
    let mut broken = false;
    'all: for mut part in bytes.chunks(step.max(1)) {
        loop {
            let mut joined = Vec::new();
            let piece = match reader.next(&mut part, &mut joined, MOST) {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(fault) => {
                    let _ = write!(said, "|{data}|{fault}");
                    broken = true;
                    break 'all;
                }
            };
            let section = match piece {
                Piece::Data(bytes) => {
                    data += bytes.len();
                    continue;
                }
                Piece::Section(section) => section,
                Piece::Joined => &joined,
            };
            let mut fields = String::new();
            let decoded = decoder.decode(section, MOST as usize, |name, value| {
                let _ = write!(fields, "{}={};", name.escape_ascii(), value.escape_ascii());
            });
            let _ = write!(said, "|{data}|{fields}{decoded:?}");
        }
    }
    if !broken {
        let _ = write!(said, "|{data}|{}", reader.is_within());
    }
    let mut stream = Incoming::new(StreamId::new(Side::Server, Dir::Uni, 0));
    let mut control = Control::default();
    for part in bytes.chunks(step.max(1)) {
        let taken = stream.take(part, &mut control, |news| {
            let _ = write!(said, "|{news:?}");
        });
        if let Err(fault) = taken {
            let _ = write!(said, "|{fault}");
            break;
        }
    }
    said
}
