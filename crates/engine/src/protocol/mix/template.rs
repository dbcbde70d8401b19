//! Requests with values in them: compiled once to pieces, and filled without an interpreter.

use super::MixRequest;
use super::table::{Column, ValueTable};
use crate::protocol::h2::DIFFERS;
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// A part of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// Constant text.
    Text(Vec<u8>),
    /// A whole number, each from the first to the second equally likely.
    Int(i64, i64),
    /// A random UUID (version 4).
    Uuid,
    /// The value in the request's row of a table. All pieces of a request that are of one table have the
    /// same row.
    Row {
        /// The table's place.
        table: usize,
        /// The column's place in it.
        column: usize,
    },
    /// The number of the request, from 1 on: no two requests of a load have the same.
    Seq,
    /// Milliseconds since 1970.
    Now,
    /// The text of these pieces, in base64.
    Base64(Vec<Piece>),
    /// A value that is remembered in this place, for what comes later in the request or session.
    Named(usize, Box<Piece>),
    /// A value that was remembered, or taken from the answer to an earlier step, by its place.
    Taken(usize, Written),
    /// The user's cookies, as a header field; nothing without any.
    Cookies,
}

/// How a value that is known only during a load is written. It has no control characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Written {
    /// Unchanged.
    Plain,
    /// Percent-encoded, but for letters, digits, `-`, `.`, `_` and `~`.
    Percent,
    /// Escaped as inside a JSON string.
    Json,
}

impl Written {
    fn write(self, value: &[u8], out: &mut Vec<u8>) {
        const HEX: &[u8; 16] = b"0123456789ABCDEF";
        for &byte in value {
            match self {
                Self::Percent if !byte.is_ascii_alphanumeric() && !b"-._~".contains(&byte) => {
                    let (high, low) = (byte >> 4, byte & 15);
                    out.extend([b'%', HEX[usize::from(high)], HEX[usize::from(low)]]);
                }
                Self::Json if byte == b'"' || byte == b'\\' => out.extend([b'\\', byte]),
                _ => out.push(byte),
            }
        }
    }
}

/// A text as a piece.
pub fn text(text: impl Into<Vec<u8>>) -> Piece {
    Piece::Text(text.into())
}

/// A request's pieces in the order in which they are sent, neighbouring texts joined.
#[derive(Debug)]
pub(super) struct Template {
    /// Everything; or, when the body's length varies, everything up to and including `Content-Length: `.
    head: Vec<Piece>,
    /// A body whose length varies.
    body: Vec<Piece>,
    /// The tables that are used, each once.
    tables: Vec<usize>,
}

impl Template {
    pub(super) fn new(request: &MixRequest) -> Self {
        let has = |name: &str| {
            let mut names = request.headers.iter().map(|(known, _)| known);
            names.any(|known| known.eq_ignore_ascii_case(name))
        };
        let mut head = vec![text(format!("{} ", request.method))];
        head.extend(request.path.iter().cloned());
        head.push(text(" HTTP/1.1\r\n"));
        if !has("host") {
            head.push(text(format!("Host: {}\r\n", request.host)));
        }
        for (name, value) in &request.headers {
            head.push(text(format!("{name}: ")));
            head.extend(value.iter().cloned());
            head.push(text("\r\n"));
        }
        if request.cookies {
            head.push(Piece::Cookies);
        }
        if !request.keepalive && !has("connection") {
            head.push(text("Connection: close\r\n"));
        }
        let body = joined(request.body.clone());
        let mut tables = Vec::new();
        used(&head, &mut tables);
        used(&body, &mut tables);
        // What is expected is of the same rows as what is sent.
        for own in &request.expected.own {
            used(&own.text, &mut tables);
        }
        let takes_body = matches!(request.method.as_str(), "POST" | "PUT" | "PATCH");
        let lengthy = (takes_body || !body.is_empty()) && !has("transfer-encoding");
        let fixed = match body.as_slice() {
            [] => Some(0),
            [Piece::Text(bytes)] => Some(bytes.len()),
            _ => None,
        };
        match fixed {
            Some(length) => {
                if lengthy && !has("content-length") {
                    head.push(text(format!("Content-Length: {length}\r\n")));
                }
                head.push(text("\r\n"));
                head.extend(body);
                Self {
                    head: joined(head),
                    body: Vec::new(),
                    tables,
                }
            }
            None => {
                head.push(text("Content-Length: "));
                Self {
                    head: joined(head),
                    body,
                    tables,
                }
            }
        }
    }

    /// The head with [`DIFFERS`] in the place of what is not the same each time.
    pub(super) fn sample(&self) -> Vec<u8> {
        let mut sample = Vec::new();
        for piece in &self.head {
            match piece {
                Piece::Text(bytes) => sample.extend_from_slice(bytes),
                // It is a whole line.
                Piece::Cookies => sample.extend_from_slice(&[DIFFERS, b'\r', b'\n']),
                _ => sample.push(DIFFERS),
            }
        }
        if !self.body.is_empty() {
            // Of the length.
            sample.extend_from_slice(&[DIFFERS, b'\r', b'\n', b'\r', b'\n']);
        }
        sample
    }

