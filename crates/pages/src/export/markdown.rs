//! Markdown, for a pull request.

use crate::chart::capacity_sentences;
use crate::material::Material;
use prony_record::service::CapacityReport;
use prony_record::verdict::Quantity;
use prony_record::{Finding, Severity};
use prony_report::duel;
use prony_report::load::{LoadReport, NameTable};
use prony_report::run::{CellReport, TOGETHER, generators, idle_of, rigs, services_of, streams_of};
use prony_report::table::{Align, TextTable};
use prony_report::{services, show};
use prony_verdict::seen::{DuelReport, SideReport};
use std::fmt::Write;

/// The run as Markdown of GitHub's kind.
pub fn markdown(material: &Material) -> String {
    let report = &material.report;
    let run = &report.run;
    let mut out = String::new();
    let _ = writeln!(out, "### {}\n", plain(&run.title));
    if let Some(duel) = &material.duel {
        of_duel(&mut out, duel);
        out += &report
            .why
            .as_ref()
            .map(crate::why::markdown)
            .unwrap_or_default();
        out += &origin(material);
        return out;
    }
    let capacities = capacity_sentences(material);
    for (_, sentence) in &capacities {
        let _ = writeln!(out, "**{}**\n", plain(sentence));
    }
    for (load, cells) in report.by_load() {
        // The rates of a capacity search are no loads to compare servers under.
        if capacities.is_empty() {
            let _ = writeln!(out, "**{}**\n", plain(&report.sentence(&cells)));
        }
        let _ = writeln!(
            out,
            "Load {}, {} rounds, 95% intervals\n",
            plain(load),
            run.rounds
        );
        table(&mut out, &cells);
        listing(&mut out, streams_of(&cells).as_ref());
        listing(&mut out, idle_of(&cells).as_ref());
        listing(&mut out, services_of(&cells).as_ref());
    }
    if let Some(composite) = &report.composite {
        let _ = writeln!(out, "{}\n", plain(&composite.sentence()));
        listing(&mut out, Some(&composite.table()));
    }
    for what in services::described(report.cells.iter().flat_map(|cell| &cell.services)) {
        let _ = writeln!(out, "- {}", plain(&what));
    }
    for over in &report.over {
        let _ = writeln!(out, "- {}", plain(&over.sentence));
    }
    if !report.rigs.is_empty() {
        let _ = writeln!(out, "- {}", plain(&rigs::sentence(&report.rigs)));
    }
    for one in &report.generators {
        let _ = writeln!(out, "- {}", plain(&generators::sentence(one)));
    }
    for raised in report.findings() {
        let word = severity(&raised.finding);
        let _ = writeln!(
            out,
            "- {word}: {} ({}): {}",
            code(raised.finding.name.word()),
            plain(&raised.servers.join(", ")),
            plain(&raised.finding.text)
        );
    }
    for line in report.lacking() {
        let _ = writeln!(out, "- not measured: {}", plain(&line));
    }
    for failure in report.failures.iter().filter(|failure| !failure.skipped) {
        let _ = writeln!(
            out,
            "- failed: {}: {}",
            plain(&failure.server),
            plain(&failure.message)
        );
    }
    if let Some((what, command)) = report.set_up_hint() {
        let _ = writeln!(out, "- {what}: `{command}`");
    }
    out += &report
        .why
        .as_ref()
        .map(crate::why::markdown)
        .unwrap_or_default();
    out += &origin(material);
    out
}

/// With what, when and where it was measured.
fn origin(material: &Material) -> String {
    let run = &material.report.run;
    format!(
        "\n<sub>prony {}, run {} of {}; {}; {}</sub>\n",
        plain(&run.prony),
        run.id,
        plain(&run.started),
        plain(&run.host),
        plain(&run.placement)
    )
}

