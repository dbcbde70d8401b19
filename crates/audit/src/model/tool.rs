//! Load generators.

use schemars::JsonSchema;
use serde::Serialize;
use std::fmt;

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    /// wrk
    Wrk,
    /// wrk2
    Wrk2,
    /// `ApacheBench`
    Ab,
    /// httperf
    Httperf,
    /// weighttp
    Weighttp,
    /// h2load
    H2load,
    /// oha
    Oha,
    /// hey
    Hey,
    /// k6
    K6,
    /// The client of the published benchmark of TCP echo servers.
    EchoClient,
    /// autocannon
    Autocannon,
    /// bombardier
    Bombardier,
    /// vegeta
    Vegeta,
    /// `JMeter`
    Jmeter,
    /// Locust
    Locust,
    /// siege
    Siege,
    /// fortio
    Fortio,
    /// ghz
    Ghz,
    /// rewrk
    Rewrk,
    /// Gatling
    Gatling,
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wrk => "wrk",
            Self::Wrk2 => "wrk2",
            Self::Ab => "ab",
            Self::Httperf => "httperf",
            Self::Weighttp => "weighttp",
            Self::H2load => "h2load",
            Self::Oha => "oha",
            Self::Hey => "hey",
            Self::K6 => "k6",
            Self::EchoClient => "echo-client",
            Self::Autocannon => "autocannon",
            Self::Bombardier => "bombardier",
            Self::Vegeta => "vegeta",
            Self::Jmeter => "jmeter",
            Self::Locust => "locust",
            Self::Siege => "siege",
            Self::Fortio => "fortio",
            Self::Ghz => "ghz",
            Self::Rewrk => "rewrk",
            Self::Gatling => "gatling",
        })
    }
}
