//! Servers with unusual status lines and header fields.

use super::{Case, Say, bytes, http};
use crate::campaigns::hostile::script::Step;

/// The right answer with another first line.
pub fn status_lines() -> Vec<Case> {
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
pub fn fields() -> Vec<Case> {
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
