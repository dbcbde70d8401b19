//! The request: the original's bytes.

use super::flags::HttperfFlags;

/// The URI that is asked for, or that of a file of this number.
pub(super) fn uri(flags: &HttperfFlags, file: u64) -> String {
    let files = flags.files.and_then(|set| set.first_uri(&flags.uri).ok());
    let Some((uri, digits)) = files else {
        return flags.uri.clone();
    };
    let mut bytes = uri.into_bytes();
    digits.write(&mut bytes, file);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the bytes that each call sends; the calls differ only in the number of their file.
pub(super) fn bytes(flags: &HttperfFlags) -> Vec<u8> {
    let mut head = format!(
        "{} {} HTTP/{}\r\nUser-Agent: httperf/0.9.0\r\n",
        flags.method,
        uri(flags, 0),
        flags.version
    );
    if flags.version == "1.0" {
        head += "Connection: keep-alive\r\n";
    }
    if flags.host_field {
        let host = flags.server_name.as_ref().unwrap_or(&flags.server);
        head += &format!("Host: {host}\r\n");
    }
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&flags.fields);
    bytes.extend_from_slice(b"\r\n");
    bytes
}

/// Takes the escapes of `--add-header` for what they mean: `\n` ends a line, `\r` is a carriage
/// return, `\a` a line feed, `\\` a backslash, and digits are a byte in octal. `None`: another one.
pub(super) fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let (&escape, tail) = rest.split_first()?;
        rest = tail;
        match escape {
            b'n' => out.extend_from_slice(b"\r\n"),
            b'r' => out.push(b'\r'),
            b'a' => out.push(b'\n'),
            b'\\' => out.push(b'\\'),
            b'0'..=b'7' => {
                let mut value = u32::from(escape - b'0');
                while let Some((&digit @ b'0'..=b'7', tail)) = rest.split_first()
                    && value * 8 < 0o400
                {
                    value = value * 8 + u32::from(digit - b'0');
                    rest = tail;
                }
                out.push(value as u8);
            }
            _ => return None,
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::httperf::flags::parse;
    use std::ffi::OsString;

    /// Each of these was captured from the original.
    #[test]
    fn the_originals_bytes() {
        for (line, expected) in [
            (
                "--server|127.0.0.1|--port|18090|--uri|/u",
                "GET /u HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\n\r\n",
            ),
            (
                "--server|localhost|--uri|/u|--method|POST|--add-header|X-B: 2\\nY: 3\\n",
                "POST /u HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: localhost\r\nX-B: 2\r\nY: 3\r\n\r\n",
            ),
            (
                "--server|localhost|--server-name|foo|--http-version|1.0|--uri|/u",
                "GET /u HTTP/1.0\r\nUser-Agent: httperf/0.9.0\r\nConnection: keep-alive\r\nHost: foo\r\n\r\n",
            ),
        ] {
            let flags = parse(line.split('|').map(OsString::from).collect()).unwrap();
            assert_eq!(
                String::from_utf8(bytes(&flags)).unwrap(),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn escapes() {
        assert_eq!(unescape("a\\n\\\\b\\101\\r").unwrap(), b"a\r\n\\bA\r");
        assert_eq!(unescape("\\a").unwrap(), b"\n");
        assert_eq!(unescape("\\3771").unwrap(), [0o377, b'1']);
        assert_eq!((unescape("\\x"), unescape("\\")), (None, None));
    }
}
