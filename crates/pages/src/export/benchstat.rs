//! The text that Go's `benchstat` reads: a line for each trial.
//!
//! The format is Go's benchmark data format. Server and load are keys of the benchmark's name, so that
//! `benchstat -col /server` puts servers beside each other, and two files compare two runs; the number
//! behind the last hyphen is what Go has for processors, here the workers.

use crate::material::Material;
use std::fmt::Write;

/// The run for benchstat.
pub fn benchstat(material: &Material) -> String {
    let mut out = String::new();
    let host = &material.run.facts.host;
    let _ = writeln!(out, "goos: linux");
    let _ = writeln!(out, "pkg: prony/{}", word(&material.run.facts.name));
    let cpu = match host.cpu.as_str() {
        "" => "unknown",
        cpu => cpu,
    };
    let _ = writeln!(out, "cpu: {}", line(cpu));
    let _ = writeln!(out, "contract: {}", line(&material.about().contract));
    // More is better of answers; for the rest, benchstat takes less to be.
    let _ = writeln!(out, "Unit answers/s better=higher");
    for part in &material.trials {
        let (trial, figures) = (part.trial(), &part.trial().figures);
        let (Some(rate), Some(answers)) = (figures.throughput, figures.verified_answers) else {
            continue;
        };
        let _ = write!(
            out,
            "BenchmarkPart/server={}/load={}-{} {} {rate} answers/s",
            word(&trial.server),
            word(&trial.cell),
            trial.workers.unwrap_or(1),
            answers.max(1),
        );
        let more = [
            (figures.p50_ns.map(|ns| ns as f64), "p50-ns"),
            (figures.p99_ns.map(|ns| ns as f64), "p99-ns"),
            (figures.cpu_ns_per_request, "cpu-ns/op"),
            (
                figures.rss_peak_bytes.map(|bytes| bytes as f64),
                "peak-bytes",
            ),
        ];
        for (value, unit) in more {
            if let Some(value) = value {
                let _ = write!(out, " {value} {unit}");
            }
        }
        out.push('\n');
    }
    out
}

/// A part of a benchmark's name: no space ends it, no slash or equals sign divides it, and no hyphen
/// with digits at its end is taken for a number of processors.
fn word(text: &str) -> String {
    let taken = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '=');
    text.chars()
        .map(|c| if taken(c) { '_' } else { c })
        .collect()
}

fn line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_are_one_word() {
        assert_eq!(super::word("c64 t8"), "c64_t8");
        assert_eq!(super::word("a/b=c\n"), "a_b_c_");
    }
}
