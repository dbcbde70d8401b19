//! Frames on the stream of a request, wrong ones and odd ones.

use super::{Case, DATA, HEADERS, OK, Say, Step, answer, bytes, frame, steps};
use crate::campaigns::hostile::h3_server::varint;
use std::time::Duration;

/// A kind of frame that means nothing (RFC 9114, 7.2.8).
const RESERVED: u64 = 0x21;
/// The largest integer.
const MOST: u64 = (1 << 62) - 1;

pub fn on_requests() -> Vec<Case> {
    [odd(), wrong(), endless()].into_iter().flatten().collect()
}

fn hello() -> Vec<u8> {
    frame(DATA, b"hello")
}

fn head() -> Vec<u8> {
    frame(HEADERS, OK)
}

fn trailers() -> Vec<u8> {
    frame(HEADERS, b"\0\0\x21x\x01y")
}

/// A header of a frame, without what it promises.
fn header(kind: u64, length: u64) -> Vec<u8> {
    [varint(kind), varint(length)].concat()
}

fn odd() -> Vec<Case> {
    let class = "frames";
    let right = |name: &str, parts: &[Vec<u8>]| bytes(class, name, Say::Right, parts.concat());
    let reserved = || frame(RESERVED, b"grease");
    let large = || frame(MOST / 0x1f / 2 * 0x1f + RESERVED, &[b'g'; 20_000]);
    let mut all = vec![
        right("an answer", &[head(), hello()]),
        right("a reserved frame first", &[reserved(), head(), hello()]),
        right("a reserved frame between", &[head(), reserved(), hello()]),
        right("a reserved frame last", &[head(), hello(), reserved()]),
        right(
            "an empty reserved frame last",
            &[head(), hello(), frame(RESERVED, b"")],
        ),
        right(
            "a long frame of a large kind",
            &[large(), head(), large(), hello()],
        ),
        right(
            "a reserved frame within the body",
            &[head(), frame(DATA, b"he"), reserved(), frame(DATA, b"llo")],
        ),
        right("trailers", &[head(), hello(), trailers()]),
        right(
            "a reserved frame after the trailers",
            &[head(), hello(), trailers(), reserved()],
        ),
        right(
            "empty DATA",
            &[head(), frame(DATA, b""), hello(), frame(DATA, b"")],
        ),
        right(
            "one byte in each frame",
            &[
                head(),
                b"hello"
                    .iter()
                    .flat_map(|&byte| frame(DATA, &[byte]))
                    .collect(),
            ],
        ),
        // A kind and a length of two, four and eight bytes that fit in one.
        right(
            "integers longer than they need be",
            &[
                b"\x40\x01\xc0\0\0\0\0\0\0\x03".to_vec(),
                OK.to_vec(),
                b"\x80\0\0\0\x40\x05hello".to_vec(),
            ],
        ),
        right(
            "a thousand reserved frames",
            &[head(), reserved().repeat(1_000), hello()],
        ),
    ];
    let drip = |name: &str, bytes: Vec<u8>, pause| {
        steps(
            class,
            name,
            Say::Right,
            vec![Step::Drip(bytes, pause), Step::End],
        )
    };
    let whole = || [reserved(), head(), hello(), trailers()].concat();
    all.push(drip("byte by byte", whole(), Duration::ZERO));
    all.push(drip(
        "byte by byte, with pauses",
        whole(),
        Duration::from_millis(2),
    ));
    all
}

