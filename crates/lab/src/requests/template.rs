//! `{{…}}` in paths, headers and bodies: compiled once.

use super::Reading;
use crate::source::{Mistake, did_you_mean};
use prony_engine::protocol::mix::{Piece, text};
use std::ops::Range;
use toml::Spanned;

/// The values that there are.
const KNOWN: [&str; 6] = ["int", "uuid", "row", "seq", "now", "base64"];

/// Where a template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Values of tables are percent-encoded.
    Path,
    /// No line ends.
    Header,
    /// Anything.
    Body,
}

/// What is not in braces.
pub(super) fn outside(template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out += before;
        rest = split_end(after).map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// What stands before the braces that end a value, and after them. Single braces in it are in pairs.
fn split_end(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            '}' if text[at..].starts_with("}}") => return Some((&text[..at], &text[at + 2..])),
            _ => {}
        }
    }
    None
}

impl Reading<'_> {
    /// Compiles a template.
    pub(super) fn template(
        &mut self,
        template: &Spanned<String>,
        place: Place,
    ) -> Result<Vec<Piece>, Mistake> {
        let mut pieces = Vec::new();
        let mut rest = template.get_ref().as_str();
        while let Some((before, after)) = rest.split_once("{{") {
            pieces.push(text(before));
            let Some((inside, behind)) = split_end(after) else {
                let at = self.place_of(&template.span(), "{{");
                return Err(self.wrong(at, "has no end: expected }}", None));
            };
            match self.value(inside.trim(), place) {
                Ok(piece) => pieces.push(piece),
                Err((what, help)) => {
                    let at = self.place_of(&template.span(), &format!("{{{{{inside}}}}}"));
                    return Err(self.wrong(at, what, help.as_deref()));
                }
            }
            rest = behind;
        }
        pieces.push(text(rest));
        Ok(pieces)
    }

    /// The place of a part of a text in the file; that of the whole when it is written with escapes.
    fn place_of(&self, whole: &Range<usize>, part: &str) -> Range<usize> {
        let written = self.source.text().get(whole.clone()).unwrap_or_default();
        match written.find(part) {
            Some(at) => whole.start + at..whole.start + at + part.len(),
            None => whole.clone(),
        }
    }

    /// What stands between the braces.
    fn value(&mut self, inside: &str, place: Place) -> Result<Piece, (String, Option<String>)> {
        let mut words = inside.split_whitespace();
        let name = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let wrong = |what: &str| Err((what.to_owned(), None));
        match (name, words.as_slice()) {
            ("int", [low, high]) => match (low.parse(), high.parse()) {
                (Ok(low), Ok(high)) if low <= high => Ok(Piece::Int(low, high)),
                (Ok(_), Ok(_)) => wrong("the first number must not be above the second"),
                _ => wrong("expected two whole numbers: {{int 1 1000}}"),
            },
            ("int", _) => wrong("expected two whole numbers: {{int 1 1000}}"),
            ("uuid", []) => Ok(Piece::Uuid),
            ("seq", []) => Ok(Piece::Seq),
            ("now", []) => Ok(Piece::Now),
            ("uuid" | "seq" | "now", _) => wrong("expected nothing after the name"),
            ("row", [file, column]) => self.row(file, column, false, place),
            ("row", [file, column, "once"]) => self.row(file, column, true, place),
            ("row", _) => {
                wrong("expected a CSV file and one of its columns: {{row users.csv name}}")
            }
            ("base64", []) => wrong("expected a text: {{base64 name:{uuid}}}"),
            ("base64", _) => self.base64(inside["base64".len()..].trim()),
            ("", _) => wrong("expected a value, such as uuid"),
            _ => {
                let help = did_you_mean(name, KNOWN);
                let what = format!("there is no {name:?}: known are {}", KNOWN.join(", "));
                Err((what, help))
            }
        }
    }

    fn row(
        &mut self,
        file: &str,
        column: &str,
        once: bool,
        place: Place,
    ) -> Result<Piece, (String, Option<String>)> {
        let (table, column) = self.tables.column(self.folder, file, column, once, place)?;
        Ok(Piece::Row { table, column })
    }

    /// A text with values in single braces.
    fn base64(&mut self, inner: &str) -> Result<Piece, (String, Option<String>)> {
        let mut pieces = Vec::new();
        let mut rest = inner;
        while let Some((before, after)) = rest.split_once('{') {
            pieces.push(text(before));
            let Some((value, behind)) = after.split_once('}') else {
                return Err(("expected } after the value".into(), None));
            };
            // What is encoded may have any bytes.
            pieces.push(self.value(value.trim(), Place::Body)?);
            rest = behind;
        }
        pieces.push(text(rest));
        Ok(Piece::Base64(pieces))
    }
}
