use super::*;
use proptest::prelude::*;

pub(super) fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex
        .chars()
        .filter_map(|digit| Some(digit.to_digit(16)? as u8))
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

fn text(decoder: &mut Decoder, block: &[u8]) -> Result<String, HpackError> {
    let mut lines = Vec::new();
    decoder.decode(block, 65_536, |name, value| {
        let (name, value) = (
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(value),
        );
        lines.push(format!("{name}={value}"));
    })?;
    Ok(lines.join("|"))
}

#[test]
fn examples_of_the_rfc() {
    // C.3 (requests without Huffman) and C.4 (with it): three blocks on one connection, and the table's size after each.
    let all = [
        ":method=GET|:scheme=http|:path=/|:authority=www.example.com",
        ":method=GET|:scheme=http|:path=/|:authority=www.example.com|cache-control=no-cache",
        ":method=GET|:scheme=https|:path=/index.html|:authority=www.example.com|custom-key=custom-value",
    ];
    for blocks in [
        [
            "828684410f7777772e6578616d706c652e636f6d",
            "828684be58086e6f2d6361636865",
            "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
        ],
        [
            "828684418cf1e3c2e5f23a6ba0ab90f4ff",
            "828684be5886a8eb10649cbf",
            "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
        ],
    ] {
        let mut decoder = Decoder::default();
        for ((block, fields), size) in blocks.into_iter().zip(all).zip([57, 110, 164]) {
            assert_eq!(text(&mut decoder, &bytes(block)).unwrap(), fields);
            assert_eq!(decoder.size, size);
        }
    }
}

#[test]
fn entries_are_evicted_as_in_the_rfc() {
    // C.5: responses with a table of 256 bytes, here set by an update in front.
    let blocks = [
        "3fe101 4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d",
        "4803333037c1c0bf",
        "88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31",
    ];
    let mut decoder = Decoder::default();
    let mut last = String::new();
    for (block, size) in blocks.into_iter().zip([222, 222, 215]) {
        last = text(&mut decoder, &bytes(block)).unwrap();
        assert_eq!(decoder.size, size);
    }
    assert_eq!(
        last,
        ":status=200|cache-control=private|date=Mon, 21 Oct 2013 20:13:22 GMT|location=https://www.example.com|\
         content-encoding=gzip|set-cookie=foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"
    );
}

#[test]
fn what_is_not_hpack_is_refused() {
    for hex in [
        "80",             // index 0
        "be",             // an empty dynamic table
        "ff",             // an integer that does not end
        "ffffffffffff7f", // one that is too large
        "0005",           // a string that does not end
        "0081ff00",       // an invalid Huffman code
        "8820",           // a table size update after a field
        "3fe21f",         // a table of 4,097 bytes
    ] {
        let result = text(&mut Decoder::default(), &bytes(hex));
        assert!(
            matches!(result, Err(HpackError::Invalid(_))),
            "{hex}: {result:?}"
        );
    }
}

#[test]
fn a_bomb_ends_at_the_limit() {
    let mut decoder = Decoder::default();
    let mut block = Vec::new();
    put("x", "a".repeat(4000), Form::Added, &mut block);
    for _ in 0..10_000 {
        put_index(DYNAMIC, &mut block);
    }
    let mut shown = 0;
    let result = decoder.decode(&block, 65_536, |_, value| shown += value.len());
    assert_eq!(result, Err(HpackError::TooLong));
    assert!(shown <= 65_536);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        fields in proptest::collection::vec(("[a-z-]{1,40}", "[ -~]{0,300}", any::<bool>()), 0..20),
    ) {
        let mut block = Vec::new();
        for (name, value, added) in &fields {
            let form = if *added { Form::Added } else { Form::Literal };
            put(name, value, form, &mut block);
        }
        let lines: Vec<_> = fields.iter().map(|(n, v, _)| format!("{n}={v}")).collect();
        let mut decoder = Decoder::default();
        prop_assert_eq!(text(&mut decoder, &block).unwrap(), lines.join("|"));
        prop_assert!(decoder.size <= TABLE_SIZE);
    }

    #[test]
    fn any_bytes_are_survived(block in proptest::collection::vec(any::<u8>(), 0..600)) {
        let mut decoder = Decoder::default();
        let _ = text(&mut decoder, &block);
        prop_assert!(decoder.size <= TABLE_SIZE);
    }
}
