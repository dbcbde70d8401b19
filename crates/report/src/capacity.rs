//! How much a server can do within limits, as text.

use crate::services::described;
use crate::show;
use crate::table::{Align, TextTable};
use prony_record::service::{
    AfterOverload, CapacityBounds, CapacityReport, LatencyLimit, Limited, Limits, Overload,
    RateStep,
};
use std::fmt::Write;

/// Limits in words: `p99 ≤ 10.0 ms, p50 ≤ 2.00 ms and errors ≤ 0.10%`.
#[must_use]
pub fn limits(limits: &Limits) -> String {
    let latency = |limit: &LatencyLimit| {
        let within = show::time(limit.within_ms * 1e6);
        format!("{} ≤ {within}", limit.name())
    };
    let mut all: Vec<String> = limits.latency.iter().map(latency).collect();
    all.extend(
        limits
            .good
            .map(|share| format!("{}% within the SLO", share * 100.0)),
    );
    let errors = limits.errors * 100.0;
    format!("{} and errors ≤ {errors:.2}%", all.join(", "))
}

/// One line for progress.
#[must_use]
pub fn line(step: &RateStep) -> String {
    let limited = |it: &Limited| match (it.ms, it.longer) {
        (Some(ms), _) => format!("{} {}", it.name(), show::time(ms * 1e6)),
        (None, Some(longer)) => format!("{:.1}% over the limit", longer * 100.0),
        (None, None) => format!("{} –", it.name()),
    };
    let good = |share: f64| format!("{:.1}% within the SLO", share * 100.0);
    let limited = step.limited.iter().map(limited);
    let limited: Vec<String> = limited.chain(step.good.map(good)).collect();
    let rate = show::rate(step.rate);
    let broken = step.broken.join(", ");
    match (step.kept, step.unclear) {
        (true, _) => format!("{rate}: kept, {}", limited.join(", ")),
        (false, None) => format!("{rate}: not kept: {broken}"),
        (false, Some(why)) => {
            format!(
                "{rate}: not kept, and not counted: {broken}, but {}",
                why.phrase()
            )
        }
    }
}

/// One line for progress beyond the capacity.
#[must_use]
pub fn overload_line(seen: &Overload) -> String {
    format!(
        "{} ({:.0}%): {} within the limit, {} in all, {}",
        show::rate(seen.rate),
        seen.of_capacity * 100.0,
        show::rate(seen.goodput),
        show::rate(seen.throughput),
        match seen.recovery_seconds {
            Some(_) => format!("recovers in {}", recovery(seen)),
            None => format!(
                "does not recover within {}",
                seconds(seen.recovery_watched_seconds)
            ),
        }
    )
}

/// Between which rates a capacity lies: `between 9.00k and 14.0k req/s`; none where nothing is known.
#[must_use]
pub fn range(known: &CapacityBounds) -> Option<String> {
    Some(match (known.low, known.high) {
        (Some(low), Some(high)) => format!("between {} and {}", show::per(low), show::rate(high)),
        (Some(low), None) => format!("at least {}", show::rate(low)),
        (None, Some(high)) => format!("below {}", show::rate(high)),
        (None, None) => return None,
    })
}

/// A capacity with its interval: `96.0k req/s (95% CI 93.1k to 98.5k; 5 starts)`.
#[must_use]
pub fn estimate(known: &CapacityBounds) -> Option<String> {
    let (estimate, (low, high)) = known.estimate.zip(known.low.zip(known.high))?;
    Some(format!(
        "{} (95% CI {} to {}; {} starts)",
        show::rate(estimate),
        show::per(low),
        show::per(high),
        known.starts
    ))
}

/// The result in a sentence: what `server` keeps within limits, in words.
#[must_use]
pub fn sentence(server: &str, limits: &str, known: &CapacityBounds) -> String {
    let because = known.because.join("; ");
    if let Some(estimate) = estimate(known) {
        return match because.as_str() {
            "" => format!("{server} keeps {limits} up to {estimate}."),
            because => format!("{server} keeps {limits} up to {estimate}: {because}."),
        };
    }
    match (known.low, range(known)) {
        (None, Some(below)) if because.is_empty() => {
            format!("{server} keeps {limits} at no rate that was tried: its capacity is {below}.")
        }
        (_, Some(range)) => {
            let up_to = match known.high {
                Some(_) => format!("a rate {range}"),
                None => range,
            };
            format!(
                "{server} keeps {limits} up to {up_to}, not better known here, because {because}."
            )
        }
        (_, None) if because.is_empty() => "No rate was tried.".into(),
        (_, None) => format!(
            "Up to which rate {server} keeps {limits} is not known here, because {because}."
        ),
    }
}

/// Sentence on the part of the capacity that the server keeps after an overload.
#[must_use]
pub fn after_overload(seen: &AfterOverload) -> String {
    let share = |share: f64| format!("{:.0}%", share * 100.0);
    let (overload, before) = (share(seen.of_capacity), share(seen.before));
    match seen.after {
        Some(after) if after >= seen.before => {
            format!("After an overload of {overload} it keeps {before} again.")
        }
        after => format!(
            "After an overload of {overload} it keeps {} without a restart, where it kept {before} before: it is \
             metastable.",
            after.map_or("none of these".to_owned(), |after| format!(
                "only {}",
                share(after)
            ))
        ),
    }
}

/// A command line longer than this makes a sentence unreadable.
const LONG: usize = 40;

