//! Dataset that a server reads when it starts.

use rand::RngExt;
use serde_json::{Value, json};

/// Name of its file in the folder of the fixture.
pub(in crate::contract) const FILE: &str = "dataset.json";

/// Items of the dataset.
pub(super) const ITEMS: usize = 50;

const CATEGORIES: [&str; 5] = ["books", "garden", "music", "sports", "toys"];
const TAGS: [&str; 4] = ["new", "sale", "eco", "limited"];

/// Items with random prices and quantities, so that no answer can be prepared.
pub(in crate::contract) fn random() -> Value {
    let mut rng = rand::rng();
    let items = (1..=ITEMS).map(|id| {
        json!({
            "id": id,
            "name": format!("Item {id} of a dataset"),
            "category": CATEGORIES[id % CATEGORIES.len()],
            "price": rng.random_range(1..=1_000),
            "quantity": rng.random_range(1..=100),
            "active": rng.random::<bool>(),
            "tags": [TAGS[id % TAGS.len()], TAGS[(id + 1) % TAGS.len()]],
            "rating": {"score": rng.random_range(1..=50), "count": rng.random_range(0..=1_000)},
        })
    });
    items.collect()
}

/// The answer: the first `count` items with their totals.
pub(super) fn answer(dataset: &Value, count: usize, factor: u64) -> Value {
    let items = dataset.as_array().into_iter().flatten().take(count);
    let items: Vec<Value> = items.map(|item| with_total(item, factor)).collect();
    json!({"count": items.len(), "items": items})
}

fn with_total(item: &Value, factor: u64) -> Value {
    let number = |key: &str| item[key].as_u64().unwrap_or_default();
    let mut item = item.clone();
    item["total"] = json!(number("price") * number("quantity") * factor);
    item
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_follow_the_dataset() {
        let dataset = random();
        assert_eq!(dataset.as_array().unwrap().len(), ITEMS);
        assert_ne!(dataset, random());
        let found = answer(&dataset, 2, 3);
        assert_eq!(found["count"], 2);
        let product =
            |item: &Value| item["price"].as_u64().unwrap() * item["quantity"].as_u64().unwrap();
        assert_eq!(found["items"][1]["total"], product(&dataset[1]) * 3);
        assert_eq!(found["items"][1]["rating"], dataset[1]["rating"]);
    }
}
