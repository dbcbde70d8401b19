//! HTTP CONNECT: one request, and the head of its answer.

use super::Proxy;
use super::fault::Refusal;
use crate::protocol::response_parser;
use std::net::Ipv6Addr;

/// The longest head of an answer, in bytes.
const MOST: usize = 64 << 10;
/// The most header fields of an answer.
const FIELDS: usize = 128;
/// The most characters of a reason phrase that are shown.
const REASON: usize = 60;

/// The request.
pub(super) fn request(proxy: &Proxy) -> Vec<u8> {
    let authority = authority(&proxy.host, proxy.port);
    let mut head = format!("CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n");
    if let Some(credentials) = &proxy.credentials {
        head += &format!("Proxy-Authorization: {}\r\n", credentials.basic());
    }
    head += "\r\n";
    head.into_bytes()
}

/// `HOST:PORT`, an IPv6 address in brackets.
fn authority(host: &str, port: u16) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(ip) => format!("[{ip}]:{port}"),
        Err(_) => format!("{host}:{port}"),
    }
}

/// Reads what has come so far. Gives the length of the answer when that is whole and the tunnel is made. The first bytes
/// behind the head belong to the tunnel, whatever the head says of a body (RFC 9110, 9.3.6).
pub(super) fn read(all: &[u8], authorized: bool) -> Result<Option<usize>, Refusal> {
    let mut at = 0;
    loop {
        let bytes = &all[at..];
        let begins = bytes.len().min(b"HTTP/1.".len());
        if bytes[..begins] != b"HTTP/1."[..begins] {
            return Err(Refusal::NotHttp);
        }
        let Some(end) = end_of_head(bytes) else {
            return match bytes.len() > MOST {
                true => Err(Refusal::TooLong(MOST)),
                false => Ok(None),
            };
        };
        if end > MOST {
            return Err(Refusal::TooLong(MOST));
        }
        let mut fields = [httparse::EMPTY_HEADER; FIELDS];
        let mut head = httparse::Response::new(&mut fields);
        let parsed = response_parser().parse_response(&mut head, &bytes[..end]);
        let (Ok(httparse::Status::Complete(_)), Some(status)) = (parsed, head.code) else {
            return Err(Refusal::Malformed);
        };
        match status {
            200..=299 => return Ok(Some(at + end)),
            // A switch of protocols was not asked for.
            100 | 102..=199 => at += end,
            _ => {
                return Err(Refusal::Status {
                    status,
                    reason: shown(head.reason.unwrap_or_default()),
                    authorized,
                });
            }
        }
    }
}

/// The length of a head that is whole.
fn end_of_head(bytes: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'\n', bytes).find_map(|at| match &bytes[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    })
}

/// A reason phrase as errors show it: another program has written it.
fn shown(reason: &str) -> String {
    let printable = reason.chars().filter(|c| matches!(c, ' '..='~'));
    let text: String = printable.take(REASON).collect();
    match text.trim() {
        "" => String::new(),
        text => format!(" {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tunnels_begin_behind_the_head() {
        let head = "HTTP/1.1 200 Connection established\r\nContent-Length: 5\r\n\r\n";
        let all = format!("{head}tunnel");
        assert_eq!(read(all.as_bytes(), false), Ok(Some(head.len())));
        let interim = format!("HTTP/1.1 100 Continue\r\n\r\n{all}");
        let length = interim.len() - "tunnel".len();
        assert_eq!(read(interim.as_bytes(), false), Ok(Some(length)));
        for cut in 0..head.len() {
            assert_eq!(read(&head.as_bytes()[..cut], false), Ok(None), "{cut}");
        }
        let bare = "HTTP/1.0 200 OK\n\nx";
        assert_eq!(read(bare.as_bytes(), false), Ok(Some(bare.len() - 1)));
    }

    #[test]
    fn refusals_have_the_proxys_words_and_nothing_that_steers_a_terminal() {
        let status = |text: &str| match read(text.as_bytes(), true) {
            Err(refusal @ Refusal::Status { .. }) => refusal.to_string(),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            status("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"),
            "answered 407 Proxy Authentication Required"
        );
        assert_eq!(status("HTTP/1.1 502\r\n\r\n"), "answered 502");
        assert_eq!(
            status("HTTP/1.1 101 Switching\r\n\r\n"),
            "answered 101 Switching"
        );
        let long = format!("HTTP/1.1 500 {}\r\n\r\n", "x".repeat(1000));
        assert_eq!(status(&long).len(), "answered 500 ".len() + REASON);
    }

    #[test]
    fn what_is_no_answer_is_found_at_its_first_byte() {
        for (text, refusal) in [
            ("S", Refusal::NotHttp),
            ("HTTP/2 200\r\n\r\n", Refusal::NotHttp),
            ("\x05\0", Refusal::NotHttp),
            ("HTTP/1.1 abc\r\n\r\n", Refusal::Malformed),
            ("HTTP/1.1 200 OK\r\na b: c\r\n\r\n", Refusal::Malformed),
        ] {
            assert_eq!(read(text.as_bytes(), false), Err(refusal), "{text:?}");
        }
        let endless = format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(MOST));
        assert_eq!(read(endless.as_bytes(), false), Err(Refusal::TooLong(MOST)));
        let whole = format!("{endless}\r\n\r\n");
        assert_eq!(read(whole.as_bytes(), false), Err(Refusal::TooLong(MOST)));
    }

    #[test]
    fn ipv6_addresses_have_brackets() {
        assert_eq!(authority("::1", 80), "[::1]:80");
        assert_eq!(authority("example.com", 443), "example.com:443");
    }
}
