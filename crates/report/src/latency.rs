//! Latency distributions: percentiles that the samples support, and the form in which they are
//! kept.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use prony_stats::percentile::supported;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Times in nanoseconds.
pub type Times = Histogram<u64>;

/// A distribution of times, in nanoseconds. A percentile with fewer than ten samples beyond it is
/// null: the samples do not support it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Samples.
    pub n: u64,
    /// The mean.
    pub mean: Option<f64>,
    /// The median.
    pub p50: Option<u64>,
    /// The 75th percentile.
    #[serde(default)]
    pub p75: Option<u64>,
    /// The 90th percentile.
    pub p90: Option<u64>,
    /// The 99th percentile.
    pub p99: Option<u64>,
    /// The 99.9th percentile.
    pub p99_9: Option<u64>,
    /// The largest; null without samples.
    pub max: Option<u64>,
}

impl Percentiles {
    /// The percentiles of a histogram.
    pub fn of(times: &Times) -> Self {
        let n = times.len();
        let at = |p: f64| supported(n as f64, p).then(|| times.value_at_quantile(p));
        Self {
            n,
            mean: (n > 0).then(|| times.mean()),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: (n > 0).then(|| times.max()),
        }
    }
}

impl Percentiles {
    /// In milliseconds, by the names under which people publish them; what is not known is left out.
    pub fn by_name(&self) -> BTreeMap<String, f64> {
        let ms = |ns: f64| ns / 1e6;
        let whole = |ns: Option<u64>| ns.map(|ns| ms(ns as f64));
        let all = [
            ("mean", self.mean.map(ms)),
            ("p50", whole(self.p50)),
            ("p75", whole(self.p75)),
            ("p90", whole(self.p90)),
            ("p99", whole(self.p99)),
            ("p99.9", whole(self.p99_9)),
            ("max", whole(self.max)),
        ];
        all.into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect()
    }
}

/// The three distributions of a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// From when a request was due to its answer.
    pub response: Percentiles,
    /// From when it was sent to its answer.
    pub service: Percentiles,
    /// From when it was due to when it was sent. In a closed loop a request is due when its
    /// connection is free, so this is zero but for requests that waited for a connection.
    #[serde(alias = "lag")]
    pub send_delay: Percentiles,
}

/// The distributions themselves, of one load or of many of the same kind.
#[derive(Debug, Clone, PartialEq)]
pub struct Distributions {
    /// As [`Latency::response`].
    pub response: Times,
    /// As [`Latency::service`].
    pub service: Times,
    /// As [`Latency::send_delay`].
    pub send_delay: Times,
}

impl Default for Distributions {
    /// Empty ones; they grow with what is added.
    fn default() -> Self {
        let empty = || Times::new(3).expect("three digits are allowed");
        Self {
            response: empty(),
            service: empty(),
            send_delay: empty(),
        }
    }
}

impl Distributions {
    /// The percentiles that they support.
    pub fn percentiles(&self) -> Latency {
        Latency {
            response: Percentiles::of(&self.response),
            service: Percentiles::of(&self.service),
            send_delay: Percentiles::of(&self.send_delay),
        }
    }
}

/// A histogram that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a histogram in the notebook cannot be read: {0}")]
pub struct Unreadable(String);

/// A histogram as bytes: HdrHistogram's V2 format, compressed.
pub fn encode(times: &Times) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(times, &mut bytes)
        .expect("memory takes every histogram");
    bytes
}

/// Reads what [`encode`] has written.
///
/// # Errors
/// When the bytes are something else.
pub fn decode(bytes: &[u8]) -> Result<Times, Unreadable> {
    Deserializer::new()
        .deserialize(&mut &bytes[..])
        .map_err(|error| Unreadable(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values: impl IntoIterator<Item = u64>) -> Times {
        let mut times = Times::new_with_bounds(1, 1_000_000_000_000, 3).unwrap();
        for value in values {
            times.record(value).unwrap();
        }
        times
    }

    #[test]
    fn percentiles_that_the_samples_do_not_support_are_left_out() {
        let some = Percentiles::of(&times(1..=999));
        assert_eq!((some.p50, some.p90), (Some(500), Some(900)));
        assert_eq!((some.p99, some.p99_9, some.max), (None, None, Some(999)));
        assert!(Percentiles::of(&times(1..=1_000)).p99.is_some());
        assert!(Percentiles::of(&times(1..=10_000)).p99_9.is_some());
        assert_eq!(Percentiles::of(&times([])), Percentiles::default());
    }

    #[test]
    fn histograms_survive_the_notebook() {
        let before = times((1..5_000).map(|i| i * i));
        let after = decode(&encode(&before)).unwrap();
        assert_eq!(before, after);
        assert!(decode(b"not a histogram").is_err());
    }
}
