//! Header sections, bodies, and answers that are cut short.

use super::{Case, DATA, HEADERS, OK, Say, Step, answer, bytes, frame, pieces, steps, then};

/// A field by its name and value as they stand.
pub fn field(name: &str, value: &str) -> Vec<u8> {
    let mut out = Vec::new();
    // Lengths of 3 and 7 bits, and more in the bytes that follow.
    put_length(name.len(), 3, 0x20, &mut out);
    out.extend_from_slice(name.as_bytes());
    put_length(value.len(), 7, 0, &mut out);
    out.extend_from_slice(value.as_bytes());
    out
}

fn put_length(length: usize, bits: u32, first: u8, out: &mut Vec<u8>) {
    let most = (1 << bits) - 1;
    if length < most {
        out.push(first | length as u8);
        return;
    }
    out.push(first | most as u8);
    let mut rest = length - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// A section with `:status` 200, and these bytes.
fn more(fields: &[u8]) -> Vec<u8> {
    [OK, fields].concat()
}

pub fn sections() -> Vec<Case> {
    let class = "sections";
    let with =
        |name: String, say, fields: &[u8]| bytes(class, name, say, answer(&more(fields), b"hello"));
    let mut all = Vec::new();
    for (name, value) in [
        ("x", "y"),
        ("x", ""),
        ("content-length", "5"),
        ("content-type", "text/plain"),
        ("x-long", &"v".repeat(10_000)),
        ("te", "trailers"),
    ] {
        let shown = &value[..value.len().min(12)];
        all.push(with(
            format!("{name}: {shown}"),
            Say::Right,
            &field(name, value),
        ));
    }
    for (name, value, words) in [
        ("", "y", "field name"),
        ("X", "y", "capital letters"),
        ("x y", "z", "field name"),
        ("x\0", "z", "field name"),
        ("x:", "z", "field name"),
        ("x", "a\0b", "field value"),
        ("x", "a\nb", "field value"),
        ("x", "a\rb", "field value"),
        ("connection", "close", "HTTP/1.1"),
        ("keep-alive", "1", "HTTP/1.1"),
        ("proxy-connection", "close", "HTTP/1.1"),
        ("transfer-encoding", "chunked", "HTTP/1.1"),
        ("upgrade", "h2c", "HTTP/1.1"),
        (":status", "200", ":status twice"),
        (":path", "/", "pseudo-header"),
        (":new", "/", "pseudo-header"),
        (":", "/", "pseudo-header"),
        ("content-length", "4", "content-length"),
        ("content-length", "6", "content-length"),
        ("content-length", "0", "content-length"),
        ("content-length", "", "content-length"),
        ("content-length", "-5", "content-length"),
        ("content-length", "+5", "content-length"),
        ("content-length", "5x", "content-length"),
        ("content-length", "5, 6", "content-length"),
        (
            "content-length",
            "99999999999999999999999",
            "content-length",
        ),
        ("content-length", "18446744073709551615", "content-length"),
    ] {
        let shown = format!("{name}: {value}").escape_debug().to_string();
        all.push(with(shown, Say::Wrong, &field(name, value)).saying(words));
    }
    let twice = [field("content-length", "5"), field("content-length", "6")].concat();
    all.push(with("two lengths".into(), Say::Wrong, &twice).saying("content-length"));
    let same = field("content-length", "5").repeat(2);
    all.push(with("the same length twice".into(), Say::AllOrNone, &same));
    for status in ["", "20", "2000", "abc", "099", "-20", " 200", "200 "] {
        let section = [b"\0\0".to_vec(), field(":status", status)].concat();
        let name = format!(":status {status:?}");
        all.push(bytes(class, name, Say::Wrong, answer(&section, b"hello")).saying("status"));
    }
    for (status, words) in [("500", ""), ("201", ""), ("999", ""), ("101", "101")] {
        let section = [b"\0\0".to_vec(), field(":status", status)].concat();
        let name = format!(":status {status}");
        all.push(bytes(class, name, Say::Wrong, answer(&section, b"hello")).saying(words));
    }
    for (name, section, words) in [
        ("no field", b"\0\0".to_vec(), "without :status"),
        (
            "no status",
            [&b"\0\0"[..], &field("x", "y")].concat(),
            "without :status",
        ),
        (
            "the status last",
            [b"\0\0", &field("x", "y")[..], b"\xd9"].concat(),
            ":status after",
        ),
    ] {
        all.push(bytes(class, name, Say::Wrong, answer(&section, b"hello")).saying(words));
    }
    // Trailers.
    for (name, fields, words) in [
        (
            "a status in the trailers",
            b"\xd9".to_vec(),
            "in the trailers",
        ),
        (
            "a capital letter in the trailers",
            field("X", "y"),
            "capital letters",
        ),
        (
            "HTTP/1.1 in the trailers",
            field("upgrade", "x"),
            "HTTP/1.1",
        ),
    ] {
        let trailers = frame(HEADERS, &[&b"\0\0"[..], &fields].concat());
        let whole = [answer(OK, b"hello"), trailers].concat();
        all.push(bytes(class, name, Say::Wrong, whole).saying(words));
    }
    for (name, fields) in [
        ("fields of 60 KiB", field("x", &"v".repeat(60_000))),
        ("a thousand fields", field("x", "y").repeat(1_000)),
    ] {
        all.push(with(name.into(), Say::Right, &fields));
    }
    for (name, fields) in [
        ("fields of 70 KB", field("x", &"v".repeat(70_000))),
        ("10,000 fields", field("x", "y").repeat(10_000)),
        (
            "a megabyte of fields",
            field("x", &"v".repeat(1_000)).repeat(1_000),
        ),
    ] {
        all.push(with(name.into(), Say::Wrong, &fields).saying("header section"));
    }
    all
}

pub fn bodies() -> Vec<Case> {
    let class = "bodies";
    let mut all = Vec::new();
    for (name, body) in [
        ("none", &b""[..]),
        ("shorter", b"hell"),
        ("longer", b"hello!"),
        ("another", b"hallo"),
        ("twice", b"hellohello"),
    ] {
        all.push(bytes(class, name, Say::Wrong, answer(OK, body)));
    }
    all.push(bytes(
        class,
        "no frame of it",
        Say::Wrong,
        frame(HEADERS, OK),
    ));
    let announced = |length: usize| more(&field("content-length", &length.to_string()));
    for length in [0, 4, 6, 1_000_000] {
        let name =
            format!("5 bytes where {length} are announced, of which only the status matters");
        let case = bytes(
            class,
            name,
            Say::Wrong,
            answer(&announced(length), b"hello"),
        );
        all.push(case.asking("GET", 0).saying("content-length"));
    }
    all.push(
        bytes(
            class,
            "a length without a body, to HEAD",
            Say::Right,
            frame(HEADERS, &announced(5)),
        )
        .asking("HEAD", 0),
    );
    all.push(
        bytes(
            class,
            "a body, to HEAD",
            Say::Wrong,
            answer(&announced(5), b"hello"),
        )
        .asking("HEAD", 0),
    );
    // `:status` 204 and 304 in the static table.
    for (status, index) in [(204, b"\0\0\xff\x01"), (304, b"\0\0\xda\xc0")] {
        let section = if status == 204 {
            &index[..]
        } else {
            &index[..3]
        };
        let name = format!("none, with {status}");
        all.push(bytes(class, name, Say::Right, frame(HEADERS, section)).asking("GET", 0));
        let name = format!("one, with {status}");
        all.push(bytes(class, name, Say::Wrong, answer(section, b"hello")).asking("GET", 0));
    }
    let large = [frame(HEADERS, OK), frame(DATA, &vec![b'x'; 1_000_000])].concat();
    all.push(bytes(class, "a megabyte", Say::Right, large.clone()).asking("GET", 0));
    all.push(bytes(
        class,
        "a megabyte that was not expected",
        Say::Wrong,
        large,
    ));
    let too_large = [frame(HEADERS, OK), frame(DATA, &vec![b'x'; 1_100_000])].concat();
    all.push(
        bytes(class, "more than is accepted", Say::Wrong, too_large)
            .asking("GET", 0)
            .saying("the body"),
    );
    let interim = |n: usize| [frame(HEADERS, b"\0\0\xd8").repeat(n), answer(OK, b"hello")].concat();
    for n in [1, 2, 1_000] {
        all.push(bytes(
            class,
            format!("after {n} interim answers"),
            Say::Right,
            interim(n),
        ));
    }
    all.push(
        bytes(
            class,
            "after 1,001 interim answers",
            Say::Wrong,
            interim(1_001),
        )
        .saying("interim"),
    );
    all.push(bytes(
        class,
        "an interim answer alone",
        Say::Wrong,
        frame(HEADERS, b"\0\0\xd8"),
    ));
    all.push(bytes(
        class,
        "an interim answer after the answer",
        Say::Wrong,
        [answer(OK, b"hello"), frame(HEADERS, b"\0\0\xd8")].concat(),
    ));
    all.push(bytes(
        class,
        "data after an interim answer",
        Say::Wrong,
        [frame(HEADERS, b"\0\0\xd8"), frame(DATA, b"hello")].concat(),
    ));
    all
}

/// The stream ends within the answer, at each of its bytes.
pub fn cuts() -> Vec<Case> {
    let whole = answer(&more(&field("content-length", "5")), b"hello");
    let mut all = Vec::new();
    for at in 0..whole.len() {
        let name = format!("after {at} bytes");
        let part = || whole[..at].to_vec();
        all.push(steps("ends", name.clone(), Say::Wrong, pieces([part()])));
        all.push(
            steps(
                "resets",
                name.clone(),
                Say::Wrong,
                then(part(), Step::Reset(0x102)),
            )
            .saying("H3_INTERNAL_ERROR"),
        );
        all.push(
            steps(
                "closes",
                name.clone(),
                Say::Fails,
                then(part(), Step::Close(0x102)),
            )
            .saying("H3_INTERNAL_ERROR"),
        );
        if at % 5 == 0 {
            all.push(steps(
                "stops",
                name,
                Say::TimesOut,
                then(part(), Step::Silence),
            ));
        }
    }
    // Everything has come, but not the end.
    all.push(steps(
        "resets",
        "after all bytes",
        Say::Wrong,
        then(whole.clone(), Step::Reset(0x100)),
    ));
    all.push(steps(
        "stops",
        "after all bytes",
        Say::TimesOut,
        then(whole, Step::Silence),
    ));
    all
}