fn wrong() -> Vec<Case> {
    let class = "frames";
    let wrong = |name: String, words, parts: &[Vec<u8>]| {
        bytes(class, name, Say::Wrong, parts.concat()).saying(words)
    };
    let mut all = Vec::new();
    for (kind, name, words) in [
        (0x2, "PRIORITY of HTTP/2", "only HTTP/2"),
        (0x3, "CANCEL_PUSH", "wrong stream"),
        (0x4, "SETTINGS", "wrong stream"),
        (0x5, "PUSH_PROMISE", "pushed answer"),
        (0x6, "PING of HTTP/2", "only HTTP/2"),
        (0x7, "GOAWAY", "wrong stream"),
        (0x8, "WINDOW_UPDATE of HTTP/2", "only HTTP/2"),
        (0x9, "CONTINUATION of HTTP/2", "only HTTP/2"),
        (0xd, "MAX_PUSH_ID", "wrong stream"),
    ] {
        let it = || frame(kind, b"\0");
        all.push(wrong(
            format!("{name} first"),
            words,
            &[it(), head(), hello()],
        ));
        all.push(wrong(
            format!("{name} between"),
            words,
            &[head(), it(), hello()],
        ));
        all.push(wrong(
            format!("{name} last"),
            words,
            &[head(), hello(), it()],
        ));
        all.push(wrong(
            format!("{name}, empty, last"),
            words,
            &[head(), hello(), frame(kind, b"")],
        ));
    }
    let mut more = |name: &str, words, parts: &[Vec<u8>]| {
        all.push(wrong(name.into(), words, parts));
    };
    more("nothing", "without an answer", &[]);
    more(
        "only a reserved frame",
        "without an answer",
        &[frame(RESERVED, b"x")],
    );
    more("DATA first", "data before the header", &[hello(), head()]);
    more("DATA alone", "data before the header", &[hello()]);
    more(
        "empty DATA first",
        "data before the header",
        &[frame(DATA, b""), head(), hello()],
    );
    more(
        "DATA after the trailers",
        "after the trailers",
        &[head(), hello(), trailers(), hello()],
    );
    more(
        "empty DATA after the trailers",
        "after the trailers",
        &[head(), hello(), trailers(), frame(DATA, b"")],
    );
    more(
        "trailers twice",
        "after the trailers",
        &[head(), hello(), trailers(), trailers()],
    );
    more(
        "another answer",
        "in the trailers",
        &[answer(OK, b"hello"), answer(OK, b"hello")],
    );
    more(
        "the largest HEADERS",
        "header section",
        &[header(HEADERS, MOST), OK.to_vec()],
    );
    more(
        "HEADERS of 64 KiB and one",
        "header section",
        &[header(HEADERS, 65_537), OK.to_vec()],
    );
    more(
        "the largest DATA",
        "within a frame",
        &[head(), header(DATA, MOST), b"hello".to_vec()],
    );
    more(
        "the largest reserved frame",
        "within a frame",
        &[answer(OK, b"hello"), header(RESERVED, MOST)],
    );
    more(
        "HEADERS that end too soon",
        "within a frame",
        &[header(HEADERS, 4), OK.to_vec()],
    );
    more(
        "half a kind",
        "within a frame",
        &[head(), hello(), b"\x40".to_vec()],
    );
    more(
        "half a length",
        "within a frame",
        &[head(), hello(), b"\x21\xc0\0".to_vec()],
    );
    more(
        "20,000 empty frames",
        "bring nothing",
        &[head(), frame(RESERVED, b"").repeat(20_000), hello()],
    );
    more(
        "20,000 empty pieces of a body",
        "bring nothing",
        &[head(), frame(DATA, b"").repeat(20_000), hello()],
    );
    all
}

fn endless() -> Vec<Case> {
    let class = "endless";
    let pour = |name: &str, say, words, first: Vec<u8>, again: Vec<u8>| {
        steps(
            class,
            name,
            say,
            vec![Step::Write(first), Step::Pour(again)],
        )
        .saying(words)
    };
    vec![
        pour(
            "empty frames",
            Say::Wrong,
            "bring nothing",
            Vec::new(),
            frame(RESERVED, b""),
        ),
        pour(
            "frames that mean nothing",
            Say::Wrong,
            "bring nothing",
            head(),
            frame(RESERVED, b"grease"),
        ),
        pour(
            "empty DATA",
            Say::Wrong,
            "bring nothing",
            head(),
            frame(DATA, b""),
        ),
        pour(
            "a body in frames",
            Say::Wrong,
            "the body",
            head(),
            frame(DATA, &[b'x'; 1_000]),
        ),
        pour(
            "a body in one frame",
            Say::Wrong,
            "the body",
            [head(), header(DATA, MOST)].concat(),
            b"hello".to_vec(),
        ),
        pour(
            "one frame that means nothing",
            Say::Fails,
            "",
            [head(), header(RESERVED, MOST)].concat(),
            b"x".to_vec(),
        ),
        pour(
            "interim answers",
            Say::Wrong,
            "interim",
            Vec::new(),
            frame(HEADERS, b"\0\0\xd8"),
        ),
        pour(
            "trailers",
            Say::Wrong,
            "after the trailers",
            [head(), hello()].concat(),
            trailers(),
        ),
    ]
}
