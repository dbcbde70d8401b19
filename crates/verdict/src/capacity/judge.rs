//! Judgement of one trial at a rate: the limits were kept, the server broke them, or the cause is not clear.

use prony_record::service::{Limited, Limits, RateOutcome, Unclear};
use prony_record::times::percentile;
use prony_record::{CheckId, Finding, Outcomes, Resources, SECOND, Severity, Timed, Times};
use prony_stats::threshold::MOST;
use std::borrow::Cow;

/// Checks that break a rate, besides its limits: the generator's own lateness is in the response times,
/// so the limits count it already.
const BREAKING: [CheckId; 4] = [
    CheckId::RateMissed,
    CheckId::ConnectionsLimit,
    CheckId::WrongAnswers,
    CheckId::Unsolicited,
];
/// Response times beyond a limit that are certainly too many, for a percentile of which no more than [`BEYOND`] are
/// expected there.
const SURELY: f64 = 10.0;
/// A percentile is judged when so many response times are expected beyond it. A trial says little then, but many are made.
pub const BEYOND: f64 = 3.0;
/// The server gets half of the CPUs (of an odd number less), and whatever other processes used may all
/// have been on those.
const SERVER_CPUS: f64 = 2.0;
/// A rate is out of reach when it is this many times what the server would have answered with the CPU
/// time that other processes used: caches and wake-ups cost more than that time alone.
const MARGIN: f64 = 1.25;
/// A rate is out of reach too when every thread of the server would have to answer this many times as
/// many requests as the CPU time of one lets it: on a sibling of a busy core a request takes up to twice
/// the CPU time.
const THREADS_MARGIN: f64 = 2.0;
/// Largest share of the time that the server could have had which is taken for lost. If only a few percent were left,
/// nothing could be computed from them.
const MOST_LOST: f64 = 0.9;

/// How it begins to be said that a rate gives too few answers for a limit.
const TOO_FEW: &str = "too few answers";

/// Measurements of a trial at a rate.
#[derive(Clone, Copy)]
pub struct RateMeasurements<'a> {
    /// Requests per second that were due.
    pub rate: f64,
    /// How long it was measured, in seconds.
    pub seconds: f64,
    /// Times of answers, in nanoseconds.
    pub times: &'a dyn Fn(Timed) -> Cow<'a, Times>,
    /// How late the generator itself was, in nanoseconds.
    pub late: &'a Times,
    /// Right answers that kept the load's objective; None where it has none.
    pub good: Option<u64>,
    /// Outcomes of the requests.
    pub outcomes: &'a Outcomes,
    /// Resources that the server and the machine used.
    pub resources: &'a Resources,
    /// Findings of the checks.
    pub checks: &'a [Finding],
}

/// Judgement of a trial's measurements against the limits.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The limited percentiles, in the order of the limits.
    pub limited: Vec<Limited>,
    /// The share of requests that were answered within the SLO, 0 to 1; None where there is none.
    pub good: Option<f64>,
    /// The share of requests that failed, 0 to 1.
    pub errors: f64,
    /// How many responses were late or failed, as a multiple of what the limits allow: of the limit of which that is the most. At
    /// least [`MOST`] where something else was broken.
    pub excess: f64,
    /// Limits and checks that were not kept, in words; empty when all were.
    pub broken: Vec<String>,
    /// Why that may not have been the server's doing.
    pub unclear: Option<Unclear>,
}

impl Judged {
    /// Conclusion about the server.
    #[must_use]
    pub fn outcome(&self) -> RateOutcome {
        match (self.broken.is_empty(), self.unclear) {
            (true, _) => RateOutcome::Kept,
            (false, None) => RateOutcome::Broken,
            (false, Some(why)) => RateOutcome::Unclear(why),
        }
    }
}

