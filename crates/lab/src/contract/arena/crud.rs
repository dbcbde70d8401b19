//! Items that are read, listed, created and changed.

use super::super::answer::{HttpAnswer, Listener};
use super::super::http::{self, token};
use super::super::techempower::table;
use super::super::wire::Fault;
use super::super::{Act, Depth, Visit};
use super::ask;
use super::items::{self, CATEGORIES, MOST, PRICES, QUANTITIES, ROWS};
use rand::RngExt;
use serde_json::{Value, json};
use std::time::Duration;

/// An entry of the cache has expired: it may be kept for 200 ms, and a busy machine may be late.
pub(super) const EXPIRED: Duration = Duration::from_millis(400);

/// Items of a list without a limit.
const DEFAULT: usize = 10;
/// Ids up to which rows are changed.
const CHANGED: u32 = 3_000;

pub(super) const READ: Act = Act {
    name: "crud-read",
    tried: "GET /crud/items/{id}, also of ids that do not exist",
    from: Depth::Quick,
    run: read,
};
pub(super) const UPDATE: Act = Act {
    name: "crud-update",
    tried: "GET, PUT and GET of /crud/items/{id} on one connection",
    from: Depth::Quick,
    run: update,
};
pub(super) const CREATE: Act = Act {
    name: "crud-create",
    tried: "POST /crud/items, twice with one id",
    from: Depth::Quick,
    run: create,
};
pub(super) const LIST: Act = Act {
    name: "crud-list",
    tried: "GET /crud/items?category=…&page=…&limit=… after the table was changed",
    from: Depth::Quick,
    run: list,
};
pub(super) const EXPIRY: Act = Act {
    name: "crud-expiry",
    tried: "GET /crud/items/{id} 400 ms after the last, with the table changed in between",
    from: Depth::Full,
    run: expiry,
};

fn path(id: u32) -> String {
    format!("/crud/items/{id}")
}

/// The item of an answer that says whether it comes from a cache.
fn item(answer: &HttpAnswer, id: u32) -> Result<Value, Fault> {
    let found = ask::json(answer, 200)?;
    let found_id = items::is_item(&found)?;
    if found_id != id {
        return Err(Fault::new(format!("item {id}"), format!("item {found_id}")));
    }
    cache(answer)?;
    Ok(found)
}

fn cache(answer: &HttpAnswer) -> Result<&str, Fault> {
    match answer.fields.x_cache.as_deref() {
        Some(value @ ("HIT" | "MISS")) => Ok(value),
        other => Err(Fault::new(
            "X-Cache: HIT or MISS",
            other.map_or_else(|| "none".to_owned(), |it| format!("{it:?}")),
        )),
    }
}

/// Id of an item that the table has from the start.
fn any_id(visit: &mut Visit<'_>) -> u32 {
    visit.rng.random_range(1..=ROWS)
}

/// Id of an item that nothing has created.
fn new_id(visit: &mut Visit<'_>) -> u32 {
    visit.rng.random_range(1_000_000_000..2_000_000_000)
}

/// New values of an item.
fn change(visit: &mut Visit<'_>) -> Value {
    let name = token(visit, 8);
    json!({
        "name": format!("{name} \"é\" 'x'"),
        "price": visit.rng.random_range(1..=PRICES),
        "quantity": visit.rng.random_range(1..=QUANTITIES),
    })
}

/// The item with new values.
fn changed(item: &Value, change: &Value) -> Value {
    let mut item = item.clone();
    for key in ["name", "price", "quantity", "category"] {
        if let Some(value) = change.get(key) {
            item[key] = value.clone();
        }
    }
    item
}

fn read(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let mut listener = Listener::new(visit.open()?);
    for _ in 0..3 {
        let id = any_id(visit);
        let first = ask::get_on(&mut listener, visit, &path(id), "")?;
        let second = ask::get_on(&mut listener, visit, &path(id), "")?;
        ask::same(&item(&first, id)?, &item(&second, id)?)?;
    }
    let absent = new_id(visit);
    // Twice: that there is none may be cached too.
    for _ in 0..2 {
        let answer = ask::get_on(&mut listener, visit, &path(absent), "")?;
        http::status(&answer, 404)?;
    }
    listener.expect_nothing_more()
}

