use super::*;
use crate::contract::over_h2::frame::literal;
use prony_engine::protocol::h2::Decoder;
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Blocks of RFC 7541, C.5 and C.6, whose table has 256 bytes: a table size update stands before the first.
const RESIZED: &str = "3fe101";
const PLAIN: [&str; 3] = [
    "4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e176874747073\
     3a2f2f7777772e6578616d706c652e636f6d",
    "4803333037c1c0bf",
    "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48\
     514b425a584f5157454f5049554158515745 4f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
];
const HUFFMAN: [&str; 3] = [
    "488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae\
     43d3",
    "4883640effc1c0bf",
    "88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af\
     27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007",
];

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
    let pairs = digits.chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    pairs.map(byte).collect()
}

/// The blocks of a connection, the first with the size of its table.
fn connection(blocks: &[&str; 3]) -> Vec<Vec<u8>> {
    let mut all: Vec<_> = blocks.iter().map(|block| bytes(block)).collect();
    all[0].splice(0..0, bytes(RESIZED));
    all
}

fn field<'a>(head: &'a Head, name: &str) -> Option<&'a str> {
    head.fields.get(name).map(|value| value.to_str().unwrap())
}

#[test]
fn the_examples_of_the_standard_are_decoded() {
    for vectors in [&PLAIN, &HUFFMAN] {
        let mut blocks = Blocks::new();
        let heads: Vec<_> = connection(vectors)
            .iter()
            .map(|block| blocks.head(block).unwrap())
            .collect();
        for (head, status) in heads.iter().zip([302, 307, 200]) {
            assert_eq!(head.status, status);
            assert_eq!(field(head, "cache-control"), Some("private"));
            assert_eq!(field(head, "location"), Some("https://www.example.com"));
        }
        let date = |second| format!("Mon, 21 Oct 2013 20:13:2{second} GMT");
        assert_eq!(field(&heads[1], "date"), Some(&*date(1)));
        assert_eq!(field(&heads[2], "date"), Some(&*date(2)));
        assert_eq!(field(&heads[2], "content-encoding"), Some("gzip"));
        let cookie = "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1";
        assert_eq!(field(&heads[2], "set-cookie"), Some(cookie));
    }
}

#[test]
fn interim_heads_trailers_and_refused_heads_keep_the_table() {
    let mut blocks = Blocks::new();
    // `link: a` as entry 62 of the table, and then by its index.
    let added = b"\x6d\x01a";
    let interim = [&b"\x08\x03103"[..], added].concat();
    let head = blocks.head(&interim).unwrap();
    assert_eq!((head.status, field(&head, "link")), (103, Some("a")));
    let trailers = blocks.trailers(&[0xbe]).unwrap();
    assert_eq!(trailers.get("link").unwrap(), "a");
    let without_status = blocks.head(&[0xbe, 0x40, 1, b'x', 1, b'b']).unwrap_err();
    assert!(without_status.is_reset(), "{without_status}");
    let head = blocks.head(&[0x88, 0xbe, 0xbf]).unwrap();
    assert_eq!(
        (field(&head, "x"), field(&head, "link")),
        (Some("b"), Some("a"))
    );
    assert_eq!(blocks.trailers(&[]).unwrap().len(), 0);
    // A smaller table in trailers, which drives out `link`.
    let trailers = blocks
        .trailers(&[0x20, 0x3f, 0x06, 0x0f, 0x0c, 0x01, b'n'])
        .unwrap();
    assert_eq!(trailers.len(), 1);
    assert!(blocks.trailers(&OK).unwrap_err().is_reset());
    assert!(!blocks.head(&[0x88, 0xbe]).unwrap_err().is_reset());
}

#[test]
fn long_blocks_are_decoded_up_to_the_limit() {
    let mut blocks = Blocks::new();
    let with = |size: usize| {
        let mut block = OK.to_vec();
        literal("x", &"y".repeat(size), &mut block);
        block
    };
    let most = MOST_FIELDS - 200;
    assert_eq!(
        field(&blocks.head(&with(most)).unwrap(), "x")
            .unwrap()
            .len(),
        most
    );
    assert!(blocks.head(&with(MOST_FIELDS - 10)).unwrap_err().is_reset());
    // A frame of exactly the longest length, and one byte more.
    for size in [PIECE - 7, PIECE - 6] {
        let block = with(size);
        let head = blocks.head(&block).unwrap();
        assert_eq!(field(&head, "x").unwrap().len(), size);
    }
}

