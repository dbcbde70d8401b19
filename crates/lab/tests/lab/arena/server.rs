//! An honest server of the contract over the table in memory.

use super::database::{CATEGORIES, FakeDatabase, Row, Rows, item, of_category, of_prices};
use crate::support::serve;
use flate2::Compression;
use flate2::write::GzEncoder;
use prony_lab::contract::{Contract, Fixture};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub const KEPT: Duration = Duration::from_millis(200);

/// A whole request.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    pub target: String,
    /// Names in small letters.
    pub fields: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// A parameter of the query.
    pub fn parameter(&self, name: &str) -> &str {
        let query = self.target.split_once('?').map_or("", |it| it.1);
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .into_iter()
            .find(|pair| pair.0 == name)
            .map_or("", |pair| pair.1)
    }

    pub fn number(&self, name: &str, default: i64) -> i64 {
        self.parameter(name).parse().unwrap_or(default)
    }

    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    pub fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && self.path().starts_with(path)
    }

    /// Id at the end of the path.
    pub fn id(&self) -> Option<u64> {
        self.path().strip_prefix("/crud/items/")?.parse().ok()
    }

    /// Reads a head, without its body.
    pub fn head(from: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            from.read_line(&mut line).ok().filter(|&n| n > 0)?;
            match line.trim_end() {
                "" => break,
                line => lines.push(line.to_owned()),
            }
        }
        let mut words = lines.first()?.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let fields = lines[1..].iter().filter_map(|line| line.split_once(": "));
        Some(Self {
            method,
            target,
            fields: fields
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect(),
            body: Vec::new(),
        })
    }

    pub fn read(from: &mut BufReader<TcpStream>) -> Option<Self> {
        let mut this = Self::head(from)?;
        if this.field("transfer-encoding") != "chunked" {
            this.body = vec![0; this.field("content-length").parse().unwrap_or(0)];
            from.read_exact(&mut this.body).ok()?;
            return Some(this);
        }
        loop {
            let mut line = String::new();
            from.read_line(&mut line).ok()?;
            let size = usize::from_str_radix(line.trim_end(), 16).ok()?;
            let mut chunk = vec![0; size + 2];
            from.read_exact(&mut chunk).ok()?;
            this.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                return Some(this);
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub fields: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn new(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            fields: vec![("Content-Type", media.to_owned())],
            body: body.into(),
        }
    }

    pub fn text(body: &impl ToString) -> Self {
        Self::new("text/plain", body.to_string())
    }

    pub fn json(value: &Value) -> Self {
        Self::new("application/json", value.to_string())
    }

    pub fn list(items: &[Value]) -> Self {
        Self::json(&json!({"items": items, "count": items.len()}))
    }

    pub fn none() -> Self {
        Self::text(&"no such item").status(404)
    }

    pub fn status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub fn field(mut self, name: &'static str, value: &str) -> Self {
        self.fields.retain(|field| field.0 != name);
        if !value.is_empty() {
            self.fields.push((name, value.to_owned()));
        }
        self
    }

    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub fn gzip(self, level: u32) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
        encoder.write_all(&self.body).expect("memory");
        let body = encoder.finish().expect("memory");
        Self { body, ..self }.field("Content-Encoding", "gzip")
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} X\r\nContent-Length: {}\r\n",
            self.status,
            self.body.len()
        );
        for (name, value) in &self.fields {
            head += &format!("{name}: {value}\r\n");
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }
}

/// The honest server that every cheat begins with.
pub struct Site {
    pub database: Arc<FakeDatabase>,
    pub fixture: Fixture,
    pub dataset: Value,
    /// The files, by their names.
    pub files: HashMap<String, Vec<u8>>,
    /// Items that were read, and when.
    pub cache: Mutex<HashMap<u64, (Instant, Value)>>,
    /// Rows when the server started.
    pub kept: Rows,
    _scratch: tempfile::TempDir,
}

