//! From what engine and lab have seen to what checks, notebook and report take.

use prony_checks::{Evidence, Server, Tcp};
pub use prony_compat::evidence;
use prony_engine::Observation;
use prony_engine::clock::SECOND;
use prony_lab::duel::{Bout, Part};
use prony_lab::host::TcpCounters;
use prony_lab::placement::Placement;
use prony_lab::trial::Trial;
use prony_notebook as notebook;
use prony_report::duel::Values;
use prony_report::facts::{Durations, Facts, Finding, Generator, Outcomes, Resources, Status};
use prony_report::latency::{Latency, Percentiles, Times, encode};
use prony_stats::throughput::{Count, throughput};
use prony_stats::{Estimate, Unit};

/// What became of the requests.
pub fn outcomes(seen: &prony_engine::Outcomes) -> Outcomes {
    let [
        other,
        informational,
        success,
        redirection,
        client_error,
        server_error,
    ] = seen.status;
    Outcomes {
        ok: seen.ok,
        wrong_answer: seen.wrong_answer,
        timeout: seen.timeout,
        connect_error: seen.connect_error,
        read_error: seen.read_error,
        write_error: seen.write_error,
        in_flight_at_end: seen.in_flight_at_end,
        unsent_at_end: seen.unsent_at_end,
        status: Status {
            informational,
            success,
            redirection,
            client_error,
            server_error,
            other,
        },
    }
}

/// What the generator used.
pub fn generator(seen: &Observation) -> Generator {
    let finished = seen.outcomes.finished();
    Generator {
        cpu_us_per_request: (finished > 0)
            .then(|| seen.generator.work as f64 / finished as f64 / 1e3),
        busy: seen.generator.busiest,
        threads: seen.generator.threads,
        transport: seen.transport.to_string(),
    }
}

/// The three distributions.
pub fn latency(seen: &Observation) -> Latency {
    Latency {
        response: Percentiles::of(&seen.response),
        service: Percentiles::of(&seen.service),
        send_delay: Percentiles::of(&seen.send_delay),
    }
}

/// The rate of a single load with the interval of its windows.
pub fn rate(seen: &Observation) -> Estimate {
    let windows: Vec<Count> = seen
        .measured_windows()
        .map(|window| Count {
            answers: window.outcomes.ok,
            seconds: window.length as f64 / SECOND as f64,
        })
        .collect();
    // The value is that of the whole measurement; windows that it cuts only lend their spread.
    let spread = throughput(&windows).ok();
    let interval = spread.and_then(|estimate| {
        let shift = seen.throughput() - estimate.value();
        let interval = estimate.interval()?;
        prony_stats::Interval::new((interval.low() + shift).max(0.0), interval.high() + shift)
    });
    let n = spread.map_or(1, |estimate| estimate.n());
    Estimate::new(seen.throughput(), interval, n, Unit::PerSecond).unwrap_or_else(|_| {
        Estimate::new(seen.throughput(), None, 1, Unit::PerSecond).expect("a rate is finite")
    })
}

/// TCP events as the checks take them.
pub fn tcp(counters: &TcpCounters) -> Tcp {
    Tcp {
        listen_overflows: counters.listen_overflows,
        syn_retransmits: counters.syn_retransmits,
        retransmits: counters.retransmits,
    }
}

/// What checks find in a load.
pub fn findings(evidence: &Evidence) -> Vec<Finding> {
    prony_checks::examine(evidence)
        .into_iter()
        .map(Finding::from)
        .collect()
}

/// A trial as the notebook takes it, without what tells it from other trials.
pub struct Kept {
    /// Everything that is kept as JSON.
    pub facts: Facts,
    /// The server's CPU time per verified answer, in nanoseconds.
    pub cpu_ns_per_request: Option<f64>,
    /// Windows.
    pub windows: Vec<notebook::Window>,
    /// Histograms.
    pub histograms: Vec<notebook::Histogram>,
}

