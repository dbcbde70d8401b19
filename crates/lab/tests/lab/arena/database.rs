//! A table of items in memory whose statements are counted.

use prony_lab::service::database::{Counts, Database};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

pub const ROWS: u64 = 100_000;

pub const CATEGORIES: [&str; 10] = [
    "art", "books", "cars", "drinks", "food", "garden", "home", "music", "sports", "toys",
];

#[derive(Debug, Clone)]
pub struct Row {
    /// Empty: that of the seed.
    pub name: String,
    pub category: &'static str,
    pub price: u64,
    pub quantity: u64,
    /// Row of the seed: with tags and a rating.
    pub seeded: bool,
}

pub type Rows = BTreeMap<u64, Row>;

#[derive(Debug, Clone)]
pub struct Table {
    pub rows: Rows,
    counts: Counts,
}

#[derive(Debug)]
pub struct FakeDatabase(Mutex<Table>);

/// The item of a row.
pub fn item(id: u64, row: &Row) -> Value {
    let (tags, rating) = match row.seeded {
        true => (
            json!(["new", "small"]),
            json!({"score": 1 + id % 50, "count": id % 1_000}),
        ),
        false => (json!([]), json!({"score": 0, "count": 0})),
    };
    let name = match row.name.as_str() {
        "" => format!("Item {id}"),
        name => name.to_owned(),
    };
    json!({
        "id": id, "name": name, "category": row.category, "price": row.price,
        "quantity": row.quantity, "active": true, "tags": tags, "rating": rating,
    })
}

/// The first items with prices of a range.
pub fn of_prices(rows: &Rows, low: u64, high: u64, limit: usize) -> Vec<Value> {
    let rows = rows
        .iter()
        .filter(|(_, row)| (low..=high).contains(&row.price));
    rows.take(limit).map(|(id, row)| item(*id, row)).collect()
}

/// A page of a category.
pub fn of_category(rows: &Rows, category: &str, limit: usize, offset: usize) -> Vec<Value> {
    let rows = rows.iter().filter(|(_, row)| row.category == category);
    let rows = rows.skip(offset).take(limit);
    rows.map(|(id, row)| item(*id, row)).collect()
}

impl FakeDatabase {
    pub fn new() -> Self {
        let row = |id: u64| Row {
            name: String::new(),
            category: CATEGORIES[(id * 7 % 10) as usize],
            price: 1 + id * 7_919 % 1_000,
            quantity: 1 + id * 6_007 % 100,
            seeded: true,
        };
        Self(Mutex::new(Table {
            rows: (1..=ROWS).map(|id| (id, row(id))).collect(),
            counts: Counts::default(),
        }))
    }

    /// The table, without a statement.
    pub fn table(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap()
    }

    /// A statement that gives or changes so many rows.
    pub fn executed(&self, rows: usize) -> MutexGuard<'_, Table> {
        let mut table = self.table();
        table.counts.statements += 1;
        table.counts.rows += rows as u64;
        table
    }
}

fn numbers(text: &str) -> Vec<u64> {
    let words = text.split(|c: char| !c.is_ascii_digit());
    words.filter_map(|word| word.parse().ok()).collect()
}

/// The text within quotes.
fn quoted(text: &str) -> &str {
    text.split('\'').nth(1).expect("a quoted text")
}

impl Database for FakeDatabase {
    fn query(&self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let mut table = self.table();
        let (verb, condition) = sql.split_once(" WHERE ").ok_or("no condition")?;
        let n = numbers(condition);
        if verb.starts_with("SELECT json_build_object('id', id") {
            let found = match condition.split(' ').next() {
                Some("price") => of_prices(&table.rows, n[0], n[1], n[2] as usize),
                Some("category") => {
                    of_category(&table.rows, quoted(condition), n[0] as usize, n[1] as usize)
                }
                Some("id") => {
                    let row = table.rows.get(&n[0]);
                    row.map(|row| item(n[0], row)).into_iter().collect()
                }
                _ => return Err(format!("unknown condition {condition}")),
            };
            return Ok(found.iter().map(|item| vec![item.to_string()]).collect());
        }
        if verb == "DELETE FROM items" {
            table.rows.remove(&n[0]);
            return Ok(Vec::new());
        }
        let shift = verb.strip_prefix("UPDATE items SET quantity = 1 + (quantity + ");
        let shift = numbers(shift.ok_or_else(|| format!("unknown statement {sql}"))?)[0];
        for (id, row) in &mut table.rows {
            let chosen = match condition.split(' ').next() {
                Some("price") => (n[0]..=n[1]).contains(&row.price) && *id <= n[2],
                Some("category") => row.category == quoted(condition) && *id <= n[0],
                _ => *id == n[0],
            };
            if chosen {
                row.quantity = 1 + (row.quantity + shift) % 100;
            }
        }
        Ok(Vec::new())
    }

    fn counts(&self) -> Result<Counts, String> {
        Ok(self.table().counts)
    }
}