impl Site {
    pub fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let database = Arc::new(FakeDatabase::new());
        let fixture = Fixture::set_up(Contract::Arena, scratch.path()).unwrap();
        let dataset = std::fs::read(fixture.docroot().join("dataset.json")).unwrap();
        let kept = database.table().rows.clone();
        let files = std::fs::read_dir(fixture.docroot().join("static")).unwrap();
        let read = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        };
        Self {
            files: files.map(read).collect(),
            fixture: fixture.with_database(Arc::clone(&database) as _),
            dataset: serde_json::from_slice(&dataset).unwrap(),
            cache: Mutex::default(),
            kept,
            database,
            _scratch: scratch,
        }
    }

    /// The first items of the dataset with their totals.
    pub fn items(&self, count: usize, factor: u64) -> Answer {
        let mut items: Vec<Value> = self.dataset.as_array().unwrap()[..count].to_vec();
        for item in &mut items {
            let product = item["price"].as_u64().unwrap() * item["quantity"].as_u64().unwrap();
            item["total"] = json!(product * factor);
        }
        Answer::list(&items)
    }

    /// A file, in gzip where that is accepted.
    pub fn file(&self, request: &Request) -> Answer {
        let name = &request.path()["/static/".len()..];
        let Some(bytes) = self.files.get(name) else {
            return Answer::none();
        };
        let media = match name.rsplit('.').next() {
            Some("css") => "text/css",
            Some("html") => "text/html; charset=utf-8",
            Some("js") => "text/javascript",
            Some("json") => "application/json",
            Some("svg") => "image/svg+xml",
            Some("webp") => "image/webp",
            _ => "font/woff2",
        };
        let answer = Answer::new(media, bytes.clone());
        match request.field("accept-encoding").contains("gzip") {
            true => answer.gzip(6),
            false => answer,
        }
    }

    pub fn async_db(&self, request: &Request) -> Answer {
        let (low, high) = (request.number("min", 10), request.number("max", 50));
        let limit = request.number("limit", 50).clamp(1, 50) as usize;
        let items = of_prices(&self.database.table().rows, low as u64, high as u64, limit);
        drop(self.database.executed(items.len()));
        Answer::list(&items)
    }

    pub fn list(&self, request: &Request) -> Answer {
        let page = request.number("page", 1).max(1) as usize;
        let limit = request.number("limit", 10).clamp(1, 50) as usize;
        let category = request.parameter("category");
        let items = of_category(
            &self.database.table().rows,
            category,
            limit,
            (page - 1) * limit,
        );
        drop(self.database.executed(items.len()));
        Answer::list(&items)
    }

    /// An item out of the cache, where it may be for so long, or out of the table.
    pub fn read(&self, id: u64, kept: Duration) -> Answer {
        let mut cache = self.cache.lock().unwrap();
        match cache.get(&id) {
            Some((at, item)) if at.elapsed() < kept => Answer::json(item).field("X-Cache", "HIT"),
            _ => match self.database.executed(1).rows.get(&id) {
                Some(row) => {
                    let item = item(id, row);
                    cache.insert(id, (Instant::now(), item.clone()));
                    Answer::json(&item).field("X-Cache", "MISS")
                }
                None => Answer::none(),
            },
        }
    }

    /// A row with the values of a body.
    pub fn change(row: &mut Row, body: &Value) {
        row.name = body["name"].as_str().unwrap().to_owned();
        row.price = body["price"].as_u64().unwrap();
        row.quantity = body["quantity"].as_u64().unwrap();
    }

    pub fn put(&self, request: &Request, id: u64) -> Answer {
        let body = serde_json::from_slice(&request.body).unwrap();
        self.cache.lock().unwrap().remove(&id);
        match self.database.executed(1).rows.get_mut(&id) {
            Some(row) => {
                Self::change(row, &body);
                Answer::json(&item(id, row))
            }
            None => Answer::none(),
        }
    }

    pub fn post(&self, request: &Request) -> Answer {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let id = body["id"].as_u64().unwrap();
        self.cache.lock().unwrap().remove(&id);
        let mut table = self.database.executed(1);
        let row = table.rows.entry(id).or_insert(Row {
            name: String::new(),
            category: "",
            price: 0,
            quantity: 0,
            seeded: false,
        });
        Self::change(row, &body);
        let named = |category: &&&str| **category == body["category"];
        row.category = CATEGORIES.iter().find(named).unwrap();
        Answer::json(&item(id, row)).status(201)
    }

    pub fn honest(&self, request: &Request) -> Answer {
        match (&*request.method, request.path()) {
            (_, "/baseline11") => {
                let sum = request.number("a", 0) + request.number("b", 0);
                let body = String::from_utf8_lossy(&request.body);
                Answer::text(&(sum + body.parse::<i64>().unwrap_or(0)))
            }
            ("GET", "/pipeline") => Answer::text(&"ok"),
            ("POST", "/upload") => Answer::text(&request.body.len()),
            ("GET", path) if path.starts_with("/static/") => self.file(request),
            ("GET", "/async-db") => self.async_db(request),
            ("GET", "/crud/items") => self.list(request),
            ("POST", "/crud/items") => self.post(request),
            ("GET", path) if path.starts_with("/json/") => {
                let count = path["/json/".len()..].parse().unwrap();
                let answer = self.items(count, request.number("m", 1) as u64);
                match request.field("accept-encoding").contains("gzip") {
                    true => answer.gzip(6),
                    false => answer,
                }
            }
            (method, _) => match (method, request.id()) {
                ("GET", Some(id)) => self.read(id, KEPT),
                ("PUT", Some(id)) => self.put(request, id),
                _ => Answer::none(),
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
    serve(move |mut stream, _| {
        let mut from = BufReader::new(stream.try_clone().expect("a live socket"));
        while let Some(request) = Request::read(&mut from) {
            let sent = stream.write_all(&answer(&site, &request).bytes());
            if sent.is_err() || request.field("connection") == "close" {
                return;
            }
        }
    })
}
