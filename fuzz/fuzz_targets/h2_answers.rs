//! Bytes from a server, read as HTTP/2. Whatever they are: the pieces in which they come change nothing, there are no more
//! answers than requests, each request is answered once, and what is sent back is bounded.

#![no_main]

use libfuzzer_sys::fuzz_target;
use prony_engine::protocol::h2::{H2, StreamedExchange, WINDOW};
use prony_engine::protocol::{
    Answer, Booked, Events, Expect, HttpRequest, InFlight, Limits, Session, Tag, Token,
};

/// Bytes of one input that are looked at.
const MOST: usize = 8_192;

#[derive(Default)]
struct Seen {
    answers: Vec<(Tag, Answer)>,
    left_out: Vec<Tag>,
}

impl Events<Tag> for Seen {
    fn ready(&mut self) {}

    fn answered(&mut self, tag: Tag, answer: Answer) -> Booked {
        self.answers.push((tag, answer));
        Booked::default()
    }

    fn left_out(&mut self, tag: Tag) -> bool {
        self.left_out.push(tag);
        true
    }

    fn closing(&mut self) {}
}

/// Outcome of a connection.
#[derive(Debug, PartialEq)]
struct Outcome {
    answers: Vec<(Tag, Answer)>,
    left_out: Vec<Tag>,
    fault: Option<String>,
}

fn read(requests: usize, window: u32, wire: &[u8], piece: usize) -> Outcome {
    let mut post = HttpRequest::get("h", "/");
    post.method = "POST".into();
    post.body = vec![b'x'; 100];
    let exchanges = [HttpRequest::get("h", "/"), post].map(|request| {
        StreamedExchange::new(&request, false, Expect::default()).expect("allowed fields")
    });
    let mut h2 = H2::new(exchanges.into(), Limits::default(), window);
    let mut conn = <H2 as Session>::Conn::default();
    let mut out = Vec::new();
    let mut seen = Seen::default();
    h2.opened(&mut conn, 0, &mut out, &mut seen);
    let mut tags = <Tag as Token>::InFlight::default();
    for _ in 0..requests {
        let (tag, _) = tags.put(requests);
        h2.request(&mut conn, 0, tag, &mut out);
    }
    let sent = out.len();
    let mut fault = None;
    for part in wire.chunks(piece.max(1)) {
        if let Err(found) = h2.received(&mut conn, 0, part, &mut out, &mut seen) {
            fault = Some(found.to_string());
            break;
        }
    }
    // Nothing that a server sends is answered with more than a few times as many bytes, beside the requests' bodies.
    assert!(
        out.len() <= sent + 4 * wire.len() + requests * 256,
        "{} bytes for {}",
        out.len(),
        wire.len()
    );
    let mut ended: Vec<usize> = seen.answers.iter().map(|(tag, _)| tag.index()).collect();
    ended.extend(seen.left_out.iter().map(|tag| tag.index()));
    ended.sort_unstable();
    ended.dedup();
    assert_eq!(
        ended.len(),
        seen.answers.len() + seen.left_out.len(),
        "a request ended twice"
    );
    assert!(ended.len() <= requests, "more answers than requests");
    Outcome {
        answers: seen.answers,
        left_out: seen.left_out,
        fault,
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&how, wire)) = input.split_first() else {
        return;
    };
    let wire = &wire[..wire.len().min(MOST)];
    let requests = usize::from(how % 8) + 1;
    let window = if how & 8 == 0 { WINDOW } else { 1 };
    let whole = read(requests, window, wire, wire.len());
    for piece in [1, 9, usize::from(how)] {
        assert_eq!(
            whole,
            read(requests, window, wire, piece),
            "in pieces of {piece}"
        );
    }
});
