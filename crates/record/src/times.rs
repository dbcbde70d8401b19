//! Latency distributions: percentiles that the samples support, and their intervals.

mod encoded;

use crate::word::words;
use crate::{Nanos, SECOND};
use hdrhistogram::Histogram;
use prony_stats::order_interval::{Beyond, effective_samples};
use prony_stats::percentile::{percentile_ranks, supported};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

pub use encoded::{Encoded, UnreadableHistogram, decode, decode_as, encode};

/// The longest time that a histogram tells apart from longer ones.
pub const HIGHEST: Nanos = 1_000 * SECOND;
/// Significant decimal digits: values are within 0.1%.
const DIGITS: u8 = 3;
/// A histogram of times in nanoseconds, from 1 ns to 1,000 s.
pub type Times = Histogram<u64>;

/// An empty histogram of [`Times`], with room for all of them.
#[must_use]
pub fn times() -> Times {
    Histogram::new_with_bounds(1, HIGHEST, DIGITS).expect("constant bounds are valid")
}

/// A distribution of times, in nanoseconds. A percentile with fewer than ten requests beyond it is null, since they do not
/// support it, and so is one that lies among the requests that failed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Percentiles {
    /// Samples.
    pub n: u64,
    /// Requests that failed without a time. In the percentiles they count as longer than every sample; in the mean and the
    /// largest they do not count.
    #[serde(default)]
    pub failed: u64,
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
    /// The 95% intervals of the percentiles, where they are known.
    #[serde(default)]
    pub intervals: Intervals,
}

impl Percentiles {
    /// The percentiles of a histogram, without intervals. `failed` requests have no time in it, and took longer than all that
    /// have: a server does not get faster by failing those that would have been slow.
    #[must_use]
    pub fn of(times: &Times, failed: u64) -> Self {
        let n = times.len();
        let at = |p: f64| percentile(times, failed, p);
        Self {
            n,
            failed,
            mean: (n > 0).then(|| times.mean()),
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: (n > 0).then(|| times.max()),
            intervals: Intervals::default(),
        }
    }

    /// With the intervals that order statistics give, as wide as the number of effective samples makes them.
    #[must_use]
    pub fn with_intervals(mut self, times: &Times, worth: &EffectiveSamples) -> Self {
        let at = |p: f64, n_eff: f64| {
            let among = among_samples(times.len(), self.failed, p)?;
            let (low, high) = percentile_ranks(times.len(), n_eff, among)?;
            Some((value_at_rank(times, low), value_at_rank(times, high)))
        };
        self.intervals = Intervals {
            p50: self.p50.and(at(0.5, worth.p50)),
            p75: self.p75.and(at(0.75, worth.p75)),
            p90: self.p90.and(at(0.9, worth.p90)),
            p99: self.p99.and(at(0.99, worth.p99)),
            p99_9: self.p99_9.and(at(0.999, worth.p99_9)),
        };
        self
    }

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

/// The percentile `p`, 0 to 1, of these times and of `failed` requests without one, which took longer. None: fewer than ten
/// requests are beyond it, or it is one of those that failed.
#[must_use]
pub fn percentile(times: &Times, failed: u64, p: f64) -> Option<Nanos> {
    let all = (times.len() + failed) as f64;
    let among = among_samples(times.len(), failed, p).filter(|_| supported(all, p))?;
    Some(times.value_at_quantile(among))
}

/// The 95% intervals of percentiles, in nanoseconds: lower end, upper end. Null where there is none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Intervals {
    /// Interval of the median.
    pub p50: Option<(Nanos, Nanos)>,
    /// Interval of the 75th percentile.
    pub p75: Option<(Nanos, Nanos)>,
    /// Interval of the 90th percentile.
    pub p90: Option<(Nanos, Nanos)>,
    /// Interval of the 99th percentile.
    pub p99: Option<(Nanos, Nanos)>,
    /// Interval of the 99.9th percentile.
    pub p99_9: Option<(Nanos, Nanos)>,
}

/// Number of independent samples that the samples of a distribution are worth, for each percentile. A pause that delays
/// a hundred requests is one event, not a hundred.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EffectiveSamples {
    /// For the median.
    pub p50: f64,
    /// For the 75th percentile.
    pub p75: f64,
    /// For the 90th percentile.
    pub p90: f64,
    /// For the 99th percentile.
    pub p99: f64,
    /// For the 99.9th percentile.
    pub p99_9: f64,
}

