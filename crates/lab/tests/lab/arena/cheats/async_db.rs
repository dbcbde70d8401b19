//! Items of a range of prices.

use super::*;

#[test]
fn a_limit_that_is_not_clamped() {
    let said = (
        "async-db-clamped",
        "expected 50 items and their count to /async-db?limit=51; found 51",
    );
    caught(&FULL, said, ASYNC_DB, |site, request| {
        let limit = request.number("limit", 50).max(1) as usize;
        let (low, high) = (request.number("min", 10), request.number("max", 50));
        let table = site.database.executed(limit);
        Answer::list(&of_prices(&table.rows, low as u64, high as u64, limit))
    });
}

#[test]
fn no_items_for_a_limit_of_zero() {
    let said = (
        "async-db-clamped",
        "expected 1 items and their count to /async-db?limit=0; found 0",
    );
    caught(&FULL, said, ASYNC_DB, |site, request| {
        match request.parameter("limit") == "0" {
            true => Answer::list(&[]),
            false => site.honest(request),
        }
    });
}

#[test]
fn items_in_the_order_of_an_index() {
    let said = ("async-db", "expected items by ascending id");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        let found = site.honest(request).value();
        let mut items = found["items"].as_array().unwrap().clone();
        items.sort_by_key(|item| item["price"].as_u64());
        Answer::list(&items)
    });
}

#[test]
fn an_error_instead_of_no_items() {
    let said = ("async-db", "expected status 200; found 404");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        match site.honest(request) {
            answer if answer.value()["count"] == 0 => Answer::none(),
            answer => answer,
        }
    });
}

#[test]
fn a_rating_that_is_not_nested() {
    let said = ("async-db", "expected an item with id");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        let mut found = site.honest(request).value();
        for item in found["items"].as_array_mut().unwrap() {
            item["rating"] = json!(4);
        }
        Answer::json(&found)
    });
}

#[test]
fn prices_beyond_the_range() {
    let said = ("async-db", "expected prices from 10 to 50 to /async-db");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        match site.honest(request).value()["count"] == 0 {
            true => Answer::list(&[]),
            false => {
                let limit = request.number("limit", 50) as usize;
                Answer::list(&of_prices(&site.kept, 1, 1_000, limit))
            }
        }
    });
}

#[test]
fn items_from_a_cache() {
    let said = ("async-db-now", "quantity: ");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        let limit = request.number("limit", 50).clamp(1, 50) as usize;
        let (low, high) = (request.number("min", 10), request.number("max", 50));
        Answer::list(&of_prices(&site.kept, low as u64, high as u64, limit))
    });
}

/// A replica in the process would do that: there is never a wrong answer.
#[test]
fn items_that_no_statement_has_read() {
    let said = ("async-db-counted", "found 0 statements");
    caught(&ALL, said, ASYNC_DB, |site, request| {
        let limit = request.number("limit", 50).clamp(1, 50) as usize;
        let (low, high) = (request.number("min", 10), request.number("max", 50));
        let rows = &site.database.table().rows;
        Answer::list(&of_prices(rows, low as u64, high as u64, limit))
    });
}
