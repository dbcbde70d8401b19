//! The lines between the pieces of a chunked body (RFC 9112, 7.1).

/// The size on a chunk-size line, which ends in a line feed, in bytes; `None` when it is not one:
/// hexadecimal digits, extensions, if any, behind a semicolon, and CR LF.
#[must_use]
pub fn size(line: &[u8]) -> Option<u64> {
    let line = line.strip_suffix(b"\r\n")?;
    let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit());
    let digits = digits.count();
    let (number, rest) = line.split_at(digits);
    let rest = rest.trim_ascii_start();
    if digits == 0 || !(rest.is_empty() || rest[0] == b';') || !rest.iter().all(is_text) {
        return None;
    }
    number.iter().try_fold(0u64, |size, &byte| {
        let digit = (byte as char).to_digit(16)?;
        Some(size.checked_mul(16)? | u64::from(digit))
    })
}

/// Is this line of a trailer section, which ends in a line feed, a field: `name: value`? A status line
/// is none, and so an answer whose last empty line is missing does not swallow the next one.
#[must_use]
pub fn is_field(line: &[u8]) -> bool {
    let Some(line) = line.strip_suffix(b"\n") else {
        return false;
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    let Some(colon) = line.iter().position(|&byte| byte == b':') else {
        return false;
    };
    let (name, value) = (&line[..colon], &line[colon + 1..]);
    !name.is_empty() && name.iter().all(is_token) && value.iter().all(is_text)
}

/// May stand in a name (RFC 9110, 5.6.2).
fn is_token(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte)
}

/// May stand in a value: anything but control characters, of which a tab is allowed.
fn is_text(byte: &u8) -> bool {
    *byte == b'\t' || !byte.is_ascii_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_digits_and_fits() {
        for (line, expected) in [
            (&b"0\r\n"[..], Some(0)),
            (b"1aF\r\n", Some(0x1af)),
            (b"00000000000000000000005\r\n", Some(5)),
            (b"5;name=value\r\n", Some(5)),
            (b"5 ; name=\"a b\"\r\n", Some(5)),
            (b"ffffffffffffffff\r\n", Some(u64::MAX)),
            (b"10000000000000000\r\n", None),
            (b"\r\n", None),
            (b"\n", None),
            (b";a\r\n", None),
            (b" 5\r\n", None),
            (b"+5\r\n", None),
            (b"-0\r\n", None),
            (b"0x5\r\n", None),
            (b"5 5\r\n", None),
            (b"5\n", None),
            (b"5;a\0\r\n", None),
            (b"5;a\rb\r\n", None),
            (b"5", None),
        ] {
            assert_eq!(size(line), expected, "{}", line.escape_ascii());
        }
    }

    #[test]
    fn a_trailer_is_a_name_and_a_value() {
        for line in [&b"A: b\r\n"[..], b"A:\r\n", b"x-y_z: \xc3\xa4\tb\n"] {
            assert!(is_field(line), "{}", line.escape_ascii());
        }
        for line in [
            &b"HTTP/1.1 200 OK\r\n"[..],
            b"HTTP/1.1 200 OK: yes\r\n",
            b"no colon\r\n",
            b": no name\r\n",
            b" folded: x\r\n",
            b"A : b\r\n",
            b"A: b\0\r\n",
            b"A: b\rC: d\r\n",
            b"A: b",
        ] {
            assert!(!is_field(line), "{}", line.escape_ascii());
        }
    }
}
