//! A rate or a number of connections, or how it changes while a load lasts.

use super::number::{count, rate};
use prony_record::{Span, Stage};

/// Value of `--rate` or `--connections`.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// The same throughout.
    Steady(f64),
    /// From one to the other, over the whole duration.
    Ramp(f64, f64),
    /// Stages, one after the other.
    Stages(Vec<Stage>),
}

/// Kind of value that a pace holds: how to parse it, and how errors name it.
struct PaceSyntax {
    value: fn(&str) -> Result<f64, String>,
    called: &'static str,
}

/// `500`, `100..5000`, or `100 for 30s, 100..500 for 1m`.
pub fn pace(text: &str) -> Result<Pace, String> {
    PaceSyntax {
        value: rate,
        called: "a rate",
    }
    .pace(text)
}

/// Parses a number of connections, a ramp, or stages: whole numbers.
pub fn connections(text: &str) -> Result<Pace, String> {
    PaceSyntax {
        value: |text| count::<u32>(text).map(f64::from),
        called: "a number of connections",
    }
    .pace(text)
}

/// One rate, for a verb that holds it for as long as it measures.
pub fn steady_rate(text: &str) -> Result<f64, String> {
    pace(text)?.steady()
}

/// One number of connections, for such a verb.
pub fn steady_connections(text: &str) -> Result<u32, String> {
    Ok(connections(text)?.steady()? as u32)
}

impl Pace {
    fn steady(self) -> Result<f64, String> {
        match self {
            Self::Steady(value) => Ok(value),
            Self::Ramp(..) | Self::Stages(_) => Err(
                "it has to stay the same here, since every segment is compared with others; `prony load` has ramps and stages"
                    .into(),
            ),
        }
    }

    /// The largest value.
    pub fn most(&self) -> f64 {
        match self {
            Self::Steady(value) => *value,
            Self::Ramp(from, to) => from.max(*to),
            Self::Stages(stages) => {
                let ends = stages.iter().map(|stage| stage.from.max(stage.to));
                ends.fold(0.0, f64::max)
            }
        }
    }

    /// Does it change while the load lasts?
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Steady(_))
    }

    /// The stages, of which a ramp is one that lasts for `duration`; none where nothing changes.
    pub fn stages(&self, duration: Span) -> Vec<Stage> {
        match *self {
            Self::Steady(_) => Vec::new(),
            Self::Ramp(from, to) => vec![Stage { from, to, duration }],
            Self::Stages(ref stages) => stages.clone(),
        }
    }
}

impl PaceSyntax {
    fn pace(&self, text: &str) -> Result<Pace, String> {
        if text.contains(" for ") || text.contains(',') {
            let stages = text.split(',').map(|text| self.stage(text));
            return stages.collect::<Result<_, _>>().map(Pace::Stages);
        }
        match self.ends(text)? {
            (from, None) => Ok(Pace::Steady(from)),
            (from, Some(to)) => Ok(Pace::Ramp(from, to)),
        }
    }

    fn stage(&self, text: &str) -> Result<Stage, String> {
        let called = self.called;
        let (values, duration) = text.trim().split_once(" for ").ok_or_else(|| {
            format!("{text:?} is not a stage: expected {called} and a duration, such as '500 for 1m' or '100..500 for 1m'")
        })?;
        let (from, to) = self.ends(values.trim())?;
        let duration: Span = duration
            .trim()
            .parse()
            .map_err(|error| format!("{error}"))?;
        match duration.0.is_zero() {
            true => Err(format!("{text:?} has no length")),
            false => Ok(Stage {
                from,
                to: to.unwrap_or(from),
                duration,
            }),
        }
    }

    /// A value, or the two ends of a change.
    fn ends(&self, text: &str) -> Result<(f64, Option<f64>), String> {
        let value = self.value;
        match text.split_once("..") {
            Some((from, to)) => Ok((value(from.trim())?, Some(value(to.trim())?))),
            None => Ok((value(text)?, None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn rates_ramps_and_stages() {
        assert_eq!(pace("2.5k"), Ok(Pace::Steady(2_500.0)));
        assert_eq!(pace("100..5k"), Ok(Pace::Ramp(100.0, 5_000.0)));
        let stage = |from, to, seconds| Stage {
            from,
            to,
            duration: Span(Duration::from_secs(seconds)),
        };
        let expected = vec![stage(100.0, 100.0, 30), stage(100.0, 500.0, 60)];
        let text = "100 for 30s, 100..500 for 1m";
        assert_eq!(pace(text), Ok(Pace::Stages(expected.clone())));
        assert_eq!(connections(text), Ok(Pace::Stages(expected)));
        assert_eq!(connections("1k"), Ok(Pace::Steady(1_000.0)));
        assert_eq!(connections("8..64").unwrap().most(), 64.0);
        assert_eq!(connections("9 for 1s, 8..2 for 1s").unwrap().most(), 9.0);
        for text in [
            "",
            "0",
            "0..5",
            "5..",
            "..5",
            "5 for",
            "5 for 0s",
            "5 for 1s,",
            "5, 6",
            "5 for x",
            "1..2..3",
        ] {
            assert!(pace(text).is_err(), "{text}");
            assert!(connections(text).is_err(), "{text}");
        }
        assert!(connections("1..2.5").is_err());
    }
}
