//! An honest server of the contract over the database in memory.

use super::database::{FakeDatabase, ROWS};
use crate::support::{self, Request};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

pub const ADDED: &str = "Additional fortune added at request time.";

#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn new(media: &str, body: impl Into<Vec<u8>>) -> Self {
        let fields = vec![
            ("Server", "honest".to_owned()),
            ("Date", support::now()),
            ("Content-Type", media.to_owned()),
        ];
        Self {
            status: 200,
            fields,
            body: body.into(),
        }
    }

    pub fn json(value: &Value) -> Self {
        Self::new("application/json", value.to_string())
    }

    pub fn rows(rows: &[(u32, u32)]) -> Self {
        Self::json(&rows.iter().map(|row| object(*row)).collect())
    }

    pub fn field(mut self, name: &'static str, value: &str) -> Self {
        self.fields.retain(|field| field.0 != name);
        if !value.is_empty() {
            self.fields.push((name, value.to_owned()));
        }
        self
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    /// The same with another text in its body.
    pub fn replace(mut self, from: &str, to: &str) -> Self {
        let text = self.text();
        assert!(text.contains(from), "{from} is not in {text}");
        self.body = text.replace(from, to).into();
        self
    }

    pub fn head(&self) -> String {
        let mut head = format!("HTTP/1.1 {} X\r\n", self.status);
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        head
    }

    pub fn bytes(&self) -> Vec<u8> {
        let length = self.body.len();
        let mut bytes = format!("{}Content-Length: {length}\r\n\r\n", self.head()).into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

pub fn object((id, number): (u32, u32)) -> Value {
    json!({"id": id, "randomNumber": number})
}

/// The honest server that every cheat begins with.
pub struct Site {
    pub database: Arc<FakeDatabase>,
    /// Rows of `cachedworld` in the process.
    pub cache: BTreeMap<u32, u32>,
    /// Rows of `world` when the server started.
    pub kept: BTreeMap<u32, u32>,
}

pub fn any_id() -> u32 {
    rand::random_range(1..=ROWS)
}

pub fn ids(count: usize) -> Vec<u32> {
    (0..count).map(|_| any_id()).collect()
}

/// Number of rows that a request asks for.
pub fn count(target: &str) -> usize {
    let value = target.split_once('=').map_or("", |(_, value)| value);
    value.parse::<i64>().unwrap_or(1).clamp(1, 500) as usize
}

pub fn path(target: &str) -> &str {
    target.split('?').next().unwrap_or_default()
}

pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
        .replace('"', "&quot;")
        .replace('\'', "&#39;")
}

/// The page, with what each message becomes.
pub fn page(mut rows: Vec<(i64, String)>, written: impl Fn(&str) -> String) -> Answer {
    let mut html = "<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>\
        <tr><th>id</th><th>message</th></tr>"
        .to_owned();
    for (id, message) in &mut rows {
        html += &format!("<tr><td>{id}</td><td>{}</td></tr>", written(message));
    }
    html += "</table></body></html>";
    Answer::new("text/html; charset=utf-8", html)
}

/// Rows with the one that is added, sorted by message.
pub fn sorted(mut rows: Vec<(i64, String)>) -> Vec<(i64, String)> {
    rows.push((0, ADDED.into()));
    rows.sort_by(|a, b| a.1.cmp(&b.1));
    rows
}

impl Site {
    pub fn new() -> Self {
        let database = Arc::new(FakeDatabase::new());
        let (cache, kept) = {
            let tables = database.tables();
            (tables.cachedworld.clone(), tables.world.clone())
        };
        Self {
            database,
            cache,
            kept,
        }
    }

    /// Rows drawn at random, with a statement for each.
    pub fn select(&self, count: usize) -> Vec<(u32, u32)> {
        let one = |id: u32| self.database.select(&[id])[0];
        ids(count).into_iter().map(one).collect()
    }

    pub fn honest(&self, target: &str) -> Answer {
        let count = count(target);
        match path(target) {
            "/json" => Answer::json(&json!({"message": "Hello, World!"})),
            "/plaintext" => Answer::new("text/plain", "Hello, World!"),
            "/db" => Answer::json(&object(self.select(1)[0])),
            "/queries" => Answer::rows(&self.select(count)),
            "/fortunes" => page(sorted(self.database.fortunes()), escaped),
            "/updates" => {
                let mut rows = self.select(count);
                for (_, number) in &mut rows {
                    *number = any_id();
                }
                rows.sort_unstable();
                rows.dedup_by_key(|row| row.0);
                self.database.update(&rows);
                // Who removes rows that were chosen twice chooses others.
                while rows.len() < count {
                    let new = (any_id(), any_id());
                    self.database.select(&[new.0]);
                    self.database.update(&[new]);
                    rows.retain(|row| row.0 != new.0);
                    rows.push(new);
                }
                Answer::rows(&rows)
            }
            "/cached-queries" => {
                let row = |id: u32| (id, self.cache[&id]);
                Answer::rows(&ids(count).into_iter().map(row).collect::<Vec<_>>())
            }
            _ => Answer {
                status: 404,
                ..Answer::new("text/plain", "")
            },
        }
    }
}

/// Starts a server with these answers.
pub fn start(
    site: &Arc<Site>,
    answer: impl Fn(&Site, &Request) -> Answer + Send + Sync + 'static,
) -> SocketAddr {
    let site = Arc::clone(site);
    support::http(move |_, request| answer(&site, request).bytes())
}