    /// The tables that it uses, each once.
    pub(super) fn tables(&self) -> &[usize] {
        &self.tables
    }

    /// How many places there must be for the values that it remembers.
    pub(super) fn places(&self) -> usize {
        places(&self.head).max(places(&self.body))
    }

    /// The length of what does not vary.
    pub(super) fn fixed_length(&self) -> usize {
        let length = |piece: &Piece| match piece {
            Piece::Text(bytes) => bytes.len(),
            _ => 0,
        };
        self.head.iter().chain(&self.body).map(length).sum()
    }

    /// Appends the next request, with the next row of each of its tables.
    #[inline]
    pub(super) fn fill(&self, filler: &mut Filler, out: &mut Vec<u8>) {
        filler.advance(&self.tables);
        self.fill_with_rows(filler, out);
    }

    /// Appends the next request, with this row of all its tables.
    pub(super) fn fill_row(&self, row: usize, filler: &mut Filler, out: &mut Vec<u8>) {
        for &table in &self.tables {
            filler.tables[table].row = row;
        }
        self.fill_with_rows(filler, out);
    }

    /// Appends the next request, with the rows that were [set](Filler::set_rows).
    #[inline]
    pub(super) fn fill_with_rows(&self, filler: &mut Filler, out: &mut Vec<u8>) {
        filler.seq = filler.seq.wrapping_add(filler.step);
        for piece in &self.head {
            filler.put(piece, out);
        }
        if !self.body.is_empty() {
            let mut body = std::mem::take(&mut filler.body);
            for piece in &self.body {
                filler.put(piece, &mut body);
            }
            number(body.len() as u64, out);
            out.extend_from_slice(b"\r\n\r\n");
            out.extend_from_slice(&body);
            body.clear();
            filler.body = body;
        }
    }
}

/// The tables that these pieces use, each once.
fn used(pieces: &[Piece], tables: &mut Vec<usize>) {
    for piece in pieces {
        match piece {
            Piece::Row { table, .. } if !tables.contains(table) => tables.push(*table),
            Piece::Base64(inner) => used(inner, tables),
            Piece::Named(_, inner) => used(std::slice::from_ref(inner), tables),
            _ => {}
        }
    }
}

/// How many places there must be for the values that these pieces remember.
fn places(pieces: &[Piece]) -> usize {
    let needed = |piece: &Piece| match piece {
        Piece::Named(place, inner) => (place + 1).max(places(std::slice::from_ref(inner))),
        Piece::Base64(inner) => places(inner),
        _ => 0,
    };
    pieces.iter().map(needed).max().unwrap_or_default()
}

/// Returns the text of these pieces if it is the same each time; else None.
pub(super) fn constant(pieces: &[Piece]) -> Option<Vec<u8>> {
    match joined(pieces.to_vec()).as_slice() {
        [] => Some(Vec::new()),
        [Piece::Text(bytes)] => Some(bytes.clone()),
        _ => None,
    }
}

/// Neighbouring texts as one, what is constant encoded now, and no empty texts.
fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut all: Vec<Piece> = Vec::new();
    for piece in pieces {
        let piece = match piece {
            Piece::Base64(inner) => match joined(inner).as_slice() {
                [] => continue,
                [Piece::Text(bytes)] => Piece::Text(BASE64.encode(bytes).into_bytes()),
                several => Piece::Base64(several.to_vec()),
            },
            other => other,
        };
        match (all.last_mut(), piece) {
            (_, Piece::Text(more)) if more.is_empty() => {}
            (Some(Piece::Text(bytes)), Piece::Text(more)) => bytes.extend_from_slice(&more),
            (_, piece) => all.push(piece),
        }
    }
    all
}

/// Where the values come from. Nothing is allocated once its buffers have grown to what they need.
#[derive(Debug)]
pub(super) struct Filler {
    rng: Xoshiro256PlusPlus,
    tables: Vec<Cursor>,
    /// The request's number, and by how much the next one's is more.
    seq: u64,
    step: u64,
    used_up: bool,
    body: Vec<u8>,
    encoded: Vec<u8>,
    /// Values that the request being filled has named, or that its user remembers.
    pub(super) taken: Vec<Vec<u8>>,
    pub(super) cookies: Vec<u8>,
}

/// Where a worker is in a table. Workers take rows in turns.
#[derive(Debug)]
struct Cursor {
    table: ValueTable,
    rows: usize,
    row: usize,
    next: usize,
}

