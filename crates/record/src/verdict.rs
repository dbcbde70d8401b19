//! Quantities that a duel compares, and the terms by which it is decided.

use crate::Measurement;
use crate::word::words;
use prony_stats::compare::{Better, Decision};
use prony_stats::{Estimate, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Quantity that is compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Answers per second, as fast as they come.
    Throughput,
    /// The median response time at the common rate, in nanoseconds.
    P50,
    /// The 99th percentile of the response time at the common rate, in nanoseconds.
    P99,
    /// The median time to the first byte of the body at the common rate, in nanoseconds.
    #[serde(rename = "p50-ttfb")]
    FirstByteP50,
    /// The 99th percentile of the time to the first byte at the common rate, in nanoseconds.
    #[serde(rename = "p99-ttfb")]
    FirstByteP99,
    /// Events of streams per second, as fast as they come.
    Events,
    /// The median time to the first event of a stream at the common rate, in nanoseconds.
    #[serde(rename = "p50-first-event")]
    FirstEventP50,
    /// The 99th percentile of the time to the first event at the common rate, in nanoseconds.
    #[serde(rename = "p99-first-event")]
    FirstEventP99,
    /// The median time between two events of a stream at the common rate, in nanoseconds.
    #[serde(rename = "p50-gap")]
    GapP50,
    /// The 99th percentile of the time between two events at the common rate, in nanoseconds.
    #[serde(rename = "p99-gap")]
    GapP99,
    /// The server's CPU time per request at the common rate, in nanoseconds.
    Cpu,
    /// The part of [`Cpu`](Self::Cpu) that it spent in its own code.
    User,
    /// The part of [`Cpu`](Self::Cpu) that it spent in the kernel.
    Kernel,
    /// Wake-ups of the server per request at the common rate. Neither better nor worse: it says whether
    /// CPU time and response times were measured in the same circumstances.
    Wakeups,
    /// CPU time of the server's services, such as a database, per request at the common rate, in nanoseconds.
    ServiceCpu,
    /// Statements that its database executed per request at the common rate. Neither better nor worse: it says where
    /// the CPU time of both comes from.
    Statements,
}

impl Quantity {
    /// Quantities that a duel is about, in the order of reports.
    pub const ALL: [Self; 4] = [Self::Throughput, Self::P50, Self::P99, Self::Cpu];

    /// Quantities that explain CPU time and response times, measured together with [`Cpu`](Self::Cpu). A duel neither
    /// ends for their sake nor divides its 5% of error among them.
    pub const PARTS: [Self; 3] = [Self::User, Self::Kernel, Self::Wakeups];

    /// Times to the first byte, shown where answers [come in parts](Values::has_parts). Measured together with
    /// [`P50`](Self::P50), and treated as the parts of CPU time are.
    pub const FIRST_BYTES: [Self; 2] = [Self::FirstByteP50, Self::FirstByteP99];

    /// Quantities of streams of events, shown where answers [are some](Values::events). Treated as the parts of CPU time are.
    pub const STREAMS: [Self; 5] = [
        Self::Events,
        Self::FirstEventP50,
        Self::FirstEventP99,
        Self::GapP50,
        Self::GapP99,
    ];

    /// Quantities of the server's services, measured together with [`Cpu`](Self::Cpu) and treated as its parts are.
    pub const SERVICES: [Self; 2] = [Self::ServiceCpu, Self::Statements];

