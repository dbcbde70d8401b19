//! One row per trial, as RFC 4180 has it.

use crate::material::{Material, Part};
use prony_report::facts::Facts;

const COLUMNS: [&str; 28] = [
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
];

/// The run as CSV. Rounds count from 1; what is not known is empty.
pub fn csv(material: &Material) -> String {
    let mut out = line(COLUMNS.map(str::to_owned));
    for part in &material.trials {
        out += &line(row(material, part));
    }
    out
}

fn row(material: &Material, part: &Part) -> [String; 28] {
    let facts = &part.facts;
    let kept = serde_json::from_value::<Facts>(facts.observation.clone()).ok();
    let known = |pick: &dyn Fn(&Facts) -> String| kept.as_ref().map(pick).unwrap_or_default();
    let load = |key: &str| match &facts.load[key] {
        serde_json::Value::Null => String::new(),
        value => value.to_string(),
    };
    fn of<T: ToString>(value: Option<T>) -> String {
        value.map(|value| value.to_string()).unwrap_or_default()
    }
    [
        material.run.id.to_string(),
        facts.ordinal.to_string(),
        (facts.round + 1).to_string(),
        facts.server.clone(),
        facts.workers.unwrap_or(1).to_string(),
        facts.cell.clone(),
        load("connections"),
        load("threads"),
        load("rate"),
        facts.status.to_string(),
        facts.failed_step.clone().unwrap_or_default(),
        facts.started.to_string(),
        of(facts.measured_seconds),
        of(facts.verified_answers),
        of(facts.throughput),
        of(facts.p50_ns),
        of(facts.p99_ns),
        of(facts.max_ns),
        of(facts.cpu_ns_per_request),
        of(facts.rss_peak_bytes),
        known(&|kept| kept.generator.busy.to_string()),
        known(&|kept| kept.outcomes.wrong_answer.to_string()),
        known(&|kept| kept.outcomes.timeout.to_string()),
        known(&|kept| {
            let outcomes = &kept.outcomes;
            (outcomes.connect_error + outcomes.read_error + outcomes.write_error).to_string()
        }),
        known(&|kept| kept.durations.warmup_ns.to_string()),
        known(&|kept| kept.warmed_up.to_string()),
        known(&|kept| {
            let names = kept.checks.iter().map(|check| check.name.as_str());
            names.collect::<Vec<_>>().join(" ")
        }),
        facts.server_version.clone().unwrap_or_default(),
    ]
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
