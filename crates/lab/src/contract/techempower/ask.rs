//! Requests, and the heads that every answer has.

use super::super::answer::{HttpAnswer, Listener};
use super::super::http::{self, Case, send};
use super::super::wire::{Fault, excerpt};
use super::super::{Visit, date};
use jiff::Timestamp;

/// Type of an answer's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Media {
    Json,
    Text,
    Html,
}

/// A request for `target`, as the contract has it, whose answer has a right head.
pub(super) fn case(
    visit: &Visit<'_>,
    target: &str,
    media: Media,
    check: impl Fn(&HttpAnswer) -> Result<(), Fault> + 'static,
) -> Case {
    let asked = Timestamp::now();
    Case::get(visit.target(target), move |answer| {
        head(answer, media, asked)?;
        check(answer)
    })
}

/// Asks once, on a new connection.
pub(super) fn once(visit: &Visit<'_>, target: &str, media: Media) -> Result<HttpAnswer, Fault> {
    let case = case(visit, target, media, |_| Ok(()));
    let answer = case.ask(visit)?.answer()?;
    (case.check)(&answer)?;
    Ok(answer)
}

/// Asks so many times, one after the other on one connection.
pub(super) fn in_turn(
    visit: &Visit<'_>,
    target: &str,
    times: usize,
) -> Result<Vec<HttpAnswer>, Fault> {
    if visit.way.over.has_streams() {
        return (0..times)
            .map(|_| once(visit, target, Media::Json))
            .collect();
    }
    let mut listener = Listener::new(visit.open()?);
    let answers = (0..times).map(|_| {
        let case = case(visit, target, Media::Json, |_| Ok(()));
        send(&listener, &case.request(visit.way.authority, ""))?;
        let answer = listener.answer()?;
        (case.check)(&answer)?;
        Ok(answer)
    });
    answers.collect()
}

/// Asks on a connection each, all before any answer is read. Over HTTP/2 and HTTP/3 one after the other.
pub(super) fn at_once(
    visit: &Visit<'_>,
    targets: &[&str],
    media: Media,
) -> Result<Vec<HttpAnswer>, Fault> {
    if visit.way.over.has_streams() {
        let answers = targets.iter().map(|target| once(visit, target, media));
        return answers.collect();
    }
    let mut asked = Vec::with_capacity(targets.len());
    for wire in visit.open_many(targets.len())? {
        asked.push(Listener::new(wire));
    }
    let case = |target: &&str| case(visit, target, media, |_| Ok(()));
    let cases: Vec<Case> = targets.iter().map(case).collect();
    for (listener, case) in asked.iter().zip(&cases) {
        send(listener, &case.request(visit.way.authority, ""))?;
    }
    // Each connection ends when it has its answer: a server with a thread for each may have fewer of them.
    let answers = asked.into_iter().zip(&cases).map(|(mut listener, case)| {
        let answer = listener.answer()?;
        (case.check)(&answer)?;
        Ok(answer)
    });
    let answers: Result<Vec<HttpAnswer>, Fault> = answers.collect();
    answers.map_err(|fault| {
        let at_once = format!("{} with {} requests at once", fault.expected, targets.len());
        Fault::new(at_once, fault.found)
    })
}

/// Everything that the head of an answer must have, to a request that was sent at `asked` or later.
fn head(answer: &HttpAnswer, media: Media, asked: Timestamp) -> Result<(), Fault> {
    http::status(answer, 200)?;
    match media {
        Media::Json => http::media_type(answer, "application/json")?,
        Media::Text => http::media_type(answer, "text/plain")?,
        Media::Html => {
            http::media_type(answer, "text/html")?;
            let value = answer.content_type.as_deref().unwrap_or_default();
            if !is_utf8(value) {
                let expected = "Content-Type: text/html; charset=utf-8";
                return Err(Fault::new(expected, excerpt(value.as_bytes())));
            }
        }
    }
    if !answer.encoding.is_identity() {
        return Err(Fault::new(
            "a body without a coding, for which nobody asked",
            "a Content-Encoding",
        ));
    }
    if answer.fields.until_close {
        return Err(Fault::new("Content-Length or chunks", "neither"));
    }
    if answer.fields.server.as_deref().is_none_or(str::is_empty) {
        return Err(Fault::new("a Server field", "none"));
    }
    date::is_close(date_of(answer)?, asked)
}

/// Time in the head of an answer.
pub(super) fn date_of(answer: &HttpAnswer) -> Result<Timestamp, Fault> {
    let expected = "a Date field like \"Sat, 21 Nov 2026 10:09:54 GMT\"";
    let Some(value) = &answer.fields.date else {
        return Err(Fault::new(expected, "none"));
    };
    date::parse(value.as_bytes()).ok_or_else(|| Fault::new(expected, excerpt(value.as_bytes())))
}

/// Does a Content-Type name UTF-8?
fn is_utf8(content_type: &str) -> bool {
    let mut parameters = content_type.split(';').skip(1);
    parameters.any(|parameter| {
        let Some((name, value)) = parameter.split_once('=') else {
            return false;
        };
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("charset") && value.eq_ignore_ascii_case("utf-8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_charset_is_read_in_all_its_forms() {
        for right in [
            "text/html; charset=utf-8",
            "text/html;charset=UTF-8",
            "text/html; Charset=\"utf-8\"",
            "text/html; a=b; charset=utf-8",
        ] {
            assert!(is_utf8(right), "{right}");
        }
        for wrong in [
            "text/html",
            "text/html; charset=latin1",
            "text/html; utf-8",
            "",
        ] {
            assert!(!is_utf8(wrong), "{wrong}");
        }
    }
}
