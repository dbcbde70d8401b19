//! HPACK, the compression of header fields in HTTP/2 (RFC 7541).
//!
//! The decoder is ours and not a crate's, because it has to say whether a block altered the dynamic table (a block that
//! did not need not be decoded again), to stop at a limit while it decodes, and to allocate nothing for a field that is
//! not indexed.

mod huffman;
mod table;

use std::collections::VecDeque;
use table::TABLE;

/// The size of the dynamic table unless settings say otherwise, in bytes as RFC 7541, 4.1 counts them.
pub(super) const TABLE_SIZE: usize = 4096;
/// Bytes that an entry counts beyond its name and value.
pub(in crate::protocol) const OVERHEAD: usize = 32;

/// Why a block cannot be decoded. The connection cannot be used any further: the tables of the two sides differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HpackError {
    /// The block is not HPACK.
    Invalid(&'static str),
    /// The block's fields have more bytes than the limit.
    TooLong,
}

/// The server's half of a connection's header compression.
#[derive(Debug)]
pub struct Decoder {
    entries: VecDeque<Entry>,
    size: usize,
    most: usize,
    /// Grows whenever the dynamic table is altered.
    version: u64,
    name: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Debug)]
struct Entry {
    bytes: Box<[u8]>,
    name: usize,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
            size: 0,
            most: TABLE_SIZE,
            version: 0,
            name: Vec::new(),
            value: Vec::new(),
        }
    }
}

impl Decoder {
    /// Version of the dynamic table: as long as it stays the same, equal blocks mean equal fields.
    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Decodes a whole block and shows each field, name first. `limit`: of the bytes of all fields, with 32 for each.
    ///
    /// # Errors
    /// When it is not HPACK, or longer than the limit; fields before that have been shown.
    pub fn decode(
        &mut self,
        block: &[u8],
        limit: usize,
        mut show: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut rest = block;
        let mut total = 0;
        let mut updates = true;
        while let Some(&first) = rest.first() {
            if first & 0xe0 == 0x20 {
                let size = integer(&mut rest, 5)?;
                if !updates {
                    return Err(HpackError::Invalid("a table size update after a field"));
                }
                if size > TABLE_SIZE {
                    return Err(HpackError::Invalid("a table larger than was allowed"));
                }
                self.most = size;
                self.version += 1;
                self.evict(0);
                continue;
            }
            updates = false;
            let (mut name, mut value) = (
                std::mem::take(&mut self.name),
                std::mem::take(&mut self.value),
            );
            name.clear();
            value.clear();
            let result = self.field(first, &mut rest, &mut name, &mut value);
            total += name.len() + value.len() + OVERHEAD;
            let result = match result {
                Ok(()) if total > limit => Err(HpackError::TooLong),
                Ok(()) => {
                    show(&name, &value);
                    Ok(())
                }
                Err(refusal) => Err(refusal),
            };
            (self.name, self.value) = (name, value);
            result?;
        }
        Ok(())
    }

    /// One field, whose first byte is `first`.
    fn field(
        &mut self,
        first: u8,
        rest: &mut &[u8],
        name: &mut Vec<u8>,
        value: &mut Vec<u8>,
    ) -> Result<(), HpackError> {
        if first & 0x80 != 0 {
            let index = integer(rest, 7)?;
            let (n, v) = self.get(index)?;
            name.extend_from_slice(n);
            value.extend_from_slice(v);
            return Ok(());
        }
        let indexed = first & 0x40 != 0;
        match integer(rest, if indexed { 6 } else { 4 })? {
            0 => string(rest, 7, name)?,
            index => name.extend_from_slice(self.get(index)?.0),
        }
        string(rest, 7, value)?;
        if indexed {
            self.insert(name, value);
        }
        Ok(())
    }

    fn get(&self, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
        if let Some((name, value)) = index.checked_sub(1).and_then(|at| TABLE.get(at)) {
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        let entry = index
            .checked_sub(TABLE.len() + 1)
            .and_then(|at| self.entries.get(at))
            .ok_or(HpackError::Invalid("an index that is in no table"))?;
        Ok(entry.bytes.split_at(entry.name))
    }

    fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.version += 1;
        let size = name.len() + value.len() + OVERHEAD;
        self.evict(size);
        // RFC 7541, 4.4: an entry that is too large empties the table, and is no error.
        if size <= self.most {
            self.size += size;
            self.entries.push_front(Entry {
                bytes: [name, value].concat().into(),
                name: name.len(),
            });
        }
    }

