//! The distributions of a server under one load, over all its starts.

use prony_record::times::{Distributions, Intervals, Latency, Percentiles};
use prony_stats::mean::t_quantile;
use prony_stats::summary::standard_deviation;

/// The distributions of a cell: those of all its trials together, and the percentiles of each.
#[derive(Debug, Clone, Default)]
pub struct CellTimes {
    merged: Distributions,
    /// Requests of all trials that failed without a time.
    failed: u64,
    trials: Vec<Percentiles>,
}

type Interval = (u64, u64);

impl CellTimes {
    /// Adds a trial's, of which so many requests failed without a time.
    pub fn add(&mut self, trial: &Distributions, failed: u64) {
        self.trials.push(Percentiles::of(&trial.response, failed));
        self.failed += failed;
        self.merged.merge(trial);
    }

    /// Distributions of all trials together.
    #[must_use]
    pub fn merged(&self) -> &Distributions {
        &self.merged
    }

    /// The same, without the rest.
    #[must_use]
    pub fn into_merged(self) -> Distributions {
        self.merged
    }

    /// The percentiles of all trials together. Those of the response times have intervals: by order
    /// statistics, from what the samples of all trials are worth, and with two trials or more not
    /// narrower than the spread of the trials' own percentiles allows. A start of a server may be
    /// slower than the next one for all of its length, and its samples do not show that.
    #[must_use]
    pub fn latency(&self) -> Latency {
        let mut latency = self.merged.percentiles(self.failed);
        let response = &mut latency.response;
        let within = response.intervals;
        let wider = |value: Option<u64>, within, of: fn(&Percentiles) -> Option<u64>| {
            wider(within, value.and_then(|value| self.over_trials(value, of)))
        };
        response.intervals = Intervals {
            p50: wider(response.p50, within.p50, |trial| trial.p50),
            p75: wider(response.p75, within.p75, |trial| trial.p75),
            p90: wider(response.p90, within.p90, |trial| trial.p90),
            p99: wider(response.p99, within.p99, |trial| trial.p99),
            p99_9: wider(response.p99_9, within.p99_9, |trial| trial.p99_9),
        };
        latency
    }

    /// Around the percentile of all trials together: value · exp(± t·s/√n), where s is the standard
    /// deviation of the logarithms of the n trials' own percentiles and t Student's at 95%. Times are
    /// compared as ratios, hence the logarithms. None unless two trials support the percentile.
    fn over_trials(&self, value: u64, of: fn(&Percentiles) -> Option<u64>) -> Option<Interval> {
        let logs: Vec<f64> = self
            .trials
            .iter()
            .filter_map(of)
            .filter(|ns| *ns > 0)
            .map(|ns| (ns as f64).ln())
            .collect();
        let n = logs.len() as f64;
        let half = t_quantile(n - 1.0)? * standard_deviation(&logs)? / n.sqrt();
        let at = |exponent: f64| (value as f64 * exponent.exp()).round() as u64;
        Some((at(-half), at(half)))
    }
}

/// The interval whose ends lie further apart, as a ratio.
fn wider(a: Option<Interval>, b: Option<Interval>) -> Option<Interval> {
    let ratio = |interval: &Interval| interval.1 as f64 / interval.0.max(1) as f64;
    a.into_iter()
        .chain(b)
        .max_by(|a, b| ratio(a).total_cmp(&ratio(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::times::EffectiveSamples;

    /// 10,000 response times around `typical`, which are worth as many.
    fn trial(typical: u64) -> Distributions {
        let mut all = Distributions::default();
        for i in 0..10_000 {
            all.response
                .record(typical + typical * (i % 100) / 1_000)
                .unwrap();
        }
        let worth = 10_000.0;
        all.effective = EffectiveSamples {
            p50: worth,
            p75: worth,
            p90: worth,
            p99: worth,
            p99_9: worth,
        };
        all
    }

    fn times(typical: &[u64]) -> CellTimes {
        let mut all = CellTimes::default();
        typical
            .iter()
            .for_each(|&typical| all.add(&trial(typical), 0));
        all
    }

    #[test]
    fn one_trial_has_its_own_interval() {
        let one = times(&[1_000_000]);
        assert_eq!(one.latency(), one.merged().percentiles(0));
        assert!(one.latency().response.intervals.p99.is_some());
    }

    #[test]
    fn starts_that_differ_widen_the_interval() {
        let half = |typical: &[u64]| {
            let response = times(typical).latency().response;
            let (low, high) = response.intervals.p50.unwrap();
            let value = response.p50.unwrap();
            assert!((low..=high).contains(&value), "{low} {value} {high}");
            (high - low) as f64 / 2.0 / value as f64
        };
        let same = half(&[1_000_000, 1_000_000, 1_000_000]);
        let different = half(&[1_000_000, 1_200_000, 1_400_000]);
        assert!(same < 0.01, "{same}");
        // ln 1.05, ln 1.25, ln 1.46 or so: s is 0.165, t is 4.30, over √3.
        assert!((0.35..0.5).contains(&different), "{different}");
    }

    #[test]
    fn earlier_versions_kept_no_effective_samples() {
        let mut old = trial(1_000_000);
        old.effective = EffectiveSamples::default();
        let mut all = CellTimes::default();
        all.add(&old, 0);
        assert_eq!(all.latency().response.intervals, Intervals::default());
        all.add(&old, 0);
        assert!(
            all.latency().response.intervals.p50.is_some(),
            "over trials"
        );
    }
}