/// Holds a trial against the limits. What was kept was kept, however noisy the host was; what was broken
/// counts against the server only when neither the host nor the generator can have broken it.
#[must_use]
pub fn judge(limits: &Limits, shown: &RateMeasurements<'_>) -> Judged {
    let errors = shown.outcomes.share_failed();
    let mut broken = Vec::new();
    let mut limited = Vec::new();
    // Every limit that was broken was exceeded by less than the generator was late.
    let mut by_lateness = true;
    let mut few = false;
    let mut excess: f64 = 0.0;
    for limit in &limits.latency {
        let share = limit.percentile / 100.0;
        // What failed took longer than any limit: a server does not keep one by failing.
        let failed = shown.outcomes.untimed();
        let times = &*(shown.times)(limit.of);
        // Gaps are those of streams that came.
        let failed = match limit.of {
            Timed::Gap => 0,
            Timed::Response | Timed::FirstByte | Timed::FirstEvent => failed,
        };
        let n = (times.len() + failed) as f64;
        let ms = percentile(times, failed, share);
        let ms = ms.map(|ns| ns as f64 / 1e6);
        let within = (limit.within_ms * 1e6) as u64;
        let beyond = n - times.count_between(0, within) as f64;
        let longer = (judged(n, share) || beyond >= SURELY).then(|| beyond / n);
        excess = excess.max(beyond / n.max(1.0) / (1.0 - share));
        limited.push(Limited {
            percentile: limit.percentile,
            of: limit.of,
            ms,
            longer,
        });
        match longer {
            Some(longer) if longer <= 1.0 - share => {}
            Some(longer) => {
                broken.push(match ms {
                    Some(ms) if ms < 10.0 => format!("{} was {ms:.2} ms", limit.name()),
                    Some(ms) => format!("{} was {ms:.1} ms", limit.name()),
                    None => format!(
                        "{:.1}% took longer than {} ms",
                        longer * 100.0,
                        limit.within_ms
                    ),
                });
                let without = at(times, share) - at(shown.late, share);
                by_lateness &= failed == 0 && without <= limit.within_ms;
            }
            None => {
                broken.push(format!("{TOO_FEW} for {}", limit.name()));
                by_lateness = false;
                few |= !judged(shown.rate * shown.seconds, share);
            }
        }
    }
    let n = shown.outcomes.finished() as f64;
    let good = shown.good.map(|good| good as f64 / n.max(1.0));
    if let (Some(share), Some(kept)) = (limits.good, good) {
        let beyond = n * (1.0 - kept);
        excess = excess.max((1.0 - kept) / (1.0 - share).max(f64::MIN_POSITIVE));
        if judged(n, share) || beyond >= SURELY {
            if kept < share {
                broken.push(format!("{:.1}% within the SLO", kept * 100.0));
                by_lateness = false;
            }
        } else {
            broken.push(format!("{TOO_FEW} for the SLO"));
            by_lateness = false;
            few |= !judged(shown.rate * shown.seconds, share);
        }
    }
    // Nothing is broken but what a rate as low as this cannot show.
    let unknown = broken.iter().filter(|it| it.starts_with(TOO_FEW)).count();
    let mut only_few = few && broken.len() == unknown;
    if errors > 0.0 {
        // Where none is allowed, one is as bad as it gets.
        excess = excess.max((errors / limits.errors).min(MOST));
    }
    if errors > limits.errors {
        broken.push(format!("{:.2}% errors", errors * 100.0));
        (by_lateness, only_few) = (false, false);
    }
    for check in BREAKING {
        if raised(shown.checks, check).is_some() {
            broken.push(check.to_string());
            excess = excess.max(MOST);
            (by_lateness, only_few) = (false, false);
        }
    }
    let unclear = match broken.is_empty() {
        true => None,
        false if only_few => Some(Unclear::TooFewAnswers),
        false => doubt(shown, by_lateness),
    };
    Judged {
        limited,
        good,
        errors,
        excess,
        broken,
        unclear,
    }
}

/// Is it clear before a trial has ended that it breaks a limit? So many requests are due and unanswered (`outstanding`), and of
/// those that were due in the measurement, which is to last for `seconds` at this rate, more have waited for longer than a limit
/// than may by the end. `before`: how many were unanswered when the measurement began.
#[must_use]
pub fn is_hopeless(
    limits: &Limits,
    (rate, seconds): (f64, f64),
    before: u64,
    outstanding: u64,
) -> bool {
    // A request that has waited for longer may have had its first byte or event in time.
    let mut whole = limits.latency.iter().filter(|limit| limit.of.is_response());
    whole.any(|limit| {
        let recent = rate * limit.within_ms / 1e3;
        let waited = outstanding as f64 - before as f64 - recent;
        let allowed = rate * seconds * (1.0 - limit.percentile / 100.0);
        // What piles up may also be another program's doing: twice as many leave no doubt about the limit.
        waited > (2.0 * allowed).max(SURELY)
    })
}

