//! Content codings (RFC 9110, 8.4): what a head says of its body, and the body without them.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::borrow::Cow;
use std::fmt;
use std::io::{self, Read};

/// The value of `Accept-Encoding` that asks for all codings that are decoded here; the same as curl's.
pub const ACCEPTED: &str = "deflate, gzip, br, zstd";

/// Name of a body without a coding.
pub const IDENTITY: &str = "identity";

/// Codings that may be put one on the other; the same as curl's.
const MOST: usize = 5;
/// Bytes of a coding's name, and of a body, that are shown.
const SHOWN: usize = 40;
/// Bytes that the decoder of Brotli gives at once.
const PIECE: usize = 16 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Deflate,
    Gzip,
    Brotli,
    Zstd,
}

impl Coding {
    /// By its name in small letters; `x-gzip` is the same as `gzip` (RFC 9110, 8.4.1.3).
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "deflate" => Self::Deflate,
            "gzip" | "x-gzip" => Self::Gzip,
            "br" => Self::Brotli,
            "zstd" => Self::Zstd,
            _ => return None,
        })
    }

    /// Can a body begin with these bytes? Deflate and Brotli have no mark of their own.
    fn begins(self, body: &[u8]) -> bool {
        let mark: &[u8] = match self {
            Self::Gzip => &[0x1f, 0x8b],
            Self::Zstd if body.get(1..4) == Some(&[0x2a, 0x4d, 0x18]) => &[],
            Self::Zstd => &[0x28, 0xb5, 0x2f, 0xfd],
            Self::Deflate | Self::Brotli => &[],
        };
        let n = mark.len().min(body.len());
        mark[..n] == body[..n]
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Deflate => "deflate",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        })
    }
}

/// Content codings of a body, from its `Content-Encoding` fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoding {
    name: String,
    /// In the order in which they were applied; or what is wrong with them.
    codings: Result<Vec<Coding>, String>,
}

impl Encoding {
    /// By the values of all fields `Content-Encoding` of a head, in their order.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut names = Vec::new();
        for value in values {
            let value = String::from_utf8_lossy(value).to_ascii_lowercase();
            let each = value.split(',').map(str::trim);
            names.extend(
                each.filter(|name| !matches!(*name, "" | IDENTITY))
                    .map(str::to_owned),
            );
        }
        let unknown = names.iter().find(|name| Coding::of(name).is_none());
        let codings = match unknown {
            Some(name) => Err(format!(
                "Content-Encoding: {}: only deflate, gzip, br and zstd are decoded",
                cut(name)
            )),
            None if names.len() > MOST => Err(format!(
                "Content-Encoding: {} codings one on the other, at most {MOST} are decoded",
                names.len()
            )),
            None => Ok(names.iter().filter_map(|name| Coding::of(name)).collect()),
        };
        let name = match names.as_slice() {
            [] => IDENTITY.to_owned(),
            names => cut(&names.join(", ")),
        };
        Self { name, codings }
    }

    /// The codings in small letters, such as `gzip` or `gzip, br`; at most some 40 bytes of them.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Nothing was done to the body.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.codings.as_ref().is_ok_and(Vec::is_empty)
    }

    /// The body without its codings. An empty body has none, whatever its head says: so curl and browsers take it.
    ///
    /// # Errors
    /// In words: a coding that is not known, a body that does not have it or is cut short, or one that has more than
    /// `limit` bytes on the way; it is not decoded beyond them.
    pub fn decode(&self, body: &[u8], limit: u64) -> Result<Vec<u8>, String> {
        let mut decoded = Cow::Borrowed(body);
        if body.is_empty() {
            return Ok(Vec::new());
        }
        for coding in self.codings.as_ref().map_err(Clone::clone)?.iter().rev() {
            decoded = without(*coding, &decoded, limit)?.into();
        }
        Ok(decoded.into_owned())
    }
}

