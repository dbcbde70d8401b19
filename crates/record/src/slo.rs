//! Limits that a single answer keeps all at once.

use crate::{Nanos, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A service level objective: an answer is good if it is right and keeps all of these limits. Written
/// `first-event < 200ms, gap < 50ms`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Slo {
    /// From when its request was due until it ended.
    pub response: Option<Span>,
    /// Until the first event of a stream; of another answer, until it ended.
    pub first_event: Option<Span>,
    /// The longest time between two events.
    pub gap: Option<Span>,
    /// The mean time between two events: from the first to the last, divided by their number less one.
    pub mean_gap: Option<Span>,
}

/// Times of an answer that an objective limits, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnswerTimes {
    /// From when its request was due until it ended.
    pub response: Nanos,
    /// Until its first event.
    pub first_event: Nanos,
    /// The longest time between two events; 0 if there are no two.
    pub gap: Nanos,
    /// The mean time between two events.
    pub mean_gap: Nanos,
}

impl Slo {
    /// Does an answer keep all limits?
    #[must_use]
    pub fn is_kept(&self, times: AnswerTimes) -> bool {
        let within = |limit: Option<Span>, time: Nanos| {
            limit.is_none_or(|limit| u128::from(time) <= limit.0.as_nanos())
        };
        within(self.response, times.response)
            && within(self.first_event, times.first_event)
            && within(self.gap, times.gap)
            && within(self.mean_gap, times.mean_gap)
    }

    fn parts(&self) -> [(&'static str, Option<Span>); 4] {
        [
            ("response", self.response),
            ("first-event", self.first_event),
            ("gap", self.gap),
            ("mean-gap", self.mean_gap),
        ]
    }
}

impl fmt::Display for Slo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts().into_iter();
        let parts = parts.filter_map(|(name, limit)| Some(format!("{name} < {}", limit?)));
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

impl From<Slo> for String {
    fn from(slo: Slo) -> Self {
        slo.to_string()
    }
}

impl TryFrom<String> for Slo {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl JsonSchema for Slo {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Slo".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "limits of response, first-event, gap or mean-gap that an answer keeps all at once",
            "examples": ["first-event < 200ms, gap < 50ms"],
        })
    }
}

impl FromStr for Slo {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut slo = Self::default();
        for part in text.split(',') {
            let wrong = |why: &str| {
                format!(
                    "{:?} {why}: write something like 'first-event < 200ms, gap < 50ms'",
                    part.trim()
                )
            };
            let (name, limit) = part
                .split_once("<=")
                .or_else(|| part.split_once('<'))
                .ok_or_else(|| wrong("is no limit"))?;
            if limit.trim().parse::<f64>().is_ok() {
                return Err(wrong("has no unit"));
            }
            let limit: Span = limit
                .trim()
                .parse()
                .map_err(|error| wrong(&format!("is no limit of a time ({error})")))?;
            let place = match name.trim() {
                "response" => &mut slo.response,
                "first-event" | "ttft" => &mut slo.first_event,
                "gap" => &mut slo.gap,
                "mean-gap" | "tpot" => &mut slo.mean_gap,
                _ => {
                    return Err(wrong(
                        "limits nothing that is known (response, first-event or ttft, gap, mean-gap or tpot)",
                    ));
                }
            };
            if place.replace(limit).is_some() {
                return Err(wrong("is the second limit of this time"));
            }
        }
        Ok(slo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_limits_at_once() {
        let slo: Slo = "ttft < 200ms, gap<=50ms".parse().unwrap();
        assert_eq!(slo.to_string(), "first-event < 200ms, gap < 50ms");
        assert_eq!(slo.to_string().parse(), Ok(slo));
        let ms = 1_000_000;
        let times = |first_event, gap| AnswerTimes {
            response: 9_000 * ms,
            first_event: first_event * ms,
            gap: gap * ms,
            mean_gap: gap * ms,
        };
        assert!(slo.is_kept(times(200, 50)));
        assert!(!slo.is_kept(times(201, 50)) && !slo.is_kept(times(1, 51)));
        for (text, why) in [
            ("", "is no limit"),
            ("gap", "is no limit"),
            ("gap < 50", "has no unit"),
            ("gap < soon", "is no limit of a time"),
            ("latency < 1s", "limits nothing that is known"),
            ("gap < 1s, gap < 2s", "is the second limit"),
        ] {
            let error = text.parse::<Slo>().unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
