//! Bytes from a server, read as HTTP/1.1. Whatever they are: the pieces in which they come change nothing, there
//! are no more answers than requests, and an answer that is right has the body that hyper finds in it.

#![no_main]

use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use libfuzzer_sys::fuzz_target;
use prony_engine::protocol::{
    Answer, Booked, Events, Expect, Fault, Fifo, Http, HttpExchange, HttpRequest, Limits, Session,
};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Bytes of one input that are looked at.
const MOST: usize = 4_096;

#[derive(Default)]
struct Seen {
    answers: Vec<Answer>,
    closing: bool,
}

impl Events<Fifo> for Seen {
    fn ready(&mut self) {}

    fn answered(&mut self, _: Fifo, answer: Answer) -> Booked {
        self.answers.push(answer);
        Booked::default()
    }

    fn closing(&mut self) {
        self.closing = true;
    }
}

/// Outcome of a connection, without places in the pieces.
#[derive(Debug, PartialEq)]
struct Outcome {
    answers: Vec<Answer>,
    fault: Option<String>,
}

fn read(requests: usize, wire: &[u8], piece: usize) -> Outcome {
    let exchange = HttpExchange::new(&HttpRequest::get("h", "/"), Expect::default());
    let mut http = Http::new(vec![exchange], Limits::default());
    let mut conn = <Http as Session>::Conn::default();
    let mut out = Vec::new();
    for _ in 0..requests {
        http.request(&mut conn, 0, Fifo, &mut out);
    }
    let mut seen = Seen::default();
    let mut fault = None;
    for part in wire.chunks(piece.max(1)) {
        if let Err(found) = http.received(&mut conn, 0, part, &mut out, &mut seen) {
            fault = Some(match found {
                Fault::Unsolicited { .. } => "unsolicited".to_owned(),
                other => other.to_string(),
            });
            break;
        }
        if seen.answers.last().is_some_and(|answer| answer.last) {
            // The worker closes the connection here.
            break;
        }
    }
    if fault.is_none() {
        http.end(&mut conn, 0, &mut seen);
    }
    assert!(seen.answers.len() <= requests, "more answers than requests");
    Outcome {
        answers: seen.answers,
        fault,
    }
}

/// A server that has said everything already and takes whatever it is sent.
struct Said<'a>(&'a [u8]);

impl hyper::rt::Read for Said<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        mut into: hyper::rt::ReadBufCursor<'_>,
    ) -> Poll<std::io::Result<()>> {
        let (now, rest) = self.0.split_at(self.0.len().min(into.remaining()));
        into.put_slice(now);
        self.0 = rest;
        Poll::Ready(Ok(()))
    }
}

impl hyper::rt::Write for Said<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Status and length of the body of the first answer, as hyper reads it.
fn as_hyper_reads(wire: &'static [u8]) -> Option<(u16, u64)> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
    runtime.block_on(async {
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake::<_, Empty<Bytes>>(Said(wire))
                .await
                .ok()?;
        let asked = hyper::Request::get("/").header("host", "h");
        let answer = sender.send_request(asked.body(Empty::new()).ok()?);
        let read = async {
            let answer = answer.await.ok()?;
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await.ok()?;
            Some((status, body.to_bytes().len() as u64))
        };
        tokio::pin!(read);
        tokio::pin!(connection);
        tokio::select! {
            biased;
            found = &mut read => found,
            _ = &mut connection => read.await,
        }
    })
}

fuzz_target!(|input: &[u8]| {
    let Some((&how, wire)) = input.split_first() else {
        return;
    };
    let wire = &wire[..wire.len().min(MOST)];
    let requests = usize::from(how % 4) + 1;
    let whole = read(requests, wire, wire.len());
    for piece in [1, 7, usize::from(how)] {
        let pieces = read(requests, wire, piece);
        // An answer before surplus bytes is taken back only when both come in one go.
        let surplus = |it: &Outcome| it.fault.as_deref() == Some("unsolicited");
        if surplus(&whole) || surplus(&pieces) {
            continue;
        }
        // Another protocol is recognized by what comes in one go; the fault is the same.
        let fault = |it: &Outcome| it.fault.clone().unwrap_or_default();
        let (one, other) = (fault(&whole), fault(&pieces));
        if [&one, &other]
            .iter()
            .any(|it| it.contains(": the server speaks "))
        {
            let malformed = |it: &str| it.starts_with("malformed answer: ");
            assert!(
                malformed(&one) && malformed(&other),
                "{one}, in pieces {other}"
            );
            assert_eq!(whole.answers, pieces.answers, "in pieces of {piece}");
            continue;
        }
        assert_eq!(whole, pieces, "in pieces of {piece}");
    }
    if let (1, [answer], None) = (requests, &whole.answers[..], &whole.fault)
        && answer.wrong.is_none()
    {
        // hyper wants its bytes to live as long as the connection.
        let kept: &'static [u8] = Box::leak(wire.to_vec().into_boxed_slice());
        let theirs = as_hyper_reads(kept);
        // SAFETY: the runtime that used it is gone, and it came from such a box.
        drop(unsafe { Box::from_raw(std::ptr::from_ref(kept).cast_mut()) });
        if let Some(theirs) = theirs {
            assert_eq!((answer.status, answer.body), theirs, "{answer:?}");
        }
    }
});
