//! `http-echo`: `GET <target>` is answered `200`, `Content-Type: text/plain`, with the body
//! `<target> at <date>`: the request target as it was sent, and the time of the answer as an
//! IMF-fixdate (RFC 9110, 5.6.7).

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};
use rand::RngExt;
use rand::distr::Alphanumeric;

use super::answer::{Answer, Listener};
use super::wire::{Fault, Heard, Wire, excerpt};
use super::{Act, Visit};

/// How far an answer's date may be from the time at which it was read. A date has whole seconds
/// and many servers compute it once a second, which makes two; one more for a busy host.
const DATE_TOLERANCE_SECONDS: i64 = 3;

/// The long target, in bytes: longer than one small read, shorter than the 8,000 bytes every
/// server should take (RFC 9112, 3).
const LONG_TARGET: usize = 2_000;

/// Connections used at once by the interleaving step.
const INTERLEAVED: usize = 8;

/// Requests sent before any answer is read.
const PIPELINED: usize = 8;

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "answer",
        tried: "one request",
        full_only: false,
        run: answer,
    },
    Act {
        name: "distinct-targets",
        tried: "targets of several kinds, a new connection for each",
        full_only: false,
        run: distinct_targets,
    },
    Act {
        name: "date",
        tried: "the date in the body compared",
        full_only: false,
        run: date,
    },
    Act {
        name: "complete-request",
        tried: "requests held back before their end",
        full_only: false,
        run: complete_request,
    },
    Act {
        name: "fragments",
        tried: "a request sent byte by byte",
        full_only: false,
        run: fragments,
    },
    Act {
        name: "keep-alive",
        tried: "several requests on one connection",
        full_only: false,
        run: keep_alive,
    },
    Act {
        name: "pipelined",
        tried: "8 requests sent before any answer is read",
        full_only: false,
        run: pipelined,
    },
    Act {
        name: "interleaved",
        tried: "several connections used in turns",
        full_only: false,
        run: interleaved,
    },
    Act {
        name: "long-target",
        tried: "a target of 2,000 bytes",
        full_only: true,
        run: long,
    },
    Act {
        name: "close",
        tried: "a request with Connection: close",
        full_only: true,
        run: connection_close,
    },
    Act {
        name: "http-1.0",
        tried: "a request in HTTP/1.0",
        full_only: true,
        run: http_1_0,
    },
];

