//! Limits of a server's processes, and their effect in a measurement.

use crate::{Nanos, Size};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// Limits of all processes of a server together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ServerLimits {
    /// CPU time per time; null: not limited.
    pub cpus: Option<CpuQuota>,
    /// Memory, including the file cache; null: not limited.
    pub memory: Option<Size>,
}

impl ServerLimits {
    /// Is nothing limited?
    #[must_use]
    pub const fn is_none(&self) -> bool {
        self.cpus.is_none() && self.memory.is_none()
    }
}

impl fmt::Display for ServerLimits {
    /// `at most 0.5 CPUs and 256 MiB`; empty without limits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.cpus, self.memory) {
            (None, None) => Ok(()),
            (Some(cpus), None) => write!(f, "at most {cpus}"),
            (None, Some(memory)) => write!(f, "at most {memory}"),
            (Some(cpus), Some(memory)) => write!(f, "at most {cpus} and {memory}"),
        }
    }
}

/// CPU time per time, in thousandths of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuQuota(u32);

/// The smallest quota, in thousandths of a CPU: 1 ms in each period, the least that kernels take.
const LEAST: u32 = 10;
/// The largest that is read: more CPUs than a machine has.
const MOST: f64 = 1e5;

/// A number that is no quota.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not a number of CPUs: expected 0.01 or more, such as 0.5")]
pub struct NotAQuota(String);

impl CpuQuota {
    /// Quota of so many CPUs.
    ///
    /// # Errors
    /// When that is less than 0.01, or no number of CPUs.
    pub fn new(cpus: f64) -> Result<Self, NotAQuota> {
        let thousandths = (cpus * 1000.0).round();
        match thousandths >= f64::from(LEAST) && cpus <= MOST {
            true => Ok(Self(thousandths as u32)),
            false => Err(NotAQuota(cpus.to_string())),
        }
    }

    /// Number of CPUs.
    #[must_use]
    pub fn cpus(self) -> f64 {
        f64::from(self.0) / 1000.0
    }

    /// CPU time in a period.
    #[must_use]
    pub fn of_period(self, period: Nanos) -> Nanos {
        period * u64::from(self.0) / 1000
    }
}

impl FromStr for CpuQuota {
    type Err = NotAQuota;

    fn from_str(text: &str) -> Result<Self, NotAQuota> {
        let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        let cpus = text.parse().ok().filter(|_| plain);
        Self::new(cpus.ok_or_else(|| NotAQuota(format!("{text:?}")))?)
    }
}

impl fmt::Display for CpuQuota {
    /// `0.5 CPUs`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.0 == 1000 { "" } else { "s" };
        write!(f, "{} CPU{s}", self.cpus())
    }
}

impl<'de> Deserialize<'de> for CpuQuota {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::new(f64::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

impl Serialize for CpuQuota {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.cpus())
    }
}

impl JsonSchema for CpuQuota {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CpuQuota".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "number",
            "description": "a number of CPUs, by their time",
            "minimum": 0.01,
            "examples": [0.5, 2],
        })
    }
}

/// Effect of a server's limits over a measurement, as the kernel counts it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LimitEffect {
    /// The limits.
    pub limits: ServerLimits,
    /// Periods of 100 ms in which the server had something to do; 0 without a limit of CPU time.
    pub periods: u64,
    /// Periods among them in which it had used up its CPU time and had to wait for the next one.
    pub throttled_periods: u64,
    /// How long it waited, in nanoseconds, summed over the CPUs on which it would have run.
    pub throttled_ns: Nanos,
    /// How often its memory had reached the limit, so that the kernel had to free some.
    pub memory_reached: u64,
    /// Processes of the server that the kernel killed because nothing could be freed.
    pub oom_kills: u64,
}

impl LimitEffect {
    /// Share of the periods in which the server was throttled, 0 to 1; None where none was counted.
    #[must_use]
    pub fn throttled(&self) -> Option<f64> {
        (self.periods > 0).then(|| self.throttled_periods as f64 / self.periods as f64)
    }

    /// Adds the effect in another measurement of the same server.
    pub(crate) const fn merge(&mut self, other: &Self) {
        self.periods += other.periods;
        self.throttled_periods += other.throttled_periods;
        self.throttled_ns += other.throttled_ns;
        self.memory_reached += other.memory_reached;
        self.oom_kills += other.oom_kills;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_as_people_write_them() {
        for (text, shown, period) in [
            ("0.5", "0.5 CPUs", 50_000_000),
            ("0.01", "0.01 CPUs", 1_000_000),
            ("1", "1 CPU", 100_000_000),
            ("2.25", "2.25 CPUs", 225_000_000),
        ] {
            let quota: CpuQuota = text.parse().unwrap();
            assert_eq!(quota.to_string(), shown);
            assert_eq!(quota.of_period(100_000_000), period);
            let json = serde_json::to_string(&quota).unwrap();
            assert_eq!(serde_json::from_str::<CpuQuota>(&json).unwrap(), quota);
        }
        for text in [
            "", "0", "0.001", "-1", "half", "inf", "nan", "1e3", "999999",
        ] {
            assert!(text.parse::<CpuQuota>().is_err(), "{text}");
        }
    }

    #[test]
    fn limits_in_words() {
        let limits = |cpus: Option<&str>, memory: Option<&str>| ServerLimits {
            cpus: cpus.map(|it| it.parse().unwrap()),
            memory: memory.map(|it| it.parse().unwrap()),
        };
        let both = limits(Some("0.5"), Some("256MiB"));
        assert_eq!(both.to_string(), "at most 0.5 CPUs and 256 MiB");
        assert_eq!(limits(None, Some("1GiB")).to_string(), "at most 1 GiB");
        assert_eq!(limits(Some("1"), None).to_string(), "at most 1 CPU");
        assert!(limits(None, None).is_none() && !both.is_none());
    }
}
