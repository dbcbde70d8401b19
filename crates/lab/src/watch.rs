//! Watching a server while it is under load: CPU time and memory of its whole process tree, and
//! the state of the machine, at the ends of the measurement and at every window in between.

mod services;

use crate::canary;
use crate::control_group::Folders;
use crate::host::{Watched, Watcher};
use crate::machine::{CpuAccounts, TcpCounters, cpu_pressure};
use crate::placement::Placement;
use crate::service::ServiceRoot;
use crate::spread;
use crate::tree::{self, Root, Ticks};
use prony_engine::{Nanos, clock};
use prony_record::Resources;
use serde::{Deserialize, Serialize};
use services::WatchedService;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long before the end of a measurement services count for the last time, at the most: a busy one takes a moment, in
/// which the load must not end.
const LATEST: Nanos = 100_000_000;

/// The server's process tree at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSample {
    /// On the engine's clock.
    pub at: Nanos,
    /// CPU time of all its processes since they began, ended ones included as last seen.
    pub cpu: Nanos,
    /// Memory of all its processes, in bytes; pages that they share count once for each.
    pub rss: u64,
    /// Threads of all its processes.
    pub threads: u64,
    /// Number of its processes.
    pub processes: u64,
}

/// Processes and port that are watched.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    /// The server's processes.
    pub server: Root,
    /// Processes of its upstream; none: there is no upstream here.
    pub upstream: Option<Root>,
    /// Services of the server.
    pub services: Vec<ServiceRoot>,
    /// Control group that limits the server.
    pub limited: Option<Folders>,
    /// The server's port.
    pub port: u16,
}

/// A thread that watches.
#[derive(Debug)]
pub struct ProcWatch {
    orders: mpsc::Sender<WatchCommand>,
    thread: JoinHandle<Watched>,
    used: Used,
}

/// How many CPUs the server used between the last two looks, for displays.
#[derive(Debug, Clone)]
struct Used(Arc<AtomicU64>);

impl Used {
    /// Nothing has been seen.
    fn new() -> Self {
        Self(Arc::new(AtomicU64::new(f64::NAN.to_bits())))
    }

    fn seen(&self, before: &ProcessSample, after: &ProcessSample) {
        let time = after.at.saturating_sub(before.at).max(1) as f64;
        let used = after.cpu.saturating_sub(before.cpu) as f64 / time;
        self.0.store(used.to_bits(), Ordering::Relaxed);
    }

    fn get(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.load(Ordering::Relaxed))).filter(|used| !used.is_nan())
    }
}

enum WatchCommand {
    Measure { from: Nanos, until: Nanos },
    Finish,
}

impl ProcWatch {
    /// Watches everything below `roots`, once per `period` in the measurement.
    pub(crate) fn start(roots: Roots, placement: Placement, period: Duration) -> Self {
        let (orders, inbox) = mpsc::channel();
        let used = Used::new();
        let told = used.clone();
        // Before the load connects: what overflows then counts.
        let tcp = TcpCounters::read();
        let thread =
            std::thread::spawn(move || watch(&roots, &placement, period, tcp, &inbox, &told));
        Self {
            orders,
            thread,
            used,
        }
    }
}

impl Watcher for ProcWatch {
    fn used(&self) -> Option<f64> {
        self.used.get()
    }

    fn measure(&self, from: Nanos, until: Nanos) {
        let _ = self.orders.send(WatchCommand::Measure { from, until });
    }

    fn finish(self: Box<Self>) -> Watched {
        let _ = self.orders.send(WatchCommand::Finish);
        self.thread.join().unwrap_or_default()
    }
}

