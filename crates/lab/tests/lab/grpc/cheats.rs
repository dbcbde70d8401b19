//! The contract, against an honest server and against cheats.

use super::server::{Call, Said, changed, framed, honest, serve};
use prony_lab::contract::{Contract, Depth, Fixture, Inspection, Verified, Violation};
use prost_reflect::{DynamicMessage, Value};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::time::Duration;

fn inspect(addr: SocketAddr, depth: Depth, seed: u64) -> Result<Verified, Violation> {
    let contract = Contract::GrpcEcho;
    let fixture = Fixture::set_up(contract, &std::env::temp_dir()).expect("nothing is to be made");
    Inspection::new(depth, seed)
        .within(Duration::from_secs(20))
        .of(contract, addr, &fixture)
}

fn caught(step: &str, answer: impl Fn(usize, &Call) -> Said + Send + Sync + 'static) {
    let addr = serve(answer);
    for depth in [Depth::Quick, Depth::Full] {
        match inspect(addr, depth, 1) {
            Ok(_) => panic!("{depth:?}: the cheat went unnoticed"),
            Err(violation) => {
                assert_eq!(violation.step, step, "{violation}");
                let line = violation.to_string();
                assert!(
                    line.len() < 500 && !line.contains('\n'),
                    "not one line: {line}"
                );
            }
        }
    }
}

/// A cheat with payloads.
fn spoilt(step: &str, change: impl Fn(&mut DynamicMessage) + Send + Sync + Copy + 'static) {
    caught(step, move |_, call| changed(call, change));
}

#[test]
fn an_honest_server_passes() {
    let addr = serve(|_, call| honest(call));
    for depth in [Depth::Quick, Depth::Full, Depth::Thorough] {
        let verified = inspect(addr, depth, 7).unwrap_or_else(|violation| panic!("{violation}"));
        let steps: Vec<_> = verified.steps.iter().map(|step| step.name).collect();
        assert_eq!(
            steps.contains(&"large-message"),
            depth > Depth::Quick,
            "{steps:?}"
        );
        assert_eq!(steps.contains(&"breaking-off"), depth == Depth::Thorough);
    }
    Contract::GrpcEcho
        .probe(addr, Duration::from_secs(20))
        .expect("it answers");
}

#[test]
fn a_constant_answer() {
    let first = Mutex::new(None);
    caught("echo", move |_, call| {
        let mut first = first.lock().unwrap();
        first.get_or_insert_with(|| honest(call)).clone()
    });
}

#[test]
fn an_answer_of_the_call_before() {
    let before = Mutex::new(Said::messages(&[Vec::new()]));
    caught("echo", move |_, call| {
        std::mem::replace(&mut *before.lock().unwrap(), honest(call))
    });
}

#[test]
fn no_data() {
    spoilt("echo", |payload| payload.clear_field_by_name("data"));
}

#[test]
fn data_cut_short() {
    spoilt("data", |payload| {
        let data = payload
            .get_field_by_name("data")
            .unwrap()
            .as_bytes()
            .unwrap()
            .clone();
        if data.len() > 16_384 {
            payload.set_field_by_name("data", Value::Bytes(data.slice(..16_384)));
        }
    });
}

#[test]
fn numbers_of_32_bits() {
    spoilt("echo", |payload| {
        let number = payload
            .get_field_by_name("number")
            .unwrap()
            .as_i64()
            .unwrap();
        payload.set_field_by_name("number", Value::I64((number as i32).into()));
    });
}

/// Numbers lose precision, as in JavaScript: it holds 53 bits, and most numbers of the first messages have more.
#[test]
fn numbers_of_53_bits() {
    spoilt("echo", |payload| {
        let number = payload
            .get_field_by_name("number")
            .unwrap()
            .as_i64()
            .unwrap();
        payload.set_field_by_name("number", Value::I64(number as f64 as i64));
    });
}

#[test]
fn no_further_numbers() {
    spoilt("numbers", |payload| {
        let numbers = payload
            .get_field_by_name("numbers")
            .unwrap()
            .as_list()
            .unwrap()
            .to_vec();
        if numbers.len() > 3 {
            let few = numbers[..3].to_vec();
            payload.set_field_by_name("numbers", Value::List(few));
        }
    });
}

#[test]
fn texts_in_ascii() {
    spoilt("texts", |payload| {
        let text = payload
            .get_field_by_name("text")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned();
        let plain: String = text.chars().filter(char::is_ascii).collect();
        payload.set_field_by_name("text", Value::String(plain));
    });
}

#[test]
fn nothing_within() {
    spoilt("nested", |payload| payload.clear_field_by_name("inner"));
}

#[test]
fn only_a_status_of_http() {
    caught("echo", |_, call| Said {
        status: None,
        ..honest(call)
    });
}

#[test]
fn a_web_page() {
    caught("echo", |_, call| Said {
        content_type: "text/html",
        ..honest(call)
    });
}

#[test]
fn errors_that_succeed() {
    caught("errors", |_, call| match call.method.ends_with("/Fail") {
        true => Said::messages(&[Vec::new()]),
        false => honest(call),
    });
}

#[test]
fn errors_that_are_all_the_same() {
    caught("errors", |_, call| match call.method.ends_with("/Fail") {
        true => Said::error(2, "failed"),
        false => honest(call),
    });
}

#[test]
fn errors_without_their_text() {
    caught("errors", |_, call| match call.method.ends_with("/Fail") {
        true => Said {
            text: String::new(),
            ..honest(call)
        },
        false => honest(call),
    });
}

#[test]
fn the_same_message_again_and_again() {
    caught("server-stream", |_, call| {
        let said = honest(call);
        let first = said.body.len().checked_div(7).unwrap_or(0);
        match call.method.ends_with("/Stream") && !said.body.is_empty() {
            true => Said {
                body: said.body[..first].repeat(7),
                ..said
            },
            false => said,
        }
    });
}

#[test]
fn two_messages() {
    caught("echo", |_, call| {
        let said = honest(call);
        Said {
            body: [said.body.clone(), framed(b"")].concat(),
            ..said
        }
    });
}

#[test]
fn answers_to_everything() {
    let addr = serve(|_, call| match honest(call) {
        said if said.status.as_deref() == Some("12") && !call.method.ends_with("/Fail") => {
            Said::messages(std::slice::from_ref(&call.message))
        }
        said => said,
    });
    let violation = inspect(addr, Depth::Full, 3).unwrap_err();
    assert_eq!(violation.step, "unknown-method", "{violation}");
}

#[test]
fn bytes_that_are_passed_on_unread() {
    let addr = serve(|_, call| match call.method.as_str() {
        "/prony.echo.EchoService/Echo" => Said::messages(std::slice::from_ref(&call.message)),
        _ => honest(call),
    });
    let violation = inspect(addr, Depth::Full, 3).unwrap_err();
    assert_eq!(violation.step, "malformed-message", "{violation}");
}

#[test]
fn one_connection_alone() {
    let addr = serve(|number, call| match number % 20 > 12 {
        true => Said::error(14, "busy"),
        false => honest(call),
    });
    let violation = inspect(addr, Depth::Full, 3).unwrap_err();
    assert_eq!(violation.step, "connections", "{violation}");
}
