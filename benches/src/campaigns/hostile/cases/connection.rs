//! When what is sent, and when the connection ends.

use super::{Case, LONG, RIGHT, SHORT, Say, bytes, http, with_method};
use crate::campaigns::hostile::script::Step;
use std::time::Duration;

/// The connection ends within the answer, at each of its bytes.
pub fn cuts() -> Vec<Case> {
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
pub fn pace() -> Vec<Case> {
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
pub fn unsolicited() -> Vec<Case> {
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
        case.server.script.first = vec![Step::Write(extra.to_vec())];
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
pub fn interim() -> Vec<Case> {
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