fn watch(
    roots: &Roots,
    placement: &Placement,
    period: Duration,
    tcp: TcpCounters,
    inbox: &mpsc::Receiver<WatchCommand>,
    used: &Used,
) -> Watched {
    let Ok(WatchCommand::Measure { from, until }) = inbox.recv() else {
        return Watched::default();
    };
    let mut services: Vec<_> = roots.services.iter().map(WatchedService::of).collect();
    sleep_until(from);
    services.iter_mut().for_each(WatchedService::begin);
    let mut observer = TreeObserver::on(roots.server);
    let mut behind = roots.upstream.map(TreeObserver::on);
    let mut behind_cpu = || behind.as_mut().map_or(0, |observer| observer.look().0.cpu);
    let behind_before = behind_cpu();
    let (mut samples, mut rss_peak) = (Vec::new(), 0);
    let (first, _) = observer.look();
    samples.push(first);
    let accounts = CpuAccounts::read();
    let pressure = cpu_pressure();
    let (switches, wakeups) = (observer.switches(), observer.wakeups());
    let ticks = observer.ticks();
    let limited = roots.limited.as_ref().map(|it| (it, it.counters()));
    let mut next = from;
    let mut connections = None;
    let mut count = Some(until - LATEST.min(until.saturating_sub(from) / 5));
    let is_over = |at: Nanos| {
        let wait = Duration::from_nanos(at.saturating_sub(clock::now()));
        !matches!(inbox.recv_timeout(wait), Err(RecvTimeoutError::Timeout))
    };
    let finished = loop {
        next = (next + clock::nanos(period)).min(until);
        let finished = match count.take_if(|at| *at <= next) {
            Some(at) if is_over(at) => true,
            Some(_) => {
                services.iter_mut().for_each(WatchedService::count);
                is_over(next)
            }
            None => is_over(next),
        };
        let (sample, peak) = observer.look();
        used.seen(samples.last().unwrap_or(&first), &sample);
        samples.push(sample);
        rss_peak = rss_peak.max(peak);
        if finished || next >= until {
            break finished;
        }
        // Once is enough: a connection stays where it is. Not at the beginning, when servers that
        // move connections between their loops may not have come to rest.
        if connections.is_none() {
            connections = Some(spread::connections(roots.server, roots.port));
        }
    };
    let last = *samples.last().unwrap_or(&first);
    let server_cpu_ns = last.cpu.saturating_sub(first.cpu);
    let (user, kernel) = observer.ticks().since(ticks).divide(server_cpu_ns);
    let all = placement.all();
    let now = CpuAccounts::read();
    let (all_cpus_busy, stolen) = now.since(&accounts, &all);
    let tcp = TcpCounters::read().since(&tcp);
    let most = |of: fn(&ProcessSample) -> u64| samples.iter().map(of).max().unwrap_or(0);
    let resources = Resources {
        watched_ns: last.at - first.at,
        server_cpu_ns,
        server_user_ns: user,
        server_kernel_ns: kernel,
        wakeups: observer.wakeups().saturating_sub(wakeups),
        limits: limited.map(|(it, before)| it.effect(&before, &it.counters())),
        upstream_cpu_ns: behind_cpu().saturating_sub(behind_before),
        services: services.into_iter().map(WatchedService::end).collect(),
        rss_peak_bytes: rss_peak,
        threads: most(|sample| sample.threads),
        processes: most(|sample| sample.processes),
        connections_per_loop: connections.unwrap_or_default(),
        context_switches: observer.switches().saturating_sub(switches),
        // These are shares, which need to know what the generator used.
        others_busy: 0.0,
        stolen: 0.0,
        cpu_slowdown: None,
        cpu_pressure_ns: pressure
            .zip(cpu_pressure())
            .map(|(then, now)| now.saturating_sub(then) * 1_000),
        listen_overflows: tcp.listen_overflows,
        retransmits: tcp.retransmits,
        syn_retransmits: tcp.syn_retransmits,
    };
    // Not before the load is over: the work would keep the server from its last requests. Everything else has been read at
    // the end of the measurement.
    if !finished {
        let _ = inbox.recv();
    }
    let resources = Resources {
        cpu_slowdown: canary::slowdown(&placement.server),
        ..resources
    };
    Watched {
        resources,
        all_cpus_busy,
        stolen,
        cpus: all.len(),
        samples,
        apart: false,
    }
}

fn sleep_until(at: Nanos) {
    std::thread::sleep(Duration::from_nanos(at.saturating_sub(clock::now())));
}

