//! Output of wrk and wrk2.

use super::args::Args;
use super::spectrum::spectrum;
use super::units::{binary, column, metric, time_s, time_us};
use crate::shared::load::errors;
use crate::shared::stats::Stats;
use prony_engine::{Detail, IoActivity, clock};
use prony_record::{Observation, Times};
use std::fmt::Write;
use std::time::Duration;

const RULE: &str = "----------------------------------------------------------\n";

/// Errors, as wrk sorts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Errors {
    pub connect: u64,
    pub read: u64,
    pub write: u64,
    pub timeout: u64,
    /// Answers with a status above 399.
    pub status: u64,
}

/// Results of a load, in wrk's terms.
#[derive(Debug)]
pub(super) struct WrkResults {
    /// Done − due, in microseconds.
    pub latency: Stats,
    /// Answers per second of each thread in each window.
    pub rates: Stats,
    /// Microseconds.
    pub duration: u64,
    /// Answers, right or wrong.
    pub requests: u64,
    /// Received.
    pub bytes: u64,
    pub errors: Errors,
}

impl WrkResults {
    /// Returns the outcome of a load whose requests and connections may take as long as `timeout`.
    pub(super) fn of(seen: &Observation, detail: &Detail, timeout: Duration) -> Self {
        let worker_rates = &detail.worker_rates[..];
        let outcomes = &seen.outcomes;
        // An answer that breaks the protocol has no status; wrk calls it a failed read.
        let broken = outcomes.status.class(0);
        // Nothing was asked on a connection that was never made: its time-out is no response time.
        let unmade: u64 = errors(detail)
            .iter()
            .filter(|met| met.doing == IoActivity::Connecting && met.timed_out())
            .map(|met| met.count)
            .sum();
        let latency = Stats::of_times(&seen.times.response);
        let patience = u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX);
        let latency = latency.without_greatest(unmade, patience);
        let unmade = unmade.min(outcomes.timeout);
        // wrk has no sample of a thread that got no answer since the last.
        let answered = worker_rates.iter().any(|&rate| rate > 0.0);
        Self {
            latency,
            rates: Stats::of_rates(if answered { worker_rates } else { &[] }),
            duration: seen.measured_ns / 1_000,
            requests: outcomes.ok + outcomes.wrong_answer - broken,
            // What TLS adds to them is not among them.
            bytes: detail.plain.map_or(seen.bytes_received, |it| it.received),
            errors: Errors {
                connect: outcomes.connect_error + unmade,
                // Bytes behind an answer are an answer that breaks the protocol, to wrk.
                read: outcomes.read_error + broken + outcomes.unsolicited,
                write: outcomes.write_error,
                timeout: outcomes.timeout - unmade,
                status: outcomes.status.class(4) + outcomes.status.class(5),
            },
        }
    }
}

/// Returns the text that is printed before the load begins.
pub(super) fn heading(args: &Args) -> String {
    format!(
        "Running {} test @ {}\n  {} threads and {} connections\n",
        time_s(args.duration.as_secs()),
        args.url.text,
        args.threads,
        args.connections
    )
}

/// Returns the text that is printed when the load has ended.
pub(super) fn report(args: &Args, outcome: &WrkResults, seen: &Observation) -> String {
    let mut text = String::from("  Thread Stats   Avg      Stdev     Max   +/- Stdev\n");
    row(&mut text, "Latency", &outcome.latency, time_us);
    row(&mut text, "Req/Sec", &outcome.rates, metric);
    if args.latency {
        if args.rate.is_some() {
            histogram(&mut text, &seen.times.response, "Recorded Latency");
        } else {
            distribution(&mut text, &outcome.latency);
        }
    }
    if args.uncorrected {
        text += "\n";
        histogram(
            &mut text,
            &seen.times.service,
            "Uncorrected Latency (measured without taking delayed starts into account)",
        );
    }
    let errors = &outcome.errors;
    let seconds = outcome.duration as f64 / 1e6;
    let per_second = |n: u64| if n == 0 { 0.0 } else { n as f64 / seconds };
    line(
        &mut text,
        format_args!(
            "  {} requests in {}, {}B read",
            outcome.requests,
            time_us(outcome.duration as f64),
            binary(outcome.bytes as f64)
        ),
    );
    if errors.connect + errors.read + errors.write + errors.timeout > 0 {
        line(
            &mut text,
            format_args!(
                "  Socket errors: connect {}, read {}, write {}, timeout {}",
                errors.connect, errors.read, errors.write, errors.timeout
            ),
        );
    }
    if errors.status > 0 {
        line(
            &mut text,
            format_args!("  Non-2xx or 3xx responses: {}", errors.status),
        );
    }
    line(
        &mut text,
        format_args!("Requests/sec: {:9.2}", per_second(outcome.requests)),
    );
    line(
        &mut text,
        format_args!("Transfer/sec: {:>10}B", binary(per_second(outcome.bytes))),
    );
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("a string takes everything");
}

