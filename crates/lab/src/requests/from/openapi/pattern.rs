//! Texts that a regular expression matches.

use regex::Regex;
use regex_syntax::hir::{Class, Hir, HirKind};

/// The most times that what may be repeated is repeated.
const MOST: u32 = 64;

/// A text that matches `pattern` and has so many characters; none when no such text is found.
pub(super) fn matching(pattern: &str, shortest: usize, longest: usize) -> Option<String> {
    let regex = Regex::new(pattern).ok()?;
    let hir = regex_syntax::parse(pattern).ok()?;
    let fits = |text: &String| {
        let length = text.chars().count();
        (shortest..=longest).contains(&length) && regex.is_match(text)
    };
    (0..=MOST).map(|more| text(&hir, more)).find(fits)
}

/// A text with `more` repetitions than there must be.
fn text(hir: &Hir, more: u32) -> String {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => String::new(),
        HirKind::Literal(literal) => String::from_utf8_lossy(&literal.0).into_owned(),
        HirKind::Class(class) => one_of(class),
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(u32::MAX);
            let times = repetition
                .min
                .saturating_add(more)
                .min(most)
                .min(repetition.min.max(MOST));
            text(&repetition.sub, more).repeat(times as usize)
        }
        HirKind::Capture(capture) => text(&capture.sub, more),
        HirKind::Concat(all) => all.iter().map(|it| text(it, more)).collect(),
        HirKind::Alternation(all) => all.first().map_or(String::new(), |it| text(it, more)),
    }
}

/// A character of a class: a letter or digit if there is one.
fn one_of(class: &Class) -> String {
    let fits = |c: char| match class {
        Class::Unicode(class) => class
            .ranges()
            .iter()
            .any(|it| (it.start()..=it.end()).contains(&c)),
        Class::Bytes(class) => {
            let byte = u8::try_from(u32::from(c)).ok();
            byte.is_some_and(|byte| {
                class
                    .ranges()
                    .iter()
                    .any(|it| (it.start()..=it.end()).contains(&byte))
            })
        }
    };
    let usual = ('a'..='z')
        .chain('A'..='Z')
        .chain('0'..='9')
        .chain(' '..='~');
    let first = match class {
        Class::Unicode(class) => class
            .ranges()
            .first()
            .map(regex_syntax::hir::ClassUnicodeRange::start),
        Class::Bytes(class) => class.ranges().first().map(|it| char::from(it.start())),
    };
    let found = usual.into_iter().find(|&c| fits(c)).or(first);
    found.map_or(String::new(), |c| c.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_match() {
        for (pattern, shortest, longest, expected) in [
            ("^[A-Z]{3}$", 0, 99, Some("AAA")),
            (r"^\d{3}-\d{4}$", 0, 99, Some("000-0000")),
            ("^(foo|bar)+$", 6, 99, Some("foofoo")),
            ("^[a-z]+$", 10, 12, Some("aaaaaaaaaa")),
            ("^x?$", 0, 0, Some("")),
            (r"^\+[1-9]\d{1,14}$", 0, 99, Some("+10")),
            ("a", 5, 5, None),
            ("^[a-z]{3}$", 5, 9, None),
            // A look ahead, which this kind of expressions does not have.
            ("^(?=a)b", 0, 99, None),
        ] {
            let found = matching(pattern, shortest, longest);
            assert_eq!(found.as_deref(), expected, "{pattern}");
        }
    }
}
