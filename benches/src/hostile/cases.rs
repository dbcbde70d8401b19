//! What servers do, and what has to be said of it.

use super::script::{Script, Step, Unit};
use prony_engine::Dialogue;
use prony_engine::protocol::{Expect, HttpRequest};
use std::time::Duration;

/// What has to be said of a server, beside what holds of every load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Say {
    /// Every answer is right: what it does is allowed.
    Right,
    /// No answer is right, and they are wrong ones.
    Wrong,
    /// No answer is right, in whatever way it failed.
    Fails,
    /// No answer is right, and at least one took too long.
    TimesOut,
    /// Bytes came that no request had asked for, and no answer before them is right.
    Unsolicited,
    /// The same, but they come later, when the connection may have been closed or another request may be in flight.
    UnsolicitedLater,
    /// Every answer is right, but a connection has fewer than a client may have asked for in one go.
    Limited,
    /// A dialect that a client may understand or refuse: but all of it, or none.
    AllOrNone,
}

/// A server.
pub struct Case {
    /// What kind of thing it does.
    pub class: &'static str,
    /// What it does.
    pub name: String,
    pub dialogue: Dialogue,
    pub script: Script,
    pub say: Say,
}

/// The right answer, and its body.
const RIGHT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const BODY: &[u8] = b"hello";
const ECHO: &[u8] = b"hello\n";
/// Long enough to become a segment of its own.
const SHORT: Duration = Duration::from_millis(2);
/// Longer than loads wait that are to time out.
const LONG: Duration = Duration::from_secs(2);

fn http(class: &'static str, name: impl Into<String>, say: Say, answers: Vec<Vec<Step>>) -> Case {
    Case {
        class,
        name: name.into(),
        dialogue: Dialogue::http(
            &HttpRequest::get("h", "/"),
            Expect::body("hello").with_status(200),
        ),
        script: Script {
            first: Vec::new(),
            answers,
            unit: Unit::Head,
        },
        say,
    }
}

/// Answers every request with these bytes.
fn bytes(class: &'static str, name: impl Into<String>, say: Say, answer: &[u8]) -> Case {
    http(class, name, say, vec![vec![Step::Write(answer.to_vec())]])
}

fn echo(class: &'static str, name: impl Into<String>, say: Say, answers: Vec<Vec<Step>>) -> Case {
    let mut case = http(class, name, say, answers);
    case.dialogue = Dialogue::Echo(ECHO.to_vec());
    case.script.unit = Unit::Bytes(ECHO.len());
    case
}

fn echo_bytes(class: &'static str, name: impl Into<String>, say: Say, answer: &[u8]) -> Case {
    echo(class, name, say, vec![vec![Step::Write(answer.to_vec())]])
}

/// With another method, for which a body may not come.
fn with_method(mut case: Case, method: &str) -> Case {
    let request = HttpRequest {
        method: method.into(),
        ..HttpRequest::get("h", "/")
    };
    case.dialogue = Dialogue::http(&request, Expect::default());
    case
}

