//! `arena`: profiles of HttpArena, which one server has at seven paths: sums, JSON of a dataset with and without
//! compression, uploads, files, rows of a database, and items that are read, listed, created and changed.

mod ask;
mod async_db;
mod baseline;
mod counted;
mod crud;
mod dataset;
mod files;
mod items;
mod json;
mod static_files;
mod upload;

use super::http::{self, Case};
use super::parts::Part;
use super::{Act, Exchange, Visit};
pub(super) use dataset::{FILE as DATASET_FILE, random as random_dataset};
pub(super) use files::{FOLDER as FILES_FOLDER, StaticFile, random as random_files};
use prony_engine::protocol::{Expect, HttpRequest};
use rand::RngExt;

/// Steps that ask the server's database.
const OF_DATABASE: [Act; 7] = [
    async_db::NOW,
    crud::UPDATE,
    crud::CREATE,
    crud::LIST,
    crud::EXPIRY,
    counted::ASYNC_DB,
    counted::CRUD,
];

/// Steps whose requests have bodies or fields of their own, or come one after the other on one connection.
const OF_HTTP1: [Act; 9] = [
    baseline::POST,
    baseline::CHUNKED,
    baseline::PIPELINED,
    json::COMPRESSED,
    upload::STEP,
    crud::READ,
    crud::UPDATE,
    crud::CREATE,
    crud::EXPIRY,
];

pub(super) const SCRIPT: &[Act] = &[
    baseline::GET,
    baseline::POST,
    baseline::CHUNKED,
    baseline::PIPELINE,
    baseline::PIPELINED,
    json::STEP,
    json::COMPRESSED,
    upload::STEP,
    static_files::STEP,
    static_files::ENCODED,
    static_files::OUTSIDE,
    async_db::STEP,
    async_db::CLAMPED,
    crud::READ,
    http::COMPLETE_REQUEST,
    http::FRAGMENTS,
    http::KEEP_ALIVE,
    http::PIPELINED_REQUESTS,
    http::INTERLEAVED_CONNECTIONS,
    http::CLOSE,
    async_db::NOW,
    crud::UPDATE,
    crud::CREATE,
    crud::LIST,
    crud::EXPIRY,
    counted::ASYNC_DB,
    counted::CRUD,
];

/// A part with its steps.
const fn part(name: &'static str, path: &'static str, steps: &'static [&'static str]) -> Part {
    Part {
        name,
        path,
        compressed: false,
        database: false,
        steps,
    }
}

pub(super) const PARTS: &[Part] = &[
    part(
        "baseline",
        "/baseline11",
        &[
            baseline::GET.name,
            baseline::POST.name,
            baseline::CHUNKED.name,
        ],
    ),
    part(
        "pipeline",
        "/pipeline",
        &[baseline::PIPELINE.name, baseline::PIPELINED.name],
    ),
    part("json", "/json/", &[json::STEP.name]),
    Part {
        compressed: true,
        ..part("json-compressed", "/json/", &[json::COMPRESSED.name])
    },
    part("upload", "/upload", &[upload::STEP.name]),
    part(
        "static",
        "/static/",
        &[
            static_files::STEP.name,
            static_files::ENCODED.name,
            static_files::OUTSIDE.name,
        ],
    ),
    Part {
        database: true,
        ..part(
            "async-db",
            "/async-db",
            &[
                async_db::STEP.name,
                async_db::CLAMPED.name,
                async_db::NOW.name,
                counted::ASYNC_DB.name,
            ],
        )
    },
    Part {
        database: true,
        ..part(
            "crud",
            "/crud/items",
            &[
                crud::READ.name,
                crud::UPDATE.name,
                crud::CREATE.name,
                crud::LIST.name,
                crud::EXPIRY.name,
                counted::CRUD.name,
            ],
        )
    },
];

/// SQL that makes the table of a new database.
#[must_use]
pub fn seed() -> &'static str {
    include_str!("seed.sql")
}

/// Does this step ask the server's database?
pub(super) fn is_of_database(act: &Act) -> bool {
    OF_DATABASE.iter().any(|own| own.name == act.name)
}

/// Is this step taken over HTTP/1.1 alone?
pub(super) fn is_of_http1(act: &Act) -> bool {
    OF_HTTP1.iter().any(|own| own.name == act.name)
}

/// A sum or JSON, drawn at random.
pub(super) fn case(visit: &mut Visit<'_>) -> Case {
    let json = visit.keeps("json") || visit.keeps("json-compressed");
    match visit.rng.random_range(0..2) {
        0 if json => json::case(visit),
        _ if visit.keeps("baseline") => baseline::case(visit),
        _ if json => json::case(visit),
        _ => baseline::shortest(visit),
    }
}

/// Exchange of a load that has no file of requests.
pub(super) fn exchanges(visit: &Visit<'_>) -> Vec<Exchange> {
    let expect = Expect::body(baseline::OK.to_vec()).with_status(200);
    let target = visit.target("/pipeline");
    vec![(HttpRequest::get(visit.way.authority, &target), expect)]
}
