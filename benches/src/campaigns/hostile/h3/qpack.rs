//! QPACK that cannot be decoded, or that uses what was not allowed.

use super::answers::field;
use super::{Case, OK, Say, Step, answer, bytes, right, steps};

/// Header sections (RFC 9204, 4.5).
pub fn sections() -> Vec<Case> {
    let class = "QPACK";
    let mut all = Vec::new();
    for (name, section) in [
        ("a base without a table", &b"\0\x05\xd9"[..]),
        ("a base in two bytes", b"\0\x7f\x05\xd9"),
        ("a status by its name", b"\0\0\x5f\x09\x03200"),
        ("a status as it stands", b"\0\0\x27\0:status\x03200"),
        (
            "fields that are never indexed",
            b"\0\0\xd9\x31x\x01y\x72\x01y",
        ),
        ("a Huffman code", b"\0\0\x5f\x09\x82\x10\x01"),
    ] {
        all.push(bytes(class, name, Say::Right, answer(section, b"hello")));
    }
    for (name, section, words) in [
        ("nothing", &b""[..], "ends within"),
        ("half a prefix", b"\0", "ends within"),
        ("a count of insertions", b"\x02\0\xd9", "dynamic table"),
        (
            "a count of insertions, and a field",
            b"\x02\0\x80",
            "dynamic table",
        ),
        (
            "the largest count",
            b"\xff\xff\xff\xff\x7f\0\xd9",
            "dynamic table",
        ),
        (
            "a count without end",
            b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\0\xd9",
            "28 bits",
        ),
        ("a base below zero", b"\0\x80\xd9", "base"),
        (
            "a base without end",
            b"\0\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xd9",
            "28 bits",
        ),
        (
            "a field of the dynamic table",
            b"\0\0\xd9\x80",
            "dynamic table",
        ),
        (
            "a far field of it",
            b"\0\0\xd9\xbf\xff\x01",
            "dynamic table",
        ),
        ("a field after the base", b"\0\0\xd9\x10", "dynamic table"),
        (
            "a name of the dynamic table",
            b"\0\0\xd9\x40\x01y",
            "dynamic table",
        ),
        (
            "a name after the base",
            b"\0\0\xd9\x02\x01y",
            "dynamic table",
        ),
        (
            "the field after the last one",
            b"\0\0\xd9\xff\x24",
            "no table",
        ),
        (
            "a field far behind the last one",
            b"\0\0\xd9\xff\xff\xff\xff\x07",
            "no table",
        ),
        (
            "a field without end",
            b"\0\0\xd9\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "28 bits",
        ),
        (
            "a name after the last one",
            b"\0\0\xd9\x5f\x54\x01y",
            "no table",
        ),
        ("a name cut off", b"\0\0\xd9\x23x", ""),
        ("a value cut off", b"\0\0\xd9\x21x\x05y", ""),
        ("no value", b"\0\0\xd9\x21x", ""),
        (
            "a value without end",
            b"\0\0\xd9\x21x\x7f\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            "",
        ),
        (
            "a value of 2 MiB that is not there",
            b"\0\0\xd9\x21x\x7f\xff\xff\x7fy",
            "",
        ),
        (
            "Huffman code that is padded with zeros",
            b"\0\0\xd9\x21x\x81\x18",
            "Huffman",
        ),
        (
            "Huffman code with more padding than a byte",
            b"\0\0\xd9\x21x\x82\x1f\xff",
            "Huffman",
        ),
        (
            "the end of Huffman code",
            b"\0\0\xd9\x21x\x84\xff\xff\xff\xff",
            "Huffman",
        ),
        (
            "a name in Huffman code that is none",
            b"\0\0\xd9\x29\0\x01y",
            "Huffman",
        ),
    ] {
        all.push(bytes(class, name, Say::Wrong, answer(section, b"hello")).saying(words));
    }
    // A byte for each field of the table, of 60 and more; and a code that is longer when it is decoded.
    for (name, fields) in [
        ("a bomb of the static table", vec![0xdd; 60_000]),
        ("a bomb of empty fields", [0x20, 0].repeat(30_000)),
        (
            "a bomb in Huffman code",
            // 'a' has five bits.
            [
                &b"\x21x\xff\xe1\xd3\x03"[..],
                &[0x18, 0xc6, 0x31, 0x8c, 0x63].repeat(12_000),
            ]
            .concat(),
        ),
    ] {
        let section = [OK, &fields].concat();
        all.push(bytes(class, name, Say::Wrong, answer(&section, b"hello")));
    }
    all
}

