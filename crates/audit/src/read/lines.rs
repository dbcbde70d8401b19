//! A text as lines without what a terminal or a page adds to them.

use std::borrow::Cow;

/// The lines of a text.
pub(crate) struct Lines<'a> {
    source: &'a str,
    lines: Vec<Line<'a>>,
}

struct Line<'a> {
    start: usize,
    text: Cow<'a, str>,
}

impl<'a> Lines<'a> {
    pub fn new(source: &'a str) -> Self {
        let mut lines = Vec::new();
        let mut start = 0;
        // Some files end their lines with a carriage return and nothing else; in others it is what a
        // terminal draws a line again with.
        let only_returns = !source.contains('\n');
        let end = if only_returns { '\r' } else { '\n' };
        for raw in source.split_inclusive(end) {
            lines.push(Line {
                start,
                text: plain(raw),
            });
            start += raw.len();
        }
        Self { source, lines }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// A line without its end; empty beyond the last. The first has the index 0.
    pub fn get(&self, index: usize) -> &str {
        self.lines.get(index).map_or("", |line| &line.text)
    }

    /// The text from the beginning of a line.
    pub fn from(&self, index: usize) -> &'a str {
        self.lines
            .get(index)
            .map_or("", |line| &self.source[line.start..])
    }

    /// The index of the line in which a place in the text lies.
    pub fn line_of(&self, offset: usize) -> usize {
        self.lines
            .partition_point(|line| line.start <= offset)
            .saturating_sub(1)
    }

    /// Where a line begins in the text.
    pub fn start(&self, index: usize) -> usize {
        self.lines
            .get(index)
            .map_or(self.source.len(), |line| line.start)
    }
}

/// Without the line's end, colours, and a byte order mark.
fn plain(raw: &str) -> Cow<'_, str> {
    let text = raw
        .trim_start_matches('\u{feff}')
        .trim_end_matches(['\n', '\r', ' ', '\t']);
    if !text.contains('\u{1b}') {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(sequence) = rest.strip_prefix('[') {
            let end = sequence
                .find(|c: char| ('@'..='~').contains(&c))
                .map_or(sequence.len(), |end| end + 1);
            rest = &sequence[end..];
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Is this the edge of a block of code?
pub(crate) fn is_fence(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("```") || line.starts_with("~~~")
}

/// Without HTML tags, Markdown's emphasis, code marks and links.
pub(crate) fn without_markup(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        if c == '<' {
            let tag = rest[1..]
                .starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!')
                .then(|| near(rest, b'>'))
                .flatten();
            if let Some(end) = tag {
                rest = &rest[end + 1..];
                continue;
            }
        }
        // [text](address): the text stays.
        if c == ']'
            && rest[1..].starts_with('(')
            && let Some(end) = near(rest, b')')
        {
            rest = &rest[end + 1..];
            continue;
        }
        let link = c == '[' && near(rest, b']').is_some_and(|end| rest[end + 1..].starts_with('('));
        if !link && !matches!(c, '*' | '`') {
            out.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    let words: Vec<&str> = out
        .split_whitespace()
        .map(|word| word.trim_matches('_'))
        .collect();
    words.join(" ")
}

/// The longest tag or link address that is taken for one. A bound, so that a long line of
/// beginnings without an end takes no long time.
const MARKUP: usize = 1_000;

/// Where a byte first stands, if that is near.
fn near(text: &str, byte: u8) -> Option<usize> {
    text.bytes().take(MARKUP).position(|b| b == byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_in_any_way_and_lose_their_colours() {
        let lines = Lines::new("\u{feff}one \r\n\u{1b}[1;32mtwo\u{1b}[0m\n\nfour");
        assert_eq!(lines.len(), 4);
        let all: Vec<&str> = (0..5).map(|i| lines.get(i)).collect();
        assert_eq!(all, ["one", "two", "", "four", ""]);
        assert_eq!(lines.from(3), "four");
        assert_eq!(lines.line_of(lines.start(1)), 1);
        let returns = Lines::new("one\rtwo\r");
        assert_eq!((returns.len(), returns.get(1)), (2, "two"));
        assert_eq!(Lines::new("").len(), 0);
        assert_eq!(Lines::new("").line_of(7), 0);
        assert_eq!(plain("\u{1b}"), "");
        assert_eq!(plain("a\u{1b}[3"), "a");
    }

    #[test]
    fn markup_goes() {
        for (with, without) in [
            ("### _Large_  m1.large", "### Large m1.large"),
            ("_ab_ -c __20__ -n <span>8</span> x", "ab -c 20 -n 8 x"),
            ("*Just \"it\":* `a b`", "Just \"it\": a b"),
            ("see [this](http://x/) now", "see this now"),
            ("http://[::1]:80/ a[0]", "http://[::1]:80/ a[0]"),
            ("a < b > c", "a < b > c"),
            ("<unclosed", "<unclosed"),
            ("snake_case stays", "snake_case stays"),
        ] {
            assert_eq!(without_markup(with), without);
        }
    }
}
