//! Expectations of an answer, and how a wrong answer differs from them.

use super::Difference;
use std::fmt;
use std::ops::Range;

/// Expectations of every answer to a request. The default accepts any status below 400 and any body.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Expect {
    /// The status codes to accept, from the first to the last; `None` accepts 100 to 399.
    pub status: Option<(u16, u16)>,
    /// The body begins with these bytes.
    pub prefix: Vec<u8>,
    /// The body is exactly this long, in bytes.
    pub length: Option<u64>,
    /// Places of `prefix` where any byte will do, such as the digits of a time.
    pub holes: Vec<Range<usize>>,
    /// The status is that of the first answers, and not one that the user named.
    #[serde(default)]
    pub status_found: bool,
}

impl Expect {
    /// Exactly this body.
    pub fn body(bytes: impl Into<Vec<u8>>) -> Self {
        let prefix = bytes.into();
        Self {
            status: None,
            length: Some(prefix.len() as u64),
            prefix,
            holes: Vec::new(),
            status_found: false,
        }
    }

    /// The same, with exactly this status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some((status, status));
        self
    }

    /// Did the user name a status?
    pub(crate) fn names_status(&self) -> bool {
        self.status.is_some() && !self.status_found
    }

    /// Is this status accepted by name, and not only as one below 400?
    pub(super) fn asks_for(&self, status: u16) -> bool {
        let named = self.status.as_ref();
        named.is_some_and(|&(first, last)| (first..=last).contains(&status))
    }

    /// Does the body, with `bytes` at `offset`, still begin as it should?
    #[inline]
    pub fn matches_at(&self, offset: u64, bytes: &[u8]) -> bool {
        let Ok(offset) = usize::try_from(offset) else {
            return true;
        };
        let Some(rest) = self.prefix.get(offset..) else {
            return true;
        };
        let n = rest.len().min(bytes.len());
        rest[..n] == bytes[..n]
            || (!self.holes.is_empty() && self.first_difference(offset, &bytes[..n]).is_none())
    }

    /// Where the body, with `bytes` at `offset`, is not as it should be; `None` if it is.
    #[cold]
    pub fn difference_at(&self, offset: u64, bytes: &[u8]) -> Option<Box<Difference>> {
        let offset = usize::try_from(offset).ok()?;
        let at = self.first_difference(offset, bytes)?;
        let found = &bytes[at - offset..];
        Some(Box::new(Difference::new(&self.prefix, at, found)))
    }

    /// The place in the prefix of the first of these bytes, which begin at `offset`, that is wrong and in no hole.
    fn first_difference(&self, offset: usize, bytes: &[u8]) -> Option<usize> {
        let hole = |at: usize| self.holes.iter().any(|hole| hole.contains(&at));
        let expected = self.prefix.get(offset..)?;
        let mut pairs = bytes.iter().zip(expected).zip(offset..);
        let wrong = pairs.find(|&((found, expected), at)| found != expected && !hole(at));
        wrong.map(|(_, at)| at)
    }

    /// Judges the status alone: an answer to HEAD has no body to judge.
    #[inline]
    pub fn judge_status(&self, status: u16) -> Option<Mismatch> {
        let fits = match self.status {
            Some((first, last)) => (first..=last).contains(&status),
            None => status < 400,
        };
        (!fits).then_some(Mismatch::Status {
            expected: self.status,
            found: status,
        })
    }

    /// Judges a whole answer: its status, its body's length, and where a piece of the body was the first not to
    /// match.
    #[inline]
    pub fn judge(
        &self,
        status: u16,
        length: u64,
        difference: Option<Box<Difference>>,
    ) -> Option<Mismatch> {
        if let Some(mismatch) = self.judge_status(status) {
            return Some(mismatch);
        }
        let required = self.length.unwrap_or(self.prefix.len() as u64);
        let length_fits = length == required || (self.length.is_none() && length > required);
        if !length_fits {
            return Some(Mismatch::Length {
                expected: required,
                found: length,
                difference: difference.or_else(|| self.cut_short(length)),
            });
        }
        difference.map(Mismatch::Body)
    }

    /// The difference of a body that is right as far as it goes.
    #[cold]
    fn cut_short(&self, length: u64) -> Option<Box<Difference>> {
        let at = usize::try_from(length).ok()?;
        (at < self.prefix.len()).then(|| Box::new(Difference::new(&self.prefix, at, &[])))
    }
}

