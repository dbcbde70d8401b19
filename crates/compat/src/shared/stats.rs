//! Distributions with wrk's arithmetic: distinct whole values, and how often each was seen.

use prony_record::Times;

/// Values in ascending order, each with its count.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Stats {
    values: Vec<(u64, u64)>,
    count: u64,
}

impl FromIterator<(u64, u64)> for Stats {
    /// Values, which must ascend, with their counts.
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(pairs: I) -> Self {
        let mut this = Self::default();
        for (value, count) in pairs {
            this.count += count;
            match this.values.last_mut() {
                Some((last, n)) if *last == value => *n += count,
                _ => this.values.push((value, count)),
            }
        }
        this
    }
}

impl Stats {
    /// Times in whole microseconds.
    pub(crate) fn of_times(times: &Times) -> Self {
        times
            .iter_recorded()
            .map(|step| {
                let micros = step.value_iterated_to() / 1_000;
                (micros, step.count_since_last_iteration())
            })
            .collect()
    }

    /// Without so many of the greatest values, as far as they are not below `least`. Time-outs are
    /// samples of their full length: none is greater.
    pub(crate) fn without_greatest(mut self, mut n: u64, least: u64) -> Self {
        while n > 0
            && let Some((value, count)) = self.values.last_mut()
            && *value >= least
        {
            let taken = n.min(*count);
            *count -= taken;
            self.count -= taken;
            n -= taken;
            if *count == 0 {
                self.values.pop();
            }
        }
        self
    }

    /// Rates in whole requests per second.
    pub(crate) fn of_rates(rates: &[f64]) -> Self {
        let mut whole: Vec<u64> = rates.iter().map(|&rate| rate as u64).collect();
        whole.sort_unstable();
        whole.into_iter().map(|rate| (rate, 1)).collect()
    }

    /// The values with their counts, ascending: for scripts.
    #[cfg(any(feature = "lua", test))]
    pub(crate) fn values(&self) -> &[(u64, u64)] {
        &self.values
    }

    /// The smallest value; 0 without samples.
    pub(crate) fn min(&self) -> u64 {
        self.values.first().map_or(0, |&(value, _)| value)
    }

    /// The greatest value; 0 without samples.
    pub(crate) fn max(&self) -> u64 {
        self.values.last().map_or(0, |&(value, _)| value)
    }

    /// 0 without samples.
    pub(crate) fn mean(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let sum: f64 = self.values.iter().map(|&(v, n)| v as f64 * n as f64).sum();
        sum / self.count as f64
    }

    /// Standard deviation of the sample (n − 1); 0 with fewer than two values.
    pub(crate) fn stdev(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let sum: f64 = self
            .values
            .iter()
            .map(|&(v, n)| (v as f64 - mean).powi(2) * n as f64)
            .sum();
        (sum / (self.count - 1) as f64).sqrt()
    }

    /// How many percent of the samples are within one standard deviation of the mean; `None`
    /// without samples.
    pub(crate) fn within_stdev(&self) -> Option<f64> {
        let (mean, stdev) = (self.mean(), self.stdev());
        let inside = |value: f64| value >= mean - stdev && value <= mean + stdev;
        let sum: u64 = self
            .values
            .iter()
            .filter(|&&(v, _)| inside(v as f64))
            .map(|&(_, n)| n)
            .sum();
        (self.count > 0).then(|| sum as f64 / self.count as f64 * 100.0)
    }

    /// The value at `percent` (0 to 100); 0 without samples.
    pub(crate) fn percentile(&self, percent: f64) -> u64 {
        let rank = (percent / 100.0 * self.count as f64 + 0.5).round() as u64;
        self.nth(rank.clamp(1, self.count.max(1)))
    }

    /// The `rank`th smallest sample (from 1); the greatest beyond the last, 0 without samples.
    fn nth(&self, rank: u64) -> u64 {
        let mut total = 0;
        self.values
            .iter()
            .find(|&&(_, n)| {
                total += n;
                total >= rank
            })
            .map_or(self.max(), |&(value, _)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_go_first() {
        let stats: Stats = [(5, 3), (2_000, 2), (2_010, 1)].into_iter().collect();
        let without = |n| stats.clone().without_greatest(n, 2_000);
        assert_eq!(without(2).values(), [(5, 3), (2_000, 1)]);
        assert_eq!(without(0), stats);
        // More connections failed than requests waited for them.
        assert_eq!(
            (without(9).values(), without(9).max()),
            ([(5, 3)].as_slice(), 5)
        );
    }

    #[test]
    fn a_small_sample_by_hand() {
        let it: Stats = [(1, 1), (2, 1), (2, 1), (9, 1)].into_iter().collect();
        assert_eq!(it.values(), [(1, 1), (2, 2), (9, 1)]);
        assert_eq!((it.count, it.min(), it.max()), (4, 1, 9));
        assert_eq!(it.mean(), 3.5);
        // Squares of the deviations: 6.25 + 2 · 2.25 + 30.25 = 41; over 3.
        assert!((it.stdev() - (41.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(it.within_stdev(), Some(75.0));
        // Ranks 3 and 4: wrk takes the sample above the middle.
        assert_eq!(it.percentile(50.0), 2);
        assert_eq!(it.percentile(75.0), 9);
        assert_eq!((it.percentile(0.0), it.percentile(100.0)), (1, 9));
        assert_eq!((it.nth(1), it.nth(3), it.nth(4), it.nth(99)), (1, 2, 9, 9));
    }

    #[test]
    fn nothing_is_no_division_by_zero() {
        let it = Stats::default();
        assert_eq!(
            (it.min(), it.max(), it.mean(), it.stdev()),
            (0, 0, 0.0, 0.0)
        );
        assert_eq!(it.within_stdev(), None);
        assert_eq!(it.percentile(99.0), 0);
    }

    #[test]
    fn times_become_microseconds_and_rates_whole() {
        let mut times = prony_record::times::times();
        for nanos in [999, 1_000, 1_500, 2_000, 5_000_000_000] {
            times.record(nanos).unwrap();
        }
        let it = Stats::of_times(&times);
        assert_eq!(it.count, 5);
        assert_eq!(&it.values()[..3], [(0, 1), (1, 2), (2, 1)]);
        assert!((5_000_000..5_005_000).contains(&it.max()), "{}", it.max());
        assert_eq!(
            Stats::of_rates(&[10.9, 3.0, 10.0]).values(),
            [(3, 1), (10, 2)]
        );
    }
}
