//! A rate, or how it changes while a load lasts.

use super::number::rate;
use prony_record::{Span, Stage};

/// What `--rate` says.
#[derive(Debug, Clone, PartialEq)]
pub enum Pace {
    /// The same throughout.
    Steady(f64),
    /// From one to the other, over the whole duration.
    Ramp(f64, f64),
    /// These, one after the other.
    Stages(Vec<Stage>),
}

/// `500`, `100..5000`, or `100 for 30s, 100..500 for 1m`.
pub fn pace(text: &str) -> Result<Pace, String> {
    if text.contains(" for ") || text.contains(',') {
        return text
            .split(',')
            .map(stage)
            .collect::<Result<_, _>>()
            .map(Pace::Stages);
    }
    match ends(text)? {
        (from, None) => Ok(Pace::Steady(from)),
        (from, Some(to)) => Ok(Pace::Ramp(from, to)),
    }
}

fn stage(text: &str) -> Result<Stage, String> {
    let (rates, duration) = text.trim().split_once(" for ").ok_or_else(|| {
        format!("{text:?} is not a stage: expected a rate and a duration, such as '500 for 1m' or '100..500 for 1m'")
    })?;
    let (from, to) = ends(rates.trim())?;
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

/// A rate, or the two ends of a change.
fn ends(text: &str) -> Result<(f64, Option<f64>), String> {
    match text.split_once("..") {
        Some((from, to)) => Ok((rate(from.trim())?, Some(rate(to.trim())?))),
        None => Ok((rate(text)?, None)),
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
        assert_eq!(
            pace("100 for 30s, 100..500 for 1m"),
            Ok(Pace::Stages(expected))
        );
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
        }
    }
}
