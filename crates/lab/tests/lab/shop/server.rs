//! The shop of `experiments/shop`, as small as it can be, with a place for cheats.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use crate::support::serve;

/// A request.
pub struct Asked {
    pub method: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    pub token: Option<String>,
    pub body: String,
}

/// An answer.
pub struct Said {
    pub status: u16,
    pub kind: &'static str,
    pub fields: Vec<String>,
    pub body: String,
}

impl Said {
    fn json(status: u16, value: &Value) -> Self {
        Self {
            status,
            kind: "application/json",
            fields: Vec::new(),
            body: value.to_string(),
        }
    }

    /// The same with another value in its body.
    pub fn with(self, key: &str, value: impl Into<Value>) -> Self {
        let mut body: Value = serde_json::from_str(&self.body).expect("it was made here");
        body[key] = value.into();
        Self {
            body: body.to_string(),
            ..self
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let fields: String = self.fields.iter().map(|it| format!("{it}\r\n")).collect();
        let (status, kind, length) = (self.status, self.kind, self.body.len());
        format!(
            "HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\n{fields}Content-Length: {length}\r\n\r\n{}",
            self.body
        )
        .into_bytes()
    }
}

/// Makes an answer wrong: it gets the shop, the request, and the right answer.
pub type Change = fn(&Shop, &Asked, Said) -> Said;

/// A way of handling connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// Requests are read and answered as HTTP requires.
    Right,
    /// Everything that is read at once counts as one request.
    ReadIsRequest,
    /// Several requests that are read at once: only the first is answered.
    FirstOnly,
    /// Several requests that are read at once are answered in reverse.
    Reversed,
    /// Several requests that are read at once have the first one's answer.
    Repeated,
}

/// The folder of the shop's files.
pub fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../experiments/shop")
}

/// State of the shop.
pub struct Shop {
    /// The tokens of users.
    tokens: BTreeMap<String, String>,
    orders: AtomicU64,
}

impl Shop {
    fn open() -> Self {
        let mut users = csv::Reader::from_path(folder().join("users.csv")).expect("a CSV file");
        let rows = users.records().map(|row| row.expect("a row"));
        Self {
            tokens: rows.map(|row| (row[0].into(), row[1].into())).collect(),
            orders: AtomicU64::new(1),
        }
    }

    /// Any user's token, always the same one.
    pub fn one_token(&self) -> &str {
        self.tokens.values().next().expect("a user")
    }

    pub fn item(id: usize) -> Value {
        const COLOURS: [&str; 10] = [
            "red", "blue", "green", "white", "black", "grey", "brown", "pink", "gold", "silver",
        ];
        const THINGS: [&str; 10] = [
            "kettle", "lamp", "chair", "desk", "clock", "mug", "plate", "rug", "vase", "shelf",
        ];
        let name = format!("{} {} {id}", COLOURS[id % 10], THINGS[id / 10 % 10]);
        json!({ "id": id, "name": name, "price": 100 + id * 7919 % 9900 })
    }