#[test]
fn heads_that_are_none_are_refused() {
    let named = |name: &str, value: &str| {
        let mut block = OK.to_vec();
        literal(name, value, &mut block);
        block
    };
    for (block, why) in [
        (Vec::new(), "nothing"),
        (bytes("3fe101"), "no field"),
        (named("Content-Type", "a"), "capitals"),
        (named("connection", "close"), "a field of a connection"),
        (named(":status", "200"), "two statuses"),
        (named("", "a"), "no name"),
        (named("a b", "a"), "no token"),
        (named("a", "b\r\nc: d"), "two lines"),
        (named(":path", "/"), ""),
        (b"\x08\x0220".to_vec(), "a status of two digits"),
        (b"\x08\x03abc".to_vec(), "a status without digits"),
        (b"\x58\x01a\x88".to_vec(), "the status behind a field"),
    ] {
        let found = Blocks::new().head(&block);
        // A pseudo-header field of requests is passed over, as by `h2` itself.
        assert_eq!(found.is_err(), !why.is_empty(), "{why}: {found:?}");
    }
}

/// Blocks that no decoder may take, each behind a head that is right.
fn hostile() -> Vec<(&'static str, Vec<u8>)> {
    let after = |rest: &[u8]| [&OK[..], rest].concat();
    let huge = [0xff; 12];
    vec![
        ("index 0", after(&[0x80])),
        ("an index that is in no table", after(&[0xbe])),
        ("an index of many bytes", after(&huge)),
        ("an endless index", after(&[0xff; 50_000])),
        (
            "zeros behind an index",
            after(&[&[0xff][..], &[0x80; 50_000], &[0]].concat()),
        ),
        (
            "a name of a huge length",
            after(&[&[0x00, 0x7f][..], &huge].concat()),
        ),
        ("a length up to 2^28", after(b"\x00\x7f\xff\xff\xff\x7fabc")),
        ("a value that is cut short", after(b"\x00\x01a\x05abc")),
        ("a field that is cut short", after(&[0x40])),
        ("a table of 4097 bytes", bytes("3fe21f88")),
        ("a table of 2^28 bytes", bytes("3fffffff7f88")),
        ("a table of many bytes", [&[0x3f][..], &huge, &OK].concat()),
        ("a table size behind a field", bytes("8820")),
        ("zeros as padding", after(b"\x00\x01a\x81\x00")),
        ("padding of 8 bits", after(b"\x00\x01a\x82\x1f\xff")),
        (
            "padding of 30 bits",
            after(b"\x00\x01a\x84\xff\xff\xff\xff"),
        ),
        (
            "the end of a string within it",
            after(b"\x00\x01a\x85\xff\xff\xff\xff\xff"),
        ),
    ]
}

#[test]
fn hostile_blocks_are_refused_and_the_connection_with_them() {
    for (why, block) in hostile() {
        let mut blocks = Blocks::new();
        let error = blocks.head(&block).expect_err(why);
        assert!(!error.is_reset(), "{why}: {error}");
        // Nothing that comes later is believed.
        assert!(blocks.head(&OK).is_err(), "{why}");
        assert!(blocks.trailers(&[]).is_err(), "{why}");
        assert!(Blocks::new().trailers(&block).is_err(), "{why}");
    }
}

/// Blocks that grow as they are decoded end at the limit, after a bounded time.
#[test]
fn blocks_that_swell_are_refused() {
    let start = Instant::now();
    // 5 bits for each `0`.
    let mut zeros = vec![0x88, 0x00, 0x01, b'a', 0xff, 0xe1, 0xf2, 0x03];
    zeros.extend([0; 64_096]);
    // An entry of 4 kB, and its index over and over: 240 MB.
    let mut entry = vec![0x88, 0x40, 0x01, b'a', 0x7f, 0x81, 0x1e];
    entry.extend([b'b'; 3_968]);
    entry.extend([0xbe; 60_000]);
    // Entries that drive each other out, without a name or a value.
    let churn = [&OK[..], &b"\x40\x01a\x00".repeat(16_000)].concat();
    // Table sizes without an end.
    let sizes = [&[0x20, 0x3f, 0xe1, 0x1f].repeat(16_000)[..], &OK].concat();
    // Empty strings in Huffman's code.
    let empty = [&OK[..], &b"\x00\x81\x1f\x80".repeat(16_000)].concat();
    for (why, block) in [
        ("zeros", zeros),
        ("an entry", entry),
        ("churn", churn),
        ("empty strings", empty),
    ] {
        assert!(block.len() <= MOST_FIELDS, "{why}");
        assert!(Blocks::new().head(&block).is_err(), "{why}");
        assert!(Blocks::new().trailers(&block[1..]).is_err(), "{why}");
    }
    assert_eq!(Blocks::new().head(&sizes).unwrap().status, 200);
    // Detects a hang only.
    assert!(start.elapsed() < Duration::from_secs(60));
}

