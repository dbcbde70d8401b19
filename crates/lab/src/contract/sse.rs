//! `sse`: `GET /events/{n}/{gap}/{word}` is answered with n server-sent events, each with the word and its number, the
//! first at once and each other `gap` milliseconds after the one before, and at last with the event `[DONE]`.

use std::time::{Duration, Instant};

use prony_engine::Dialogue;
use prony_engine::protocol::h2::WINDOW;
use prony_engine::protocol::{EventFormat, EventStream, Expect, Limits};
use prony_record::load::Protocol;
use rand::RngExt;

use super::answer::HttpAnswer;
use super::http::{self, Case, token};
use super::wire::{Fault, ReadResult, Wire, excerpt};
use super::{Act, Depth, Visit};
use crate::get::Get;
use crate::side::HttpStreams;
use crate::workload::Endpoint;

/// Content of the event that ends a stream, as the APIs of language models have it.
const END: &str = "[DONE]";

/// Events of each stream of a load, and milliseconds between two.
const LOADED: (u32, u32) = (20, 5);

/// Milliseconds between the events whose times are looked at.
const GAP: u32 = 100;
/// The most streams that are tried until the events of one arrive apart: on a busy machine one read may have several.
const TRIES: u32 = 5;

/// Streams that are open at once.
const AT_ONCE: usize = 8;

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "events",
        tried: "streams of none to 12 events",
        from: Depth::Quick,
        run: events,
    },
    AS_THEY_COME,
    STREAMS_AT_ONCE,
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::INTERLEAVED_CONNECTIONS,
    http::NOT_FOUND,
    http::CLOSE,
];

const AS_THEY_COME: Act = Act {
    name: "as-they-come",
    tried: "three events 100 ms apart, and when each arrives",
    from: Depth::Full,
    run: as_they_come,
};
const STREAMS_AT_ONCE: Act = Act {
    name: "streams-at-once",
    tried: "8 connections with streams that do not end, left after an event",
    from: Depth::Full,
    run: streams_at_once,
};

/// Steps that look at the bytes of HTTP/1.1 as they arrive.
pub(super) fn is_of_http1(act: &Act) -> bool {
    [AS_THEY_COME.name, STREAMS_AT_ONCE.name].contains(&act.name)
}

fn target(events: u32, gap: u32, word: &str) -> String {
    format!("/events/{events}/{gap}/{word}")
}

fn stream(events: u32, gap: u32, word: String) -> Case {
    Case::get(target(events, gap, &word), move |answer| {
        whole(answer, events, &word)
    })
}

/// Two events of a random word.
pub(super) fn case(visit: &mut Visit<'_>, size: usize) -> Case {
    stream(2, 0, token(visit, size))
}

/// Does a stream have all its events, and nothing else?
fn whole(answer: &HttpAnswer, events: u32, word: &str) -> Result<(), Fault> {
    http::status(answer, 200)?;
    http::media_type(answer, "text/event-stream")?;
    let found = data(&answer.body)?;
    let mut expected: Vec<String> = (1..=events).map(|nth| format!("{word} {nth}")).collect();
    expected.push(END.to_owned());
    let differs =
        (0..expected.len().max(found.len())).find(|&nth| found.get(nth) != expected.get(nth));
    let Some(nth) = differs else {
        return Ok(());
    };
    let shown = |all: &[String]| match all.get(nth) {
        Some(data) => format!("{} in event {}", excerpt(data.as_bytes()), nth + 1),
        None => format!("{nth} events"),
    };
    Err(Fault::new(shown(&expected), shown(&found)))
}

/// Data of each event of a stream (WHATWG HTML, 9.2.6). An event that does not end is a fault: browsers drop it.
fn data(body: &[u8]) -> Result<Vec<String>, Fault> {
    let text = str::from_utf8(body).map_err(|_| Fault::new("UTF-8", excerpt(body)))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut all = Vec::new();
    let mut event: Option<String> = None;
    for line in text.split_inclusive('\n') {
        let Some(line) = line.strip_suffix('\n') else {
            return Err(Fault::new(
                "a stream that ends after an event",
                excerpt(line.as_bytes()),
            ));
        };
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        match (line, field) {
            ("", _) => all.extend(event.take()),
            (_, "data") => {
                let value = value.strip_prefix(' ').unwrap_or(value);
                event = Some(match event {
                    None => value.to_owned(),
                    Some(before) => format!("{before}\n{value}"),
                });
            }
            _ => {}
        }
    }
    match event {
        None => Ok(all),
        Some(data) => Err(Fault::new(
            "a stream that ends after an event",
            excerpt(data.as_bytes()),
        )),
    }
}

fn events(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let some = visit.rng.random_range(2..=12);
    for events in [1, 0, some] {
        let gap = visit.rng.random_range(0..3);
        let word = token(visit, 16);
        stream(events, gap, word).exchange(visit)?;
    }
    Ok(())
}

