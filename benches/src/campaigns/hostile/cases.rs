//! Servers that do something unusual, and the results that a load must report of each.

mod connection;
mod echoes;
mod framing;
mod heads;

use super::judge::{Say, Serving, Started};
use super::script::{Script, Scripted, Step, Unit};
use super::secured::Secured;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::protocol::{Expect, HttpRequest};
use prony_engine::{Dialogue, Target};
use rustls::ServerConfig;
use std::sync::Arc;
use std::time::Duration;

/// A server over TCP, in the clear or through TLS.
pub struct Lines {
    pub script: Script,
    secured: Option<(Arc<ServerConfig>, TlsOptions)>,
}

pub type Case = super::judge::Case<Lines>;

impl Serving for Lines {
    fn start(&self) -> std::result::Result<Started, String> {
        let config = self.secured.as_ref().map(|(config, _)| Arc::clone(config));
        let server = Scripted::start(self.script.clone(), config)
            .map_err(|error| format!("no server: {error}"))?;
        Ok(Started {
            target: Target::Tcp(server.at),
            tls: self.secured.as_ref().map(|(_, options)| options.clone()),
            requests: Arc::clone(&server.requests),
            _held: Box::new(server),
        })
    }
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
        server: Lines {
            script: Script {
                first: Vec::new(),
                answers,
                unit: Unit::Head,
            },
            secured: None,
        },
        say,
        words: "",
    }
}

/// Answers every request with these bytes.
fn bytes(class: &'static str, name: impl Into<String>, say: Say, answer: &[u8]) -> Case {
    http(class, name, say, vec![vec![Step::Write(answer.to_vec())]])
}

fn echo(class: &'static str, name: impl Into<String>, say: Say, answers: Vec<Vec<Step>>) -> Case {
    let mut case = http(class, name, say, answers);
    case.dialogue = Dialogue::Echo(ECHO.to_vec());
    case.server.script.unit = Unit::Bytes(ECHO.len());
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

/// All of them; secured, through TLS.
pub fn all(secured: Option<&Secured>) -> Vec<Case> {
    let all = [
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
    .flatten();
    let secured = secured.map(|it| (Arc::clone(&it.config), it.options.clone()));
    let secure = |mut case: Case| {
        case.server.secured = secured.clone();
        case
    };
    all.map(secure).collect()
}