impl EffectiveSamples {
    /// Derives the numbers from the windows of a measurement. The number beyond each percentile of `times` varies more
    /// from window to window than with independent samples ([`prony_stats::order_interval::effective_samples`]).
    /// `beyond` gives, for a value, how many samples of each window lie above it and how many there are.
    pub fn of(times: &Times, beyond: impl Fn(Nanos) -> Vec<Beyond>) -> Self {
        let at = |p: f64| match times.is_empty() {
            true => 0.0,
            false => {
                let worth = effective_samples(&beyond(times.value_at_quantile(p)));
                // Windows do not hold what came after the measurement, so they may be short of some.
                worth.min(times.len() as f64)
            }
        };
        Self {
            p50: at(0.5),
            p75: at(0.75),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.p50 += other.p50;
        self.p75 += other.p75;
        self.p90 += other.p90;
        self.p99 += other.p99;
        self.p99_9 += other.p99_9;
    }
}

/// The distributions of a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// From when a request was due to its answer.
    pub response: Percentiles,
    /// From when it was sent to its answer.
    pub service: Percentiles,
    /// From when it was due to when it was sent. In a closed loop a request is due when its
    /// connection is free, so this is zero but for requests that waited for a connection.
    pub send_delay: Percentiles,
    /// From when it was due to the first byte of its answer's body; of an answer that came in one part, its response time.
    #[serde(default)]
    pub first_byte: Percentiles,
    /// From when it was due to the first event of the stream that answers it; without samples where answers are no streams.
    #[serde(default)]
    pub first_event: Percentiles,
    /// Between two events of a stream.
    #[serde(default)]
    pub gap: Percentiles,
    /// The longest of these, of each stream.
    #[serde(default)]
    pub longest_gap: Percentiles,
}

impl Latency {
    /// The percentiles of this kind of time.
    #[must_use]
    pub fn of(&self, timed: Timed) -> &Percentiles {
        match timed {
            Timed::Response => &self.response,
            Timed::FirstByte => &self.first_byte,
            Timed::FirstEvent => &self.first_event,
            Timed::Gap => &self.gap,
        }
    }

    /// Do first bytes come so much earlier than last ones that it shows?
    #[must_use]
    pub fn has_parts(&self) -> bool {
        let shown = |it: &Percentiles| (it.p50, it.p90, it.p99, it.p99_9, it.max);
        self.first_byte.n > 0 && shown(&self.first_byte) != shown(&self.response)
    }
}

words! {
    /// Time of an answer that can be limited, and compared.
    #[derive(Default)]
    Timed {
        /// From when its request was due until it ended.
        #[default]
        Response = "response",
        /// Until the first byte of its body came.
        FirstByte = "ttfb",
        /// Until the first event came, of a stream.
        FirstEvent = "first-event",
        /// Between two events of a stream.
        Gap = "gap",
    }
}

impl Timed {
    /// The name of a percentile of it: `p99`, `p99-ttfb`.
    #[must_use]
    pub fn percentile(self, percentile: f64) -> String {
        match self {
            Self::Response => format!("p{percentile}"),
            other => format!("p{percentile}-{other}"),
        }
    }

    /// Is it the response time?
    #[must_use]
    pub fn is_response(&self) -> bool {
        *self == Self::Response
    }
}

words! {
    /// Kind of time that a distribution holds.
    Kind {
        /// From when a request was due until it was answered.
        Response = "response",
        /// From when it was sent until it was answered.
        Service = "service",
        /// From when it was due until it was sent.
        SendDelay = "send-delay",
        /// From when it was due until the first byte of its body came, of answers whose last byte came later.
        FirstByte = "first-byte",
        /// Response times of the same answers.
        InParts = "in-parts",
        /// From when it was due until the first event of the stream that answers it.
        FirstEvent = "first-event",
        /// Between two events of a stream.
        Gap = "gap",
        /// The longest of these, of each stream.
        LongestGap = "longest-gap",
        /// Connecting.
        Connect = "connect",
        /// The handshake of TLS, from when the connection was made.
        Handshake = "handshake",
        /// How late the generator itself was: from when a request was due and its connection free
        /// until it was sent.
        Late = "late",
    }
}

