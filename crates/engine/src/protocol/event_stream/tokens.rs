//! Tokens that a response says it has, in a member of its JSON such as `"completion_tokens": 12`.

/// Looks for a number of that name in the bytes of one response, however they are divided.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TokenReader {
    place: NumberPlace,
    /// The greatest number so far: some servers send it again and again, as it grows.
    pub(super) tokens: u32,
}

/// Where in `"NAME": NUMBER`.
#[derive(Debug, Clone, Copy)]
enum NumberPlace {
    /// After this many bytes of the name in quotation marks.
    Name(u16),
    Colon,
    Value,
    Digits(u32),
}

impl Default for NumberPlace {
    fn default() -> Self {
        Self::Name(0)
    }
}

impl TokenReader {
    /// Takes the next bytes.
    pub(super) fn read(&mut self, bytes: &[u8], name: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            if let NumberPlace::Name(0) = self.place {
                let Some(quote) = memchr::memchr(b'"', rest) else {
                    return;
                };
                self.place = NumberPlace::Name(1);
                rest = &rest[quote + 1..];
                continue;
            }
            self.place = self.next(rest[0], name);
            rest = &rest[1..];
        }
    }

    fn next(&mut self, byte: u8, name: &[u8]) -> NumberPlace {
        // Nothing but a quotation mark begins a name.
        let anew = NumberPlace::Name(u16::from(byte == b'"'));
        let space = byte.is_ascii_whitespace();
        match self.place {
            NumberPlace::Name(n) => match name.get(usize::from(n) - 1) {
                Some(&expected) if byte == expected => NumberPlace::Name(n + 1),
                None if byte == b'"' => NumberPlace::Colon,
                _ => anew,
            },
            NumberPlace::Colon | NumberPlace::Value if space => self.place,
            NumberPlace::Colon if byte == b':' => NumberPlace::Value,
            NumberPlace::Value if byte.is_ascii_digit() => {
                NumberPlace::Digits((byte - b'0').into())
            }
            NumberPlace::Digits(n) if byte.is_ascii_digit() => {
                NumberPlace::Digits(n.saturating_mul(10).saturating_add((byte - b'0').into()))
            }
            NumberPlace::Digits(n) => {
                self.tokens = self.tokens.max(n);
                anew
            }
            NumberPlace::Colon | NumberPlace::Value => anew,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_however_bytes_are_divided() {
        for (text, tokens) in [
            (
                r#"{"usage": {"prompt_tokens": 7, "completion_tokens": 12}}"#,
                12,
            ),
            (r#"{"completion_tokens":3} {"completion_tokens" : 14 }"#, 14),
            // Never fewer than before.
            (r#"{"completion_tokens":14} {"completion_tokens":3}"#, 14),
            (r#"{""completion_tokens":5,"x":1}"#, 5),
            (
                r#"{"completion_tokens_details":{"a":5},"completion_token":6}"#,
                0,
            ),
            (r#"{"completion_tokens":null,"a":8}"#, 0),
            (r#"{"completion_tokens":99999999999}"#, u32::MAX),
            ("completion_tokens: 4,", 0),
        ] {
            for size in [1, 2, 7, text.len()] {
                let mut reader = TokenReader::default();
                for piece in text.as_bytes().chunks(size) {
                    reader.read(piece, b"completion_tokens");
                }
                assert_eq!(reader.tokens, tokens, "{text} in pieces of {size}");
            }
        }
    }
}