fn row(text: &mut String, name: &str, stats: &Stats, unit: fn(f64) -> String) {
    // wrk divides by nothing here, and prints what that gives.
    let within = stats
        .within_stdev()
        .map_or_else(|| "-nan".into(), |percent| format!("{percent:.2}"));
    line(
        text,
        format_args!(
            "    {name:<10}{}{}{}{within:>8}%",
            column(&unit(stats.mean()), 8),
            column(&unit(stats.stdev()), 10),
            column(&unit(stats.max() as f64), 9),
        ),
    );
}

fn distribution(text: &mut String, stats: &Stats) {
    *text += "  Latency Distribution\n";
    for percent in [50.0, 75.0, 90.0, 99.0] {
        let value = time_us(stats.percentile(percent) as f64);
        line(text, format_args!("{percent:7.0}%{}", column(&value, 10)));
    }
}

fn histogram(text: &mut String, times: &Times, title: &str) {
    line(
        text,
        format_args!("  Latency Distribution (HdrHistogram - {title})"),
    );
    for percent in [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0] {
        let micros = clock_micros(times.value_at_quantile(percent / 100.0));
        line(
            text,
            format_args!("{percent:7.3}%{}", column(&time_us(micros), 10)),
        );
    }
    *text += "\n  Detailed Percentile spectrum:\n";
    *text += &spectrum(times);
    *text += RULE;
}

/// Whole microseconds, as wrk2 counts.
fn clock_micros(nanos: clock::Nanos) -> f64 {
    (nanos / 1_000) as f64
}

#[cfg(test)]
mod tests {
    use super::super::args::Parsed;
    use super::*;

    fn args(line: &str) -> Args {
        Parsed::from(line.split(' ').map(Into::into).collect())
            .args
            .unwrap()
    }

    fn outcome() -> WrkResults {
        WrkResults {
            latency: [(100, 1), (200, 2), (3_940, 1)].into_iter().collect(),
            rates: Stats::of_rates(&[81_660.0, 97_440.0]),
            duration: 1_100_000,
            requests: 170_407,
            bytes: 23_341_301,
            errors: Errors::default(),
        }
    }

    #[test]
    fn the_heading() {
        assert_eq!(
            heading(&args("-t2 -c4 -d1s http://127.0.0.1:18461/x")),
            "Running 1s test @ http://127.0.0.1:18461/x\n  2 threads and 4 connections\n"
        );
    }

    #[test]
    fn rows_stand_in_wrks_columns() {
        let mut text = String::new();
        row(&mut text, "Latency", &outcome().latency, time_us);
        row(&mut text, "Req/Sec", &outcome().rates, metric);
        row(&mut text, "Nothing", &Stats::default(), time_us);
        assert_eq!(
            text,
            "    Latency     1.11ms    1.89ms   3.94ms   75.00%\n\
             \x20   Req/Sec    89.55k    11.16k   97.44k   100.00%\n\
             \x20   Nothing     0.00us    0.00us   0.00us    -nan%\n"
        );
    }

    #[test]
    fn percentiles() {
        let mut text = String::new();
        distribution(&mut text, &outcome().latency);
        assert_eq!(
            text,
            "  Latency Distribution\n     50%  200.00us\n     75%    3.94ms\n     90%    3.94ms\n     99%    3.94ms\n"
        );
    }
}
