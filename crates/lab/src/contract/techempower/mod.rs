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
use super::parts::Part;
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

/// A part with its steps.
const fn part(
    name: &'static str,
    path: &'static str,
    database: bool,
    steps: &'static [&'static str],
) -> Part {
    Part {
        name,
        path,
        compressed: false,
        database,
        steps,
    }
}

pub(super) const PARTS: &[Part] = &[
    part("json", "/json", false, &[answers::JSON.name]),
    part(
        "plaintext",
        "/plaintext",
        false,
        &[answers::PLAINTEXT.name, answers::PLAINTEXT_PIPELINED.name],
    ),
    part(
        "db",
        "/db",
        true,
        &[
            answers::DB.name,
            now::ROWS_NOW.name,
            counted::DB_COUNTED.name,
        ],
    ),
    part(
        "queries",
        "/queries?queries=",
        true,
        &[
            answers::QUERIES.name,
            answers::QUERIES_CLAMPED.name,
            now::ROWS_NOW.name,
            counted::QUERIES_COUNTED.name,
        ],
    ),
    part(
        "fortunes",
        "/fortunes",
        true,
        &[
            fortunes::ALONE.name,
            fortunes::NOW.name,
            counted::FORTUNES_COUNTED.name,
        ],
    ),
    part(
        "updates",
        "/updates?queries=",
        true,
        &[
            answers::UPDATES.name,
            answers::UPDATES_CLAMPED.name,
            now::UPDATES_WRITTEN.name,
            counted::UPDATES_COUNTED.name,
        ],
    ),
    part(
        "cached-queries",
        "/cached-queries?count=",
        true,
        &[
            answers::CACHED_QUERIES.name,
            answers::CACHED_QUERIES_CLAMPED.name,
            now::CACHED_ROWS.name,
            counted::CACHED_QUERIES_COUNTED.name,
        ],
    ),
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

/// A request of one of a few kinds, drawn at random.
pub(super) fn case(visit: &mut Visit<'_>) -> Case {
    answers::case(visit)
}

/// Exchange of a load that has no file of requests.
pub(super) fn exchanges(visit: &Visit<'_>) -> Vec<Exchange> {
    let expect = Expect::body(answers::GREETING.as_bytes().to_vec()).with_status(200);
    let target = visit.target("/plaintext");
    vec![(HttpRequest::get(visit.way.authority, &target), expect)]
}
