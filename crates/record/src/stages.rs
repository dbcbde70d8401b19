//! A rate, or a number of connections, that changes while a load lasts: stages one after the other, in each of which it
//! grows or falls evenly.

use crate::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A part of a load in which the rate, or the number of connections, goes evenly from one value to another.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// Requests per second at its beginning, above 0; or connections, at least 1.
    pub from: f64,
    /// At its end, likewise.
    pub to: f64,
    /// How long it is.
    pub duration: Span,
}

impl Stage {
    /// How many requests fall due in its first `seconds`: the area below the rate. Of connections: how many seconds they all
    /// have been there.
    #[must_use]
    pub fn due_in(&self, seconds: f64) -> f64 {
        let slope = (self.to - self.from) / self.duration.0.as_secs_f64();
        seconds * (self.from + slope * seconds / 2.0)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, duration } = self;
        match from == to {
            true => write!(f, "{from} for {duration}"),
            false => write!(f, "{from}..{to} for {duration}"),
        }
    }
}

/// How many requests fall due in the first `seconds`, see [`Stage::due_in`]; after the last stage its last value goes on.
#[must_use]
pub fn due_in(stages: &[Stage], seconds: f64) -> f64 {
    let mut left = seconds;
    let mut due = 0.0;
    for stage in stages {
        let length = stage.duration.0.as_secs_f64();
        if left <= length {
            return due + stage.due_in(left);
        }
        due += stage.due_in(length);
        left -= length;
    }
    due + left * stages.last().map_or(0.0, |stage| stage.to)
}

/// The length of all stages, in seconds.
#[must_use]
pub fn seconds(stages: &[Stage]) -> f64 {
    let lengths = stages.iter().map(|stage| stage.duration.0.as_secs_f64());
    lengths.sum()
}

/// In a line: `100 for 30s, 100..500 for 1m`.
#[must_use]
pub fn shown(stages: &[Stage]) -> String {
    let all: Vec<String> = stages.iter().map(ToString::to_string).collect();
    all.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_falls_due_is_the_area_below_the_rate() {
        let stage = |from, to, seconds| Stage {
            from,
            to,
            duration: Span(Duration::from_secs(seconds)),
        };
        let all = [stage(100.0, 100.0, 10), stage(100.0, 500.0, 10)];
        for (seconds, due) in [
            (0.0, 0.0),
            (5.0, 500.0),
            (10.0, 1_000.0),
            (15.0, 2_000.0),
            (20.0, 4_000.0),
            (21.0, 4_500.0),
        ] {
            assert!((due_in(&all, seconds) - due).abs() < 1e-9, "{seconds}");
        }
        assert_eq!(shown(&all), "100 for 10s, 100..500 for 10s");
    }
}
