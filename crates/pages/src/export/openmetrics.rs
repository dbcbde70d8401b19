//! OpenMetrics, for a database of measurements.

use crate::material::Material;
use prony_report::run::CellReport;
use std::fmt::Write;

type Pick = fn(&CellReport) -> Option<f64>;

/// Gauges of a cell: name, unit, what it is, and how it is got.
const GAUGES: [(&str, &str, &str, Pick); 13] = [
    (
        "answers",
        "per_second",
        "Correctly answered requests per second, mean over the trials",
        |cell| Some(cell.throughput.value()),
    ),
    (
        "answers_low",
        "per_second",
        "The lower end of its 95% interval",
        |cell| cell.throughput.low(),
    ),
    (
        "answers_high",
        "per_second",
        "The upper end of its 95% interval",
        |cell| cell.throughput.high(),
    ),
    ("response_p50", "seconds", "Median response time", |cell| {
        cell.latency.response.p50.map(seconds)
    }),
    (
        "response_p99",
        "seconds",
        "99th percentile of the response time",
        |cell| cell.latency.response.p99.map(seconds),
    ),
    (
        "response_p50_low",
        "seconds",
        "The lower end of the median's 95% interval",
        |cell| {
            cell.latency
                .response
                .intervals
                .p50
                .map(|(low, _)| seconds(low))
        },
    ),
    (
        "response_p50_high",
        "seconds",
        "The upper end of the median's 95% interval",
        |cell| {
            cell.latency
                .response
                .intervals
                .p50
                .map(|(_, high)| seconds(high))
        },
    ),
    (
        "response_p99_low",
        "seconds",
        "The lower end of the 99th percentile's 95% interval",
        |cell| {
            cell.latency
                .response
                .intervals
                .p99
                .map(|(low, _)| seconds(low))
        },
    ),
    (
        "response_p99_high",
        "seconds",
        "The upper end of the 99th percentile's 95% interval",
        |cell| {
            cell.latency
                .response
                .intervals
                .p99
                .map(|(_, high)| seconds(high))
        },
    ),
    ("response_max", "seconds", "Longest response time", |cell| {
        cell.latency.response.max.map(seconds)
    }),
    (
        "server_cpu_per_request",
        "seconds",
        "The server's CPU time per verified answer",
        |cell| cell.server_cpu_us_per_request.map(|cpu| cpu.value / 1e6),
    ),
    (
        "server_memory_peak",
        "bytes",
        "The most memory of the server's processes",
        |cell| (cell.rss_peak_bytes > 0).then_some(cell.rss_peak_bytes as f64),
    ),
    (
        "ratio",
        "ratio",
        "Throughput as a multiple of the baseline's, paired by round",
        |cell| cell.ratio.as_ref().map(prony_stats::Estimate::value),
    ),
];

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// The run's cells as OpenMetrics text; the time of each sample is when the run began.
pub fn openmetrics(material: &Material) -> String {
    let mut out = String::new();
    let run = &material.report.run;
    let at = material.run.facts.started.as_second();
    for (name, unit, help, pick) in GAUGES {
        let full = match name == unit {
            true => format!("prony_{name}"),
            false => format!("prony_{name}_{unit}"),
        };
        let _ = writeln!(
            out,
            "# TYPE {full} gauge\n# UNIT {full} {unit}\n# HELP {full} {help}."
        );
        for cell in &material.report.cells {
            let Some(value) = pick(cell) else { continue };
            let _ = writeln!(
                out,
                "{full}{{experiment=\"{}\",run=\"{}\",server=\"{}\",workers=\"{}\",load=\"{}\"}} {value} {at}",
                label(&run.name),
                run.id,
                label(&cell.server),
                cell.workers,
                label(cell.load_label())
            );
        }
    }
    out += "# EOF\n";
    out
}

/// A label's value, escaped.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    #[test]
    fn labels_are_escaped() {
        assert_eq!(super::label("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }
}
