use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_795_255_794;

/// Everything that a fresh connection sends when the input comes in these pieces, how many requests
/// it counts, and whether it ends.
fn talk<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (String, u32, bool) {
    let date = Date::at(SECOND);
    let mut http = Http::default();
    let mut scratch = Vec::new();
    let (mut sent, mut requests, mut ended) = (Vec::new(), 0, false);
    for piece in pieces {
        let reply = http.receive(piece, &date, &mut scratch);
        sent.extend_from_slice(reply.bytes);
        requests += reply.requests;
        ended |= reply.then != Then::Keep;
    }
    (String::from_utf8(sent).unwrap(), requests, ended)
}

fn ok(target: &str, connection: &str) -> String {
    let body = format!("{target} at Sat, 21 Nov 2026 10:09:54 GMT");
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nDate: Sat, 21 Nov 2026 10:09:54 GMT\r\n\
         Content-Length: {}\r\n{connection}\r\n{body}",
        body.len()
    )
}

fn whole(input: &str) -> (String, u32, bool) {
    talk([input.as_bytes()])
}

#[test]
fn the_body_is_the_target_and_the_date() {
    assert_eq!(
        whole("GET /a/b?c=d&e HTTP/1.1\r\nHost: x\r\n\r\n"),
        (ok("/a/b?c=d&e", ""), 1, false)
    );
}

#[test]
fn pipelined_requests_are_answered_together() {
    let (sent, requests, ended) = whole(
        "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n\r\nPOST /2 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc\
         GET /3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET /4 HTTP/1.1\r\nHost: x\r\n\r\n",
    );
    let expected = [
        ok("/1", ""),
        ok("/2", ""),
        ok("/3", "Connection: close\r\n"),
    ]
    .concat();
    assert_eq!((sent, requests, ended), (expected, 3, true));
}

#[test]
fn http_1_0_is_closed_unless_it_asks() {
    assert_eq!(
        whole("GET / HTTP/1.0\r\n\r\n"),
        (ok("/", "Connection: close\r\n"), 1, true)
    );
    assert_eq!(
        whole("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"),
        (ok("/", "Connection: keep-alive\r\n"), 1, false)
    );
}

#[test]
fn head_has_the_length_but_not_the_body() {
    let (sent, ..) = whole("HEAD /long HTTP/1.1\r\nHost: x\r\n\r\n");
    let expected = ok("/long", "");
    assert_eq!(sent, expected[..expected.find("/long").unwrap()]);
}

#[test]
fn a_body_is_skipped_before_the_reply() {
    let (sent, requests, _) =
        whole("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n12345");
    assert_eq!((sent.as_str(), requests), ("", 0));
    let chunked = "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
                   4\r\nGET \r\n0\r\n\r\nGET /d HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_eq!(
        whole(chunked),
        ([ok("/c", ""), ok("/d", "")].concat(), 2, false)
    );
}

#[test]
fn a_client_that_waits_for_leave_gets_it() {
    let head: &[u8] =
        b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n";
    let (sent, requests, _) = talk([head]);
    assert_eq!((sent.as_bytes(), requests), (CONTINUE, 0));
    let (sent, ..) = talk([head, b"ab"]);
    assert_eq!(
        sent,
        format!("HTTP/1.1 100 Continue\r\n\r\n{}", ok("/", ""))
    );
}

#[test]
fn what_cannot_be_answered_is_refused_once() {
    for (input, status) in [
        ("\0\0\0\0\r\n\r\n".to_owned(), "HTTP/1.1 400 "),
        (
            "GET / HTTP/2.0\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
            "HTTP/1.1 400 ",
        ),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), "HTTP/1.1 400 "),
        (
            format!("GET / HTTP/1.1\r\nX: {}", "x".repeat(MAX_HEAD)),
            "HTTP/1.1 431 ",
        ),
        (
            format!("GET /{} HTTP/1.1\r\n", "x".repeat(MAX_HEAD)),
            "HTTP/1.1 431 ",
        ),
    ] {
        let (sent, requests, ended) = whole(&input);
        assert!(sent.starts_with(status), "{input:.40} gave {sent}");
        assert!(sent.ends_with("Connection: close\r\n\r\n"));
        assert_eq!(
            (requests, ended, sent.matches("HTTP/1.1 ").count()),
            (1, true, 1)
        );
    }
}

/// One request or a piece of something worse.
fn fragment() -> impl Strategy<Value = String> {
    let header = prop_oneof![
        Just("Connection: close\r\n".to_owned()),
        Just("Connection: keep-alive\r\n".to_owned()),
        Just("Content-Length: 4\r\n".to_owned()),
        Just("Transfer-Encoding: chunked\r\n".to_owned()),
        Just("broken header\r\n".to_owned()),
        "[A-Z][a-z]{0,8}: [ -~]{0,20}\r\n",
        (1..18_000_usize).prop_map(|len| format!("X: {}\r\n", "x".repeat(len))),
    ];
    let head = (
        "GET|HEAD|POST",
        "/[a-z?=&]{0,30}",
        "1\\.[01]",
        prop::collection::vec(header, 0..3),
    )
        .prop_map(|(method, target, version, headers)| {
            let headers = headers.concat();
            format!("{method} {target} HTTP/{version}\r\nHost: x\r\n{headers}\r\n")
        });
    let plain = "/[a-z]{0,9}".prop_map(|path| format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n"));
    prop_oneof![
        6 => plain,
        4 => head,
        1 => Just("abcd".to_owned()),
        1 => Just("4;x=y\r\nabcd\r\n0\r\nTrailer: z\r\n\r\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => "[ -~\r\n]{0,20}",
    ]
}

proptest! {
    #[test]
    fn the_split_of_the_input_does_not_matter(
        fragments in prop::collection::vec(fragment(), 1..8),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let input = fragments.concat();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        cuts.extend([0, input.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|pair| &input.as_bytes()[pair[0]..pair[1]]);
        prop_assert_eq!(talk(pieces), whole(&input));
    }

    #[test]
    fn nor_does_a_byte_at_a_time(fragments in prop::collection::vec(fragment(), 1..4)) {
        let input = fragments.concat();
        prop_assert_eq!(talk(input.as_bytes().chunks(1)), whole(&input));
    }
}