/// Reads until a word has come `times` times.
fn heard(
    wire: &Wire,
    (word, times): (&str, usize),
    so_far: &mut Vec<u8>,
) -> Result<Instant, Fault> {
    let mut piece = [0; 4096];
    let came = |bytes: &[u8]| {
        bytes
            .windows(word.len())
            .filter(|&part| part == word.as_bytes())
            .count()
    };
    while came(so_far) < times {
        let expected = || format!("event {times}, of the word {word}");
        let heard = wire
            .hear(&mut piece)
            .map_err(|error| Fault::io(expected(), &error))?;
        match heard {
            ReadResult::Bytes(n) => so_far.extend_from_slice(&piece[..n]),
            ReadResult::End => return Err(Fault::new(expected(), "the end of the connection")),
            ReadResult::Silence => return Err(Fault::new(expected(), wire.patience().ran_out())),
        }
    }
    Ok(Instant::now())
}

fn asked(visit: &mut Visit<'_>, events: u32, gap: u32) -> Result<(Wire, String), Fault> {
    let word = token(visit, 16);
    let case = Case::get(target(events, gap, &word), |_| Ok(()));
    let wire = visit.open()?;
    wire.send(&case.request(visit.way.authority, ""))
        .map_err(|error| Fault::io("the server to take the request", &error))?;
    Ok((wire, word))
}

fn as_they_come(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let between = Duration::from_millis(GAP.into());
    let mut longest = Duration::ZERO;
    for _ in 0..TRIES {
        let begun = Instant::now();
        let (wire, word) = asked(visit, 3, GAP)?;
        let mut so_far = Vec::new();
        let first = heard(&wire, (&word, 1), &mut so_far)?;
        let last = heard(&wire, (&word, 3), &mut so_far)?;
        // Nothing but a server that does not wait makes an event early; clocks of timers may be coarse.
        if last - begun < 2 * between - between / 10 {
            return Err(Fault::new(
                format!(
                    "the last of 3 events {GAP} ms apart no earlier than after {:?}",
                    2 * between
                ),
                format!("it after {:.0?}", last - begun),
            ));
        }
        longest = longest.max(last - first);
        if longest >= between {
            return Ok(());
        }
    }
    Err(Fault::new(
        format!("each of 3 events {GAP} ms after the one before"),
        format!(
            "the first and the last within {longest:.0?}, {TRIES} times: are they held back until the end?"
        ),
    ))
}

fn streams_at_once(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let open: Vec<(Wire, String)> = (0..AT_ONCE)
        .map(|_| asked(visit, 1_000_000, 60_000))
        .collect::<Result<_, _>>()?;
    for (wire, word) in &open {
        heard(wire, (word, 1), &mut Vec::new()).map_err(|fault| Fault {
            expected: format!("{} on each of {AT_ONCE} connections", fault.expected),
            ..fault
        })?;
    }
    drop(open);
    visit.case(30).exchange(visit)
}

/// Dialogue of a load: streams of one word. Expected is every byte of one that was verified.
pub(super) fn dialogue(visit: &mut Visit<'_>, keepalive: bool) -> Result<Dialogue, Fault> {
    let (events, gap) = LOADED;
    let case = stream(events, gap, token(visit, 12));
    let answer = case.ask(visit)?.answer()?;
    (case.check)(&answer)?;
    let get = Get {
        method: case.method.to_owned(),
        path: case.target,
        headers: vec![("Accept".to_owned(), "text/event-stream".to_owned())],
        body: Vec::new(),
        compressed: false,
        expect: Expect::body(answer.body).with_status(200),
        limits: Limits::default(),
        stream: Some(EventStream {
            format: Some(EventFormat::Sse),
            end: Some(END.into()),
            ..EventStream::default()
        }),
    };
    let way = &visit.way;
    let endpoint = Endpoint {
        authority: way.authority,
        tls: way.over.is_tls(),
        http2: way.over.has_streams().then(|| HttpStreams {
            window: way.window.unwrap_or(WINDOW),
            http3: way.over == Protocol::H3,
        }),
        proxy: None,
        routes: None,
    };
    get.expecting(get.expect.clone(), &endpoint, keepalive)
        .map_err(|wrong| Fault::new("a request that can be sent", wrong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_in_every_form() {
        let read = |text: &str| data(text.as_bytes());
        for text in [
            "data: a 1\n\ndata: [DONE]\n\n",
            ": hello\r\rid: 7\rdata:a 1\rretry: 5\r\rdata:[DONE]\r\r",
            "\u{feff}data: a 1\r\nevent: x\r\n\r\n\r\n\r\ndata: [DONE]\r\n\r\n",
        ] {
            assert_eq!(read(text).unwrap(), ["a 1", "[DONE]"], "{text:?}");
        }
        assert_eq!(read("data: a\ndata: b\n\n").unwrap(), ["a\nb"]);
        assert_eq!(read("").unwrap().len(), 0);
        for text in ["data: a", "data: a\n", "data: a\n\n: x"] {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
