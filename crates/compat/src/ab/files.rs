//! The files of `-e` and `-g`.

use super::flags::AbFlags;
use super::report::{AbReport, millis};
use jiff::{Timestamp, tz::TimeZone};
use prony_engine::{Nanos, clock};
use std::fmt::Write;
use std::path::Path;

/// The files that were asked for, and what goes into them; none when nothing was measured.
pub(super) fn files<'a>(flags: &'a AbFlags, report: &AbReport) -> Vec<(&'a Path, String)> {
    let mut files = Vec::new();
    if report.timings.is_empty() {
        return files;
    }
    if let Some(path) = &flags.csv {
        files.push((path.as_path(), csv(report)));
    }
    if let Some(path) = &flags.gnuplot {
        let now = (clock::now(), Timestamp::now());
        files.push((path.as_path(), gnuplot(report, now, &TimeZone::system())));
    }
    files
}

/// For each percentage from 0 to 100, the time within which this share of the requests ended.
fn csv(report: &AbReport) -> String {
    let mut out = String::from("Percentage served,Time in ms\n");
    let times = &report.timings;
    for percent in 0..=100_usize {
        // Rounded, not cut like in the report's own table: such is the original.
        let at = (times.len() * percent + 50) / 100;
        let time = times[at.min(times.len() - 1)].total;
        let _ = writeln!(out, "{percent},{:.3}", time as f64 / 1e3);
    }
    out
}

/// One line for each request, the shortest first. `now` is the same moment on the engine's clock
/// and on the calendar's.
fn gnuplot(report: &AbReport, now: (Nanos, Timestamp), zone: &TimeZone) -> String {
    let mut out = String::from("starttime\tseconds\tctime\tdtime\tttime\twait\n");
    for timing in &report.timings {
        let ago = now.0.saturating_sub(timing.begun);
        let nanos = now.1.as_nanosecond() - i128::from(ago);
        let begun = Timestamp::from_nanosecond(nanos).unwrap_or(now.1);
        let date = begun
            .to_zoned(zone.clone())
            .strftime("%a %b %d %H:%M:%S %Y");
        let _ = writeln!(
            out,
            "{date}\t{}\t{}\t{}\t{}\t{}",
            begun.as_second(),
            millis(timing.connect),
            millis(timing.processing),
            millis(timing.total),
            millis(timing.waiting)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ab::report::{FailureCounts, Timing};

    fn report(totals: &[u64]) -> AbReport {
        AbReport {
            software: String::new(),
            length: 0,
            seconds: 1.0,
            complete: totals.len() as u64,
            failed: FailureCounts::default(),
            other_length: 0,
            write_errors: 0,
            kept: 0,
            not_2xx: 0,
            sent: 0,
            received: 0,
            body: 0,
            tls: Vec::new(),
            timings: totals
                .iter()
                .map(|&total| Timing {
                    total,
                    connect: 1_000,
                    processing: total - 1_000,
                    waiting: 600,
                    begun: 5_000_000_000,
                })
                .collect(),
        }
    }

    #[test]
    fn a_hundred_and_one_percentages() {
        let it = csv(&report(&[1_000, 2_000, 3_000, 4_500]));
        let lines: Vec<_> = it.lines().collect();
        assert_eq!(lines.len(), 102);
        assert_eq!(lines[0], "Percentage served,Time in ms");
        assert_eq!(
            (lines[1], lines[51], lines[101]),
            ("0,1.000", "50,3.000", "100,4.500")
        );
    }

    #[test]
    fn starts_are_on_the_calendar() {
        let now = (7_000_000_000, "2026-11-01T12:00:02Z".parse().unwrap());
        let it = gnuplot(&report(&[2_600]), now, &TimeZone::UTC);
        assert_eq!(
            it,
            "starttime\tseconds\tctime\tdtime\tttime\twait\nSun Nov 01 12:00:00 2026\t1793534400\t1\t2\t3\t1\n"
        );
    }
}
