//! Reading the head of an HTTP/1 request.

use std::mem::MaybeUninit;

use super::body::Body;

/// The longest head (request line and header section) that is taken, in bytes.
pub(super) const MAX_HEAD: usize = 16 * 1024;
/// More header lines than this are refused like a head that is too long.
const MAX_HEADERS: usize = 128;

/// Contents of a request's head.
#[derive(Debug)]
pub(super) struct RequestHead<'a> {
    /// The head's length in bytes.
    pub(super) len: usize,
    /// The request target, as it was sent.
    pub(super) target: &'a str,
    pub(super) manner: Manner,
    /// Body that follows the head; None if there is none.
    pub(super) body: Option<Body>,
    /// Whether the client waits for leave to send the body.
    pub(super) expects_continue: bool,
}

/// How the reply is to be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Manner {
    /// A reply to HEAD has no body.
    pub(super) head_only: bool,
    pub(super) connection: KeepAlive,
}

/// Whether the connection is kept, and how the reply announces it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KeepAlive {
    /// Kept, as is usual in HTTP/1.1: nothing need be said.
    Kept,
    /// Kept, because an HTTP/1.0 client asked for it: the reply says so.
    KeptOnRequest,
    /// Closed: the reply says so.
    Closed,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    Malformed,
    HeadTooLong,
}

/// Reads the head at the start of `input`; `None` if it is not complete.
pub(super) fn parse(input: &[u8]) -> Result<Option<RequestHead<'_>>, Refusal> {
    let window = &input[..input.len().min(MAX_HEAD)];
    let mut fields = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut []);
    let len = match request.parse_with_uninit_headers(window, &mut fields) {
        Ok(httparse::Status::Complete(len)) => len,
        Ok(httparse::Status::Partial) if window.len() < MAX_HEAD => return Ok(None),
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Err(Refusal::HeadTooLong);
        }
        Err(_) => return Err(Refusal::Malformed),
    };
    let is_http10 = request.version == Some(0);
    let mut seen = HeaderValues::default();
    for header in request.headers.iter() {
        seen.note(header.name, header.value)?;
    }
    // RFC 9112, section 3.2: exactly one Host, which HTTP/1.0 did not know yet.
    if seen.hosts > 1 || (seen.hosts == 0 && !is_http10) {
        return Err(Refusal::Malformed);
    }
    let connection = match (seen.close, is_http10, seen.keep_alive) {
        (true, _, _) | (false, true, false) => KeepAlive::Closed,
        (false, true, true) => KeepAlive::KeptOnRequest,
        (false, false, _) => KeepAlive::Kept,
    };
    Ok(Some(RequestHead {
        len,
        target: request.path.unwrap_or_default(),
        manner: Manner {
            head_only: request.method == Some("HEAD"),
            connection,
        },
        body: seen.body(is_http10)?,
        expects_continue: seen.expects_continue && !is_http10,
    }))
}

/// Values of the header lines so far.
#[derive(Default)]
struct HeaderValues {
    hosts: u32,
    close: bool,
    keep_alive: bool,
    length: Option<u64>,
    codings: u32,
    chunked: bool,
    expects_continue: bool,
}

impl HeaderValues {
    fn note(&mut self, name: &str, value: &[u8]) -> Result<(), Refusal> {
        // Most names are told apart by their length alone.
        match name.len() {
            4 if name.eq_ignore_ascii_case("host") => self.hosts += 1,
            6 if name.eq_ignore_ascii_case("expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
            }
            10 if name.eq_ignore_ascii_case("connection") => {
                for option in tokens(value) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case("content-length") => self.note_length(value)?,
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                for coding in tokens(value) {
                    self.codings += 1;
                    self.chunked |= coding.eq_ignore_ascii_case(b"chunked");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The same length several times is one length (RFC 9110, section 8.6); differing ones are an
    /// attack.
    fn note_length(&mut self, value: &[u8]) -> Result<(), Refusal> {
        let mut found = false;
        for text in tokens(value) {
            let length = decimal(text).ok_or(Refusal::Malformed)?;
            if self.length.is_some_and(|known| known != length) {
                return Err(Refusal::Malformed);
            }
            self.length = Some(length);
            found = true;
        }
        if found {
            Ok(())
        } else {
            Err(Refusal::Malformed)
        }
    }

    /// The framing of the body (RFC 9112, section 6). Codings other than chunked alone are refused,
    /// and so is a length beside them: two servers could see two different ends of the request.
    fn body(&self, is_http10: bool) -> Result<Option<Body>, Refusal> {
        match (self.codings, self.length) {
            (0, None | Some(0)) => Ok(None),
            (0, Some(length)) => Ok(Some(Body::sized(length))),
            (1, None) if self.chunked && !is_http10 => Ok(Some(Body::chunked())),
            _ => Err(Refusal::Malformed),
        }
    }
}

/// The members of a comma-separated list, without the white space around them.
fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

fn decimal(text: &[u8]) -> Option<u64> {
    text.iter().try_fold(0_u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manner(text: &str) -> Manner {
        parse(text.as_bytes()).unwrap().unwrap().manner
    }

    #[test]
    fn what_becomes_of_the_connection() {
        for (head, connection) in [
            ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", KeepAlive::Kept),
            (
                "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n",
                KeepAlive::Kept,
            ),
            (
                "GET / HTTP/1.1\r\nhost: a\r\nconnection: x, Close\r\n\r\n",
                KeepAlive::Closed,
            ),
            ("GET / HTTP/1.0\r\n\r\n", KeepAlive::Closed),
            (
                "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
                KeepAlive::KeptOnRequest,
            ),
            (
                "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
                KeepAlive::Closed,
            ),
        ] {
            assert_eq!(manner(head).connection, connection, "{head}");
        }
    }

    #[test]
    fn what_cannot_be_framed_is_malformed() {
        for headers in [
            "",
            "Host: a\r\nHost: a\r\n",
            "Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
            "Host: a\r\nContent-Length: 1, 2\r\n",
            "Host: a\r\nContent-Length: \r\n",
            "Host: a\r\nContent-Length: -1\r\n",
            "Host: a\r\nContent-Length: 99999999999999999999\r\n",
            "Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n",
            "Host: a\r\nTransfer-Encoding: gzip\r\n",
            "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n",
            "Host : a\r\n",
        ] {
            let head = format!("POST / HTTP/1.1\r\n{headers}\r\n");
            assert_eq!(
                parse(head.as_bytes()).unwrap_err(),
                Refusal::Malformed,
                "{head}"
            );
        }
        let http10 = b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(parse(http10).unwrap_err(), Refusal::Malformed);
        let same = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n";
        assert!(parse(same).unwrap().unwrap().body.is_some());
    }

    #[test]
    fn the_longest_head_is_taken_and_not_a_byte_more() {
        let head = |len: usize| {
            let frame = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n".len();
            format!(
                "GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
                "x".repeat(len - frame)
            )
        };
        let longest = head(MAX_HEAD);
        assert_eq!(parse(longest.as_bytes()).unwrap().unwrap().len, MAX_HEAD);
        assert!(
            parse(&longest.as_bytes()[..MAX_HEAD - 1])
                .unwrap()
                .is_none()
        );
        let too_long = head(MAX_HEAD + 1);
        assert_eq!(
            parse(too_long.as_bytes()).unwrap_err(),
            Refusal::HeadTooLong
        );
        let many = format!(
            "GET / HTTP/1.1\r\nHost: a\r\n{}\r\n",
            "x: y\r\n".repeat(MAX_HEADERS)
        );
        assert_eq!(parse(many.as_bytes()).unwrap_err(), Refusal::HeadTooLong);
    }
}
