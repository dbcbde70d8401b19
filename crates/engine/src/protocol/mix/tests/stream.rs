//! Answers that are streams of events.

use super::{mix, request};
use crate::protocol::mix::{MixConn, Mixed, text};
use crate::protocol::seen::RecordedEvents;
use crate::protocol::{EventStream, Fifo, Session};

const HEAD: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

struct Streaming {
    mixed: Mixed,
    conn: MixConn,
    seen: RecordedEvents<Fifo>,
}

impl Streaming {
    fn new(stream: EventStream) -> Self {
        let mut one = request("it", vec![text("/")], 1);
        one.stream = Some(stream);
        let mut all = Self {
            mixed: Mixed::new(&mix(vec![one], Vec::new()), 1, 0, 1),
            conn: MixConn::default(),
            seen: RecordedEvents::default(),
        };
        all.mixed.request(&mut all.conn, 0, Fifo, &mut Vec::new());
        all
    }

    fn hear(&mut self, text: &str) {
        let (conn, seen) = (&mut self.conn, &mut self.seen);
        let result = self
            .mixed
            .received(conn, 0, text.as_bytes(), &mut Vec::new(), seen);
        result.unwrap();
    }

    fn chunk(&mut self, text: &str) {
        self.hear(&format!("{:x}\r\n{text}\r\n", text.len()));
    }

    /// Why the only answer is wrong; None if it is right.
    fn wrong(&self) -> Option<String> {
        let [(_, answer)] = &self.seen.answered[..] else {
            panic!("{} answers", self.seen.answered.len());
        };
        answer.wrong.as_ref().map(ToString::to_string)
    }
}

fn until(end: &str) -> EventStream {
    EventStream {
        end: Some(end.into()),
        ..EventStream::default()
    }
}

#[test]
fn events_are_told_as_they_come_and_the_connection_stays() {
    let mut it = Streaming::new(until("[DONE]"));
    assert!(it.mixed.streams());
    it.hear(HEAD);
    it.chunk("data: a\n");
    assert_eq!(it.seen.events, [0; 0]);
    it.chunk("\ndata: b\n\ndata: c\n\n");
    assert_eq!(it.seen.events, [3]);
    it.chunk("data: [DONE]\n\n");
    assert!(it.seen.over && it.seen.answered.is_empty());
    it.hear("0\r\n\r\n");
    assert_eq!(it.wrong(), None);
    assert!(!it.seen.answered[0].1.last);
    // The next one is read anew.
    it.mixed.request(&mut it.conn, 0, Fifo, &mut Vec::new());
    it.seen = RecordedEvents::default();
    it.hear(HEAD);
    it.chunk("data: a\n\ndata: [DONE]\n\n");
    it.hear("0\r\n\r\n");
    assert_eq!((it.wrong(), it.seen.events), (None, vec![1]));
}

#[test]
fn a_stream_is_left_after_so_many_events() {
    let mut it = Streaming::new(EventStream {
        events: Some(2),
        time: Some(5),
        ..EventStream::default()
    });
    assert_eq!(it.mixed.listens(&it.conn, Fifo), Some(5));
    it.hear(HEAD);
    it.chunk("data: a\n\ndata: b\n\ndata: c\n\n");
    assert_eq!((it.wrong(), &it.seen.events), (None, &vec![2]));
    assert!(it.seen.answered[0].1.last, "the server goes on with it");
}

#[test]
fn a_stream_can_be_left_when_its_head_has_come() {
    let mut it = Streaming::new(EventStream::default());
    let hang_up = |it: &mut Streaming| {
        let (conn, seen) = (&mut it.conn, &mut it.seen);
        it.mixed.hang_up(conn, 0, Fifo, &mut Vec::new(), seen)
    };
    assert!(!hang_up(&mut it));
    it.hear(HEAD);
    // Within an event: it is not the server that ends the stream.
    it.chunk("data: a");
    assert!(hang_up(&mut it));
    assert_eq!(it.wrong(), None);
    assert!(!hang_up(&mut it), "nothing is in flight any more");
}

#[test]
fn a_stream_that_ends_too_soon_is_wrong() {
    for (stream, body, why) in [
        (
            until("[DONE]"),
            "data: a\n\n",
            "after 1 events without \"[DONE]\"",
        ),
        (
            EventStream::default(),
            "data: a\n\ndata: b",
            "within an event, after 1",
        ),
    ] {
        let mut it = Streaming::new(stream);
        it.hear(HEAD);
        it.chunk(body);
        it.hear("0\r\n\r\n");
        let wrong = it.wrong().unwrap();
        assert!(wrong.contains(why), "{wrong}");
    }
}

#[test]
fn an_error_is_no_stream() {
    let mut it = Streaming::new(until("[DONE]"));
    let body = "data: a\n\n";
    it.hear(&format!(
        "HTTP/1.1 500 No\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert!(it.wrong().unwrap().contains("status 500"));
    assert_eq!(it.seen.events, [0; 0]);
}

#[test]
fn the_last_line_needs_no_end() {
    let mut it = Streaming::new(EventStream::default());
    it.hear(
        "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nContent-Length: 5\r\n\r\n{}\n{}",
    );
    assert_eq!(it.wrong(), None);
    assert_eq!(it.seen.events.iter().sum::<u32>(), 2);
}