/// Looks at a process tree and remembers the CPU time of processes that have ended since.
struct TreeObserver {
    root: Root,
    cpu: HashMap<libc::pid_t, Nanos>,
    ticks: HashMap<libc::pid_t, Ticks>,
}

impl TreeObserver {
    fn on(root: Root) -> Self {
        Self {
            root,
            cpu: HashMap::new(),
            ticks: HashMap::new(),
        }
    }

    /// The tree now, and the sum of its processes' peak memory.
    fn look(&mut self) -> (ProcessSample, u64) {
        let pids = self.root.processes();
        // CPU time first and in one go: it is what has to be exact.
        for &pid in &pids {
            if let Some(cpu) = tree::cpu_time(pid) {
                self.cpu.insert(pid, cpu);
            }
        }
        let at = clock::now();
        let ticks = |&pid| Some((pid, tree::ticks(pid)?));
        self.ticks.extend(pids.iter().filter_map(ticks));
        let (mut sample, mut peak) = (
            ProcessSample {
                at,
                ..ProcessSample::default()
            },
            0,
        );
        sample.cpu = self.cpu.values().sum();
        for status in pids.iter().filter_map(|&pid| tree::status(pid)) {
            sample.rss += status.rss;
            sample.threads += status.threads;
            sample.processes += 1;
            peak += status.rss_peak;
        }
        (sample, peak)
    }

    /// CPU time of all its processes since they began, ended ones included as last seen.
    fn ticks(&self) -> Ticks {
        let all = self.ticks.values();
        all.fold(Ticks::default(), |sum, one| Ticks {
            user: sum.user + one.user,
            kernel: sum.kernel + one.kernel,
        })
    }

    fn wakeups(&self) -> u64 {
        self.cpu.keys().map(|&pid| tree::wakeups(pid)).sum()
    }

    fn switches(&self) -> u64 {
        self.cpu.keys().map(|&pid| tree::switches(pid)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;
    use std::process::{Command, Stdio};

    #[test]
    fn a_busy_child_is_measured_over_the_part_that_was_asked_for() {
        let mut child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let placement = Placement::shared(&Topology::here());
        // The tree below this test process is the child (and whatever other tests have started).
        let watch = ProcWatch::start(
            Roots {
                server: Root::above(std::process::id() as libc::pid_t),
                upstream: None,
                services: Vec::new(),
                limited: None,
                port: 1,
            },
            placement,
            Duration::from_millis(50),
        );
        assert_eq!(watch.used(), None);
        watch.measure(clock::now() + 20_000_000, Nanos::MAX);
        // However busy the machine is, the child gets a CPU at some time.
        let begun = std::time::Instant::now();
        while watch.used().is_none_or(|used| used == 0.0) && begun.elapsed().as_secs() < 60 {
            std::thread::sleep(Duration::from_millis(20));
        }
        let used = watch.used();
        let seen = Box::new(watch).finish();
        child.kill().unwrap();
        child.wait().unwrap();
        let of = &seen.resources;
        assert!(used.is_some_and(|used| used > 0.0), "{used:?}");
        assert!(of.server_cpu_ns > 0, "{seen:?}");
        let parts = of.server_user_ns + of.server_kernel_ns;
        assert!(parts == of.server_cpu_ns || parts == 0, "{seen:?}");
        assert!(
            of.rss_peak_bytes > 0 && of.processes >= 1 && seen.samples.len() >= 2,
            "{seen:?}"
        );
        let last = seen.samples.last().unwrap();
        assert_eq!(of.watched_ns, last.at - seen.samples[0].at);
    }

    #[test]
    fn without_a_measured_part_nothing_was_seen() {
        let roots = Roots {
            server: Root::above(1),
            upstream: None,
            services: Vec::new(),
            limited: None,
            port: 1,
        };
        let watch = ProcWatch::start(
            roots,
            Placement::split(&Topology::unknown(&[0])),
            Duration::from_secs(1),
        );
        assert_eq!(Box::new(watch).finish(), Watched::default());
    }
}
