//! Steps that count the work of the database while requests come on many connections at once.

use super::super::techempower::{counted, table};
use super::super::wire::Fault;
use super::super::{Act, Depth, Visit};
use super::items::{self, MOST, PRICES, ROWS};
use super::{ask, crud};
use rand::RngExt;
use std::collections::HashSet;

pub(super) const ASYNC_DB: Act = Act {
    name: "async-db-counted",
    tried: "statements and rows of GET /async-db on many connections",
    from: Depth::Quick,
    run: async_db,
};
pub(super) const CRUD: Act = Act {
    name: "crud-counted",
    tried: "statements of GET /crud/items/{id} for ids that are not in a cache",
    from: Depth::Full,
    run: crud_reads,
};

/// A statement for each request, which gives the items of the answer.
fn async_db(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let requests = visit.choose(16, 64);
    let each = requests as u64;
    let rows = each * MOST as u64;
    let bounds = counted::Bounds::new(requests, (each, each), (rows, rows));
    bounds.repeat(requests, || {
        let low = visit.rng.random_range(1..=PRICES - 60);
        let target = format!("/async-db?min={low}&max={}&limit={MOST}", low + 50);
        let before = table::counts(database)?;
        for answer in ask::at_once(visit, &vec![target; requests])? {
            items::are_items(&ask::json(&answer, 200)?, MOST)?;
        }
        counted::settled(database, before, each)
    })
}

/// A statement for each id, as no cache has kept it for longer than it may.
fn crud_reads(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let requests = 64;
    let each = requests as u64;
    let bounds = counted::Bounds::new(requests, (each, each), (each, each));
    // No cache has an item for a read of before.
    std::thread::sleep(crud::EXPIRED);
    bounds.repeat(requests, || {
        let mut ids = HashSet::new();
        while ids.len() < requests {
            ids.insert(visit.rng.random_range(1..=ROWS));
        }
        let targets: Vec<String> = ids.iter().map(|id| format!("/crud/items/{id}")).collect();
        let before = table::counts(database)?;
        for answer in ask::at_once(visit, &targets)? {
            items::is_item(&ask::json(&answer, 200)?)?;
        }
        counted::settled(database, before, each)
    })
}
