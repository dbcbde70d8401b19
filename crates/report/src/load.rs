//! The report of a single load, `prony load`.

mod address;
mod asked;
mod encoding;
mod events;
mod grpc;
pub(crate) mod host;
mod missing;
mod named;
mod over_time;
pub mod quic;
mod recovery;
mod request;
mod server;
mod session;
mod ws;

use crate::show;
use crate::table::{Align, TextTable};
use prony_record::load::ProxyProtocol;
use prony_record::observation::none_answered;
use prony_record::tls::Handshakes;
use prony_record::{
    AddressShare, Finding, Generator, IdleConnections, Latency, Load, Observation, Outcomes,
    Percentiles, Pool, Quic, Replay, Slo, Stage, Tls,
};
use prony_stats::throughput::Count;
use prony_stats::{Estimate, Interval, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

pub use events::EventReport;
pub use grpc::GrpcReport;
pub use host::HostReport;
pub use named::NameTable;
pub use over_time::{WindowSummary, over_time};
pub use prony_record::by_session::SessionReport;
pub use recovery::{Recovery, recoveries};
pub use request::RequestReport;
pub use server::ServerReport;
pub use ws::WsReport;

/// Output of `prony load --json`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[schemars(title = "prony load")]
pub struct LoadReport {
    /// URL of the server, with the address or Unix socket of the connections where the URL does not give it.
    pub target: String,
    /// Proxy that connections went through, as a URL without user and password; null: none.
    pub proxy: Option<String>,
    /// PROXY protocol header that each connection began with; null: none.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// Connections; of a number that changes the largest.
    pub connections: u32,
    /// The stages of a number of connections that changes; otherwise empty.
    pub connection_stages: Vec<Stage>,
    /// The connections of an open loop, which opens more while its rate needs them; null in a closed loop.
    pub pool: Option<Pool>,
    /// `closed`, `constant`, `poisson`, or `recorded` where a log is replayed.
    pub arrival: String,
    /// Log that is replayed at its own times; null without one.
    pub replay: Option<Replay>,
    /// The target rate of an open loop, requests per second.
    pub rate: Option<f64>,
    /// The stages of a rate that changes, whose mean is `rate`; otherwise empty.
    pub stages: Vec<Stage>,
    /// The load window by window, where the rate or the number of connections changes; otherwise empty.
    pub over_time: Vec<WindowSummary>,
    /// Recovery after each spike, where the load rises and falls; otherwise empty.
    pub recoveries: Vec<Recovery>,
    /// Length of the measurement, in seconds.
    pub seconds: f64,
    /// The load was ended by the user before its time.
    pub interrupted: bool,
    /// Verified answers per second. The interval is of this one run: it says nothing of how
    /// another start of the server would do.
    pub throughput: Estimate,
    /// Latency distributions.
    pub latency: Latency,
    /// How late the generator itself was, from when a request was due and its connection free;
    /// open loop only.
    pub generator_lateness: Option<Percentiles>,
    /// Time to make a connection, without the handshake of TLS.
    pub connect: Percentiles,
    /// The handshakes of TLS, set-up included; null without TLS.
    pub handshake: Option<Percentiles>,
    /// TLS parameters that were negotiated with the server, and the number of handshakes; null without TLS.
    pub tls: Option<Tls>,
    /// How HTTP/2 was spoken; null with another protocol.
    pub http2: Option<StreamsReport>,
    /// How HTTP/3 was spoken; null with another protocol.
    pub http3: Option<StreamsReport>,
    /// Datagrams and packets of QUIC, set-up included; null with another protocol.
    pub quic: Option<Quic>,
    /// Observations of gRPC; null with another protocol.
    pub grpc: Option<GrpcReport>,
    /// Events of the streams that were answers; null where none were.
    pub events: Option<EventReport>,
    /// Responses that kept the limits of `--slo`; null without any.
    pub goodput: Option<Goodput>,
    /// Idle connections during the load; absent without --idle-connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle: Option<IdleConnections>,
    /// Messages that were sent over WebSocket; null with another protocol.
    pub websocket: Option<WsReport>,
    /// Outcomes of the requests.
    pub outcomes: Outcomes,
    /// Resources that the server used; null where its processes are not known: elsewhere, or another user's.
    pub server: Option<ServerReport>,
    /// Answers by their status; empty where the protocol has none.
    pub statuses: BTreeMap<String, u64>,
    /// Resources that the generator used.
    pub generator: Generator,
    /// Bytes received, warm-up included.
    pub bytes_received: u64,
    /// Bytes sent, warm-up included.
    pub bytes_sent: u64,
    /// Errors in words, with their number.
    pub errors: BTreeMap<String, u64>,
    /// The first wrong answers, in words.
    pub wrong_answers: Vec<String>,
    /// The first bytes that came unasked, in words.
    pub unsolicited: Vec<String>,
    /// By request, where a file has several; otherwise empty.
    pub requests: Vec<RequestReport>,
    /// By session, where users go through several steps; otherwise empty.
    pub sessions: Vec<SessionReport>,
    /// By machine, where others sent the load; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub generators: Vec<HostReport>,
    /// By address, where connections were spread over several; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressShare>,
    /// Files of values that are used once, with whose last row the load has ended.
    pub used_up: Vec<String>,
    /// Findings of the checks.
    pub checks: Vec<Finding>,
}

/// Responses that kept all limits at once.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Goodput {
    /// The limits.
    pub slo: Slo,
    /// Right responses in the measurement that kept them.
    pub good: u64,
    /// The same as a share of the requests that ended, 0 to 1.
    pub share: f64,
    /// The same per second.
    pub per_second: f64,
}

