//! A run's report as text for a terminal.

use super::{CellReport, RaisedCheck, RunReport};
use crate::idle;
use crate::services;
use crate::show;
use crate::table::{Align, TextTable};
use crate::why::capital;
use prony_record::Step;
use prony_record::verdict::Verdict;
use prony_stats::Estimate;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Costs of the services of these cells, which are of one load; None where there are none.
#[must_use]
pub fn services_of(cells: &[&CellReport]) -> Option<TextTable> {
    let labels: Vec<String> = cells.iter().map(|cell| cell.label()).collect();
    let rows = labels.iter().zip(cells);
    let rows =
        rows.flat_map(|(label, cell)| cell.services.iter().map(|cost| (label.as_str(), cost)));
    services::table("server", rows)
}

/// Idle connections of these cells, which are of one load; None where there were none.
#[must_use]
pub fn idle_of(cells: &[&CellReport]) -> Option<TextTable> {
    idle::table("server", cells.iter().map(|cell| (cell.label(), cell.idle)))
}

/// Events of the streams that these cells, which are of one load, received; None where answers were no streams.
#[must_use]
pub fn streams_of(cells: &[&CellReport]) -> Option<TextTable> {
    let mut table = TextTable::new([
        ("server", Align::Left),
        ("events/s ±95%", Align::Right),
        ("first event p50", Align::Right),
        ("first event p99", Align::Right),
        ("gap p50", Align::Right),
        ("gap p99", Align::Right),
        ("gap max", Align::Right),
    ]);
    let mut any = false;
    for cell in cells {
        let Some(events) = &cell.events else {
            continue;
        };
        let (first, gap) = (&cell.latency.first_event, &cell.latency.gap);
        let times = [first.p50, first.p99, gap.p50, gap.p99, gap.max];
        let mut row = vec![cell.label(), rate_within(events)];
        row.extend(times.map(show::time_or_dash));
        table.row(row);
        any = true;
    }
    any.then_some(table)
}

/// A rate with half of its interval, as `1.76k ±12%`.
fn rate_within(rate: &Estimate) -> String {
    let value = show::per(rate.value());
    match rate.relative_half_width() {
        Some(half) => format!("{value} {}", show::within(half)),
        None => value,
    }
}

/// How the ratios and the groups of more than two servers are to be read.
pub const TOGETHER: &str = "the intervals of all ratios hold together; no significant difference \
                            between servers that share a group's letter";

impl RunReport {
    /// The report as text for a terminal of `width` columns: results first, then what the checks found, then
    /// what was not measured. `verbose` names each server that is not set up, and shows published figures of what was not
    /// measured.
    #[must_use]
    pub fn text(&self, verbose: bool, width: usize) -> String {
        let mut out = String::new();
        let run = &self.run;
        let _ = writeln!(out, "{} — run {} ({})", run.title, run.id, run.name);
        let _ = writeln!(out, "{}; {}", run.host, run.placement);
        match &run.failure {
            Some(failure) => {
                let _ = writeln!(out, "{}: {failure}", run.status);
            }
            None if run.status != "finished" => {
                let _ = writeln!(out, "{}: these are the figures until then", run.status);
            }
            None => {}
        }
        for (load, cells) in self.by_load() {
            let _ = writeln!(out, "\n{}", self.sentence(&cells));
            let _ = writeln!(out, "load {load}, {} rounds, 95% intervals\n", run.rounds);
            out += &table(&cells).fit(width);
            if cells.iter().any(|cell| cell.group.is_some()) {
                let _ = writeln!(out, "{TOGETHER}");
            }
            let tables = [streams_of(&cells), idle_of(&cells), services_of(&cells)];
            for table in tables.into_iter().flatten() {
                let _ = write!(out, "\n{}", table.fit(width));
            }
        }
        for what in services::described(self.cells.iter().flat_map(|cell| &cell.services)) {
            let _ = writeln!(out, "{what}");
        }
        if let Some(composite) = &self.composite {
            let table = composite.table().fit(width);
            let _ = write!(out, "\n{}\n\n{table}", composite.sentence());
        }
        out += &paragraph(&self.over_text());
        out += &super::rigs::text(&self.rigs, width);
        out += &super::generators::text(&self.generators, width);
        for scaling in &self.scaling {
            let _ = writeln!(out, "\n{}", scaling.sentence);
        }
        if let Some(published) = &self.published {
            out += &published.text(verbose, width);
        }
        if let Some(anatomy) = &self.why {
            out += &crate::why::text(anatomy, width);
        }
        out += &self.findings_text();
        out += &paragraph(&self.expected_failures());
        out += &paragraph(&self.not_measured());
        out += &paragraph(&self.failed());
        out += &paragraph(&self.not_set_up(verbose));
        out
    }

