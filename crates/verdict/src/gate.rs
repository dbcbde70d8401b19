//! Limits for continuous integration: a condition under which a build fails, judged by the interval of
//! what was measured and not by its value alone.
//!
//! A condition is *broken* when the whole interval is beyond its limit, *held* when none of it is, and
//! *not known* in between. A serious check, which says that figures do not mean what they seem to mean,
//! makes a condition that would be held not known, and so does a withheld verdict of a side that looks better
//! than its code may be. Neither excuses one that is broken: a server that cannot keep its rate any more must
//! not pass for that reason.

use prony_record::size::UNITS;
use prony_record::verdict::{Cause, Comparison, Quantity};
use prony_record::{CheckId, Timed};
use prony_stats::compare::Better;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Metric that a condition limits; it also determines the units of the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Right answers per second.
    Throughput,
    /// A percentile of the response time, or of another, in hundredths of a percent: 9900 is the 99th.
    Percentile(Timed, u32),
    /// Events of streams per second.
    Events,
    /// The longest response time.
    Max,
    /// CPU time of the server per request.
    Cpu,
    /// The part of it in the server's own code.
    User,
    /// The part of it in the kernel.
    Kernel,
    /// CPU time of the server's services, such as a database, per request.
    ServiceCpu,
    /// The most memory of the server.
    Memory,
    /// The share of requests that failed.
    Errors,
    /// The highest rate that is kept within the limits.
    Capacity,
}

/// Metrics by name; percentiles are `p50`, `p99`, `p99.9` and so on, and of times to the first byte `p99-ttfb`.
const NAMES: [(&str, Metric); 10] = [
    ("throughput", Metric::Throughput),
    ("events", Metric::Events),
    ("max", Metric::Max),
    ("cpu", Metric::Cpu),
    ("user", Metric::User),
    ("kernel", Metric::Kernel),
    ("service-cpu", Metric::ServiceCpu),
    ("memory", Metric::Memory),
    ("errors", Metric::Errors),
    ("capacity", Metric::Capacity),
];
const TIMES: [(&str, f64); 5] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
];
const RATES: [(&str, f64); 8] = [
    ("/s", 1.0),
    ("k/s", 1e3),
    ("M/s", 1e6),
    ("k", 1e3),
    ("M", 1e6),
    ("req/s", 1.0),
    ("k req/s", 1e3),
    ("M req/s", 1e6),
];
impl Metric {
    /// The units that it may be given in, with their size in its own: nanoseconds, requests per second,
    /// bytes, or shares. Whether it may have none.
    const fn units(self) -> (&'static [(&'static str, f64)], bool) {
        match self {
            Self::Percentile(..)
            | Self::Max
            | Self::Cpu
            | Self::User
            | Self::Kernel
            | Self::ServiceCpu => (&TIMES, false),
            Self::Throughput | Self::Events | Self::Capacity => (&RATES, true),
            Self::Memory => (&UNITS, false),
            Self::Errors => (&[], true),
        }
    }

    /// A quantity of a duel as a metric; none for wake-ups and statements, which are neither good nor bad.
    #[must_use]
    pub const fn of(quantity: Quantity) -> Option<Self> {
        Some(match quantity {
            Quantity::Throughput => Self::Throughput,
            Quantity::Events => Self::Events,
            Quantity::P50 => Self::Percentile(Timed::Response, 5_000),
            Quantity::P99 => Self::Percentile(Timed::Response, 9_900),
            Quantity::FirstByteP50 => Self::Percentile(Timed::FirstByte, 5_000),
            Quantity::FirstByteP99 => Self::Percentile(Timed::FirstByte, 9_900),
            Quantity::FirstEventP50 => Self::Percentile(Timed::FirstEvent, 5_000),
            Quantity::FirstEventP99 => Self::Percentile(Timed::FirstEvent, 9_900),
            Quantity::GapP50 => Self::Percentile(Timed::Gap, 5_000),
            Quantity::GapP99 => Self::Percentile(Timed::Gap, 9_900),
            Quantity::Cpu => Self::Cpu,
            Quantity::User => Self::User,
            Quantity::Kernel => Self::Kernel,
            Quantity::ServiceCpu => Self::ServiceCpu,
            Quantity::Wakeups | Quantity::Statements => return None,
        })
    }
}

