//! HTTP part of an answer's header block (RFC 9113, section 8).

/// The header section of an answer, an interim one, or trailers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::protocol) struct ResponseHead {
    /// None in trailers.
    pub(in crate::protocol) status: Option<u16>,
    /// Content-Length.
    pub(in crate::protocol) length: Option<u64>,
    /// Why it is malformed.
    pub(in crate::protocol) wrong: Option<&'static str>,
    regular: bool,
    /// The length of all names and values.
    pub(in crate::protocol) size: u32,
}

impl ResponseHead {
    /// Takes note of a field.
    pub(in crate::protocol) fn field(&mut self, name: &[u8], value: &[u8]) {
        // No block is longer than the limit of heads, which a u32 holds many times.
        self.size += (name.len() + value.len()) as u32;
        if let Err(why) = self.take(name, value) {
            self.wrong.get_or_insert(why);
        }
    }

    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), &'static str> {
        if name.first() == Some(&b':') {
            if name != b":status" {
                return Err("a pseudo-header field that answers do not have");
            }
            if self.regular {
                return Err(":status after other fields");
            }
            if self.status.is_some() {
                return Err(":status twice");
            }
            self.status = Some(match *value {
                [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => [a, b, c]
                    .iter()
                    .fold(0, |n, digit| n * 10 + u16::from(digit - b'0')),
                _ => return Err(":status is not a three-digit status code"),
            });
            return Ok(());
        }
        self.regular = true;
        let is_token = |b: &u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(b);
        if name.is_empty() || !name.iter().all(is_token) {
            return Err("a bad header field name");
        }
        if name.iter().any(u8::is_ascii_uppercase) {
            return Err("a header field name with capital letters");
        }
        if value.iter().any(|b| matches!(b, 0 | b'\r' | b'\n')) {
            return Err("a bad header field value");
        }
        match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => Err("a header field that is about a connection of HTTP/1.1"),
            b"content-length" => self.content_length(value),
            _ => Ok(()),
        }
    }

    fn content_length(&mut self, value: &[u8]) -> Result<(), &'static str> {
        let digits = std::str::from_utf8(value).ok();
        let n = digits
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok())
            .ok_or("content-length is not a number")?;
        match self.length.replace(n) {
            Some(other) if other != n => Err("two different content-length fields"),
            _ => Ok(()),
        }
    }
}