impl Goodput {
    /// Goodput of a load; None where it has no limits.
    #[must_use]
    pub fn of(load: &Load, seen: &Observation) -> Option<Self> {
        let (slo, good) = load.slo.zip(seen.good)?;
        Some(Self {
            slo,
            good,
            share: good as f64 / seen.outcomes.finished().max(1) as f64,
            per_second: match seen.measured_ns {
                0 => 0.0,
                _ => good as f64 / seen.seconds(),
            },
        })
    }

    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        format!(
            "{}, {:.1}% of the requests, within {}",
            show::rate(self.per_second),
            self.share * 100.0,
            self.slo
        )
    }
}

/// How HTTP/2 or HTTP/3 was spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StreamsReport {
    /// Requests in flight on each connection, as streams: as many as were asked for, or as the server allows if those are
    /// fewer; 0 where it never allowed any.
    pub streams: u32,
    /// Streams that were asked for.
    pub asked: u32,
    /// How many bytes the server might send ahead, on each stream and on each connection (there at least 65,535).
    pub window: u32,
    /// Requests that the server had not processed, and that were sent again: left out when it closed their connection (GOAWAY),
    /// or refused (REFUSED_STREAM); warm-up included.
    pub sent_again: u64,
}

/// Why requests were sent again, and what helps where they are many.
const AGAIN: &str = "sent again that the server had not processed (GOAWAY, or REFUSED_STREAM: ask for fewer streams)";

impl StreamsReport {
    /// In a line.
    #[must_use]
    pub fn line(&self) -> String {
        let streams = match self.streams {
            0 => {
                return "no streams: the server allows none (SETTINGS_MAX_CONCURRENT_STREAMS is 0)"
                    .into();
            }
            1 => "1 stream".into(),
            n => format!("{} streams", show::count(n.into())),
        };
        let limited = match self.streams < self.asked {
            true => format!(
                ", as many as the server allows ({} asked for)",
                show::count(self.asked.into())
            ),
            false => String::new(),
        };
        let again = match self.sent_again {
            0 => String::new(),
            1 => format!(", 1 request {AGAIN}"),
            n => format!(", {} requests {AGAIN}", show::count(n)),
        };
        format!(
            "{streams} in flight on each connection{limited}, windows of {}{again}",
            match self.window {
                1 => "1 byte".into(),
                n => format!("{} bytes", show::count(n.into())),
            }
        )
    }
}

/// The rate of a single load, with the interval of its windows; of a load that changes they have none.
#[must_use]
pub fn throughput(load: &Load, seen: &Observation) -> Estimate {
    let pieces = seen.pieces().into_iter();
    let windows: Vec<Count> = pieces
        .map(|(answers, seconds)| Count { answers, seconds })
        .collect();
    // The value is that of the whole measurement; windows that it cuts only lend their spread.
    let value = seen.throughput();
    let (interval, n) = interval_of(load, value, &windows);
    Estimate::new(value, interval, n, Unit::PerSecond)
        .or_else(|_| Estimate::new(value, None, 1, Unit::PerSecond))
        .expect("a rate is finite")
}

