//! Where a body is not what was expected, for people.

use std::fmt;

/// Bytes that are shown before the first one that differs, and from it on.
const BEFORE: usize = 12;
const FROM: usize = 24;

/// The first byte of a body that is not as expected, with what is around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    at: u64,
    expected: Excerpt,
    found: Excerpt,
}

/// A part of a body.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Excerpt {
    bytes: Vec<u8>,
    /// The excerpt begins with the body.
    from_start: bool,
    /// The excerpt ends with the body, or with as much of it as is known.
    to_end: bool,
}

impl Difference {
    /// At byte `at` of a body that is as expected up to there; there, `found` came instead.
    pub(super) fn new(expected: &[u8], at: usize, found: &[u8]) -> Self {
        let begin = at.saturating_sub(BEFORE);
        let same = expected.get(begin..at).unwrap_or_default();
        let excerpt = |rest: &[u8]| Excerpt {
            bytes: [same, &rest[..rest.len().min(FROM)]].concat(),
            from_start: begin == 0,
            to_end: rest.len() <= FROM,
        };
        Self {
            at: at as u64,
            expected: excerpt(expected.get(at..).unwrap_or_default()),
            found: excerpt(found),
        }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            expected,
            found,
        } = self;
        write!(f, "expected {expected}, found {found} (byte {})", at + 1)
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dots = |whole| if whole { "" } else { "…" };
        let (before, after) = (dots(self.from_start), dots(self.to_end));
        write!(f, "\"{before}{}{after}\"", self.bytes.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_bodies_are_shown_whole_and_long_ones_around_the_difference() {
        let short = Difference::new(b"hello world!", 11, b"?");
        assert_eq!(
            short.to_string(),
            "expected \"hello world!\", found \"hello world?\" (byte 12)"
        );
        let cut = Difference::new(b"hello world!", 11, b"");
        assert_eq!(
            cut.to_string(),
            "expected \"hello world!\", found \"hello world\" (byte 12)"
        );
        let expected = vec![b'a'; 100];
        let long = Difference::new(&expected, 50, b"\x00b");
        assert_eq!(
            long.to_string(),
            format!(
                "expected \"…{}…\", found \"…{}\\x00b\" (byte 51)",
                "a".repeat(BEFORE + FROM),
                "a".repeat(BEFORE)
            )
        );
    }
}