/// Puts together what is kept of a trial of a server with so many workers.
pub fn keep(trial: &Trial, workers: u32, placement: &Placement) -> Kept {
    let seen = &trial.observation;
    let used = &trial.resources;
    let cpus = placement.all().len();
    let time = (used.watched as f64 * cpus as f64).max(1.0);
    let ours = used.server_cpu + used.upstream_cpu + seen.generator.work + seen.generator.spin;
    let others_busy = used.all_cpus_busy.saturating_sub(ours) as f64 / time;
    let stolen = used.stolen as f64 / time;
    let evidence = Evidence {
        warmed_up: Some(trial.warmup.steady),
        server: (used.watched > 0).then(|| Server {
            cpus: placement.server.len().min(workers as usize) as f64,
            used: used.server_cpu as f64 / used.watched as f64,
        }),
        tcp: Some(tcp(&trial.tcp)),
        others_busy: Some(others_busy),
        stolen: Some(stolen),
        workers: Some(workers),
        server_cpus: Some(placement.server.len() as u32),
        co_located: Some(placement.co_located()),
        connections_per_loop: used.connections.clone(),
        ..evidence(&trial.plan, seen)
    };
    let facts = Facts {
        outcomes: outcomes(&seen.outcomes),
        generator: generator(seen),
        resources: Resources {
            server_cpu_ns: used.server_cpu,
            rss_peak_bytes: used.rss_peak,
            threads: used.threads,
            processes: used.processes,
            connections_per_loop: used.connections.clone(),
            context_switches: used.context_switches,
            others_busy,
            stolen,
            cpu_pressure_ns: used.cpu_pressure,
            listen_overflows: trial.tcp.listen_overflows,
            retransmits: trial.tcp.retransmits,
            syn_retransmits: trial.tcp.syn_retransmits,
        },
        durations: Durations {
            ready_ns: trial.times.ready,
            verify_ns: trial.times.verify,
            warmup_ns: trial.warmup.length,
            measured_ns: seen.measured(),
            stop_ns: trial.times.stop,
            total_ns: trial.times.total,
        },
        warmed_up: trial.warmup.steady,
        errors: seen.errors.clone(),
        wrong_answers: seen.wrong.clone(),
        per_connection: seen
            .per_connection
            .iter()
            .min()
            .copied()
            .zip(seen.per_connection.iter().max().copied()),
        checks: findings(&evidence),
    };
    let ok = seen.outcomes.ok;
    Kept {
        facts,
        cpu_ns_per_request: (ok > 0).then(|| used.server_cpu as f64 / ok as f64),
        windows: windows(seen, used),
        histograms: histograms(seen),
    }
}

fn histograms(seen: &Observation) -> Vec<notebook::Histogram> {
    use notebook::HistogramKind::{Connect, Late, Response, SendDelay, Service};
    [
        (Response, &seen.response),
        (Service, &seen.service),
        (SendDelay, &seen.send_delay),
        (Connect, &seen.connect),
        (Late, &seen.late),
    ]
    .into_iter()
    .filter(|(_, times)| !times.is_empty())
    .map(|(kind, times)| notebook::Histogram {
        kind,
        count: times.len(),
        data: encode(times),
    })
    .collect()
}

fn windows(seen: &Observation, used: &prony_lab::watch::Resources) -> Vec<notebook::Window> {
    let origin = seen.windows.first().map_or(0, |window| window.start);
    seen.windows
        .iter()
        .map(|window| {
            let end = window.start + window.length;
            let response = &window.response;
            let at = |q| (!response.is_empty()).then(|| response.value_at_quantile(q));
            // The watch looks at the ends of measured windows; the look belongs to the window
            // that it is nearest to the end of.
            let looks: Vec<_> = used
                .samples
                .windows(2)
                .filter(|pair| pair[1].at.abs_diff(end) < window.length / 2)
                .collect();
            let look = looks.first();
            let outcomes = &window.outcomes;
            notebook::Window {
                index: window.index,
                start_ns: window.start - origin,
                length_ns: window.length,
                phase: if window.start >= seen.from && window.start < seen.until {
                    notebook::Phase::Measure
                } else {
                    notebook::Phase::Warmup
                },
                verified_answers: outcomes.ok,
                wrong_answers: outcomes.wrong_answer,
                errors: outcomes.connect_error + outcomes.read_error + outcomes.write_error,
                timeouts: outcomes.timeout,
                p50_ns: at(0.5),
                p99_ns: at(0.99),
                server_cpu_ns: look.map(|pair| pair[1].cpu.saturating_sub(pair[0].cpu)),
                generator_cpu_ns: Some(window.work),
                rss_bytes: look.map(|pair| pair[1].rss),
                more: serde_json::Value::Null,
            }
        })
        .collect()
}

/// Checks that judge how long was measured: whoever repeats short parts decides that by their number.
const OF_LENGTH: [&str; 3] = ["too-short", "too-few-samples", "not-steady"];

/// What checks find in a part of a round.
pub fn part_findings(part: &Part, placement: &Placement) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for seen in &part.segments {
        let evidence = Evidence {
            server: part.cpu.map(|cpu| Server {
                cpus: placement.server.len() as f64,
                used: cpu as f64 / SECOND as f64 / part.seconds(),
            }),
            co_located: Some(placement.co_located()),
            ..evidence(&part.plan, seen)
        };
        for finding in findings(&evidence) {
            let known = all.iter().any(|found| found.name == finding.name);
            if !known && !OF_LENGTH.contains(&finding.name.as_str()) {
                all.push(finding);
            }
        }
    }
    all
}

/// What a round has shown of a side.
pub fn values(bout: &Bout) -> Values {
    let mut values = Values {
        throughput: bout.throughput(),
        ..Values::default()
    };
    if let Some(fixed) = &bout.fixed {
        let times = Percentiles::of(&response(fixed));
        values.p50 = times.p50.map(|ns| ns as f64);
        values.p99 = times.p99.map(|ns| ns as f64);
        values.cpu = fixed.cpu_per_request();
    }
    values
}

/// The response times of all segments of a part together.
pub fn response(part: &Part) -> Times {
    let mut all = part.segments[0].response.clone();
    for seen in &part.segments[1..] {
        all.add(&seen.response).expect("all have the same bounds");
    }
    all
}