/// The interval of a rate from those of windows, of which there are so many; none where the load changes.
fn interval_of(load: &Load, value: f64, windows: &[Count]) -> (Option<Interval>, u64) {
    let spread = match load.changes() {
        None => prony_stats::throughput::throughput(windows).ok(),
        Some(_) => None,
    };
    let interval = spread.and_then(|estimate| {
        let shift = value - estimate.value();
        let interval = estimate.interval()?;
        Interval::new((interval.low() + shift).max(0.0), interval.high() + shift)
    });
    (interval, spread.map_or(1, |estimate| estimate.n()))
}

/// How many handshakes there were, and how many a second where they are a part of the load.
#[must_use]
pub fn handshakes(tls: &Tls, seconds: f64) -> String {
    let Handshakes { full, resumed } = tls.handshakes;
    let mut out = format!(
        "{} full, {} resumed",
        show::count(full),
        show::count(resumed)
    );
    let measured = tls.measured.all();
    if measured > 0 && seconds > 0.0 {
        let rate = measured as f64 / seconds;
        let _ = write!(
            out,
            "; in the measurement {:.1} per second ({} full, {} resumed)",
            rate,
            show::count(tls.measured.full),
            show::count(tls.measured.resumed)
        );
    }
    out
}

impl LoadReport {
    /// The rate of requests, or of events where responses are streams, with its interval.
    pub(super) fn headline(&self) -> String {
        let (rate, text) = match &self.events {
            Some(events) => (&events.rate, events.per_second()),
            None => (&self.throughput, show::rate(self.throughput.value())),
        };
        match (rate.low(), rate.high()) {
            (Some(low), Some(high)) => {
                format!("{text} (95% CI {} to {})", show::per(low), show::per(high))
            }
            _ => text,
        }
    }

    /// The times in the headline: response times, or of streams the times to the first event. The text follows the name of a
    /// percentile.
    #[must_use]
    pub fn headline_times(&self) -> (&Percentiles, &'static str) {
        match &self.events {
            Some(_) => (&self.latency.first_event, " of the first event"),
            None => (&self.latency.response, ""),
        }
    }

    /// Result in a sentence: the rate, the 99th percentile (or the median), and failures by kind.
    pub fn result(&self) -> String {
        let mut out = match &self.events {
            Some(events) => events.per_second(),
            None => show::rate(self.throughput.value()),
        };
        let (times, what) = self.headline_times();
        for (name, time) in [("p99", times.p99), ("p50", times.p50)] {
            if let Some(time) = time {
                let _ = write!(out, ", {name}{what} {}", show::time(time as f64));
                break;
            }
        }
        for (name, n) in self.outcomes.failures() {
            let _ = write!(out, ", {name} {}", show::count(n));
        }
        out
    }

    /// Why a percentile of the response times is not known; none where all are.
    #[must_use]
    pub fn missing(&self) -> Option<String> {
        missing::sentence(&self.latency.response)
    }

