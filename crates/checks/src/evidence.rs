use prony_record::{Backlog, LimitEffect, Load, Observation, Pool, Quic, Resources, SECOND};
use std::collections::BTreeMap;

/// Errors told in words.
const ERROR_TEXTS: usize = 3;

/// Known facts about one measurement. A fact that is not known is `None`, and checks that need it report nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    /// Closed loop.
    pub closed_loop: bool,
    /// The target rate of an open loop, requests per second.
    pub rate: Option<f64>,
    /// Connections; of an open loop that opened more, the most.
    pub connections: u32,
    /// Requests that were due and had not ended, in an open loop.
    pub backlog: Backlog,
    /// The connections of an open loop.
    pub pool: Pool,
    /// The most requests in flight per connection.
    pub pipeline: u32,
    /// Connections were kept open.
    pub keepalive: bool,
    /// Connections rest between requests, as a script says.
    pub rests: bool,
    /// Length of the measurement, in seconds.
    pub seconds: f64,
    /// Requests answered as expected.
    pub ok: u64,
    /// Requests answered otherwise.
    pub wrong: u64,
    /// The first wrong answers, in words.
    pub wrong_examples: Vec<String>,
    /// Times that bytes came which no request had asked for.
    pub unsolicited: u64,
    /// The first of these bytes, in words.
    pub unsolicited_examples: Vec<String>,
    /// Times that the server had to wait for room in a window of flow control of the client, since the load began.
    pub stalled: u64,
    /// Requests that ended without an answer, and how.
    pub timeouts: u64,
    /// The same: no connection, connection broken while reading or writing.
    pub socket_errors: u64,
    /// Requests in flight at the end that were never answered.
    pub unanswered_at_end: u64,
    /// Not a byte came for what was in flight at the end, and no connection ended.
    pub stopped: bool,
    /// Requests that failed because the server closed their connection after it had answered on it.
    pub closed_after_answer: u64,
    /// Times that no port was left to connect from.
    pub without_port: u64,
    /// Idle connections that the server closed with a status.
    pub idle_closed: u64,
    /// The server kept a connection open that it was asked to close.
    pub close_ignored: bool,
    /// Right and wrong answers by their status.
    pub statuses: BTreeMap<u16, u64>,
    /// Answers of the 300s are what was asked for, or what a session follows.
    pub redirects_expected: bool,
    /// The streams that the server allows on each connection, if it allows fewer than were asked for.
    pub streams_limited: Option<u32>,
    /// Segments of the load's own connections that were sent again, by either side.
    pub lost_segments: u64,
    /// Observations of QUIC; None where it is not spoken.
    pub quic: Option<Quic>,
    /// Statements per second that the right answers need at the least, and those that the database counted.
    pub statements: Option<(f64, f64)>,
    /// Errors since the load's set-up, whether or not they cost a request; unsolicited bytes are not
    /// among them.
    pub errors: u64,
    /// Errors in words, the most frequent first.
    pub error_texts: Vec<String>,
    /// Mean response time, in seconds.
    pub mean_response: f64,
    /// The longest response time, in seconds.
    pub max_response: f64,
    /// Samples in the response histogram.
    pub samples: u64,
    /// How late the generator itself was: 99th percentile in seconds; open loop only.
    pub late_p99: Option<f64>,
    /// Median response time, in seconds.
    pub median_response: Option<f64>,
    /// The busiest generator thread's work as a part of the time, 0 to 1.
    pub generator_busy: f64,
    /// The part of the time in which that thread was ready and others had its CPU, 0 to 1.
    pub generator_waiting: f64,
    /// The longest time to connect, in seconds.
    pub connect_max: Option<f64>,
    /// Answers per connection.
    pub per_connection: Vec<u64>,
    /// Connections of each of the server's event loops, the most first; empty when none can be seen.
    pub connections_per_loop: Vec<u32>,
    /// Answers per second in each measured window.
    pub window_rates: Vec<f64>,
    /// The warm-up ended because the load was steady, not because its time was up.
    pub warmed_up: Option<bool>,
    /// The server's use of CPU.
    pub server: Option<ServerCpu>,
    /// TCP events of the machine during the load.
    pub tcp: Option<Tcp>,
    /// CPU time of neither server nor generator on their CPUs, as a part of all, 0 to 1.
    pub others_busy: Option<f64>,
    /// CPU time that the hypervisor took away, as a part of all, 0 to 1.
    pub stolen: Option<f64>,
    /// How much longer fixed work took on the server's CPU, right after the measurement, than at its fastest: 1 at full
    /// speed.
    pub slowdown: Option<f64>,
    /// Time of a clock reading on the machine that sends the load, in nanoseconds; of several machines the slowest's.
    pub clock_ns: Option<f64>,
    /// Effect of the server's limits; None where it had none.
    pub limited: Option<LimitEffect>,
    /// The server's workers.
    pub workers: Option<u32>,
    /// CPUs that the server may use.
    pub server_cpus: Option<u32>,
    /// Server and generator share a CPU.
    pub co_located: Option<bool>,
    /// CPUs of the server, each with one of the generator that is another thread of the same core.
    pub shared_cores: Vec<[usize; 2]>,
    /// The NUMA nodes of the server's CPUs; empty when they are not known.
    pub server_nodes: Vec<usize>,
    /// NUMA nodes of the generator's CPUs; empty when they are not known, or when the generator is on another machine.
    pub generator_nodes: Vec<usize>,
    /// CPUs that it used while others were loaded, in a duel.
    pub at_rest: Option<f64>,
    /// Length of a window, in seconds.
    pub window: f64,
    /// Bytes per second that the load moved between the machines, in the direction that had more.
    pub moved: f64,
    /// Bytes per second that the network between the machines moved each way when it was tried before.
    pub link: Option<f64>,
    /// Observations of each machine, where other machines sent the load.
    pub generators: Vec<OneGenerator>,
}