/// One request; any HTTP answer will do.
pub(super) fn probe(wire: &Wire, host: SocketAddr) -> io::Result<()> {
    const START: &[u8] = b"HTTP/1.";
    wire.send(&request("/prony", host, "Connection: close\r\n"))?;
    let mut heard = [0; START.len()];
    let mut at = 0;
    while at < START.len() {
        match wire.hear(&mut heard[at..])? {
            Heard::Bytes(n) => at += n,
            Heard::End => return Err(io::ErrorKind::UnexpectedEof.into()),
            Heard::Silence => return Err(io::ErrorKind::TimedOut.into()),
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

fn answer(visit: &mut Visit) -> Result<(), Fault> {
    let target = target(visit, 24);
    let mut listener = ask(visit, &target)?;
    check_body(&listener.answer()?, &target)?;
    listener.expect_nothing_more()
}

fn distinct_targets(visit: &mut Visit) -> Result<(), Fault> {
    let key = target(visit, 6);
    let targets = [
        target(visit, 1),
        target(visit, 200),
        format!("{key}/{}", token(visit, 10)),
        format!("{key}?{}", token(visit, 10)),
        format!("{key}?a={}&b=%20{}", token(visit, 5), token(visit, 5)),
        format!("{key}%20{}/", token(visit, 5)),
    ];
    for target in targets {
        check_body(&ask(visit, &target)?.answer()?, &target)?;
    }
    Ok(())
}

fn date(visit: &mut Visit) -> Result<(), Fault> {
    let target = target(visit, 24);
    check(&ask(visit, &target)?.answer()?, &target)
}

fn complete_request(visit: &mut Visit) -> Result<(), Fault> {
    let target = target(visit, 40);
    let whole = request(&target, visit.addr, "");
    let request_line = "GET  HTTP/1.1\r\n".len() + target.len();
    // Held back: all but the first byte; half of the target; everything after the request line;
    // half of the headers; the empty line; its last byte.
    let middle = request_line + (whole.len() - request_line) / 2;
    let cuts = [
        1,
        20,
        request_line,
        middle,
        whole.len() - 2,
        whole.len() - 1,
    ];
    let mut waiting = Vec::with_capacity(cuts.len());
    for cut in cuts {
        let listener = Listener::new(visit.open()?);
        send(&listener, &whole[..cut])?;
        waiting.push((listener, cut));
    }
    std::thread::sleep(visit.choose(Duration::from_millis(20), Duration::from_millis(50)));
    for (listener, cut) in &waiting {
        let expected = format!("no answer to the first {cut} of {} bytes", whole.len());
        listener.wire.expect_nothing_yet(&expected)?;
    }
    for (listener, cut) in &mut waiting {
        send(listener, &whole[*cut..])?;
        check(&listener.answer()?, &target)?;
    }
    Ok(())
}

fn fragments(visit: &mut Visit) -> Result<(), Fault> {
    let target = target(visit, 20);
    let whole = request(&target, visit.addr, "");
    let mut listener = Listener::new(visit.open()?);
    // Pauses inside the method, the target and the end, so that each is split between two reads.
    let pauses = [2, 9, whole.len() - 3, whole.len() - 1];
    listener
        .wire
        .send_in_crumbs(&whole, &pauses)
        .map_err(|error| Fault::io("the server to take a request in pieces", &error))?;
    check(&listener.answer()?, &target)
}

fn keep_alive(visit: &mut Visit) -> Result<(), Fault> {
    let mut listener = Listener::new(visit.open()?);
    for size in [8, 90, 1, 30, 400, 8] {
        let target = target(visit, size);
        send(&listener, &request(&target, visit.addr, ""))?;
        check(&listener.answer()?, &target)?;
    }
    Ok(())
}

fn pipelined(visit: &mut Visit) -> Result<(), Fault> {
    let targets: Vec<String> = (0..PIPELINED).map(|i| target(visit, 5 + 7 * i)).collect();
    let all: Vec<u8> = targets
        .iter()
        .flat_map(|t| request(t, visit.addr, ""))
        .collect();
    let mut listener = Listener::new(visit.open()?);
    send(&listener, &all)?;
    for target in &targets {
        check(&listener.answer()?, target)?;
    }
    listener.expect_nothing_more()
}

fn interleaved(visit: &mut Visit) -> Result<(), Fault> {
    let wires = visit.open_many(INTERLEAVED)?;
    let mut listeners: Vec<Listener> = wires.into_iter().map(Listener::new).collect();
    for _ in 0..visit.choose(2, 5) {
        let targets: Vec<String> = (0..INTERLEAVED).map(|_| target(visit, 30)).collect();
        let requests: Vec<Vec<u8>> = targets
            .iter()
            .map(|target| request(target, visit.addr, ""))
            .collect();
        for half in 0..2 {
            for i in visit.shuffled(INTERLEAVED) {
                let (first, second) = requests[i].split_at(25);
                send(&listeners[i], if half == 0 { first } else { second })?;
            }
        }
        for i in visit.shuffled(INTERLEAVED) {
            check(&listeners[i].answer()?, &targets[i])?;
        }
    }
    Ok(())
}

fn long(visit: &mut Visit) -> Result<(), Fault> {
    let target = target(visit, LONG_TARGET - 1);
    check(&ask(visit, &target)?.answer()?, &target)
}

fn connection_close(visit: &mut Visit) -> Result<(), Fault> {
    let target = target(visit, 24);
    let mut listener = Listener::new(visit.open()?);
    send(
        &listener,
        &request(&target, visit.addr, "Connection: close\r\n"),
    )?;
    check(&listener.answer()?, &target)?;
    listener.expect_end("the connection to be closed after the answer")
}

fn http_1_0(visit: &mut Visit) -> Result<(), Fault> {
    let target = target(visit, 24);
    let mut listener = Listener::new(visit.open()?);
    send(
        &listener,
        format!("GET {target} HTTP/1.0\r\n\r\n").as_bytes(),
    )?;
    let answer = listener.answer()?;
    if answer.chunked {
        // RFC 9112, 6.1: not to a client that has not said it speaks HTTP/1.1.
        return Err(Fault::new(
            "an unchunked body",
            "Transfer-Encoding: chunked",
        ));
    }
    check(&answer, &target)
}

/// A new connection with one request on it.
fn ask(visit: &Visit, target: &str) -> Result<Listener, Fault> {
    let listener = Listener::new(visit.open()?);
    send(&listener, &request(target, visit.addr, ""))?;
    Ok(listener)
}

fn send(listener: &Listener, bytes: &[u8]) -> Result<(), Fault> {
    listener
        .wire
        .send(bytes)
        .map_err(|error| Fault::io("the server to take the request", &error))
}

fn request(target: &str, host: SocketAddr, extra: &str) -> Vec<u8> {
    format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: prony\r\n{extra}\r\n")
        .into_bytes()
}

/// A path of one segment with `size` random characters.
fn target(visit: &mut Visit, size: usize) -> String {
    format!("/{}", token(visit, size))
}

fn token(visit: &mut Visit, size: usize) -> String {
    (&mut visit.rng)
        .sample_iter(Alphanumeric)
        .take(size)
        .map(char::from)
        .collect()
}

/// Everything the contract asks of an answer.
fn check(answer: &Answer, target: &str) -> Result<(), Fault> {
    let date = check_body(answer, target)?;
    let now = Timestamp::now();
    let off = date.as_second() - now.as_second();
    if off.abs() > DATE_TOLERANCE_SECONDS {
        let expected = format!(
            "a date within {DATE_TOLERANCE_SECONDS} s of {}",
            imf_fixdate(now)
        );
        return Err(Fault::new(
            expected,
            format!("{} ({off:+} s)", imf_fixdate(date)),
        ));
    }
    Ok(())
}

/// Everything but the closeness of the date, which is returned.
fn check_body(answer: &Answer, target: &str) -> Result<Timestamp, Fault> {
    if answer.status != 200 {
        return Err(Fault::new(
            "status 200",
            format!("{} with the body {}", answer.status, excerpt(&answer.body)),
        ));
    }
    check_content_type(answer.content_type.as_deref())?;
    let expected = || format!("{}, then \" at \" and the date", excerpt(target.as_bytes()));
    let date = answer
        .body
        .strip_prefix(target.as_bytes())
        .and_then(|rest| rest.strip_prefix(b" at "))
        .ok_or_else(|| Fault::new(expected(), excerpt(&answer.body)))?;
    parse_imf_fixdate(date).ok_or_else(|| {
        Fault::new(
            "a date like \"Sat, 21 Nov 2026 10:09:54 GMT\" at the end",
            excerpt(date),
        )
    })
}

/// `text/plain`, with any parameters.
fn check_content_type(value: Option<&str>) -> Result<(), Fault> {
    let wrong = |found: String| Err(Fault::new("Content-Type: text/plain", found));
    match value {
        None => wrong("no Content-Type".to_owned()),
        Some(value) => {
            let media_type = value.split(';').next().unwrap_or_default().trim();
            if media_type.eq_ignore_ascii_case("text/plain") {
                Ok(())
            } else {
                wrong(excerpt(value.as_bytes()))
            }
        }
    }
}

/// Parses an IMF-fixdate and nothing else: a parser that knows all of RFC 5322 reads the time, and
/// the text must be exactly how that time is written.
fn parse_imf_fixdate(bytes: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(bytes).ok()?;
    let time = DateTimeParser::new().parse_timestamp(text).ok()?;
    (imf_fixdate(time) == text).then_some(time)
}

fn imf_fixdate(time: Timestamp) -> String {
    DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&time)
        .expect("a time between the years 0 and 9999 has an IMF-fixdate")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imf_fixdate_is_read_and_everything_else_refused() {
        let time = parse_imf_fixdate(b"Sun, 06 Nov 1994 08:49:37 GMT").expect("RFC 9110's example");
        assert_eq!(time.to_string(), "1994-11-06T08:49:37Z");
        for wrong in [
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "1994-11-06T08:49:37Z",
            "",
        ] {
            assert_eq!(parse_imf_fixdate(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn content_type_may_have_parameters() {
        for right in [
            "text/plain",
            "text/plain; charset=utf-8",
            "Text/Plain;charset=x",
        ] {
            assert!(check_content_type(Some(right)).is_ok(), "{right}");
        }
        for wrong in [None, Some("text/html"), Some("text/plainer"), Some("")] {
            assert!(check_content_type(wrong).is_err(), "{wrong:?}");
        }
    }
}