    /// The label of a row or a column of a table.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Throughput => "requests/s",
            Self::P50 => "p50 latency",
            Self::P99 => "p99 latency",
            Self::FirstByteP50 => "p50 first byte",
            Self::FirstByteP99 => "p99 first byte",
            Self::Events => "events/s",
            Self::FirstEventP50 => "p50 first event",
            Self::FirstEventP99 => "p99 first event",
            Self::GapP50 => "p50 gap",
            Self::GapP99 => "p99 gap",
            Self::Cpu => "CPU/request",
            Self::User => "user CPU/request",
            Self::Kernel => "kernel CPU/request",
            Self::Wakeups => "wake-ups/request",
            Self::ServiceCpu => "service CPU/request",
            Self::Statements => "statements/request",
        }
    }

    /// The name in a sentence.
    #[must_use]
    pub const fn phrase(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::FirstByteP50 => "p50 of the first byte",
            Self::FirstByteP99 => "p99 of the first byte",
            Self::Events => "events per second",
            Self::FirstEventP50 => "p50 of the first event",
            Self::FirstEventP99 => "p99 of the first event",
            Self::GapP50 => "p50 of the gaps between events",
            Self::GapP99 => "p99 of the gaps between events",
            Self::Cpu => "CPU per request",
            Self::User => "user CPU per request",
            Self::Kernel => "kernel CPU per request",
            Self::Wakeups => "wake-ups per request",
            Self::ServiceCpu => "CPU of services per request",
            Self::Statements => "statements per request",
        }
    }

    /// Word for the quantity in commands and JSON.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Throughput => "throughput",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::FirstByteP50 => "p50-ttfb",
            Self::FirstByteP99 => "p99-ttfb",
            Self::Events => "events",
            Self::FirstEventP50 => "p50-first-event",
            Self::FirstEventP99 => "p99-first-event",
            Self::GapP50 => "p50-gap",
            Self::GapP99 => "p99-gap",
            Self::Cpu => "cpu",
            Self::User => "user",
            Self::Kernel => "kernel",
            Self::Wakeups => "wakeups",
            Self::ServiceCpu => "service-cpu",
            Self::Statements => "statements",
        }
    }

    /// Is more of it better, or less?
    #[must_use]
    pub const fn better(self) -> Better {
        match self {
            Self::Throughput | Self::Events => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// Unit of the quantity.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Throughput | Self::Events => Unit::PerSecond,
            Self::P50
            | Self::P99
            | Self::FirstByteP50
            | Self::FirstByteP99
            | Self::FirstEventP50
            | Self::FirstEventP99
            | Self::GapP50
            | Self::GapP99 => Unit::Nanoseconds,
            Self::Cpu | Self::User | Self::Kernel | Self::ServiceCpu => {
                Unit::CpuNanosecondsPerRequest
            }
            Self::Wakeups | Self::Statements => Unit::Ratio,
        }
    }
}

/// Values of one side in one round; null where a value is not known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Values {
    /// Answers per second at saturation.
    pub throughput: Option<f64>,
    /// Median response time at the common rate, in nanoseconds.
    pub p50: Option<f64>,
    /// 99th percentile of it.
    pub p99: Option<f64>,
    /// Median time to the first byte at the common rate, in nanoseconds.
    #[serde(default)]
    pub p50_ttfb: Option<f64>,
    /// 99th percentile of it.
    #[serde(default)]
    pub p99_ttfb: Option<f64>,
    /// Events of streams per second at saturation; null where answers are no streams.
    #[serde(default)]
    pub events: Option<f64>,
    /// Median time to the first event at the common rate, in nanoseconds.
    #[serde(default)]
    pub p50_first_event: Option<f64>,
    /// 99th percentile of it.
    #[serde(default)]
    pub p99_first_event: Option<f64>,
    /// Median time between two events at the common rate, in nanoseconds.
    #[serde(default)]
    pub p50_gap: Option<f64>,
    /// 99th percentile of it.
    #[serde(default)]
    pub p99_gap: Option<f64>,
    /// CPU time per request at the common rate, in nanoseconds.
    pub cpu: Option<f64>,
    /// The same at saturation; null where the load generator was at its limit.
    #[serde(default)]
    pub cpu_at_saturation: Option<f64>,
    /// The same below the common rate; null unless the duel was to measure at other rates too (`--cpu-rates`).
    #[serde(default)]
    pub lower: Option<AtRate>,
    /// The same above it.
    #[serde(default)]
    pub higher: Option<AtRate>,
    /// The part of it spent in the server's own code.
    #[serde(default)]
    pub user: Option<f64>,
    /// The part of it spent in the kernel.
    #[serde(default)]
    pub kernel: Option<f64>,
    /// Wake-ups per request at the common rate.
    #[serde(default)]
    pub wakeups: Option<f64>,
    /// CPU time of its services per request at the common rate, in nanoseconds; null without services.
    #[serde(default)]
    pub service_cpu: Option<f64>,
    /// Statements that its database executed per request at the common rate; null where they are not counted.
    #[serde(default)]
    pub statements: Option<f64>,
    /// How much longer fixed work took on the server's CPU, right after the load at the common rate, than at its fastest.
    #[serde(default)]
    pub slowdown: Option<f64>,
    /// The most memory of its processes, in bytes.
    #[serde(default)]
    pub memory: Option<f64>,
    /// The rate that was asked for; null when the round had no part at a rate.
    #[serde(default)]
    pub rate: Option<f64>,
    /// The server did not keep the rate: what was measured at it was measured in overload, is not
    /// compared, and is null here.
    #[serde(default)]
    pub missed: bool,
    /// The load generator was at its limit: throughput was at least this.
    #[serde(default)]
    pub limited: bool,
    /// The share of the requests at the common rate that have no response time, 0 to 1: they failed other than by a
    /// time-out. Each counts as longer than any answer, so a percentile among them is null.
    #[serde(default)]
    pub untimed: f64,
}

