//! Where answers end: lengths, chunks, and what may not have a body.

use super::{BODY, Case, Say, bytes, http};
use crate::campaigns::hostile::script::Step;

/// Another length.
pub fn lengths() -> Vec<Case> {
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
pub fn chunks() -> Vec<Case> {
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
pub fn bodies() -> Vec<Case> {
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