/// All of them.
pub fn all() -> Vec<Case> {
    [
        status_lines(),
        fields(),
        lengths(),
        chunks(),
        bodies(),
        cuts(),
        pace(),
        unsolicited(),
        interim(),
        echoes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The right answer with another first line.
fn status_lines() -> Vec<Case> {
    let class = "status lines";
    let rest = "\r\nContent-Length: 5\r\n\r\nhello";
    let line = |line: &str, say: Say| {
        bytes(
            class,
            format!("{line:?}"),
            say,
            format!("{line}{rest}").as_bytes(),
        )
    };
    let mut all = Vec::new();
    for right in [
        "HTTP/1.1 200 OK",
        "HTTP/1.1 200 ",
        "HTTP/1.1 200 Quite all right, thank you",
        "HTTP/1.1 200 \u{e4}h",
    ] {
        all.push(line(right, Say::Right));
    }
    // A client may be lenient in these (RFC 9112, section 3), or close the connection afterwards.
    for dialect in [
        "HTTP/1.1 200",
        "HTTP/1.0 200 OK",
        "\r\nHTTP/1.1 200 OK",
        "HTTP/1.1  200 OK",
        "HTTP/1.1 200\tOK",
    ] {
        all.push(line(dialect, Say::AllOrNone));
    }
    for wrong in [
        "HTTP/1.1 201 Created",
        "HTTP/1.1 206 Partial Content",
        "HTTP/1.1 301 Moved Permanently",
        "HTTP/1.1 400 Bad Request",
        "HTTP/1.1 404 Not Found",
        "HTTP/1.1 429 Too Many Requests",
        "HTTP/1.1 500 Internal Server Error",
        "HTTP/1.1 503 Service Unavailable",
        "HTTP/1.1 599 Odd",
    ] {
        all.push(line(wrong, Say::Wrong));
    }
    for broken in [
        "HTTP/1.1 20 OK",
        "HTTP/1.1 2000 OK",
        "HTTP/1.1 abc OK",
        "HTTP/1.1 2x0 OK",
        "HTTP/1.1 -20 OK",
        "HTTP/1.1 +20 OK",
        "HTTP/1.1 0x8 OK",
        "HTTP/1.1 000 OK",
        "HTTP/1.1 099 OK",
        "HTTP/1.1200 OK",
        "HTTP/1.1",
        "HTTP/2.0 200 OK",
        "HTTP/3 200 OK",
        "HTTP/0.9 200 OK",
        "HTTP/1.10 200 OK",
        "HTTP/11 200 OK",
        "HTTP 200 OK",
        "HTTPS/1.1 200 OK",
        "http/1.1 200 OK",
        "XTTP/1.1 200 OK",
        "ICY 200 OK",
        "SIP/2.0 200 OK",
        "200 OK",
        " HTTP/1.1 200 OK",
        "\tHTTP/1.1 200 OK",
        "\0HTTP/1.1 200 OK",
        "\u{feff}HTTP/1.1 200 OK",
        "HTTP/1.1 200 O\0K",
        "HTTP/1.1 200 O\u{7f}K",
        "GET / HTTP/1.1",
        "<!DOCTYPE html>",
        "{\"status\": 200}",
        "220 mail.example ESMTP",
        "SSH-2.0-OpenSSH_9.2",
        "\u{16}\u{3}\u{1}\u{2}",
    ] {
        all.push(line(broken, Say::Fails));
    }
    all.push(bytes(
        class,
        "a reason of 1 MiB",
        Say::AllOrNone,
        &[
            b"HTTP/1.1 200 ",
            &vec![b'x'; 1 << 20][..],
            b"\r\nContent-Length: 5\r\n\r\nhello",
        ]
        .concat(),
    ));
    all.push(bytes(
        class,
        "an HTTP/2 frame",
        Say::Fails,
        b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x64",
    ));
    all
}

/// The right answer with another field beside its length.
fn fields() -> Vec<Case> {
    let class = "fields";
    let field = |field: &str, say: Say| {
        let answer = format!("HTTP/1.1 200 OK\r\n{field}\r\nContent-Length: 5\r\n\r\nhello");
        bytes(class, format!("{field:?}"), say, answer.as_bytes())
    };
    let mut all = Vec::new();
    for right in [
        "A: b",
        "A:b",
        "A:",
        "A: ",
        "A:  b  ",
        "A:\tb",
        "a!#$%&'*+-.^_`|~9: b",
        "A: \u{e4}\u{f6}",
        "A: b: c",
        "A: \"b\"",
        "Connection: keep-alive",
        "Connection: Keep-Alive, x",
        "Keep-Alive: timeout=5, max=100",
        "Content-Encoding: identity",
        "Trailer: x",
        "Upgrade: h2c",
        "Set-Cookie: a=b\r\nSet-Cookie: c=d",
        "A: b\r\nA: b\r\nA: b",
    ] {
        all.push(field(right, Say::Right));
    }
    // Obsolete folding; a line feed alone; a client may take or refuse them.
    for dialect in ["A: b\r\n c", "A: b\nC: d", "A: \u{1}"] {
        all.push(field(dialect, Say::AllOrNone));
    }
    for broken in [
        "A",
        "A b",
        ": b",
        "A : b",
        " A: b",
        "A\0: b",
        "A: b\0c",
        "A: b\rc",
        "\u{e4}: b",
        "A(: b",
        "A,: b",
        "A=: b",
        "A\t: b",
        "A\u{7f}: b",
    ] {
        all.push(field(broken, Say::Fails));
    }
    let many = |n: usize| vec!["A: b"; n].join("\r\n");
    all.push(Case {
        name: "20 fields".into(),
        ..field(&many(20), Say::Right)
    });
    all.push(Case {
        name: "10,000 fields".into(),
        ..field(&many(10_000), Say::AllOrNone)
    });
    all.push(Case {
        name: "a field of 4 kB".into(),
        ..field(&format!("A: {}", "b".repeat(4_000)), Say::Right)
    });
    all.push(Case {
        name: "a field of 4 MB".into(),
        ..field(&format!("A: {}", "b".repeat(4_000_000)), Say::AllOrNone)
    });
    all.push(http(
        class,
        "a head without end",
        Say::Fails,
        vec![vec![
            Step::Write(b"HTTP/1.1 200 OK\r\n".to_vec()),
            Step::Pour(b"A: b\r\n".to_vec()),
        ]],
    ));
    all.push(http(
        class,
        "a field without end",
        Say::Fails,
        vec![vec![
            Step::Write(b"HTTP/1.1 200 OK\r\nA: ".to_vec()),
            Step::Pour(b"bbbb".to_vec()),
        ]],
    ));
    all.push(bytes(
        class,
        "lines that end in a line feed alone",
        Say::AllOrNone,
        b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
    ));
    all.push(bytes(
        class,
        "names in capitals",
        Say::Right,
        b"HTTP/1.1 200 OK\r\nCONTENT-LENGTH: 5\r\n\r\nhello",
    ));
    all.push(bytes(
        class,
        "names in small letters",
        Say::Right,
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello",
    ));
    all
}

/// Another length.
fn lengths() -> Vec<Case> {
    let class = "lengths";
    let length = |value: &str, say: Say| {
        let answer = format!("HTTP/1.1 200 OK\r\n{value}\r\n\r\nhello");
        bytes(class, format!("{value:?}"), say, answer.as_bytes())
    };
    let mut all = Vec::new();
    for right in [
        "Content-Length:5",
        "Content-Length: 5 ",
        "Content-Length:\t5",
    ] {
        all.push(length(right, Say::Right));
    }
    // The same length twice may be taken for one (RFC 9112, section 6.3).
    for dialect in [
        "Content-Length: 5\r\nContent-Length: 5",
        "Content-Length: 5, 5",
        "Content-Length: 05",
        "Content-Length: 0000000000000000000005",
    ] {
        all.push(length(dialect, Say::AllOrNone));
    }
    for broken in [
        "Content-Length: -5",
        "Content-Length: +5",
        "Content-Length: 5x",
        "Content-Length: 0x5",
        "Content-Length: 5.0",
        "Content-Length: 5e0",
        "Content-Length: ",
        "Content-Length: five",
        "Content-Length: 5 5",
        "Content-Length: 5;",
        "Content-Length: 5, 6",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 6\r\nContent-Length: 5",
        "Content-Length: 18446744073709551621",
        "Content-Length: 99999999999999999999999",
        "Content-Length: 18446744073709551615",
        "Content-Length: 9223372036854775808",
        "Content-Length: 4294967301",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 6",
        "Content-Length: 1000000",
    ] {
        all.push(length(broken, Say::Fails));
    }
    for shorter in [
        "Content-Length: 0",
        "Content-Length: 1",
        "Content-Length: 4",
    ] {
        all.push(length(shorter, Say::Fails));
    }
    all.push(http(
        class,
        "no length, and the end of the connection",
        Say::Limited,
        vec![vec![
            Step::Write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello".to_vec()),
            Step::End,
        ]],
    ));
    all.push(http(
        class,
        "no length, and another body",
        Say::Wrong,
        vec![vec![
            Step::Write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhell".to_vec()),
            Step::End,
        ]],
    ));
    all.push(http(
        class,
        "no length, and no end",
        Say::TimesOut,
        vec![vec![
            Step::Write(b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec()),
            Step::Silence,
        ]],
    ));
    all.push(http(
        class,
        "no length, and a body without end",
        Say::Fails,
        vec![vec![
            Step::Write(b"HTTP/1.1 200 OK\r\n\r\n".to_vec()),
            Step::Pour(b"hello".to_vec()),
        ]],
    ));
    all
}

/// A body in chunks.
fn chunks() -> Vec<Case> {
    let class = "chunks";
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let body = |body: &str, say: Say| {
        bytes(
            class,
            format!("{body:?}"),
            say,
            format!("{head}{body}").as_bytes(),
        )
    };
    let mut all = Vec::new();
    for right in [
        "5\r\nhello\r\n0\r\n\r\n",
        "1\r\nh\r\n4\r\nello\r\n0\r\n\r\n",
        "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n",
        "5;a=b\r\nhello\r\n0\r\n\r\n",
        "5;a=\"b;c\"\r\nhello\r\n0;x\r\n\r\n",
        "05\r\nhello\r\n00\r\n\r\n",
        "0005\r\nhello\r\n0000\r\n\r\n",
        "5\r\nhello\r\n0\r\nA: b\r\n\r\n",
        "5\r\nhello\r\n0\r\nA: b\r\nC: d\r\n\r\n",
    ] {
        all.push(body(right, Say::Right));
    }
    for dialect in [
        "5 \r\nhello\r\n0\r\n\r\n",
        "5 ;a=b\r\nhello\r\n0\r\n\r\n",
        "5\nhello\n0\n\n",
        "5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n",
    ] {
        all.push(body(dialect, Say::AllOrNone));
    }
    for broken in [
        "hello",
        "\r\nhello\r\n0\r\n\r\n",
        " 5\r\nhello\r\n0\r\n\r\n",
        "-5\r\nhello\r\n0\r\n\r\n",
        "+5\r\nhello\r\n0\r\n\r\n",
        "0x5\r\nhello\r\n0\r\n\r\n",
        "5h\r\nhello\r\n0\r\n\r\n",
        "g\r\nhello\r\n0\r\n\r\n",
        "5.0\r\nhello\r\n0\r\n\r\n",
        "5\r\nhellox\r\n0\r\n\r\n",
        "5\r\nhello0\r\n\r\n",
        "5\r\nhello\r0\r\n\r\n",
        "5\r\nhello\r\n\r\n\r\n",
        "5\r\nhello\r\n0\r\nbad trailer\r\n\r\n",
        "5\r\nhello\r\n0\r\n: b\r\n\r\n",
        "5\r\nhello\r\n0\r\nA b: c\r\n\r\n",
        "4\r\nhello\r\n0\r\n\r\n",
        "6\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n-0\r\n\r\n",
        "5\r\nhello\r\nffffffffffffffff\r\n",
        "10000000000000005\r\nhello\r\n0\r\n\r\n",
        "ffffffffffffffffffffffffffffffff\r\nhello\r\n0\r\n\r\n",
        "5\r\nhello\r\n0\r\n",
        "5\r\nhello\r\n",
        "5\r\nhello",
        "5\r\n",
        "5",
        "0\r\n\r\n",
        "5\r\nHELLO\r\n0\r\n\r\n",
        "5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n",
    ] {
        all.push(body(broken, Say::Fails));
    }
    for coding in [
        "gzip",
        "chunked, chunked",
        "chunked, gzip",
        "x",
        "Chunkedx",
        "chunke",
        "identity, x",
    ] {
        let answer = format!(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
        );
        all.push(bytes(
            class,
            format!("coding {coding:?}"),
            Say::Fails,
            answer.as_bytes(),
        ));
    }
    let upper = "HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    all.push(bytes(
        class,
        "coding in capitals",
        Say::Right,
        upper.as_bytes(),
    ));
    all.push(http(
        class,
        "chunks without end",
        Say::Fails,
        vec![vec![
            Step::Write(head.into()),
            Step::Pour(b"1\r\nh\r\n".to_vec()),
        ]],
    ));
    all.push(http(
        class,
        "a size without end",
        Say::Fails,
        vec![vec![Step::Write(head.into()), Step::Pour(b"0000".to_vec())]],
    ));
    all.push(http(
        class,
        "an extension without end",
        Say::Fails,
        vec![vec![
            Step::Write(head.into()),
            Step::Write(b"5;a=".to_vec()),
            Step::Pour(b"bbbb".to_vec()),
        ]],
    ));
    all.push(http(
        class,
        "trailers without end",
        Say::Fails,
        vec![vec![
            Step::Write(head.into()),
            Step::Write(b"5\r\nhello\r\n0\r\n".to_vec()),
            Step::Pour(b"A: b\r\n".to_vec()),
        ]],
    ));
    all
}

