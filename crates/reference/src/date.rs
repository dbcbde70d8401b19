//! The date that HTTP puts into its answers.

use httpdate::HttpDate;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A second, written as RFC 9110's IMF-fixdate: `Sat, 21 Nov 2026 10:09:54 GMT`.
///
/// Holds its text, so that one second is formatted once however many answers carry it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Date {
    unix_second: u64,
    text: [u8; Date::LEN],
}

impl Date {
    /// The length of every IMF-fixdate, in bytes.
    pub const LEN: usize = 29;

    /// The given second since 1970-01-01 00:00:00 UTC, up to the end of the year 9999.
    ///
    /// # Panics
    /// When it is later than that.
    pub fn at(unix_second: u64) -> Self {
        Self {
            unix_second,
            text: format(unix_second),
        }
    }

    /// The current second of the wall clock.
    pub fn now() -> Self {
        Self::at(current_second())
    }

    /// Moves on to the current second; formats only if it is another one.
    pub fn refresh(&mut self) {
        let second = current_second();
        if second != self.unix_second {
            *self = Self::at(second);
        }
    }

    /// The text, which is ASCII.
    pub fn as_bytes(&self) -> &[u8; Self::LEN] {
        &self.text
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text).expect("an IMF-fixdate is ASCII")
    }
}

/// A clock set before 1970 counts as 1970.
fn current_second() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}

fn format(unix_second: u64) -> [u8; Date::LEN] {
    let date = HttpDate::from(UNIX_EPOCH + Duration::from_secs(unix_second));
    let mut text = [0; Date::LEN];
    write!(&mut text[..], "{date}").expect("an IMF-fixdate has 29 bytes");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        for (second, text) in [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), // RFC 9110's own example
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (1_795_255_794, "Sat, 21 Nov 2026 10:09:54 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), // 2100 has no leap day
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] {
            assert_eq!(Date::at(second).as_str(), text);
        }
    }

    #[test]
    fn refresh_reaches_the_present() {
        let mut date = Date::at(0);
        let before = current_second();
        date.refresh();
        assert!(date.unix_second >= before);
        assert_eq!(date, Date::at(date.unix_second));
    }
}