/// A condition under which a build fails, such as `p99 > 10ms` or `cpu > +5%`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Text of the condition, as the user has written it.
    text: String,
    /// The request that it speaks of, where it names one.
    pub request: Option<String>,
    /// Metric that is limited.
    pub metric: Metric,
    /// The condition fails above the limit; otherwise below.
    above: bool,
    /// The limit.
    limit: Limit,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Limit {
    /// In the metric's own unit.
    Absolute(f64),
    /// Ratio to the value that the metric is compared with: +5% is 1.05.
    Relative(f64),
}

/// A condition that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableCondition(String);

impl fmt::Display for UnreadableCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UnreadableCondition {}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Condition {
    type Err = UnreadableCondition;

    fn from_str(text: &str) -> Result<Self, UnreadableCondition> {
        let unlike = || {
            UnreadableCondition(format!(
                "{text:?} is not a condition: expected something like 'p99 > 10ms' or 'cpu > +5%'"
            ))
        };
        let at = text.find(['<', '>']).ok_or_else(unlike)?;
        let (name, rest) = (text[..at].trim(), &text[at..]);
        let (request, name) = split(name);
        let metric = metric(name)?;
        let limit = rest[1..].trim();
        if limit.is_empty() || limit.starts_with('=') {
            return Err(unlike());
        }
        let limit = limit_of(metric, name, limit)?;
        Ok(Self {
            text: text.trim().to_owned(),
            request: request.map(str::to_owned),
            metric,
            above: rest.starts_with('>'),
            limit,
        })
    }
}

/// The request and the metric of `checkout.p99`; without a request as it stands.
fn split(name: &str) -> (Option<&str>, &str) {
    if metric(name).is_ok() {
        return (None, name);
    }
    let parts = name.match_indices('.').map(|(at, _)| name.split_at(at));
    let named = parts
        .map(|(request, rest)| (request, &rest[1..]))
        .find(|(request, rest)| !request.is_empty() && metric(rest).is_ok());
    named.map_or((None, name), |(request, rest)| (Some(request), rest))
}

fn metric(name: &str) -> Result<Metric, UnreadableCondition> {
    let known = NAMES.iter().find(|(known, _)| *known == name);
    let percentile = || {
        let percent = name.strip_prefix('p')?;
        let (percent, timed) = match percent.split_once('-') {
            None => (percent, Timed::Response),
            Some((percent, of)) => (
                percent,
                Timed::of_word(of).filter(|timed| !timed.is_response())?,
            ),
        };
        let percent: f64 = percent.parse().ok()?;
        let hundredths = (percent * 100.0).round();
        let exact = (hundredths - percent * 100.0).abs() < 1e-6;
        (exact && (0.0..10_000.0).contains(&hundredths))
            .then_some(Metric::Percentile(timed, hundredths as u32))
    };
    known
        .map(|(_, metric)| *metric)
        .or_else(percentile)
        .ok_or_else(|| {
            let names: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            UnreadableCondition(format!(
                "there is no {name:?}: known are p50, p99, p99.9 and other percentiles, p99-ttfb, p99-first-event, p99-gap and the like, {}",
                names.join(", ")
            ))
        })
}