/// The distributions of one load, or of many of the same kind together. In JSON an object of those
/// that have samples: HdrHistogram's V2 format, compressed, in base64; nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Encoded", try_from = "Encoded")]
pub struct Distributions {
    /// Answered - due. A time-out is a sample of its full length.
    pub response: Times,
    /// Answered - sent.
    pub service: Times,
    /// Sent - due; all zero in a closed loop, where due means sent, except for requests that
    /// waited for a connection to be made.
    pub send_delay: Times,
    /// First byte of the body - due, of answers whose last byte came later; see
    /// [`to_first_byte`](Self::to_first_byte).
    pub first_byte: Times,
    /// Response times of the same answers, which [`response`](Self::response) has too.
    pub in_parts: Times,
    /// First event - due, of answers that are streams of events. A time-out before it is a sample of its full length.
    pub first_event: Times,
    /// Between an event of a stream and the one before; 0 where both came together. One that had not ended when the load did, or
    /// its stream was given up, is a sample as long as it was until then.
    pub gap: Times,
    /// The longest of these, of each stream of several events.
    pub longest_gap: Times,
    /// Time to make a connection, set-up included; one that took too long at the time-out's length.
    /// Without the handshake of TLS.
    pub connect: Times,
    /// The handshake of TLS: from when the connection was made, set-up included.
    pub handshake: Times,
    /// How late the generator itself was: sent - max(due, when the connection became free). Empty in a
    /// closed loop.
    pub late: Times,
    /// Number of independent samples that the response times are worth.
    pub effective: EffectiveSamples,
}

impl Default for Distributions {
    /// Empty ones.
    fn default() -> Self {
        // Those that stay empty take next to no memory: they grow with what is recorded or added.
        let empty = || Times::new(DIGITS).expect("three digits are allowed");
        Self {
            response: empty(),
            service: empty(),
            send_delay: empty(),
            first_byte: empty(),
            in_parts: empty(),
            first_event: empty(),
            gap: empty(),
            longest_gap: empty(),
            connect: empty(),
            handshake: empty(),
            late: empty(),
            effective: EffectiveSamples::default(),
        }
    }
}

impl Distributions {
    /// Empty ones that have room for every time, so that recording never allocates.
    #[must_use]
    pub fn with_room() -> Self {
        Self {
            response: times(),
            service: times(),
            send_delay: times(),
            first_byte: times(),
            in_parts: times(),
            first_event: times(),
            gap: times(),
            longest_gap: times(),
            connect: times(),
            handshake: times(),
            late: times(),
            effective: EffectiveSamples::default(),
        }
    }

    /// One of them.
    #[must_use]
    pub fn of(&self, kind: Kind) -> &Times {
        match kind {
            Kind::Response => &self.response,
            Kind::Service => &self.service,
            Kind::SendDelay => &self.send_delay,
            Kind::FirstByte => &self.first_byte,
            Kind::InParts => &self.in_parts,
            Kind::FirstEvent => &self.first_event,
            Kind::Gap => &self.gap,
            Kind::LongestGap => &self.longest_gap,
            Kind::Connect => &self.connect,
            Kind::Handshake => &self.handshake,
            Kind::Late => &self.late,
        }
    }

    /// The same, to be changed.
    pub fn of_mut(&mut self, kind: Kind) -> &mut Times {
        match kind {
            Kind::Response => &mut self.response,
            Kind::Service => &mut self.service,
            Kind::SendDelay => &mut self.send_delay,
            Kind::FirstByte => &mut self.first_byte,
            Kind::InParts => &mut self.in_parts,
            Kind::FirstEvent => &mut self.first_event,
            Kind::Gap => &mut self.gap,
            Kind::LongestGap => &mut self.longest_gap,
            Kind::Connect => &mut self.connect,
            Kind::Handshake => &mut self.handshake,
            Kind::Late => &mut self.late,
        }
    }

    /// Distributions that have samples, with their kinds.
    pub fn filled(&self) -> impl Iterator<Item = (Kind, &Times)> {
        Kind::ALL
            .iter()
            .map(|&kind| (kind, self.of(kind)))
            .filter(|(_, times)| !times.is_empty())
    }

    /// Adds other measurements' samples.
    pub fn merge(&mut self, other: &Self) {
        for (kind, times) in other.filled() {
            self.of_mut(kind)
                .add(times)
                .expect("a histogram that resizes takes every other");
        }
        self.effective.merge(&other.effective);
    }

    /// From when requests were due until the first bytes of their bodies came. An answer that came in one part has no other time
    /// than its response time, so only the others are recorded apart.
    #[must_use]
    pub fn to_first_byte(&self) -> Times {
        to_first_byte(&self.response, &self.first_byte, &self.in_parts)
    }

