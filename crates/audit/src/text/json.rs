//! JSON in the midst of a text.

use super::lines::Lines;
use serde_json::Value;

/// Looks for JSON, and gives up in time: a text can be made in which every other line begins
/// something that only its end shows to be broken.
pub(crate) struct Finder {
    budget: usize,
}

impl Finder {
    /// For a text of this many bytes.
    pub fn new(bytes: usize) -> Self {
        // Twice the text and a little: what is read in vain stays in proportion to it.
        Self {
            budget: 2 * bytes + 4096,
        }
    }

    /// The JSON object, or the list of objects, that begins with this line, and the index of the line behind it.
    pub fn object(&mut self, lines: &Lines<'_>, at: usize) -> Option<(Value, usize)> {
        // A list only where it begins one of objects: `[200] 5 responses` is none.
        let line = lines.get(at).trim();
        let list = line == "[" || line.starts_with("[{");
        if !(line.starts_with('{') || list) || self.budget == 0 {
            return None;
        }
        let text = lines.from(at).trim_start_matches('\u{feff}');
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                let end = lines.start(at) + values.byte_offset();
                Some((value, lines.line_of(end.saturating_sub(1)) + 1))
            }
            Some(Err(error)) => {
                let read = lines.start(at + error.line()) - lines.start(at);
                self.budget = self.budget.saturating_sub(read.max(1));
                None
            }
            None => None,
        }
    }
}

/// The number at a path of keys.
pub(crate) fn number(value: &Value, path: &[&str]) -> Option<f64> {
    path.iter()
        .try_fold(value, |value, key| value.get(key))?
        .as_f64()
        .filter(|number| number.is_finite())
}

/// A key is searched for in this many lines: more than any tool's output has.
const NEAR: usize = 1_000;

/// The index of the line in which a key first stands; `at` when it stands nowhere.
pub(crate) fn line_of(lines: &Lines<'_>, at: usize, next: usize, key: &str) -> usize {
    let quoted = format!("\"{key}\"");
    (at..next.min(at + NEAR))
        .find(|&i| lines.get(i).contains(&quoted))
        .unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_between_other_lines() {
        let text = "said:\n{\"a\": {\"b\": 2.5}}\n{ not json\n  {\n\"c\": 1 }\nend";
        let lines = Lines::new(text);
        let mut finder = Finder::new(text.len());
        let (value, next) = finder.object(&lines, 1).unwrap();
        assert_eq!(
            (number(&value, &["a", "b"]), number(&value, &["a"]), next),
            (Some(2.5), None, 2)
        );
        assert_eq!(finder.object(&lines, 0), None);
        assert_eq!(finder.object(&lines, 2), None);
        assert_eq!(finder.object(&lines, 3).unwrap().1, 5);
        assert_eq!(line_of(&lines, 3, 5, "c"), 4);
    }

    #[test]
    fn what_is_read_in_vain_is_bounded() {
        let text = "{\"a\":[\n".repeat(50) + &"1,\n".repeat(10_000);
        let lines = Lines::new(&text);
        let mut finder = Finder::new(text.len());
        let tries = (0..50)
            .filter(|&at| {
                assert_eq!(finder.object(&lines, at), None);
                finder.budget > 0
            })
            .count();
        assert!(tries < 4, "{tries}");
    }
}
