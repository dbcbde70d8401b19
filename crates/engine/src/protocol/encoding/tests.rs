use super::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write;

const TEXT: &[u8] = b"hello, hello, hello, prony hello hello";
const LIMIT: u64 = 1 << 20;

/// The text as other programs encoded it: zlib and Brotli of Node.js, and `zstd --check`.
const OTHERS: [(&str, &str); 5] = [
    (
        "gzip",
        "1f8b0800000000000003cb48cdc9c9d751c840a10a8af2f32a211c080900954b55bd26000000",
    ),
    (
        "deflate",
        "789ccb48cdc9c9d751c840a10a8af2f32a211c08090007ca0dc1",
    ),
    ("deflate", "cb48cdc9c9d751c840a10a8af2f32a211c080900"),
    (
        "br",
        "1b2500f89d09364ea87737bc0441834b1636b72a93cb37b6bc24841579320105383829e87e01",
    ),
    (
        "zstd",
        "28b52ffd0468f50000c068656c6c6f2c2070726f6e792068656c6c6f2068656c6c6f0100928b117d9c0e61",
    ),
];

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

fn encoding(value: &str) -> Encoding {
    Encoding::of([value.as_bytes()])
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn raw(body: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zstd(body: &[u8]) -> Vec<u8> {
    compress_to_vec(body, CompressionLevel::Fastest)
}

/// Brotli without compression: a head of 24 bits with the length, the bytes, and an empty last block (RFC 7932, 9.2).
fn brotli(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for piece in body.chunks(1 << 16) {
        // The window's size is said once, in the first bit.
        assert!(out.is_empty(), "one block is enough here");
        let head = ((piece.len() as u32 - 1) << 4) | 1 << 20;
        out.extend_from_slice(&head.to_le_bytes()[..3]);
        out.extend_from_slice(piece);
    }
    out.push(3);
    out
}

#[test]
fn what_others_have_encoded_is_decoded() {
    for (name, hex) in OTHERS {
        let decoded = encoding(name).decode(&bytes(hex), LIMIT).unwrap();
        assert_eq!(
            decoded.escape_ascii().to_string(),
            TEXT.escape_ascii().to_string(),
            "{name}"
        );
    }
}

#[test]
fn a_body_that_is_cut_short_or_changed_is_no_body() {
    for (name, hex) in OTHERS {
        let whole = bytes(hex);
        for end in 1..whole.len() {
            let cut = encoding(name).decode(&whole[..end], LIMIT);
            assert!(cut.is_err(), "{name} to {end}: {cut:?}");
        }
        let mut more = whole.clone();
        more.extend_from_slice(b"more");
        let wrong = encoding(name).decode(&more, LIMIT).unwrap_err();
        assert!(wrong.contains(name), "{wrong}");
    }
    for (name, hex) in [OTHERS[0], OTHERS[1], OTHERS[4]] {
        // The last bytes before the length (gzip), and the last ones (zlib, zstd), are of a checksum.
        let mut changed = bytes(hex);
        let at = changed.len() - if name == "gzip" { 6 } else { 2 };
        changed[at] ^= 1;
        let wrong = encoding(name).decode(&changed, LIMIT).unwrap_err();
        assert!(wrong.contains("is broken"), "{name}: {wrong}");
    }
}

#[test]
fn plain_bytes_and_other_codings_are_told() {
    for name in ["gzip", "br", "zstd", "deflate"] {
        let wrong = encoding(name).decode(b"hello you", LIMIT).unwrap_err();
        assert!(wrong.contains(name), "{wrong}");
    }
    let wrong = encoding("gzip").decode(b"hello you", LIMIT).unwrap_err();
    assert_eq!(
        wrong,
        "Content-Encoding says gzip, which the body is not; it begins with \"hello you\""
    );
    let wrong = encoding("gzip").decode(&zstd(TEXT), LIMIT).unwrap_err();
    assert!(wrong.contains("which the body is not"), "{wrong}");
    let wrong = encoding("gzip, snappy").decode(TEXT, LIMIT).unwrap_err();
    assert_eq!(
        wrong,
        "Content-Encoding: snappy: only deflate, gzip, br and zstd are decoded"
    );
    let six = ["gzip"; 6].join(",");
    let wrong = encoding(&six).decode(TEXT, LIMIT).unwrap_err();
    assert!(wrong.contains("6 codings"), "{wrong}");
}

#[test]
fn several_codings_are_taken_off_from_the_last_to_the_first() {
    let body = brotli(&gzip(TEXT));
    let both = encoding(" GZIP ,br");
    assert_eq!(both.name(), "gzip, br");
    assert_eq!(both.decode(&body, LIMIT).unwrap(), TEXT);
    assert!(encoding("br, gzip").decode(&body, LIMIT).is_err());
    let two_fields = Encoding::of([&b"x-gzip"[..], b"identity, br"]);
    assert_eq!(two_fields.decode(&body, LIMIT).unwrap(), TEXT);
}

#[test]
fn identity_and_nothing_leave_the_body() {
    for value in ["", "identity", " , "] {
        let none = encoding(value);
        assert_eq!((none.name(), none.is_identity()), (IDENTITY, true));
        assert_eq!(none.decode(TEXT, LIMIT).unwrap(), TEXT);
    }
    assert!(!encoding("gzip").is_identity());
    assert!(!encoding("snappy").is_identity());
    assert_eq!(encoding("gzip").decode(b"", LIMIT).unwrap(), b"");
    let long = "é".repeat(100);
    assert_eq!(encoding(&long).name().chars().count(), SHOWN + 1);
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn a_bomb_is_decoded_to_the_limit_only() {
    let zeros = vec![0; 1 << 16];
    let exact = zeros.len() as u64;
    type Encode = fn(&[u8]) -> Vec<u8>;
    let all: [(&str, Encode); 5] = [
        ("gzip", gzip),
        ("deflate", zlib),
        ("deflate", raw),
        ("br", brotli),
        ("zstd", zstd),
    ];
    for (name, encode) in all {
        let body = encode(&zeros);
        assert_eq!(
            encoding(name).decode(&body, exact).unwrap(),
            zeros,
            "{name}"
        );
        for limit in [0, 1, 5_000, exact - 1] {
            let wrong = encoding(name).decode(&body, limit).unwrap_err();
            let expected = format!("the body, without its {name}, is longer than {limit} bytes");
            assert_eq!(wrong, expected);
        }
    }
    // Small twice over, and too long between the two.
    let twice = gzip(&gzip(&vec![0; 10 << 20]));
    assert!(twice.len() < 1_000, "{}", twice.len());
    let wrong = encoding("gzip, gzip").decode(&twice, 1 << 10).unwrap_err();
    assert!(wrong.contains("longer than 1024 bytes"), "{wrong}");
}

#[test]
fn parts_that_follow_one_another_are_one_body() {
    let twice = [gzip(b"hello, "), gzip(b"you")].concat();
    assert_eq!(
        encoding("gzip").decode(&twice, LIMIT).unwrap(),
        b"hello, you"
    );
    assert!(encoding("gzip").decode(&twice, 8).is_err());
    let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let frames = [zstd(b"hello, "), skipped.to_vec(), zstd(b"you")].concat();
    assert_eq!(
        encoding("zstd").decode(&frames, LIMIT).unwrap(),
        b"hello, you"
    );
    let cut = [zstd(b"hello, "), skipped[..9].to_vec()].concat();
    let wrong = encoding("zstd").decode(&cut, LIMIT).unwrap_err();
    assert!(wrong.contains("cut short"), "{wrong}");
}

proptest! {
    #[test]
    fn whatever_comes_is_decoded_or_told_within_the_limit(
        which in 0..OTHERS.len(),
        at in 0..60_usize,
        put in proptest::collection::vec(any::<u8>(), 0..40),
        limit in 0..200_u64,
    ) {
        let (name, hex) = OTHERS[which];
        let mut body = bytes(hex);
        let at = at.min(body.len());
        let end = (at + put.len()).min(body.len());
        body.splice(at..end, put);
        if let Ok(decoded) = encoding(name).decode(&body, limit) {
            prop_assert!(decoded.len() as u64 <= limit);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "takes too long")]
    fn what_was_encoded_is_decoded(body in proptest::collection::vec(0..4_u8, 1..5_000)) {
        for (name, encoded) in [("gzip", gzip(&body)), ("deflate", zlib(&body)), ("deflate", raw(&body)), ("zstd", zstd(&body)), ("br", brotli(&body))] {
            prop_assert_eq!(&encoding(name).decode(&encoded, LIMIT).unwrap(), &body, "{}", name);
        }
    }
}
