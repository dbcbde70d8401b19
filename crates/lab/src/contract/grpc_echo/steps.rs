//! The steps of the verification.

use bytes::Bytes;
use prony_engine::protocol::grpc::GrpcStatus;
use prost::Message;
use rand::RngExt;

use super::asking::{ask, check, connect, fault, payload, right, same, sent};
use super::messages::{CallFailure, Payload, Repetition};
use super::{ECHO, FAIL, STREAM};
use crate::contract::Visit;
use crate::contract::http::token;
use crate::contract::wire::{Fault, excerpt};
use crate::grpc::client::{GrpcRequest, framed};

/// Connections that are used at once.
const CONNECTIONS: usize = 16;
/// The large message: four times less than what servers accept by default.
const LARGE: usize = 1 << 20;
/// Numbers at the ends of their types, and those that a double cannot hold.
const NUMBERS: [i64; 10] = [
    i64::MIN,
    i64::MAX,
    -1,
    0,
    1,
    i32::MAX as i64 + 1,
    i32::MIN as i64 - 1,
    (1 << 53) + 1,
    u32::MAX as i64,
    -(1 << 53) - 1,
];
const TEXTS: [&str; 6] = [
    "",
    "Größe, naïve, Ελληνικά, Кириллица",
    "漢字かな交じり文, 한국어",
    "עברית, العربية",
    "👩‍👩‍👧‍👦 🇪🇺 a\u{301}",
    "a\0b\r\n\t\u{7f}\u{feff}",
];

pub(super) fn echo(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    for size in [1, 32, 200] {
        ask(&client, &payload(visit, size))?;
    }
    Ok(())
}

pub(super) fn numbers(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    for number in visit.choose(&NUMBERS[..4], &NUMBERS[..]) {
        let payload = Payload {
            number: *number,
            ..payload(visit, 4)
        };
        ask(&client, &payload)?;
    }
    let random = (0..visit.choose(20, 500)).map(|_| visit.rng.random());
    let payload = Payload {
        numbers: NUMBERS.into_iter().chain(random).collect(),
        ..Payload::default()
    };
    ask(&client, &payload)
}

pub(super) fn texts(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    ask(&client, &Payload::default())?;
    for text in TEXTS {
        let salt = token(visit, 4);
        let payload = Payload {
            text: format!("{salt}{text}"),
            ..Payload::default()
        };
        ask(&client, &payload)?;
    }
    Ok(())
}

pub(super) fn data(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    let every = Payload {
        data: (0..=255).collect(),
        ..Payload::default()
    };
    ask(&client, &every)?;
    // Both sides of the lengths of a varint, of a frame of HTTP/2, and of its first window.
    let sizes = [0, 1, 127, 128, 16_383, 16_384, 16_385, 65_535, 70_001];
    for size in sizes {
        ask(&client, &payload(visit, size))?;
    }
    Ok(())
}

pub(super) fn nested(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    let mut all = payload(visit, 10);
    for _ in 0..visit.choose(3, 20) {
        all = Payload {
            inner: Some(Box::new(all)),
            ..payload(visit, 3)
        };
    }
    ask(&client, &all)?;
    let empty = Payload {
        inner: Some(Box::default()),
        ..Payload::default()
    };
    ask(&client, &empty)
}

pub(super) fn fragments(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    let payload = payload(visit, 40);
    let body = Bytes::from(framed(&payload.encode_to_vec()));
    let mut cuts: Vec<Vec<usize>> = vec![vec![1], vec![5], vec![3, 4, 6, 7], vec![body.len() - 1]];
    cuts.push((1..body.len()).collect());
    for cuts in cuts {
        let mut pieces = Vec::new();
        let mut from = 0;
        for cut in cuts.into_iter().chain([body.len()]) {
            pieces.push(body.slice(from..cut));
            from = cut;
        }
        let sent = GrpcRequest {
            body: pieces,
            ..sent(&payload)
        };
        check(client.call(&sent), &payload)?;
    }
    Ok(())
}

pub(super) fn streams(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    let payloads: Vec<Payload> = (0..visit.choose(16, 64))
        .map(|nth| payload(visit, 11 * nth))
        .collect();
    let all: Vec<GrpcRequest> = payloads.iter().map(sent).collect();
    for (answer, payload) in client.at_once(&all).into_iter().zip(&payloads) {
        check(answer, payload)?;
    }
    Ok(())
}

