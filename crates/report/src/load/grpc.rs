//! Report on a load over gRPC.

use crate::show;
use prony_record::Grpc;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Observations of gRPC.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GrpcReport {
    /// Messages in the answers to the calls that ended in the measurement.
    pub messages: u64,
    /// The same per second.
    pub messages_per_second: f64,
    /// Calls that ended in the measurement by their status, such as `OK`; `none` where the answer had no status.
    pub statuses: BTreeMap<String, u64>,
}

impl GrpcReport {
    /// Report on a measurement of `seconds` seconds.
    #[must_use]
    pub fn of(seen: &Grpc, seconds: f64) -> Self {
        Self {
            messages: seen.messages,
            messages_per_second: match seconds > 0.0 {
                true => seen.messages as f64 / seconds,
                false => 0.0,
            },
            statuses: seen.statuses.clone(),
        }
    }

    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let statuses: Vec<String> = self
            .statuses
            .iter()
            .map(|(name, n)| format!("{name} {}", show::count(*n)))
            .collect();
        let statuses = match statuses.is_empty() {
            true => String::new(),
            false => format!("; status {}", statuses.join(", ")),
        };
        format!(
            "{} messages received, {} messages/s{statuses}",
            show::count(self.messages),
            show::per(self.messages_per_second)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_a_rate() {
        let seen = Grpc {
            messages: 3_000,
            statuses: [("OK".to_owned(), 30), ("UNAVAILABLE".to_owned(), 2)].into(),
        };
        assert_eq!(
            GrpcReport::of(&seen, 2.0).line(),
            "3,000 messages received, 1.50k messages/s; status OK 30, UNAVAILABLE 2"
        );
        assert_eq!(GrpcReport::of(&seen, 0.0).messages_per_second, 0.0);
    }
}
