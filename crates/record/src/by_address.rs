//! Observations of each address of a load, where its connections are spread over several.

use crate::times::times;
use crate::{Distributions, Nanos, Percentiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Observations of one address of a load that was spread over several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ByAddress {
    /// Address and port.
    pub address: String,
    /// Connections made, set-up included.
    pub connections: u64,
    /// Connections that could not be made, set-up included.
    pub not_connected: u64,
    /// Right answers in the measurement.
    pub answers: u64,
    /// Requests that ended in the measurement without the answer that was expected; those without a connection are not
    /// among them.
    pub failed: u64,
    /// Response times of the right answers; the other distributions are empty.
    pub times: Distributions,
    /// The last error of a connection that could not be made, in words; None: there was none.
    #[serde(default)]
    pub error: Option<String>,
}

impl ByAddress {
    /// Nothing seen yet of this address.
    #[must_use]
    pub fn new(address: String) -> Self {
        Self {
            address,
            connections: 0,
            not_connected: 0,
            answers: 0,
            failed: 0,
            times: Distributions {
                response: times(),
                ..Distributions::default()
            },
            error: None,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.not_connected += other.not_connected;
        self.answers += other.answers;
        self.failed += other.failed;
        self.times.merge(&other.times);
        if other.error.is_some() {
            self.error.clone_from(&other.error);
        }
    }
}

/// Adds `more` to `all`, by address.
pub fn merge(all: &mut Vec<ByAddress>, more: &[ByAddress]) {
    for one in more {
        match all.iter_mut().find(|known| known.address == one.address) {
            Some(known) => known.merge(one),
            None => all.push(one.clone()),
        }
    }
}

/// Observations of one address, without the distribution.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddressShare {
    /// Address and port.
    pub address: String,
    /// Connections made, set-up included.
    pub connections: u64,
    /// Connections that could not be made, set-up included.
    pub not_connected: u64,
    /// Right answers.
    pub answers: u64,
    /// Requests that ended without the answer that was expected; those without a connection are not among them.
    pub failed: u64,
    /// The median of the response times, in nanoseconds; null with too few samples.
    pub p50_ns: Option<Nanos>,
    /// The 99th percentile of the response times, in nanoseconds; null with too few samples.
    pub p99_ns: Option<Nanos>,
    /// The last error of a connection that could not be made; null: there was none.
    pub error: Option<String>,
}

impl From<&ByAddress> for AddressShare {
    fn from(one: &ByAddress) -> Self {
        let times = Percentiles::of(&one.times.response, one.failed);
        Self {
            address: one.address.clone(),
            connections: one.connections,
            not_connected: one.not_connected,
            answers: one.answers,
            failed: one.failed,
            p50_ns: times.p50,
            p99_ns: times.p99,
            error: one.error.clone(),
        }
    }
}
