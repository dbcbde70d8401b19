//! Steps of every contract over HTTP, whatever the server answers: requests that are not complete, in
//! pieces, several on a connection, several connections.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use rand::RngExt;
use rand::distr::Alphanumeric;

use super::answer::{HttpAnswer, Listener};
use super::wire::{Fault, ReadResult, Wire, excerpt};
use super::{Act, Depth, Visit, over_h2};

/// Connections used at once by the interleaving step.
const INTERLEAVED: usize = 8;

/// Requests sent before any answer is read.
const PIPELINED: usize = 8;

/// Judges an answer.
pub(super) type Check = dyn Fn(&HttpAnswer) -> Result<(), Fault>;

/// A request that cannot be guessed, and what its answer must be.
pub(super) struct Case {
    pub method: &'static str,
    pub target: String,
    /// With a body there is a Content-Type: application/json.
    pub body: Option<Vec<u8>>,
    pub check: Box<Check>,
}

impl Case {
    /// `GET target`.
    pub fn get(
        target: impl Into<String>,
        check: impl Fn(&HttpAnswer) -> Result<(), Fault> + 'static,
    ) -> Self {
        Self {
            method: "GET",
            target: target.into(),
            body: None,
            check: Box::new(check),
        }
    }

    /// The request's bytes over HTTP/1.1, with further header lines.
    pub fn request(&self, host: &str, extra: &str) -> Vec<u8> {
        let mut bytes = format!(
            "{} {} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: prony\r\n{extra}",
            self.method, self.target
        )
        .into_bytes();
        if let Some(body) = &self.body {
            let length = body.len();
            let fields = format!("Content-Type: application/json\r\nContent-Length: {length}\r\n");
            bytes.extend_from_slice(fields.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(self.body.as_deref().unwrap_or_default());
        bytes
    }

    /// Sends it on a new connection and checks the answer.
    pub fn exchange(&self, visit: &Visit<'_>) -> Result<(), Fault> {
        let mut listener = self.ask(visit)?;
        (self.check)(&listener.answer()?)
    }

    /// A new connection with this request on it.
    pub fn ask(&self, visit: &Visit<'_>) -> Result<Asked, Fault> {
        if visit.way.over.has_streams() {
            return Ok(Asked::OverStreams(over_h2::ask(self, visit)?));
        }
        let listener = Listener::new(visit.open()?);
        send(&listener, &self.request(visit.way.authority, ""))?;
        Ok(Asked::Http1(listener))
    }
}

/// A request that was sent by itself on a new connection.
pub(super) enum Asked {
    /// Connection from which the answer is read.
    Http1(Listener),
    /// The whole answer: over HTTP/2 it is a stream's, which has its own end.
    OverStreams(HttpAnswer),
}

impl Asked {
    /// The whole answer.
    pub fn answer(&mut self) -> Result<HttpAnswer, Fault> {
        match self {
            Self::Http1(listener) => listener.answer(),
            Self::OverStreams(answer) => Ok(answer.clone()),
        }
    }

    /// The status of an answer that has no body, whatever its head says.
    pub fn head_alone(&mut self) -> Result<u16, Fault> {
        match self {
            Self::Http1(listener) => listener.head_alone(),
            Self::OverStreams(answer) if answer.body.is_empty() => Ok(answer.status),
            Self::OverStreams(answer) => Err(Fault::new("no body", excerpt(&answer.body))),
        }
    }

    /// No byte beyond the answer.
    pub fn expect_nothing_more(&self) -> Result<(), Fault> {
        match self {
            Self::Http1(listener) => listener.expect_nothing_more(),
            Self::OverStreams(_) => Ok(()),
        }
    }
}

/// The steps that are about the bytes and the connections of HTTP/1.1: over HTTP/2 there are others in their place.
pub(super) fn is_of_http1(act: &Act) -> bool {
    const ALL: [Act; 7] = [
        COMPLETE_REQUEST,
        FRAGMENTS,
        KEEP_ALIVE,
        PIPELINED_REQUESTS,
        INTERLEAVED_CONNECTIONS,
        CLOSE,
        HTTP_1_0,
    ];
    ALL.iter().any(|own| own.name == act.name)
}

pub(super) const COMPLETE_REQUEST: Act = Act {
    name: "complete-request",
    tried: "requests held back before their end",
    from: Depth::Quick,
    run: complete_request,
};
pub(super) const FRAGMENTS: Act = Act {
    name: "fragments",
    tried: "a request sent byte by byte",
    from: Depth::Quick,
    run: fragments,
};
pub(super) const KEEP_ALIVE: Act = Act {
    name: "keep-alive",
    tried: "several requests on one connection",
    from: Depth::Quick,
    run: keep_alive,
};
pub(super) const PIPELINED_REQUESTS: Act = Act {
    name: "pipelined",
    tried: "8 requests sent before any answer is read",
    from: Depth::Quick,
    run: pipelined,
};
pub(super) const INTERLEAVED_CONNECTIONS: Act = Act {
    name: "interleaved",
    tried: "several connections used in turns",
    from: Depth::Quick,
    run: interleaved,
};
pub(super) const CLOSE: Act = Act {
    name: "close",
    tried: "a request with Connection: close",
    from: Depth::Full,
    run: connection_close,
};
pub(super) const HTTP_1_0: Act = Act {
    name: "http-1.0",
    tried: "a request in HTTP/1.0",
    from: Depth::Full,
    run: http_1_0,
};
pub(super) const NOT_FOUND: Act = Act {
    name: "not-found",
    tried: "paths that are nothing",
    from: Depth::Full,
    run: not_found,
};

/// One request; any HTTP answer will do.
pub(super) fn probe(wire: &Wire, host: SocketAddr) -> io::Result<()> {
    const START: &[u8] = b"HTTP/1.";
    let case = Case::get("/prony", |_| Ok(()));
    wire.send(&case.request(&host.to_string(), "Connection: close\r\n"))?;
    let mut heard = [0; START.len()];
    let mut at = 0;
    while at < START.len() {
        match wire.hear(&mut heard[at..])? {
            ReadResult::Bytes(n) => at += n,
            ReadResult::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            ReadResult::Silence => return Err(io::ErrorKind::TimedOut.into()),
        }
    }
    if heard == START {
        return Ok(());
    }
    let message = format!(
        "the answer begins with {}, which is not HTTP",
        excerpt(&heard)
    );
    Err(io::Error::new(io::ErrorKind::InvalidData, message))
}

fn complete_request(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = visit.case(40);
    let whole = case.request(visit.way.authority, "");
    let line = whole.iter().position(|&byte| byte == b'\n').unwrap_or(0) + 1;
    // Held back: all but the first byte; half of the target or so; everything after the request
    // line; half of the headers; the last two bytes; the last byte.
    let middle = line + (whole.len() - line) / 2;
    let cuts = [1, 20, line, middle, whole.len() - 2, whole.len() - 1];
    let mut waiting = Vec::with_capacity(cuts.len());
    for cut in cuts {
        let listener = Listener::new(visit.open()?);
        send(&listener, &whole[..cut])?;
        waiting.push((listener, cut));
    }
    // A busy machine may let a wrong answer come later, and a cheat escape; it fails no honest server.
    std::thread::sleep(visit.choose(Duration::from_millis(20), Duration::from_millis(50)));
    for (listener, cut) in &waiting {
        let expected = format!("no answer to the first {cut} of {} bytes", whole.len());
        listener.wire.expect_nothing_yet(&expected)?;
    }
    for (listener, cut) in &mut waiting {
        send(listener, &whole[*cut..])?;
        (case.check)(&listener.answer()?)?;
    }
    Ok(())
}

fn fragments(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = visit.case(20);
    let whole = case.request(visit.way.authority, "");
    let mut listener = Listener::new(visit.open()?);
    // Pauses inside the method, the target and the end, so that each is split between two reads.
    let pauses = [2, 9, whole.len() - 3, whole.len() - 1];
    listener
        .wire
        .send_in_crumbs(&whole, &pauses)
        .map_err(|error| Fault::io("the server to take a request in pieces", &error))?;
    (case.check)(&listener.answer()?)
}

fn keep_alive(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut listener = Listener::new(visit.open()?);
    for size in [8, 90, 1, 30, 400, 8] {
        let case = visit.case(size);
        send(&listener, &case.request(visit.way.authority, ""))?;
        (case.check)(&listener.answer()?)?;
    }
    Ok(())
}

fn pipelined(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let cases: Vec<Case> = (0..PIPELINED).map(|i| visit.case(5 + 7 * i)).collect();
    let requests = cases
        .iter()
        .flat_map(|case| case.request(visit.way.authority, ""));
    let mut listener = Listener::new(visit.open()?);
    send(&listener, &requests.collect::<Vec<u8>>())?;
    for case in &cases {
        (case.check)(&listener.answer()?)?;
    }
    listener.expect_nothing_more()
}

fn interleaved(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let wires = visit.open_many(INTERLEAVED)?;
    let mut listeners: Vec<Listener> = wires.into_iter().map(Listener::new).collect();
    for _ in 0..visit.choose(2, 5) {
        let cases: Vec<Case> = (0..INTERLEAVED).map(|_| visit.case(30)).collect();
        let requests: Vec<Vec<u8>> = cases
            .iter()
            .map(|case| case.request(visit.way.authority, ""))
            .collect();
        for half in 0..2 {
            for i in visit.shuffled(INTERLEAVED) {
                let (first, second) = requests[i].split_at(25);
                send(&listeners[i], if half == 0 { first } else { second })?;
            }
        }
        for i in visit.shuffled(INTERLEAVED) {
            (cases[i].check)(&listeners[i].answer()?)?;
        }
    }
    Ok(())
}

fn connection_close(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = visit.case(24);
    let mut listener = Listener::new(visit.open()?);
    send(
        &listener,
        &case.request(visit.way.authority, "Connection: close\r\n"),
    )?;
    (case.check)(&listener.answer()?)?;
    listener.expect_end("the connection to be closed after the answer")
}

fn http_1_0(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let case = visit.case(24);
    let mut listener = Listener::new(visit.open()?);
    let request = format!("{} {} HTTP/1.0\r\n\r\n", case.method, case.target);
    send(&listener, request.as_bytes())?;
    let answer = listener.answer()?;
    if answer.chunked {
        // RFC 9112, 6.1: not to a client that has not said it speaks HTTP/1.1.
        return Err(Fault::new(
            "an unchunked body",
            "Transfer-Encoding: chunked",
        ));
    }
    (case.check)(&answer)
}

fn not_found(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let word = token(visit, 12);
    for target in [format!("/{word}"), format!("/{word}/deeper?x=1")] {
        Case::get(target, |answer| status(answer, 404)).exchange(visit)?;
    }
    Ok(())
}

/// The answer has this status.
pub(super) fn status(answer: &HttpAnswer, expected: u16) -> Result<(), Fault> {
    if answer.status == expected {
        return Ok(());
    }
    Err(Fault::new(
        format!("status {expected}"),
        format!("{} with the body {}", answer.status, excerpt(&answer.body)),
    ))
}

/// The answer is of this media type, with any parameters.
pub(super) fn media_type(answer: &HttpAnswer, expected: &str) -> Result<(), Fault> {
    let wrong = |found: String| Err(Fault::new(format!("Content-Type: {expected}"), found));
    let Some(value) = answer.content_type.as_deref() else {
        return wrong("no Content-Type".to_owned());
    };
    let found = value.split(';').next().unwrap_or_default().trim();
    if found.eq_ignore_ascii_case(expected) {
        Ok(())
    } else {
        wrong(excerpt(value.as_bytes()))
    }
}

/// The answer's body is exactly this.
pub(super) fn body(answer: &HttpAnswer, expected: &[u8]) -> Result<(), Fault> {
    if answer.body == expected {
        Ok(())
    } else {
        Err(Fault::new(excerpt(expected), excerpt(&answer.body)))
    }
}

pub(super) fn send(listener: &Listener, bytes: &[u8]) -> Result<(), Fault> {
    listener
        .wire
        .send(bytes)
        .map_err(|error| Fault::io("the server to take the request", &error))
}

/// Letters and digits.
pub(super) fn token(visit: &mut Visit<'_>, size: usize) -> String {
    (&mut visit.rng)
        .sample_iter(Alphanumeric)
        .take(size)
        .map(char::from)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::answer::OtherFields;

    #[test]
    fn a_media_type_may_have_parameters() {
        let answer = |content_type: Option<&str>| HttpAnswer {
            encoding: prony_engine::protocol::encoding::Encoding::of([]),
            status: 200,
            content_type: content_type.map(str::to_owned),
            body: Vec::new(),
            chunked: false,
            fields: OtherFields::default(),
        };
        let plain = |value| media_type(&answer(value), "text/plain").is_ok();
        for right in [
            "text/plain",
            "text/plain; charset=utf-8",
            "Text/Plain;charset=x",
        ] {
            assert!(plain(Some(right)), "{right}");
        }
        for wrong in [None, Some("text/html"), Some("text/plainer"), Some("")] {
            assert!(!plain(wrong), "{wrong:?}");
        }
    }
}