/// Writes the result of a duel: the sentences and verdicts of the terminal, and the rest folded.
fn of_duel(out: &mut String, duel: &DuelReport) {
    for sentence in &duel.sentences {
        let _ = writeln!(out, "**{}**\n", plain(sentence));
    }
    let Some((first, others)) = duel.sides.split_first() else {
        return;
    };
    for side in others {
        versus(out, duel, first, side);
    }
    listing(out, duel::idle(duel).as_ref());
    listing(out, duel::services(duel).as_ref());
    let mut details = vec![duel::ending(duel)];
    details.extend(services::described(
        duel.sides.iter().flat_map(|side| &side.services),
    ));
    details.extend(duel.notes.iter().cloned());
    let sides = duel.sides.iter().filter_map(duel::described);
    details.extend(sides.map(|(name, what)| format!("{name}: {what}")));
    let summary = match duel.checks.len() {
        0 => "How it was measured; no check was raised".to_owned(),
        n => format!("How it was measured; {n} checks were raised"),
    };
    let _ = writeln!(out, "<details><summary>{summary}</summary>\n");
    for detail in &details {
        let _ = writeln!(out, "- {}", plain(detail));
    }
    checks(out, &duel.checks);
    out.push_str("\n</details>\n");
}

/// Writes a table as it is on the terminal; nothing for none.
fn listing(out: &mut String, table: Option<&TextTable>) {
    let Some(table) = table else { return };
    let row = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let heads = table.columns().iter().map(|(head, _)| plain(head));
    let rules = table.columns().iter().map(|(_, align)| match align {
        Align::Left => "---".to_owned(),
        Align::Right => "--:".to_owned(),
    });
    let _ = writeln!(out, "{}\n{}", row(heads.collect()), row(rules.collect()));
    for cells in table.rows() {
        let _ = writeln!(
            out,
            "{}",
            row(cells.iter().map(|cell| plain(cell)).collect())
        );
    }
    out.push('\n');
}

fn checks(out: &mut String, all: &[Finding]) {
    for found in all {
        let _ = writeln!(
            out,
            "- {}: {}: {}",
            severity(found),
            code(found.name.word()),
            plain(&found.text)
        );
    }
}

fn severity(found: &Finding) -> &'static str {
    match found.severity {
        Severity::Serious => "**serious**",
        severity => severity.word(),
    }
}

/// How a side compares with the first.
fn versus(out: &mut String, duel: &DuelReport, first: &SideReport, side: &SideReport) {
    let _ = writeln!(
        out,
        "| | {} | {} | {} vs {} | 95% CI | verdict |\n|---|--:|--:|--:|---|---|",
        plain(&first.name),
        plain(&side.name),
        plain(&side.name),
        plain(&first.name)
    );
    let figure = |side: &SideReport, quantity: Quantity| {
        let figure = side.figures.iter().find(|one| one.quantity == quantity);
        figure.map_or_else(
            || "–".into(),
            |one| duel::shown(quantity, one.value.value()),
        )
    };
    for one in duel::of_side(duel, &side.name) {
        let indent = match Quantity::PARTS.contains(&one.quantity) {
            true => "&nbsp;&nbsp;",
            false => "",
        };
        let _ = writeln!(
            out,
            "| {indent}{} | {} | {} | {} | {} | {} |",
            duel::in_table(one.quantity).trim_start(),
            figure(first, one.quantity),
            figure(side, one.quantity),
            show::change(one.ratio.value()),
            duel::interval(one),
            duel::verdict(one)
        );
    }
    out.push('\n');
}

