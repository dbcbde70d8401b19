use super::*;

const REQUEST: &[u8] = b"\x82\x87\x01\x01x\x04\x05/path";

fn settings(payload: &[u8]) -> Vec<u8> {
    let mut out = PREFACE.to_vec();
    frame::put(kind::SETTINGS, 0, 0, payload, &mut out);
    out
}

fn headers(stream: u32, flags: u8, block: &[u8], out: &mut Vec<u8>) {
    frame::put(kind::HEADERS, flags, stream, block, out);
}

/// Returns the output for all of the input, which comes in pieces of `size` bytes, the number of requests, and the
/// state of the connection.
fn answers(input: &[u8], size: usize) -> (Vec<u8>, u32, Then) {
    let (mut session, date) = (H2::default(), Date::at(0));
    let (mut out, mut requests, mut then, mut scratch) = (Vec::new(), 0, Then::Keep, Vec::new());
    for piece in input.chunks(size) {
        let reply = session.receive(piece, &date, &mut scratch);
        out.extend_from_slice(reply.bytes);
        requests += reply.requests;
        then = reply.then;
    }
    (out, requests, then)
}

/// Kind, flags, stream and payload of each frame.
fn frames(mut bytes: &[u8]) -> Vec<(u8, u8, u32, Vec<u8>)> {
    let mut all = Vec::new();
    while let Ok(Some(header)) = FrameHeader::read(bytes) {
        let end = frame::HEADER + header.length;
        let payload = bytes[frame::HEADER..end].to_vec();
        all.push((header.kind, bytes[4], header.stream, payload));
        bytes = &bytes[end..];
    }
    assert!(bytes.is_empty());
    all
}

const WHOLE: u8 = flag::END_HEADERS | flag::END_STREAM;
const BODY: &[u8] = b"/path at Thu, 01 Jan 1970 00:00:00 GMT";

#[test]
fn requests_are_answered_however_their_bytes_come() {
    let mut input = settings(&[]);
    headers(1, WHOLE, REQUEST, &mut input);
    frame::put(kind::PING, 0, 0, b"12345678", &mut input);
    headers(3, flag::END_HEADERS, REQUEST, &mut input);
    frame::put(kind::DATA, 0, 3, b"a body", &mut input);
    frame::put(kind::DATA, flag::END_STREAM, 3, b"", &mut input);
    let whole = answers(&input, input.len());
    assert_eq!((whole.1, whole.2), (2, Then::Keep));
    for size in [1, 2, 9, 13] {
        assert_eq!(answers(&input, size), whole, "{size}");
    }
    let frames = frames(&whole.0);
    let kinds: Vec<_> = frames.iter().map(|frame| (frame.0, frame.2)).collect();
    assert_eq!(
        kinds,
        [
            (4, 0),
            (4, 0),
            (1, 1),
            (0, 1),
            (6, 0),
            (8, 0),
            (8, 3),
            (1, 3),
            (0, 3)
        ]
    );
    assert_eq!(frames[3].3, BODY);
    let mut fields = Vec::new();
    Decoder::default()
        .decode(&frames[2].3, 1_000, |name, value| {
            fields.push(format!("{}: {}", name.escape_ascii(), value.escape_ascii()));
        })
        .unwrap();
    assert_eq!(
        fields,
        [
            ":status: 200",
            "content-type: text/plain",
            "date: Thu, 01 Jan 1970 00:00:00 GMT",
            "content-length: 38"
        ]
    );
}

#[test]
fn flow_control_is_kept() {
    let mut input = settings(b"\0\x04\0\0\0\x05");
    headers(1, WHOLE, REQUEST, &mut input);
    let (out, ..) = answers(&input, 7);
    assert_eq!(frames(&out).last().unwrap().3, &BODY[..5]);
    frame::put(
        kind::WINDOW_UPDATE,
        0,
        1,
        &100_u32.to_be_bytes(),
        &mut input,
    );
    let (out, ..) = answers(&input, 7);
    let last = frames(&out).pop().unwrap();
    assert_eq!((last.1, last.3.as_slice()), (flag::END_STREAM, &BODY[5..]));
}

#[test]
fn a_head_has_no_body_and_blocks_may_be_cut() {
    let mut input = settings(&[]);
    // :method HEAD as a literal.
    let head = [b"\x02\x04HEAD\x87\x04\x05/path".as_slice()].concat();
    headers(1, flag::END_STREAM, &head[..3], &mut input);
    frame::put(
        kind::CONTINUATION,
        flag::END_HEADERS,
        1,
        &head[3..],
        &mut input,
    );
    let (out, requests, _) = answers(&input, input.len());
    let last = frames(&out).pop().unwrap();
    assert_eq!((requests, last.0, last.1), (1, kind::HEADERS, WHOLE));
}

/// Writer of a client's bytes.
type Sends<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn what_breaks_the_protocol_ends_the_connection() {
    let broken = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut input = settings(&[]);
        change(&mut input);
        let (out, requests, then) = answers(&input, 5);
        assert_eq!((requests, then), (0, Then::Linger));
        let last = frames(&out).pop().unwrap();
        assert_eq!(last.0, kind::GOAWAY);
        last.3[7]
    };
    let cases: [(u8, Sends<'_>); 6] = [
        (ConnectionError::Protocol as u8, &|out| {
            headers(2, WHOLE, REQUEST, out);
        }),
        (ConnectionError::Protocol as u8, &|out| {
            frame::put(kind::CONTINUATION, 0, 1, b"", out);
        }),
        (ConnectionError::Compression as u8, &|out| {
            headers(1, WHOLE, b"\xff\xff\xff\xff\xff\xff", out);
        }),
        (ConnectionError::FrameSize as u8, &|out| {
            frame::put(kind::PING, 0, 0, b"1", out);
        }),
        (ConnectionError::FlowControl as u8, &|out| {
            frame::put(
                kind::WINDOW_UPDATE,
                0,
                0,
                &0x7fff_ffff_u32.to_be_bytes(),
                out,
            );
        }),
        (ConnectionError::Protocol as u8, &|out| {
            headers(1, 0, REQUEST, out);
            frame::put(kind::PING, 0, 0, b"12345678", out);
        }),
    ];
    for (code, change) in cases {
        assert_eq!(broken(change), code);
    }
    let (_, _, then) = answers(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 4);
    assert_eq!(then, Then::Linger);
}