    /// The report as text for a terminal of this many columns.
    pub fn text(&self, width: usize) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "{} from {}", self.headline(), self.target);
        let failed = self.outcomes.finished() - self.outcomes.ok;
        let _ = writeln!(
            out,
            "{} ok, {} failed in {:.2} s",
            show::count(self.outcomes.ok),
            show::count(failed),
            self.seconds
        );
        for (what, text) in self.asked() {
            let _ = writeln!(out, "{what:13}{text}");
        }
        if self.statuses.keys().any(|status| status != "200") {
            let _ = writeln!(out, "statuses     {}", self.statuses_line());
        }
        if let Some(http2) = &self.http2 {
            let _ = writeln!(out, "HTTP/2       {}", http2.line());
        }
        if let Some(http3) = &self.http3 {
            let _ = writeln!(out, "HTTP/3       {}", http3.line());
        }
        if let Some(quic) = &self.quic {
            for (what, text) in quic::rows(quic) {
                let _ = writeln!(out, "{what:13}{text}");
            }
        }
        if let Some(grpc) = &self.grpc {
            let _ = writeln!(out, "gRPC         {}", grpc.line());
        }
        if let Some(events) = &self.events {
            let _ = writeln!(out, "events       {}", events.line());
            if let Some(tokens) = &events.tokens {
                let _ = writeln!(out, "tokens       {}", tokens.line());
            }
        }
        if let Some(goodput) = &self.goodput {
            let _ = writeln!(out, "goodput      {}", goodput.line());
        }
        if let Some(websocket) = &self.websocket {
            let _ = writeln!(out, "WebSocket    {}", websocket.line());
        }
        if let Some(tls) = &self.tls {
            let _ = writeln!(out, "TLS          {}", tls.line());
            let _ = writeln!(out, "handshakes   {}", handshakes(tls, self.seconds));
        }
        if let Some(server) = &self.server {
            let _ = writeln!(out, "server       {}", server.line());
        }
        if let Some(idle) = &self.idle {
            let _ = writeln!(out, "idle         {}", crate::idle::line(idle));
        }
        let cpu = self
            .generator
            .cpu_us_per_request
            .map_or("–".into(), |us| show::time(us * 1e3));
        let _ = writeln!(
            out,
            "generator    {cpu} CPU per request, busiest thread {:.0}% busy, {}",
            self.generator.busy * 100.0,
            self.generator.transport
        );
        if self.interrupted {
            let _ = writeln!(out, "interrupted: these are the figures until then");
        }
        let _ = writeln!(out);
        out += &self.latency_table().fit(width);
        if let Some(why) = self.missing() {
            let _ = writeln!(out, "{why}");
        }
        out += &over_time::text(&self.over_time, width);
        for recovery in &self.recoveries {
            let _ = writeln!(out, "recovered    {}", recovery.sentence());
        }
        out += &self.by_name_text(width);
        if !self.used_up.is_empty() {
            let _ = writeln!(
                out,
                "\nended with the last row of {}",
                self.used_up.join(", ")
            );
        }
        let _ = write!(out, "{}", self.failures());
        let _ = write!(out, "{}", show::findings(&self.checks));
        out
    }

    /// Answers by their status, the most frequent first.
    fn statuses_line(&self) -> String {
        let mut all: Vec<(&String, &u64)> = self.statuses.iter().collect();
        all.sort_by_key(|&(_, n)| std::cmp::Reverse(*n));
        let one = |(status, n): (&String, &u64)| format!("{status}: {}", show::count(*n));
        let all: Vec<String> = all.into_iter().map(one).collect();
        all.join(", ")
    }

    fn latency_table(&self) -> TextTable {
        let columns = ["latency", "p50", "p90", "p99", "p99.9", "max", "samples"];
        let aligned = columns.map(|name| {
            (
                name,
                if name == "latency" {
                    Align::Left
                } else {
                    Align::Right
                },
            )
        });
        let mut table = TextTable::new(aligned);
        let mut row = |name: &str, times: &Percentiles| {
            table.row([
                name.to_owned(),
                show::time_within(times.p50, times.intervals.p50),
                show::time_within(times.p90, times.intervals.p90),
                show::time_within(times.p99, times.intervals.p99),
                show::time_within(times.p99_9, times.intervals.p99_9),
                show::time_or_dash(times.max),
                show::count(times.n),
            ]);
        };
        row("response", &self.latency.response);
        // In a closed loop that keeps its connections they are one and the same.
        if self.latency.send_delay.max.unwrap_or(0) > 0 {
            row("service", &self.latency.service);
            row("send delay", &self.latency.send_delay);
        }
        if self.latency.has_parts() {
            row("first byte", &self.latency.first_byte);
        }
        if self.events.is_some() {
            row("first event", &self.latency.first_event);
            row("gap", &self.latency.gap);
            row("longest gap", &self.latency.longest_gap);
        }
        if let Some(late) = &self.generator_lateness {
            row("generator late", late);
        }
        row("connect", &self.connect);
        if let Some(handshake) = &self.handshake {
            row("TLS handshake", handshake);
        }
        table
    }

    fn failures(&self) -> String {
        let outcomes = &self.outcomes;
        let failed: Vec<String> = outcomes
            .failures()
            .map(|(name, n)| format!("{name} {}", show::count(n)))
            .collect();
        let mut out = String::new();
        if !failed.is_empty() {
            let _ = write!(out, "\nfailed       {}\n", failed.join(", "));
        }
        let unanswered = outcomes.finished() == 0 && self.events.is_none();
        if unanswered && outcomes.in_flight_at_end > 0 {
            let why = none_answered(outcomes, self.seconds);
            let _ = write!(out, "\nunanswered   {why}\n");
        }
        if self.rate.is_some() && outcomes.unsent_at_end > 0 {
            let n = show::count(outcomes.unsent_at_end);
            let _ = write!(
                out,
                "\nbehind       {n} requests were due and not sent yet at the end\n"
            );
        }
        out
    }
}