    /// The right answer.
    fn answer(&self, asked: &Asked) -> Said {
        let error = |status, why: &str| Said::json(status, &json!({ "error": why }));
        let number = |name: &str| asked.query.get(name)?.parse::<usize>().ok();
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/") => Said {
                kind: "text/html; charset=utf-8",
                body: "<title>Shop</title>".into(),
                ..Said::json(200, &Value::Null)
            },
            ("GET", "/items") => {
                let (offset, limit) =
                    (number("offset").unwrap_or(0), number("limit").unwrap_or(20));
                let items: Vec<Value> = (offset..1000).take(limit).map(Self::item).collect();
                Said::json(200, &json!({ "total": 1000, "items": items }))
            }
            ("GET", "/search") => {
                let q = asked.query.get("q").map_or("", String::as_str);
                let named =
                    |item: &Value| item["name"].as_str().is_some_and(|name| name.contains(q));
                let items: Vec<Value> = (0..1000).map(Self::item).filter(named).collect();
                Said::json(
                    200,
                    &json!({ "q": q, "total": items.len(), "items": items }),
                )
            }
            ("POST", "/login") => {
                let body: Value = serde_json::from_str(&asked.body).unwrap_or_default();
                let user = body["user"].as_str().unwrap_or_default();
                let token = &self.tokens[user];
                let mut said = Said::json(200, &json!({ "user": user, "token": token }));
                let cookie = format!("Set-Cookie: shop={token}; Path=/; HttpOnly");
                said.fields.push(cookie);
                said
            }
            ("POST", "/orders") => {
                let known = |(_, token): &(&String, &String)| Some(*token) == asked.token.as_ref();
                let Some((user, _)) = self.tokens.iter().find(known) else {
                    let mut said = error(401, "log in first");
                    said.fields.push("WWW-Authenticate: Bearer".into());
                    return said;
                };
                let Ok(body) = serde_json::from_str::<Value>(&asked.body) else {
                    return error(400, "the body is not the JSON that is expected");
                };
                let (item, quantity) = (&body["item"], body["quantity"].as_u64().unwrap_or(1));
                let price = Self::item(item.as_u64().unwrap_or(0) as usize)["price"].as_u64();
                let total = price.map(|price| price * quantity);
                let order = self.orders.fetch_add(1, Ordering::Relaxed);
                let mut said = Said::json(
                    201,
                    &json!({ "ok": true, "order": order, "user": user, "item": item, "total": total }),
                );
                said.fields.push(format!("Location: /orders/{order}"));
                said
            }
            ("GET", path) => match path.strip_prefix("/items/").map(str::parse::<usize>) {
                Some(Ok(id @ 0..1000)) => Said::json(200, &Self::item(id)),
                Some(_) => error(404, "there is no such item"),
                None => error(404, "there is no such page"),
            },
            _ => error(404, "there is no such page"),
        }
    }
}

/// Starts a shop.
pub fn open(change: Change, wire: Wire) -> SocketAddr {
    let shop = Shop::open();
    serve(move |stream, _| {
        let answer = |request: &[u8]| {
            let asked = asked(request);
            change(&shop, &asked, shop.answer(&asked)).bytes()
        };
        handle(stream, wire, answer);
    })
}

fn handle(mut stream: TcpStream, wire: Wire, answer: impl Fn(&[u8]) -> Vec<u8>) {
    let (mut heard, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    while let Ok(n @ 1..) = stream.read(&mut buffer) {
        heard.extend_from_slice(&buffer[..n]);
        let mut requests: Vec<Vec<u8>> = Vec::new();
        while let Some(end) = end(&heard) {
            requests.push(heard.drain(..end).collect());
        }
        match wire {
            Wire::Right => {}
            Wire::ReadIsRequest => {
                heard.clear();
                requests = vec![buffer[..n].to_vec()];
            }
            Wire::FirstOnly => requests.truncate(1),
            Wire::Reversed => requests.reverse(),
            Wire::Repeated => {
                let first = requests.first().cloned();
                requests = requests.iter().filter_map(|_| first.clone()).collect();
            }
        }
        let answers: Vec<u8> = requests.iter().flat_map(|it| answer(it)).collect();
        if stream.write_all(&answers).is_err() {
            return;
        }
    }
}

/// Where the first request ends, if it is there whole.
fn end(heard: &[u8]) -> Option<usize> {
    let head = heard.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&heard[..head]).to_ascii_lowercase();
    let length = text.split_once("content-length: ").and_then(|(_, after)| {
        let digits = after.split("\r\n").next()?;
        digits.parse::<usize>().ok()
    });
    let end = head + length.unwrap_or(0);
    (heard.len() >= end).then_some(end)
}

/// Reads as much of a request as is there, whole or not.
fn asked(bytes: &[u8]) -> Asked {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let mut words = head.split(' ');
    let method = words.next().unwrap_or_default();
    let target = words.next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let token = head.split_once("\r\nAuthorization: Bearer ");
    Asked {
        method: method.into(),
        path: path.into(),
        query: pairs
            .map(|(name, value)| (name.into(), decoded(value)))
            .collect(),
        token: token.map(|(_, after)| after.split("\r\n").next().unwrap_or_default().into()),
        body: body.into(),
    }
}
