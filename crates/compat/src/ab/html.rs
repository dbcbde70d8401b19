//! The report as HTML tables, for `-w`.

use super::flags::AbFlags;
use super::report::{AbReport, millis};
use super::text::rows;
use std::fmt::Write;

/// The report.
pub(super) fn html(report: &AbReport, flags: &AbFlags) -> String {
    let attributes = &flags.attributes;
    let (row, cell) = (&attributes.row, &attributes.cell);
    let mut out = format!("\n\n<table {}>\n", attributes.table);
    let line = |out: &mut String, name: &str, value: String| {
        let _ = writeln!(
            out,
            "<tr {row}><th colspan=2 {cell}>{name}:</th><td colspan=2 {cell}>{value}</td></tr>"
        );
    };
    line(&mut out, "Server Software", escape(&report.software));
    line(&mut out, "Server Hostname", escape(&flags.url.host));
    line(&mut out, "Server Port", flags.port().to_string());
    line(&mut out, "Document Path", escape(&flags.url.target));
    line(
        &mut out,
        "Document Length",
        if flags.variable {
            "Variable".into()
        } else {
            format!("{} bytes", report.length)
        },
    );
    line(&mut out, "Concurrency Level", flags.concurrency.to_string());
    line(
        &mut out,
        "Time taken for tests",
        format!("{:.3} seconds", report.seconds),
    );
    line(&mut out, "Complete requests", report.complete.to_string());
    let failed = &report.failed;
    line(&mut out, "Failed requests", failed.all().to_string());
    if failed.all() > 0 {
        let _ = writeln!(
            out,
            "<tr {row}><td colspan=4 {cell} >   (Connect: {}, Length: {}, Exceptions: {})</td></tr>",
            failed.connect, failed.length, failed.exceptions
        );
    }
    if report.not_2xx > 0 {
        line(&mut out, "Non-2xx responses", report.not_2xx.to_string());
    }
    if flags.keepalive {
        line(&mut out, "Keep-Alive requests", report.kept.to_string());
    }
    line(
        &mut out,
        "Total transferred",
        format!("{} bytes", report.received),
    );
    if flags.upload.is_some() {
        line(&mut out, "Total body sent", report.sent.to_string());
    }
    line(
        &mut out,
        "HTML transferred",
        format!("{} bytes", report.body),
    );
    if report.complete > 0 {
        let received = report.transfer(report.received);
        line(
            &mut out,
            "Requests per second",
            format!("{:.2}", report.rate()),
        );
        line(
            &mut out,
            "Transfer rate",
            format!("{received:.2} kb/s received"),
        );
        if flags.upload.is_some() {
            let sent = report.transfer(report.sent);
            for (rate, what) in [(sent, "sent"), (received + sent, "total")] {
                let _ = writeln!(
                    out,
                    "<tr {row}><td colspan=2 {cell}>&nbsp;</td><td colspan=2 {cell}>{rate:.2} kb/s {what}</td></tr>"
                );
            }
        }
    }
    if !report.timings.is_empty() {
        times(&mut out, report, row, cell);
    }
    out += "</table>\n";
    out
}

fn times(out: &mut String, report: &AbReport, row: &str, cell: &str) {
    let _ = writeln!(
        out,
        "<tr {row}><th {cell} colspan=4>Connection Times (ms)</th></tr>"
    );
    let _ = writeln!(
        out,
        "<tr {row}><th {cell}>&nbsp;</th> <th {cell}>min</th>   <th {cell}>avg</th>   <th {cell}>max</th></tr>"
    );
    for (name, times) in rows(report) {
        if name == "Waiting:" {
            continue;
        }
        let (min, max) = (millis(times.min), millis(times.max));
        let mean = millis(times.mean.round() as u64);
        let _ = writeln!(
            out,
            "<tr {row}><th {cell}>{name}</th><td {cell}>{min:5}</td><td {cell}>{mean:5}</td><td {cell}>{max:5}</td></tr>"
        );
    }
}

/// Text that the server or the command line chose must not become markup.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    #[test]
    fn text_does_not_become_markup() {
        assert_eq!(super::escape("<b>&"), "&lt;b&gt;&amp;");
    }
}
