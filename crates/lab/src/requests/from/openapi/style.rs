//! How the value of a parameter is written (`style`, `explode`, `allowReserved`).

use super::values::plain;
use super::{CLOSE, OPEN};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use serde_json::Value;

use crate::requests::template::UNRESERVED;

/// Bytes that cannot stand in a request line.
const UNSENDABLE: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#');

/// Characters kept as they are where reserved ones are allowed, but for those that end a query.
const ALLOWED: &AsciiSet = &UNRESERVED
    .remove(b':')
    .remove(b'/')
    .remove(b'?')
    .remove(b'[')
    .remove(b']')
    .remove(b'@')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=');

#[derive(Debug, Clone, Copy)]
pub(super) struct Style<'a> {
    name: &'a str,
    explode: bool,
    reserved: bool,
}

impl<'a> Style<'a> {
    /// The style of fields of forms.
    pub(super) const FORM: Self = Self {
        name: "form",
        explode: true,
        reserved: false,
    };

    pub(super) fn of(parameter: &'a Value, place: &str) -> Self {
        let usual = match place {
            "query" | "cookie" => "form",
            _ => "simple",
        };
        let name = parameter["style"].as_str().unwrap_or(usual);
        let explode = parameter["explode"].as_bool();
        Self {
            name,
            explode: explode.unwrap_or(name == "form"),
            reserved: parameter["allowReserved"] == true,
        }
    }

    fn encoded(self, value: &Value) -> String {
        encoded(
            &plain(value),
            if self.reserved { ALLOWED } else { UNRESERVED },
        )
    }

    /// Elements, or names and values in turns.
    fn flat(self, value: &Value) -> Vec<String> {
        match value {
            Value::Array(all) => all.iter().map(|it| self.encoded(it)).collect(),
            Value::Object(all) => all
                .iter()
                .flat_map(|(name, value)| [encoded(name, UNRESERVED), self.encoded(value)])
                .collect(),
            other => vec![self.encoded(other)],
        }
    }

    /// Elements, or `name=value` of each property.
    fn exploded(self, value: &Value) -> Vec<String> {
        match value {
            Value::Object(all) => all
                .iter()
                .map(|(name, value)| {
                    format!("{}={}", encoded(name, UNRESERVED), self.encoded(value))
                })
                .collect(),
            other => self.flat(other),
        }
    }

    /// The parts between ampersands.
    pub(super) fn in_query(self, name: &str, value: &Value) -> Vec<String> {
        let key = encoded(name, UNRESERVED);
        match (self.name, value) {
            ("deepObject", Value::Object(all)) => all
                .iter()
                .flat_map(|(part, value)| {
                    let key = format!("{key}[{}]", encoded(part, UNRESERVED));
                    let values = match value {
                        Value::Array(all) => all.iter().map(|it| self.encoded(it)).collect(),
                        other => vec![self.encoded(other)],
                    };
                    values
                        .into_iter()
                        .map(move |value| format!("{key}={value}"))
                })
                .collect(),
            (_, Value::Array(all)) if all.is_empty() => Vec::new(),
            (_, Value::Array(_)) if self.explode => {
                let all = self.flat(value).into_iter();
                all.map(|value| format!("{key}={value}")).collect()
            }
            (_, Value::Object(_)) if self.explode => self.exploded(value),
            (style, value) => {
                let between = match style {
                    "spaceDelimited" => "%20",
                    "pipeDelimited" => "%7C",
                    _ => ",",
                };
                vec![format!("{key}={}", self.flat(value).join(between))]
            }
        }
    }

    /// In the place of `{name}`.
    pub(super) fn in_path(self, name: &str, value: &Value) -> String {
        let name = encoded(name, UNRESERVED);
        let all = match self.explode {
            true => self.exploded(value),
            false => self.flat(value),
        };
        match (self.name, self.explode) {
            ("label", true) => format!(".{}", all.join(".")),
            ("label", false) => format!(".{}", all.join(",")),
            ("matrix", true) if value.is_object() => format!(";{}", all.join(";")),
            ("matrix", true) => {
                let all: Vec<String> = all.iter().map(|it| format!(";{name}={it}")).collect();
                all.concat()
            }
            ("matrix", false) => format!(";{name}={}", all.join(",")),
            _ => all.join(","),
        }
    }

