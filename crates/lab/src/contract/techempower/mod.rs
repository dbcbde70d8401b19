//! `techempower`: the tests of TechEmpower's suite, which one server has at seven paths: JSON, plain text, rows of a
//! database one by one, in numbers, rendered as a page, updated, and out of a cache.

use super::http::Case;
use super::wire::Fault;
use super::{Act, Depth, Exchange, Visit, http};
use prony_engine::protocol::{Expect, HttpRequest};

pub(super) const SCRIPT: &[Act] = &[Act {
    name: "plaintext",
    tried: "GET /plaintext",
    from: Depth::Quick,
    run: plaintext,
}];

/// SQL that makes the tables of a new database.
#[must_use]
pub fn seed() -> &'static str {
    include_str!("seed.sql")
}

/// Does this step ask the server's database?
pub(super) fn is_of_database(_: &Act) -> bool {
    false
}

pub(super) fn case(_: &mut Visit<'_>) -> Case {
    Case::get("/plaintext", |answer| {
        http::status(answer, 200)?;
        http::body(answer, b"Hello, World!")
    })
}

/// Exchange of a load that has no file of requests.
pub(super) fn exchanges(host: &str) -> Vec<Exchange> {
    let expect = Expect::body(b"Hello, World!".to_vec()).with_status(200);
    vec![(HttpRequest::get(host, "/plaintext"), expect)]
}

fn plaintext(visit: &mut Visit<'_>) -> Result<(), Fault> {
    case(visit).exchange(visit)
}
