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
        unprefix(&mut lines);
        uncomment(&mut lines);
        Self { source, lines }
    }

    /// The index behind the last.
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
        let before = self.lines.partition_point(|line| line.start <= offset);
        before.saturating_sub(1)
    }

    /// Where a line begins in the text.
    pub fn start(&self, index: usize) -> usize {
        self.lines
            .get(index)
            .map_or(self.source.len(), |line| line.start)
    }
}

/// Beginnings of the line with the rate, in outputs that people keep.
const RATES: [&str; 7] = [
    "Requests/sec",
    "Requests per second",
    "Requests      [",
    "Reqs/sec",
    "Transaction rate",
    "finished in ",
    "http_reqs",
];

/// Takes the names of containers from what these have printed: `docker compose` sets `bench-1  | ` before each line.
fn unprefix(lines: &mut [Line<'_>]) {
    fn named<'a>(line: &'a Line<'_>) -> Option<(&'a str, &'a str)> {
        let (name, rest) = line.text.split_once('|')?;
        let name = name.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        (!name.is_empty() && name.chars().all(is_name)).then_some((name, rest))
    }
    let name = |line: &Line<'_>| named(line).map(|(name, _)| name.to_owned());
    // Nearly no line has one.
    for block in lines.chunk_by_mut(|a, b| named(a).is_some() && name(a) == name(b)) {
        let is_rate = |line: &Line<'_>| {
            let text = named(line).map_or("", |(_, text)| text.trim_start());
            RATES.iter().any(|rate| text.starts_with(rate))
        };
        if block.len() < CONTAINER || !block.iter().any(is_rate) {
            continue;
        }
        for line in block {
            if let Some((_, text)) = named(line) {
                let text = text.strip_prefix(' ').unwrap_or(text).to_owned();
                line.text = Cow::Owned(text);
            }
        }
    }
}

/// An output that a container printed has at least as many lines.
const CONTAINER: usize = 3;

/// Takes the marks of comments from blocks with an output in them: people keep outputs in sources and
/// scripts. (Other lines with such marks are headings, or fortio's.)
fn uncomment(lines: &mut [Line<'_>]) {
    let marked = |line: &Line<'_>| {
        let text = line.text.trim_start();
        ["#", "//"].into_iter().find(|mark| text.starts_with(mark))
    };
    for block in lines.chunk_by_mut(|a, b| marked(a).is_some() && marked(a) == marked(b)) {
        let Some(mark) = marked(&block[0]) else {
            continue;
        };
        let is_rate = |line: &Line<'_>| {
            let text = bare(&line.text, mark).trim_start();
            RATES.iter().any(|rate| text.starts_with(rate))
        };
        if !block.iter().any(is_rate) {
            continue;
        }
        for line in block {
            let text = std::mem::take(&mut line.text);
            line.text = match text {
                Cow::Borrowed(text) => Cow::Borrowed(bare(text, mark)),
                Cow::Owned(text) => Cow::Owned(bare(&text, mark).to_owned()),
            };
        }
    }
}

/// A commented line without its mark.
fn bare<'a>(text: &'a str, mark: &str) -> &'a str {
    let text = text.trim_start();
    let text = text.strip_prefix(mark).unwrap_or(text);
    text.strip_prefix(' ').unwrap_or(text)
}

/// Without the line's end, also that of a page, colours, and a byte order mark.
fn plain(raw: &str) -> Cow<'_, str> {
    const SPACE: [char; 4] = ['\n', '\r', ' ', '\t'];
    let text = raw.trim_start_matches('\u{feff}').trim_end_matches(SPACE);
    let text = ["<br/>", "<br>", "<br />", "</br>"]
        .into_iter()
        .find_map(|end| text.strip_suffix(end))
        .map_or(text, |text| text.trim_end_matches(SPACE));
    if !text.contains('\u{1b}') {
        return emphasised(text).map_or(Cow::Borrowed(text), Cow::Owned);
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

/// A figure in a line of an output that a page shows in bold, `Requests per second:    <strong>2601.55</strong> [#/sec]`, without
/// the marks.
fn emphasised(text: &str) -> Option<String> {
    const MARKS: [(&str, &str); 3] = [("<strong>", "</strong>"), ("<b>", "</b>"), ("**", "**")];
    let (open, close) = MARKS.into_iter().find(|(open, _)| text.contains(open))?;
    text.match_indices(open).find_map(|(at, _)| {
        let (before, rest) = (&text[..at], &text[at + open.len()..]);
        let value = before.ends_with(char::is_whitespace) && before.trim_end().ends_with(':');
        let (figure, behind) = rest.split_once(close)?;
        let number = figure.starts_with(|c: char| c.is_ascii_digit());
        (value && number).then(|| format!("{before}{figure}{behind}"))
    })
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
    fn blocks_of_comments_lose_their_marks() {
        let lines = |text: &str| -> Vec<String> {
            let lines = Lines::new(text);
            (0..lines.len()).map(|i| lines.get(i).to_owned()).collect()
        };
        let block = "x\n  # wrk http://h/\n#   Latency  1ms\n#\n# Requests/sec: 5\n";
        let bare = [
            "x",
            "wrk http://h/",
            "  Latency  1ms",
            "",
            "Requests/sec: 5",
        ];
        assert_eq!(lines(block), bare);
        let headings = "# a\n# b\n# c\n# d";
        assert_eq!(lines(headings), ["# a", "# b", "# c", "# d"]);
    }

    #[test]
    fn names_of_containers_go() {
        let lines = |text: &str| -> Vec<String> {
            let lines = Lines::new(text);
            (0..lines.len()).map(|i| lines.get(i).to_owned()).collect()
        };
        assert_eq!(
            lines(
                "wrk-1  | Running\nwrk-1  |\nwrk-1  |   Latency 1ms\nwrk-1  | Requests/sec: 5\nx | y\n"
            ),
            ["Running", "", "  Latency 1ms", "Requests/sec: 5", "x | y"]
        );
        let table = "a | b\na | Requests/sec\nb | 5";
        assert_eq!(lines(table), table.split('\n').collect::<Vec<_>>());
    }

    #[test]
    fn lines_end_in_any_way_and_lose_their_colours() {
        let lines = Lines::new("\u{feff}one \r\n\u{1b}[1;32mtwo\u{1b}[0m\n\nfour");
        assert_eq!(lines.len(), 4);
        let all: Vec<&str> = (0..5).map(|i| lines.get(i)).collect();
        assert_eq!(all, ["one", "two", "", "four", ""]);
        assert_eq!(lines.from(3), "four");
        assert_eq!(lines.line_of(lines.start(1)), 1);
        let breaks = Lines::new("one <br/>\ntwo</br>\n");
        assert_eq!((breaks.get(0), breaks.get(1)), ("one", "two"));
        let returns = Lines::new("one\rtwo\r");
        assert_eq!((returns.len(), returns.get(1)), (2, "two"));
        for line in [
            "Requests per second:    <strong>2601.55</strong> [#/sec] (mean)<br>",
            "Requests per second:    **2601.55** [#/sec] (mean)",
        ] {
            let lines = Lines::new(line);
            assert_eq!(
                lines.get(0),
                "Requests per second:    2601.55 [#/sec] (mean)"
            );
        }
        for line in ["**Results:** 5", "| a: **5** |", "**Note**: **see** below"] {
            let lines = Lines::new(line);
            assert_eq!(
                lines.get(0).matches("**").count(),
                if line.starts_with('|') {
                    0
                } else {
                    line.matches("**").count()
                }
            );
        }
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
