//! JSON that a tool wrote, whose figures know their lines.

use super::at;
use crate::model::{At, Block, Tool};
use crate::text::json::line_of;
use crate::text::lines::Lines;
use crate::text::number::Printed;
use serde_json::Value;

/// At most this many entries of a map or a list are read: more than there are percentiles, statuses or errors.
const ENTRIES: usize = 100;

/// An object in a text, from the line of index `start` to the one before `next`.
pub(super) struct Object<'a> {
    pub lines: &'a Lines<'a>,
    pub start: usize,
    pub next: usize,
    pub value: &'a Value,
}

impl<'a> Object<'a> {
    /// An empty block that begins where the object does.
    pub fn block(&self, tool: Tool) -> Block {
        Block::new(tool, self.start)
    }

    /// The value at a path of keys.
    pub fn get(&self, path: &[&str]) -> Option<&'a Value> {
        let mut keys = path.iter();
        keys.try_fold(self.value, |value, key| value.get(key))
    }

    /// The finite number at a path of keys.
    pub fn number(&self, path: &[&str]) -> Option<f64> {
        self.get(path)?.as_f64().filter(|number| number.is_finite())
    }

    /// The count at a path of keys; 0 where there is none.
    pub fn count(&self, path: &[&str]) -> u64 {
        self.number(path).unwrap_or(0.0) as u64
    }

    /// The index of the line in which a path of keys ends: each key is looked for behind the one before it.
    pub fn line(&self, path: &[&str]) -> usize {
        let behind = |from, key: &&str| line_of(self.lines, from, self.next, key);
        path.iter().fold(self.start, behind)
    }

    /// A figure, multiplied by the seconds, or whatever else, of its unit.
    pub fn figure(&self, path: &[&str], unit: f64) -> Option<At<Printed>> {
        at(self.line(path), Printed::exact(self.number(path)? * unit))
    }

    /// A whole number.
    pub fn whole(&self, path: &[&str]) -> Option<At<u64>> {
        at(self.line(path), self.number(path)? as u64)
    }

    /// A text that is not empty.
    pub fn text(&self, path: &[&str]) -> Option<At<String>> {
        let text = self.get(path)?.as_str().filter(|text| !text.is_empty())?;
        at(self.line(path), text.to_owned())
    }

    /// The entries of a map that are finite numbers: key, number, and the index of the line.
    pub fn numbers(&self, path: &[&str]) -> Vec<(&'a str, f64, usize)> {
        let map = self.get(path).and_then(Value::as_object);
        let first = self.line(path);
        let entry = |(key, value): (&'a String, &Value)| {
            let number = value.as_f64().filter(|number| number.is_finite())?;
            let line = line_of(self.lines, first, self.next, key);
            Some((key.as_str(), number, line))
        };
        let entries = map.into_iter().flatten().take(ENTRIES);
        entries.filter_map(entry).collect()
    }

    /// The items of a list.
    pub fn items(&self, path: &[&str]) -> impl Iterator<Item = &'a Value> {
        let list = self.get(path).and_then(Value::as_array);
        list.into_iter().flatten().take(ENTRIES)
    }
}
