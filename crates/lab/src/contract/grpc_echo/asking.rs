//! Messages that are sent, and whether they come back.

use prony_engine::Target;
use prony_engine::protocol::grpc::GrpcStatus;
use prost::Message;
use rand::{Rng, RngExt};

use super::ECHO;
use super::messages::Payload;
use crate::contract::Visit;
use crate::contract::http::token;
use crate::contract::wire::{Fault, excerpt};
use crate::grpc::GrpcAnswer;
use crate::grpc::client::{Client, GrpcRequest};

/// A message whose fields are all there, with so many bytes.
pub(super) fn payload(visit: &mut Visit<'_>, size: usize) -> Payload {
    let text = token(visit, 16);
    let rng = &mut visit.rng;
    let mut data = vec![0; size];
    rng.fill_bytes(&mut data);
    Payload {
        text,
        number: rng.random::<i64>() | 1,
        data,
        numbers: (0..3).map(|_| rng.random::<i64>() | 1).collect(),
        inner: None,
    }
}

pub(super) fn connect(visit: &Visit<'_>) -> Result<Client, Fault> {
    let silence = visit.patience.silence();
    let authority = visit.addr.to_string();
    Client::connect(&Target::Tcp(visit.addr), &authority, false, silence)
        .map_err(|wrong| fault("a connection of HTTP/2", wrong))
}

/// A wrong answer in words may say itself what was expected.
pub(super) fn fault(expected: &str, found: String) -> Fault {
    match found
        .strip_prefix("expected ")
        .and_then(|rest| rest.split_once("; found"))
    {
        Some((expected, found)) => Fault::new(expected, found.trim_start_matches([':', ' '])),
        None => Fault::new(expected, found),
    }
}

pub(super) fn sent(payload: &Payload) -> GrpcRequest {
    GrpcRequest::message(ECHO, &[], &payload.encode_to_vec())
}

/// The message comes back.
pub(super) fn ask(client: &Client, payload: &Payload) -> Result<(), Fault> {
    check(client.call(&sent(payload)), payload)
}

pub(super) fn check(answer: Result<GrpcAnswer, String>, payload: &Payload) -> Result<(), Fault> {
    let messages = right(answer)?;
    match messages.as_slice() {
        [one] => same(one, payload),
        several => Err(Fault::new(
            "one message",
            format!("{} of them", several.len()),
        )),
    }
}

/// The messages of an answer whose status is OK.
pub(super) fn right(answer: Result<GrpcAnswer, String>) -> Result<Vec<Vec<u8>>, Fault> {
    let answer = answer.map_err(|wrong| fault("an answer", wrong))?;
    answer
        .check(GrpcStatus::OK)
        .map_err(|wrong| fault("an answer with the status OK", wrong))?;
    Ok(answer.messages)
}

/// Checks that a message is the expected one, whatever the order of its fields.
pub(super) fn same(message: &[u8], expected: &Payload) -> Result<(), Fault> {
    let found = Payload::decode(message)
        .map_err(|error| Fault::new("a Payload", format!("{} ({error})", excerpt(message))))?;
    if found == *expected {
        return Ok(());
    }
    Err(differs(expected, &found))
}

/// Describes the field that differs.
pub(super) fn differs(expected: &Payload, found: &Payload) -> Fault {
    let told = |name: &str, expected: String, found: String| {
        Fault::new(format!("{name} {expected}"), format!("{name} {found}"))
    };
    if expected.text != found.text {
        let shown = |text: &str| excerpt(text.as_bytes());
        return told("text", shown(&expected.text), shown(&found.text));
    }
    if expected.number != found.number {
        return told(
            "number",
            expected.number.to_string(),
            found.number.to_string(),
        );
    }
    if expected.data != found.data {
        return told("data", excerpt(&expected.data), excerpt(&found.data));
    }
    if expected.numbers != found.numbers {
        let shown = |all: &[i64]| {
            let more = if all.len() > 10 { ", …" } else { "" };
            format!("{:?}{more}", &all[..all.len().min(10)])
        };
        return told("numbers", shown(&expected.numbers), shown(&found.numbers));
    }
    match (&expected.inner, &found.inner) {
        (Some(expected), Some(found)) => {
            let Fault { expected, found } = differs(expected, found);
            Fault::new(format!("inner {expected}"), format!("inner {found}"))
        }
        (expected, _) => {
            let shown = |there: bool| if there { "a message" } else { "no message" };
            let there = expected.is_some();
            Fault::new(
                format!("{} in inner", shown(there)),
                format!("{} in it", shown(!there)),
            )
        }
    }
}
