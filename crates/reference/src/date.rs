//! The date that HTTP puts into its answers.

use std::time::{SystemTime, UNIX_EPOCH};

const WEEKDAYS: [&[u8; 3]; 7] = [b"Thu", b"Fri", b"Sat", b"Sun", b"Mon", b"Tue", b"Wed"];
const MONTHS: [&[u8; 3]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];

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
    let days = unix_second / 86_400;
    let second = unix_second % 86_400;
    let (year, month, day) = civil(days);
    let mut text = *b"Thu, 01 Jan 1970 00:00:00 GMT";
    text[0..3].copy_from_slice(WEEKDAYS[(days % 7) as usize]);
    text[5..7].copy_from_slice(&two_digits(day));
    text[8..11].copy_from_slice(MONTHS[month as usize - 1]);
    text[12..14].copy_from_slice(&two_digits(year / 100));
    text[14..16].copy_from_slice(&two_digits(year % 100));
    text[17..19].copy_from_slice(&two_digits(second / 3_600));
    text[20..22].copy_from_slice(&two_digits(second / 60 % 60));
    text[23..25].copy_from_slice(&two_digits(second % 60));
    text
}

fn two_digits(value: u64) -> [u8; 2] {
    [b'0' + (value / 10 % 10) as u8, b'0' + (value % 10) as u8]
}

/// Year, month (1 to 12) and day (1 to 31) of a day since 1970-01-01 in the Gregorian calendar.
///
/// Howard Hinnant's `civil_from_days`: years begin in March, so that the leap day comes last.
fn civil(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + 719_468; // since 0000-03-01
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, carry) = if month_from_march < 10 {
        (month_from_march + 3, 0)
    } else {
        (month_from_march - 9, 1)
    };
    (year_of_era + era * 400 + carry, month, day)
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
