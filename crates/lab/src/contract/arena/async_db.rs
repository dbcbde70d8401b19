//! Items of a range of prices.

use super::super::http::token;
use super::super::techempower::table;
use super::super::wire::Fault;
use super::super::{Act, Depth, Visit};
use super::ask;
use super::items::{self, MOST, PRICES, QUANTITIES};
use rand::RngExt;

/// Prices without a limit of their own.
const DEFAULT: (u32, u32) = (10, 50);

/// Ids up to which rows are changed: few, so that the table stays as it was made.
const CHANGED: u32 = 3_000;

pub(super) const STEP: Act = Act {
    name: "async-db",
    tried: "GET /async-db with and without parameters",
    from: Depth::Quick,
    run: async_db,
};
pub(super) const CLAMPED: Act = Act {
    name: "async-db-clamped",
    tried: "limits beyond 1 to 50, and what is no number",
    from: Depth::Full,
    run: clamped,
};
pub(super) const NOW: Act = Act {
    name: "async-db-now",
    tried: "items of /async-db after the table was changed",
    from: Depth::Quick,
    run: now,
};

/// Requires so many items with prices of a range.
fn judge(visit: &Visit<'_>, target: &str, range: (u32, u32), count: usize) -> Result<(), Fault> {
    let found = ask::json(&ask::get(visit, target)?, 200)?;
    let check = || {
        for item in items::are_items(&found, count)? {
            let price = item["price"].as_u64().unwrap_or_default();
            if !(u64::from(range.0)..=u64::from(range.1)).contains(&price) {
                let expected = format!("prices from {} to {}", range.0, range.1);
                return Err(Fault::new(expected, price.to_string()));
            }
        }
        Ok(())
    };
    check()
        .map_err(|fault: Fault| Fault::new(format!("{} to {target}", fault.expected), fault.found))
}

fn async_db(visit: &mut Visit<'_>) -> Result<(), Fault> {
    judge(visit, "/async-db", DEFAULT, MOST)?;
    let low = visit.rng.random_range(1..PRICES - 100);
    let (range, limit) = ((low, low + 100), visit.rng.random_range(1..=MOST));
    let target = format!("/async-db?min={}&max={}&limit={limit}", range.0, range.1);
    judge(visit, &target, range, limit)?;
    let (low, word) = (visit.rng.random_range(2_000..1_000_000), token(visit, 4));
    let none = format!("/async-db?min={low}&max={}&limit=20&x={word}", low + 10);
    ask::same(
        &items::list(&[]),
        &ask::json(&ask::get(visit, &none)?, 200)?,
    )
}

fn clamped(visit: &mut Visit<'_>) -> Result<(), Fault> {
    for (query, count) in [
        ("limit=0", 1),
        ("limit=-5", 1),
        ("limit=1", 1),
        ("limit=51", MOST),
        ("limit=500", MOST),
        ("limit=foo", MOST),
        ("limit=", MOST),
        ("min=foo&max=", MOST),
    ] {
        judge(visit, &format!("/async-db?{query}"), DEFAULT, count)?;
    }
    Ok(())
}

/// Rows that were read before a change are not those of the table.
fn now(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    for _ in 0..visit.choose(2, 5) {
        let low = visit.rng.random_range(1..=PRICES - 60);
        let (high, limit) = (
            low + visit.rng.random_range(40..=60),
            visit.rng.random_range(20..=MOST),
        );
        let shift = visit.rng.random_range(1..QUANTITIES - 1);
        let prices = format!("price BETWEEN {low} AND {high}");
        table::ask(
            database,
            &format!(
                "UPDATE items SET quantity = 1 + (quantity + {shift}) % {QUANTITIES} \
                 WHERE {prices} AND id <= {CHANGED}"
            ),
        )?;
        let expected = items::select(database, &format!("{prices} ORDER BY id LIMIT {limit}"))?;
        let target = format!("/async-db?min={low}&max={high}&limit={limit}");
        let found = ask::json(&ask::get(visit, &target)?, 200)?;
        ask::same(&items::list(&expected), &found)?;
    }
    Ok(())
}
