//! Items of a file that were skipped, changed or guessed: each reason once, with how many items and where they are.

use prony_record::inert;
use serde::Serialize;
use std::collections::HashMap;
use std::fmt::{self, Write};

/// Characters of a note's place and of its reason that are shown.
const LONG: usize = 300;

/// Places of a note that are kept, and those that a list shows.
const KEPT: usize = 100;
const SHOWN: usize = 3;

/// Characters of each place in a list.
const SHOWN_LONG: usize = 60;

/// Items of a file that were skipped, changed or guessed for one reason.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Note {
    /// Skipped, changed or guessed item, and why.
    pub reason: String,
    /// Number of items.
    pub count: u64,
    /// The first 100 places: lines, entries, URLs, operations or requests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<String>,
    /// Server to name so that the requests to it are taken, which were skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Variable to give a value, so that the requests with it are taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variable: Option<String>,
}

impl Note {
    /// One item at a place; an empty place: of the whole file.
    pub(in crate::requests) fn new(place: impl AsRef<str>, reason: impl AsRef<str>) -> Self {
        let place = place.as_ref();
        Self {
            reason: short(reason.as_ref(), LONG),
            count: 1,
            places: (!place.is_empty())
                .then(|| short(place, LONG))
                .into_iter()
                .collect(),
            server: None,
            variable: None,
        }
    }

    /// Several items of the whole file.
    pub(in crate::requests) fn many(count: u64, reason: impl AsRef<str>) -> Self {
        Self {
            count,
            ..Self::new("", reason)
        }
    }

    /// One more item.
    pub(in crate::requests) fn add(&mut self, place: &str) {
        self.add_times(place, 1);
    }

    /// More items at one place.
    pub(in crate::requests) fn add_times(&mut self, place: &str, count: u64) {
        self.count += count;
        if self.places.len() < KEPT {
            self.places.push(short(place, LONG));
        }
    }

    /// The first places, and how many more there are: `lines 4, 9, 17 and 2 more`.
    fn shown_places(&self) -> String {
        let first = &self.places[..self.places.len().min(SHOWN)];
        let lines: Option<Vec<&str>> = first.iter().map(|it| it.strip_prefix("line ")).collect();
        let mut out = match lines {
            Some(lines) if lines.len() > 1 => format!("lines {}", lines.join(", ")),
            _ => {
                let first: Vec<String> = first.iter().map(|it| short(it, SHOWN_LONG)).collect();
                first.join(", ")
            }
        };
        match self.count.saturating_sub(first.len() as u64) {
            0 => {}
            _ if first.is_empty() => {}
            more => {
                let _ = write!(out, " and {} more", figure(more));
            }
        }
        out
    }
}

/// A number with commas: 4,000.
fn figure(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Some URLs hold whole pictures.
fn short(text: &str, long: usize) -> String {
    let text = inert::line(text);
    match text.char_indices().nth(long) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.places.as_slice(), self.count) {
            ([], 0 | 1) => f.write_str(&self.reason),
            ([], n) => write!(f, "{n} × {}", self.reason),
            ([place], 1) if self.reason.starts_with(place) => f.write_str(&self.reason),
            ([place], 1) => write!(f, "{place}: {}", self.reason),
            _ => write!(f, "{}: {}", self.shown_places(), self.reason),
        }
    }
}

/// Notes as one text.
pub(in crate::requests) fn joined(notes: &[Note]) -> String {
    let all: Vec<String> = notes.iter().map(ToString::to_string).collect();
    all.join("; ")
}

/// Each reason once, in the order of the file. The same item is counted once.
pub(super) fn grouped(notes: Vec<Note>) -> Vec<Note> {
    let mut known: HashMap<(String, Option<String>), usize> = HashMap::new();
    let mut seen = std::collections::HashSet::new();
    let mut all: Vec<Note> = Vec::new();
    for note in notes {
        if note.count == 1 && !seen.insert(note.clone()) {
            continue;
        }
        let key = (note.reason.clone(), note.server.clone());
        match known.get(&key) {
            Some(&at) => {
                let same = &mut all[at];
                same.count += note.count;
                let room = KEPT - same.places.len().min(KEPT);
                same.places.extend(note.places.into_iter().take(room));
            }
            None => {
                known.insert(key, all.len());
                all.push(note);
            }
        }
    }
    all
}

/// A list of notes in several lines, each reason with its number of items and the first places. `help` gives what to type
/// for one.
#[must_use]
pub fn listed(name: &str, notes: &[Note], help: impl Fn(&Note) -> Option<String>) -> String {
    let sum: u64 = notes.iter().map(|note| note.count).sum();
    let items = if sum == 1 { "item" } else { "items" };
    let mut out = format!(
        "{name}: {} {items} skipped, changed or guessed\n",
        figure(sum)
    );
    let widest = notes.iter().map(|note| figure(note.count).len()).max();
    let width = widest.unwrap_or(1);
    for note in notes {
        let _ = writeln!(out, "  {:>width$} × {}", figure(note.count), note.reason);
        let places = note.shown_places();
        let below = [(!places.is_empty()).then_some(places), help(note)];
        for below in below.into_iter().flatten() {
            let _ = writeln!(out, "  {:>width$}   {below}", "");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_commas() {
        let all = [0, 999, 1_000, 1_234_567].map(figure);
        assert_eq!(all, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn reasons_are_counted() {
        let mut notes: Vec<Note> = (1..=5)
            .map(|n| Note::new(format!("line {n}"), "POST"))
            .collect();
        notes.push(Note::new("line 5", "POST"));
        notes.push(Note::new("/a", "/a: not a URL"));
        notes.push(Note::many(7, "request to http://h"));
        let notes = grouped(notes);
        let list = listed("a.log", &notes, |note| {
            (note.count == 7).then(|| "--server takes these".into())
        });
        assert_eq!(
            list,
            "a.log: 13 items skipped, changed or guessed\n  5 × POST\n      lines 1, 2, 3 and 2 more\n\
             \x20 1 × /a: not a URL\n      /a\n  7 × request to http://h\n      --server takes these\n"
        );
        assert_eq!(
            joined(&notes),
            "lines 1, 2, 3 and 2 more: POST; /a: not a URL; 7 × request to http://h"
        );
    }
}
