//! Steps of every contract over HTTP/2, in the place of those about bytes and connections of HTTP/1.1.
//!
//! The crate `h2`, another implementation than the one that loads, carries out ordinary exchanges. What it would never
//! send, although a right server survives it, goes out frame by frame (`client`); `blocks` lets `h2` read the header
//! blocks of the answers. No code of the load reads any of them.

mod blocks;
mod client;
mod frame;

use super::answer::{HttpAnswer, OtherFields};
use super::http::Case;
use super::wire::Fault;
use super::{Act, Depth, Visit};
use crate::over_h2::RequestEnd;
use client::Client;
use frame::{ENABLE_PUSH, END_HEADERS, END_STREAM, INITIAL_WINDOW, kind};
use prony_engine::protocol::HttpRequest;
use prony_engine::protocol::encoding::Encoding;
use rand::RngExt;

/// Streams at once: what many servers allow at most.
const STREAMS: u32 = 100;
/// Streams whose frames alternate.
const INTERLEAVED: usize = 8;
/// Bytes of a body in one frame, where frames alternate.
const PIECE: usize = 7;
/// Parts of a header block. Servers limit their number, some to eight.
const PARTS: usize = 4;
/// Streams that are reset in a row: fewer than what servers take for an attack.
const RESETS: usize = 8;
/// Streams in flight at a GOAWAY.
const LEFT: usize = 4;

/// Setting that every client here sends: it takes no pushed answers.
const NO_PUSH: (u16, u32) = (ENABLE_PUSH, 0);

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "streams-at-once",
        tried: "100 streams of one connection at once",
        from: Depth::Quick,
        run: streams_at_once,
    },
    Act {
        name: "interleaved-data",
        tried: "requests of several streams whose DATA frames alternate",
        from: Depth::Quick,
        run: interleaved_data,
    },
    Act {
        name: "one-byte-window",
        tried: "a window of flow control of one byte",
        from: Depth::Full,
        run: one_byte_window,
    },
    Act {
        name: "continuation",
        tried: "a header block in HEADERS and CONTINUATION frames",
        from: Depth::Full,
        run: continuation,
    },
    Act {
        name: "unknown-frame",
        tried: "frames and settings that are not known, which have to be ignored",
        from: Depth::Full,
        run: unknown_frame,
    },
    Act {
        name: "ping",
        tried: "a PING between requests",
        from: Depth::Full,
        run: ping,
    },
    Act {
        name: "reset",
        tried: "streams that the client resets, and a request after them",
        from: Depth::Full,
        run: reset,
    },
    Act {
        name: "goaway",
        tried: "a GOAWAY of the client with streams in flight",
        from: Depth::Full,
        run: goaway,
    },
];

/// Whether it is about frames of HTTP/2 that end at the relay to HTTP/3: a server never sees anything of them.
pub(super) fn is_of_frames(act: &Act) -> bool {
    matches!(
        act.name,
        "one-byte-window" | "continuation" | "unknown-frame" | "ping" | "goaway"
    )
}

/// Asks by itself, on a connection of its own.
pub(super) fn ask(case: &Case, visit: &Visit<'_>) -> Result<HttpAnswer, Fault> {
    ask_with(case, visit, &[], RequestEnd::Itself)
}

/// The same with more fields, and with this end.
pub(super) fn ask_with(
    case: &Case,
    visit: &Visit<'_>,
    fields: &[(String, String)],
    end: RequestEnd,
) -> Result<HttpAnswer, Fault> {
    let content_type = ("content-type".to_owned(), "application/json".to_owned());
    let request = HttpRequest {
        method: case.method.into(),
        headers: case
            .body
            .iter()
            .map(|_| &content_type)
            .chain(fields)
            .cloned()
            .collect(),
        body: case.body.clone().unwrap_or_default(),
        ..HttpRequest::get(visit.way.authority, case.target.as_str())
    };
    let silence = visit.patience.silence();
    let tls = visit.way.over.is_tls();
    let answer = crate::over_h2::fetch_one(visit.addr, (&request, end), tls, silence)
        .map_err(|why| Fault::new("an answer over HTTP/2", why))?;
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let codings = answer.fields.get_all("content-encoding").into_iter();
    Ok(HttpAnswer {
        status: answer.status,
        content_type: answer.fields.get("content-type").map(text),
        encoding: Encoding::of(codings.map(http::HeaderValue::as_bytes)),
        body: answer.body,
        chunked: false,
        fields: OtherFields {
            server: answer.fields.get("server").map(text),
            date: answer.fields.get("date").map(text),
            x_cache: answer.fields.get("x-cache").map(text),
            until_close: false,
        },
    })
}

