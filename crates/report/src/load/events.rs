//! Events of the streams that a load received.

use super::interval_of;
use crate::show;
use prony_record::{Load, Observation};
use prony_stats::throughput::Count;
use prony_stats::{Estimate, Unit};
use schemars::JsonSchema;
use serde::Serialize;

/// Events of the streams that a load received. Times to the first event, and between events, are in `latency`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EventReport {
    /// Events in the measurement.
    pub events: u64,
    /// Events per second.
    pub rate: Estimate,
    /// Streams that ended in the measurement, as they should.
    pub ended: u64,
    /// Mean number of events of a stream that ended; null if none did.
    pub each: Option<f64>,
    /// Streams that were open when the load ended.
    pub open: u64,
    /// Tokens of the streams that ended; absent where none are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenReport>,
    /// CPU time that the generator used for each event, in microseconds.
    pub generator_cpu_us: Option<f64>,
}

/// Tokens that the streams of model servers said they had.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TokenReport {
    /// Tokens of the streams that ended in the measurement.
    pub tokens: u64,
    /// Tokens per second of the measurement.
    pub per_second: f64,
    /// Mean number of tokens of a stream that ended.
    pub each: f64,
}

impl TokenReport {
    fn of(seen: &Observation) -> Option<Self> {
        let streams = seen.streams;
        (streams.tokens > 0 && streams.ended > 0 && seen.measured_ns > 0).then(|| Self {
            tokens: streams.tokens,
            per_second: streams.tokens as f64 / seen.seconds(),
            each: streams.tokens as f64 / streams.ended as f64,
        })
    }

    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{}, {} tokens/s, {} in a stream",
            show::count(self.tokens),
            show::per(self.per_second),
            show::per(self.each)
        )
    }
}

impl EventReport {
    /// Events that a load received; None where no answer was a stream.
    #[must_use]
    pub fn of(load: &Load, seen: &Observation) -> Option<Self> {
        let streams = seen.streams;
        if !streams.any() {
            return None;
        }
        let windows = seen.measured_windows();
        let windows: Vec<Count> = windows
            .map(|window| Count {
                answers: window.events,
                seconds: window.seconds(),
            })
            .collect();
        let value = match seen.measured_ns {
            0 => 0.0,
            _ => streams.events as f64 / seen.seconds(),
        };
        let (interval, n) = interval_of(load, value, &windows);
        let rate = Estimate::new(value, interval, n, Unit::PerSecond)
            .or_else(|_| Estimate::new(value, None, 1, Unit::PerSecond))
            .expect("a rate is finite");
        let work = seen.generator.work_ns;
        Some(Self {
            events: streams.events,
            rate,
            ended: streams.ended,
            each: streams.events_each(),
            open: streams.open,
            tokens: TokenReport::of(seen),
            generator_cpu_us: (streams.events > 0 && work > 0)
                .then(|| work as f64 / 1e3 / streams.events as f64),
        })
    }

    /// The rate, as `6.39k events/s`.
    #[must_use]
    pub fn per_second(&self) -> String {
        format!("{} events/s", show::per(self.rate.value()))
    }

    /// In a line: how many events, and what became of their streams.
    #[must_use]
    pub fn line(&self) -> String {
        let each = match self.each {
            Some(each) => format!(", {} in a stream", show::per(each)),
            None => String::new(),
        };
        let open = match self.open {
            0 => String::new(),
            open => format!(", {} open at the end", show::count(open)),
        };
        let cpu = match self.generator_cpu_us {
            Some(us) => format!("; generator {} CPU per event", show::time(us * 1e3)),
            None => String::new(),
        };
        format!(
            "{}{each}; {} streams ended{open}{cpu}",
            show::count(self.events),
            show::count(self.ended)
        )
    }
}
