//! HdrHistogram's own formats: the log, and the table of percentiles that plotters of HdrHistogram
//! take.

use crate::PageError;
use crate::material::Material;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use prony_record::times::Kind;
use prony_record::{Distributions, Times};
use std::fmt::Write;
use std::time::{Duration, SystemTime};

/// Values are written in milliseconds where a format says a unit, as HdrHistogram's tools expect.
const PER_MILLISECOND: f64 = 1e6;
/// Lines for each halving of what is left above: HdrHistogram's own default.
const PER_HALVING: u32 = 5;

/// The response times of every trial as a log of intervals, in the order of time. The tag is
/// `server|load|round`, with `_` for what a tag may not have.
///
/// # Errors
/// When a histogram of the notebook cannot be read.
pub fn hlog(material: &Material) -> Result<String, PageError> {
    let began = SystemTime::from(material.run.facts.started);
    let mut out = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder
        .add_comment(&format!("prony, run {}: response times", material.run.id))
        .add_comment("values are nanoseconds; the column of the maximum is milliseconds")
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(PER_MILLISECOND);
    let mut parts: Vec<_> = material.trials.iter().collect();
    parts.sort_by_key(|part| part.trial().started);
    let failed = |error: &dyn std::fmt::Debug| -> ! {
        // Writing to memory fails when memory is out, which has ended the process before.
        unreachable!("a log in memory: {error:?}")
    };
    let mut log = match builder.begin_log_with(&mut out, &mut serializer) {
        Ok(log) => log,
        Err(error) => failed(&error),
    };
    for part in parts {
        let times = part.recording.histograms.of(Kind::Response)?;
        if times.is_empty() {
            continue;
        }
        let trial = part.trial();
        let tag = tag(&format!(
            "{}|{}|{}",
            part.label(),
            trial.cell,
            trial.round + 1
        ));
        let since = trial.started.duration_since(material.run.facts.started);
        let since = Duration::try_from(since).unwrap_or_default();
        let length =
            Duration::from_secs_f64(trial.figures.measured_seconds.unwrap_or(0.0).max(0.0));
        if let Err(error) = log.write_histogram(&times, since, length, Tag::new(&tag)) {
            failed(&error);
        }
    }
    drop(log);
    Ok(String::from_utf8(out).expect("the format is ASCII but for tags, which are text"))
}

fn tag(text: &str) -> String {
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && c != ',';
    text.chars()
        .map(|c| if allowed(c) { c } else { '_' })
        .collect()
}

/// The percentiles of a cell's response times, as HdrHistogram prints them: in milliseconds.
pub fn hgrm(times: &Distributions) -> String {
    table(&times.response)
}

fn table(times: &Times) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let n = times.len();
    for step in times.iter_quantiles(PER_HALVING) {
        let quantile = step.quantile_iterated_to();
        let value = step.value_iterated_to() as f64 / PER_MILLISECOND;
        let count = times.count_between(0, step.value_iterated_to());
        let _ = write!(out, "{value:12.3} {quantile:2.12} {count:10}");
        let _ = match quantile < 1.0 {
            true => writeln!(out, " {:14.2}", 1.0 / (1.0 - quantile)),
            false => writeln!(out),
        };
    }
    let ms = |ns: f64| ns / PER_MILLISECOND;
    let (mean, deviation) = (ms(times.mean()), ms(times.stdev()));
    let _ = writeln!(
        out,
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]"
    );
    let _ = writeln!(
        out,
        "#[Max     = {:12.3}, Total count    = {n:12}]",
        ms(times.max() as f64)
    );
    let _ = writeln!(
        out,
        "#[Buckets = {:12}, SubBuckets     = {:12}]",
        times.buckets(),
        // As many as two times ten to the digits, rounded up to a power of two.
        2 * 10_u64.pow(u32::from(times.sigfig())).next_power_of_two()
    );
    out
}
