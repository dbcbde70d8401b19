//! Headings: Markdown, reStructuredText, HTML, and lines in bold that serve as one.

use crate::text::lines::{Lines, without_markup};
use std::sync::Arc;

/// The headings above a line, the outermost first.
#[derive(Default)]
pub(super) struct Headings {
    stack: Vec<(usize, Arc<(String, usize)>)>,
    /// Characters that underline, in the order in which they first did: that is their level.
    underlines: Vec<char>,
}

/// The level of a line in bold: below every heading.
const BOLD: usize = 100;
/// The deepest nesting that is kept.
const DEPTH: usize = 16;
/// A heading is no longer than this, in characters.
const LONGEST: usize = 120;

impl Headings {
    /// The heading that begins in a line; the index of the line behind it.
    pub fn read(&mut self, lines: &Lines<'_>, at: usize) -> Option<usize> {
        let line = lines.get(at);
        let (level, text, next) = atx(line)
            .or_else(|| html(line))
            .map(|(level, text)| (level, text, at + 1))
            .or_else(|| {
                let underline = underline(line, lines.get(at + 1))?;
                let known = self.underlines.iter().position(|c| *c == underline);
                let level = known.unwrap_or_else(|| {
                    self.underlines.push(underline);
                    self.underlines.len() - 1
                });
                Some((level + 1, line.to_owned(), at + 2))
            })
            .or_else(|| Some((BOLD, bold(line)?.to_owned(), at + 1)))?;
        let text = without_markup(&text);
        let text = text.trim_end_matches([':', '#', ' ']);
        if text.is_empty() || text.chars().count() > LONGEST {
            return None;
        }
        self.stack.retain(|(other, _)| *other < level);
        if self.stack.len() < DEPTH {
            self.stack
                .push((level, Arc::new((text.to_owned(), at + 1))));
        }
        Some(next)
    }

    /// Is there no heading above?
    pub fn is_empty(&self) -> bool {
        self.stack.is_empty()
    }

    /// The headings above, the outermost first.
    pub fn above(&self) -> Vec<Arc<(String, usize)>> {
        self.stack
            .iter()
            .map(|(_, text)| Arc::clone(text))
            .collect()
    }
}

/// `## Text`
fn atx(line: &str) -> Option<(usize, String)> {
    let line = at_margin(line)?;
    // In a list: `- #### Text`
    let item = ["- ", "* ", "+ "]
        .iter()
        .find_map(|mark| line.strip_prefix(mark));
    let line = item.map_or(line, str::trim_start);
    let level = line.bytes().take_while(|b| *b == b'#').count();
    let text = &line[level..];
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| (level, text.to_owned()))
}

/// `<h2>Text</h2>`
fn html(line: &str) -> Option<(usize, String)> {
    let line = at_margin(line)?;
    let rest = line
        .strip_prefix("<h")
        .or_else(|| line.strip_prefix("<H"))?;
    let level = rest.chars().next()?.to_digit(10)?;
    (1..=6)
        .contains(&level)
        .then(|| (level as usize, line.to_owned()))
}

/// A line of one character below a line of text.
fn underline(line: &str, below: &str) -> Option<char> {
    let line = at_margin(line)?;
    let first = below.chars().next()?;
    let long = below.len() >= 3 && below.len() + 2 >= line.chars().count();
    let one = below.chars().all(|c| c == first);
    let text =
        line.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '*' | '`' | '_' | '"'));
    (long && one && text && "=-~^\"'+".contains(first)).then_some(first)
}

/// `**Text**`, `*Text:*`: nothing but emphasis in the line.
fn bold(line: &str) -> Option<&str> {
    let line = at_margin(line)?;
    let inner = ["**", "__"]
        .iter()
        .find_map(|mark| line.strip_prefix(mark)?.strip_suffix(mark))
        .or_else(|| {
            let inner = line.strip_prefix('*')?.strip_suffix('*')?;
            inner.ends_with(':').then_some(inner)
        })?;
    (!inner.contains('*') && !inner.is_empty()).then_some(inner)
}

/// Four spaces make it code.
fn at_margin(line: &str) -> Option<&str> {
    let text = line.trim_start_matches(' ');
    (line.len() - text.len() < 4).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<String> {
        let lines = Lines::new(text);
        let mut headings = Headings::default();
        let mut at = 0;
        while at < lines.len() {
            at = headings.read(&lines, at).unwrap_or(at + 1);
        }
        headings.above().iter().map(|h| h.0.clone()).collect()
    }

    #[test]
    fn every_kind_of_heading() {
        assert_eq!(path("# A\n## B\n### _C_ c\n## D\n"), ["A", "D"]);
        assert_eq!(path("A\n===\nB\n---\nc\n^^^\nD\n---\n"), ["A", "D"]);
        assert_eq!(path("<h1>A</h1>\n<h2 id=x>B</h2>\n"), ["A", "B"]);
        assert_eq!(
            path("# A\n**m4.large**\n\n*Just \"it\":*\n"),
            ["A", "Just \"it\""]
        );
        assert_eq!(
            path("    # comment\n#!/bin/sh\n#no\n\n---\n* a list\n*bold*\n"),
            [""; 0]
        );
    }
}