fn streams_at_once(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut client = Client::open(visit, &[NO_PUSH])?;
    let count = client.most_streams.min(STREAMS);
    let mut frames = Vec::new();
    for _ in 0..count {
        frames.extend(client.whole(visit.case(8)).1);
    }
    client.send(&frames)?;
    client.answers()
}

fn interleaved_data(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut client = Client::open(visit, &[NO_PUSH])?;
    let mut waiting = Vec::new();
    let mut frames = Vec::new();
    for i in 0..INTERLEAVED {
        let case = visit.case(10 + 7 * i);
        // A request without a body may end with an empty frame, too.
        let body = case.body.clone().unwrap_or_default();
        let (number, block) = client.begin(case);
        frames.extend(frame::frame(kind::HEADERS, END_HEADERS, number, &block));
        waiting.push((number, body, 0));
    }
    while !waiting.is_empty() {
        let i = visit.rng.random_range(0..waiting.len());
        let (number, body, sent) = &mut waiting[i];
        let end = body.len().min(*sent + PIECE);
        let last = end == body.len();
        let flags = if last { END_STREAM } else { 0 };
        frames.extend(frame::frame(kind::DATA, flags, *number, &body[*sent..end]));
        *sent = end;
        if last {
            waiting.swap_remove(i);
        }
        client.send(&std::mem::take(&mut frames))?;
    }
    client.answers()
}

fn one_byte_window(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut client = Client::open(visit, &[NO_PUSH, (INITIAL_WINDOW, 1)])?;
    let (_, request) = client.whole(visit.case(20));
    client.send(&request)?;
    client.answers()
}

fn continuation(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut client = Client::open(visit, &[NO_PUSH])?;
    let case = visit.case(40);
    let body = case.body.clone();
    let (number, block) = client.begin(case);
    // The first part has one byte: fields are cut in two.
    let size = (block.len() - 1).div_ceil(PARTS - 1);
    let (first, rest) = block.split_at(1);
    let ends = if body.is_some() { 0 } else { END_STREAM };
    client.send(&frame::frame(kind::HEADERS, ends, number, first))?;
    let mut parts = rest.chunks(size).peekable();
    while let Some(part) = parts.next() {
        let flags = if parts.peek().is_none() {
            END_HEADERS
        } else {
            0
        };
        client.send(&frame::frame(kind::CONTINUATION, flags, number, part))?;
    }
    if let Some(body) = body {
        client.send(&frame::frame(kind::DATA, END_STREAM, number, &body))?;
    }
    client.answers()
}

fn unknown_frame(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut client = Client::open(visit, &[NO_PUSH, (0xf0f0, 7)])?;
    client.send(&frame::frame(kind::UNKNOWN, 0xff, 0, b"to be ignored"))?;
    let case = visit.case(20);
    let body = case.body.clone().unwrap_or_default();
    let (number, block) = client.begin(case);
    let frames = [
        frame::frame(kind::HEADERS, END_HEADERS, number, &block),
        frame::frame(kind::UNKNOWN, 0, number, b"to be ignored as well"),
        frame::frame(kind::DATA, END_STREAM, number, &body),
    ];
    client.send(&frames.concat())?;
    client.answers()
}

fn ping(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut client = Client::open(visit, &[NO_PUSH])?;
    for _ in 0..2 {
        let payload: [u8; 8] = visit.rng.random();
        let (_, request) = client.whole(visit.case(8));
        let sent = [frame::frame(kind::PING, 0, 0, &payload), request].concat();
        client.send(&sent)?;
        client.answers()?;
        while client.ponged != Some(payload) {
            client.read("the same eight bytes in a PING with ACK")?;
        }
    }
    Ok(())
}

fn reset(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut client = Client::open(visit, &[NO_PUSH])?;
    for _ in 0..RESETS {
        let (number, request) = client.whole(visit.case(8));
        let reset = client.cancel(number);
        client.send(&[request, reset].concat())?;
    }
    let (_, request) = client.whole(visit.case(20));
    client.send(&request)?;
    client.answers()
}

/// The client opens no further streams; those that it has opened are answered (RFC 9113, 6.8).
fn goaway(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut client = Client::open(visit, &[NO_PUSH])?;
    let mut frames = Vec::new();
    for _ in 0..LEFT {
        frames.extend(client.whole(visit.case(8)).1);
    }
    frames.extend(frame::frame(kind::GOAWAY, 0, 0, &[0; 8]));
    client.send(&frames)?;
    client.answers()
}
