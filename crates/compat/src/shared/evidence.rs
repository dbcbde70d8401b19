//! What the checks have to say of a load.

use prony_checks::{Evidence, Severity, examine};
use prony_engine::clock::SECOND;
use prony_engine::{Observation, Plan, Window};
use std::io::Write;

/// Errors shown in words.
const ERROR_TEXTS: usize = 3;

/// What is known of a load from its plan and what was seen of it, and nothing of its server.
pub fn evidence(plan: &Plan, seen: &Observation) -> Evidence {
    let outcomes = &seen.outcomes;
    let seconds = |nanos: u64| nanos as f64 / SECOND as f64;
    let mut errors: Vec<_> = seen.errors.iter().collect();
    errors.sort_by_key(|&(_, n)| std::cmp::Reverse(*n));
    Evidence {
        closed_loop: plan.arrival.rate().is_none(),
        rate: plan.arrival.rate(),
        connections: plan.connections,
        pipeline: plan.pipeline,
        keepalive: plan.keepalive,
        seconds: seconds(seen.measured()),
        ok: outcomes.ok,
        wrong: outcomes.wrong_answer,
        wrong_examples: seen.wrong.clone(),
        timeouts: outcomes.timeout,
        socket_errors: outcomes.connect_error + outcomes.read_error + outcomes.write_error,
        error_texts: errors
            .into_iter()
            .take(ERROR_TEXTS)
            .map(|(text, n)| format!("{text} ×{n}"))
            .collect(),
        mean_response: seen.response.mean() / SECOND as f64,
        max_response: seconds(seen.response.max()),
        samples: seen.response.len(),
        late_p99: (!seen.late.is_empty()).then(|| seconds(seen.late.value_at_quantile(0.99))),
        median_response: (!seen.response.is_empty())
            .then(|| seconds(seen.response.value_at_quantile(0.5))),
        generator_busy: seen.generator.busiest,
        generator_waiting: seen.generator.kept_waiting,
        connect_max: (!seen.connect.is_empty()).then(|| seconds(seen.connect.max())),
        per_connection: seen.per_connection.clone(),
        window_rates: seen.measured_windows().map(Window::rate).collect(),
        ..Evidence::default()
    }
}

/// Says what the checks find, one line each.
pub(crate) fn remark(evidence: &Evidence, err: &mut dyn Write) {
    if evidence.wrong > 0 {
        let _ = writeln!(
            err,
            "prony: note: rates above count {} wrong answers too, as the original does",
            evidence.wrong
        );
    }
    for finding in examine(evidence) {
        let mark = match finding.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Serious => "serious",
        };
        let _ = writeln!(err, "prony: {mark}: {}: {}", finding.name, finding.text);
    }
}
