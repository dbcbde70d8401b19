//! Taking apart what `request` returns: one request, or several to be pipelined.

use std::ops::Range;

/// The most header fields of one request.
const MAX_FIELDS: usize = 128;

/// Text that is not one or more whole requests.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why} at {line}:{column}")]
pub(super) struct Malformed {
    why: &'static str,
    line: usize,
    column: usize,
}

/// Where each request in `text` is.
///
/// # Errors
/// When something is left over, or there is none.
pub(super) fn split(text: &[u8]) -> Result<Vec<Range<usize>>, Malformed> {
    let mut requests: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    loop {
        let rest = &text[at..];
        if let Some(last) = requests.last_mut()
            && rest.iter().all(|byte| b"\r\n".contains(byte))
        {
            // Empty lines behind a request are allowed; they travel with it.
            last.end = text.len();
            return Ok(requests);
        }
        let length = request(rest).map_err(|why| malformed(text, at, why))?;
        requests.push(at..at + length);
        at += length;
    }
}

/// The length of the request at the beginning of `text`, or what is wrong, and where.
fn request(text: &[u8]) -> Result<usize, (&'static str, usize)> {
    let incomplete = ("incomplete request", text.len());
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(text) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Err(incomplete),
        Err(error) => return Err((reason(error), 0)),
    };
    let field = |name: &str| {
        let mut found = head
            .headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name));
        found.next().map(|field| field.value.trim_ascii())
    };
    if field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case(b"chunked")) {
        return chunks(text, length).ok_or(incomplete);
    }
    let body = match field("content-length") {
        None => 0,
        Some(value) => std::str::from_utf8(value)
            .ok()
            .and_then(|value| value.parse::<usize>().ok())
            .ok_or(("invalid Content-Length", length))?,
    };
    match length.checked_add(body) {
        Some(end) if end <= text.len() => Ok(end),
        _ => Err(incomplete),
    }
}

/// Where a chunked body that begins at `at` ends, with its trailer.
fn chunks(text: &[u8], mut at: usize) -> Option<usize> {
    loop {
        let Ok(httparse::Status::Complete((line, size))) = httparse::parse_chunk_size(&text[at..])
        else {
            return None;
        };
        at += line;
        if size == 0 {
            break;
        }
        at = at
            .checked_add(usize::try_from(size).ok()?)?
            .checked_add(2)?;
        if at > text.len() {
            return None;
        }
    }
    loop {
        let line = text[at..].iter().position(|&byte| byte == b'\n')?;
        at += line + 1;
        if line <= 1 {
            return Some(at);
        }
    }
}

fn malformed(text: &[u8], start: usize, (why, offset): (&'static str, usize)) -> Malformed {
    let before = &text[..start + offset];
    let line_begin = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    Malformed {
        why,
        line: before.iter().filter(|&&byte| byte == b'\n').count() + 1,
        column: before.len() - line_begin + 1,
    }
}

fn reason(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::Version => "invalid HTTP version",
        httparse::Error::Token => "invalid HTTP method or URL",
        httparse::Error::TooManyHeaders => "more than 128 header fields",
        _ => "invalid header",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GET: &str = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
    const POST: &str = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello";
    const CHUNKED: &str =
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n";

    fn pieces(text: &str) -> Result<Vec<&str>, String> {
        match split(text.as_bytes()) {
            Ok(ranges) => Ok(ranges.into_iter().map(|range| &text[range]).collect()),
            Err(malformed) => Err(malformed.to_string()),
        }
    }

    #[test]
    fn one_or_several() {
        assert_eq!(pieces(GET), Ok(vec![GET]));
        let all = [POST, GET, CHUNKED, GET].concat();
        assert_eq!(pieces(&all), Ok(vec![POST, GET, CHUNKED, GET]));
        let trailing = format!("{GET}\r\n");
        assert_eq!(pieces(&trailing), Ok(vec![&*trailing]));
    }

    #[test]
    fn what_is_wrong_has_a_place() {
        let at = |text: &str| pieces(text).unwrap_err();
        assert_eq!(at(""), "incomplete request at 1:1");
        assert_eq!(at("GET / HT"), "incomplete request at 1:9");
        assert_eq!(at(&POST[..POST.len() - 1]), "incomplete request at 5:5");
        assert_eq!(
            at(&CHUNKED[..CHUNKED.len() - 2]),
            "incomplete request at 8:1"
        );
        assert_eq!(
            at(&format!("{GET}foo/ bar")),
            "invalid HTTP method or URL at 4:1"
        );
        assert_eq!(
            at("GET / HTTP/1.1\r\nContent-Length: x\r\n\r\n"),
            "invalid Content-Length at 4:1"
        );
    }

    #[test]
    fn no_text_makes_it_panic() {
        let all = [POST, CHUNKED, GET].concat();
        for end in 0..all.len() {
            let _ = split(&all.as_bytes()[..end]);
            let _ = split(&all.as_bytes()[end..]);
        }
        let huge = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n";
        assert!(split(huge.as_bytes()).is_err());
    }
}