/// Can a percentile (0 to 1) be judged from so many response times?
fn judged(n: f64, share: f64) -> bool {
    n * (1.0 - share) >= BEYOND * (1.0 - 1e-9)
}

/// Cause other than the server that may have broken a limit; None where the server must have broken it.
fn doubt(shown: &RateMeasurements<'_>, by_lateness: bool) -> Option<Unclear> {
    // No other process makes an answer wrong, or speaks for the server.
    let lies = |check| raised(shown.checks, check).is_some();
    if lies(CheckId::WrongAnswers) || lies(CheckId::Unsolicited) {
        return None;
    }
    if lies(CheckId::ConnectionsLimit) {
        return Some(Unclear::TooFewConnections);
    }
    // As a note it says that the server was as busy as the generator.
    if raised(shown.checks, CheckId::GeneratorSaturated)
        .is_some_and(|it| it.severity > Severity::Note)
    {
        return Some(Unclear::SaturatedGenerator);
    }
    if by_lateness && raised(shown.checks, CheckId::ScheduleLag).is_some() {
        return Some(Unclear::LateGenerator);
    }
    let noisy = raised(shown.checks, CheckId::NoisyHost).is_some();
    (noisy && !out_of_reach(shown)).then_some(Unclear::NoisyHost)
}

/// Would the rate have been too much even with all the CPU time that other processes used?
fn out_of_reach(shown: &RateMeasurements<'_>) -> bool {
    let RateMeasurements {
        rate,
        seconds,
        outcomes,
        resources,
        ..
    } = shown;
    let taken = resources.others_busy + resources.stolen;
    let lost = (SERVER_CPUS * taken).clamp(0.0, MOST_LOST);
    let answered = outcomes.ok as f64 / seconds.max(f64::MIN_POSITIVE);
    // What other processes took from it, it did not use: its CPU time per request hardly depends on them.
    let requests = (outcomes.finished() + outcomes.in_flight_at_end).max(1) as f64;
    let measured = (seconds * SECOND as f64) as u64;
    let cpu = resources.cpu_per_request(requests, measured);
    let cpu_seconds = cpu.unwrap_or(0.0) / SECOND as f64;
    let busy_threads = rate * cpu_seconds;
    answered / (1.0 - lost) * MARGIN < *rate
        || busy_threads > resources.threads.max(1) as f64 * THREADS_MARGIN
}

fn raised(checks: &[Finding], check: CheckId) -> Option<&Finding> {
    checks.iter().find(|found| found.name == check)
}