fn limit_of(metric: Metric, name: &str, text: &str) -> Result<Limit, UnreadableCondition> {
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-' | 'e'));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim();
    let value: f64 = number
        .parse()
        .ok()
        .filter(|value: &f64| value.is_finite())
        .ok_or_else(|| UnreadableCondition(format!("{text:?} is not a number with a unit")))?;
    let signed = number.starts_with(['+', '-']);
    let (units, may_be_bare) = metric.units();
    match (unit, signed) {
        ("%", true) if value > -100.0 => Ok(Limit::Relative(1.0 + value / 100.0)),
        ("%", false) if metric == Metric::Errors => Ok(Limit::Absolute(value / 100.0)),
        ("%", false) => Err(UnreadableCondition(format!(
            "{text:?} has no sign: a change is +{text} or -{text}"
        ))),
        ("", false) if may_be_bare => Ok(Limit::Absolute(value)),
        (_, false) => match units.iter().find(|(known, _)| *known == unit) {
            Some((_, size)) => Ok(Limit::Absolute(value * size)),
            None => {
                let known: Vec<&str> = units.iter().map(|(name, _)| *name).collect();
                Err(UnreadableCondition(format!(
                    "{text:?} is no limit for {name}: expected a number and one of {}",
                    known.join(", ")
                )))
            }
        },
        (_, true) => Err(UnreadableCondition(format!(
            "{text:?} is no limit for {name}: a change is given in %, such as +5%"
        ))),
    }
}

/// Measured value of a metric, or its change as a ratio.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MetricReading {
    /// The value.
    pub value: f64,
    /// The ends of its 95% interval; none when that is not known.
    pub interval: Option<(f64, f64)>,
    /// Why it may look better than the code is: it can break a condition, and lets none hold.
    pub flattered: Option<Cause>,
}

impl MetricReading {
    /// A value with its interval, if that is known.
    #[must_use]
    pub const fn new(value: f64, interval: Option<(f64, f64)>) -> Self {
        Self {
            value,
            interval,
            flattered: None,
        }
    }

    /// A number that was counted and has no interval.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self::new(value, Some((value, value)))
    }

    /// An estimate.
    #[must_use]
    pub fn of(estimate: &prony_stats::Estimate) -> Self {
        let interval = estimate.interval();
        let ends = interval.map(|interval| (interval.low(), interval.high()));
        Self::new(estimate.value(), ends)
    }
}

/// Measurements of one server, or side, under one load.
#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    /// Name of the server or side, with the load's where there are several.
    pub name: String,
    /// The request whose figures these are; none: of all together.
    pub request: Option<String>,
    /// Values in the metrics' own units.
    pub values: Vec<(Metric, MetricReading)>,
    /// Ratios to what it is compared with; empty where it is compared with nothing.
    pub ratios: Vec<(Metric, MetricReading)>,
    /// The serious checks that were raised for it.
    pub serious: Vec<CheckId>,
}

/// How a condition came out.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum GateOutcome {
    /// The limit is kept.
    Held,
    /// The figures do not show whether the limit is kept.
    NotKnown,
    /// The limit is not kept.
    Broken,
}

/// A condition that was judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedCondition {
    /// The condition, as it was written.
    pub condition: String,
    /// Name of the server, side or request that the condition was judged for.
    pub subject: String,
    /// How it came out.
    pub outcome: GateOutcome,
    /// Why, in words.
    pub why: String,
}

/// Judges every condition for every subject. A condition that no subject has a value for is not known.
#[must_use]
pub fn judge(conditions: &[Condition], subjects: &[Subject]) -> Vec<JudgedCondition> {
    let mut all = Vec::new();
    for condition in conditions {
        let of = |subject: &&Subject| subject.request == condition.request;
        if let (None, Some(request)) = (subjects.iter().find(of), &condition.request) {
            all.push(JudgedCondition {
                condition: condition.text.clone(),
                subject: request.clone(),
                outcome: GateOutcome::NotKnown,
                why: "requests were not measured by name".into(),
            });
        }
        for subject in subjects.iter().filter(of) {
            let (outcome, why) = condition.judge(subject);
            all.push(JudgedCondition {
                condition: condition.text.clone(),
                subject: subject.name.clone(),
                outcome,
                why,
            });
        }
    }
    all
}

