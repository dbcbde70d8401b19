//! `techempower`: the tests of TechEmpower's suite, which one server has at seven paths: JSON, plain text, a row of a
//! database, several rows, a page of rows, rows that are updated, and rows out of a cache.

mod answers;
mod ask;
pub(super) mod counted;
mod date_advances;
mod fortunes;
mod html;
mod now;
mod rows;
pub(super) mod table;
mod written;

use super::http::{self, Case};
use super::{Act, Exchange, Visit};
use prony_engine::protocol::{Expect, HttpRequest};

/// Steps that ask the server's database.
const OF_DATABASE: [Act; 9] = [
    now::ROWS_NOW,
    now::CACHED_ROWS,
    now::UPDATES_WRITTEN,
    fortunes::NOW,
    counted::QUERIES_COUNTED,
    counted::UPDATES_COUNTED,
    counted::DB_COUNTED,
    counted::FORTUNES_COUNTED,
    counted::CACHED_QUERIES_COUNTED,
];

pub(super) const SCRIPT: &[Act] = &[
    answers::JSON,
    answers::PLAINTEXT,
    answers::PLAINTEXT_PIPELINED,
    answers::DB,
    answers::QUERIES,
    answers::QUERIES_CLAMPED,
    fortunes::ALONE,
    answers::UPDATES,
    answers::UPDATES_CLAMPED,
    answers::CACHED_QUERIES,
    answers::CACHED_QUERIES_CLAMPED,
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::PIPELINED_REQUESTS,
    http::INTERLEAVED_CONNECTIONS,
    http::CLOSE,
    now::ROWS_NOW,
    now::CACHED_ROWS,
    now::UPDATES_WRITTEN,
    fortunes::NOW,
    counted::QUERIES_COUNTED,
    counted::UPDATES_COUNTED,
    counted::DB_COUNTED,
    counted::FORTUNES_COUNTED,
    counted::CACHED_QUERIES_COUNTED,
    date_advances::STEP,
];

/// SQL that makes the tables of a new database.
#[must_use]
pub fn seed() -> &'static str {
    include_str!("seed.sql")
}

/// Does this step ask the server's database?
pub(super) fn is_of_database(act: &Act) -> bool {
    OF_DATABASE.iter().any(|own| own.name == act.name)
}

/// Is this step about the bytes of HTTP/1.1?
pub(super) fn is_of_http1(act: &Act) -> bool {
    act.name == answers::PLAINTEXT_PIPELINED.name
}

/// A request of one of three kinds, drawn at random.
pub(super) fn case(visit: &mut Visit<'_>) -> Case {
    answers::case(visit)
}

/// Exchange of a load that has no file of requests.
pub(super) fn exchanges(host: &str) -> Vec<Exchange> {
    let expect = Expect::body(answers::GREETING.as_bytes().to_vec()).with_status(200);
    vec![(HttpRequest::get(host, "/plaintext"), expect)]
}
