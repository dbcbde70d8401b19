use super::*;
use crate::protocol::Difference;
use crate::protocol::seen::RecordedEvents;
use crate::protocol::{Answer, Mismatch};
use proptest::prelude::*;

fn http(expect: Expect) -> Http {
    Http::new(
        vec![HttpExchange::new(&HttpRequest::get("h", "/"), expect)],
        Limits::default(),
    )
}

/// Asks for `requests` answers and feeds `wire` in pieces; then, if `close`, ends the connection.
fn feed(
    http: &mut Http,
    requests: usize,
    wire: &[u8],
    cuts: &[usize],
    close: bool,
) -> (Vec<Answer>, Result<(), Fault>) {
    let mut conn = HttpConn::default();
    for _ in 0..requests {
        http.request(&mut conn, 0, Fifo, &mut Vec::new());
    }
    let mut seen = RecordedEvents::default();
    let mut cuts = cuts.iter().cycle();
    let mut rest = wire;
    while !rest.is_empty() {
        let n = cuts.next().map_or(rest.len(), |&n| n.min(rest.len()));
        let (piece, tail) = rest.split_at(n);
        if let Err(fault) = http.received(&mut conn, 0, piece, &mut Vec::new(), &mut seen) {
            return (seen.answers(), Err(fault));
        }
        rest = tail;
    }
    if close {
        http.end(&mut conn, 0, &mut seen);
    }
    (seen.answers(), Ok(()))
}

/// An answer of `hello`, as most of the wires below have it.
fn ok(status: u16, last: bool) -> Answer {
    Answer {
        body: 5,
        ..empty(status, last)
    }
}

fn empty(status: u16, last: bool) -> Answer {
    Answer {
        status,
        wrong: None,
        last,
        body: 0,
    }
}

const LENGTH: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello";
const CHUNKED: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nT: 1\r\n\r\n";
const INTERIM: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const CLOSING: &[u8] = b"HTTP/1.1 200 OK\r\n\r\nhello";