/// CPU time per request at a rate other than the common one.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AtRate {
    /// Requests per second.
    pub rate: f64,
    /// CPU time per request, in nanoseconds; null where the server did not keep the rate.
    pub cpu: Option<f64>,
}

impl Values {
    /// One of them; a value that is not above zero is none.
    #[must_use]
    pub fn of(&self, quantity: Quantity) -> Option<f64> {
        match quantity {
            Quantity::Throughput => self.throughput,
            Quantity::P50 => self.p50,
            Quantity::P99 => self.p99,
            Quantity::FirstByteP50 => self.p50_ttfb,
            Quantity::FirstByteP99 => self.p99_ttfb,
            Quantity::Events => self.events,
            Quantity::FirstEventP50 => self.p50_first_event,
            Quantity::FirstEventP99 => self.p99_first_event,
            Quantity::GapP50 => self.p50_gap,
            Quantity::GapP99 => self.p99_gap,
            Quantity::Cpu => self.cpu,
            Quantity::User => self.user,
            Quantity::Kernel => self.kernel,
            Quantity::Wakeups => self.wakeups,
            Quantity::ServiceCpu => self.service_cpu,
            Quantity::Statements => self.statements,
        }
        .filter(|value| *value > 0.0)
    }

    /// Did answers come in parts, so that their first bytes came earlier than their last ones?
    #[must_use]
    pub fn has_parts(&self) -> bool {
        let first = (self.p50_ttfb, self.p99_ttfb);
        first != (None, None) && first != (self.p50, self.p99)
    }