    /// The times of this kind.
    #[must_use]
    pub fn timed(&self, of: Timed) -> Cow<'_, Times> {
        match of {
            Timed::Response => Cow::Borrowed(&self.response),
            Timed::FirstByte => Cow::Owned(self.to_first_byte()),
            Timed::FirstEvent => Cow::Borrowed(&self.first_event),
            Timed::Gap => Cow::Borrowed(&self.gap),
        }
    }

    /// The percentiles that they support, those of response times and first bytes with their intervals. `failed`
    /// requests have no time in them.
    #[must_use]
    pub fn percentiles(&self, failed: u64) -> Latency {
        let first_byte = self.to_first_byte();
        Latency {
            response: Percentiles::of(&self.response, failed)
                .with_intervals(&self.response, &self.effective),
            service: Percentiles::of(&self.service, failed),
            send_delay: Percentiles::of(&self.send_delay, 0),
            // Their requests are the same, so their samples are worth as much.
            first_byte: Percentiles::of(&first_byte, failed)
                .with_intervals(&first_byte, &self.effective),
            // Those without an event failed; without events, nothing is known of gaps.
            first_event: match self.first_event.is_empty() {
                true => Percentiles::default(),
                false => Percentiles::of(&self.first_event, failed),
            },
            gap: Percentiles::of(&self.gap, 0),
            longest_gap: Percentiles::of(&self.longest_gap, 0),
        }
    }
}

/// Times to the first byte, from the response times, and from both times of the answers that came in parts.
#[must_use]
pub fn to_first_byte(response: &Times, first_byte: &Times, in_parts: &Times) -> Times {
    let mut all = response.clone();
    // Every one of them has been recorded among the response times, in a histogram of the same kind.
    if all.subtract(in_parts).is_ok() {
        all.add(first_byte)
            .expect("a histogram that resizes takes every other");
    }
    all
}

/// Converts the quantile `p` of all requests, of which `failed` took longer than the `n` samples, into a quantile of
/// the samples. None: it is among the failed ones, or there are no samples.
fn among_samples(n: u64, failed: u64, p: f64) -> Option<f64> {
    let rank = p * (n + failed) as f64;
    (n > 0 && rank <= n as f64).then(|| rank / n as f64)
}

