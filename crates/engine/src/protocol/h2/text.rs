//! The heads of requests that differ each time, from texts of HTTP/1.1 to header blocks.
//!
//! What all requests of a kind have in common is looked up as it stands in the text, and is in the server's table after the
//! first request of a connection. What differs is written as it is, so that the table holds nothing that does not come again.

use super::hpack::{self, DYNAMIC, Form, OVERHEAD, TABLE_SIZE};
use super::request::is_forbidden;
use super::sending::TableUse;

/// Stands in a [sample](Heads::learn) where requests differ. No request has it in its head.
pub(in crate::protocol) const DIFFERS: u8 = 0;

/// Indices of names in the static table.
const AUTHORITY: usize = 1;
const METHOD: usize = 2;
const PATH: usize = 4;

/// How the heads of several kinds of requests are encoded.
#[derive(Debug, Default)]
pub(in crate::protocol) struct Heads {
    secure: bool,
    /// Methods, paths and the lines of fields that come again, as they stand in the text.
    methods: Vec<(Vec<u8>, PieceEncoding)>,
    paths: Vec<(Vec<u8>, PieceEncoding)>,
    lines: Vec<(Vec<u8>, PieceEncoding)>,
    shared: Vec<SharedField>,
    /// Size of the shared fields in the server's table, in bytes as HPACK counts them.
    size: usize,
}

/// Encoding of a piece of a head.
#[derive(Debug, Clone, Copy)]
enum PieceEncoding {
    /// HTTP/2 has no place for it.
    Nothing,
    /// A field of the static table.
    Static(usize),
    /// One of the fields that are shared, by its place.
    Shared(usize),
}

/// A field that comes again.
#[derive(Debug)]
struct SharedField {
    name: String,
    value: Vec<u8>,
    /// Encoded field for use without the table.
    literal: Vec<u8>,
}

/// Shared fields that are in the server's table.
#[derive(Debug, Default)]
pub(super) struct TabledFields {
    /// By their places: the how manieth was added, from 1 on; 0 is not there.
    nth: Vec<u16>,
    count: u16,
}

impl Heads {
    /// For requests that go over TLS or not.
    pub(in crate::protocol) fn new(secure: bool) -> Self {
        Self {
            secure,
            ..Self::default()
        }
    }

    /// Takes note of what comes again in heads like this one, which has [`DIFFERS`] in the place of what does not.
    pub(in crate::protocol) fn learn(&mut self, sample: &[u8]) {
        let Some(head) = HeadParts::of(sample) else {
            return;
        };
        for (pseudo, value) in [(":method", head.method), (":path", head.target)] {
            let list = |it: &Self| match pseudo {
                ":method" => it.methods.iter().any(|(text, _)| text == value),
                _ => it.paths.iter().any(|(text, _)| text == value),
            };
            if value.contains(&DIFFERS) || list(self) {
                continue;
            }
            if let Some(known) = self.known(pseudo, value) {
                let list = match pseudo {
                    ":method" => &mut self.methods,
                    _ => &mut self.paths,
                };
                list.push((value.to_vec(), known));
            }
        }
        for line in head.lines() {
            let is_new = !self.lines.iter().any(|(text, _)| text == line);
            let Some((name, value)) = field(line).filter(|_| is_new && !line.contains(&DIFFERS))
            else {
                continue;
            };
            let name = match name.as_str() {
                "host" => ":authority",
                name => name,
            };
            let known = match forbids(name, value) {
                true => Some(PieceEncoding::Nothing),
                false => self.known(name, value),
            };
            if let Some(known) = known {
                self.lines.push((line.to_vec(), known));
            }
        }
    }

    /// Returns the encoding of a field that comes again; None: the table has no room for it.
    fn known(&mut self, name: &str, value: &[u8]) -> Option<PieceEncoding> {
        if let Some(index) = std::str::from_utf8(value)
            .ok()
            .and_then(|value| hpack::known(name, value))
        {
            return Some(PieceEncoding::Static(index));
        }
        let same = |it: &SharedField| it.name == name && it.value == value;
        if let Some(place) = self.shared.iter().position(same) {
            return Some(PieceEncoding::Shared(place));
        }
        let size = name.len() + value.len() + OVERHEAD;
        if self.size + size > TABLE_SIZE {
            return None;
        }
        self.size += size;
        let mut literal = Vec::new();
        hpack::put(name, value, Form::Literal, &mut literal);
        self.shared.push(SharedField {
            name: name.to_owned(),
            value: value.to_vec(),
            literal,
        });
        Some(PieceEncoding::Shared(self.shared.len() - 1))
    }