/// The server's own change is seen at once: who has answered PUT has no old item in the cache of that process.
fn update(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let mut listener = Listener::new(visit.open()?);
    for _ in 0..visit.choose(2, 5) {
        let (id, new) = (any_id(visit), change(visit));
        let before = item(&ask::get_on(&mut listener, visit, &path(id), "")?, id)?;
        let expected = changed(&before, &new);
        let answer = ask::json_on(&mut listener, visit, "PUT", &path(id), &new)?;
        ask::same(&expected, &ask::json(&answer, 200)?)?;
        let after = item(&ask::get_on(&mut listener, visit, &path(id), "")?, id)?;
        ask::same(&expected, &after).map_err(after_write("PUT"))?;
        is_stored(database, id, &expected)?;
    }
    let (id, new) = (new_id(visit), change(visit));
    let answer = ask::json_on(&mut listener, visit, "PUT", &path(id), &new)?;
    http::status(&answer, 404)?;
    listener.expect_nothing_more()
}

fn after_write(method: &'static str) -> impl Fn(Fault) -> Fault {
    move |fault| Fault::new(format!("{} after {method}", fault.expected), fault.found)
}

fn is_stored(
    database: &dyn crate::service::database::Database,
    id: u32,
    expected: &Value,
) -> Result<(), Fault> {
    match &items::select(database, &format!("id = {id}"))?[..] {
        [found] => ask::same(expected, found)
            .map_err(|fault| Fault::new(format!("{} in the table", fault.expected), fault.found)),
        _ => Err(Fault::new(format!("item {id} in the table"), "none")),
    }
}

fn create(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let id = new_id(visit);
    let created = creations(visit, id, database);
    // Also after a fault: the server is asked on.
    table::ask(database, &format!("DELETE FROM items WHERE id = {id}"))?;
    created
}

/// An item is made, and made again with other values.
fn creations(
    visit: &mut Visit<'_>,
    id: u32,
    database: &dyn crate::service::database::Database,
) -> Result<(), Fault> {
    let mut listener = Listener::new(visit.open()?);
    let empty = json!({"active": true, "tags": [], "rating": {"score": 0, "count": 0}});
    for _ in 0..2 {
        let mut new = change(visit);
        new["id"] = json!(id);
        new["category"] = json!(CATEGORIES[visit.rng.random_range(0..CATEGORIES.len())]);
        let mut expected = changed(&empty, &new);
        expected["id"] = json!(id);
        let answer = ask::json_on(&mut listener, visit, "POST", "/crud/items", &new)?;
        ask::same(&expected, &ask::json(&answer, 201)?)?;
        let found = item(&ask::get_on(&mut listener, visit, &path(id), "")?, id)?;
        ask::same(&expected, &found).map_err(after_write("POST"))?;
        is_stored(database, id, &expected)?;
    }
    listener.expect_nothing_more()
}

fn list(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    for round in 0..visit.choose(2, 5) {
        let category = CATEGORIES[visit.rng.random_range(0..CATEGORIES.len())];
        let shift = visit.rng.random_range(1..QUANTITIES - 1);
        table::ask(
            database,
            &format!(
                "UPDATE items SET quantity = 1 + (quantity + {shift}) % {QUANTITIES} \
                 WHERE category = '{category}' AND id <= {CHANGED}"
            ),
        )?;
        let (page, limit) = match round {
            0 => (1, DEFAULT),
            1 => (2, MOST),
            _ => (
                visit.rng.random_range(1..=5),
                visit.rng.random_range(1..=MOST),
            ),
        };
        let target = match round {
            0 => format!("/crud/items?category={category}"),
            1 => format!("/crud/items?category={category}&page=2&limit=51"),
            _ => format!("/crud/items?category={category}&page={page}&limit={limit}"),
        };
        let offset = (page - 1) * limit;
        let condition =
            format!("category = '{category}' ORDER BY id LIMIT {limit} OFFSET {offset}");
        let expected = items::select(database, &condition)?;
        let found = ask::json(&ask::get(visit, &target)?, 200)?;
        ask::same(&items::list(&expected), &found)
            .map_err(|fault| Fault::new(format!("{} to {target}", fault.expected), fault.found))?;
    }
    Ok(())
}

/// A cache may keep an item for 200 ms after it was read, and then not.
fn expiry(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let mut listener = Listener::new(visit.open()?);
    let (id, shift) = (any_id(visit), visit.rng.random_range(1..QUANTITIES - 1));
    let before = item(&ask::get_on(&mut listener, visit, &path(id), "")?, id)?;
    table::ask(
        database,
        &format!(
            "UPDATE items SET quantity = 1 + (quantity + {shift}) % {QUANTITIES} WHERE id = {id}"
        ),
    )?;
    std::thread::sleep(EXPIRED);
    let answer = ask::get_on(&mut listener, visit, &path(id), "")?;
    let after = item(&answer, id)?;
    is_stored(database, id, &after)?;
    if before == after || cache(&answer)? != "MISS" {
        let expected = "X-Cache: MISS, 400 ms after the item was read";
        return Err(Fault::new(expected, "X-Cache: HIT"));
    }
    Ok(())
}
