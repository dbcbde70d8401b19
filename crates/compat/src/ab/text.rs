//! The report as text.

use super::flags::AbFlags;
use super::report::{AbReport, TimeSummary, Timing, millis};
use super::request;
use std::fmt::{Display, Write};

/// The percentiles of the last table.
const PERCENTILES: [usize; 8] = [50, 66, 75, 80, 90, 95, 98, 99];

/// Returns the text that `-v` prints before the answers: the request, from level 2 on.
pub(super) fn log(flags: &AbFlags) -> String {
    let mut out = String::new();
    if flags.verbosity >= 2 {
        let request = request::bytes(flags);
        let request = String::from_utf8_lossy(&request);
        let _ = writeln!(
            out,
            "INFO: {} header == \n---\n{request}\n---",
            flags.method()
        );
    }
    out
}

/// The report.
pub(super) fn text(report: &AbReport, flags: &AbFlags) -> String {
    let mut out = String::from("\n\n");
    summary(&mut out, report, flags);
    // Where nothing was answered the original prints zeros, and scripts rely on its lines.
    let ended = report.complete + report.failed.all() + report.write_errors;
    if ended > 0 {
        times(&mut out, report, flags);
        if flags.percentiles && (report.timings.len() > 1 || ended > 1) {
            percentiles(&mut out, report);
        }
    }
    out
}

/// A name, its colon, and its value in a column of its own.
fn line(out: &mut String, name: &str, value: impl Display) {
    let _ = writeln!(out, "{:<24}{value}", format!("{name}:"));
}

fn summary(out: &mut String, report: &AbReport, flags: &AbFlags) {
    line(out, "Server Software", report.software.clone());
    line(out, "Server Hostname", flags.url.host.clone());
    line(out, "Server Port", flags.port());
    for (name, value) in &report.tls {
        line(out, name, value);
    }
    let _ = writeln!(out);
    line(out, "Document Path", flags.url.target.clone());
    let length = if flags.variable {
        "Variable".to_owned()
    } else {
        format!("{} bytes", report.length)
    };
    line(out, "Document Length", length);
    let _ = writeln!(out);
    line(out, "Concurrency Level", flags.concurrency.to_string());
    line(
        out,
        "Time taken for tests",
        format!("{:.3} seconds", report.seconds),
    );
    line(out, "Complete requests", report.complete.to_string());
    let failed = &report.failed;
    line(out, "Failed requests", failed.all().to_string());
    if failed.all() > 0 {
        let _ = writeln!(
            out,
            "   (Connect: {}, Receive: {}, Length: {}, Exceptions: {})",
            failed.connect, failed.receive, failed.length, failed.exceptions
        );
    }
    if report.write_errors > 0 {
        line(out, "Write errors", report.write_errors.to_string());
    }
    if report.not_2xx > 0 {
        line(out, "Non-2xx responses", report.not_2xx.to_string());
    }
    if flags.keepalive {
        line(out, "Keep-Alive requests", report.kept.to_string());
    }
    line(
        out,
        "Total transferred",
        format!("{} bytes", report.received),
    );
    if flags.upload.is_some() {
        line(out, "Total body sent", report.sent.to_string());
    }
    line(out, "HTML transferred", format!("{} bytes", report.body));
    let each = match report.complete {
        0 => 0.0,
        n => report.seconds * 1e3 / n as f64,
    };
    let together = f64::from(flags.concurrency) * each;
    line(
        out,
        "Requests per second",
        format!("{:.2} [#/sec] (mean)", report.rate()),
    );
    line(
        out,
        "Time per request",
        format!("{together:.3} [ms] (mean)"),
    );
    line(
        out,
        "Time per request",
        format!("{each:.3} [ms] (mean, across all concurrent requests)"),
    );
    let received = report.transfer(report.received);
    line(
        out,
        "Transfer rate",
        format!("{received:.2} [Kbytes/sec] received"),
    );
    if flags.upload.is_some() {
        let sent = report.transfer(report.sent);
        let _ = writeln!(out, "{:24}{sent:.2} kb/s sent", "");
        let _ = writeln!(out, "{:24}{:.2} kb/s total", "", received + sent);
    }
}

/// The rows of the table of times.
pub(super) fn rows(report: &AbReport) -> [(&'static str, TimeSummary); 4] {
    let row = |of: fn(&Timing) -> u64| TimeSummary::of(report.timings.iter().map(of).collect());
    [
        ("Connect:", row(|timing| timing.connect)),
        ("Processing:", row(|timing| timing.processing)),
        ("Waiting:", row(|timing| timing.waiting)),
        ("Total:", row(|timing| timing.total)),
    ]
}

fn times(out: &mut String, report: &AbReport, flags: &AbFlags) {
    let _ = writeln!(out, "\nConnection Times (ms)");
    let _ = if flags.spread {
        writeln!(out, "              min  mean[+/-sd] median   max")
    } else {
        writeln!(out, "              min   avg   max")
    };
    for (name, row) in rows(report) {
        let (min, max) = (millis(row.min), millis(row.max));
        let mean = millis(row.mean.round() as u64);
        let _ = if flags.spread {
            let (deviation, median) = (row.deviation / 1e3, millis(row.median));
            writeln!(
                out,
                "{name:<12}{min:5} {mean:4} {deviation:5.1} {median:6} {max:7}"
            )
        } else {
            writeln!(out, "{name:<12}{min:5} {mean:5}{max:5}")
        };
    }
}

fn percentiles(out: &mut String, report: &AbReport) {
    let _ = writeln!(
        out,
        "\nPercentage of the requests served within a certain time (ms)"
    );
    for percent in PERCENTILES {
        let _ = writeln!(out, "  {percent}%  {:5}", millis(report.within(percent)));
    }
    let _ = writeln!(
        out,
        " 100%  {:5} (longest request)",
        millis(report.within(100))
    );
}
