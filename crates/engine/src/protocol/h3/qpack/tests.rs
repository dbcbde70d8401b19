use super::*;
use proptest::prelude::*;

fn text(section: &[u8]) -> Result<String, HpackError> {
    let mut lines = Vec::new();
    Decoder::default().decode(section, 65_536, |name, value| {
        let (name, value) = (
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(value),
        );
        lines.push(format!("{name}={value}"));
    })?;
    Ok(lines.join("|"))
}

#[test]
fn an_example_of_the_rfc() {
    // B.1: a literal value with a name of the static table.
    let section = b"\x00\x00\x51\x0b/index.html";
    assert_eq!(text(section).unwrap(), ":path=/index.html");
    let mut ours = Vec::new();
    begin(&mut ours);
    put(":path", b"/index.html", &mut ours);
    assert_eq!(ours, section);
}

#[test]
fn fields_of_a_dynamic_table_are_refused() {
    for section in [
        // A required insert count of 1; an indexed field, one by its name, and both after the base.
        &b"\x02\x00\xd1"[..],
        b"\x00\x00\x80",
        b"\x00\x00\x40\x01a",
        b"\x00\x00\x10",
        b"\x00\x00\x00\x01a",
    ] {
        assert_eq!(text(section), Err(DYNAMIC), "{}", section.escape_ascii());
    }
}

#[test]
fn nonsense_is_refused() {
    for section in [
        &b""[..],
        b"\x00",
        b"\x00\x00\xff\x24",
        b"\x00\x80\xd9",
        b"\x00\x00\x23ab",
        b"\x00\x00\x51\x05ab",
    ] {
        assert!(text(section).is_err(), "{}", section.escape_ascii());
    }
    let long = [&b"\x00\x00"[..], &[0xd1; 3]].concat();
    let limit = 3 * (":method".len() + "GET".len() + OVERHEAD);
    let decode = |limit| Decoder::default().decode(&long, limit, |_, _| {});
    assert_eq!(decode(limit), Ok(()));
    assert_eq!(decode(limit - 1), Err(HpackError::TooLong));
}

proptest! {
    #[test]
    fn fields_survive(fields: Vec<(String, Vec<u8>)>, known in 0..99_usize) {
        let mut section = Vec::new();
        begin(&mut section);
        let (name, value) = TABLE[known];
        put(name, value.as_bytes(), &mut section);
        for (name, value) in &fields {
            put(name, value, &mut section);
        }
        let mut found = Vec::new();
        Decoder::default()
            .decode(&section, usize::MAX, |name, value| found.push((name.to_vec(), value.to_vec())))
            .unwrap();
        let (first, rest) = found.split_first().unwrap();
        prop_assert_eq!(&first.0[..], name.as_bytes());
        prop_assert_eq!(&first.1[..], value.as_bytes());
        let expected: Vec<_> = fields.into_iter().map(|(name, value)| (name.into_bytes(), value)).collect();
        prop_assert_eq!(rest, &expected[..]);
    }

    #[test]
    fn any_bytes_end(bytes: Vec<u8>) {
        let _ = text(&bytes);
    }
}