/// The body without one coding.
fn without(coding: Coding, body: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let (mut rest, mut out) = (body, Vec::new());
    loop {
        let first = rest.len() == body.len();
        let from = &mut rest;
        // One byte more tells what is too long.
        let most = (limit + 1).saturating_sub(out.len() as u64);
        let done = match coding {
            Coding::Gzip => GzDecoder::new(from).take(most).read_to_end(&mut out),
            // What most servers mean, and the standard too, is zlib's format. Some leave its head out.
            Coding::Deflate if is_zlib(body) => {
                ZlibDecoder::new(from).take(most).read_to_end(&mut out)
            }
            Coding::Deflate => DeflateDecoder::new(from).take(most).read_to_end(&mut out),
            Coding::Brotli => brotli(from, most, &mut out),
            Coding::Zstd => frame(from, most, &mut out),
        };
        if out.len() as u64 > limit {
            return Err(format!(
                "the body, without its {coding}, is longer than {limit} bytes"
            ));
        }
        match done {
            Ok(_) if rest.is_empty() => return Ok(out),
            // Members of gzip and frames of zstd may follow one another.
            Ok(_) if matches!(coding, Coding::Gzip | Coding::Zstd) => {}
            Ok(_) => {
                return Err(format!(
                    "{} bytes stand behind the body's {coding}",
                    rest.len()
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && coding.begins(body) => {
                return Err(format!(
                    "the body's {coding} is cut short: {} bytes of it become {} and there it ends",
                    body.len(),
                    out.len()
                ));
            }
            Err(error) if first => {
                let shown = body[..body.len().min(SHOWN)].escape_ascii();
                let what = match coding.begins(body) {
                    true => format!("the body's {coding} is broken ({error})"),
                    false => format!("Content-Encoding says {coding}, which the body is not"),
                };
                return Err(format!("{what}; it begins with \"{shown}\""));
            }
            Err(error) => {
                return Err(format!(
                    "what follows the first part of the body's {coding} is not {coding} ({error})"
                ));
            }
        }
    }
}

/// Does it begin as zlib's format does (RFC 1950, 2.2)? No deflate without that head does in earnest: its first block
/// would have to be a stored one whose padding is not zero.
fn is_zlib(body: &[u8]) -> bool {
    match *body {
        [method, flags, ..] => {
            method & 0x0f == 8 && u16::from_be_bytes([method, flags]).is_multiple_of(31)
        }
        _ => false,
    }
}

/// Decodes Brotli to at most so many bytes. Large windows, which could need a GiB of memory, are no part of the coding
/// `br` (RFC 7932, 9.1).
fn brotli(from: &mut &[u8], most: u64, out: &mut Vec<u8>) -> io::Result<usize> {
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut left, mut used, mut total) = (from.len(), 0, 0);
    let (mut piece, mut n) = ([0; PIECE], 0);
    loop {
        let mut room = PIECE.min(usize::try_from(most).unwrap_or(usize::MAX) - n);
        let mut end = 0;
        let result = BrotliDecompressStream(
            &mut left, &mut used, from, &mut room, &mut end, &mut piece, &mut total, &mut state,
        );
        out.extend_from_slice(&piece[..end]);
        n += end;
        match result {
            BrotliResult::ResultSuccess => {
                *from = &from[used..];
                return Ok(n);
            }
            BrotliResult::NeedsMoreOutput if n as u64 == most => return Ok(n),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
            BrotliResult::ResultFailure => return Err(io::Error::other("invalid data")),
        }
    }
}

/// Decodes a frame of zstd, with its checksum if it has one, to at most so many bytes.
fn frame(from: &mut &[u8], most: u64, out: &mut Vec<u8>) -> io::Result<usize> {
    let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let (mut decoder, mut rest) = (FrameDecoder::new(), *from);
    match decoder.init(&mut rest) {
        Ok(()) => {}
        // A frame with something else than content (RFC 8878, 3.1.2).
        Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
            length,
            ..
        })) => {
            *from = rest.get(length as usize..).ok_or_else(cut)?;
            return Ok(0);
        }
        Err(_) if rest.is_empty() => return Err(cut()),
        Err(error) => return Err(io::Error::other(error)),
    }
    let mut n = 0;
    while n < most && !decoder.is_finished() {
        match decoder.decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1)) {
            Ok(_) => {}
            Err(_) if rest.is_empty() => return Err(cut()),
            Err(error) => return Err(io::Error::other(error)),
        }
        n += decoder.by_ref().take(most - n).read_to_end(out)? as u64;
    }
    *from = rest;
    let (of_frame, of_content) = (
        decoder.get_checksum_from_data(),
        decoder.get_calculated_checksum(),
    );
    match n < most && of_frame.is_some() && of_frame != of_content {
        true => Err(io::Error::other("its checksum is another")),
        false => Ok(n as usize),
    }
}

/// Returns the part of a name that is shown, in one line.
fn cut(name: &str) -> String {
    let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    match name.char_indices().nth(SHOWN) {
        None => name.chars().map(plain).collect(),
        Some((end, _)) => format!("{}…", name[..end].replace(char::is_control, "\u{fffd}")),
    }
}

#[cfg(test)]
mod tests;
