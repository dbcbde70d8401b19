//! Invariants of every observation, whatever the server does.

use crate::support::{Ended, short};
use prony_engine::{Arrival, Dialogue, Plan, clock};
use prony_record::{Distributions, Observation, Outcomes, Times, Window};

/// Every request that was due in the measurement is accounted for exactly once.
pub fn accounted(of: &Outcomes) -> u64 {
    of.finished() + of.in_flight_at_end + of.unsent_at_end
}

/// Connections that took too long to be made.
fn connects_given_up(seen: &Observation) -> u64 {
    let given_up = |text: &&String| {
        text.starts_with("connecting: Connection timed out")
            || text.ends_with("did not complete the handshake")
            || text.ends_with("did not make the tunnel")
    };
    let errors = seen.errors.iter();
    errors
        .filter(|(text, _)| given_up(text))
        .map(|(_, n)| n)
        .sum()
}

/// Checks the invariants that hold whenever and however long a load was measured.
pub fn hold(plan: &Plan, seen: &Ended) {
    let what = short(plan);
    let answers = seen.outcomes.ok + seen.outcomes.wrong_answer;
    let by_status: u64 = (0..6).map(|digit| seen.outcomes.status.class(digit)).sum();
    assert_eq!(by_status, answers, "{what}");
    assert!(
        seen.outcomes.unanswered_at_end <= seen.outcomes.in_flight_at_end,
        "{what}: {:?}",
        seen.outcomes
    );
    assert_eq!(
        seen.per_connection.len(),
        plan.load.connections as usize,
        "{what}"
    );
    assert_eq!(seen.per_connection.iter().sum::<u64>(), answers, "{what}");
    let (from, until) = (seen.detail.from, seen.detail.until);
    assert!(from <= until, "{what}");
    assert_eq!(seen.measured_ns, until - from, "{what}");
    // A connect that took too long is a sample of its full length.
    assert_eq!(
        seen.times.connect.len(),
        seen.connected + connects_given_up(seen),
        "{what}"
    );
    assert_eq!(seen.generator.threads, plan.load.threads);
    assert_eq!(
        seen.wrong_answers.is_empty(),
        seen.outcomes.wrong_answer == 0,
        "{what}"
    );
    assert!(seen.wrong_answers.len() <= 3, "{what}");
    times(&what, seen);
    windows(&what, seen);
    let quiet_loop = plan.arrival() == Arrival::Closed && plan.load.keepalive;
    // What had to connect again, or was refused, was due before it was sent; set-up may have ended without it.
    let once = seen.connected == u64::from(plan.load.connections)
        && !seen
            .errors
            .keys()
            .any(|text| text.starts_with("connecting:"));
    if quiet_loop && once && seen.sent_again == 0 {
        assert_eq!(seen.times.send_delay.max(), 0, "{what}: due is sent");
    }
    if plan.arrival() == Arrival::Closed {
        assert_eq!(seen.times.late.len(), 0, "{what}");
    }
    if seen.outcomes.timeout > 0 {
        let length = clock::nanos(plan.load.timeout.0);
        let long = seen.times.service.count_between(length, u64::MAX);
        assert!(
            long >= seen.outcomes.timeout,
            "{what}: {long} at full length"
        );
    }
}

/// Checks the invariants of a load that was measured from its beginning until `requests` were done.
pub fn conserved(plan: &Plan, seen: &Ended) {
    hold(plan, seen);
    let (what, all) = (short(plan), &seen.outcomes);
    let n = plan.requests().expect("a number of requests");
    assert_eq!(all.finished(), n, "{what}: {all:?} {:?}", seen.errors);
    assert_eq!(accounted(all), n, "{what}: {all:?}");
    let timed = all.ok + all.timeout;
    assert_eq!(
        [
            seen.times.response.len(),
            seen.times.service.len(),
            seen.times.send_delay.len()
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
        // What is sent is encrypted, and so are handshakes.
        _ if plan.tls.is_some() => None,
        Dialogue::Echo(message) => Some(message.len() as u64),
        Dialogue::Http { .. }
        | Dialogue::H2(_)
        | Dialogue::H3(_)
        | Dialogue::Grpc(_)
        | Dialogue::Ws(_)
        | Dialogue::Mix(_)
        | Dialogue::Own => None,
    };
    if let Some(each) = each {
        assert!(sent.contains(&(seen.bytes_sent / each)), "{what}");
        assert_eq!(seen.bytes_sent % each, 0, "{what}");
    }
    if plan.arrival() != Arrival::Closed {
        assert!(sent.contains(&seen.times.late.len()), "{what}");
    }
    assert_eq!(in_windows(seen), n, "{what}: every outcome is in a window");
    if !plan.load.keepalive {
        assert!(
            seen.connected <= most,
            "{what}: {} for {most}",
            seen.connected
        );
    }
}

/// The same, and the server has made no mistake.
pub fn flawless(plan: &Plan, seen: &Ended) {
    conserved(plan, seen);
    let what = short(plan);
    let all = &seen.outcomes;
    assert!(seen.errors.is_empty(), "{what}: {all:?} {:?}", seen.errors);
    assert_eq!(
        all.ok,
        plan.requests().unwrap(),
        "{what}: {all:?} {:?}",
        seen.wrong_answers
    );
    if plan.load.keepalive {
        assert_eq!(seen.connected, u64::from(plan.load.connections), "{what}");
    } else {
        assert_eq!(seen.connected, all.ok, "{what}");
    }
}

/// Response = service + send delay, and so never below service.
fn times(what: &str, seen: &Observation) {
    let Distributions {
        response,
        service,
        send_delay,
        ..
    } = &seen.times;
    assert_eq!(send_delay.len(), response.len(), "{what}");
    assert!(service.len() <= response.len(), "{what}");
    if service.len() != response.len() || response.is_empty() {
        return;
    }
    for quantile in [0.0, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0] {
        let at = |times: &Times| times.value_at_quantile(quantile);
        assert!(at(response) >= at(service), "{what} at {quantile}");
        assert!(at(response) >= at(send_delay), "{what} at {quantile}");
    }
    let (whole, parts) = (response.mean(), service.mean() + send_delay.mean());
    // Each value is kept within 0.1%.
    assert!(
        (whole - parts).abs() <= 2.0 + 0.002 * whole,
        "{what}: {whole} {parts}"
    );
}

fn windows(what: &str, seen: &Observation) {
    for (index, window) in seen.windows.iter().enumerate() {
        assert_eq!(window.index as usize, index, "{what}");
        assert!(window.length_ns > 0, "{what}");
    }
    for pair in seen.windows.windows(2) {
        assert_eq!(pair[1].start_ns, pair[0].end_ns(), "{what}");
    }
    for window in seen.measured_windows() {
        let end = seen.began_ns + seen.measured_ns;
        assert!(
            seen.began_ns <= window.start_ns && window.end_ns() <= end,
            "{what}"
        );
    }
    for window in &seen.windows {
        let answered = window.verified_answers > 0;
        let known = (window.p50_ns.is_some(), window.p99_ns.is_some());
        assert_eq!(known, (answered, answered), "{what}");
        assert!(window.p50_ns <= window.p99_ns, "{what}");
    }
    assert!(in_windows(seen) >= seen.outcomes.finished(), "{what}");
}

/// Requests that ended in any of the windows.
fn in_windows(seen: &Observation) -> u64 {
    let finished = |window: &Window| window.verified_answers + window.failed();
    seen.windows.iter().map(finished).sum()
}