/// A percentile in milliseconds; 0 without samples.
fn at(times: &Times, share: f64) -> f64 {
    match times.is_empty() {
        true => 0.0,
        false => times.value_at_quantile(share) as f64 / 1e6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::service::LatencyLimit;
    use prony_record::times::times;

    fn limits() -> Limits {
        Limits {
            latency: vec![LatencyLimit::new(99.0, 10.0), LatencyLimit::new(50.0, 2.0)],
            errors: 0.01,
            good: None,
        }
    }

    fn check(name: CheckId, severity: Severity) -> Finding {
        Finding {
            name,
            severity,
            text: String::new(),
        }
    }

    /// Two seconds at 1,000/s: half of the answers take `median` ms, the rest `tail` ms.
    struct Made {
        response: Times,
        first_byte: Times,
        good: Option<u64>,
        late: Times,
        outcomes: Outcomes,
        resources: Resources,
        checks: Vec<Finding>,
    }

    impl Made {
        fn of(median: u64, tail: u64, checks: &[(CheckId, Severity)]) -> Self {
            let mut response = times();
            response.record_n(median * 1_000_000, 1_100).unwrap();
            response.record_n(tail * 1_000_000, 900).unwrap();
            Self {
                first_byte: response.clone(),
                good: None,
                response,
                late: times(),
                outcomes: Outcomes {
                    ok: 2_000,
                    ..Outcomes::default()
                },
                resources: Resources::default(),
                checks: checks.iter().map(|(n, s)| check(*n, *s)).collect(),
            }
        }

        fn judged_at(&self, rate: f64) -> Judged {
            self.judged_by(&limits(), rate)
        }

        fn judged_by(&self, limits: &Limits, rate: f64) -> Judged {
            let shown = RateMeasurements {
                rate,
                seconds: 2.0,
                times: &|of| {
                    Cow::Borrowed(match of {
                        Timed::FirstByte => &self.first_byte,
                        _ => &self.response,
                    })
                },
                late: &self.late,
                good: self.good,
                outcomes: &self.outcomes,
                resources: &self.resources,
                checks: &self.checks,
            };
            judge(limits, &shown)
        }

        fn outcome(&self) -> RateOutcome {
            self.judged_at(1_000.0).outcome()
        }
    }

    const NOISE: (CheckId, Severity) = (CheckId::NoisyHost, Severity::Warning);

    #[test]
    fn every_limit_counts() {
        assert_eq!(Made::of(1, 5, &[]).outcome(), RateOutcome::Kept);
        let tail = Made::of(1, 50, &[]).judged_at(1_000.0);
        assert_eq!(tail.broken.len(), 1, "{tail:?}");
        let median = Made::of(5, 5, &[]).judged_at(1_000.0);
        assert!(median.broken[0].starts_with("p50 was"), "{median:?}");
        let mut errors = Made::of(1, 5, &[]);
        errors.outcomes.timeout = 100;
        assert_eq!(errors.outcome(), RateOutcome::Broken);
    }

    #[test]
    fn a_limit_of_first_bytes_is_held_against_these() {
        let first = LatencyLimit {
            of: Timed::FirstByte,
            ..LatencyLimit::new(99.0, 2.0)
        };
        let limits = Limits {
            latency: vec![first],
            errors: 0.01,
            good: None,
        };
        let mut streaming = Made::of(500, 900, &[]);
        let late = streaming.judged_by(&limits, 1_000.0);
        assert!(late.broken[0].starts_with("p99-ttfb was 9"), "{late:?}");
        streaming.first_byte = Made::of(1, 1, &[]).response;
        let kept = streaming.judged_by(&limits, 1_000.0);
        assert_eq!(kept.outcome(), RateOutcome::Kept);
        assert!(!is_hopeless(&limits, (1_000.0, 2.0), 0, 1_500));
    }

    #[test]
    fn so_many_answers_must_be_good_at_once() {
        let limits = Limits {
            latency: Vec::new(),
            errors: 0.01,
            good: Some(0.99),
        };
        let mut made = Made::of(1, 2, &[]);
        for (good, outcome) in [
            (1_990, RateOutcome::Kept),
            (1_950, RateOutcome::Broken),
            (0, RateOutcome::Broken),
        ] {
            made.good = Some(good);
            let judged = made.judged_by(&limits, 1_000.0);
            assert_eq!(judged.outcome(), outcome, "{judged:?}");
        }
    }

    #[test]
    fn what_failed_was_not_within_a_limit() {
        let all = limits();
        let only_p99 = Limits {
            latency: vec![all.latency[0]],
            errors: 0.05,
            good: None,
        };
        let mut failing = Made::of(1, 5, &[]);
        failing.outcomes.read_error = 60;
        let found = failing.judged_by(&only_p99, 1_000.0);
        assert_eq!(found.outcome(), RateOutcome::Broken, "{found:?}");
        assert_eq!(found.broken, ["2.9% took longer than 10 ms"]);
        failing.outcomes.read_error = 10;
        let found = failing.judged_by(&only_p99, 1_000.0);
        assert_eq!(found.outcome(), RateOutcome::Kept);
    }

    #[test]
    fn what_is_kept_on_a_noisy_host_is_kept() {
        assert_eq!(Made::of(1, 5, &[NOISE]).outcome(), RateOutcome::Kept);
    }

    #[test]
    fn what_a_noisy_host_may_have_broken_is_unclear() {
        let noisy = Made::of(1, 50, &[NOISE]);
        assert_eq!(noisy.outcome(), RateOutcome::Unclear(Unclear::NoisyHost));
        let wrong = (CheckId::WrongAnswers, Severity::Serious);
        assert_eq!(
            Made::of(1, 5, &[NOISE, wrong]).outcome(),
            RateOutcome::Broken
        );
        let unasked = (CheckId::Unsolicited, Severity::Serious);
        assert_eq!(
            Made::of(1, 5, &[NOISE, unasked]).outcome(),
            RateOutcome::Broken
        );
    }

    #[test]
    fn a_rate_out_of_reach_is_broken_whatever_others_used() {
        let mut noisy = Made::of(1, 50, &[NOISE, (CheckId::RateMissed, Severity::Serious)]);
        // A fifth of all CPUs may have been two fifths of the server's.
        noisy.resources.others_busy = 0.2;
        let at = |rate| noisy.judged_at(rate).outcome();
        assert_eq!(at(2_000.0), RateOutcome::Unclear(Unclear::NoisyHost));
        assert_eq!(at(2_500.0), RateOutcome::Broken);
    }

    #[test]
    fn a_rate_out_of_reach_of_the_server_s_threads_is_broken() {
        let mut noisy = Made::of(1, 50, &[NOISE]);
        // Nothing can be said from the answers, and a request takes a millisecond of CPU time.
        noisy.resources.others_busy = 0.9;
        noisy.resources.server_cpu_ns = 2 * SECOND;
        noisy.resources.watched_ns = 2 * SECOND;
        noisy.resources.threads = 2;
        let at = |rate| noisy.judged_at(rate).outcome();
        assert_eq!(at(3_900.0), RateOutcome::Unclear(Unclear::NoisyHost));
        assert_eq!(at(4_100.0), RateOutcome::Broken);
    }

    #[test]
    fn a_late_generator_is_to_blame_for_what_it_was_late() {
        let mut late = Made::of(1, 12, &[(CheckId::ScheduleLag, Severity::Warning)]);
        late.late.record_n(1_000_000, 2_000).unwrap();
        assert_eq!(late.outcome(), RateOutcome::Broken, "12 - 1 ms is too long");
        late.late.record_n(3_000_000, 2_000).unwrap();
        assert_eq!(late.outcome(), RateOutcome::Unclear(Unclear::LateGenerator));
    }

    #[test]
    fn a_saturated_generator_is_to_blame_unless_the_server_was_busy_too() {
        let with = |severity| Made::of(1, 50, &[(CheckId::GeneratorSaturated, severity)]).outcome();
        assert_eq!(
            with(Severity::Warning),
            RateOutcome::Unclear(Unclear::SaturatedGenerator)
        );
        assert_eq!(with(Severity::Note), RateOutcome::Broken);
    }

    #[test]
    fn what_has_waited_too_long_is_hopeless_before_the_end() {
        // 2 s at 1,000/s, p99 within 10 ms: 20 requests may take longer.
        let at = |before, outstanding| is_hopeless(&limits(), (1_000.0, 2.0), before, outstanding);
        assert!(!at(0, 49), "ten of them are due since 10 ms");
        assert!(at(0, 60));
        assert!(!at(50, 60), "most of them were due before");
        // Of few requests some may always be late.
        assert!(!is_hopeless(&limits(), (10.0, 2.0), 0, 9));
    }

    #[test]
    fn many_that_are_too_late_are_enough_of_few() {
        let mut few = Made::of(1, 5, &[]);
        few.response = times();
        few.response.record_n(1_000_000, 90).unwrap();
        few.response.record_n(50_000_000, 10).unwrap();
        let judged = few.judged_at(50.0);
        assert_eq!(judged.outcome(), RateOutcome::Broken);
        assert!(
            judged.broken[0].starts_with("10.0% took longer"),
            "{judged:?}"
        );
    }

    #[test]
    fn too_few_answers_are_the_rate_s_doing_or_the_server_s() {
        let mut few = Made::of(1, 5, &[]);
        few.response = times();
        few.response.record_n(1_000_000, 100).unwrap();
        few.outcomes.ok = 100;
        let at = |rate| few.judged_at(rate).outcome();
        assert_eq!(at(50.0), RateOutcome::Unclear(Unclear::TooFewAnswers));
        assert_eq!(at(1_000.0), RateOutcome::Broken);
    }
}
