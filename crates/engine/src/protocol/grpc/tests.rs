//! Answers in pieces, and what is said of them.

use super::head::Fields;
use super::reading::AnswerReader;
use super::{Grpc, GrpcExpect, GrpcStatus, StatusTally, framed};
use crate::protocol::h2::Content;
use crate::protocol::{Expect, Limits, Mismatch};

fn fields(all: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::default();
    for (name, value) in all {
        fields.take(name.as_bytes(), value.as_bytes());
    }
    fields
}

const HEAD: &[(&str, &str)] = &[("content-type", "application/grpc+proto")];
const OK: &[(&str, &str)] = &[("grpc-status", "0"), ("grpc-message", "")];

/// Returns why an answer that comes in these pieces is wrong; None if it is right.
fn judged(
    expect: &GrpcExpect,
    head: &[(&str, &str)],
    pieces: &[&[u8]],
    trailers: &[(&str, &str)],
) -> Option<String> {
    let mut reading = AnswerReader::default();
    let tally = &mut StatusTally::default();
    Grpc::section(tally, &mut reading, &fields(head));
    let limits = Limits::default();
    for piece in pieces {
        if let Some(fault) = Grpc::body(tally, expect, &mut reading, 0, piece, &limits) {
            return Some(fault.to_string());
        }
    }
    if !trailers.is_empty() {
        Grpc::section(tally, &mut reading, &fields(trailers));
    }
    let wrong = Grpc::judge(tally, expect, &mut reading, false, 200, 0);
    wrong.map(|mismatch: Mismatch| mismatch.to_string())
}

fn message(bytes: &[u8]) -> GrpcExpect {
    GrpcExpect {
        content: Expect::body(bytes),
        ..GrpcExpect::default()
    }
}

#[test]
fn a_message_may_be_split_anywhere() {
    let body = framed(b"hello");
    for at in 0..=body.len() {
        for then in at..=body.len() {
            let pieces = [&body[..at], &body[at..then], &body[then..]];
            assert_eq!(judged(&message(b"hello"), HEAD, &pieces, OK), None);
            let wrong = judged(&message(b"hallo"), HEAD, &pieces, OK).unwrap();
            assert!(
                wrong.contains("another message") && wrong.contains("byte 2"),
                "{wrong}"
            );
        }
    }
}

#[test]
fn a_stream_has_any_number_of_messages_unless_said_otherwise() {
    let stream = |messages| GrpcExpect {
        streaming: true,
        messages,
        ..GrpcExpect::default()
    };
    let body = [framed(b"a"), framed(b""), framed(b"bc")].concat();
    let wrong = |expect: &GrpcExpect| judged(expect, HEAD, &[&body], OK);
    assert_eq!(wrong(&stream(None)), None);
    assert_eq!(wrong(&stream(Some((3, 3)))), None);
    assert_eq!(
        wrong(&stream(Some((4, 4)))).unwrap(),
        "3 messages, expected 4"
    );
    assert_eq!(
        wrong(&stream(Some((1, 2)))).unwrap(),
        "3 messages, expected 1 to 2"
    );
    assert_eq!(judged(&stream(None), HEAD, &[], OK), None);
    let whole = GrpcExpect {
        content: Expect::body("abc"),
        ..stream(None)
    };
    assert_eq!(wrong(&whole), None);
    let cut = wrong(&GrpcExpect {
        content: Expect::body("abcd"),
        ..whole
    })
    .unwrap();
    assert!(cut.starts_with("messages of 3 bytes, expected 4"), "{cut}");
}

#[test]
fn a_unary_answer_has_one_message() {
    let any = GrpcExpect::default();
    assert_eq!(
        judged(&any, HEAD, &[], OK).unwrap(),
        "0 messages, expected one"
    );
    let two = [framed(b"a"), framed(b"b")].concat();
    assert!(
        judged(&any, HEAD, &[&two], OK)
            .unwrap()
            .contains("a second message")
    );
}

#[test]
fn an_error_that_is_expected_needs_no_message() {
    let expect = GrpcExpect {
        status: GrpcStatus::parse("not_found").unwrap(),
        ..GrpcExpect::default()
    };
    let error = [("content-type", "application/grpc"), ("grpc-status", "5")];
    assert_eq!(judged(&expect, &error, &[], &[]), None);
    let wrong = judged(&expect, HEAD, &[&framed(b"x")], OK).unwrap();
    assert_eq!(wrong, "status OK (0), expected NOT_FOUND (5)");
}

#[test]
fn texts_of_the_server_are_decoded_and_made_inert() {
    let trailers = [
        ("grpc-status", "13"),
        ("grpc-message", "100%25%0A%1b[31m %C3%A4"),
    ];
    let wrong = judged(&GrpcExpect::default(), HEAD, &[], &trailers).unwrap();
    assert_eq!(
        wrong,
        "status INTERNAL (13), expected OK (0): 100%\u{fffd}\u{fffd}[31m ä"
    );
    let long = "x".repeat(5_000);
    let trailers = [("grpc-status", "13"), ("grpc-message", long.as_str())];
    let wrong = judged(&GrpcExpect::default(), HEAD, &[], &trailers).unwrap();
    assert!(wrong.len() < 300, "{wrong}");
}

#[test]
fn statuses_have_names_and_numbers() {
    for status in GrpcStatus::ALL {
        assert_eq!(GrpcStatus::parse(status.name()), Some(status));
        assert_eq!(
            GrpcStatus::parse(&status.number().to_string()),
            Some(status)
        );
    }
    for wrong in ["", "17", "-1", "OKAY", "404"] {
        assert_eq!(GrpcStatus::parse(wrong), None, "{wrong}");
    }
    assert!(serde_json::from_str::<GrpcStatus>("17").is_err());
    assert_eq!(
        serde_json::from_str::<GrpcStatus>("16").unwrap().name(),
        "UNAUTHENTICATED"
    );
}

#[test]
fn a_media_type_is_grpcs_or_not() {
    let is_grpc = |value| {
        let head = [("content-type", value)];
        judged(&message(b"x"), &head, &[&framed(b"x")], OK).is_none()
    };
    for right in [
        "application/grpc",
        "application/grpc+proto",
        "Application/GRPC;charset=x",
    ] {
        assert!(is_grpc(right), "{right}");
    }
    for wrong in ["", "application/grpc-web", "text/html", "application/grp"] {
        assert!(!is_grpc(wrong), "{wrong}");
    }
}
