//! Requests with bodies and fields, and the heads that answers have.

use super::super::answer::{HttpAnswer, Listener};
use super::super::http::{self, Case, send};
use super::super::wire::{Fault, excerpt};
use super::super::{Visit, over_h2};
use crate::over_h2::RequestEnd;
use serde_json::Value;

/// End of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFraming {
    Length,
    /// Chunks of at most so many bytes.
    Chunks(usize),
}

/// Asks for `target` on a new connection.
pub(super) fn get(visit: &Visit<'_>, target: &str) -> Result<HttpAnswer, Fault> {
    let mut asked = Case::get(visit.target(target), |_| Ok(())).ask(visit)?;
    let answer = asked.answer()?;
    asked.expect_nothing_more()?;
    Ok(answer)
}

/// Asks for a path with this Accept-Encoding; an empty one is not sent.
pub(super) fn get_accepting(
    visit: &Visit<'_>,
    target: &str,
    accepted: &str,
) -> Result<HttpAnswer, Fault> {
    let case = Case::get(target, |_| Ok(()));
    let fields: Vec<(String, String)> = match accepted {
        "" => Vec::new(),
        codings => vec![("accept-encoding".to_owned(), codings.to_owned())],
    };
    if visit.way.over.has_streams() {
        return over_h2::ask_with(&case, visit, &fields, RequestEnd::Itself);
    }
    let mut listener = Listener::new(visit.open()?);
    let lines = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let lines: String = lines.collect();
    send(&listener, &case.request(visit.way.authority, &lines))?;
    listener.answer()
}

/// Asks on an open connection, with further header lines.
pub(super) fn get_on(
    listener: &mut Listener,
    visit: &Visit<'_>,
    target: &str,
    fields: &str,
) -> Result<HttpAnswer, Fault> {
    let case = Case::get(visit.target(target), |_| Ok(()));
    send(listener, &case.request(visit.way.authority, fields))?;
    listener.answer()
}

/// Sends JSON on an open connection.
pub(super) fn json_on(
    listener: &mut Listener,
    visit: &Visit<'_>,
    method: &'static str,
    target: &str,
    body: &Value,
) -> Result<HttpAnswer, Fault> {
    let case = Case {
        method,
        target: visit.target(target),
        body: Some(body.to_string().into_bytes()),
        check: Box::new(|_| Ok(())),
    };
    send(listener, &case.request(visit.way.authority, ""))?;
    listener.answer()
}

/// The bytes of a POST with this body.
pub(super) fn post(
    visit: &Visit<'_>,
    target: &str,
    media: &str,
    body: &[u8],
    framing: BodyFraming,
) -> Vec<u8> {
    let (host, target) = (visit.way.authority, visit.target(target));
    let mut bytes = format!(
        "POST {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: prony\r\nContent-Type: {media}\r\n"
    )
    .into_bytes();
    match framing {
        BodyFraming::Length => {
            bytes.extend(format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes());
            bytes.extend_from_slice(body);
        }
        BodyFraming::Chunks(size) => {
            bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(size) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).into_bytes());
                bytes.extend_from_slice(chunk);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
    }
    bytes
}

/// Asks on a connection each, all before any answer is read. Over HTTP/2 and HTTP/3 one after the other.
pub(super) fn at_once(visit: &Visit<'_>, targets: &[String]) -> Result<Vec<HttpAnswer>, Fault> {
    if visit.way.over.has_streams() {
        return targets.iter().map(|target| get(visit, target)).collect();
    }
    let mut asked = Vec::with_capacity(targets.len());
    for (wire, target) in visit.open_many(targets.len())?.into_iter().zip(targets) {
        let listener = Listener::new(wire);
        let case = Case::get(visit.target(target), |_| Ok(()));
        send(&listener, &case.request(visit.way.authority, ""))?;
        asked.push(listener);
    }
    // Each connection ends when it has its answer: a server with a thread for each may have fewer of them.
    let answers = asked.into_iter().map(|mut listener| listener.answer());
    let answers: Result<Vec<HttpAnswer>, Fault> = answers.collect();
    answers.map_err(|fault| {
        let at_once = format!("{} with {} requests at once", fault.expected, targets.len());
        Fault::new(at_once, fault.found)
    })
}

/// The answer is this text.
pub(super) fn is_text(answer: &HttpAnswer, expected: &str) -> Result<(), Fault> {
    http::status(answer, 200)?;
    http::media_type(answer, "text/plain")?;
    uncoded(answer)?;
    http::body(answer, expected.as_bytes())
}

/// JSON of an answer with this status.
pub(super) fn json(answer: &HttpAnswer, status: u16) -> Result<Value, Fault> {
    http::status(answer, status)?;
    http::media_type(answer, "application/json")?;
    uncoded(answer)?;
    parse(&answer.body)
}

pub(super) fn parse(body: &[u8]) -> Result<Value, Fault> {
    serde_json::from_slice(body)
        .map_err(|error| Fault::new("JSON", format!("{} ({error})", excerpt(body))))
}

/// The two are the same JSON, in any order of members.
pub(super) fn same(expected: &Value, found: &Value) -> Result<(), Fault> {
    if expected == found {
        return Ok(());
    }
    let (expected, found) = narrowed(expected, found);
    let shown = |value: Option<&Value>| match value {
        Some(value) => excerpt(value.to_string().as_bytes()),
        None => "nothing".to_owned(),
    };
    Err(Fault::new(
        shown(expected.1),
        format!("{}{}", found.0, shown(found.1)),
    ))
}

type Named<'a> = (String, Option<&'a Value>);

/// The first difference within two values, and where it is.
fn narrowed<'a>(expected: &'a Value, found: &'a Value) -> (Named<'a>, Named<'a>) {
    let (mut expected, mut found) = (Some(expected), Some(found));
    let mut place = String::new();
    loop {
        let next = match (expected, found) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                let mut keys = a.keys().chain(b.keys());
                let key = keys.find(|key| a.get(*key) != b.get(*key));
                key.map(|key| (format!("{key}: "), a.get(key), b.get(key)))
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) if a.len() == b.len() => {
                let differs = (0..a.len()).find(|&at| a[at] != b[at]);
                differs.map(|at| (format!("element {at}: "), a.get(at), b.get(at)))
            }
            _ => None,
        };
        match next {
            Some((step, a, b)) => {
                place += &step;
                (expected, found) = (a, b);
            }
            None => return ((place.clone(), expected), (place, found)),
        }
    }
}

fn uncoded(answer: &HttpAnswer) -> Result<(), Fault> {
    if answer.encoding.is_identity() {
        return Ok(());
    }
    Err(Fault::new(
        "a body without a coding, for which nobody asked",
        format!("Content-Encoding: {}", answer.encoding.name()),
    ))
}
