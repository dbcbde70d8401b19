//! `{{…}}` in paths, headers and bodies: compiled once.

use super::RequestFileReader;
use super::names::NameSource;
use super::table::Wrong;
use crate::source::{Mistake, did_you_mean};
use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};
use prony_engine::protocol::mix::{Piece, Written, text};
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;

/// The values that there are.
pub(super) const KNOWN: [&str; 6] = ["int", "uuid", "row", "seq", "now", "base64"];

/// Where a template stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemplatePosition {
    /// A path or query.
    Path,
    /// The value of a header field.
    Header,
    /// A body of this kind.
    Body(BodyFormat),
    /// An expectation of an answer.
    Expected,
}

/// Kinds of bodies that say how values are written in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyFormat {
    /// JSON: values inside its strings are escaped.
    Json,
    /// The fields of a form: values are percent-encoded.
    Form,
    /// Anything else: values as they are.
    Plain,
}

impl BodyFormat {
    /// By the `Content-Type`, if there is one; else a text that begins as a JSON object or array is JSON.
    pub(super) fn of(content_type: Option<&str>, body: &str) -> Self {
        match content_type.map(str::to_ascii_lowercase) {
            Some(text) if text.contains("json") => Self::Json,
            Some(text) if text.contains("x-www-form-urlencoded") => Self::Form,
            None if outside(body).trim_start().starts_with(['{', '[']) => Self::Json,
            _ => Self::Plain,
        }
    }
}

/// How the values of tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ValueEncoding {
    /// Unchanged.
    Plain,
    /// Unchanged, on one line.
    Line,
    /// Percent-encoded.
    Percent,
    /// Escaped, to stand inside a JSON string.
    Json,
}

/// Characters to percent-encode in a path or query: all but the unreserved ones (RFC 3986, 2.3).
pub(super) const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

impl ValueEncoding {
    /// The same for a value that is known only during a load. It has no control characters.
    fn written(self) -> Written {
        match self {
            Self::Plain | Self::Line => Written::Plain,
            Self::Percent => Written::Percent,
            Self::Json => Written::Json,
        }
    }

    /// A value as it is sent; none when it cannot be.
    pub(super) fn write(self, value: &str) -> Option<Cow<'_, str>> {
        match self {
            Self::Plain => Some(value.into()),
            Self::Line => {
                let unfit = |c: char| c.is_control() && c != '\t';
                (!value.contains(unfit)).then_some(value.into())
            }
            Self::Percent => Some(utf8_percent_encode(value, UNRESERVED).into()),
            Self::Json => {
                let quoted = serde_json::Value::from(value).to_string();
                Some(quoted[1..quoted.len() - 1].to_owned().into())
            }
        }
    }
}

/// Where the compiling of a template is: in a JSON body, whether inside a string.
#[derive(Debug)]
struct Cursor {
    place: TemplatePosition,
    in_string: bool,
}

impl Cursor {
    fn new(place: TemplatePosition) -> Self {
        Self {
            place,
            in_string: false,
        }
    }

    /// Goes past a text.
    fn pass(&mut self, text: &str) {
        if self.place != TemplatePosition::Body(BodyFormat::Json) {
            return;
        }
        let mut escaped = false;
        for c in text.chars() {
            match c {
                _ if escaped => escaped = false,
                '\\' if self.in_string => escaped = true,
                '"' => self.in_string = !self.in_string,
                _ => {}
            }
        }
    }

    /// How a table's value is written here.
    fn encoding(&self) -> ValueEncoding {
        match self.place {
            TemplatePosition::Path | TemplatePosition::Body(BodyFormat::Form) => {
                ValueEncoding::Percent
            }
            TemplatePosition::Header => ValueEncoding::Line,
            TemplatePosition::Body(BodyFormat::Json) if self.in_string => ValueEncoding::Json,
            TemplatePosition::Body(_) | TemplatePosition::Expected => ValueEncoding::Plain,
        }
    }
}

/// Text outside the braces.
pub(super) fn outside(template: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        out += before;
        rest = split_end(after).map_or("", |(_, rest)| rest);
    }
    out + rest
}

