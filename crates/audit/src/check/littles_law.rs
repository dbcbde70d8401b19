//! `littles-law`: rate and mean response time say that more requests were in flight than there were
//! connections.

use super::{Seen, of_all, remark};
use crate::audit::Remark;
use prony_checks::{Explanation, Severity, littles_law};

pub(super) const EXPLANATION: Explanation = Explanation {
    name: "littles-law",
    cause: "Rate and mean response time give more requests in flight than there were connections, which is impossible. The usual cause is a mean over invented samples (back-filled).",
    evidence: "Rate x mean response time, compared with connections x pipeline depth. Serious from a factor of 1.5 on. Not raised for open loops, nor for pipelines of unknown depth.",
    remedy: "Trust the rate, but none of the response times.",
};

/// From here on the mean is off by half: no figure of that distribution stands.
const SERIOUS: f64 = 1.5;
/// Below this number of requests those that were cut off at the end weigh too much.
const ENOUGH: f64 = 1_000.0;

pub(super) fn check(seen: &Seen<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for document in seen.documents {
        let looked_at = document.outputs.iter().filter_map(|output| {
            let depth = output.depth()?;
            let rate = output.block.rate?.what.value;
            let mean = output.block.latency.mean?;
            (output.block.ended()? >= ENOUGH && depth > 0.0).then_some(())?;
            Some((output, depth, rate, mean))
        });
        let looked_at: Vec<_> = looked_at.collect();
        // Fewer than there are connections is no contradiction here: time spent on connecting, or
        // waiting between requests, is in no tool's response time.
        let broken: Vec<_> = looked_at
            .iter()
            .filter(|(_, depth, rate, mean)| rate * mean.what.low() > *depth)
            .filter_map(|&(output, depth, rate, mean)| {
                littles_law(rate, mean.what.low(), depth)?;
                let finding = littles_law(rate, mean.what.value, depth)?;
                Some((output, rate * mean.what.value / depth, mean.line, finding))
            })
            .collect();
        let worst = broken.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        let Some((output, ratio, _, finding)) = worst else {
            continue;
        };
        let severity = if *ratio >= SERIOUS {
            Severity::Serious
        } else {
            Severity::Warning
        };
        let text = format!(
            "{}{} is off by the largest factor, {ratio:.1} times: {}. Trust only the rate",
            of_all(
                broken.len(),
                looked_at.len(),
                "outputs contradict themselves"
            ),
            output.called(),
            finding.text,
        );
        let lines = broken.iter().map(|(_, _, line, _)| *line);
        remarks.push(remark(EXPLANATION.name, severity, document, lines, text));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::testing::{of, wrk};
    use prony_checks::Severity;

    #[test]
    fn more_in_flight_than_connections() {
        let found = of(
            "littles-law",
            &wrk(&[(" 2.00ms", "66.00ms"), ("3.90ms", " 1.84s")]),
        );
        assert_eq!(found.len(), 1);
        assert_eq!(
            (found[0].lines.as_slice(), found[0].finding.severity),
            ([4].as_slice(), Severity::Serious)
        );
        assert!(found[0].finding.text.contains("33.0 times"), "{found:?}");
        let little = of("littles-law", &wrk(&[(" 2.00ms", " 2.30ms")]));
        assert_eq!(little[0].finding.severity, Severity::Warning);
    }

    #[test]
    fn rounding_pipelining_and_open_loops_are_no_contradiction() {
        // hey prints four decimals: 0.0004 s may be 0.00035 s.
        let hey = "    hey -z 10s -c 16 http://10.0.0.2/\n\nSummary:\n  Total:\t10.0 secs\n  \
            Slowest:\t0.0175 secs\n  Average:\t0.0004 secs\n  Requests/sec:\t45000.0\n";
        assert_eq!(of("littles-law", hey), []);
        // Eight streams on each of ten connections: only the command line would tell.
        let h2load = "starting benchmark...\nspawning thread #0: 10 total client(s). 90000 total requests\n\
            Application protocol: h2\n\nfinished in 1.00s, 80000.00 req/s, 2.53MB/s\n\
            requests: 80000 total, 80000 started, 80000 done, 80000 succeeded, 0 failed, 0 errored, 0 timeout\n\
            time for request:       62us      5.94ms      1.00ms       110us    96.65%\n";
        assert_eq!(of("littles-law", h2load), []);
        let command = "    h2load -c10 -m8 -n80000 http://10.0.0.2/\n\n";
        assert_eq!(of("littles-law", &(command.to_owned() + h2load)), []);
        let shallow = command.replace("-m8", "-m1") + h2load;
        assert_eq!(of("littles-law", &shallow).len(), 1);
        let deep = [(" 2.00ms", "32.00ms"), ("3.90ms", "40.00ms")];
        assert_eq!(
            of("littles-law", &("# Pipelined\n".to_owned() + &wrk(&deep))),
            []
        );
        let open = "    wrk2 -R32000 -c64 http://10.0.0.2/\n\n".to_owned() + &wrk(&deep);
        let open = open.replace(
            "  Thread Stats",
            "  Thread calibration: mean lat.: 1ms\n  Thread Stats",
        );
        assert_eq!(of("littles-law", &open), []);
    }
}
