//! Skipping request bodies: sized or chunked (RFC 9112, sections 6 and 7).

/// Chunk extensions and trailers are refused beyond this many bytes per body.
const MAX_OVERHEAD: usize = 16 * 1024;

/// Part of a request's body that is still to come.
#[derive(Debug, Clone, Copy)]
pub(super) enum Body {
    /// Number of bytes.
    Sized(u64),
    /// Chunks.
    Chunked(Chunks),
}

/// The body does not follow the rules of its framing.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Malformed;

impl Body {
    pub(super) fn sized(length: u64) -> Self {
        Self::Sized(length)
    }

    pub(super) fn chunked() -> Self {
        Self::Chunked(Chunks {
            place: ChunkState::Size {
                value: 0,
                digits: 0,
            },
            overhead: 0,
        })
    }

    /// Takes what belongs to the body off the front of `input`; true once the body has ended.
    pub(super) fn skip(&mut self, input: &mut &[u8]) -> Result<bool, Malformed> {
        match self {
            Self::Sized(left) => {
                skip_bytes(left, input);
                Ok(*left == 0)
            }
            Self::Chunked(chunks) => chunks.skip(input),
        }
    }
}

fn skip_bytes(left: &mut u64, input: &mut &[u8]) {
    let taken = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= taken as u64;
    *input = &input[taken..];
}

/// How far a chunked body has been read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunks {
    place: ChunkState,
    overhead: usize,
}

#[derive(Debug, Clone, Copy)]
enum ChunkState {
    Size { value: u64, digits: u8 },
    Extension { size: u64 },
    SizeEnd { size: u64 },
    Data { left: u64 },
    DataReturn,
    DataEnd,
    Trailer { line_is_empty: bool },
    TrailerEnd { line_is_empty: bool },
}

impl Chunks {
    fn skip(&mut self, input: &mut &[u8]) -> Result<bool, Malformed> {
        while let Some((&byte, rest)) = input.split_first() {
            if let ChunkState::Data { left } = &mut self.place {
                skip_bytes(left, input);
                if *left == 0 {
                    self.place = ChunkState::DataReturn;
                }
                continue;
            }
            *input = rest;
            match self.step(byte)? {
                Some(place) => self.place = place,
                None => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Where one byte outside a chunk's data leads; `None` is the end of the body.
    fn step(&mut self, byte: u8) -> Result<Option<ChunkState>, Malformed> {
        let next = match (self.place, byte) {
            (ChunkState::Size { value, digits }, b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F') => {
                // 15 digits stay far below what a u64 holds.
                if digits == 15 {
                    return Err(Malformed);
                }
                let digit = (byte as char).to_digit(16).unwrap_or_default();
                ChunkState::Size {
                    value: value * 16 + u64::from(digit),
                    digits: digits + 1,
                }
            }
            (ChunkState::Size { digits: 0, .. }, _) => return Err(Malformed),
            (ChunkState::Size { value: size, .. } | ChunkState::Extension { size }, b'\r') => {
                ChunkState::SizeEnd { size }
            }
            (ChunkState::Size { value: size, .. }, b';' | b' ' | b'\t') => {
                ChunkState::Extension { size }
            }
            (ChunkState::Extension { size }, byte) if byte != b'\n' => {
                self.count_overhead()?;
                ChunkState::Extension { size }
            }
            (ChunkState::SizeEnd { size: 0 }, b'\n') => ChunkState::Trailer {
                line_is_empty: true,
            },
            (ChunkState::SizeEnd { size }, b'\n') => ChunkState::Data { left: size },
            (ChunkState::DataReturn, b'\r') => ChunkState::DataEnd,
            (ChunkState::DataEnd, b'\n') => ChunkState::Size {
                value: 0,
                digits: 0,
            },
            (ChunkState::Trailer { line_is_empty }, b'\r') => {
                ChunkState::TrailerEnd { line_is_empty }
            }
            (ChunkState::Trailer { .. }, byte) if byte != b'\n' => {
                self.count_overhead()?;
                ChunkState::Trailer {
                    line_is_empty: false,
                }
            }
            (
                ChunkState::TrailerEnd {
                    line_is_empty: true,
                },
                b'\n',
            ) => return Ok(None),
            (ChunkState::TrailerEnd { .. }, b'\n') => ChunkState::Trailer {
                line_is_empty: true,
            },
            _ => return Err(Malformed),
        };
        Ok(Some(next))
    }

    fn count_overhead(&mut self) -> Result<(), Malformed> {
        self.overhead += 1;
        if self.overhead > MAX_OVERHEAD {
            return Err(Malformed);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skip(mut body: Body, text: &str) -> Result<(bool, &str), Malformed> {
        let mut input = text.as_bytes();
        let ended = body.skip(&mut input)?;
        Ok((ended, &text[text.len() - input.len()..]))
    }

    #[test]
    fn sized() {
        assert_eq!(skip(Body::sized(3), "abcGET"), Ok((true, "GET")));
        assert_eq!(skip(Body::sized(3), "ab"), Ok((false, "")));
    }

    #[test]
    fn chunked() {
        for (text, rest) in [
            ("0\r\n\r\nGET", "GET"),
            ("3\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n", ""),
            ("000;name=\"value\"\r\n\r\n", ""),
            ("0\r\nTrailer: 1\r\nOther: 2\r\n\r\nGET", "GET"),
        ] {
            assert_eq!(skip(Body::chunked(), text), Ok((true, rest)), "{text:?}");
        }
        assert_eq!(skip(Body::chunked(), "5\r\nab"), Ok((false, "")));
        for text in [
            "\r\n",
            "g\r\n",
            "3\nabc",
            "3\r\nabcd",
            "1000000000000000\r\n",
            "0\r\n\n",
        ] {
            assert_eq!(skip(Body::chunked(), text), Err(Malformed), "{text:?}");
        }
        let endless = format!("0;{}", "x".repeat(MAX_OVERHEAD + 1));
        assert_eq!(skip(Body::chunked(), &endless), Err(Malformed));
    }
}
