//! What must hold of every observation, whatever the server does.

use crate::support::short;
use prony_engine::{Arrival, Dialogue, Observation, Outcomes, Plan, Times, clock};

/// Every request that was due in the measurement is accounted for exactly once.
pub fn accounted(of: &Outcomes) -> u64 {
    of.finished() + of.in_flight_at_end + of.unsent_at_end
}

/// Connections that took too long to be made.
fn connects_given_up(seen: &Observation) -> u64 {
    let given_up = |text: &&String| text.starts_with("connecting: Connection timed out");
    let errors = seen.errors.iter();
    errors
        .filter(|(text, _)| given_up(text))
        .map(|(_, n)| n)
        .sum()
}

/// What holds whenever and however long a load was measured.
pub fn hold(plan: &Plan, seen: &Observation) {
    let what = short(plan);
    let answers = seen.outcomes.ok + seen.outcomes.wrong_answer;
    assert_eq!(seen.outcomes.status.iter().sum::<u64>(), answers, "{what}");
    assert_eq!(
        seen.per_connection.len(),
        plan.connections as usize,
        "{what}"
    );
    assert_eq!(seen.per_connection.iter().sum::<u64>(), answers, "{what}");
    assert!(seen.from <= seen.until, "{what}");
    // A connect that took too long is a sample of its full length.
    assert_eq!(
        seen.connect.len(),
        seen.connected + connects_given_up(seen),
        "{what}"
    );
    assert_eq!(seen.generator.threads, plan.threads);
    assert_eq!(
        seen.wrong.is_empty(),
        seen.outcomes.wrong_answer == 0,
        "{what}"
    );
    assert!(seen.wrong.len() <= 3, "{what}");
    times(&what, seen);
    windows(&what, seen);
    let quiet_loop = plan.arrival == Arrival::Closed && plan.keepalive;
    if quiet_loop && seen.connected == u64::from(plan.connections) {
        assert_eq!(seen.send_delay.max(), 0, "{what}: due is sent");
    }
    if plan.arrival == Arrival::Closed {
        assert_eq!(seen.late.len(), 0, "{what}");
    }
    if seen.outcomes.timeout > 0 {
        let length = clock::nanos(plan.timeout);
        let long = seen.service.count_between(length, u64::MAX);
        assert!(
            long >= seen.outcomes.timeout,
            "{what}: {long} at full length"
        );
    }
}

/// What holds of a load that was measured from its beginning until `requests` were done.
pub fn conserved(plan: &Plan, seen: &Observation) {
    hold(plan, seen);
    let (what, all) = (short(plan), &seen.outcomes);
    let n = plan.requests.expect("a number of requests");
    assert_eq!(all.finished(), n, "{what}: {all:?} {:?}", seen.errors);
    assert_eq!(accounted(all), n, "{what}: {all:?}");
    let timed = all.ok + all.wrong_answer + all.timeout;
    assert_eq!(
        [
            seen.response.len(),
            seen.service.len(),
            seen.send_delay.len()
        ],
        [timed; 3],
        "{what}: {all:?}"
    );
    // Requests whose connection took too long are among the time-outs, and were never sent: an
    // unknown number of them.
    let most = n - all.connect_error;
    let least = if connects_given_up(seen) == 0 {
        most
    } else {
        most - all.timeout
    };
    let sent = least..=most;
    let each = match &plan.dialogue {
        Dialogue::Echo(message) => Some(message.len() as u64),
        Dialogue::Http { .. } | Dialogue::Own => None,
    };
    if let Some(each) = each {
        assert!(sent.contains(&(seen.bytes_sent / each)), "{what}");
        assert_eq!(seen.bytes_sent % each, 0, "{what}");
    }
    if plan.arrival != Arrival::Closed {
        assert!(sent.contains(&seen.late.len()), "{what}");
    }
    let in_windows: u64 = seen.windows.iter().map(|w| w.outcomes.finished()).sum();
    assert_eq!(in_windows, n, "{what}: every outcome is in a window");
    if !plan.keepalive {
        assert!(
            seen.connected <= most,
            "{what}: {} for {most}",
            seen.connected
        );
    }
}

/// The same, and the server has made no mistake.
pub fn flawless(plan: &Plan, seen: &Observation) {
    conserved(plan, seen);
    let what = short(plan);
    let all = &seen.outcomes;
    assert!(seen.errors.is_empty(), "{what}: {all:?} {:?}", seen.errors);
    assert_eq!(
        all.ok,
        plan.requests.unwrap(),
        "{what}: {all:?} {:?}",
        seen.wrong
    );
    if plan.keepalive {
        assert_eq!(seen.connected, u64::from(plan.connections), "{what}");
    } else {
        assert_eq!(seen.connected, all.ok, "{what}");
    }
}

/// Response = service + send delay, and so never below service.
fn times(what: &str, seen: &Observation) {
    assert_eq!(seen.send_delay.len(), seen.response.len(), "{what}");
    assert!(seen.service.len() <= seen.response.len(), "{what}");
    if seen.service.len() != seen.response.len() || seen.response.is_empty() {
        return;
    }
    for quantile in [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
        let at = |times: &Times| times.value_at_quantile(quantile);
        assert!(
            at(&seen.response) >= at(&seen.service),
            "{what} at {quantile}"
        );
        assert!(
            at(&seen.response) >= at(&seen.send_delay),
            "{what} at {quantile}"
        );
    }
    let (whole, parts) = (
        seen.response.mean(),
        seen.service.mean() + seen.send_delay.mean(),
    );
    // Each value is kept within 0.1 %.
    assert!(
        (whole - parts).abs() <= 2.0 + 0.002 * whole,
        "{what}: {whole} {parts}"
    );
}

fn windows(what: &str, seen: &Observation) {
    for (index, window) in seen.windows.iter().enumerate() {
        assert_eq!(window.index as usize, index, "{what}");
        assert!(window.length > 0, "{what}");
    }
    for pair in seen.windows.windows(2) {
        assert_eq!(pair[1].start, pair[0].start + pair[0].length, "{what}");
    }
    for window in seen.measured_windows() {
        let end = window.start + window.length;
        assert!(seen.from <= window.start && end <= seen.until, "{what}");
    }
    let answered = |of: &Outcomes| of.ok + of.wrong_answer;
    for window in &seen.windows {
        assert_eq!(window.response.len(), answered(&window.outcomes), "{what}");
    }
    let total: u64 = seen.windows.iter().map(|w| w.outcomes.finished()).sum();
    assert!(total >= seen.outcomes.finished(), "{what}");
}
