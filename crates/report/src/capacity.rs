//! How much a server can do within limits, as text.

use crate::show;
use crate::table::{Align, Table};
use prony_record::service::{CapacityReport, Limits, RateStep};
use std::fmt::Write;

/// One line for progress.
#[must_use]
pub fn line(step: &RateStep) -> String {
    let at = step
        .at_percentile_ms
        .map_or("–".into(), |ms| show::time(ms * 1e6));
    match step.kept {
        true => format!("{}: kept, {at}", show::rate(step.rate)),
        false => format!(
            "{}: not kept: {}",
            show::rate(step.rate),
            step.broken.join(", ")
        ),
    }
}

/// As text for a terminal.
#[must_use]
pub fn text(report: &CapacityReport) -> String {
    let mut out = String::new();
    let Limits {
        percentile,
        within_ms,
        errors,
    } = report.limits;
    let limits = format!(
        "p{percentile} ≤ {} and errors ≤ {:.2} %",
        show::time(within_ms * 1e6),
        errors * 100.0
    );
    let _ = match report.capacity {
        Some(rate) => writeln!(
            out,
            "{} keeps {limits} up to {}.",
            report.server,
            show::rate(rate)
        ),
        None if report.interrupted => writeln!(out, "interrupted before the capacity was found"),
        None => writeln!(
            out,
            "{} keeps {limits} at no rate that was tried.",
            report.server
        ),
    };
    let mut table = Table::new([
        ("of capacity", Align::Right),
        ("rate", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
        ("errors", Align::Right),
        ("CPU/req", Align::Right),
    ]);
    // The capacity itself, as it was measured last before the curve.
    let top = report.steps.len().checked_sub(report.curve.len() + 1);
    let at_capacity = report.capacity.and(top).map(|i| &report.steps[i]);
    for step in report.curve.iter().chain(at_capacity) {
        let part = report.capacity.map_or(0.0, |capacity| step.rate / capacity);
        table.row([
            format!("{:.0} %", 100.0 * part),
            show::rate(step.rate),
            show::time_or_dash(step.latency.p50),
            show::time_or_dash(step.latency.p90),
            show::time_or_dash(step.latency.p99),
            show::time_or_dash(step.latency.p99_9),
            show::time_or_dash(step.latency.max),
            format!("{:.2} %", step.errors * 100.0),
            step.cpu_us_per_request
                .map_or("–".into(), |us| show::time(us * 1e3)),
        ]);
    }
    if report.capacity.is_some() {
        let _ = write!(out, "\n{table}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::Percentiles;

    fn step(rate: f64, kept: bool) -> RateStep {
        RateStep {
            rate,
            achieved: rate,
            at_percentile_ms: Some(2.0),
            latency: Percentiles::default(),
            errors: 0.0,
            cpu_us_per_request: None,
            kept,
            broken: if kept {
                vec![]
            } else {
                vec!["p99 was 30 ms".into()]
            },
        }
    }

    #[test]
    fn the_sentence_the_curve_and_the_capacity_itself() {
        let report = CapacityReport {
            run: 1,
            server: "it".into(),
            limits: Limits {
                percentile: 99.0,
                within_ms: 10.0,
                errors: 0.001,
            },
            capacity: Some(1_000.0),
            curve: vec![step(100.0, true), step(500.0, true)],
            steps: vec![
                step(2_000.0, false),
                step(1_000.0, true),
                step(100.0, true),
                step(500.0, true),
            ],
            interrupted: false,
        };
        let shown = text(&report);
        assert!(
            shown.starts_with("it keeps p99 ≤ 10.0 ms and errors ≤ 0.10 % up to 1.00 k/s."),
            "{shown}"
        );
        for part in ["10 %", "50 %", "100 %"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert_eq!(
            line(&step(2_000.0, false)),
            "2.00 k/s: not kept: p99 was 30 ms"
        );
        let none = CapacityReport {
            capacity: None,
            ..report
        };
        assert!(text(&none).contains("at no rate"));
    }
}
