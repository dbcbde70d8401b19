//! The limits of a service, within which its capacity is sought.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Limits of a service.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// The percentile of the response time that is limited, such as 99.
    pub percentile: f64,
    /// To how much, in milliseconds.
    pub within_ms: f64,
    /// The share of requests that may fail, 0 to 1.
    pub errors: f64,
}