fn table(out: &mut String, cells: &[&CellReport]) {
    let grouped = cells.iter().any(|cell| cell.group.is_some());
    let group = if grouped {
        (" group |", "---|")
    } else {
        ("", "")
    };
    let _ = writeln!(
        out,
        "| server | requests/s | ± 95% | ratio | 95% CI | p50 ± 95% | p99 ± 95% | CPU/req | memory |{} checks |\n\
         |---|--:|--:|--:|---|--:|--:|--:|--:|{}---|",
        group.0, group.1
    );
    for cell in cells {
        let dash = || "–".to_owned();
        let (rate, response) = (&cell.throughput, &cell.latency.response);
        let half = rate.relative_half_width();
        let interval = cell
            .ratio
            .as_ref()
            .and_then(prony_stats::Estimate::interval);
        let checks: Vec<String> = cell
            .checks
            .iter()
            .map(|check| plain(check.name.word()))
            .collect();
        let mut row = vec![
            plain(&cell.label()),
            show::per(rate.value()),
            half.map_or_else(dash, |half| format!("{:.1}%", half * 100.0)),
            cell.ratio
                .as_ref()
                .map_or_else(dash, |ratio| show::ratio(ratio.value())),
            interval.map_or_else(dash, |i| format!("{:.3} to {:.3}", i.low(), i.high())),
            show::time_within(response.p50, response.intervals.p50),
            show::time_within(response.p99, response.intervals.p99),
            cell.server_cpu_us_per_request
                .map_or_else(dash, |cpu| show::time(cpu.value * 1e3)),
            show::bytes_or_dash(cell.rss_peak_bytes),
        ];
        if grouped {
            row.push(cell.group.clone().unwrap_or_default());
        }
        row.push(checks.join(" "));
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
    if grouped {
        let _ = writeln!(out, "- {TOGETHER}");
    }
}

/// A capacity search as Markdown of GitHub's kind.
#[must_use]
pub fn capacity_markdown(report: &CapacityReport) -> String {
    let limits = prony_report::capacity::limits(&report.limits);
    let sentence = prony_report::capacity::sentence(&report.server, &limits, &report.known);
    let mut out = format!("**{}**\n\n", plain(&sentence));
    if !report.curve.is_empty() {
        out += "| requests/s | p50 | p90 | p99 | max | errors | CPU/req |\n|--:|--:|--:|--:|--:|--:|--:|\n";
    }
    for step in &report.curve {
        let cpu = step.cpu_us_per_request;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {:.2}% | {} |",
            show::per(step.rate),
            show::time_or_dash(step.latency.p50),
            show::time_or_dash(step.latency.p90),
            show::time_or_dash(step.latency.p99),
            show::time_or_dash(step.latency.max),
            step.errors * 100.0,
            cpu.map_or("–".into(), |us| show::time(us * 1e3)),
        );
    }
    out.push('\n');
    listing(&mut out, prony_report::capacity::services(report).as_ref());
    for what in services::described(report.curve.iter().flat_map(|step| &step.services)) {
        let _ = writeln!(out, "- {}", plain(&what));
    }
    checks(&mut out, &report.checks);
    out
}

