//! Servers that do something unusual, and the results that a load must report of each.

mod connection;
mod echoes;
mod framing;
mod heads;

use super::script::{Script, Step, Unit};
use prony_engine::Dialogue;
use prony_engine::protocol::{Expect, HttpRequest};
use std::time::Duration;

/// Results that a load must report of a server, in addition to those that hold for every load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Say {
    /// Every answer is right: what it does is allowed.
    Right,
    /// No answer is right, and they are wrong ones.
    Wrong,
    /// No answer is right, in whatever way it failed.
    Fails,
    /// No answer is right, and at least one took too long.
    TimesOut,
    /// Bytes came that no request had asked for, and no answer before them is right.
    Unsolicited,
    /// The same, but they come later, when the connection may have been closed or another request may be in flight.
    UnsolicitedLater,
    /// Every answer is right, but a connection has fewer than a client may have asked for in one go.
    Limited,
    /// A dialect that a client may understand or refuse: but all of it, or none.
    AllOrNone,
}

/// A server.
pub struct Case {
    /// Class of the server's behaviour.
    pub class: &'static str,
    /// Short description of the server's behaviour.
    pub name: String,
    pub dialogue: Dialogue,
    pub script: Script,
    pub say: Say,
}

/// The right answer, and its body.
const RIGHT: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
const BODY: &[u8] = b"hello";
const ECHO: &[u8] = b"hello\n";
/// Long enough to become a segment of its own.
const SHORT: Duration = Duration::from_millis(2);
/// Longer than loads wait that are to time out.
const LONG: Duration = Duration::from_secs(2);

fn http(class: &'static str, name: impl Into<String>, say: Say, answers: Vec<Vec<Step>>) -> Case {
    Case {
        class,
        name: name.into(),
        dialogue: Dialogue::http(
            &HttpRequest::get("h", "/"),
            Expect::body("hello").with_status(200),
        ),
        script: Script {
            first: Vec::new(),
            answers,
            unit: Unit::Head,
        },
        say,
    }
}

/// Answers every request with these bytes.
fn bytes(class: &'static str, name: impl Into<String>, say: Say, answer: &[u8]) -> Case {
    http(class, name, say, vec![vec![Step::Write(answer.to_vec())]])
}

fn echo(class: &'static str, name: impl Into<String>, say: Say, answers: Vec<Vec<Step>>) -> Case {
    let mut case = http(class, name, say, answers);
    case.dialogue = Dialogue::Echo(ECHO.to_vec());
    case.script.unit = Unit::Bytes(ECHO.len());
    case
}

fn echo_bytes(class: &'static str, name: impl Into<String>, say: Say, answer: &[u8]) -> Case {
    echo(class, name, say, vec![vec![Step::Write(answer.to_vec())]])
}

/// With another method, for which a body may not come.
fn with_method(mut case: Case, method: &str) -> Case {
    let request = HttpRequest {
        method: method.into(),
        ..HttpRequest::get("h", "/")
    };
    case.dialogue = Dialogue::http(&request, Expect::default());
    case
}

/// All of them.
pub fn all() -> Vec<Case> {
    [
        heads::status_lines(),
        heads::fields(),
        framing::lengths(),
        framing::chunks(),
        framing::bodies(),
        connection::cuts(),
        connection::pace(),
        connection::unsolicited(),
        connection::interim(),
        echoes::echoes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
