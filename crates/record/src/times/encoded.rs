//! The form in which distributions are kept and sent.

use super::{DIGITS, Distributions, EffectiveSamples, Kind, Times};
use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use flate2::read::ZlibDecoder;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
use hdrhistogram::{Counter, Histogram};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;

/// The most bytes of a histogram before compression: with three digits even one of all 64-bit values has fewer.
const MOST_BYTES: u32 = 1 << 20;
/// The most samples of a histogram: an answer per nanosecond for more than ten days.
const MOST_SAMPLES: u64 = 1_000_000_000_000_000;

/// Distributions as they are kept and sent: those that have samples, each as [`encode`] writes it. They
/// take a hundredth of the memory of [`Distributions`], so a run of many trials is held in this form.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Encoded {
    /// Number of independent samples that the response times are worth.
    #[serde(default)]
    pub effective: EffectiveSamples,
    /// By kind: HdrHistogram's V2 format, compressed; nanoseconds. In JSON in base64.
    #[serde(flatten, with = "in_base64")]
    #[schemars(with = "BTreeMap<Kind, String>")]
    pub times: BTreeMap<Kind, Vec<u8>>,
}

mod in_base64 {
    use super::{BASE64, BTreeMap, Engine, Kind};
    use serde::{Deserialize, Deserializer, Serializer};

    type Times = BTreeMap<Kind, Vec<u8>>;

    pub(super) fn serialize<S: Serializer>(times: &Times, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(
            times
                .iter()
                .map(|(kind, bytes)| (kind, BASE64.encode(bytes))),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Times, D::Error> {
        let texts = BTreeMap::<Kind, String>::deserialize(from)?;
        let decoded = |(kind, text)| match BASE64.decode(text) {
            Ok(bytes) => Ok((kind, bytes)),
            Err(error) => Err(serde::de::Error::custom(error)),
        };
        texts.into_iter().map(decoded).collect()
    }
}

impl Encoded {
    /// One of them; empty without samples of that kind.
    ///
    /// # Errors
    /// When its bytes are no histogram.
    pub fn of(&self, kind: Kind) -> Result<Times, UnreadableHistogram> {
        match self.times.get(&kind) {
            Some(bytes) => decode(bytes),
            None => Ok(Times::new(DIGITS).expect("three digits are allowed")),
        }
    }

    /// Total length of the encoded distributions, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.times.values().map(Vec::len).sum()
    }
}

impl From<Distributions> for Encoded {
    fn from(all: Distributions) -> Self {
        Self::from(&all)
    }
}

impl From<&Distributions> for Encoded {
    fn from(all: &Distributions) -> Self {
        Self {
            effective: all.effective,
            times: all
                .filled()
                .map(|(kind, times)| (kind, encode(times)))
                .collect(),
        }
    }
}

impl TryFrom<Encoded> for Distributions {
    type Error = UnreadableHistogram;

    fn try_from(encoded: Encoded) -> Result<Self, UnreadableHistogram> {
        Self::try_from(&encoded)
    }
}

impl TryFrom<&Encoded> for Distributions {
    type Error = UnreadableHistogram;

    fn try_from(encoded: &Encoded) -> Result<Self, UnreadableHistogram> {
        let mut all = Self {
            effective: encoded.effective,
            ..Self::default()
        };
        for (&kind, bytes) in &encoded.times {
            *all.of_mut(kind) = decode(bytes)
                .map_err(|error| UnreadableHistogram(format!("{kind}: {}", error.0)))?;
        }
        Ok(all)
    }
}

/// A histogram that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("a histogram cannot be read: {0}")]
pub struct UnreadableHistogram(String);

/// A histogram as bytes: HdrHistogram's V2 format, compressed.
pub fn encode<C: Counter>(times: &Histogram<C>) -> Vec<u8> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(times, &mut bytes)
        .expect("memory takes every histogram");
    bytes
}

/// Reads what [`encode`] has written.
///
/// # Errors
/// When the bytes are something else, or a histogram of more than can have been measured.
pub fn decode(bytes: &[u8]) -> Result<Times, UnreadableHistogram> {
    decode_as(bytes)
}

/// The same with counts of another type, which must have room for them.
///
/// # Errors
/// As [`decode`].
pub fn decode_as<C: Counter>(bytes: &[u8]) -> Result<Histogram<C>, UnreadableHistogram> {
    bearable(bytes)?;
    let times: Histogram<C> = Deserializer::new()
        .deserialize(&mut &bytes[..])
        .map_err(|error| UnreadableHistogram(error.to_string()))?;
    match times.len() {
        n if n > MOST_SAMPLES => Err(UnreadableHistogram(format!(
            "it has {n} samples, and may have {MOST_SAMPLES}"
        ))),
        _ => Ok(times),
    }
}

/// Does the head of a histogram's bytes speak of something that fits into a little memory? The reader takes as much as
/// the head says, whatever follows.
fn bearable(bytes: &[u8]) -> Result<(), UnreadableHistogram> {
    // Twice a cookie and a length; the second pair is compressed and followed by three words that say how the
    // values are divided.
    let mut head = [0; 16];
    let packed = bytes.get(8..).unwrap_or_default();
    ZlibDecoder::new(packed)
        .read_exact(&mut head)
        .map_err(|error| UnreadableHistogram(error.to_string()))?;
    let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let (length, digits) = (word(4), word(12));
    if length > MOST_BYTES {
        return Err(UnreadableHistogram(format!(
            "it declares {length} bytes, and may have {MOST_BYTES}"
        )));
    }
    if digits > u32::from(DIGITS) {
        return Err(UnreadableHistogram(format!(
            "its values are said to have {digits} digits, and may have {DIGITS}"
        )));
    }
    Ok(())
}