/// A single load as Markdown of GitHub's kind.
#[must_use]
pub fn load_markdown(report: &LoadReport) -> String {
    let response = &report.latency.response;
    let (told, what) = report.headline_times();
    let mut out = format!(
        "**{} {}; p99{what} {}**\n\n",
        plain(&report.target),
        report.reached(),
        show::time_within(told.p99, told.intervals.p99),
    );
    let _ = writeln!(
        out,
        "| p50 | p90 | p99 | p99.9 | max | answers | failed |\n|--:|--:|--:|--:|--:|--:|---|"
    );
    let failed: Vec<String> = report
        .outcomes
        .failures()
        .map(|(kind, n)| format!("{kind} {}", show::count(n)))
        .collect();
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {} |\n",
        show::time_within(response.p50, response.intervals.p50),
        show::time_within(response.p90, response.intervals.p90),
        show::time_within(response.p99, response.intervals.p99),
        show::time_within(response.p99_9, response.intervals.p99_9),
        show::time_or_dash(response.max),
        show::count(report.outcomes.ok),
        if failed.is_empty() {
            "none".to_owned()
        } else {
            failed.join(", ")
        },
    );
    if report.latency.has_parts() {
        let first = &report.latency.first_byte;
        let _ = writeln!(
            out,
            "First byte: p50 {}, p99 {}.\n",
            show::time_within(first.p50, first.intervals.p50),
            show::time_within(first.p99, first.intervals.p99),
        );
    }
    if let Some(events) = &report.events {
        let (first, gap) = (&report.latency.first_event, &report.latency.gap);
        let _ = writeln!(
            out,
            "Events: {}. First event: p50 {}, p99 {}. Gap: p50 {}, p99 {}.\n",
            events.line(),
            show::time_or_dash(first.p50),
            show::time_or_dash(first.p99),
            show::time_or_dash(gap.p50),
            show::time_or_dash(gap.p99),
        );
        if let Some(tokens) = &events.tokens {
            let _ = writeln!(out, "Tokens: {}.\n", tokens.line());
        }
    }
    if let Some(goodput) = &report.goodput {
        let _ = writeln!(out, "Goodput: {}.\n", plain(&goodput.line()));
    }
    if let Some(why) = report.missing() {
        let _ = writeln!(out, "{}.\n", plain(&why));
    }
    for (what, text) in report.asked() {
        let _ = writeln!(
            out,
            "{}: {}.\n",
            prony_report::why::capital(what),
            plain(&text)
        );
    }
    if let Some(server) = &report.server {
        let _ = writeln!(out, "Server: {}.\n", plain(&server.line()));
    }
    if let Some(idle) = &report.idle {
        let _ = writeln!(out, "Idle: {}.\n", prony_report::idle::line(idle));
    }
    if let Some(http2) = &report.http2 {
        let _ = writeln!(out, "HTTP/2: {}.\n", http2.line());
    }
    if let Some(http3) = &report.http3 {
        let _ = writeln!(out, "HTTP/3: {}.\n", http3.line());
    }
    if let Some(quic) = &report.quic {
        let rows = prony_report::load::quic::rows(quic);
        let rows: Vec<String> = rows.into_iter().map(|(_, text)| text).collect();
        let _ = writeln!(out, "QUIC: {}.\n", rows.join("; "));
    }
    if let Some(websocket) = &report.websocket {
        let _ = writeln!(out, "WebSocket: {}.\n", websocket.line());
    }
    if let (Some(tls), Some(handshake)) = (&report.tls, &report.handshake) {
        let _ = writeln!(
            out,
            "TLS: {}; handshakes {}, p50 {}, p99 {}.\n",
            tls.line(),
            prony_report::load::handshakes(tls, report.seconds),
            show::time_or_dash(handshake.p50),
            show::time_or_dash(handshake.p99),
        );
    }
    for recovery in &report.recoveries {
        let _ = writeln!(out, "Recovered: {}.\n", plain(&recovery.sentence()));
    }
    for table in report.by_name() {
        by_name(&mut out, &table);
    }
    checks(&mut out, &report.checks);
    out
}

/// A table with a row for each name, and what else is to be said.
fn by_name(out: &mut String, it: &NameTable) {
    let _ = writeln!(out, "| {} |", it.heads.join(" | "));
    let _ = writeln!(out, "|---|{}", "--:|".repeat(it.heads.len() - 1));
    for row in &it.rows {
        let row: Vec<String> = row.iter().map(|text| plain(text)).collect();
        let _ = writeln!(out, "| {} |", row.join(" | "));
    }
    out.push('\n');
    for (what, note) in &it.notes {
        let _ = writeln!(out, "- {what}: {}", plain(note));
    }
    if !it.notes.is_empty() {
        out.push('\n');
    }
}

/// A text that stays text: nothing in it is markup, mentions a user, or ends its line.
#[must_use]
pub fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut before = ' ';
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '!' => {
                out.push('\\');
                out.push(c);
            }
            // A word joiner: GitHub would tell the person of that name.
            '@' if !before.is_alphanumeric() => out += "@\u{2060}",
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
        before = c;
    }
    out
}

/// A name in a code span; one that could end the span, or its table's cell, as a text.
fn code(name: &str) -> String {
    let simple = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    match name.chars().all(simple) {
        true => format!("`{name}`"),
        false => plain(name),
    }
}

#[cfg(test)]
mod tests {
    use super::{code, plain};

    #[test]
    fn names_stay_names() {
        assert_eq!(code("noisy-host"), "`noisy-host`");
        assert_eq!(code("a`<b>"), "a\\`&lt;b&gt;");
    }

    #[test]
    fn a_text_stays_text() {
        assert_eq!(plain("a|b\n<img>"), "a\\|b &lt;img&gt;");
        assert_eq!(plain("node@2, @ada"), "node@2, @\u{2060}ada");
        assert_eq!(plain("[x](y) `z`"), "\\[x\\](y) \\`z\\`");
    }
}
