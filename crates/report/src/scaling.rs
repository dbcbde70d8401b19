//! How throughput grows with the number of workers, in figures and in a sentence.

use prony_stats::Estimate;
use prony_stats::scaling::{Fit, Law, Noise, Scaling, fit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A peak beyond this multiple of what was measured is no more than a figure of speech.
const FAR: f64 = 4.0;

/// A trial, as far as scaling goes.
#[derive(Debug, Clone, Copy)]
pub struct ScalingPoint<'a> {
    /// The server's name.
    pub server: &'a str,
    /// The load's label.
    pub load: &'a str,
    /// Number of the server's workers.
    pub workers: u32,
    /// Answers per second.
    pub rate: f64,
}

/// How a server scales under a load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ScalingReport {
    /// The server's name.
    pub server: String,
    /// The load's label.
    pub load: String,
    /// Contention σ of the Universal Scalability Law: the part that only one worker can do at a
    /// time. Null when the points cannot tell.
    pub sigma: Option<Estimate>,
    /// Coherency κ: what each pair of workers costs. Null when the points cannot tell.
    pub kappa: Option<Estimate>,
    /// σ of Amdahl's law, which has no κ.
    pub amdahl_sigma: Option<Estimate>,
    /// The number of workers at which the most is done, not rounded; null without a peak.
    pub peak_workers: Option<f64>,
    /// Interpretation of the figures, in a sentence.
    pub sentence: String,
}

/// Fits every server under every load that was measured with two numbers of workers or more.
pub fn scaling(points: &[ScalingPoint<'_>]) -> Vec<ScalingReport> {
    let mut groups: BTreeMap<(&str, &str), Vec<(f64, f64)>> = BTreeMap::new();
    for point in points.iter().filter(|point| point.rate > 0.0) {
        let group = groups.entry((point.load, point.server)).or_default();
        group.push((f64::from(point.workers), point.rate));
    }
    let several = |points: &[(f64, f64)]| points.iter().any(|(n, _)| *n != points[0].0);
    groups
        .into_iter()
        .filter(|(_, points)| several(points))
        .filter_map(|((load, server), points)| report(load, server, &points))
        .collect()
}

fn report(load: &str, server: &str, points: &[(f64, f64)]) -> Option<ScalingReport> {
    let universal = fit(points, Law::Universal, Noise::Proportional).ok()?;
    let amdahl = fit(points, Law::Amdahl, Noise::Proportional).ok()?;
    let amdahl_sigma = match &amdahl {
        Fit::Fitted(scaling) => Some(scaling.sigma),
        Fit::TooFewPoints { .. } => None,
    };
    let blank = |sentence: String| ScalingReport {
        server: server.to_owned(),
        load: load.to_owned(),
        sigma: None,
        kappa: None,
        amdahl_sigma,
        peak_workers: None,
        sentence,
    };
    Some(match universal {
        Fit::TooFewPoints { distinct, needed } => blank(format!(
            "{server} with more workers: {}; {distinct} numbers of workers cannot tell how it scales \
             ({needed} are needed)",
            change(points)
        )),
        Fit::Fitted(scaling) => ScalingReport {
            sigma: Some(scaling.sigma),
            kappa: Some(scaling.kappa),
            peak_workers: scaling.peak.map(|peak| peak.workers),
            ..blank(sentence(server, points, &scaling))
        },
    })
}

/// The mean rate of the most workers against that of the fewest.
fn change(points: &[(f64, f64)]) -> String {
    let ends = |pick: fn(f64, f64) -> f64| points.iter().map(|point| point.0).reduce(pick);
    let (Some(least), Some(most)) = (ends(f64::min), ends(f64::max)) else {
        return String::new();
    };
    let mean = |workers: f64| {
        let rates: Vec<f64> = points
            .iter()
            .filter(|point| point.0 == workers)
            .map(|point| point.1)
            .collect();
        rates.iter().sum::<f64>() / rates.len() as f64
    };
    format!(
        "{most} do {:.2}× what {least} does",
        mean(most) / mean(least)
    )
}

fn sentence(server: &str, points: &[(f64, f64)], scaling: &Scaling) -> String {
    let most = points.iter().map(|point| point.0).fold(0.0, f64::max);
    let mut text = format!("{server} with more workers: {}; ", change(points));
    match scaling.peak {
        Some(peak) if peak.measured => {
            text += &format!(
                "the most is done by about {:.1} workers, and adding one to {:.0} would lose",
                peak.workers,
                peak.workers.floor()
            );
        }
        Some(peak) if peak.high.is_some() && peak.workers < FAR * most => {
            text += &format!(
                "the law that fits puts the peak at {:.0} workers, beyond the {most} that were measured",
                peak.workers
            );
        }
        _ => {
            let next = scaling.rate(most + 1.0) / scaling.rate(most) - 1.0;
            text += &format!("one more would add about {:.0}%", 100.0 * next);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(rates: &[(u32, f64)]) -> Vec<ScalingPoint<'static>> {
        let point = |&(workers, rate): &(u32, f64)| ScalingPoint {
            server: "it",
            load: "c64",
            workers,
            rate,
        };
        rates.iter().map(point).collect()
    }

    #[test]
    fn two_points_cannot_tell() {
        let found = scaling(&points(&[(1, 100.0), (2, 190.0), (1, 101.0)]));
        assert_eq!(found.len(), 1);
        assert!(
            found[0].sentence.contains("cannot tell"),
            "{}",
            found[0].sentence
        );
        assert!(
            found[0].sentence.contains("2 do 1.89× what 1 does"),
            "{}",
            found[0].sentence
        );
        assert_eq!(found[0].sigma, None);
        assert!(scaling(&points(&[(1, 100.0), (1, 101.0)])).is_empty());
    }

    #[test]
    fn a_peak_is_named_where_it_was_seen() {
        // The law with σ = 0.05 and κ = 0.02 has its peak at √(0.95/0.02) = 6.9.
        let law = |n: f64| 1_000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.02 * n * (n - 1.0));
        let rates: Vec<(u32, f64)> = (1..=10).map(|n| (n, law(f64::from(n)))).collect();
        let found = &scaling(&points(&rates))[0];
        assert!((found.peak_workers.unwrap() - 6.9).abs() < 0.1);
        assert!(
            found.sentence.contains("adding one to 6 would lose"),
            "{}",
            found.sentence
        );
        let linear: Vec<(u32, f64)> = (1..=8).map(|n| (n, 100.0 * f64::from(n))).collect();
        let found = &scaling(&points(&linear))[0];
        assert!(
            found.sentence.contains("one more would add about 1"),
            "{}",
            found.sentence
        );
    }
}
