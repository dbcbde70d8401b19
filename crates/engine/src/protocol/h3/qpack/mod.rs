//! QPACK, the compression of header fields in HTTP/3 (RFC 9204), without a dynamic table: this side allows the server none,
//! and uses none of the server's. Integers, strings and the Huffman code are those of HPACK.

mod table;

use crate::protocol::h2::hpack::{self, HpackError, OVERHEAD, integer, put_integer, put_string};
use table::TABLE;

/// The prefix of a section that refers to no dynamic table (RFC 9204, 4.5.1).
const PREFIX: [u8; 2] = [0, 0];

/// Decodes sections that refer to no dynamic table; with memory for a field.
#[derive(Debug, Default)]
pub struct Decoder {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    /// Decodes a whole section and shows each field, name first. `limit`: of the bytes of all fields, with 32 for each.
    ///
    /// # Errors
    /// When it is not QPACK, refers to a dynamic table, or is longer than the limit; fields before that have been shown.
    pub fn decode(
        &mut self,
        section: &[u8],
        limit: usize,
        mut show: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), HpackError> {
        let mut rest = section;
        if integer(&mut rest, 8)? != 0 {
            return Err(DYNAMIC);
        }
        // The base is of no use without a dynamic table, and is below zero with its sign (RFC 9204, 4.5.1.2).
        if rest.first().is_some_and(|first| first & 0x80 != 0) {
            return Err(HpackError::Invalid("a base below zero"));
        }
        integer(&mut rest, 7)?;
        let mut total = 0;
        while let Some(&first) = rest.first() {
            self.name.clear();
            self.value.clear();
            self.field(first, &mut rest)?;
            total += self.name.len() + self.value.len() + OVERHEAD;
            if total > limit {
                return Err(HpackError::TooLong);
            }
            show(&self.name, &self.value);
        }
        Ok(())
    }

    /// One field, whose first byte is `first`.
    fn field(&mut self, first: u8, rest: &mut &[u8]) -> Result<(), HpackError> {
        let known = |index: usize| {
            TABLE
                .get(index)
                .ok_or(HpackError::Invalid("an index that is in no table"))
        };
        if first & 0x80 != 0 {
            if first & 0x40 == 0 {
                return Err(DYNAMIC);
            }
            let (name, value) = known(integer(rest, 6)?)?;
            self.name.extend_from_slice(name.as_bytes());
            self.value.extend_from_slice(value.as_bytes());
            return Ok(());
        }
        if first & 0x40 != 0 {
            if first & 0x10 == 0 {
                return Err(DYNAMIC);
            }
            let (name, _) = known(integer(rest, 4)?)?;
            self.name.extend_from_slice(name.as_bytes());
        } else if first & 0x20 != 0 {
            hpack::string(rest, 3, &mut self.name)?;
        } else {
            return Err(DYNAMIC);
        }
        hpack::string(rest, 7, &mut self.value)
    }
}

const DYNAMIC: HpackError =
    HpackError::Invalid("a field of a dynamic table, which was not allowed (RFC 9204, 3.2.3)");

/// Begins a section.
pub(super) fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&PREFIX);
}

/// Appends a field, by the static table as far as that has it.
pub(super) fn put(name: &str, value: &[u8], out: &mut Vec<u8>) {
    let same = |known: &(&str, &str)| known.0 == name && known.1.as_bytes() == value;
    if let Some(index) = TABLE.iter().position(same) {
        return put_integer(index, 6, 0xc0, out);
    }
    match TABLE.iter().position(|known| known.0 == name) {
        Some(index) => put_integer(index, 4, 0x50, out),
        None => {
            put_integer(name.len(), 3, 0x20, out);
            out.extend_from_slice(name.as_bytes());
        }
    }
    put_string(value, out);
}

#[cfg(test)]
mod tests;