pub(super) fn errors(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    let all = GrpcStatus::ALL.into_iter().skip(1);
    for status in all.step_by(visit.choose(5, 1)) {
        let failure = CallFailure {
            code: status.number().into(),
            text: format!("{} 100% größer", token(visit, 8)),
        };
        let sent = GrpcRequest::message(FAIL, &[], &failure.encode_to_vec());
        let answer = client
            .call(&sent)
            .map_err(|wrong| fault("an answer", wrong))?;
        let expected = format!("the status {status}");
        answer
            .check(status)
            .map_err(|wrong| fault(&expected, wrong))?;
        if answer.text != failure.text {
            return Err(Fault::new(
                format!("grpc-message {}", excerpt(failure.text.as_bytes())),
                excerpt(answer.text.as_bytes()),
            ));
        }
    }
    // What failed has not broken the connection.
    ask(&client, &payload(visit, 8))
}

pub(super) fn server_stream(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    for times in [0, 1, 7, visit.choose(20, 300)] {
        let first = Payload {
            number: visit.rng.random_range(-1_000_000..1_000_000),
            ..payload(visit, 20)
        };
        let asked = Repetition {
            payload: Some(first.clone()),
            times,
        };
        let sent = GrpcRequest::message(STREAM, &[], &asked.encode_to_vec());
        let messages = right(client.call(&sent))?;
        if messages.len() as i64 != i64::from(times) {
            return Err(Fault::new(
                format!("{times} messages"),
                format!("{} of them", messages.len()),
            ));
        }
        for (message, nth) in messages.iter().zip(0..) {
            let expected = Payload {
                number: first.number + nth,
                ..first.clone()
            };
            same(message, &expected)?;
        }
    }
    Ok(())
}

pub(super) fn connections(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let clients = (0..CONNECTIONS)
        .map(|_| connect(visit))
        .collect::<Result<Vec<_>, _>>()?;
    for _ in 0..2 {
        for nth in visit.shuffled(CONNECTIONS) {
            ask(&clients[nth], &payload(visit, 30))?;
        }
    }
    Ok(())
}

pub(super) fn unknown_method(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    let word = token(visit, 12);
    for path in [
        format!("/prony.echo.EchoService/{word}"),
        format!("/prony.echo.{word}/Echo"),
    ] {
        let answer = client.call(&GrpcRequest::message(&path, &[], &[]));
        let answer = answer.map_err(|wrong| fault("an answer", wrong))?;
        let expected = format!("the status {}", GrpcStatus::UNIMPLEMENTED);
        answer
            .check(GrpcStatus::UNIMPLEMENTED)
            .map_err(|wrong| fault(&expected, wrong))?;
    }
    ask(&client, &payload(visit, 8))
}

pub(super) fn malformed(visit: &mut Visit<'_>) -> Result<(), Fault> {
    // A field of 100 bytes, of which none come.
    refused(visit, b"\x1a\x64")
}

pub(super) fn invalid_text(visit: &mut Visit<'_>) -> Result<(), Fault> {
    refused(visit, b"\x0a\x02\xc3\x28")
}

/// The message is answered with an error, and the connection goes on.
pub(super) fn refused(visit: &mut Visit<'_>, message: &[u8]) -> Result<(), Fault> {
    let client = connect(visit)?;
    let answer = client.call(&GrpcRequest::message(ECHO, &[], message));
    let answer = answer.map_err(|wrong| fault("an answer", wrong))?;
    match answer.code() {
        Some(code) if code != GrpcStatus::OK => ask(&client, &payload(visit, 8)),
        code => Err(Fault::new(
            format!("an error for the message {}", excerpt(message)),
            match code {
                Some(code) => format!("the status {code}"),
                None => "an answer without a status".to_owned(),
            },
        )),
    }
}

pub(super) fn large(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let client = connect(visit)?;
    let payloads: Vec<Payload> = (0..4).map(|_| payload(visit, LARGE)).collect();
    ask(&client, &payloads[0])?;
    let all: Vec<GrpcRequest> = payloads.iter().map(sent).collect();
    for (answer, payload) in client.at_once(&all).into_iter().zip(&payloads) {
        check(answer, payload)?;
    }
    Ok(())
}

pub(super) fn breaking_off(visit: &mut Visit<'_>) -> Result<(), Fault> {
    for cut in [0, 3, 5, 20, 60] {
        let body = Bytes::from(framed(&payload(visit, 64).encode_to_vec()));
        let begun = GrpcRequest {
            body: vec![body.slice(..cut)],
            ..GrpcRequest::message(ECHO, &[], &[])
        };
        // A server may well have closed it already.
        let _ = connect(visit)?.leave(&begun);
    }
    let client = connect(visit)?;
    ask(&client, &payload(visit, 64))
}
