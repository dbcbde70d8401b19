//! Text of others, made inert. Servers, files and people give names, titles and messages; what would steer a terminal, or
//! show characters in another order than they stand, becomes U+FFFD. Reports are made of what the notebook gives, and
//! the notebook gives only this.

use serde_json::Value;
use std::borrow::Cow;

/// Keys whose texts are names: each stands in one line.
pub(crate) const NAMES: [&str; 18] = [
    "name",
    "title",
    "server",
    "servers",
    "cell",
    "baseline",
    "contract",
    "label",
    "load",
    "placement",
    "kernel",
    "cpu",
    "clock",
    "text",
    "governor",
    "congestion_control",
    "prony_version",
    "prony_commit",
];

/// Does a character act on what shows it, instead of being shown? Control characters, line and paragraph separators,
/// those that change the direction of text, and tags.
#[must_use]
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// A name or a title: in one line.
#[must_use]
pub fn line(text: &str) -> Cow<'_, str> {
    replaced(text, acts)
}

/// A text that may have several lines.
#[must_use]
pub fn lines(text: &str) -> Cow<'_, str> {
    replaced(text, |c| acts(c) && !matches!(c, '\n' | '\t'))
}

fn replaced(text: &str, bad: impl Fn(char) -> bool) -> Cow<'_, str> {
    match text.contains(&bad) {
        true => Cow::Owned(text.replace(bad, "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}

/// A field that is a name or a title, read from a file: for `#[serde(deserialize_with)]`.
///
/// # Errors
/// When it is no text.
pub fn read_line<'de, D: serde::Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text: String = serde::Deserialize::deserialize(from)?;
    Ok(line(&text).into_owned())
}

/// A JSON text, read, with every text in it made inert. Most have nothing that acts, and cost one look.
///
/// # Errors
/// When it is no JSON of this shape.
pub fn json<T: serde::de::DeserializeOwned>(text: &str) -> serde_json::Result<T> {
    // JSON has a control character, and may have any other, as an escape: \u001b.
    if !text.contains("\\u")
        && !text.contains("\\n")
        && !text.contains("\\r")
        && !text.contains(acts)
    {
        return serde_json::from_str(text);
    }
    let mut value = serde_json::from_str(text)?;
    clean(&mut value, "");
    serde_json::from_value(value)
}

/// Key of the message that a load echoes: bytes for measuring, not a text to be shown. Reports quote it.
const MESSAGE: &str = "message";

/// Makes every text in a value inert; `key` is the one under which it stands.
fn clean(value: &mut Value, key: &str) {
    match value {
        Value::String(_) if key == MESSAGE => {}
        Value::String(text) => {
            let inert = match NAMES.contains(&key) {
                true => line(text),
                false => lines(text),
            };
            if let Cow::Owned(inert) = inert {
                *text = inert;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| clean(item, key)),
        Value::Object(entries) => {
            let odd = |key: &String| matches!(line(key), Cow::Owned(_));
            if entries.keys().any(odd) {
                let all = std::mem::take(entries).into_iter();
                entries.extend(all.map(|(key, value)| (line(&key).into_owned(), value)));
            }
            for (key, value) in entries {
                clean(value, key);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn what_acts_is_replaced_and_all_else_kept() {
        assert_eq!(
            line("a\u{1b}[31mb\nc\u{202e}d\u{9b}e"),
            "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}e"
        );
        assert_eq!(lines("a\n\tb\rc"), "a\n\tb\u{fffd}c");
        for text in ["naïve", "日本語", "1 µs", "👩‍💻"] {
            assert_eq!(line(text), text);
        }
    }

    #[test]
    fn texts_in_json_are_made_inert_wherever_they_stand() {
        let hostile = json!({
            "name": "a\nb", "message": "a\nb\u{1b}", "result": "a\nb\u{1b}", "seed": u64::MAX,
            "errors": {"x\u{7}": 1}, "servers": ["s\u{2028}t"], "deep": [[{"title": "\r"}]],
        });
        let read: Value = json(&hostile.to_string()).unwrap();
        let inert = json!({
            "name": "a\u{fffd}b", "message": "a\nb\u{1b}", "result": "a\nb\u{fffd}", "seed": u64::MAX,
            "errors": {"x\u{fffd}": 1}, "servers": ["s\u{fffd}t"], "deep": [[{"title": "\u{fffd}"}]],
        });
        assert_eq!(read, inert);
    }

    proptest! {
        #[test]
        fn nothing_that_acts_comes_out(text in any::<String>(), key in any::<String>()) {
            let hostile = json!({"title": &text, "other": [&text], &key: &text});
            let read: Value = json(&hostile.to_string()).unwrap();
            let shown = read.to_string().replace("\\n", "").replace("\\t", "");
            prop_assume!(key != MESSAGE);
            prop_assert!(!shown.contains(acts));
            prop_assert!(!shown.contains("\\u00"));
            prop_assert!(!read["title"].as_str().unwrap().contains(acts));
        }
    }
}