/// The text before the braces that end a value, and after them. Single braces in it are in pairs, but for those of a
/// literal.
fn split_end(text: &str) -> Option<(&str, &str)> {
    if let Some(literal) = text.trim_start().strip_prefix('"') {
        let (_, behind) = literal.split_once('"')?;
        let after = behind.trim_start().strip_prefix("}}")?;
        return Some((&text[..text.len() - after.len() - 2], after));
    }
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

/// The text of a value that is written as it stands: `"{{"`.
fn literal(inside: &str) -> Option<&str> {
    inside.strip_prefix('"')?.strip_suffix('"')
}

/// A text between values as it is sent: in a path what is not ASCII is percent-encoded.
fn as_written(literal: &str, place: TemplatePosition) -> Piece {
    match place {
        TemplatePosition::Path => text(utf8_percent_encode(literal, CONTROLS).to_string()),
        _ => text(literal),
    }
}

/// A value in an expectation: one that the request has sent, not another one.
fn as_sent(piece: Piece) -> Result<Piece, Wrong> {
    fn is_sent(piece: &Piece) -> bool {
        match piece {
            Piece::Text(_) | Piece::Row { .. } | Piece::Seq | Piece::Taken(..) => true,
            Piece::Base64(inner) => inner.iter().all(is_sent),
            Piece::Int(..) | Piece::Uuid | Piece::Now | Piece::Named(..) | Piece::Cookies => false,
        }
    }
    if is_sent(&piece) {
        return Ok(piece);
    }
    let what = "this would be another value than the one that was sent";
    let help = "name it in the request, as in {{id = int 1 1000}}, and write {{id}} here";
    Err((what.into(), Some(help.into())))
}

impl RequestFileReader<'_> {
    /// Compiles a template.
    pub(super) fn template(
        &mut self,
        template: &Spanned<String>,
        place: TemplatePosition,
    ) -> Result<Vec<Piece>, Mistake> {
        let mut pieces = Vec::new();
        let mut cursor = Cursor::new(place);
        let mut rest = template.get_ref().as_str();
        while let Some((before, after)) = rest.split_once("{{") {
            pieces.push(as_written(before, place));
            cursor.pass(before);
            let Some((inside, behind)) = split_end(after) else {
                let at = self.place_of(&template.span(), "{{");
                return Err(self.wrong(at, "has no end: expected }}", None));
            };
            if let Some(literal) = literal(inside.trim()) {
                cursor.pass(literal);
            }
            let value =
                self.value(inside.trim(), cursor.encoding())
                    .and_then(|piece| match place {
                        TemplatePosition::Expected => as_sent(piece),
                        _ => Ok(piece),
                    });
            match value {
                Ok(piece) => pieces.push(piece),
                Err((what, help)) => {
                    let at = self.place_of(&template.span(), &format!("{{{{{inside}}}}}"));
                    return Err(self.wrong(at, what, help.as_deref()));
                }
            }
            rest = behind;
        }
        pieces.push(as_written(rest, place));
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

    /// Reads the text between the braces: a value, or a name for one.
    fn value(&mut self, inside: &str, encoding: ValueEncoding) -> Result<Piece, Wrong> {
        if let Some(literal) = literal(inside) {
            return Ok(text(literal));
        }
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
        let named = inside.split_once('=').filter(|(name, _)| {
            // A text in base64 may begin with an equals sign.
            name.trim_end().chars().all(plain) && name.trim_end() != "base64"
        });
        match named {
            Some((name, value)) => self.named(name.trim_end(), value.trim(), encoding),
            None => self.unnamed(inside, encoding),
        }
    }

    /// `NAME = VALUE`: the value, which can be repeated by its name from here on.
    fn named(&mut self, name: &str, value: &str, encoding: ValueEncoding) -> Result<Piece, Wrong> {
        if name.is_empty() || KNOWN.contains(&name) {
            let what = format!("{name:?} cannot be the name of a value");
            return Err((what, Some("such as {{id = int 1 1000}}".into())));
        }
        if self.taken.get(name).is_some() {
            return Err((format!("there is a value {name:?} already"), None));
        }
        match self.unnamed(value, encoding)? {
            Piece::Taken(..) => Err((format!("{value} is a name already"), None)),
            piece @ Piece::Row { .. } => {
                let mut words = value.split_whitespace().skip(1).map(str::to_owned);
                let mut word = || words.next().unwrap_or_default();
                let (file, column) = (word(), word());
                self.taken
                    .name(name.to_owned(), NameSource::Row { file, column });
                Ok(piece)
            }
            piece => {
                let place = self.taken.name(name.to_owned(), NameSource::Drawn);
                Ok(Piece::Named(place, Box::new(piece)))
            }
        }
    }

    fn unnamed(&mut self, inside: &str, encoding: ValueEncoding) -> Result<Piece, Wrong> {
        let mut words = inside.split_whitespace();
        let name = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let wrong = |what: &str| Err((what.to_owned(), None));
        if let Some((place, known)) = self.taken.get(name) {
            return match (words.as_slice(), known.clone()) {
                ([], NameSource::Row { file, column }) => self.row(&file, &column, false, encoding),
                ([], NameSource::Taken | NameSource::Drawn) => {
                    Ok(Piece::Taken(place, encoding.written()))
                }
                _ => wrong("expected nothing after the name"),
            };
        }
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
            ("row", [file, column]) => self.row(file, column, false, encoding),
            ("row", [file, column, "once"]) => self.row(file, column, true, encoding),
            ("row", _) => {
                wrong("expected a CSV file and one of its columns: {{row users.csv name}}")
            }
            ("base64", []) => wrong("expected a text: {{base64 name:{uuid}}}"),
            ("base64", _) => self.base64(inside["base64".len()..].trim()),
            ("", _) => wrong("expected a value, such as uuid"),
            _ => {
                let known = || {
                    KNOWN
                        .into_iter()
                        .chain(self.taken.iter().map(String::as_str))
                };
                let help = did_you_mean(name, known());
                let all: Vec<&str> = known().collect();
                let what = format!("there is no {name:?}: known are {}", all.join(", "));
                Err((what, help))
            }
        }
    }

    fn row(
        &mut self,
        file: &str,
        column: &str,
        once: bool,
        encoding: ValueEncoding,
    ) -> Result<Piece, Wrong> {
        let (table, column) = self
            .tables
            .column(self.folder, file, column, once, encoding)?;
        Ok(Piece::Row { table, column })
    }

    /// A text with values in single braces.
    fn base64(&mut self, inner: &str) -> Result<Piece, Wrong> {
        let mut pieces = Vec::new();
        let mut rest = inner;
        while let Some((before, after)) = rest.split_once('{') {
            pieces.push(text(before));
            let Some((value, behind)) = after.split_once('}') else {
                return Err(("expected } after the value".into(), None));
            };
            // What is encoded may have any bytes.
            pieces.push(self.value(value.trim(), ValueEncoding::Plain)?);
            rest = behind;
        }
        pieces.push(text(rest));
        Ok(Piece::Base64(pieces))
    }
}
