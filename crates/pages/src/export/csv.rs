//! One row per trial, as RFC 4180 has it.

use crate::material::{Material, StoredTrial};
use prony_record::{Distributions, Measurement};

const COLUMNS: [&str; 38] = [
    "run",
    "ordinal",
    "round",
    "server",
    "workers",
    "load",
    "connections",
    "threads",
    "rate",
    "status",
    "failed_step",
    "started",
    "measured_seconds",
    "verified_answers",
    "answers_per_second",
    "p50_ns",
    "p99_ns",
    "max_ns",
    "cpu_ns_per_request",
    "rss_peak_bytes",
    "generator_busy",
    "wrong_answers",
    "timeouts",
    "socket_errors",
    "warmup_ns",
    "warmed_up",
    "checks",
    "server_version",
    "p50_low_ns",
    "p50_high_ns",
    "p99_low_ns",
    "p99_high_ns",
    "unsolicited",
    "events_per_second",
    "first_event_p50_ns",
    "first_event_p99_ns",
    "gap_p50_ns",
    "gap_p99_ns",
];

/// The run as CSV. Rounds count from 1; what is not known is empty. `p50_low_ns` and the like are the
/// ends of the 95% intervals within the trial.
pub fn csv(material: &Material) -> String {
    let mut out = line(COLUMNS.map(str::to_owned));
    for part in &material.trials {
        out += &line(row(material, part));
    }
    out
}

fn row(material: &Material, part: &StoredTrial) -> [String; COLUMNS.len()] {
    let (trial, figures) = (part.trial(), &part.trial().figures);
    let failed = part.measured().map_or(0, |seen| seen.outcomes.untimed());
    let response = Distributions::try_from(&part.recording.histograms)
        .map(|times| times.percentiles(failed).response)
        .unwrap_or_default();
    let measured =
        |pick: &dyn Fn(&Measurement) -> String| part.measured().map(pick).unwrap_or_default();
    let streams = part.measured().and_then(|seen| seen.streams);
    let low = |interval: Option<(u64, u64)>| of(interval.map(|(low, _)| low));
    let high = |interval: Option<(u64, u64)>| of(interval.map(|(_, high)| high));
    [
        material.run.id.to_string(),
        trial.ordinal.to_string(),
        (trial.round + 1).to_string(),
        trial.server.clone(),
        trial.workers.unwrap_or(1).to_string(),
        trial.cell.clone(),
        trial.load.connections.to_string(),
        trial.load.threads.to_string(),
        of(trial.load.rate),
        trial.status.to_string(),
        trial
            .failure
            .as_ref()
            .map(|failure| failure.step.to_string())
            .unwrap_or_default(),
        trial.started.to_string(),
        of(figures.measured_seconds),
        of(figures.verified_answers),
        of(figures.throughput),
        of(figures.p50_ns),
        of(figures.p99_ns),
        of(figures.max_ns),
        of(figures.cpu_ns_per_request),
        of(figures.rss_peak_bytes),
        measured(&|seen| seen.generator.busy.to_string()),
        measured(&|seen| seen.outcomes.wrong_answer.to_string()),
        measured(&|seen| seen.outcomes.timeout.to_string()),
        measured(&|seen| seen.outcomes.socket_errors().to_string()),
        measured(&|seen| seen.durations.warmup_ns.to_string()),
        measured(&|seen| seen.warmed_up.to_string()),
        measured(&|seen| {
            let names = seen.checks.iter().map(|check| check.name.word());
            names.collect::<Vec<_>>().join(" ")
        }),
        trial.server_version.clone().unwrap_or_default(),
        low(response.intervals.p50),
        high(response.intervals.p50),
        low(response.intervals.p99),
        high(response.intervals.p99),
        measured(&|seen| seen.outcomes.unsolicited.to_string()),
        of(streams.map(|it| it.events_per_second)),
        of(streams.and_then(|it| it.first_event.p50_ns)),
        of(streams.and_then(|it| it.first_event.p99_ns)),
        of(streams.and_then(|it| it.gap.p50_ns)),
        of(streams.and_then(|it| it.gap.p99_ns)),
    ]
}

/// Returns a value as text; empty where it is not known.
fn of<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn line<const N: usize>(fields: [String; N]) -> String {
    let quoted = fields.map(|field| quoted(&field));
    quoted.join(",") + "\r\n"
}

/// A field that a reader takes for one field. A spreadsheet would run what begins like a formula; a
/// quote before it keeps it from that, and numbers are left alone.
fn quoted(field: &str) -> String {
    let formula =
        field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    let field = if formula {
        format!("'{field}")
    } else {
        field.to_owned()
    };
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn fields_stay_fields() {
        assert_eq!(quoted("a"), "a");
        assert_eq!(quoted("a,b"), "\"a,b\"");
        assert_eq!(quoted("say \"x\"\n"), "\"say \"\"x\"\"\n\"");
        assert_eq!(quoted("=1+1"), "'=1+1");
        assert_eq!(quoted("-1.5"), "-1.5");
    }
}