    /// Result in a sentence for each load, or the reason why there is none.
    #[must_use]
    pub fn result(&self) -> String {
        let loads = self.by_load();
        let several = loads.len() > 1;
        let sentences = loads.iter().map(|(load, cells)| match several {
            true => format!("{load}: {}", self.sentence(cells)),
            false => self.sentence(cells),
        });
        let found = sentences.collect::<Vec<_>>().join(" ");
        match self.failures.iter().find(|failure| !failure.skipped) {
            Some(failure) if found.is_empty() => {
                let step = failure.step.map_or("unknown step", Step::phrase);
                format!("{}: {step}: {}", failure.server, indented(&failure.message))
            }
            _ => found,
        }
    }

    /// Sentence that is read first: the servers that are faster or slower than the baseline, and those that are not
    /// known to be.
    #[must_use]
    pub fn sentence(&self, cells: &[&CellReport]) -> String {
        let base = &self.run.baseline;
        let others: Vec<&CellReport> = cells
            .iter()
            .filter(|cell| cell.label() != *base)
            .copied()
            .collect();
        match (cells, others.as_slice()) {
            ([], _) => String::new(),
            ([only], _) => {
                format!("{}: {}.", only.label(), show::rate(only.throughput.value()))
            }
            (_, [other]) => against(base, other),
            _ => several(base, &others),
        }
    }

    /// One line for each check, with the servers that it concerns; what it says is of the first of them.
    fn findings_text(&self) -> String {
        let mut labels: Vec<String> = self.cells.iter().map(CellReport::label).collect();
        labels.sort_unstable();
        labels.dedup();
        let lines: Vec<String> = self
            .findings()
            .into_iter()
            .map(|RaisedCheck { servers, finding }| {
                let (who, text) = match servers.as_slice() {
                    [only] => (only.clone(), finding.text),
                    [first, ..] if servers.len() == labels.len() => (
                        format!("all {} servers", servers.len()),
                        format!("{first}: {}", finding.text),
                    ),
                    [first, ..] => (servers.join(", "), format!("{first}: {}", finding.text)),
                    [] => (String::new(), finding.text),
                };
                show::finding_line(
                    finding.severity,
                    &format!("{} ({who})", finding.name),
                    &text,
                )
            })
            .collect();
        show::finding_lines(&lines)
    }

    /// Cost of encryption and HTTP/2, a line for each server and load.
    fn over_text(&self) -> String {
        let lines = self.over.iter().map(|over| format!("{}\n", over.sentence));
        lines.collect()
    }

    /// Expected failures, each server once.
    fn expected_failures(&self) -> String {
        let mut by_server: BTreeMap<&str, &BTreeMap<String, String>> = BTreeMap::new();
        for cell in &self.cells {
            by_server.insert(&cell.server, &cell.expected_failures);
        }
        let mut out = String::new();
        for (server, failures) in by_server {
            let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (step, reason) in failures {
                by_reason.entry(reason).or_default().push(step);
            }
            for (reason, steps) in by_reason {
                let (steps, reason) = (steps.join(", "), indented(reason));
                let _ = writeln!(out, "expected failure of {server}: {steps}: {reason}");
            }
        }
        out
    }