/// One of the machines that sent a load.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct OneGenerator {
    /// Name of the machine.
    pub host: String,
    /// How much too late it heard when the load begins, in seconds.
    pub late_start: f64,
    /// The most by which its clock may have been misread, in seconds.
    pub clock_error: f64,
    /// Samples in its response histogram.
    pub samples: u64,
    /// Median response time that the machine saw, in seconds.
    pub median_response: Option<f64>,
    /// The machine is a slow client, which measures while the others load.
    pub measuring: bool,
}

/// The server's use of CPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerCpu {
    /// CPUs that it could use at once, by its placement and its number of workers.
    pub cpus: f64,
    /// CPUs that it used on average.
    pub used: f64,
}

/// TCP events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tcp {
    /// Connections that found the accept queue full.
    pub listen_overflows: u64,
    /// SYNs and SYN-ACKs sent again.
    pub syn_retransmits: u64,
    /// Segments sent again, the former included.
    pub retransmits: u64,
}

/// Bytes per second in the direction that had more, since the load began: warm-up included, as the bytes are counted.
fn moved(seen: &Observation) -> f64 {
    let seconds: f64 = seen.windows.iter().map(prony_record::Window::seconds).sum();
    match seconds > 0.0 {
        true => seen.bytes_received.max(seen.bytes_sent) as f64 / seconds,
        false => 0.0,
    }
}

/// The least time that TCP waits before it sends data again (Linux: 200 ms), in seconds.
const RETRANSMISSION: f64 = 0.2;

impl Evidence {
    /// Evidence of a load by itself: how it was asked for, and what the generator saw. It has no facts about the server
    /// and the host.
    pub fn of(load: &Load, seen: &Observation) -> Self {
        let (outcomes, times) = (&seen.outcomes, &seen.times);
        let seconds = |nanos: u64| nanos as f64 / SECOND as f64;
        let at = |times: &prony_record::Times, quantile: f64| {
            (!times.is_empty()).then(|| seconds(times.value_at_quantile(quantile)))
        };
        let mut errors: Vec<_> = seen.errors.iter().collect();
        errors.sort_by_key(|&(_, n)| std::cmp::Reverse(*n));
        Self {
            seconds: seen.seconds(),
            ok: outcomes.ok,
            wrong: outcomes.wrong_answer,
            wrong_examples: seen.wrong_answers.clone(),
            unsolicited: outcomes.unsolicited,
            unsolicited_examples: seen.unsolicited.clone(),
            stalled: seen.stalled,
            timeouts: outcomes.timeout,
            socket_errors: outcomes.socket_errors(),
            unanswered_at_end: outcomes.unanswered_at_end,
            stopped: outcomes.stopped(),
            closed_after_answer: seen.closed_after_answer,
            without_port: seen.without_port,
            idle_closed: seen.idle_closed,
            close_ignored: seen.close_ignored,
            statuses: seen.statuses.clone(),
            redirects_expected: seen.status_expected || !seen.by_session.is_empty(),
            lost_segments: seen.lost_segments,
            quic: seen.quic,
            streams_limited: seen.streams_allowed.filter(|most| *most < load.pipeline),
            errors: seen
                .errors
                .values()
                .sum::<u64>()
                .saturating_sub(outcomes.unsolicited),
            error_texts: errors
                .into_iter()
                .take(ERROR_TEXTS)
                .map(|(text, n)| format!("{text} ×{n}"))
                .collect(),
            mean_response: times.response.mean() / SECOND as f64,
            max_response: seconds(times.response.max()),
            samples: times.response.len(),
            // Of several generators each is judged by itself: a late one must not hide among the others.
            late_p99: match seen.by_host.as_slice() {
                [] => at(&times.late, 0.99),
                hosts => hosts
                    .iter()
                    // How late a slow client was is no fault of the load's schedule.
                    .filter(|host| !host.measuring)
                    .filter_map(|host| at(&host.times.late, 0.99))
                    .reduce(f64::max),
            },
            generators: seen
                .by_host
                .iter()
                .map(|host| OneGenerator {
                    host: host.host.clone(),
                    late_start: seconds(host.late_start_ns),
                    clock_error: seconds(host.clock_error_ns),
                    samples: host.times.response.len(),
                    median_response: at(&host.times.response, 0.5),
                    measuring: host.measuring,
                })
                .collect(),
            moved: moved(seen),
            link: (seen.by_host.first()).and_then(|host| host.link_bytes_per_second),
            median_response: at(&times.response, 0.5),
            clock_ns: seen.generator.clock_ns,
            generator_busy: seen.generator.busy,
            generator_waiting: seen.generator.waiting,
            connect_max: at(&times.connect, 1.0),
            // Connections that were there for a part of the time have fewer answers.
            per_connection: match load.connection_stages.as_slice() {
                [] => seen.per_connection.clone(),
                _ => Vec::new(),
            },
            // A load that changes is not steady, and is not meant to be.
            window_rates: match load.changes() {
                None => seen.rates(),
                Some(_) => Vec::new(),
            },
            connections: (load.connections_over(seen.seconds()).round() as u32)
                .max(seen.pool.opened),
            // No more streams are in flight than the server allows.
            pipeline: seen
                .streams_allowed
                .map_or(load.pipeline, |most| most.clamp(1, load.pipeline)),
            // What falls due are sessions, which last as long as they do.
            rate: load
                .rate_over(seen.seconds())
                .filter(|_| seen.by_session.is_empty()),
            backlog: seen.backlog,
            pool: seen.pool,
            ..Self::of_load(load)
        }
    }