proptest! {
    #[test]
    fn any_fragmentation_gives_the_same_answers(
        kinds in proptest::collection::vec(0usize..3, 1..12),
        cuts in proptest::collection::vec(1usize..80, 1..60),
        closing: bool,
    ) {
        let mut wire: Vec<u8> = kinds.iter().flat_map(|&k| [LENGTH, CHUNKED, INTERIM][k]).copied().collect();
        if closing {
            wire.extend_from_slice(CLOSING);
        }
        let count = kinds.len() + usize::from(closing);
        let (answers, result) = feed(&mut http(Expect::body("hello")), count, &wire, &cuts, true);
        prop_assert!(result.is_ok(), "{:?}", result);
        prop_assert_eq!(answers.len(), count);
        for (i, answer) in answers.iter().enumerate() {
            prop_assert_eq!(answer, &ok(200, closing && i + 1 == count));
        }
    }

    #[test]
    fn no_input_panics_or_is_kept_without_limit(
        wire in proptest::collection::vec(any::<u8>(), 0..400),
        cuts in proptest::collection::vec(1usize..50, 1..20),
        prefix in 0usize..3,
    ) {
        let mut bytes = [&b""[..], b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"][prefix].to_vec();
        bytes.extend(wire);
        let _ = feed(&mut http(Expect::default()), 3, &bytes, &cuts, true);
    }
}

#[test]
fn answers_without_a_body() {
    for (wire, status) in [
        (
            &b"HTTP/1.1 204 No Content\r\nContent-Length: 7\r\n\r\n"[..],
            204,
        ),
        (
            b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n",
            304,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200),
    ] {
        let (answers, result) = feed(&mut http(Expect::default()), 1, wire, &[], false);
        assert_eq!((answers, result), (vec![empty(status, false)], Ok(())));
    }
    let head = HttpRequest {
        method: "HEAD".into(),
        ..HttpRequest::get("h", "/")
    };
    let mut http = Http::new(
        vec![HttpExchange::new(&head, Expect::default())],
        Limits::default(),
    );
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (answers, result) = feed(&mut http, 2, wire, &[], false);
    assert_eq!(
        (answers, result),
        (vec![empty(200, false), empty(200, false)], Ok(()))
    );
}

#[test]
fn who_closes() {
    let answer = |head: &str| {
        let wire = format!("{head}\r\nContent-Length: 0\r\n\r\n");
        feed(&mut http(Expect::default()), 1, wire.as_bytes(), &[], false).0[0].last
    };
    assert!(!answer("HTTP/1.1 200 OK"));
    assert!(answer("HTTP/1.1 200 OK\r\nConnection: close"));
    assert!(answer("HTTP/1.1 200 OK\r\nConnection: foo, Close"));
    assert!(answer("HTTP/1.0 200 OK"));
    assert!(!answer("HTTP/1.0 200 OK\r\nConnection: keep-alive"));
}

/// To a request of HTTP/1.0 a server says that it keeps the connection, if it does.
#[test]
fn who_closes_after_an_old_request() {
    let answer = |request: &str, head: &str| {
        let exchange = HttpExchange::raw(request, Expect::default());
        let mut http = Http::new(vec![exchange], Limits::default());
        let wire = format!("{head}\r\nContent-Length: 0\r\n\r\n");
        feed(&mut http, 1, wire.as_bytes(), &[], false).0[0].last
    };
    let old = "GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\nHTTP/1.1";
    assert!(answer(old, "HTTP/1.1 200 OK"));
    assert!(!answer(old, "HTTP/1.1 200 OK\r\nConnection: keep-alive"));
    assert!(!answer(old, "HTTP/1.0 200 OK\r\nConnection: keep-alive"));
    assert!(answer(old, "HTTP/1.1 200 OK\r\nConnection: close"));
    let unasked = "GET / HTTP/1.0\r\nA: b\r\n\r\nConnection: Keep-Alive";
    assert!(!answer(unasked, "HTTP/1.1 200 OK"));
    let new = "GET / HTTP/1.1\r\nConnection: Keep-Alive\r\n\r\n";
    assert!(!answer(new, "HTTP/1.1 200 OK"));
}

#[test]
fn a_body_that_ends_with_the_connection() {
    let mut it = http(Expect::body("hello"));
    assert_eq!(
        feed(&mut it, 1, CLOSING, &[3], false).0,
        vec![],
        "not before the close"
    );
    assert_eq!(feed(&mut it, 1, CLOSING, &[3], true).0, vec![ok(200, true)]);
    // A length that the connection cuts short is no answer.
    assert_eq!(
        feed(&mut it, 1, &LENGTH[..LENGTH.len() - 1], &[], true).0,
        vec![]
    );
}

#[test]
fn the_remembered_head_does_not_leak_into_others() {
    let mut wire = LENGTH.to_vec();
    wire.extend_from_slice(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nhell",
    );
    wire.extend_from_slice(LENGTH);
    wire.extend_from_slice(b"HTTP/1.1 500 Oh\r\nContent-Length: 5\r\n\r\nhello");
    let (answers, result) = feed(&mut http(Expect::body("hello")), 4, &wire, &[], false);
    assert!(result.is_ok());
    let wrong: Vec<_> = answers.into_iter().map(|answer| answer.wrong).collect();
    assert_eq!(
        wrong,
        [
            None,
            Some(Mismatch::Length {
                expected: 5,
                found: 4,
                difference: Some(Box::new(Difference::new(b"hello", 4, b"")))
            }),
            None,
            Some(Mismatch::Status {
                expected: None,
                found: 500
            }),
        ]
    );
}

#[test]
fn a_wrong_byte_in_any_piece_is_seen() {
    for at in 0..5 {
        let mut wire = LENGTH.to_vec();
        let last = wire.len() - 5 + at;
        wire[last] ^= 1;
        for cut in [1, 7, 1000] {
            let (answers, _) = feed(&mut http(Expect::body("hello")), 1, &wire, &[cut], false);
            let Some(Mismatch::Body(difference)) = &answers[0].wrong else {
                panic!("{answers:?}");
            };
            let text = difference.to_string();
            assert!(text.ends_with(&format!("(byte {})", at + 1)), "{text}");
        }
    }
}

#[test]
fn faults() {
    let fault = |wire: &[u8]| {
        feed(&mut http(Expect::default()), 1, wire, &[], false)
            .1
            .unwrap_err()
    };
    assert_eq!(
        fault(b"SSH-2.0-OpenSSH\r\n"),
        Fault::Malformed("the server speaks SSH")
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
        Fault::Malformed("two different Content-Length fields")
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\n"),
        Fault::Malformed("Content-Length is not a number")
    );
    for twice in [
        "chunked, chunked",
        "chunked, gzip, chunked",
        "chunked\r\nTransfer-Encoding: Chunked",
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {twice}\r\n\r\n");
        let found = fault(head.as_bytes());
        assert_eq!(found, Fault::Malformed("the chunked coding is there twice"));
    }
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        Fault::Malformed("a chunk size is not a hexadecimal number")
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n"),
        Fault::Malformed("a chunk is longer than its size says")
    );
    for (wire, text) in [
        (&b"\r\n"[..], "a chunk size is not a hexadecimal number"),
        (
            b"2\r\nab\r\n\r\n",
            "a chunk size is not a hexadecimal number",
        ),
        (
            b"10000000000000000\r\n",
            "a chunk size is not a hexadecimal number",
        ),
        (
            b"0\r\nno field\r\n",
            "a line of the trailer section is not a field",
        ),
        (
            b"0\r\nHTTP/1.1 200 OK\r\n",
            "a line of the trailer section is not a field",
        ),
    ] {
        let wire = [
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            wire,
        ]
        .concat();
        assert_eq!(fault(&wire), Fault::Malformed(text));
    }
    let many = |field: &str, n: usize| {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n";
        fault((head.to_owned() + &field.repeat(n)).as_bytes())
    };
    assert_eq!(
        many("A: b\r\n", 129),
        Fault::Malformed("more than 128 trailer fields")
    );
    assert_eq!(
        many(&format!("A: {}\r\n", "b".repeat(1_000)), 100),
        Fault::TooLong {
            part: "the trailer section",
            limit: 65_536
        }
    );
    let endless = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'a'; 70_000]].concat();
    assert_eq!(
        fault(&endless),
        Fault::TooLong {
            part: "the head",
            limit: 65_536
        }
    );
    assert_eq!(
        fault(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"),
        Fault::TooLong {
            part: "the body",
            limit: 1 << 30
        }
    );
    let line = [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec(),
        vec![b'0'; 70_000],
    ]
    .concat();
    assert_eq!(
        fault(&line),
        Fault::TooLong {
            part: "a chunk-size line",
            limit: 65_536
        }
    );
}