    /// Takes over what a trial has shown: throughput from one as fast as answers came, everything else
    /// from one at the common rate.
    ///
    /// Returns false for one at another rate, which shows CPU time only.
    pub fn add(&mut self, trial: &crate::Trial) -> bool {
        let figures = &trial.figures;
        let memory = figures.rss_peak_bytes.filter(|bytes| *bytes > 0);
        let memory = memory.map(|bytes| bytes as f64);
        self.memory = self.memory.into_iter().chain(memory).reduce(f64::max);
        let Some(rate) = trial.load.rate else {
            self.throughput = figures.throughput;
            let streams = trial.observation.as_ref().and_then(|seen| seen.streams);
            self.events = streams.map(|streams| streams.events_per_second);
            self.limited = trial.observation.as_ref().is_some_and(Measurement::limited);
            self.cpu_at_saturation = figures.cpu_ns_per_request.filter(|_| !self.limited);
            return true;
        };
        let seen = trial.observation.as_ref();
        let missed = seen.is_some_and(|seen| seen.backlog.missed());
        // The common rate comes first in a round.
        if let Some(common) = self.rate {
            let cpu = figures.cpu_ns_per_request.filter(|_| !missed);
            let at = Some(AtRate { rate, cpu });
            match rate < common {
                true => self.lower = at,
                false => self.higher = at,
            }
            return false;
        }
        self.rate = Some(rate);
        self.missed = missed;
        if self.missed {
            return true;
        }
        self.untimed = seen.map_or(0.0, |seen| seen.outcomes.share_untimed());
        self.p50 = figures.p50_ns.map(|ns| ns as f64);
        self.p99 = figures.p99_ns.map(|ns| ns as f64);
        let first_byte = seen.and_then(|seen| seen.first_byte);
        self.p50_ttfb = first_byte.map_or(self.p50, |it| it.p50_ns.map(|ns| ns as f64));
        self.p99_ttfb = first_byte.map_or(self.p99, |it| it.p99_ns.map(|ns| ns as f64));
        if let Some(streams) = seen.and_then(|seen| seen.streams) {
            let ns = |time: Option<u64>| time.map(|ns| ns as f64);
            let (first, gap) = (streams.first_event, streams.gap);
            (self.p50_first_event, self.p99_first_event) = (ns(first.p50_ns), ns(first.p99_ns));
            (self.p50_gap, self.p99_gap) = (ns(gap.p50_ns), ns(gap.p99_ns));
        }
        self.cpu = figures.cpu_ns_per_request;
        let Some((seen, cpu)) = seen.zip(self.cpu) else {
            return true;
        };
        let used = &seen.resources;
        self.slowdown = used.cpu_slowdown;
        let share = used.user_share();
        self.user = share.map(|share| cpu * share);
        self.kernel = share.map(|share| cpu * (1.0 - share));
        let served = seen.outcomes.finished() as f64 + seen.ends.all;
        self.wakeups = (served > 0.0).then(|| used.wakeups as f64 / served);
        let measured = seen.durations.measured_ns;
        self.service_cpu = used.services_cpu_per_request(served, measured);
        self.statements = used.statements_per_request(served, measured);
        true
    }
}

words! {
    /// A verdict on one quantity of a side, against the first side's.
    Verdict {
        /// More requests per second, or shorter response times.
        Faster = "faster",
        /// Fewer requests per second, or longer response times.
        Slower = "slower",
        /// Less CPU time per request.
        Cheaper = "cheaper",
        /// More CPU time per request.
        MoreExpensive = "more expensive",
        /// Fewer wake-ups or statements per request, which is neither better nor worse.
        Fewer = "fewer",
        /// More wake-ups or statements per request.
        More = "more",
        /// The interval lies within the equivalence margin: no difference above that.
        Same = "no difference",
        /// The interval allows more than one of the others, or a verdict is withheld.
        Inconclusive = "inconclusive",
    }
}

impl Verdict {
    /// A decision about an interval, as it is called for this quantity.
    #[must_use]
    pub const fn of(found: Decision, quantity: Quantity) -> Self {
        match (found, quantity) {
            (
                Decision::Better,
                Quantity::Cpu | Quantity::User | Quantity::Kernel | Quantity::ServiceCpu,
            ) => Self::Cheaper,
            (
                Decision::Worse,
                Quantity::Cpu | Quantity::User | Quantity::Kernel | Quantity::ServiceCpu,
            ) => Self::MoreExpensive,
            (Decision::Better, Quantity::Wakeups | Quantity::Statements) => Self::Fewer,
            (Decision::Worse, Quantity::Wakeups | Quantity::Statements) => Self::More,
            (Decision::Better, _) => Self::Faster,
            (Decision::Worse, _) => Self::Slower,
            (Decision::Same, _) => Self::Same,
            (Decision::Inconclusive { .. }, _) => Self::Inconclusive,
        }
    }

    /// A difference was shown.
    #[must_use]
    pub const fn is_difference(self) -> bool {
        !matches!(self, Self::Same | Self::Inconclusive)
    }
}

