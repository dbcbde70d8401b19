//! Dates of answers: IMF-fixdates (RFC 9110, 5.6.7).

use jiff::Timestamp;
use jiff::fmt::rfc2822::{DateTimeParser, DateTimePrinter};

use super::wire::Fault;

/// How long before the request an answer's date may be, or after the moment when the answer was read. A
/// date has whole seconds and many servers compute it once a second, which makes two; one more for a busy
/// host. How long the answer takes does not count.
const TOLERANCE_SECONDS: i64 = 3;

/// Parses an IMF-fixdate and nothing else: a parser that knows all of RFC 5322 reads the time, and
/// the text must be exactly how that time is written.
pub(super) fn parse(bytes: &[u8]) -> Option<Timestamp> {
    let text = std::str::from_utf8(bytes).ok()?;
    let time = DateTimeParser::new().parse_timestamp(text).ok()?;
    (shown(time) == text).then_some(time)
}

/// A time as an IMF-fixdate.
pub(super) fn shown(time: Timestamp) -> String {
    DateTimePrinter::new()
        .timestamp_to_rfc9110_string(&time)
        .expect("a time between the years 0 and 9999 has an IMF-fixdate")
}

/// The date of an answer that has just been read is close to its time; the request was sent at `asked` or later.
pub(super) fn is_close(date: Timestamp, asked: Timestamp) -> Result<(), Fault> {
    let now = Timestamp::now();
    let earliest = asked.as_second() - TOLERANCE_SECONDS;
    let latest = now.as_second() + TOLERANCE_SECONDS;
    if (earliest..=latest).contains(&date.as_second()) {
        return Ok(());
    }
    let off = date.as_second() - now.as_second();
    let expected = format!("a date within {TOLERANCE_SECONDS} s of {}", shown(now));
    Err(Fault::new(expected, format!("{} ({off:+} s)", shown(date))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_imf_fixdate_is_read_and_everything_else_refused() {
        let time = parse(b"Sun, 06 Nov 1994 08:49:37 GMT").expect("RFC 9110's example");
        assert_eq!(time.to_string(), "1994-11-06T08:49:37Z");
        for wrong in [
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 +0000",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 GMT ",
            "1994-11-06T08:49:37Z",
            "",
        ] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
