//! Values in rows and columns.

use serde::{Deserialize, Serialize};

/// Rows of values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValueTable {
    /// Name of the table: its file.
    pub name: String,
    /// The columns that are used, all of one length and not empty.
    pub columns: Vec<Column>,
    /// The load ends after the last row, which is otherwise followed by the first.
    pub once: bool,
}

/// The values of a column, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Column {
    /// Adds a value.
    pub fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.ends.push(self.bytes.len());
    }

    /// Adds the value that is written to the end of the bytes.
    pub(super) fn push_written(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.bytes);
        self.ends.push(self.bytes.len());
    }

    /// Forgets all values and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The value in a row, from 0 on, which must be there.
    #[inline]
    #[must_use]
    pub fn value(&self, row: usize) -> &[u8] {
        let from = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[from..self.ends[row]]
    }
}
