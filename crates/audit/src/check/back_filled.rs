//! `back-filled`: latencies of requests that were never sent.
//!
//! After the run wrk takes the mean time between two requests of a connection, runtime ÷ (requests
//! ÷ connections), for the interval at which requests were due, and adds to every sample of at least
//! twice that interval further ones, each an interval shorter (`stats_correct` in its `stats.c`).

use super::{CheckInput, UnnamedFinding, of_all, serious, time, warning};
use crate::model::{Tool, ToolOutput};
use prony_checks::{CheckId, Explanation};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: CheckId::BackFilled,
    cause: "Part of the latency samples belong to requests that were never sent: after the run, wrk adds samples for every answer that was late. Mean, deviation and percentiles therefore include invented times. Rate and maximum are not affected.",
    evidence: "The longest answer took at least twice the mean time between two requests of a connection (connections / rate), and the mean is above that time, or the samples invented for this one answer are a visible part of the mean; or a histogram contains more samples than there were requests.",
    remedy: "Send at a fixed rate in an open loop, and measure from when each request was due: prony load --rate, or wrk2.",
};

/// Back-filling changes little when the mean stays this near to what Little's law allows.
const VISIBLE: f64 = 1.05;
/// Samples from this multiple of the interval on are filled.
const FILLED_FROM: f64 = 2.0;
/// wrk2's histogram leaves samples out while it calibrates, and never has more than requests; a few
/// were in flight when they were counted.
const MORE: f64 = 1.01;

pub(super) fn check(seen: &CheckInput<'_>) -> Vec<UnnamedFinding> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        let outputs = document.outputs.iter().filter(|output| !output.by_prony());
        let of_wrk: Vec<_> = outputs.filter(|o| o.block.tool == Tool::Wrk).collect();
        let filled: Vec<_> = of_wrk
            .iter()
            .filter_map(|output| {
                let rate = output.block.true_rate()?;
                // wrk's correction knows of no pipelining: each answer of a batch of sixteen waits for
                // longer than it expects.
                let interval = output.connections()? as f64 / rate;
                let mean = output.block.latency.mean?;
                let max = output.block.latency.max?;
                let long = max.what.value >= FILLED_FROM * interval;
                let visible = mean.what.low() >= VISIBLE * interval
                    || raised_by_one(output, interval, max.what.value, mean.what.value) >= VISIBLE;
                (interval.is_finite() && long && visible).then_some((output, interval, max, mean))
            })
            .collect();
        let longest = filled
            .iter()
            .max_by(|a, b| (a.2.what.value / a.1).total_cmp(&(b.2.what.value / b.1)));
        if let Some((output, interval, max, _)) = longest {
            let text = format!(
                "{}wrk adds invented samples for every answer that took longer than twice the mean time \
                 between a connection's requests. In {} that time is {}: for the longest answer, {}, \
                 it added some {:.0} invented ones. Mean, deviation and percentiles include such \
                 samples; the rate and the maximum do not. Send at a fixed rate instead \
                 (`prony load --rate`, wrk2)",
                of_all(filled.len(), of_wrk.len(), "outputs show it"),
                output.called(),
                time(*interval),
                time(max.what.value),
                (max.what.value / interval - 1.0).floor(),
            );
            let lines = filled.iter().map(|(.., mean)| mean.line);
            remarks.push(warning(document, lines, text));
        }
        for output in &document.outputs {
            let (Some(samples), Some(requests)) =
                (output.block.latency.samples, output.block.requests)
            else {
                continue;
            };
            if samples.what as f64 > MORE * requests.what as f64 {
                let text = format!(
                    "the histogram of {} has {} samples, but only {} requests were made: the others \
                     were invented",
                    output.called(),
                    samples.what,
                    requests.what
                );
                let lines = [samples.line, requests.line];
                remarks.push(serious(document, lines, text));
            }
        }
    }
    remarks
}

/// The factor by which the samples that were invented for the longest answer alone have raised the mean: one for each
/// interval that it took, but for the last.
fn raised_by_one(output: &ToolOutput, interval: f64, max: f64, mean: f64) -> f64 {
    let Some(requests) = output.block.requests else {
        return 1.0;
    };
    let invented = (max / interval - 1.0).floor();
    let sum = invented * max - interval * invented * (invented + 1.0) / 2.0;
    let measured = requests.what as f64;
    let without = (mean * (measured + invented) - sum) / measured;
    if without > 0.0 { mean / without } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CheckId, of, wrk};

    #[test]
    fn wrk_with_a_stall() {
        // 64 connections at 32,000/s: 2 ms between the requests of each.
        let stalled = wrk(&[(" 2.00ms", " 2.50ms"), (" 3.90ms", "202.00ms")]);
        let found = of(CheckId::BackFilled, &stalled);
        assert_eq!(found[0].lines, [4]);
        assert!(
            found[0].finding.text.contains("some 100 invented"),
            "{found:?}"
        );
        assert_eq!(of(CheckId::BackFilled, &wrk(&[])), []);
        // Stalled too briefly to be visible.
        assert_eq!(
            of(CheckId::BackFilled, &wrk(&[(" 3.90ms", "202.00ms")])),
            []
        );
    }

    #[test]
    fn a_histogram_with_too_many_samples() {
        let spectrum = "  Latency Distribution (HdrHistogram - Recorded Latency)\n \
            99.000%    3.00ms\n  Detailed Percentile spectrum:\n\
            #[Max     =       34.816, Total count    =       960001]\n  960000 requests in";
        let honest = wrk(&[("  960000 requests in", spectrum)]);
        assert_eq!(of(CheckId::BackFilled, &honest), []);
        let many = honest.replace("960001]", "1960001]");
        assert_eq!(of(CheckId::BackFilled, &many).len(), 1);
    }
}