impl Filler {
    pub(super) fn new(tables: Vec<ValueTable>, seed: u64, worker: u32, workers: u32) -> Self {
        let cursor = |table: ValueTable| {
            let rows = table.columns.first().map_or(0, Column::len);
            let first = worker as usize;
            Cursor {
                rows,
                row: 0,
                next: if table.once || rows == 0 {
                    first
                } else {
                    first % rows
                },
                table,
            }
        };
        let tables: Vec<Cursor> = tables.into_iter().map(cursor).collect();
        let used_up = tables.iter().any(Cursor::used_up);
        Self {
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
            tables,
            seq: (u64::from(worker) + 1).wrapping_sub(u64::from(workers)),
            step: u64::from(workers),
            used_up,
            body: Vec::new(),
            encoded: Vec::new(),
            taken: Vec::new(),
            cookies: Vec::new(),
        }
    }

    /// The next row of each of these tables.
    pub(super) fn take_rows(&mut self, tables: &[usize], rows: &mut Vec<usize>) {
        self.advance(tables);
        rows.clear();
        rows.extend(tables.iter().map(|&table| self.tables[table].row));
    }

    /// The rows of these tables from now on.
    pub(super) fn set_rows(&mut self, tables: &[usize], rows: &[usize]) {
        for (&table, &row) in tables.iter().zip(rows) {
            self.tables[table].row = row;
        }
    }

    /// The last row of a table that is used once has been sent.
    #[inline]
    pub(super) fn used_up(&self) -> bool {
        self.used_up
    }

    /// The next `{{seq}}` is this.
    pub(super) fn count_from(&mut self, n: u64) {
        self.seq = n.wrapping_sub(self.step);
    }

    /// Goes on to the next row of each of these tables.
    #[inline]
    fn advance(&mut self, tables: &[usize]) {
        for &table in tables {
            let cursor = &mut self.tables[table];
            cursor.row = cursor.next;
            cursor.next += self.step as usize;
            if cursor.next >= cursor.rows {
                if cursor.table.once {
                    self.used_up = true;
                } else {
                    cursor.next %= cursor.rows;
                }
            }
        }
    }

    /// Makes room for the values that requests remember.
    pub(super) fn remember(&mut self, places: usize) {
        self.taken.resize_with(places, Vec::new);
    }

    #[inline]
    pub(super) fn put(&mut self, piece: &Piece, out: &mut Vec<u8>) {
        match piece {
            Piece::Text(bytes) => out.extend_from_slice(bytes),
            Piece::Int(low, high) => {
                let value = self.rng.random_range(*low..=*high);
                if value < 0 {
                    out.push(b'-');
                }
                number(value.unsigned_abs(), out);
            }
            Piece::Uuid => uuid(self.rng.next_u64(), self.rng.next_u64(), out),
            Piece::Row { table, column } => {
                let cursor = &self.tables[*table];
                // A worker without a row sends nothing: see `used_up`.
                out.extend_from_slice(cursor.table.columns[*column].value(cursor.row));
            }
            Piece::Seq => number(self.seq, out),
            Piece::Now => {
                let now = SystemTime::now().duration_since(UNIX_EPOCH);
                number(now.map_or(0, |since| since.as_millis() as u64), out);
            }
            Piece::Base64(inner) => {
                let mut plain = std::mem::take(&mut self.encoded);
                plain.clear();
                for piece in inner {
                    self.put(piece, &mut plain);
                }
                let from = out.len();
                out.resize(from + plain.len().div_ceil(3) * 4, 0);
                BASE64
                    .encode_slice(&plain, &mut out[from..])
                    .expect("there is room for four bytes for every three");
                self.encoded = plain;
            }
            Piece::Named(place, inner) => {
                let from = out.len();
                self.put(inner, out);
                let value = &mut self.taken[*place];
                value.clear();
                value.extend_from_slice(&out[from..]);
            }
            Piece::Taken(value, written) => {
                if let Some(value) = self.taken.get(*value) {
                    written.write(value, out);
                }
            }
            Piece::Cookies => out.extend_from_slice(&self.cookies),
        }
    }
}

impl Cursor {
    fn used_up(&self) -> bool {
        self.table.once && self.next >= self.rows
    }
}

/// A number in decimal digits.
#[inline]
fn number(mut value: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A UUID of 122 random bits (RFC 9562, version 4).
#[inline]
fn uuid(high: u64, low: u64, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let high = (high & !0xf000) | 0x4000;
    let low = (low & !(0b11 << 62)) | (0b10 << 62);
    let bits = (u128::from(high) << 64) | u128::from(low);
    let mut shown = [b'-'; 36];
    let mut at = 0;
    for nibble in 0..32 {
        if matches!(at, 8 | 13 | 18 | 23) {
            at += 1;
        }
        shown[at] = HEX[(bits >> (124 - 4 * nibble)) as usize & 15];
        at += 1;
    }
    out.extend_from_slice(&shown);
}
