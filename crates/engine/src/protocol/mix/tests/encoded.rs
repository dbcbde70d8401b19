//! Bodies with a content coding.

use super::*;
use crate::protocol::encoding::ACCEPTED;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn answer(coding: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!("HTTP/1.1 200 OK\r\n{coding}Content-Length: {length}\r\n\r\n");
    [head.as_bytes(), body].concat()
}

fn gzipped(body: &[u8]) -> Vec<u8> {
    answer("content-encoding: gzip\r\n", &gzip(body))
}

/// A request that expects this, whose answers are decoded, to at most 1,000 bytes.
fn decoding(expected: Expected, sample: u32) -> Mixed {
    let mut get = request("get", vec![text("/")], 1);
    get.expected = expected;
    let mut mix = mix(vec![get], Vec::new());
    mix.sample = sample;
    mix.limits.body = 1_000;
    mix.decode();
    Mixed::new(&mix, 1, 0, 1)
}

/// Returns why each of these answers is wrong; None for a right one.
fn judged(mixed: &mut Mixed, answers: &[Vec<u8>]) -> Vec<Option<String>> {
    let (mut conn, mut seen) = (MixConn::default(), Inside::default());
    for answer in answers {
        mixed.request(&mut conn, 0, Fifo, &mut Vec::new());
        let (first, second) = answer.split_at(answer.len() / 2);
        for part in [first, second] {
            mixed
                .received(&mut conn, 0, part, &mut Vec::new(), &mut seen)
                .unwrap();
        }
    }
    let wrong = |answer: &Answer| answer.wrong.as_ref().map(ToString::to_string);
    seen.0.answers().iter().map(wrong).collect()
}

/// Every answer ends inside the measurement.
#[derive(Default)]
struct Inside(RecordedEvents<Fifo>);

impl Events<Fifo> for Inside {
    fn ready(&mut self) {}

    fn answered(&mut self, token: Fifo, answer: Answer) -> Booked {
        let booked = self.0.answered(token, answer);
        Booked {
            ended_inside: true,
            ..booked
        }
    }

    fn closing(&mut self) {}
}

fn body(text: &str) -> Expected {
    Expected {
        body: Some(text.into()),
        ..Expected::default()
    }
}

#[test]
fn every_expectation_is_of_the_decoded_body() {
    let all = [
        body("{\"a\":1}"),
        Expected {
            length: Some(7),
            ..Expected::default()
        },
        Expected {
            contains: vec![b"\"a\"".to_vec()],
            ..Expected::default()
        },
        Expected {
            matches: vec!["^.\"a\":\\d".into()],
            ..Expected::default()
        },
        Expected {
            json: vec![JsonValue {
                path: JsonPath {
                    shown: "$.a".into(),
                    pointer: "/a".into(),
                    length: false,
                },
                value: 1.into(),
            }],
            ..Expected::default()
        },
        Expected {
            own: vec![Own {
                part: ResponsePart::Body,
                text: vec![text("{\"a\":1}")],
            }],
            ..Expected::default()
        },
    ];
    for expected in all {
        let mut mixed = decoding(expected.clone(), MILLION);
        let answers = [
            gzipped(b"{\"a\":1}"),
            answer("", b"{\"a\":1}"),
            gzipped(b"{\"b\":21}"),
            answer("", b"{\"b\":21}"),
        ];
        let wrong = judged(&mut mixed, &answers);
        let right: Vec<bool> = wrong.iter().map(Option::is_none).collect();
        assert_eq!(right, [true, true, false, false], "{expected:?}: {wrong:?}");
    }
}

#[test]
fn what_is_not_in_the_sample_is_judged_by_its_head_or_as_it_came() {
    // The first answer is always looked at.
    let mut mixed = decoding(body("hello"), 0);
    let answers = [
        gzipped(b"hello"),
        gzipped(b"never seen"),
        answer("", b"hello"),
        answer("", b"wrong"),
    ];
    let wrong = judged(&mut mixed, &answers);
    let right: Vec<bool> = wrong.iter().map(Option::is_none).collect();
    assert_eq!(right, [true, true, true, false], "{wrong:?}");
}