/// Names and values in an order that does not depend on the names' order.
fn sorted(mut fields: Vec<(Vec<u8>, Vec<u8>)>) -> Vec<(Vec<u8>, Vec<u8>)> {
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    fields
}

/// Decodes a connection's blocks with both decoders: the load's must read all that `h2` takes, and the same.
fn agree(all: &[Vec<u8>]) -> Result<usize, TestCaseError> {
    let (mut blocks, mut decoder) = (Blocks::new(), Decoder::default());
    let mut taken = 0;
    for block in all {
        let mut fields = Vec::new();
        let loads = decoder.decode(block, MOST_FIELDS, |name, value| {
            fields.push((name.to_vec(), value.to_vec()));
        });
        match blocks.head(block) {
            Ok(head) => {
                prop_assert_eq!(loads, Ok(()));
                let status = (b":status".to_vec(), head.status.to_string().into_bytes());
                let named = head.fields.iter();
                let named = named.map(|(n, v)| (n.as_str().into(), v.as_bytes().to_vec()));
                let own = named.chain([status]).collect();
                fields.retain(|(name, _)| name == b":status" || !name.starts_with(b":"));
                prop_assert_eq!(sorted(fields), sorted(own));
                taken += 1;
            }
            // A head that is none, but not in HPACK's terms.
            Err(error) if error.is_reset() => {}
            Err(_) => break,
        }
    }
    Ok(taken)
}

#[test]
fn the_decoder_of_loads_agrees_on_the_examples_of_the_standard() {
    for vectors in [&PLAIN, &HUFFMAN] {
        assert_eq!(agree(&connection(vectors)).unwrap(), 3);
    }
}

#[test]
fn the_decoder_of_loads_agrees_on_the_static_table() {
    for index in 1..=61 {
        // The name alone, the whole entry, and the entry as the whole head.
        let name: &[u8] = match index {
            0..15 => &[index, 1, b'v'],
            _ => &[0x0f, index - 15, 1, b'v'],
        };
        let whole = [0x80 | index];
        for block in [
            [&OK[..], name].concat(),
            [OK, whole].concat(),
            whole.to_vec(),
        ] {
            agree(&[block]).unwrap();
        }
    }
    let names = (15..=61).map(|index| [&OK[..], &[0x0f, index - 15, 1, b'v']].concat());
    // A length is a number, and a transfer coding has no place in HTTP/2.
    let allowed = |index: &u8| ![28, 57].contains(index);
    let count = (15..=61).filter(allowed).count();
    assert_eq!(agree(&names.collect::<Vec<_>>()).unwrap(), count);
}

/// A field in one of the ways in which a server writes it.
fn written() -> impl Strategy<Value = Vec<u8>> {
    let name = "[a-z][a-z0-9-]{0,20}";
    let value = "[ -~]{0,200}";
    prop_oneof![
        (62..70_u8).prop_map(|index| vec![0x80 | index]),
        (15..=61_u8, value).prop_map(|(index, value)| {
            let mut field = vec![0x40 | index];
            field.extend(text(&value));
            field
        }),
        (any::<u8>(), name, value).prop_map(|(form, name, value)| {
            let mut field = vec![[0x00, 0x10, 0x40, 0x40][usize::from(form % 4)]];
            field.extend(text(&name));
            field.extend(text(&value));
            field
        }),
    ]
}

/// A string that is not compressed.
fn text(text: &str) -> Vec<u8> {
    let mut field = Vec::new();
    literal("", text, &mut field);
    field.split_off(2)
}

/// Blocks of a connection, of which some begin with a table size.
fn written_blocks() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let size = prop_oneof![
        3 => Just(Vec::new()),
        1 => Just(vec![0x20]),
        1 => Just(vec![0x3f, 0xe1, 0x01]),
        1 => Just(vec![0x3f, 0xe1, 0x1f]),
    ];
    let block = (size, prop::collection::vec(written(), 0..12))
        .prop_map(|(size, fields)| [size, OK.to_vec(), fields.concat()].concat());
    prop::collection::vec(block, 1..8)
}

proptest! {
    #[test]
    fn the_decoder_of_loads_agrees_on_random_fields(all in written_blocks()) {
        agree(&all)?;
    }

    #[test]
    fn the_decoder_of_loads_agrees_on_damaged_examples(
        compressed in any::<bool>(),
        damage in prop::collection::vec((0..3_usize, any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let mut all = connection(if compressed { &HUFFMAN } else { &PLAIN });
        for (block, at, byte) in damage {
            let at = at.index(all[block].len());
            all[block][at] = byte;
        }
        agree(&all)?;
    }

    #[test]
    fn random_bytes_are_no_danger(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 1..4)) {
        agree(&all)?;
        let mut blocks = Blocks::new();
        for block in &all {
            let _ = blocks.trailers(block);
        }
    }
}