/// Another body of the right length, or an answer that is only sometimes right.
fn bodies() -> Vec<Case> {
    let class = "bodies";
    let mut all = Vec::new();
    let of = |body: &[u8]| {
        [
            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes(),
            body,
        ]
        .concat()
    };
    for at in 0..BODY.len() {
        let mut body = BODY.to_vec();
        body[at] ^= 0x20;
        all.push(bytes(
            class,
            format!("byte {at} differs"),
            Say::Wrong,
            &of(&body),
        ));
    }
    for at in 0..BODY.len() {
        all.push(bytes(
            class,
            format!("the first {at} bytes"),
            Say::Wrong,
            &of(&BODY[..at]),
        ));
    }
    let others: [(&str, &[u8]); 7] = [
        ("one byte more", b"hello!"),
        ("a line end more", b"hello\n"),
        ("a byte-order mark before", b"\xef\xbb\xbfhello"),
        ("zeros", b"\0\0\0\0\0"),
        ("backwards", b"olleh"),
        ("twice", b"hellohello"),
        ("in JSON", b"\"hello\""),
    ];
    for (name, body) in others {
        all.push(bytes(class, name, Say::Wrong, &of(body)));
    }
    all.push(bytes(
        class,
        "16 MB",
        Say::Wrong,
        &of(&vec![b'x'; 16_000_000]),
    ));
    all
}

