//! Ticks of times of day, where a calendar has them.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use std::ops::Range;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
/// Steps within months, in seconds: each divides a day, or is a few days.
const STEPS: [i64; 12] = [
    MINUTE,
    5 * MINUTE,
    15 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    DAY,
    2 * DAY,
    4 * DAY,
    7 * DAY,
    14 * DAY,
];
/// Longer steps, in months.
const MONTHS: [i32; 6] = [1, 2, 3, 6, 12, 60];

/// At most `most` values of a range in seconds since 1970, UTC.
pub(super) fn ticks(range: &Range<f64>, most: usize) -> Vec<f64> {
    let even = |step: i64| {
        let first = (range.start / step as f64).ceil() as i64;
        let last = (range.end / step as f64).floor() as i64;
        // Counted before they are made: a minute's steps in a year are many.
        (last - first < most as i64)
            .then(|| -> Vec<f64> { (first..=last).map(|at| (at * step) as f64).collect() })
    };
    if let Some(points) = STEPS.into_iter().find_map(even) {
        return points;
    }
    let fits = |months: i32| {
        let points = every(months, range);
        (points.len() <= most).then_some(points)
    };
    MONTHS.into_iter().find_map(fits).unwrap_or_default()
}

/// The first day of every n-th month, counted from January, within the range.
fn every(months: i32, range: &Range<f64>) -> Vec<f64> {
    let Ok(start) = Timestamp::from_second(range.start as i64) else {
        return Vec::new();
    };
    let year = start.to_zoned(TimeZone::UTC).year();
    let mut points = Vec::new();
    // From a year of which five years are counted, so that they fall on round ones.
    let mut day = Date::new(year - year.rem_euclid(5), 1, 1).unwrap_or(Date::MIN);
    loop {
        let Ok(at) = DateTime::from(day).to_zoned(TimeZone::UTC) else {
            return points;
        };
        let seconds = at.timestamp().as_second() as f64;
        if seconds > range.end {
            return points;
        }
        if seconds >= range.start {
            points.push(seconds);
        }
        let Ok(next) = day.checked_add(months.months()) else {
            return points;
        };
        day = next;
    }
}

/// A time at a tick: its day, or within a day the hour too.
pub fn date_tick(seconds: f64) -> String {
    let seconds = seconds as i64;
    let format = match seconds.rem_euclid(DAY) {
        0 => "%Y-%m-%d",
        _ => "%m-%d %H:%M",
    };
    Timestamp::from_second(seconds).map_or(String::new(), |at| at.strftime(format).to_string())
}

#[cfg(test)]
mod tests {
    use crate::scale::Scale;

    fn at(text: &str) -> f64 {
        let at: jiff::Timestamp = text.parse().unwrap();
        at.as_second() as f64
    }

    fn ticks(from: &str, to: &str) -> Vec<String> {
        let scale = Scale::time([at(from), at(to)]);
        scale.ticks(8).into_iter().map(super::date_tick).collect()
    }

    #[test]
    fn ticks_are_where_a_calendar_has_them() {
        assert_eq!(
            ticks("2026-03-12T10:00:00Z", "2026-03-12T16:20:00Z"),
            [
                "03-12 10:00",
                "03-12 11:00",
                "03-12 12:00",
                "03-12 13:00",
                "03-12 14:00",
                "03-12 15:00",
                "03-12 16:00"
            ]
        );
        let days = ticks("2026-03-10T08:00:00Z", "2026-03-14T06:00:00Z");
        assert_eq!(days[0], "03-10 12:00");
        assert_eq!(days[1], "2026-03-11");
        let months = ticks("2026-01-05T00:00:00Z", "2026-07-20T00:00:00Z");
        assert_eq!(months[0], "2026-01-01");
        assert_eq!(months.len(), 7);
        let years = ticks("1998-01-05T00:00:00Z", "2031-07-20T00:00:00Z");
        assert_eq!(years[0], "2000-01-01");
        assert_eq!(years[1], "2005-01-01");
    }

    #[test]
    fn a_single_moment_has_room_around_it() {
        let one = at("2026-03-12T10:00:00Z");
        let scale = Scale::time([one]);
        assert!(scale.range().start < one && scale.range().end > one);
        assert!(!scale.ticks(8).is_empty());
        assert!(!scale.leaves_zero_out());
    }
}
