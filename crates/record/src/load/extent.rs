//! How long a measurement lasts.

use crate::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::time::Duration;

/// Windows in a measurement when nothing else is said, and the bounds of their length.
const WINDOWS: u32 = 10;
const SHORTEST_WINDOW: Duration = Duration::from_millis(50);
const LONGEST_WINDOW: Duration = Duration::from_secs(1);
/// The window of a load whose length is not known beforehand.
const UNKNOWN_LENGTH_WINDOW: Duration = Duration::from_millis(100);
/// How long a measurement lasts. In JSON one of the keys `duration` and `requests` beside the other
/// options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// For a time.
    Duration(Span),
    /// For a number of requests, at least 1.
    Requests(u64),
}

impl Default for Extent {
    fn default() -> Self {
        Self::Duration(Span(Duration::from_secs(10)))
    }
}

impl Extent {
    /// The window of a measurement of this length when nothing else is said: a tenth of it, from
    /// 50 ms to 1 s.
    #[must_use]
    pub fn window(self) -> Duration {
        match self {
            Self::Duration(span) => (span.0 / WINDOWS).clamp(SHORTEST_WINDOW, LONGEST_WINDOW),
            Self::Requests(_) => UNKNOWN_LENGTH_WINDOW,
        }
    }
}

/// The JSON form of [`Extent`].
#[derive(Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Extent")]
struct ExtentKeys {
    /// For a time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    duration: Option<Span>,
    /// For a number of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
}

impl Serialize for Extent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = match *self {
            Self::Duration(span) => ExtentKeys {
                duration: Some(span),
                requests: None,
            },
            Self::Requests(n) => ExtentKeys {
                duration: None,
                requests: Some(n),
            },
        };
        keys.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Extent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys = ExtentKeys::deserialize(deserializer)?;
        Ok(match (keys.duration, keys.requests) {
            (Some(span), _) => Self::Duration(span),
            (None, Some(n)) => Self::Requests(n),
            (None, None) => Self::default(),
        })
    }
}

impl JsonSchema for Extent {
    fn schema_name() -> Cow<'static, str> {
        ExtentKeys::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ExtentKeys::json_schema(generator)
    }
}