#[test]
fn unsolicited_bytes_make_the_answer_before_them_wrong() {
    let chunked = [CHUNKED, b"0\r\n\r\n"].concat();
    let closes = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    // What comes, how many were asked for, how many of the answers are right, and where the surplus
    // begins.
    for (wire, asked, right, at) in [
        ([LENGTH, b"X"].concat(), 1, 0, LENGTH.len()),
        ([LENGTH, LENGTH].concat(), 1, 0, LENGTH.len()),
        ([LENGTH, LENGTH, LENGTH].concat(), 2, 1, 2 * LENGTH.len()),
        (chunked, 1, 0, CHUNKED.len()),
        ([closes, LENGTH].concat(), 2, 0, closes.len()),
        (LENGTH.to_vec(), 0, 0, 0),
    ] {
        let mut it = http(Expect::body("hello"));
        let (answers, result) = feed(&mut it, asked, &wire, &[], false);
        let surplus = Fault::Unsolicited { at };
        assert_eq!(result, Err(surplus.clone()), "{}", wire.escape_ascii());
        let wrong = |answer: &Answer| answer.wrong.clone();
        assert!(answers[..right].iter().map(wrong).all(|it| it.is_none()));
        let spoilt: Vec<_> = answers[right..].iter().filter_map(wrong).collect();
        assert_eq!(spoilt.len(), usize::from(asked > 0));
        assert!(
            spoilt
                .iter()
                .all(|it| *it == Mismatch::Fault(surplus.clone()))
        );
    }
}