/// The connection ends within the answer, at each of its bytes.
fn cuts() -> Vec<Case> {
    let mut all = Vec::new();
    for at in 0..RIGHT.len() {
        let part = || Step::Write(RIGHT[..at].to_vec());
        let name = format!("after {at} bytes");
        all.push(http(
            "closes",
            name.clone(),
            Say::Fails,
            vec![vec![part(), Step::Close]],
        ));
        all.push(http(
            "resets",
            name,
            Say::Fails,
            vec![vec![part(), Step::Reset]],
        ));
    }
    for at in [0, 8, 17, 36, 38, 40, RIGHT.len() - 1] {
        let part = Step::Write(RIGHT[..at].to_vec());
        all.push(http(
            "stops",
            format!("after {at} bytes"),
            Say::TimesOut,
            vec![vec![part.clone(), Step::Silence]],
        ));
        all.push(http(
            "stops",
            format!("after {at} bytes, and reads no more"),
            Say::TimesOut,
            vec![vec![part, Step::Deafness]],
        ));
    }
    all
}

/// Right answers, sooner or later.
fn pace() -> Vec<Case> {
    let class = "pace";
    let right = || Step::Write(RIGHT.to_vec());
    let mut all = vec![
        http(
            class,
            "byte by byte",
            Say::Right,
            vec![vec![Step::Drip(RIGHT.to_vec(), Duration::ZERO)]],
        ),
        http(
            class,
            "a moment later",
            Say::Right,
            vec![vec![Step::Pause(SHORT), right()]],
        ),
        http(
            class,
            "too late",
            Say::TimesOut,
            vec![vec![Step::Pause(LONG), right()]],
        ),
        http(
            class,
            "too slow a drip",
            Say::TimesOut,
            vec![vec![Step::Drip(RIGHT.to_vec(), LONG / 20)]],
        ),
    ];
    for at in [1, 9, 17, 19, 36, 38, 40] {
        let (before, after) = RIGHT.split_at(at);
        let steps = vec![
            Step::Write(before.to_vec()),
            Step::Pause(SHORT),
            Step::Write(after.to_vec()),
        ];
        all.push(http(
            class,
            format!("in two pieces, at byte {at}"),
            Say::Right,
            vec![steps],
        ));
    }
    for allowed in [1, 2, 5] {
        let last = [RIGHT.to_vec(), Vec::new()].concat();
        let mut answers = vec![vec![right()]; allowed - 1];
        let closing =
            String::from_utf8_lossy(&last).replace("OK\r\n", "OK\r\nConnection: close\r\n");
        answers.push(vec![Step::Write(closing.into_bytes()), Step::End]);
        all.push(http(
            class,
            format!("{allowed} to a connection, announced"),
            Say::Limited,
            answers,
        ));
    }
    all
}

