//! `http`: any server that speaks HTTP/1.1. Whatever it answers is right, as long as each request has one answer that is
//! framed as the protocol says. What the answers are is for a file of requests to say.

use prony_engine::protocol::{Expect, HttpRequest};

use super::http::{self, Case};
use super::wire::Fault;
use super::{Act, Depth, Exchange, Visit};

pub(super) const SCRIPT: &[Act] = &[
    Act {
        name: "answer",
        tried: "GET /",
        from: Depth::Quick,
        run: answer,
    },
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::PIPELINED_REQUESTS,
    http::INTERLEAVED_CONNECTIONS,
    http::CLOSE,
    http::HTTP_1_0,
];

/// The request that every server has an answer to.
pub(super) fn case() -> Case {
    Case::get("/", |_| Ok(()))
}

/// Exchanges of a load that has no file of requests.
pub(super) fn exchanges(host: &str) -> Vec<Exchange> {
    vec![(HttpRequest::get(host, "/"), Expect::default())]
}

fn answer(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut listener = case().ask(visit)?;
    listener.answer()?;
    listener.expect_nothing_more()
}