#[test]
fn interim_answers_are_skipped() {
    for (status, asked_for, expected) in [
        (100, None, Ok(None)),
        (102, None, Ok(None)),
        (103, None, Ok(None)),
        (101, Some(101), Ok(Some(101))),
        (
            101,
            None,
            Err("the server switched protocols (101) unasked"),
        ),
        // Not known, and to be ignored (RFC 9110, 15.2).
        (104, None, Ok(None)),
        (199, None, Ok(None)),
    ] {
        let expect = match asked_for {
            Some(status) => Expect::default().with_status(status),
            None => Expect::default(),
        };
        let wire = format!("HTTP/1.1 {status} X\r\n\r\n");
        let (answers, result) = feed(&mut http(expect), 1, wire.as_bytes(), &[], false);
        match expected {
            Ok(answer) => {
                let answer = answer.map(|status| empty(status, true));
                assert_eq!((answers, result), (Vec::from_iter(answer), Ok(())));
            }
            Err(text) => assert_eq!((answers, result), (vec![], Err(Fault::Malformed(text)))),
        }
    }
}

#[test]
fn several_requests_take_turns_and_each_has_its_own_expectation() {
    let exchange =
        |path: &str| HttpExchange::new(&HttpRequest::get("h", path), Expect::body(path.to_owned()));
    let mut http = Http::new(vec![exchange("/a"), exchange("/b")], Limits::default());
    let mut conn = HttpConn::default();
    let mut out = Vec::new();
    for _ in 0..3 {
        http.request(&mut conn, 1, Fifo, &mut out);
    }
    let sent = String::from_utf8(std::mem::take(&mut out)).unwrap();
    let lines: Vec<&str> = sent
        .lines()
        .filter(|line| line.starts_with("GET"))
        .collect();
    assert_eq!(
        lines,
        ["GET /b HTTP/1.1", "GET /a HTTP/1.1", "GET /b HTTP/1.1"]
    );
    let mut seen = RecordedEvents::default();
    for body in ["/b", "/b", "/b"] {
        let wire = format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{body}");
        http.received(&mut conn, 1, wire.as_bytes(), &mut out, &mut seen)
            .unwrap();
    }
    let wrong: Vec<_> = seen
        .answers()
        .into_iter()
        .map(|answer| answer.wrong)
        .collect();
    assert!(
        matches!(&wrong[..], [None, Some(Mismatch::Body(_)), None]),
        "{wrong:?}"
    );
}

#[test]
fn requests_are_written_as_rfc_9112_says() {
    let text = |request: &HttpRequest| String::from_utf8(request.encode()).unwrap();
    let get = HttpRequest::get("h:1", "/p?q");
    assert_eq!(text(&get), "GET /p?q HTTP/1.1\r\nHost: h:1\r\n\r\n");
    let post = HttpRequest {
        method: "POST".into(),
        headers: vec![("host".into(), "other".into()), ("A".into(), "b".into())],
        body: b"xyz".to_vec(),
        keepalive: false,
        ..get
    };
    assert_eq!(
        text(&post),
        "POST /p?q HTTP/1.1\r\nhost: other\r\nA: b\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxyz"
    );
}