    /// Appends the header block of a request whose head is this text, with its empty line.
    pub(super) fn encode(
        &self,
        text: &[u8],
        told: &mut TabledFields,
        (table, table_size): (&mut TableUse, usize),
        out: &mut Vec<u8>,
    ) {
        match table {
            TableUse::Empty if self.size > table_size => *table = TableUse::Unused,
            TableUse::Empty => *table = TableUse::Filled,
            TableUse::Dropped => {
                // A table size update to 0 (RFC 7541, 4.2).
                out.push(0x20);
                *table = TableUse::Unused;
            }
            TableUse::Filled | TableUse::Unused => {}
        }
        let told = (*table == TableUse::Filled).then_some(told);
        let mut block = BlockWriter {
            shared: &self.shared,
            told,
            out,
        };
        let Some(head) = HeadParts::of(text) else {
            return;
        };
        block.piece(&self.methods, head.method, METHOD);
        let scheme = if self.secure { "https" } else { "http" };
        if let Some(index) = hpack::known(":scheme", scheme) {
            hpack::put_index(index, block.out);
        }
        for line in head.lines().filter(|line| is_host(line)) {
            match find(&self.lines, line) {
                Some(known) => block.known(known),
                None => block.named(AUTHORITY, field(line).map_or(&[][..], |(_, value)| value)),
            }
        }
        block.piece(&self.paths, head.target, PATH);
        for line in head.lines().filter(|line| !is_host(line)) {
            match find(&self.lines, line) {
                Some(known) => block.known(known),
                None => block.other(line),
            }
        }
    }
}

/// A header block that is being written.
struct BlockWriter<'a> {
    shared: &'a [SharedField],
    /// None: the server's table is not used.
    told: Option<&'a mut TabledFields>,
    out: &'a mut Vec<u8>,
}

impl BlockWriter<'_> {
    fn piece(&mut self, list: &[(Vec<u8>, PieceEncoding)], value: &[u8], name: usize) {
        match find(list, value) {
            Some(known) => self.known(known),
            None => self.named(name, value),
        }
    }

    fn known(&mut self, known: PieceEncoding) {
        let place = match known {
            PieceEncoding::Nothing => return,
            PieceEncoding::Static(index) => return hpack::put_index(index, self.out),
            PieceEncoding::Shared(place) => place,
        };
        let it = &self.shared[place];
        let Some(told) = &mut self.told else {
            return self.out.extend_from_slice(&it.literal);
        };
        if told.nth.is_empty() {
            told.nth.resize(self.shared.len(), 0);
        }
        match told.nth[place] {
            0 => {
                told.count += 1;
                told.nth[place] = told.count;
                hpack::put(&it.name, &it.value, Form::Added, self.out);
            }
            // The one that was added last has the first index.
            nth => hpack::put_index(DYNAMIC + usize::from(told.count - nth), self.out),
        }
    }

    /// A field with a name of the static table.
    fn named(&mut self, name: usize, value: &[u8]) {
        hpack::put_named(name, value, self.out);
    }

    /// A field that was not learnt.
    fn other(&mut self, line: &[u8]) {
        if let Some((name, value)) = field(line).filter(|(name, value)| !forbids(name, value)) {
            hpack::put(&name, value, Form::Literal, self.out);
        }
    }
}

/// The parts of a head.
pub(in crate::protocol) struct HeadParts<'a> {
    pub(in crate::protocol) method: &'a [u8],
    pub(in crate::protocol) target: &'a [u8],
    /// The lines of the fields, each with its end.
    fields: &'a [u8],
}

impl<'a> HeadParts<'a> {
    /// None where it has no request line.
    pub(in crate::protocol) fn of(text: &'a [u8]) -> Option<Self> {
        let end = memchr::memmem::find(text, b"\r\n")?;
        let line = text[..end].strip_suffix(b" HTTP/1.1")?;
        let space = memchr::memchr(b' ', line)?;
        Some(Self {
            method: &line[..space],
            target: &line[space + 1..],
            fields: &text[end + 2..],
        })
    }

    /// The fields' lines, without their ends, up to the empty one.
    pub(in crate::protocol) fn lines(&self) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        let mut rest = self.fields;
        std::iter::from_fn(move || {
            let end = memchr::memchr(b'\n', rest)?;
            let line = rest[..end].strip_suffix(b"\r").unwrap_or(&rest[..end]);
            rest = &rest[end + 1..];
            (!line.is_empty()).then_some(line)
        })
    }
}

