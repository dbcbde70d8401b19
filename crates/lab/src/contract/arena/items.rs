//! Items of the table, as answers have them.

use super::super::techempower::table;
use super::super::wire::{Fault, excerpt};
use crate::service::database::Database;
use serde_json::{Value, json};

/// Rows of the table when a server starts, with ids from 1.
pub(super) const ROWS: u32 = 100_000;
/// The most items of an answer.
pub(super) const MOST: usize = 50;
/// The largest price.
pub(super) const PRICES: u32 = 1_000;
/// The largest quantity.
pub(super) const QUANTITIES: u32 = 100;
pub(super) const CATEGORIES: [&str; 10] = [
    "art", "books", "cars", "drinks", "food", "garden", "home", "music", "sports", "toys",
];

const KEYS: usize = 8;

/// A row as JSON.
const SELECT: &str = "SELECT json_build_object('id', id, 'name', name, 'category', category, 'price', price, \
    'quantity', quantity, 'active', active, 'tags', tags, \
    'rating', json_build_object('score', rating_score, 'count', rating_count)) FROM items";

/// Items of the table that this condition selects.
pub(super) fn select(database: &dyn Database, condition: &str) -> Result<Vec<Value>, Fault> {
    let rows = table::ask(database, &format!("{SELECT} WHERE {condition}"))?;
    let item = |row: &Vec<String>| {
        let text = row.first().map(String::as_str).unwrap_or_default();
        serde_json::from_str(text)
            .map_err(|_| Fault::new("an item from the database", excerpt(text.as_bytes())))
    };
    rows.iter().map(item).collect()
}

/// The answer that has these items.
pub(super) fn list(items: &[Value]) -> Value {
    json!({"items": items, "count": items.len()})
}

/// The item of an answer.
pub(super) fn is_item(item: &Value) -> Result<u32, Fault> {
    let number = |value: &Value, most: u32| {
        let found = value.as_u64().and_then(|found| u32::try_from(found).ok());
        found.filter(|found| *found <= most)
    };
    let right = item["name"].is_string()
        && item["category"].is_string()
        && item["active"].is_boolean()
        && number(&item["price"], u32::MAX).is_some()
        && number(&item["quantity"], u32::MAX).is_some()
        && number(&item["rating"]["score"], u32::MAX).is_some()
        && number(&item["rating"]["count"], u32::MAX).is_some()
        && item["rating"]
            .as_object()
            .is_some_and(|rating| rating.len() == 2)
        && item["tags"]
            .as_array()
            .is_some_and(|tags| tags.iter().all(Value::is_string))
        && item.as_object().is_some_and(|item| item.len() == KEYS);
    match number(&item["id"], u32::MAX) {
        Some(id) if right => Ok(id),
        _ => Err(Fault::new(
            "an item with id, name, category, price, quantity, active, tags and rating",
            excerpt(item.to_string().as_bytes()),
        )),
    }
}

/// Items of an answer, by ascending id, as many as its count.
pub(super) fn are_items(found: &Value, expected: usize) -> Result<&[Value], Fault> {
    let wrong = |found: String| Fault::new(format!("{expected} items and their count"), found);
    let items = found["items"].as_array().map(Vec::as_slice);
    let items = items.ok_or_else(|| wrong(excerpt(found.to_string().as_bytes())))?;
    if items.len() != expected || found["count"].as_u64() != Some(expected as u64) {
        return Err(wrong(format!(
            "{} items, count {}",
            items.len(),
            found["count"]
        )));
    }
    let ids: Result<Vec<u32>, Fault> = items.iter().map(is_item).collect();
    let ids = ids?;
    if !ids.is_sorted_by(|a, b| a < b) {
        let first: Vec<String> = ids.iter().take(6).map(u32::to_string).collect();
        return Err(Fault::new(
            "items by ascending id",
            format!("ids {}, …", first.join(", ")),
        ));
    }
    Ok(items)
}