/// A side against the first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// The side's name.
    pub side: String,
    /// Quantity that is compared.
    pub quantity: Quantity,
    /// The side's value as a multiple of the first's. Its interval holds at whatever round the duel
    /// ends, and for all quantities together, in 95%.
    pub ratio: Estimate,
    /// The equivalence margin: differences smaller than this count as none, as a share. What was
    /// asked, or what this host's noise allows, if that is more.
    pub band: f64,
    /// Better, worse, no difference, or inconclusive.
    pub verdict: Verdict,
    /// The smallest difference, as a share, that four of five duels with as many rounds of this quantity
    /// find, judged by how much these rounds spread: the minimum detectable effect. Of throughput that was
    /// left out after some rounds: what all rounds would have found. Null before two rounds.
    pub detectable: Option<f64>,
    /// The load generator was the limit of the faster side: the true difference is at least this one.
    pub at_least: bool,
    /// Why there is no verdict although the interval would allow one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<Withheld>,
}

/// Why a verdict is withheld.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Withheld {
    /// The kind of reason.
    pub cause: Cause,
    /// The reason, in words that follow a colon.
    pub why: String,
}

/// Cause other than the servers' code that explains a difference, or hides one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The better side answers more requests per wake-up.
    WakeUps,
    /// The load generator was at its limit, so that its speed was measured.
    GeneratorLimit,
    /// The better side failed more of its requests.
    Failures,
    /// A side did not keep the common rate in more rounds than the other.
    MissedRate,
    /// A few starts differ much from all others.
    RareStarts,
    /// Fewer rounds were made than had been said, and nothing but the last of these is a planned look.
    RoundsMissing,
}

impl Cause {
    /// In a table, where there is no room for the reason.
    #[must_use]
    pub const fn short(self) -> &'static str {
        match self {
            Self::WakeUps => "wake-ups differ",
            Self::GeneratorLimit => "generator was the limit",
            Self::Failures => "failures differ",
            Self::MissedRate => "rate was missed",
            Self::RareStarts => "some starts differ",
            Self::RoundsMissing => "rounds are missing",
        }
    }
}

/// How a duel is to be decided; kept with its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Terms {
    /// Quantities to compare. The fewer there are, the narrower their intervals: the 5% of error are shared among them.
    #[serde(default = "every")]
    pub quantities: Vec<Quantity>,
    /// At most this many rounds.
    pub most: u32,
    /// The user has said how many rounds: no early end.
    pub exact: bool,
    /// The relative half-width of every interval at which it ends, as a share; else it ends when every
    /// verdict is settled.
    pub precision: Option<f64>,
    /// The equivalence margin that was asked for, as a share.
    pub band: f64,
    /// The same by quantity, no narrower than the host's noise allows.
    pub bands: Bands,
}

fn every() -> Vec<Quantity> {
    Quantity::ALL.to_vec()
}

/// Equivalence margins: for each quantity the share below which a difference counts as none.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bands([f64; Quantity::ALL.len()]);

impl Bands {
    /// The same for all.
    #[must_use]
    pub fn all(share: f64) -> Self {
        Self([share; Quantity::ALL.len()])
    }

    /// The margin of one quantity, no narrower than `least`.
    #[must_use]
    pub fn at_least(mut self, quantity: Quantity, least: f64) -> Self {
        let band = &mut self.0[Self::place(quantity)];
        *band = band.max(least);
        self
    }

    /// Margin of one quantity, as a share; [`Quantity::PARTS`] and [`Quantity::SERVICES`] have that of CPU time,
    /// [`Quantity::FIRST_BYTES`] and [`Quantity::STREAMS`] those of response times and throughput.
    #[must_use]
    pub fn of(&self, quantity: Quantity) -> f64 {
        self.0[Self::place(quantity)]
    }

    const fn place(quantity: Quantity) -> usize {
        match quantity {
            Quantity::User
            | Quantity::Kernel
            | Quantity::Wakeups
            | Quantity::ServiceCpu
            | Quantity::Statements
            | Quantity::Cpu => 3,
            Quantity::P50 | Quantity::FirstByteP50 | Quantity::FirstEventP50 | Quantity::GapP50 => {
                1
            }
            Quantity::P99 | Quantity::FirstByteP99 | Quantity::FirstEventP99 | Quantity::GapP99 => {
                2
            }
            Quantity::Throughput | Quantity::Events => 0,
        }
    }
}