/// Streams of the server's encoder and decoder.
pub fn streams() -> Vec<Case> {
    let class = "QPACK streams";
    let on = |name: &str, say, kind: u8, bytes: &[u8], words| {
        let open = Step::Open([&[kind], bytes].concat());
        let after = match say {
            Say::Right => right(),
            // What is wrong is found without an answer.
            _ => vec![Step::Silence],
        };
        let mut case = steps(class, name, say, after).saying(words);
        case.server.setup.first = vec![open];
        case
    };
    let (encoder, decoder) = (2, 3);
    let mut all = vec![
        on("an encoder that says nothing", Say::Right, encoder, b"", ""),
        on("a decoder that says nothing", Say::Right, decoder, b"", ""),
        on(
            "an encoder with a table of no bytes",
            Say::Right,
            encoder,
            b"\x20",
            "",
        ),
        on(
            "a decoder that gives up a stream",
            Say::Right,
            decoder,
            b"\x40\x44\x7f\x05",
            "",
        ),
    ];
    for (name, bytes) in [
        ("a table of 1 byte", &b"\x21"[..]),
        ("a table of 4,096 bytes", b"\x3f\xe1\x1f"),
        (
            "a table of too many bytes",
            b"\x3f\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ),
        ("an insertion with a static name", b"\xc0\x01y"),
        ("an insertion with a dynamic name", b"\x80\x01y"),
        ("an insertion as it stands", b"\x41x\x01y"),
        ("an insertion of a megabyte", b"\x41x\x7f\xc1\x84\x3d"),
        ("a duplicate", b"\0"),
    ] {
        let name = format!("encoder: {name}");
        all.push(on(&name, Say::Fails, encoder, bytes, "QPACK"));
    }
    for (name, bytes) in [
        ("an acknowledged section", &b"\x80"[..]),
        ("insertions that were never made", b"\x01"),
        ("no insertions", b"\0"),
        (
            "a stream without end",
            b"\x7f\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        ),
    ] {
        let name = format!("decoder: {name}");
        all.push(on(&name, Say::Fails, decoder, bytes, "QPACK"));
    }
    for (kind, name) in [(encoder, "encoder"), (decoder, "decoder")] {
        let mut twice = steps(
            class,
            format!("two of the {name}"),
            Say::Fails,
            vec![Step::Silence],
        );
        twice.server.setup.first = vec![Step::Open(vec![kind]), Step::Open(vec![kind])];
        all.push(twice.saying("second"));
        let mut ends = steps(
            class,
            format!("an {name} that ends"),
            Say::Fails,
            vec![Step::Silence],
        );
        ends.server.setup.first = vec![Step::OpenEnded(vec![kind])];
        all.push(ends.saying("critical stream"));
    }
    // An answer in fields that were put into the table, which is not waited for.
    let mut blocked = bytes(
        class,
        "an answer that waits for an insertion",
        Say::Wrong,
        answer(b"\x02\0\x80", b"hello"),
    );
    blocked.server.setup.first = vec![Step::Open(vec![encoder])];
    all.push(blocked.saying("dynamic table"));
    let large = field("x", &"v".repeat(1_000)).repeat(60);
    all.push(bytes(
        class,
        "none, and 60 KB of fields",
        Say::Right,
        answer(&[OK, &large].concat(), b"hello"),
    ));
    all
}