/// Bytes that no request has asked for.
fn unsolicited() -> Vec<Case> {
    let class = "unsolicited";
    let mut all = Vec::new();
    let extras: [(&str, &[u8]); 11] = [
        ("a zero", b"\0"),
        ("a carriage return", b"\r"),
        ("a line feed", b"\n"),
        ("an empty line", b"\r\n"),
        ("a space", b" "),
        ("the first letter of an answer", b"H"),
        ("half a first line", b"HTTP/1.1 2"),
        (
            "a wrong answer",
            b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
        ),
        ("a right answer", RIGHT),
        ("an interim answer", b"HTTP/1.1 100 Continue\r\n\r\n"),
        ("text", b"goodbye"),
    ];
    for (name, extra) in extras {
        all.push(bytes(
            class,
            format!("{name} behind the answer"),
            Say::Unsolicited,
            &[RIGHT, extra].concat(),
        ));
        let later = vec![
            Step::Write(RIGHT.to_vec()),
            Step::Pause(SHORT),
            Step::Write(extra.to_vec()),
        ];
        all.push(http(
            class,
            format!("{name} a moment after the answer"),
            Say::UnsolicitedLater,
            vec![later],
        ));
        let mut case = bytes(
            class,
            format!("{name} before any request"),
            Say::UnsolicitedLater,
            RIGHT,
        );
        case.script.first = vec![Step::Write(extra.to_vec())];
        all.push(case);
    }
    all.push(bytes(
        class,
        "1 MiB behind the answer",
        Say::Unsolicited,
        &[RIGHT, &vec![b'x'; 1 << 20][..]].concat(),
    ));
    all.push(bytes(
        class,
        "three answers",
        Say::Unsolicited,
        &RIGHT.repeat(3),
    ));
    for (name, method, answer) in [
        ("a body after 204", "GET", &b"HTTP/1.1 204 No Content\r\n\r\nhello"[..]),
        ("a body after 304", "GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\nhello"),
        ("a body after HEAD", "HEAD", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
        ("a body after length 0", "GET", b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nhello"),
        ("chunks after HEAD", "HEAD", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"),
        ("more after the last chunk", "GET", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n0\r\n\r\n"),
    ] {
        all.push(with_method(bytes(class, name, Say::Unsolicited, answer), method));
    }
    all
}

/// Answers before the answer.
fn interim() -> Vec<Case> {
    let class = "interim answers";
    let before = |interim: &str| [interim.as_bytes(), RIGHT].concat();
    let mut all = Vec::new();
    for right in [
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 102 Processing\r\n\r\n",
        "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
    ] {
        all.push(bytes(
            class,
            format!("{right:?}"),
            Say::Right,
            &before(right),
        ));
    }
    for broken in [
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n",
        "HTTP/1.1 100\0Continue\r\n\r\n",
    ] {
        all.push(bytes(
            class,
            format!("{broken:?}"),
            Say::Fails,
            &before(broken),
        ));
    }
    for dialect in [
        "HTTP/1.1 199 Odd\r\n\r\n",
        "HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n",
    ] {
        all.push(bytes(
            class,
            format!("{dialect:?}"),
            Say::AllOrNone,
            &before(dialect),
        ));
    }
    let many = "HTTP/1.1 100 Continue\r\n\r\n".repeat(1_000);
    all.push(bytes(
        class,
        "a thousand of them",
        Say::AllOrNone,
        &before(&many),
    ));
    let pour = Step::Pour(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec());
    all.push(http(
        class,
        "interim answers without end",
        Say::Fails,
        vec![vec![pour]],
    ));
    all
}

/// Servers that are to send back what they get.
fn echoes() -> Vec<Case> {
    let class = "echoes";
    let mut all = vec![
        echo_bytes(class, "an honest one", Say::Right, ECHO),
        echo(
            class,
            "byte by byte",
            Say::Right,
            vec![vec![Step::Drip(ECHO.to_vec(), Duration::ZERO)]],
        ),
        echo(
            class,
            "a moment later",
            Say::Right,
            vec![vec![Step::Pause(SHORT), Step::Write(ECHO.to_vec())]],
        ),
        echo(
            class,
            "too late",
            Say::TimesOut,
            vec![vec![Step::Pause(LONG), Step::Write(ECHO.to_vec())]],
        ),
        echo(class, "nothing", Say::TimesOut, vec![vec![Step::Silence]]),
        echo(
            class,
            "nothing, and reads no more",
            Say::TimesOut,
            vec![vec![Step::Deafness]],
        ),
        echo(
            class,
            "closes before an answer",
            Say::Fails,
            vec![vec![Step::Close]],
        ),
        echo(
            class,
            "endless bytes",
            Say::Fails,
            vec![vec![Step::Pour(b"x".to_vec())]],
        ),
        echo_bytes(class, "twice", Say::Unsolicited, &ECHO.repeat(2)),
        echo_bytes(class, "in capitals", Say::Fails, b"HELLO\n"),
        echo_bytes(class, "backwards", Say::Fails, b"\nolleh"),
        echo_bytes(class, "an HTTP answer", Say::Fails, RIGHT),
        echo_bytes(class, "zeros", Say::Fails, &[0; 6]),
    ];
    for at in 0..ECHO.len() {
        let mut other = ECHO.to_vec();
        other[at] ^= 1;
        all.push(echo_bytes(
            class,
            format!("byte {at} differs"),
            Say::Fails,
            &other,
        ));
        // A copy of the last byte is a byte too many behind a right answer.
        let doubles = if at + 1 == ECHO.len() {
            Say::Unsolicited
        } else {
            Say::Fails
        };
        let mut doubled = ECHO.to_vec();
        doubled.insert(at, ECHO[at]);
        all.push(echo_bytes(
            class,
            format!("byte {at} twice"),
            doubles,
            &doubled,
        ));
        let mut lost = ECHO.to_vec();
        lost.remove(at);
        all.push(echo_bytes(
            class,
            format!("byte {at} is missing"),
            Say::Fails,
            &lost,
        ));
        let part = || Step::Write(ECHO[..at].to_vec());
        all.push(echo(
            class,
            format!("closes after {at} bytes"),
            Say::Fails,
            vec![vec![part(), Step::Close]],
        ));
        all.push(echo(
            class,
            format!("resets after {at} bytes"),
            Say::Fails,
            vec![vec![part(), Step::Reset]],
        ));
        all.push(echo(
            class,
            format!("stops after {at} bytes"),
            Say::TimesOut,
            vec![vec![part(), Step::Silence]],
        ));
    }
    for (name, extra) in [
        ("a byte", &b"x"[..]),
        ("a zero", b"\0"),
        ("a line feed", b"\n"),
        ("a copy", ECHO),
    ] {
        all.push(echo_bytes(
            class,
            format!("{name} behind it"),
            Say::Unsolicited,
            &[ECHO, extra].concat(),
        ));
        let later = vec![
            Step::Write(ECHO.to_vec()),
            Step::Pause(SHORT),
            Step::Write(extra.to_vec()),
        ];
        all.push(echo(
            class,
            format!("{name} a moment after it"),
            Say::UnsolicitedLater,
            vec![later],
        ));
        let mut case = echo_bytes(
            class,
            format!("{name} before any request"),
            Say::UnsolicitedLater,
            ECHO,
        );
        case.script.first = vec![Step::Write(extra.to_vec())];
        all.push(case);
    }
    all
}