fn name(report: &CapacityReport) -> &str {
    match report.server.chars().count() > LONG {
        true => "the server",
        false => &report.server,
    }
}

/// Result of the search, in a sentence.
#[must_use]
pub fn result(report: &CapacityReport) -> String {
    match report.interrupted && report.capacity.is_none() {
        true => "interrupted before the capacity was found".to_owned(),
        false => {
            sentence(name(report), &limits(&report.limits), &report.known) + &impossible(report)
        }
    }
}

/// Why no rate is kept, where one request alone takes longer than a limit allows: ` One request alone takes 50.1 ms.`
fn impossible(report: &CapacityReport) -> String {
    let alone = report.pilot.as_ref().map_or(0, |pilot| pilot.alone_ns);
    let whole = report
        .limits
        .latency
        .iter()
        .filter(|limit| limit.of.is_response());
    let shortest = whole.map(|limit| limit.within_ms);
    let longer = alone as f64 / 1e6 > shortest.fold(f64::INFINITY, f64::min);
    match report.known.low.is_none() && longer {
        true => format!(" One request alone takes {}.", show::time(alone as f64)),
        false => String::new(),
    }
}

/// The report as text for a terminal of `width` columns.
#[must_use]
pub fn text(report: &CapacityReport, width: usize) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", result(report));
    if let Some(top) = report.known.estimate.or(report.known.low) {
        if !report.curve.is_empty() {
            let _ = write!(out, "\n{}", curve(report, top).fit(width));
            if let Some(table) = services(report) {
                let _ = write!(out, "\n{}", table.fit(width));
            }
            let all = report.curve.iter().flat_map(|step| &step.services);
            for what in described(all) {
                let _ = writeln!(out, "{what}");
            }
        }
        if let Some(seen) = &report.after_overload {
            let _ = writeln!(out, "\n{}", after_overload(seen));
        }
        if !report.beyond.is_empty() {
            let _ = write!(out, "\nBeyond it:\n\n{}", beyond(&report.beyond).fit(width));
        }
    }
    out.push_str(&show::findings(&report.checks));
    out
}

/// The first column of tables by rate.
fn of(report: &CapacityReport, top: f64) -> String {
    match report.capacity {
        Some(_) => "of capacity".to_owned(),
        None => format!("of {}", show::rate(top)),
    }
}

/// Costs of the server's services at parts of a rate; None without services.
#[must_use]
pub fn services(report: &CapacityReport) -> Option<TextTable> {
    let top = report.known.estimate.or(report.known.low)?;
    let share = |step: &RateStep| format!("{:.0}%", 100.0 * step.rate / top);
    let shares: Vec<String> = report.curve.iter().map(share).collect();
    let rows = shares.iter().zip(&report.curve);
    let rows = rows.flat_map(|(share, step)| step.services.iter().map(|it| (share.as_str(), it)));
    crate::services::table(&of(report, top), rows)
}

/// Latency at parts of a rate.
fn curve(report: &CapacityReport, top: f64) -> TextTable {
    let mut table = TextTable::new([
        (of(report, top).as_str(), Align::Right),
        ("requests/s", Align::Right),
        ("p50", Align::Right),
        ("p90", Align::Right),
        ("p99", Align::Right),
        ("p99.9", Align::Right),
        ("max", Align::Right),
        ("errors", Align::Right),
        ("CPU/req", Align::Right),
    ]);
    for step in &report.curve {
        table.row([
            format!("{:.0}%", 100.0 * step.rate / top),
            show::per(step.rate),
            show::time_or_dash(step.latency.p50),
            show::time_or_dash(step.latency.p90),
            show::time_or_dash(step.latency.p99),
            show::time_or_dash(step.latency.p99_9),
            show::time_or_dash(step.latency.max),
            format!("{:.2}%", step.errors * 100.0),
            step.cpu_us_per_request
                .map_or("–".into(), |us| show::time(us * 1e3)),
        ]);
    }
    table
}

/// Table of the results beyond the capacity.
fn beyond(all: &[Overload]) -> TextTable {
    let mut table = TextTable::new([
        ("of capacity", Align::Right),
        ("requests/s", Align::Right),
        ("goodput", Align::Right),
        ("answered", Align::Right),
        ("rejected", Align::Right),
        ("time-outs", Align::Right),
        ("errors", Align::Right),
        ("p50", Align::Right),
        ("p99", Align::Right),
        ("recovers in", Align::Right),
    ]);
    let share = |share: f64| format!("{:.2}%", share * 100.0);
    for seen in all {
        table.row([
            format!("{:.0}%", 100.0 * seen.of_capacity),
            show::per(seen.rate),
            show::per(seen.goodput),
            show::per(seen.throughput),
            share(seen.rejected),
            share(seen.timeouts),
            share(seen.errors),
            show::time_or_dash(seen.latency.p50),
            show::time_or_dash(seen.latency.p99),
            recovery(seen),
        ]);
    }
    table
}

/// How long it took to recover: `≤ 100 ms`, because it is the end of a window; or `> 4.00 s`.
fn recovery(seen: &Overload) -> String {
    match seen.recovery_seconds {
        Some(time) => format!("≤ {}", seconds(time)),
        None => format!("> {}", seconds(seen.recovery_watched_seconds)),
    }
}

fn seconds(time: f64) -> String {
    show::time(time * 1e9)
}

#[cfg(test)]
mod tests;