    /// Evidence before a measurement: only how the load was asked for.
    pub fn of_load(load: &Load) -> Self {
        Self {
            closed_loop: load.rate.is_none(),
            rate: load.rate,
            connections: load.connections,
            pipeline: load.pipeline,
            keepalive: load.keepalive,
            window: load.window.0.as_secs_f64(),
            ..Self::default()
        }
    }

    /// With what the server and the host used. `cpus` is the number of CPUs that the server could use
    /// at once, by its placement and its number of workers.
    #[must_use]
    pub fn with_resources(self, used: &Resources, cpus: f64) -> Self {
        let watched = used.watched_ns > 0;
        Self {
            server: used.server_cpus().map(|used| ServerCpu { cpus, used }),
            tcp: Some(Tcp {
                listen_overflows: used.listen_overflows,
                syn_retransmits: used.syn_retransmits,
                retransmits: used.retransmits,
            }),
            others_busy: watched.then_some(used.others_busy),
            stolen: watched.then_some(used.stolen),
            slowdown: used.cpu_slowdown,
            limited: used.limits,
            connections_per_loop: used.connections_per_loop.clone(),
            ..self
        }
    }

    /// Did some request take long enough to have waited for a retransmission?
    pub(crate) fn waited_for_retransmission(&self) -> bool {
        self.max_response.max(self.connect_max.unwrap_or(0.0)) >= RETRANSMISSION
    }

    /// The part of the time in which the busiest generator thread could not have done more: it
    /// worked, or waited for a CPU that others had.
    pub(crate) fn generator_taken(&self) -> f64 {
        self.generator_busy + self.generator_waiting
    }

    /// Words behind a number of connections, where the server limits streams; else empty.
    pub(crate) fn streams(&self) -> String {
        match self.streams_limited {
            Some(most) => format!(", on each of which the server allows {most} streams"),
            None => String::new(),
        }
    }

    /// Did connections break, or requests end without an answer, for more than one request in a hundred?
    pub(crate) fn broke(&self) -> bool {
        let failed = (self.timeouts + self.socket_errors).max(self.errors);
        failed as f64 > 0.01 * self.finished() as f64
    }

    /// Requests that ended, whichever way.
    pub(crate) fn finished(&self) -> u64 {
        self.ok + self.wrong + self.timeouts + self.socket_errors
    }

    /// The most requests in flight.
    pub(crate) fn depth(&self) -> f64 {
        f64::from(self.connections) * f64::from(self.pipeline)
    }

    /// A measurement that is all right: 10 s, 64 connections, 64,000 answers per second.
    #[cfg(test)]
    pub(crate) fn clean() -> Self {
        Self {
            closed_loop: true,
            connections: 64,
            pipeline: 1,
            keepalive: true,
            seconds: 10.0,
            ok: 640_000,
            mean_response: 0.001,
            median_response: Some(0.001),
            max_response: 0.02,
            samples: 640_000,
            generator_busy: 0.4,
            connect_max: Some(0.003),
            per_connection: vec![10_000; 64],
            window_rates: vec![64_000.0; 10],
            warmed_up: Some(true),
            server: Some(ServerCpu {
                cpus: 1.0,
                used: 0.98,
            }),
            tcp: Some(Tcp::default()),
            others_busy: Some(0.01),
            stolen: Some(0.0),
            slowdown: Some(1.01),
            clock_ns: Some(40.0),
            co_located: Some(false),
            server_nodes: vec![0],
            generator_nodes: vec![0],
            ..Self::default()
        }
    }
}
