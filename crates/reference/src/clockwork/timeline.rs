//! From arrival times to reply times: what a script means.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::script::{Delay, ReplyScript, Stall};

/// A script under way. All times are nanoseconds since the script's origin.
///
/// A request that arrives at *a* and is given the delay *d* is answered at
///
/// - *release*(*a* + *d*), or
/// - *release*(max(*a*, *f*) + *d*) with [`ReplyScript::queue`], where *f* is when the request before it
///   was answered: the one server hands over a reply before it takes the next request.
///
/// *release*(*t*) is the end of the stall that contains *t*, and *t* itself outside all stalls. The
/// *k*-th stall, *k* ≥ 1, is [*k* · every, *k* · every + length).
///
/// So a stall holds replies back and nothing else: a delay that is over before the stall's end is
/// answered at its end, one that reaches beyond it is not lengthened.
#[derive(Debug, Clone)]
pub struct Timeline {
    delay: Delay,
    /// Between the events of a stream.
    gap: Delay,
    stall: Option<StallNs>,
    queue: bool,
    free: u64,
    random: Xoshiro256PlusPlus,
}

#[derive(Debug, Clone, Copy)]
struct StallNs {
    every: u64,
    length: u64,
}

impl Timeline {
    /// The script from its beginning.
    ///
    /// # Panics
    ///
    /// If the script does not pass [`ReplyScript::check`].
    pub fn new(script: &ReplyScript) -> Self {
        if let Err(error) = script.check() {
            panic!("{error}");
        }
        Self {
            delay: script.delay,
            gap: script.events.map_or(Delay::None, |events| events.gap),
            stall: script.stall.map(StallNs::new),
            queue: script.queue,
            free: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(script.seed),
        }
    }

    /// When the next request is answered, given when it arrives. Requests are given in the order of
    /// their arrival. Never before the arrival; saturates at `u64::MAX`.
    pub fn reply(&mut self, arrival_ns: u64) -> u64 {
        let start = if self.queue {
            arrival_ns.max(self.free)
        } else {
            arrival_ns
        };
        let delay = self.draw(self.delay);
        let reply = self.release(start.saturating_add(delay));
        self.free = reply;
        reply
    }

    /// When the next event of a stream comes, given when the one before it did.
    pub fn event(&mut self, before_ns: u64) -> u64 {
        let gap = self.draw(self.gap);
        self.release(before_ns.saturating_add(gap))
    }

    fn draw(&mut self, delay: Delay) -> u64 {
        match delay {
            Delay::None => 0,
            Delay::Constant(delay) => nanos(delay),
            Delay::Uniform { min, max } => self.random.random_range(nanos(min)..=nanos(max)),
            Delay::Bimodal {
                fast,
                slow,
                slow_share,
            } => nanos(if self.random.random_bool(slow_share) {
                slow
            } else {
                fast
            }),
            Delay::Exponential(mean) => {
                let uniform: f64 = self.random.random();
                // 1 − u lies in (0, 1], so the logarithm is finite.
                (-(1.0 - uniform).ln() * nanos(mean) as f64) as u64
            }
        }
    }

    fn release(&self, time: u64) -> u64 {
        match self.stall {
            Some(StallNs { every, length }) if time >= every && time % every < length => {
                (time - time % every).saturating_add(length)
            }
            _ => time,
        }
    }
}

impl StallNs {
    fn new(stall: Stall) -> Self {
        Self {
            every: nanos(stall.every),
            length: nanos(stall.length),
        }
    }
}

/// 584 years are enough for any delay.
fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// The response times (reply − arrival, in nanoseconds, sorted) that a script implies for arrivals
/// at the given times since its origin, in order.
///
/// Holds for requests on connections of their own. Where several are under way on one connection, a
/// reply also waits for those before it, which only random delays without [`ReplyScript::queue`] show.
///
/// # Panics
///
/// If the script does not pass [`ReplyScript::check`].
pub fn implied(script: &ReplyScript, arrivals: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut timeline = Timeline::new(script);
    let mut times: Vec<u64> = arrivals
        .into_iter()
        .map(|arrival| timeline.reply(arrival) - arrival)
        .collect();
    times.sort_unstable();
    times
}