/// Why an answer is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// Another status.
    Status {
        /// Expected statuses, from the first to the last; `None`: anything below 400.
        expected: Option<(u16, u16)>,
        /// Status of the answer.
        found: u16,
    },
    /// Another length of the body, in bytes.
    Length {
        /// Expected length; the least length when only a prefix is expected.
        expected: u64,
        /// Length of the answer's body.
        found: u64,
        /// Where the bytes differ, as far as that is known.
        difference: Option<Box<Difference>>,
    },
    /// The length is right and the bytes are not.
    Body(Box<Difference>),
    /// Description of the mismatch, for people; some also name the request.
    Stated(Box<str>),
    /// The bytes broke the protocol, so there is no answer to judge.
    Fault(super::Fault),
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status {
                expected: Some(expected),
                found,
            } => {
                let (first, last) = expected;
                match first == last {
                    true => write!(f, "status {found}, expected {first}"),
                    false => write!(f, "status {found}, expected {first} to {last}"),
                }
            }
            Self::Status {
                expected: None,
                found,
            } => {
                write!(f, "status {found}, expected one below 400")
            }
            Self::Length {
                expected,
                found,
                difference,
            } => {
                write!(f, "a body of {found} bytes, expected {expected}")?;
                match difference {
                    Some(difference) => write!(f, ": {difference}"),
                    None => Ok(()),
                }
            }
            Self::Body(difference) => write!(f, "another body: {difference}"),
            Self::Stated(text) => f.write_str(text),
            Self::Fault(fault) => fault.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_is_judged_first() {
        let any = Expect::default();
        assert_eq!(any.judge(204, 0, None), None);
        assert_eq!(any.judge(399, 5, None), None);
        assert_eq!(any.judge(0, 5, None), None, "a protocol without status");
        assert_eq!(
            any.judge(404, 5, None),
            Some(Mismatch::Status {
                expected: None,
                found: 404
            })
        );
        assert_eq!(Expect::default().with_status(404).judge(404, 5, None), None);
    }

    #[test]
    fn any_byte_will_do_in_a_hole() {
        let it = Expect {
            holes: vec![3..5, 9..10],
            ..Expect::body("id=42, t=7.")
        };
        assert!(it.matches_at(0, b"id=42, t=7.") && it.matches_at(0, b"id=xy, t=8."));
        assert!(it.matches_at(4, b"y, t=z") && it.matches_at(9, b"z."));
        assert!(!it.matches_at(0, b"ix=42") && !it.matches_at(9, b"zz"));
        let difference = it.difference_at(3, b"xy, T").unwrap().to_string();
        assert!(difference.ends_with("(byte 8)"), "{difference}");
    }

    #[test]
    fn a_body_is_exact_and_a_prefix_is_not() {
        let exact = Expect::body("hello");
        assert!(exact.matches_at(0, b"hel") && exact.matches_at(3, b"lo"));
        assert!(!exact.matches_at(3, b"la"));
        assert_eq!(exact.judge(200, 5, None), None);
        assert_eq!(
            exact.judge(200, 6, None),
            Some(Mismatch::Length {
                expected: 5,
                found: 6,
                difference: None,
            })
        );
        assert_eq!(exact.difference_at(3, b"lo"), None);
        let difference = exact.difference_at(3, b"la").unwrap();
        let wrong = exact.judge(200, 5, Some(difference)).unwrap().to_string();
        assert_eq!(
            wrong,
            "another body: expected \"hello\", found \"hella\" (byte 5)"
        );
        let short = exact.judge(200, 4, None).unwrap().to_string();
        assert_eq!(
            short,
            "a body of 4 bytes, expected 5: expected \"hello\", found \"hell\" (byte 5)"
        );
        let prefix = Expect {
            prefix: b"hel".to_vec(),
            ..Expect::default()
        };
        assert!(prefix.matches_at(0, b"hello") && prefix.matches_at(10, b"anything"));
        assert_eq!(prefix.judge(200, 5, None), None);
        assert!(matches!(
            prefix.judge(200, 2, None),
            Some(Mismatch::Length {
                expected: 3,
                found: 2,
                ..
            })
        ));
    }
}