    fn failed(&self) -> String {
        let mut out = String::new();
        let several = self.by_load().len() > 1;
        for failure in self.failures.iter().filter(|failure| !failure.skipped) {
            let load = match failure.load.as_str() {
                load if several && !load.is_empty() => format!(" under {load}"),
                _ => String::new(),
            };
            let round = failure
                .round
                .map_or(String::new(), |round| format!(" (round {round})"));
            let step = failure.step.map_or("unknown step", Step::phrase);
            let _ = writeln!(
                out,
                "failed: {}{load}{round}: {step}: {}",
                failure.server,
                indented(&failure.message)
            );
            for line in failure.output.lines() {
                let _ = writeln!(out, "  | {}", line.escape_debug());
            }
        }
        out
    }

    /// Servers that were not measured under some loads, which request what they do not have: a line for each, with its
    /// loads and what it lacks.
    #[must_use]
    pub fn lacking(&self) -> Vec<String> {
        let mut loads: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for failure in self.failures.iter().filter(|failure| failure.is_lacking()) {
            let why = (failure.server.as_str(), failure.message.as_str());
            loads.entry(why).or_default().push(&failure.load);
        }
        let lines = loads.iter().map(|((server, why), loads)| {
            format!("{server} under {}: {}", loads.join(", "), indented(why))
        });
        lines.collect()
    }

    fn not_measured(&self) -> String {
        let lines = self.lacking().into_iter();
        lines
            .map(|line| format!("not measured: {line}\n"))
            .collect()
    }

    fn not_set_up(&self, verbose: bool) -> String {
        let mut out = self
            .set_up_hint()
            .map_or_else(String::new, |(what, command)| {
                format!("{what}: `{command}`\n")
            });
        if verbose {
            for failure in self
                .failures
                .iter()
                .filter(|failure| failure.is_not_set_up())
            {
                let _ = writeln!(out, "  {}: {}", failure.server, indented(&failure.message));
            }
        }
        out
    }

    /// How many servers are not set up, in words, and the command that sets them up; none if all are.
    #[must_use]
    pub fn set_up_hint(&self) -> Option<(String, String)> {
        let missing = self
            .failures
            .iter()
            .filter(|failure| failure.is_not_set_up());
        let what = match missing.count() {
            0 => return None,
            1 => "1 server is not set up".to_owned(),
            n => format!("{n} servers are not set up"),
        };
        // Every contract can be set up by its name; an experiment may be a file that is gone.
        Some((what, format!("prony servers setup {}", self.run.contract)))
    }
}

/// After an empty line, unless there is nothing to say.
fn paragraph(text: &str) -> String {
    match text {
        "" => String::new(),
        text => format!("\n{text}"),
    }
}

fn table(cells: &[&CellReport]) -> TextTable {
    // A server with a single event loop, or none that can be seen, has nothing to spread.
    let spread = cells
        .iter()
        .any(|cell| cell.connections_per_worker.len() > 1);
    let columns = [
        ("server", Align::Left),
        ("requests/s ±95%", Align::Right),
        ("p50 ±95%", Align::Right),
        ("p99 ±95%", Align::Right),
        ("max", Align::Right),
        ("CPU/req", Align::Right),
        ("memory", Align::Right),
        ("ratio", Align::Right),
        ("95% CI", Align::Left),
        ("group", Align::Left),
        ("connections", Align::Left),
        ("checks", Align::Right),
    ];
    let groups = cells.iter().any(|cell| cell.group.is_some());
    let kept = |name: &str| match name {
        "connections" => spread,
        "group" => groups,
        _ => true,
    };
    let mut table = TextTable::new(columns.into_iter().filter(|(name, _)| kept(name)));
    for cell in cells {
        let response = &cell.latency.response;
        let ratio = cell.ratio.as_ref();
        let connections: Vec<String> = cell
            .connections_per_worker
            .iter()
            .map(u32::to_string)
            .collect();
        let row = [
            cell.label(),
            rate_within(&cell.throughput),
            show::time_within(response.p50, response.intervals.p50),
            show::time_within(response.p99, response.intervals.p99),
            show::time_or_dash(response.max),
            cell.server_cpu_us_per_request
                .map_or("–".into(), |cpu| show::time(cpu.value * 1e3)),
            show::bytes_or_dash(cell.rss_peak_bytes),
            ratio.map_or("–".into(), |ratio| show::ratio(ratio.value())),
            ratio
                .and_then(Estimate::interval)
                .map_or("–".into(), |interval| {
                    format!("{:.3} to {:.3}", interval.low(), interval.high())
                }),
            cell.group.clone().unwrap_or_default(),
            connections.join("+"),
            match cell.checks.len() {
                0 => String::new(),
                n => n.to_string(),
            },
        ];
        let kept = columns.iter().zip(row).filter(|((name, _), _)| kept(name));
        table.row(kept.map(|(_, cell)| cell));
    }
    table
}

