use super::*;
use proptest::prelude::*;

const HANDSHAKE: &[u8] =
    b"GET /chat HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_header(first, payload.len() as u64, &mut out);
    out[1] |= MASKED;
    out.extend_from_slice(&MASK);
    out.extend(
        payload
            .iter()
            .zip(MASK.iter().cycle())
            .map(|(byte, key)| byte ^ key),
    );
    out
}

fn plain(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_frame(first, payload, &mut out);
    out
}

/// Returns the output for input in these pieces, the number of messages, and the state of the connection.
fn said(pieces: &[&[u8]]) -> (Vec<u8>, u32, Then) {
    let (mut ws, mut scratch, date) = (Ws::default(), Vec::new(), Date::at(0));
    let (mut out, mut requests, mut then) = (Vec::new(), 0, Then::Keep);
    for piece in pieces {
        let reply = ws.receive(piece, &date, &mut scratch);
        out.extend_from_slice(reply.bytes);
        requests += reply.requests;
        if reply.then != Then::Keep {
            then = reply.then;
        }
    }
    (out, requests, then)
}

/// The same after a handshake.
fn after(input: &[u8]) -> (Vec<u8>, u32, Then) {
    let (out, requests, then) = said(&[HANDSHAKE, input]);
    let (head, _, _) = said(&[HANDSHAKE]);
    (out[head.len()..].to_vec(), requests, then)
}

#[test]
fn the_handshake_of_the_rfc_is_agreed_to() {
    let (out, requests, then) = said(&[HANDSHAKE]);
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("HTTP/1.1 101 Switching Protocols\r\n"),
        "{text}"
    );
    assert!(
        text.contains("\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"),
        "{text}"
    );
    assert_eq!((requests, then), (0, Then::Keep));
}

#[test]
fn what_is_no_handshake_is_refused() {
    let text = std::str::from_utf8(HANDSHAKE).unwrap();
    for (request, status) in [
        (text.replace("GET", "POST"), "400"),
        (text.replace("Host: h\r\n", ""), "400"),
        (text.replace(": websocket", ": h2c"), "426"),
        (text.replace(", Upgrade", ""), "426"),
        (text.replace("Version: 13", "Version: 8"), "426"),
        (text.replace("Q==", "Qw=="), "400"),
        (text.replace("Sec-WebSocket-Key", "Key"), "400"),
        (format!("\u{1}{text}"), "400"),
        (
            format!("GET / HTTP/1.1\r\n{}", "A: b\r\n".repeat(3_000)),
            "4",
        ),
    ] {
        let (out, _, then) = said(&[request.as_bytes()]);
        let out = String::from_utf8(out).unwrap();
        assert!(
            out.starts_with(&format!("HTTP/1.1 {status}")),
            "{request}: {out}"
        );
        assert_eq!(then, Then::Linger);
    }
}

#[test]
fn messages_pings_and_close_frames_are_answered() {
    let text = "hé€🦀".as_bytes();
    for (input, output, messages) in [
        (masked(0x81, text), plain(0x81, text), 1),
        (masked(0x82, &[255; 70_000]), plain(0x82, &[255; 70_000]), 1),
        (masked(0x82, b""), plain(0x82, b""), 1),
        (masked(0x89, b"there?"), plain(0x8a, b"there?"), 0),
        (masked(0x8a, b"here"), vec![], 0),
        (
            [
                masked(0x01, &text[..2]),
                masked(0x89, b"x"),
                masked(0x80, &text[2..]),
            ]
            .concat(),
            [
                plain(0x01, &text[..2]),
                plain(0x8a, b"x"),
                plain(0x80, &text[2..]),
            ]
            .concat(),
            1,
        ),
    ] {
        assert_eq!(after(&input), (output, messages, Then::Keep));
    }
    for payload in [&b""[..], b"\x03\xe8", b"\x0f\xa0"] {
        let (out, _, then) = after(&[masked(0x88, payload), masked(0x82, b"more")].concat());
        assert_eq!((out, then), (plain(0x88, payload), Then::Linger));
    }
}

#[test]
fn what_no_client_may_send_ends_the_connection() {
    let protocol = plain(0x88, &PROTOCOL.to_be_bytes());
    let not_text = plain(0x88, &NOT_TEXT.to_be_bytes());
    for (input, output) in [
        (plain(0x82, b"unmasked"), &protocol),
        (masked(0xc2, b"x"), &protocol),
        (masked(0x83, b"x"), &protocol),
        (masked(0x09, b"x"), &protocol),
        (masked(0x89, &[0; 126]), &protocol),
        (masked(0x80, b"x"), &protocol),
        (masked(0x88, b"x"), &protocol),
        (masked(0x88, b"\x03\xed"), &protocol),
        (masked(0x81, b"x\xff"), &not_text),
        (
            masked(0x81, "é".as_bytes().split_last().unwrap().1),
            &not_text,
        ),
    ] {
        assert_eq!(
            after(&input),
            (output.clone(), 0, Then::Linger),
            "{input:x?}"
        );
    }
    let (_, _, then) = after(&[masked(0x01, b"a"), masked(0x81, b"b")].concat());
    assert_eq!(then, Then::Linger, "a message inside another");
}

proptest! {
    #[test]
    fn any_pieces_give_the_same(
        sizes in proptest::collection::vec((0usize..300, any::<bool>()), 1..8),
        cuts in proptest::collection::vec(1usize..200, 1..30),
    ) {
        let (mut wire, mut expected) = (HANDSHAKE.to_vec(), said(&[HANDSHAKE]).0);
        for &(size, text) in &sizes {
            let (first, byte) = if text { (0x81, b'e') } else { (0x82, 0xfe) };
            wire.extend(masked(first, &vec![byte; size]));
            expected.extend(plain(first, &vec![byte; size]));
        }
        let (mut pieces, mut rest) = (Vec::new(), &wire[..]);
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, tail) = rest.split_at(rest.len().min(*cut));
            pieces.push(piece);
            rest = tail;
        }
        let (out, requests, then) = said(&pieces);
        prop_assert_eq!(out, expected);
        prop_assert_eq!((requests, then), (sizes.len() as u32, Then::Keep));
    }
}