impl Condition {
    fn judge(&self, subject: &Subject) -> (GateOutcome, String) {
        let (list, limit) = match self.limit {
            Limit::Absolute(limit) => (&subject.values, limit),
            Limit::Relative(limit) => (&subject.ratios, limit),
        };
        let Some((_, reading)) = list.iter().find(|(metric, _)| *metric == self.metric) else {
            return (GateOutcome::NotKnown, "it was not measured".into());
        };
        let Some((low, high)) = reading.interval else {
            return (
                GateOutcome::NotKnown,
                format!("{}, with no interval", self.show(reading.value)),
            );
        };
        let found = match low < high {
            true => format!(
                "{} ({} to {})",
                self.show(reading.value),
                self.show(low),
                self.show(high)
            ),
            false => self.show(reading.value),
        };
        let (broken, held) = match self.above {
            true => (low > limit, high <= limit),
            false => (high < limit, low >= limit),
        };
        if let (true, Some(cause)) = (held, reading.flattered) {
            let why = format!("{found}, but its verdict is withheld: {}", cause.short());
            return (GateOutcome::NotKnown, why);
        }
        match (broken, held, subject.serious.as_slice()) {
            (true, ..) => (GateOutcome::Broken, found),
            (false, true, []) => (GateOutcome::Held, found),
            (false, true, serious) if self.metric != Metric::Errors => {
                let names: Vec<&str> = serious.iter().map(|check| check.word()).collect();
                let why = format!("{found}, but {} was raised", names.join(", "));
                (GateOutcome::NotKnown, why)
            }
            (false, true, _) => (GateOutcome::Held, found),
            (false, false, _) => (
                GateOutcome::NotKnown,
                format!("{found}: the limit is within it"),
            ),
        }
    }

    /// A value as the condition has it.
    fn show(&self, value: f64) -> String {
        if value.is_infinite() {
            return "no upper bound".to_owned();
        }
        if let Limit::Relative(_) = self.limit {
            return format!("{:+.1}%", 100.0 * (value - 1.0));
        }
        let scaled = |units: &[(&str, f64)]| {
            let fits = |(_, size): &&(&str, f64)| value.abs() >= *size;
            let (unit, size) = units.iter().rev().find(fits).unwrap_or(&units[0]);
            match unit.split_once("/s") {
                Some((prefix, _)) => format!("{:.2}{prefix} req/s", value / size),
                None => format!("{:.3} {unit}", value / size),
            }
        };
        match self.metric.units().0 {
            [] => format!("{:.3}%", value * 100.0),
            _ if matches!(self.metric, Metric::Throughput | Metric::Capacity) => {
                scaled(&RATES[..3])
            }
            _ if self.metric == Metric::Memory => scaled(&[UNITS[0], UNITS[4], UNITS[5], UNITS[6]]),
            _ => scaled(&[TIMES[0], TIMES[2], TIMES[3], TIMES[4]]),
        }
    }
}

/// The worst outcome of all; held when there is no condition.
#[must_use]
pub fn worst(all: &[JudgedCondition]) -> GateOutcome {
    let outcomes = all.iter().map(|one| one.outcome);
    outcomes.max().unwrap_or(GateOutcome::Held)
}

/// The ratios of a duel's comparisons. One that has been withheld has no interval to judge by, unless wake-ups explain it:
/// more of them may be the change's doing, and what they cost was measured; fewer of them hide what the code costs.
pub fn ratios<'a>(
    comparisons: impl IntoIterator<Item = &'a Comparison>,
) -> Vec<(Metric, MetricReading)> {
    let reading = |one: &Comparison| {
        let measured = MetricReading::of(&one.ratio);
        let cause = one.withheld.as_ref().map(|it| it.cause);
        let better = (one.ratio.value() > 1.0) == (one.quantity.better() == Better::Higher);
        let reading = MetricReading {
            interval: measured
                .interval
                .filter(|_| cause.is_none_or(|it| it == Cause::WakeUps)),
            flattered: cause.filter(|_| better),
            ..measured
        };
        Some((Metric::of(one.quantity)?, reading))
    };
    comparisons.into_iter().filter_map(reading).collect()
}

#[cfg(test)]
mod tests;