    /// Makes room for so many bytes.
    fn evict(&mut self, room: usize) {
        while self.size + room > self.most
            && let Some(entry) = self.entries.pop_back()
        {
            self.size -= entry.bytes.len() + OVERHEAD;
        }
    }
}

/// An integer whose first byte has `prefix` bits of it.
pub(in crate::protocol) fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, HpackError> {
    let cut = HpackError::Invalid("a header block that ends within a field");
    let mask = (1_usize << prefix) - 1;
    let (&first, mut tail) = rest.split_first().ok_or(cut)?;
    let mut value = usize::from(first) & mask;
    if value == mask {
        let mut shift = 0;
        loop {
            let (&byte, after) = tail.split_first().ok_or(cut)?;
            tail = after;
            // Four bytes hold all that a header block can need.
            if shift > 21 {
                return Err(HpackError::Invalid("an integer of more than 28 bits"));
            }
            value += usize::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *rest = tail;
    Ok(value)
}

/// A string whose first byte has `prefix` bits of its length, below the one that says that it is Huffman-coded.
pub(in crate::protocol) fn string(
    rest: &mut &[u8],
    prefix: u32,
    out: &mut Vec<u8>,
) -> Result<(), HpackError> {
    let coded = rest.first().is_some_and(|first| first & (1 << prefix) != 0);
    let length = integer(rest, prefix)?;
    let Some((bytes, after)) = rest.split_at_checked(length) else {
        return Err(HpackError::Invalid(
            "a header block that ends within a field",
        ));
    };
    *rest = after;
    match coded {
        false => out.extend_from_slice(bytes),
        true if huffman::decode(bytes, out) => {}
        true => return Err(HpackError::Invalid("an invalid Huffman code")),
    }
    Ok(())
}

/// How a field is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Without any effect on the dynamic table.
    Literal,
    /// Added to the dynamic table.
    Added,
}

/// The index of a field in the static table.
pub(super) fn known(name: &str, value: &str) -> Option<usize> {
    let at = TABLE.iter().position(|&known| known == (name, value))?;
    Some(at + 1)
}

/// The first index of the dynamic table.
pub(super) const DYNAMIC: usize = TABLE.len() + 1;

/// Appends an indexed field.
pub(super) fn put_index(index: usize, out: &mut Vec<u8>) {
    put_integer(index, 7, 0x80, out);
}

/// Appends a literal field, by its name's index where the static table has it.
pub(super) fn put(name: &str, value: impl AsRef<[u8]>, form: Form, out: &mut Vec<u8>) {
    let (prefix, bits) = match form {
        Form::Literal => (4, 0),
        Form::Added => (6, 0x40),
    };
    match TABLE.iter().position(|known| known.0 == name) {
        Some(at) => put_integer(at + 1, prefix, bits, out),
        None => {
            out.push(bits);
            put_string(name, out);
        }
    }
    put_string(value, out);
}

/// Appends a literal field that has no effect on the dynamic table, with the name at this index of the static one.
pub(super) fn put_named(index: usize, value: &[u8], out: &mut Vec<u8>) {
    put_integer(index, 4, 0, out);
    put_string(value, out);
}

/// Appends a string as it is.
pub(in crate::protocol) fn put_string(text: impl AsRef<[u8]>, out: &mut Vec<u8>) {
    let text = text.as_ref();
    put_integer(text.len(), 7, 0, out);
    out.extend_from_slice(text);
}

/// Appends an integer with a prefix of this many bits (RFC 7541, 5.1); `bits` are the other bits of the first byte.
pub(in crate::protocol) fn put_integer(value: usize, prefix: u32, bits: u8, out: &mut Vec<u8>) {
    let mask = (1 << prefix) - 1;
    if value < mask {
        return out.push(bits | value as u8);
    }
    out.push(bits | mask as u8);
    let mut left = value - mask;
    while left >= 0x80 {
        out.push(left as u8 | 0x80);
        left >>= 7;
    }
    out.push(left as u8);
}

#[cfg(test)]
mod tests;
