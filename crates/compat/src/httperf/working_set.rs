//! `--wset N,X`: the requests go to N files in place of one URI, and a share X of them to another file than the
//! request before. A server whose cache holds one file, and not N, misses it that often.

use std::fmt;

/// First value of the C library's `drand48`: the original does not seed it, and begins with this value.
const FIRST_RANDOM: f64 = 3.907_985_046_680_551e-14;
/// The original's room for a URI, with the byte that ends it.
const LONGEST: usize = 128;
/// Ending of every URI.
const ENDING: &str = ".html";

/// The value of `--wset`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct WorkingSet {
    /// How many files there are. Of 0 the same one is asked for again and again.
    pub files: u64,
    /// The share of requests that go to another file than the one before, from 0 to 1.
    pub misses: f64,
}

impl WorkingSet {
    /// Reads `N,X`.
    ///
    /// # Errors
    /// In the original's words.
    pub(super) fn parse(value: &str) -> Result<Self, String> {
        let wrong = |what: &str, rest: &str| format!("{what} in --wset arg (rest: `{rest}')");
        let (files, after) =
            unsigned(value).ok_or_else(|| wrong("bad working set size (1st parameter)", value))?;
        let bad_rate = |rest| wrong("bad target miss rate (2nd parameter)", rest);
        let share = after.strip_prefix(',').ok_or_else(|| bad_rate(value))?;
        let digits = share.trim_end_matches(|c: char| !c.is_ascii_digit() && c != '.');
        let misses = digits.parse().map_err(|_| bad_rate(share))?;
        if !(0.0..=1.0).contains(&misses) {
            return Err(bad_rate(share));
        }
        if digits != share {
            return Err(wrong("extraneous parameter", share));
        }
        Ok(Self { files, misses })
    }

    /// How many digits a file's number has.
    fn digits(self) -> usize {
        match self.files.checked_sub(1) {
            None | Some(0) => 0,
            Some(last) => last.ilog10() as usize + 1,
        }
    }

    /// The first file's URI, and where its digits begin, of which there is a `/` in front of each.
    ///
    /// # Errors
    /// When it is longer than the original allows.
    pub(super) fn first_uri(self, uri: &str) -> Result<(String, Digits), String> {
        // Of a URI that ends with a slash the original drops the first byte, not the last.
        let prefix = if uri.ends_with('/') { &uri[1..] } else { uri };
        let digits = Digits {
            at: prefix.len(),
            count: self.digits(),
        };
        if prefix.len() + 2 * digits.count + ENDING.len() >= LONGEST {
            return Err("uri_wset: URI buffer overflow!".to_owned());
        }
        Ok((
            format!("{prefix}{}{ENDING}", "/0".repeat(digits.count)),
            digits,
        ))
    }

    /// The numbers of the files, in the order in which one of several clients asks for them.
    pub(super) fn order(self, (client, clients): (u64, u64)) -> FileOrder {
        FileOrder {
            set: self,
            file: client,
            step: clients,
            due: FIRST_RANDOM,
        }
    }
}

impl fmt::Display for WorkingSet {
    /// Writes the value as the original repeats it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{},{:.3}", self.files, self.misses)
    }
}

/// Where the digits of a file's number stand in bytes: `/1/2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digits {
    /// Where the first slash is.
    pub at: usize,
    /// How many digits there are.
    pub count: usize,
}