#[test]
fn what_cannot_be_decoded_is_wrong_and_a_status_goes_before() {
    let wrong = |expected: Expected, bytes: Vec<u8>| {
        let all = judged(&mut decoding(expected, MILLION), &[bytes]);
        all[0].clone().unwrap_or_default()
    };
    let any = Expected::default;
    let plain = wrong(any(), answer("Content-Encoding: gzip\r\n", b"plain"));
    assert!(plain.contains("get: Content-Encoding says gzip"), "{plain}");
    let unknown = wrong(any(), answer("Content-Encoding: snappy\r\n", b"x"));
    assert!(unknown.contains("snappy"), "{unknown}");
    let cut = gzip(b"hello you");
    let cut = wrong(
        any(),
        answer("Content-Encoding: gzip\r\n", &cut[..cut.len() - 3]),
    );
    assert!(cut.contains("cut short"), "{cut}");
    let bomb = wrong(any(), gzipped(&[0; 100_000]));
    assert!(bomb.contains("longer than 1000 bytes"), "{bomb}");
    let two = "Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n";
    assert_eq!(
        wrong(body("twice"), answer(two, &gzip(&gzip(b"twice")))),
        ""
    );
    for status in [vec![(404, 404)], vec![(404, 404), (410, 410)]] {
        let status = Expected {
            status,
            ..Expected::default()
        };
        let status = wrong(status, answer("Content-Encoding: gzip\r\n", b"plain"));
        assert!(status.contains("status 200"), "{status}");
    }
    // Without a body there is nothing to decode.
    let empty = b"HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n".to_vec();
    assert_eq!(wrong(any(), empty), "");
}

#[test]
fn codings_are_counted_with_both_lengths() {
    let mut mixed = decoding(Expected::default(), MILLION);
    let long = vec![b'a'; 900];
    let answers = [
        gzipped(&long),
        gzipped(&long),
        answer("", b"plain"),
        answer("Content-Encoding: gzip\r\n", b"plain"),
    ];
    let sent = gzip(&long).len() as u64;
    judged(&mut mixed, &answers);
    let seen = mixed.by_request().remove(0);
    assert_eq!(seen.searched, 4);
    let gzip = seen.encodings["gzip"];
    assert_eq!((gzip.answers, gzip.decoded), (3, 2));
    assert_eq!((gzip.wire_bytes, gzip.decoded_bytes), (2 * sent, 1_800));
    let identity = seen.encodings["identity"];
    assert_eq!((identity.answers, identity.decoded), (1, 0));
}

#[test]
fn a_request_keeps_its_own_accept_encoding() {
    let mut own = request("own", vec![text("/")], 1);
    own.headers = vec![("accept-encoding".into(), vec![text("br")])];
    let mut mix = mix(vec![own, request("other", vec![text("/")], 1)], Vec::new());
    mix.decode();
    let one = |kind| {
        let mut mixed = Mixed::new(&mix, 1, 0, 1);
        mixed.only(kind);
        sent(&mut mixed, 1).concat()
    };
    let sent = one(0) + &one(1);
    assert_eq!(sent.matches("ccept-").count(), 2, "{sent}");
    assert!(sent.contains("accept-encoding: br\r\n"), "{sent}");
    assert!(
        sent.contains(&format!("Accept-Encoding: {ACCEPTED}\r\n")),
        "{sent}"
    );
}

#[test]
fn answers_to_head_have_nothing_to_decode() {
    let mut get = request("get", vec![text("/")], 1);
    get.method = "HEAD".into();
    let mut mix = mix(vec![get], Vec::new());
    mix.decode();
    let mut mixed = Mixed::new(&mix, 1, 0, 1);
    let head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n".to_vec();
    assert_eq!(judged(&mut mixed, &[head]), [None]);
    assert!(mixed.by_request()[0].encodings.is_empty());
}

#[test]
fn steps_take_their_values_from_the_decoded_body() {
    let mut shop = shop();
    shop.sample = 0;
    shop.decode();
    let mut users = Users::new(&shop, 1, (0, 1), true);
    let (mut conn, mut seen) = (UserConn::default(), RecordedEvents::default());
    let mut sent = Vec::new();
    // With a sample of none only the first answers are searched: the second login is not.
    for _ in 0..2 {
        for body in [&br#"{"t":"t1"}"#[..], b"{}"] {
            let mut out = Vec::new();
            users.request(&mut conn, 0, Fifo, &mut out);
            let answer = gzipped(body);
            users
                .received(&mut conn, 0, &answer, &mut Vec::new(), &mut seen)
                .unwrap();
            sent.push(String::from_utf8(out).unwrap());
        }
    }
    assert!(seen.answers().iter().all(|answer| answer.wrong.is_none()));
    for order in [&sent[1], &sent[3]] {
        assert!(order.contains("/o/t1"), "{order}");
    }
}