fn find(list: &[(Vec<u8>, PieceEncoding)], text: &[u8]) -> Option<PieceEncoding> {
    let found = list.iter().find(|(known, _)| known == text);
    found.map(|&(_, known)| known)
}

/// Name, in lower case, and value of a line.
pub(in crate::protocol) fn field(line: &[u8]) -> Option<(String, &[u8])> {
    let colon = memchr::memchr(b':', line)?;
    let name = std::str::from_utf8(&line[..colon]).ok()?;
    let value = line[colon + 1..].trim_ascii();
    Some((name.to_ascii_lowercase(), value))
}

/// Has HTTP/2 no place for this field, whose name is in lower case?
pub(in crate::protocol) fn forbids(name: &str, value: &[u8]) -> bool {
    is_forbidden(name, &String::from_utf8_lossy(value))
}

/// Is it the line of the field Host?
pub(in crate::protocol) fn is_host(line: &[u8]) -> bool {
    line.get(..5)
        .is_some_and(|name| name.eq_ignore_ascii_case(b"host:"))
}

#[cfg(test)]
mod tests {
    use super::super::hpack::Decoder;
    use super::*;

    const SAMPLES: [&str; 2] = [
        "GET /a?id=\0 HTTP/1.1\r\nAccept: text/html\r\nHost: shop:80\r\nX-Id: \0\r\n\r\n",
        "POST /b HTTP/1.1\r\nHost: shop:80\r\nConnection: close\r\nAccept: text/html\r\nContent-Length: 3\r\n\r\n",
    ];

    fn decoded(decoder: &mut Decoder, block: &[u8]) -> String {
        let mut fields = String::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        decoder
            .decode(block, 65_536, |name, value| {
                fields += &format!("{}={}|", text(name), text(value));
            })
            .unwrap();
        fields
    }

    fn heads() -> Heads {
        let mut heads = Heads::new(true);
        for sample in SAMPLES {
            heads.learn(sample.as_bytes());
        }
        heads
    }

    #[test]
    fn heads_keep_their_fields_with_and_without_a_table() {
        let heads = heads();
        for table_size in [4096, 64] {
            let (mut told, mut table) = (TabledFields::default(), TableUse::default());
            let mut decoder = Decoder::default();
            let mut lengths = Vec::new();
            for nth in 0..4 {
                let get = SAMPLES[0].replace('\0', &nth.to_string());
                for (text, expected) in [
                    (
                        get.as_str(),
                        format!(
                            ":method=GET|:scheme=https|:authority=shop:80|:path=/a?id={nth}|accept=text/html|x-id={nth}|"
                        ),
                    ),
                    (
                        SAMPLES[1],
                        ":method=POST|:scheme=https|:authority=shop:80|:path=/b|accept=text/html|content-length=3|".into(),
                    ),
                ] {
                    let mut block = Vec::new();
                    let place = (&mut table, table_size);
                    heads.encode(text.as_bytes(), &mut told, place, &mut block);
                    assert_eq!(decoded(&mut decoder, &block), expected);
                    lengths.push(block.len());
                }
            }
            assert_eq!(table == TableUse::Filled, table_size == 4096);
            // All of the second kind comes again.
            assert_eq!(lengths[7] == 6, table_size == 4096, "{lengths:?}");
        }
    }

    #[test]
    fn a_table_that_is_taken_away_is_not_used() {
        let heads = heads();
        let (mut told, mut table) = (TabledFields::default(), TableUse::default());
        let mut decoder = Decoder::default();
        for nth in 0..3 {
            if nth == 1 {
                table = TableUse::Dropped;
            }
            let mut block = Vec::new();
            heads.encode(
                SAMPLES[1].as_bytes(),
                &mut told,
                (&mut table, 0),
                &mut block,
            );
            assert!(decoded(&mut decoder, &block).contains(":authority=shop:80|:path=/b|"));
            assert_eq!(block[0] == 0x20, nth == 1);
        }
    }

    #[test]
    fn what_was_not_learnt_is_sent_too() {
        let text = "DELETE /x HTTP/1.1\r\nhOST: a\r\nTE: gzip\r\nX-Y:  z \r\nCookie: a=b; c=d\r\n\r\nbody: 1\r\n";
        let (mut told, mut table) = (TabledFields::default(), TableUse::default());
        let mut block = Vec::new();
        Heads::new(false).encode(text.as_bytes(), &mut told, (&mut table, 4096), &mut block);
        assert_eq!(
            decoded(&mut Decoder::default(), &block),
            ":method=DELETE|:scheme=http|:authority=a|:path=/x|x-y=z|cookie=a=b; c=d|"
        );
    }
}
