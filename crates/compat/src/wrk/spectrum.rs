//! The detailed percentile spectrum of wrk2, which is HdrHistogram's "classic" table in milliseconds.

use prony_record::Times;
use std::fmt::Write;

/// Steps for each halving of the distance to 100 %.
const TICKS: f64 = 5.0;
/// Cells of a histogram's bucket at three digits.
const SUB_BUCKETS: u32 = 2_048;

/// The table, with its heading and the three lines below it.
pub(super) fn spectrum(times: &Times) -> String {
    let ms = |nanos: f64| nanos / 1e6;
    let mut text = format!(
        "{:>12} {:>12} {:>12} {:>12}\n\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    for step in steps(times) {
        let distance = 1.0 / (1.0 - step.quantile);
        writeln!(
            text,
            "{:12.3} {:12.6} {:12} {distance:12.2}",
            ms(step.value as f64),
            step.quantile,
            step.total
        )
        .expect("a string takes everything");
    }
    write!(
        text,
        "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]\n\
         #[Max     = {:12.3}, Total count    = {:12}]\n\
         #[Buckets = {:12}, SubBuckets     = {SUB_BUCKETS:12}]\n",
        ms(times.mean()),
        ms(times.stdev()),
        ms(times.max() as f64),
        times.len(),
        times.buckets()
    )
    .expect("a string takes everything");
    text
}

#[derive(Debug, PartialEq)]
struct SpectrumStep {
    /// Nanoseconds.
    value: u64,
    /// 0 to 1.
    quantile: f64,
    /// Samples up to this value.
    total: u64,
}

/// The values at quantiles that come the closer to 1 the closer together they are; each value is
/// there for every quantile that it reaches, but the greatest only for one and for 1.
fn steps(times: &Times) -> Vec<SpectrumStep> {
    let mut steps = Vec::new();
    let mut quantile = 0.0;
    let mut total = 0;
    for recorded in times.iter_recorded() {
        total += recorded.count_since_last_iteration();
        let value = recorded.value_iterated_to();
        let reached = total as f64 / times.len() as f64;
        let step = |quantile| SpectrumStep {
            value,
            quantile,
            total,
        };
        if total == times.len() {
            steps.extend([step(quantile), step(1.0)]);
            break;
        }
        while quantile <= reached {
            steps.push(step(quantile));
            let halvings = (1.0 / (1.0 - quantile)).log2().floor() + 1.0;
            quantile += 1.0 / (TICKS * 2.0_f64.powf(halvings));
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use prony_record::times::times;

    #[test]
    fn ten_samples_by_hand() {
        let mut it = times();
        for ms in 1..=10_u64 {
            it.record(ms * 1_000_000).unwrap();
        }
        let text = spectrum(&it);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..3],
            [
                "       Value   Percentile   TotalCount 1/(1-Percentile)",
                "",
                "       1.000     0.000000            1         1.00"
            ]
        );
        assert!(
            lines.contains(&"       5.001     0.500000            5         2.00"),
            "{text}"
        );
        assert!(
            lines.contains(&"      10.002     1.000000           10          inf"),
            "{text}"
        );
        let end = &lines[lines.len() - 3..];
        assert!(end[0].starts_with("#[Mean    =        5.50"), "{text}");
        assert_eq!(
            end[1],
            "#[Max     =       10.002, Total count    =           10]"
        );
        assert_eq!(
            end[2],
            "#[Buckets =           30, SubBuckets     =         2048]"
        );
    }

    #[test]
    fn nothing_has_no_steps() {
        assert_eq!(steps(&times()), []);
        assert!(spectrum(&times()).contains("Total count    =            0"));
    }
}