/// Keeps everything that it is shown.
#[derive(Default)]
struct CapturedAnswer {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Keep for CapturedAnswer {
    fn head(&mut self, bytes: &[u8]) {
        self.head.extend_from_slice(bytes);
    }

    fn body(&mut self, bytes: &[u8]) {
        self.body.extend_from_slice(bytes);
    }
}

#[test]
fn head_and_body_can_be_kept_however_they_come() {
    let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let wire = [
        b"HTTP/1.1 103 Early Hints\r\n\r\n",
        &head[..],
        b"2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\nA: b\r\n\r\n",
        // The second time the head is known.
        head,
        b"0\r\n\r\n",
    ]
    .concat();
    let expect = Expect::default();
    for size in 1..=wire.len() {
        let mut reader = HttpReader::new(Limits::default());
        let mut state = HttpState::default();
        let mut kept = CapturedAnswer::default();
        let mut answers = Vec::new();
        for mut piece in wire.chunks(size) {
            while !piece.is_empty() {
                let (used, answer) = reader
                    .read(&mut state, piece, false, &expect, &mut kept)
                    .unwrap();
                piece = &piece[used..];
                if answer.is_some() {
                    answers.push(std::mem::take(&mut kept));
                }
            }
        }
        let [first, second] = &answers[..] else {
            panic!("{} answers in pieces of {size}", answers.len());
        };
        assert_eq!(
            (&first.head[..], &first.body[..]),
            (&head[..], &b"hello"[..])
        );
        assert_eq!((&second.head[..], &second.body[..]), (&head[..], &b""[..]));
    }
}

#[test]
fn a_raw_request_is_sent_as_it_is() {
    let raw = "HEAD /x HTTP/1.0\r\n\r\n";
    let mut http = Http::new(
        vec![HttpExchange::raw(raw, Expect::default())],
        Limits::default(),
    );
    let mut conn = HttpConn::default();
    let mut out = Vec::new();
    http.request(&mut conn, 0, Fifo, &mut out);
    assert_eq!(out, raw.as_bytes());
    let mut seen = RecordedEvents::default();
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
    http.received(&mut conn, 0, wire, &mut out, &mut seen)
        .unwrap();
    assert_eq!(seen.answers().len(), 1, "an answer to HEAD has no body");
}

#[test]
fn folded_fields_are_one_line() {
    for wire in [
        &b"HTTP/1.1 200 OK\r\nX-Long: a\r\n  b\r\n\tc\r\nContent-Length: 5\r\n\r\nhello"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\nX: \r\n\r\nhello",
        b"HTTP/1.1 200 OK\nX: a\n b\nContent-Length: 5\n\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: a\r\n b\r\n\r\n",
    ] {
        for cut in 1..wire.len() {
            let twice = [wire, wire].concat();
            let (answers, result) = feed(&mut http(Expect::body("hello")), 2, &twice, &[cut], false);
            assert_eq!(result, Ok(()), "{}", wire.escape_ascii());
            assert_eq!(answers, [ok(200, false), ok(200, false)]);
        }
    }
    let mut it = http(Expect::default());
    let _ = feed(
        &mut it,
        1,
        b"HTTP/1.1 200 OK\r\nX: a \r\n\t b\r\nContent-Length: 0\r\n\r\n",
        &[99],
        false,
    );
    assert_eq!(
        it.first_head().escape_ascii().to_string(),
        b"HTTP/1.1 200 OK\r\nX: a b\r\nContent-Length: 0\r\n\r\n"
            .escape_ascii()
            .to_string()
    );
    // Nothing is there to go on with.
    let (_, result) = feed(
        &mut http(Expect::default()),
        1,
        b"HTTP/1.1 200 OK\r\n a\r\n\r\n",
        &[99],
        false,
    );
    assert!(matches!(result, Err(Fault::Malformed(_))), "{result:?}");
}

#[test]
fn a_request_that_closes_is_the_last_on_its_connection() {
    for (name, value, closes) in [
        ("Connection", "close", true),
        ("connection", "Keep-Alive, CLOSE", true),
        ("Connection", "keep-alive", false),
        ("X-Connection", "close", false),
    ] {
        let request = HttpRequest {
            headers: vec![(name.into(), value.into())],
            ..HttpRequest::get("h", "/")
        };
        let exchange = HttpExchange::new(&request, Expect::default());
        let mut it = Http::new(vec![exchange], Limits::default());
        let mut conn = HttpConn::default();
        assert!(it.accepts(&conn));
        it.request(&mut conn, 0, Fifo, &mut Vec::new());
        assert_eq!(it.accepts(&conn), !closes, "{name}: {value}");
        let (answers, _) = feed(&mut it, 1, LENGTH, &[999], false);
        assert_eq!(answers, [ok(200, closes)], "{name}: {value}");
    }
}

/// A server may close an idle connection with a status, and say nothing else on it.
#[test]
fn a_polite_end_of_an_idle_connection_is_no_riddle() {
    let unasked = |wire: &[u8]| feed(&mut http(Expect::default()), 0, wire, &[9_999], false).1;
    for wire in [
        &b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"[..],
        b"HTTP/1.0 408 Request Time-out\r\nContent-Type: text/html\r\n\r\n<html>408</html>",
        b"HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n",
    ] {
        let found = unasked(wire);
        assert!(matches!(found, Err(Fault::Farewell(_))), "{found:?}");
    }
    for wire in [
        &b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"[..],
        b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 408 Request",
        b"hello",
    ] {
        assert_eq!(unasked(wire), Err(Fault::Unsolicited { at: 0 }));
    }
}

#[test]
fn how_far_an_answer_has_come() {
    for (wire, expected) in [
        (&b""[..], AnswerProgress::Nothing),
        (b"HTTP/1.1 2", AnswerProgress::Head),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
            AnswerProgress::Body(0),
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
            AnswerProgress::Body(3),
        ),
        (b"HTTP/1.1 200 OK\r\n\r\nstream", AnswerProgress::Endless(6)),
    ] {
        let mut it = http(Expect::default());
        let mut conn = HttpConn::default();
        it.request(&mut conn, 0, Fifo, &mut Vec::new());
        if !wire.is_empty() {
            it.received(
                &mut conn,
                0,
                wire,
                &mut Vec::new(),
                &mut RecordedEvents::default(),
            )
            .unwrap();
        }
        assert_eq!(
            it.progress(&conn, Fifo),
            expected,
            "{}",
            wire.escape_ascii()
        );
    }
}

#[test]
fn a_server_of_http2_is_named() {
    let settings = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x10";
    let (_, result) = feed(&mut http(Expect::default()), 1, settings, &[99], false);
    let Err(Fault::Malformed(why)) = result else {
        panic!("{result:?}");
    };
    assert!(why.contains("h2c://"), "{why}");
}

#[test]
fn old_ways_to_say_a_length() {
    for fields in [
        "Content-Length: 5, 5",
        "Transfer-Encoding: identity\r\nContent-Length: 5",
        "Content-Length: 5\r\nContent-Length: 5",
    ] {
        let wire = format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\nhello").repeat(2);
        let (answers, result) = feed(
            &mut http(Expect::body("hello")),
            2,
            wire.as_bytes(),
            &[7],
            false,
        );
        assert_eq!(result, Ok(()), "{fields}");
        assert_eq!(answers, [ok(200, false), ok(200, false)], "{fields}");
    }
    let (_, result) = feed(
        &mut http(Expect::default()),
        1,
        b"HTTP/1.1 200 OK\r\nContent-Length: 5, 6\r\n\r\nhello",
        &[],
        false,
    );
    assert_eq!(
        result,
        Err(Fault::Malformed("two different Content-Length fields"))
    );
}