impl Digits {
    /// Writes a number: its last digits, if it has more.
    pub(super) fn write(self, bytes: &mut [u8], mut number: u64) {
        for digit in (0..self.count).rev() {
            bytes[self.at + 2 * digit + 1] = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
}

/// Files in the order in which they are asked for; it never ends.
#[derive(Debug, Clone)]
pub(super) struct FileOrder {
    set: WorkingSet,
    file: u64,
    step: u64,
    /// A miss is due when this has reached 1.
    due: f64,
}

impl Iterator for FileOrder {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        self.due += self.set.misses;
        if self.due >= 1.0 {
            self.due -= 1.0;
            self.file += self.step;
            if self.file >= self.set.files {
                self.file -= self.set.files;
            }
        }
        Some(self.file)
    }
}

/// A number at the beginning, as C reads one of any base (`0x10`, `020`, `16`), and what follows.
pub(super) fn unsigned(text: &str) -> Option<(u64, &str)> {
    let lower = text.to_ascii_lowercase();
    let (base, from) = match lower.as_bytes() {
        [b'0', b'x', digit, ..] if digit.is_ascii_hexdigit() => (16, 2),
        [b'0', ..] => (8, 0),
        _ => (10, 0),
    };
    let digits = text[from..]
        .find(|c: char| !c.is_digit(base))
        .unwrap_or(text.len() - from);
    let (number, rest) = text[from..].split_at(digits);
    Some((u64::from_str_radix(number, base).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uris(set: &str, client: (u64, u64), uri: &str, n: usize) -> Vec<String> {
        let set = WorkingSet::parse(set).unwrap();
        let (first, digits) = set.first_uri(uri).unwrap();
        let uri = |file| {
            let mut bytes = first.clone().into_bytes();
            digits.write(&mut bytes, file);
            String::from_utf8(bytes).unwrap()
        };
        set.order(client).take(n).map(uri).collect()
    }

    /// Each of these was seen by a server that the original loaded.
    #[test]
    fn the_originals_uris() {
        assert_eq!(
            uris("3,0.5", (0, 1), "/", 6),
            [
                "/0.html", "/1.html", "/1.html", "/2.html", "/2.html", "/0.html"
            ]
        );
        assert_eq!(
            uris("12,0.3", (0, 1), "/a/", 4),
            ["a//0/0.html", "a//0/0.html", "a//0/0.html", "a//0/1.html"]
        );
        assert_eq!(
            uris("5,0.4", (1, 2), "/c", 9).join(" "),
            "/c/1.html /c/1.html /c/3.html /c/3.html /c/0.html /c/0.html /c/0.html /c/2.html /c/2.html"
        );
        // Ten times a tenth is less than one, but not with what the original begins with.
        let tenth = uris("100,0.1", (0, 1), "/e", 12);
        assert_eq!(
            (tenth[8].as_str(), tenth[9].as_str()),
            ("/e/0/0.html", "/e/0/1.html")
        );
        assert_eq!(uris("1,1", (0, 1), "/d", 2), ["/d.html", "/d.html"]);
        assert_eq!(uris("0x10,1", (0, 1), "/f", 1), ["/f/0/1.html"]);
        assert_eq!(uris("3,0.5", (0, 1), "x/", 1), ["//0.html"]);
    }

    #[test]
    fn what_cannot_be_meant_is_said_in_the_originals_words() {
        for (value, says) in [
            (
                "x,2",
                "bad working set size (1st parameter) in --wset arg (rest: `x,2')",
            ),
            (
                "3",
                "bad target miss rate (2nd parameter) in --wset arg (rest: `3')",
            ),
            (
                "3,2",
                "bad target miss rate (2nd parameter) in --wset arg (rest: `2')",
            ),
            (
                "3,",
                "bad target miss rate (2nd parameter) in --wset arg (rest: `')",
            ),
            ("3,1x", "extraneous parameter in --wset arg (rest: `1x')"),
        ] {
            assert_eq!(WorkingSet::parse(value).unwrap_err(), says);
        }
        let long = "/".to_owned() + &"a".repeat(119);
        let set = WorkingSet::parse("10,0").unwrap();
        assert!(set.first_uri(&long).is_ok());
        assert!(
            set.first_uri(&(long + "a"))
                .unwrap_err()
                .contains("overflow")
        );
    }

    #[test]
    fn numbers_of_any_base() {
        assert_eq!(unsigned("0x10/2"), Some((16, "/2")));
        assert_eq!(unsigned("020"), Some((16, "")));
        assert_eq!(unsigned("0"), Some((0, "")));
        assert_eq!(unsigned("12a"), Some((12, "a")));
        assert_eq!((unsigned(""), unsigned("x")), (None, None));
    }
}
