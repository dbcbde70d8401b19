//! A database in memory that counts, as PostgreSQL does with `pg_stat_statements`.

use prony_lab::service::database::{Counts, Database};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

pub const ROWS: u32 = 10_000;

#[derive(Debug)]
pub struct Tables {
    pub world: BTreeMap<u32, u32>,
    pub cachedworld: BTreeMap<u32, u32>,
    pub fortune: BTreeMap<i64, String>,
    /// How often a verifier has changed something.
    pub changes: u64,
    counts: Counts,
}

#[derive(Debug)]
pub struct FakeDatabase(Mutex<Tables>);

impl FakeDatabase {
    pub fn new() -> Self {
        let numbers = |factor: u64| {
            let number = move |id: u32| 1 + (u64::from(id) * factor % u64::from(ROWS)) as u32;
            (1..=ROWS).map(move |id| (id, number(id)))
        };
        let mut fortune: BTreeMap<i64, String> = (1..=10)
            .map(|id| {
                (
                    id,
                    format!("{} proverb", (b'A' + (id * 7 % 26) as u8) as char),
                )
            })
            .collect();
        fortune.insert(11, "<script>alert(\"not escaped\");</script>".into());
        fortune.insert(12, "速さは正しさの後に測る".into());
        Self(Mutex::new(Tables {
            world: numbers(7_919).collect(),
            cachedworld: numbers(6_007).collect(),
            fortune,
            changes: 0,
            counts: Counts::default(),
        }))
    }

    /// The tables, without a statement.
    pub fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap()
    }

    fn executed(&self, rows: usize) -> MutexGuard<'_, Tables> {
        let mut tables = self.tables();
        tables.counts.statements += 1;
        tables.counts.rows += rows as u64;
        tables
    }

    /// A statement that gives so many rows of no table.
    pub fn select_rows(&self, rows: usize) {
        drop(self.executed(rows));
    }

    /// One statement for these ids.
    pub fn select(&self, ids: &[u32]) -> Vec<(u32, u32)> {
        let tables = self.executed(ids.len());
        ids.iter().map(|id| (*id, tables.world[id])).collect()
    }

    /// The same in the other table.
    pub fn select_cached(&self, ids: &[u32]) -> Vec<(u32, u32)> {
        let tables = self.executed(ids.len());
        ids.iter().map(|id| (*id, tables.cachedworld[id])).collect()
    }

    /// One statement that writes these rows.
    pub fn update(&self, rows: &[(u32, u32)]) {
        self.executed(rows.len()).world.extend(rows.iter().copied());
    }

    pub fn fortunes(&self) -> Vec<(i64, String)> {
        let rows = self.tables().fortune.len();
        let tables = self.executed(rows);
        let rows = tables.fortune.iter();
        rows.map(|(id, message)| (*id, message.clone())).collect()
    }
}

/// The text between two others.
fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let start = text.find(from)? + from.len();
    let end = text[start..].rfind(to)?;
    Some(&text[start..start + end])
}

impl Database for FakeDatabase {
    fn query(&self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let mut tables = self.executed(0);
        let pairs = |table: &BTreeMap<u32, u32>| {
            let text = |(id, number): (&u32, &u32)| vec![id.to_string(), number.to_string()];
            Ok(table.iter().map(text).collect())
        };
        match sql {
            "SELECT id, randomnumber FROM world" => return pairs(&tables.world),
            "SELECT id, randomnumber FROM cachedworld" => return pairs(&tables.cachedworld),
            _ => tables.changes += 1,
        }
        let number = |from: &str, to: &str| between(sql, from, to)?.trim().parse::<u32>().ok();
        if let Some(shift) = number("1 + (randomnumber + ", ") % 10000") {
            let (_, rest) = sql.rsplit_once(" = ").expect("a condition");
            let rest: u32 = rest.parse().expect("a number");
            for (id, value) in &mut tables.world {
                if id % 20 == rest {
                    *value = 1 + (*value + shift) % ROWS;
                }
            }
        } else if let Some(id) = number("INSERT INTO fortune (id, message) VALUES (", ", '") {
            let quoted = between(sql, ", '", "')").expect("a text");
            tables
                .fortune
                .insert(i64::from(id), quoted.replace("''", "'"));
            let rows = tables.fortune.iter();
            let text = |(id, message): (&i64, &String)| vec![id.to_string(), message.clone()];
            return Ok(rows.map(text).collect());
        } else if let Some(id) = sql.strip_prefix("DELETE FROM fortune WHERE id = ") {
            tables.fortune.remove(&id.parse().expect("an id"));
        } else {
            return Err(format!("unknown statement {sql}"));
        }
        Ok(Vec::new())
    }

    fn counts(&self) -> Result<Counts, String> {
        Ok(self.tables().counts)
    }
}