/// The smallest of the `sorted` values that at least the share `q` (0 to 1) of them do not exceed:
/// the nearest-rank quantile, rank ⌈q·n⌉, at least 1.
///
/// # Panics
///
/// If there are no values.
pub fn quantile(sorted: &[u64], q: f64) -> u64 {
    assert!(!sorted.is_empty(), "no values have no quantiles");
    // q·n computed in floating point can lie a hair above the whole number that it is (0.07·100).
    let exact = q * sorted.len() as f64;
    let rank = (exact - exact * f64::EPSILON).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clockwork::EventScript;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000 * MS;

    fn script(delay: &str, stall: &str, queue: bool) -> ReplyScript {
        ReplyScript {
            delay: delay.parse().unwrap(),
            stall: stall.parse().ok(),
            queue,
            events: None,
            seed: 1,
        }
    }

    fn steady(count: u64, apart: u64) -> impl Iterator<Item = u64> {
        (0..count).map(move |k| k * apart)
    }

    fn mean(times: &[u64]) -> f64 {
        times.iter().sum::<u64>() as f64 / times.len() as f64
    }

    #[test]
    fn quantiles_by_nearest_rank() {
        let values: Vec<u64> = (1..=100).collect();
        for (q, value) in [
            (0.0, 1),
            (0.005, 1),
            (0.07, 7),
            (0.5, 50),
            (0.501, 51),
            (0.99, 99),
            (1.0, 100),
        ] {
            assert_eq!(quantile(&values, q), value, "{q}");
        }
        assert_eq!(quantile(&[3], 0.5), 3);
    }

    #[test]
    fn none_and_constant() {
        assert_eq!(implied(&ReplyScript::default(), [0, 5, 5]), [0, 0, 0]);
        assert_eq!(implied(&script("1ms", "", false), [0, 5, 5]), [MS; 3]);
    }

    #[test]
    fn events_follow_one_another_and_wait_for_stalls() {
        let events = EventScript {
            number: 3,
            gap: Delay::Constant(Duration::from_millis(5)),
        };
        let script = ReplyScript {
            events: Some(events),
            ..script("1ms", "100ms/1s", false)
        };
        let mut timeline = Timeline::new(&script);
        let first = timeline.reply(990 * MS);
        assert_eq!(first, 991 * MS);
        let second = timeline.event(first);
        assert_eq!(second, 996 * MS);
        let third = timeline.event(second);
        assert_eq!(third, 1_100 * MS);
    }

    #[test]
    fn uniform() {
        let times = implied(&script("uniform:1ms..3ms", "", false), steady(100_000, MS));
        assert!(times[0] >= MS && times[99_999] <= 3 * MS);
        for (q, expected) in [(0.1, 1.2e6), (0.5, 2e6), (0.99, 2.98e6)] {
            // The standard error of a quantile of the uniform: width · √(q(1−q)/n), at most 3.2 µs.
            assert!((quantile(&times, q) as f64 - expected).abs() < 16e3, "{q}");
        }
    }

    #[test]
    fn bimodal() {
        let times = implied(
            &script("bimodal:1ms,10ms,0.1", "", false),
            steady(100_000, MS),
        );
        let slow = times.iter().filter(|&&time| time == 10 * MS).count();
        assert!(times.iter().all(|&time| time == MS || time == 10 * MS));
        // Five standard deviations of a binomial count, √(n·0.1·0.9) = 95.
        assert!(slow.abs_diff(10_000) < 475, "{slow}");
        assert_eq!(
            (quantile(&times, 0.89), quantile(&times, 0.91)),
            (MS, 10 * MS)
        );
    }

    #[test]
    fn a_stall_holds_back_what_arrives_or_falls_due() {
        let mut timeline = Timeline::new(&script("5ms", "100ms/1s", false));
        for (arrival, reply) in [
            (0, 5), // the origin is not a stall
            (994, 999),
            (995, 1_100), // falls due as the stall begins
            (1_000, 1_100),
            (1_094, 1_100),
            (1_095, 1_100),
            (1_098, 1_103), // arrives in the stall, is due after it
            (1_100, 1_105),
            (2_050, 2_100),
        ] {
            assert_eq!(timeline.reply(arrival * MS), reply * MS, "{arrival}");
        }
    }

    #[test]
    fn a_stall_of_a_tenth_gives_exact_quantiles() {
        // 1,000 arrivals a second, ten whole periods: each stall holds 100 of them, which wait 100,
        // 99, … 1 ms. All others wait 0.
        let arrivals = steady(10_000, MS).map(|time| time + SECOND);
        let times = implied(&script("none", "100ms/1s", false), arrivals);
        for (q, expected) in [
            (0.5, 0),
            (0.9, 0),
            (0.9001, 1),
            (0.95, 50),
            (0.99, 90),
            (0.999, 99),
            (1.0, 100),
        ] {
            assert_eq!(quantile(&times, q), expected * MS, "{q}");
        }
    }

    #[test]
    fn a_queue_serves_one_at_a_time() {
        let mut timeline = Timeline::new(&script("10ms", "100ms/1s", true));
        for (arrival, reply) in [
            (0, 10),
            (0, 20),
            (5, 30),
            (100, 110),
            (985, 995),
            (990, 1_100), // in service when the stall begins
            (991, 1_110),
            (1_050, 1_120),
        ] {
            assert_eq!(timeline.reply(arrival * MS), reply * MS, "{arrival}");
        }
    }

    #[test]
    fn poisson_arrivals_wait_as_pollaczek_and_khinchine_say() {
        // M/D/1: the mean wait in the queue is ρ·d / (2(1 − ρ)).
        for (load, seed) in [(0.3, 1), (0.7, 2)] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
            let mut now = 0.0;
            let arrivals = (0..1_000_000).map(|_| {
                let uniform: f64 = random.random();
                now -= (1.0 - uniform).ln() * MS as f64 / load;
                now as u64
            });
            let times = implied(&script("1ms", "", true), arrivals);
            let wait = mean(&times) - MS as f64;
            let expected = load * MS as f64 / (2.0 * (1.0 - load));
            assert!(
                (wait / expected - 1.0).abs() < 0.02,
                "{wait} instead of {expected}"
            );
        }
    }

    proptest! {
        #[test]
        fn replies_follow_arrivals_and_never_leave_in_a_stall(
            gaps in prop::collection::vec(0..3 * SECOND, 1..100),
            queue: bool,
            delay in prop::sample::select(vec!["none", "7ms", "uniform:0s..2s", "bimodal:1us,1s,0.5"]),
        ) {
            let mut timeline = Timeline::new(&script(delay, "300ms/1s", queue));
            let (mut arrival, mut last) = (0, 0);
            for gap in gaps {
                arrival += gap;
                let reply = timeline.reply(arrival);
                prop_assert!(reply >= arrival);
                prop_assert!(reply < SECOND || reply % SECOND >= 300 * MS);
                prop_assert!(!queue || reply >= last);
                last = reply;
            }
        }

        #[test]
        fn the_seed_decides(seed: u64) {
            let script = ReplyScript { seed, ..script("uniform:0s..1s", "", false) };
            prop_assert_eq!(
                implied(&script, steady(10, MS)),
                implied(&script, steady(10, MS))
            );
        }
    }
}
