//! Servers that speak HTTP/3 and do something unusual, and the results that a load must report of each.

mod answers;
mod codes;
mod control;
mod frames;
mod goodbyes;
mod qpack;
mod way;

use super::h3_server::{DATA, H3Server, HEADERS, Mischief, OK, Relay, Request, Says, Setup, Step};
use super::h3_server::{answer, frame, pieces, right, then};
use super::judge::{self, Say, Serving, Started};
use prony_engine::protocol::h2::{StreamedExchange, WINDOW};
use prony_engine::protocol::{Expect, HttpRequest, Limits};
use prony_engine::{Dialogue, StreamedRequests};
use std::sync::Arc;

/// A server over QUIC, and the way to it.
pub struct Lines {
    setup: Setup,
    says: Says,
    mischief: Option<Mischief>,
}

pub type Case = judge::Case<Lines>;

impl Serving for Lines {
    fn start(&self) -> Result<Started, String> {
        let server = H3Server::new(self.setup.clone(), Arc::clone(&self.says));
        let relay = self
            .mischief
            .map(|mischief| Relay::new(&server.target, mischief));
        let target = relay.as_ref().map_or(&server.target, |relay| &relay.target);
        Ok(Started {
            target: target.clone(),
            tls: Some(server.tls.clone()),
            requests: Arc::clone(&server.requests),
            _held: Box::new((server, relay)),
        })
    }
}

fn dialogue(request: &HttpRequest, expect: Expect) -> Dialogue {
    let exchange = StreamedExchange::new(request, true, expect);
    Dialogue::H3(Box::new(StreamedRequests {
        exchanges: vec![exchange.expect("a request that can be sent")],
        limits: Limits {
            body: 1 << 20,
            ..Limits::default()
        },
        window: WINDOW,
    }))
}

/// Steps that depend on the request.
fn case(
    class: &'static str,
    name: impl Into<String>,
    say: Say,
    says: impl Fn(Request) -> Vec<Step> + Send + Sync + 'static,
) -> Case {
    Case {
        class,
        name: name.into(),
        dialogue: dialogue(
            &HttpRequest::get("h", "/"),
            Expect::body("hello").with_status(200),
        ),
        server: Lines {
            setup: Setup::default(),
            says: Arc::new(says),
            mischief: None,
        },
        say,
        words: "",
    }
}

/// Answers each request with these steps.
fn steps(class: &'static str, name: impl Into<String>, say: Say, steps: Vec<Step>) -> Case {
    case(class, name, say, move |_| steps.clone())
}

/// Answers each request with these bytes, and ends its stream.
fn bytes(class: &'static str, name: impl Into<String>, say: Say, answer: Vec<u8>) -> Case {
    steps(class, name, say, pieces([answer]))
}

impl Case {
    fn saying(mut self, words: &'static str) -> Self {
        self.words = words;
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Setup)) -> Self {
        change(&mut self.server.setup);
        self
    }

    /// With another request, and an answer of which only the status matters.
    fn asking(mut self, method: &str, body: usize) -> Self {
        let request = HttpRequest {
            method: method.into(),
            body: vec![b'x'; body],
            ..HttpRequest::get("h", "/")
        };
        self.dialogue = dialogue(&request, Expect::default());
        self
    }
}

/// All of them.
pub fn all() -> Vec<Case> {
    [
        frames::on_requests(),
        answers::sections(),
        answers::bodies(),
        answers::cuts(),
        qpack::sections(),
        qpack::streams(),
        control::settings(),
        control::frames(),
        control::others(),
        goodbyes::all(),
        codes::all(),
        way::limits(),
        way::silence(),
        way::doors(),
        way::datagrams(),
    ]
    .into_iter()
    .flatten()
    .collect()
}