/// The sample with this rank, from 1, up to the width of a histogram's cell.
fn value_at_rank(times: &Times, rank: u64) -> Nanos {
    // The middle of the rank's share, so that rounding does not reach the rank before or after.
    times.value_at_quantile((rank as f64 - 0.5) / times.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write;

    fn times(values: impl IntoIterator<Item = u64>) -> Times {
        let mut times = Times::new_with_bounds(1, 1_000_000_000_000, 3).unwrap();
        for value in values {
            times.record(value).unwrap();
        }
        times
    }

    #[test]
    fn percentiles_that_the_samples_do_not_support_are_left_out() {
        let some = Percentiles::of(&times(1..=999), 0);
        assert_eq!((some.p50, some.p90), (Some(500), Some(900)));
        assert_eq!((some.p99, some.p99_9, some.max), (None, None, Some(999)));
        assert!(Percentiles::of(&times(1..=1_000), 0).p99.is_some());
        assert!(Percentiles::of(&times(1..=10_000), 0).p99_9.is_some());
        assert_eq!(Percentiles::of(&times([]), 0), Percentiles::default());
    }

    #[test]
    fn what_failed_took_longer_than_every_answer() {
        // 2% failed: p97 of the answers is what p95 of all would be.
        let some = Percentiles::of(&times(1..=9_800), 200);
        assert_eq!((some.n, some.failed), (9_800, 200));
        let near = |at: Option<u64>, value: f64| (at.unwrap() as f64 / value - 1.0).abs() < 0.001;
        assert!(
            near(some.p50, 5_000.0) && near(some.p90, 9_000.0),
            "{some:?}"
        );
        assert_eq!((some.p99, some.p99_9), (None, None));
        assert!(near(some.max, 9_800.0));
        // Fewer than a thousandth hide nothing.
        let some = Percentiles::of(&times(1..=99_995), 5);
        assert!(some.p99_9.is_some());
        // Nothing was answered: nothing is known.
        let none = Percentiles::of(&times([]), 100);
        assert_eq!((none.p50, none.max), (None, None));
        // An interval does not reach into the failures either.
        let all = times(1..=9_800);
        let worth = EffectiveSamples {
            p90: 10_000.0,
            ..EffectiveSamples::default()
        };
        let within = Percentiles::of(&all, 200).with_intervals(&all, &worth);
        let (low, high) = within.intervals.p90.unwrap();
        assert!(low < 9_000 && 9_000 < high && high < 9_800, "{low} {high}");
    }

    #[test]
    fn first_bytes_are_response_times_but_for_answers_in_parts() {
        let mut all = Distributions::default();
        for ms in 1..=100 {
            all.response.record(ms * 1_000_000).unwrap();
        }
        assert_eq!(all.to_first_byte(), all.response);
        assert!(!all.percentiles(0).has_parts());
        // The slower half began after a millisecond.
        for ms in 51..=100 {
            all.in_parts.record(ms * 1_000_000).unwrap();
            all.first_byte.record(1_000_000).unwrap();
        }
        let first = all.to_first_byte();
        assert_eq!(first.len(), 100);
        assert_eq!(first.count_between(0, 1_000_000), 51);
        assert!(first.max() < 51_000_000);
        let latency = all.percentiles(0);
        assert!(latency.has_parts());
        assert!(latency.first_byte.p90.unwrap() < latency.response.p50.unwrap());
    }

    #[test]
    fn histograms_survive_the_notebook() {
        let before = times((1..5_000).map(|i| i * i));
        let after = decode(&encode(&before)).unwrap();
        assert_eq!(before, after);
        assert!(decode(b"not a histogram").is_err());
    }

    #[test]
    fn a_histogram_that_promises_too_much_is_refused_before_memory_is_taken() {
        let packed = |length: u32, digits: u32, counts: &[u8]| {
            let mut plain = 0x1c84_9313_u32.to_be_bytes().to_vec();
            for word in [length, 0, digits] {
                plain.extend(word.to_be_bytes());
            }
            plain.extend(1_u64.to_be_bytes());
            plain.extend(HIGHEST.to_be_bytes());
            plain.extend(1_f64.to_be_bytes());
            plain.extend(counts);
            let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
            let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
            zlib.write_all(&plain).unwrap();
            let compressed = zlib.finish().unwrap();
            bytes.extend((compressed.len() as u32).to_be_bytes());
            bytes.extend(compressed);
            bytes
        };
        // Seven samples of 1 ns: no zeros before, and a zigzag count.
        let good = decode(&packed(2, 3, &[1, 14])).unwrap();
        assert_eq!((good.len(), good.max()), (7, 1));
        for (bytes, said) in [
            (packed(u32::MAX, 3, &[14]), "4294967295 bytes"),
            (packed(1, 5, &[14]), "5 digits"),
            (
                packed(9, 3, &[0xfe, 255, 255, 255, 255, 255, 255, 255, 127]),
                "samples",
            ),
        ] {
            let error = decode(&bytes).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        let whole = encode(&times(1..500));
        for length in 0..whole.len() {
            // Without the end of the checksum it is whole; whatever is missing, nothing else comes of it.
            let cut = decode(&whole[..length]);
            assert!(cut.is_err() || cut.unwrap() == times(1..500), "{length}");
        }
    }

    #[test]
    fn intervals_hold_their_percentiles_and_widen_with_dependence() {
        let all = times(1..=100_000);
        let wide = |n: f64| {
            let worth = EffectiveSamples {
                p50: n,
                p99: n,
                ..EffectiveSamples::default()
            };
            let found = Percentiles::of(&all, 0).with_intervals(&all, &worth);
            let (low, high) = found.intervals.p99.unwrap();
            assert!((low..=high).contains(&found.p99.unwrap()));
            assert_eq!(found.intervals.p90, None, "its worth is not known");
            high - low
        };
        let independent = wide(100_000.0);
        assert!((100..140).contains(&independent), "{independent}");
        // By the square root of ten, but for the width of a histogram's cell.
        assert!(wide(10_000.0) > 2 * independent);
    }

    #[test]
    fn dependence_is_seen_in_windows() {
        // Every hundredth sample is slow; once spread evenly, once all in one window of a hundred.
        let mut all = Times::new(3).unwrap();
        all.record_n(10, 99_000).unwrap();
        all.record_n(1_000, 1_000).unwrap();
        let windows = |burst: bool| {
            let above = move |i: u64| match burst {
                true if i == 50 => 1_000,
                true => 0,
                false => 10,
            };
            EffectiveSamples::of(&all, |value| {
                let count = |i| Beyond {
                    above: if value < 1_000 { above(i) } else { 0 },
                    all: 1_000,
                };
                (0..100).map(count).collect()
            })
        };
        assert!(windows(false).p99 > 99_000.0);
        assert!(windows(true).p99 < 1_000.0);
    }

    #[test]
    fn distributions_survive_json() {
        let all = Distributions {
            response: times(1..500),
            send_delay: times(1..50),
            ..Distributions::default()
        };
        let json = serde_json::to_string(&all).unwrap();
        assert!(
            json.contains("\"send-delay\"") && !json.contains("connect"),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Distributions>(&json).unwrap(), all);
    }
}