/// A text of others: no line of it but the first begins where prony's own lines begin.
fn indented(text: &str) -> String {
    text.replace('\n', "\n    ")
}

/// One server against the baseline.
fn against(base: &str, other: &CellReport) -> String {
    let name = other.label();
    let Some(ratio) = &other.ratio else {
        return format!("{name}: {base}, the baseline, has no result to compare it with.");
    };
    let Some(interval) = ratio.interval() else {
        let change = show::change(ratio.value());
        return format!("{name} and {base}: inconclusive, {change} in the only round.");
    };
    let (low, high) = (interval.low(), interval.high());
    match called(ratio) {
        Verdict::Faster => format!(
            "{name} is faster than {base}: {} more requests/s (95% CI {} to {}).",
            show::percent(ratio.value() - 1.0),
            show::percent(low - 1.0),
            show::percent(high - 1.0)
        ),
        Verdict::Slower => format!(
            "{name} is slower than {base}: {} fewer requests/s (95% CI {} to {}).",
            show::percent(1.0 - ratio.value()),
            show::percent(1.0 - high),
            show::percent(1.0 - low)
        ),
        _ => format!(
            "{name} and {base}: inconclusive (95% CI of the change {} to {}).",
            show::change(low),
            show::change(high)
        ),
    }
}

/// Servers that are named in a sentence, of each verdict.
const NAMED: usize = 4;

/// More than one server against the baseline.
fn several(base: &str, others: &[&CellReport]) -> String {
    let of = |wanted: Verdict| -> Vec<(String, Option<&Estimate>)> {
        let all = others
            .iter()
            .map(|cell| (cell.label(), cell.ratio.as_ref()));
        all.filter(|(_, ratio)| ratio.map_or(Verdict::Inconclusive, called) == wanted)
            .collect()
    };
    let list = |all: &[(String, Option<&Estimate>)], figures: bool| {
        let mut names: Vec<String> = all
            .iter()
            .take(NAMED)
            .map(
                |(name, ratio)| match ratio.and_then(|ratio| ratio.interval().zip(Some(ratio))) {
                    Some((interval, ratio)) if figures => format!(
                        "{name} {} (95% CI {} to {})",
                        show::change(ratio.value()),
                        show::change(interval.low()),
                        show::change(interval.high())
                    ),
                    _ => name.clone(),
                },
            )
            .collect();
        if all.len() > NAMED {
            names.push(format!("and {} more", all.len() - NAMED));
        }
        names.join(", ")
    };
    let (faster, slower, open) = (
        of(Verdict::Faster),
        of(Verdict::Slower),
        of(Verdict::Inconclusive),
    );
    let parts = [
        (!faster.is_empty()).then(|| format!("faster than {base}: {}", list(&faster, true))),
        (!slower.is_empty()).then(|| format!("slower than {base}: {}", list(&slower, true))),
        (!open.is_empty()).then(|| format!("inconclusive: {}", list(&open, false))),
    ];
    let text = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
    format!("{}.", capital(&text))
}

/// The verdict on throughput against the baseline. The ratios of a run have no equivalence margin, so that *no difference* is not
/// among them.
fn called(ratio: &Estimate) -> Verdict {
    match ratio.interval() {
        Some(interval) if interval.low() > 1.0 => Verdict::Faster,
        Some(interval) if interval.high() < 1.0 => Verdict::Slower,
        _ => Verdict::Inconclusive,
    }
}