    /// The value of a header field.
    pub(super) fn in_header(self, value: &Value) -> String {
        match value {
            Value::Array(all) => {
                let all: Vec<String> = all.iter().map(plain).collect();
                all.join(",")
            }
            Value::Object(all) => {
                let between = if self.explode { "=" } else { "," };
                let all = all.iter();
                let all: Vec<String> = all
                    .map(|(name, value)| format!("{name}{between}{}", plain(value)))
                    .collect();
                all.join(",")
            }
            other => plain(other),
        }
    }
}

/// A path or query with everything percent-encoded that cannot stand in a request line.
pub(in crate::requests::from) fn sendable(text: &str) -> String {
    encoded(text, UNSENDABLE)
}

/// Percent-encoded, but for the values that requests are filled with.
pub(in crate::requests::from) fn encoded(text: &str, set: &'static AsciiSet) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(OPEN) {
        let (value, behind) = after.split_once(CLOSE).unwrap_or((after, ""));
        out += &utf8_percent_encode(before, set).to_string();
        out.push(OPEN);
        out += value;
        out.push(CLOSE);
        rest = behind;
    }
    out + &utf8_percent_encode(rest, set).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// The table of the specification (3.0.3, Style Examples).
    #[test]
    fn as_the_specification_writes_them() {
        let array = json!(["blue", "black", "brown"]);
        let object = json!({"R": 100, "G": 200, "B": 150});
        let style = |name: &str, explode: bool| {
            let given = json!({"style": name, "explode": explode});
            let style = Style::of(&given, "query");
            let query = |value: &Value| style.in_query("color", value).join("&");
            let path = |value: &Value| style.in_path("color", value);
            match name {
                "matrix" | "label" | "simple" => (path(&array), path(&object)),
                _ => (query(&array), query(&object)),
            }
        };
        for (name, explode, of_array, of_object) in [
            (
                "matrix",
                false,
                ";color=blue,black,brown",
                ";color=R,100,G,200,B,150",
            ),
            (
                "matrix",
                true,
                ";color=blue;color=black;color=brown",
                ";R=100;G=200;B=150",
            ),
            ("label", false, ".blue,black,brown", ".R,100,G,200,B,150"),
            ("label", true, ".blue.black.brown", ".R=100.G=200.B=150"),
            (
                "form",
                false,
                "color=blue,black,brown",
                "color=R,100,G,200,B,150",
            ),
            (
                "form",
                true,
                "color=blue&color=black&color=brown",
                "R=100&G=200&B=150",
            ),
            ("simple", false, "blue,black,brown", "R,100,G,200,B,150"),
            ("simple", true, "blue,black,brown", "R=100,G=200,B=150"),
            (
                "spaceDelimited",
                false,
                "color=blue%20black%20brown",
                "color=R%20100%20G%20200%20B%20150",
            ),
            (
                "pipeDelimited",
                false,
                "color=blue%7Cblack%7Cbrown",
                "color=R%7C100%7CG%7C200%7CB%7C150",
            ),
        ] {
            // Properties have the order of the document where it is kept, else that of their names.
            let sorted = |text: &str| {
                let mut all: Vec<char> = text.chars().collect();
                all.sort_unstable();
                all
            };
            let (found_array, found_object) = style(name, explode);
            assert_eq!(found_array, of_array, "{name} {explode}");
            assert_eq!(
                sorted(&found_object),
                sorted(of_object),
                "{name} {explode}: {found_object}"
            );
        }
        let deep = json!({"style": "deepObject"});
        let deep = Style::of(&deep, "query").in_query("f", &json!({"a": 1, "b": ["x", "y"]}));
        assert_eq!(deep, ["f[a]=1", "f[b]=x", "f[b]=y"]);
        let reserved = json!({"allowReserved": true});
        let reserved = Style::of(&reserved, "query").in_query("u", &json!("a/b?c=d e"));
        assert_eq!(reserved, ["u=a/b?c=d%20e"]);
        let value = json!(format!("a b{OPEN}int 1 2{CLOSE}/"));
        let filled = Style::FORM.in_query("q", &value);
        assert_eq!(filled, [format!("q=a%20b{OPEN}int 1 2{CLOSE}%2F")]);
        assert_eq!(Style::FORM.in_query("q", &json!([])), [""; 0]);
    }
}
