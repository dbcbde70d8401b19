//! Watching a server while it is under load: CPU time and memory of its whole process tree, and
//! the state of the machine, at the ends of the measurement and at every window in between.

use crate::host::{CpuAccounts, cpu_pressure};
use crate::placement::Placement;
use crate::spread;
use crate::tree;
use prony_engine::{Nanos, clock};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The server's process tree at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// On the engine's clock.
    pub at: Nanos,
    /// CPU time of all its processes since they began, ended ones included as last seen.
    pub cpu: Nanos,
    /// Memory of all its processes, in bytes; pages that they share count once for each.
    pub rss: u64,
    /// Threads of all its processes.
    pub threads: u64,
    /// Its processes.
    pub processes: u64,
}

/// What a server and the machine used over the measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Resources {
    /// Length of the part that was watched.
    pub watched: Nanos,
    /// CPU time of the server's processes in it.
    pub server_cpu: Nanos,
    /// CPU time of its upstream's processes.
    pub upstream_cpu: Nanos,
    /// The largest sum of the processes' peak memory, in bytes.
    pub rss_peak: u64,
    /// The most threads.
    pub threads: u64,
    /// The most processes.
    pub processes: u64,
    /// How often the server's threads were put on a CPU.
    pub context_switches: u64,
    /// Busy time of the server's CPUs, whoever used it.
    pub server_cpus_busy: Nanos,
    /// Busy time of all CPUs in use here, whoever used it.
    pub all_cpus_busy: Nanos,
    /// Time of those CPUs that the hypervisor gave to somebody else.
    pub stolen: Nanos,
    /// Time in which some task of the machine waited for a CPU; `None` where it is not counted.
    pub cpu_pressure: Option<Nanos>,
    /// Connections of each of the server's event loops early in the measurement, the most
    /// first; empty when none can be seen.
    pub connections: Vec<u32>,
    /// The server at every window, the ends included.
    pub samples: Vec<Sample>,
}

/// What is watched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Roots {
    /// Everything below this process belongs to the server.
    pub server: libc::pid_t,
    /// Everything below this one to its upstream.
    pub upstream: Option<libc::pid_t>,
    /// The server's port.
    pub port: u16,
}

/// A thread that watches.
#[derive(Debug)]
pub(crate) struct Watch {
    orders: mpsc::Sender<Order>,
    thread: JoinHandle<Resources>,
    used: Used,
}

/// How many CPUs the server used between the last two looks, for whoever shows it meanwhile.
#[derive(Debug, Clone)]
struct Used(Arc<AtomicU64>);

impl Used {
    /// Nothing has been seen.
    fn new() -> Self {
        Self(Arc::new(AtomicU64::new(f64::NAN.to_bits())))
    }

    fn seen(&self, before: &Sample, after: &Sample) {
        let time = after.at.saturating_sub(before.at).max(1) as f64;
        let used = after.cpu.saturating_sub(before.cpu) as f64 / time;
        self.0.store(used.to_bits(), Ordering::Relaxed);
    }

    fn get(&self) -> Option<f64> {
        Some(f64::from_bits(self.0.load(Ordering::Relaxed))).filter(|used| !used.is_nan())
    }
}

enum Order {
    Measure { from: Nanos, until: Nanos },
    Finish,
}

impl Watch {
    /// Watches everything below `roots`, once per `period` in the measurement.
    pub(crate) fn start(roots: Roots, placement: Placement, period: Duration) -> Self {
        let (orders, inbox) = mpsc::channel();
        let used = Used::new();
        let told = used.clone();
        let thread = std::thread::spawn(move || watch(roots, &placement, period, &inbox, &told));
        Self {
            orders,
            thread,
            used,
        }
    }

    /// How many CPUs the server used between the last two looks; `None` before there are two.
    pub(crate) fn used(&self) -> Option<f64> {
        self.used.get()
    }

    /// Says which part is measured, before it begins.
    pub(crate) fn measure(&self, from: Nanos, until: Nanos) {
        let _ = self.orders.send(Order::Measure { from, until });
    }

    /// Ends the watching; without a measurement nothing was seen.
    pub(crate) fn finish(self) -> Resources {
        let _ = self.orders.send(Order::Finish);
        self.thread.join().unwrap_or_default()
    }
}

fn watch(
    roots: Roots,
    placement: &Placement,
    period: Duration,
    inbox: &mpsc::Receiver<Order>,
    used: &Used,
) -> Resources {
    let Ok(Order::Measure { from, until }) = inbox.recv() else {
        return Resources::default();
    };
    sleep_until(from);
    let mut eye = Eye::on(roots.server);
    let mut behind = roots.upstream.map(Eye::on);
    let mut behind_cpu = || behind.as_mut().map_or(0, |eye| eye.look().0.cpu);
    let behind_before = behind_cpu();
    let (mut samples, mut rss_peak) = (Vec::new(), 0);
    let (first, _) = eye.look();
    samples.push(first);
    let accounts = CpuAccounts::read();
    let pressure = cpu_pressure();
    let switches = eye.switches();
    let mut next = from;
    let mut connections = None;
    loop {
        next = (next + clock::nanos(period)).min(until);
        let wait = Duration::from_nanos(next.saturating_sub(clock::now()));
        let finished = !matches!(inbox.recv_timeout(wait), Err(RecvTimeoutError::Timeout));
        let (sample, peak) = eye.look();
        used.seen(samples.last().unwrap_or(&first), &sample);
        samples.push(sample);
        rss_peak = rss_peak.max(peak);
        if finished || next >= until {
            break;
        }
        // Once is enough: a connection stays where it is. Not at the beginning, when servers that
        // move connections between their loops may not have come to rest.
        if connections.is_none() {
            connections = Some(spread::connections(roots.server, roots.port));
        }
    }
    let last = *samples.last().unwrap_or(&first);
    let all = placement.all();
    let now = CpuAccounts::read();
    let (all_cpus_busy, stolen) = now.since(&accounts, &all);
    Resources {
        watched: last.at - first.at,
        server_cpu: last.cpu.saturating_sub(first.cpu),
        upstream_cpu: behind_cpu().saturating_sub(behind_before),
        rss_peak,
        threads: samples
            .iter()
            .map(|sample| sample.threads)
            .max()
            .unwrap_or(0),
        processes: samples
            .iter()
            .map(|sample| sample.processes)
            .max()
            .unwrap_or(0),
        context_switches: eye.switches().saturating_sub(switches),
        server_cpus_busy: now.since(&accounts, &placement.server).0,
        all_cpus_busy,
        stolen,
        cpu_pressure: pressure
            .zip(cpu_pressure())
            .map(|(then, now)| now.saturating_sub(then) * 1_000),
        connections: connections.unwrap_or_default(),
        samples,
    }
}

fn sleep_until(at: Nanos) {
    std::thread::sleep(Duration::from_nanos(at.saturating_sub(clock::now())));
}

/// Looks at a process tree and remembers the CPU time of processes that have ended since.
struct Eye {
    root: libc::pid_t,
    cpu: HashMap<libc::pid_t, Nanos>,
}

impl Eye {
    fn on(root: libc::pid_t) -> Self {
        Self {
            root,
            cpu: HashMap::new(),
        }
    }

    /// The tree now, and the sum of its processes' peak memory.
    fn look(&mut self) -> (Sample, u64) {
        let pids = tree::descendants(self.root);
        // CPU time first and in one go: it is what has to be exact.
        for &pid in &pids {
            if let Some(cpu) = tree::cpu_time(pid) {
                self.cpu.insert(pid, cpu);
            }
        }
        let at = clock::now();
        let (mut sample, mut peak) = (
            Sample {
                at,
                ..Sample::default()
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

    fn switches(&self) -> u64 {
        self.cpu.keys().map(|&pid| tree::switches(pid)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_busy_child_is_measured_over_the_part_that_was_asked_for() {
        let mut child = Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let cpus = crate::placement::allowed_cpus();
        let placement = Placement {
            server: cpus.clone(),
            generator: cpus,
            upstream: Vec::new(),
        };
        // The tree below this test process is the child (and whatever other tests have started).
        let watch = Watch::start(
            Roots {
                server: std::process::id() as libc::pid_t,
                upstream: None,
                port: 1,
            },
            placement,
            Duration::from_millis(50),
        );
        let from = clock::now() + 20_000_000;
        assert_eq!(watch.used(), None);
        watch.measure(from, from + 300_000_000);
        std::thread::sleep(Duration::from_millis(400));
        let used = watch.used();
        let seen = watch.finish();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(seen.server_cpu > 10_000_000, "{seen:?}");
        assert!(
            seen.rss_peak > 0 && seen.processes >= 1 && seen.samples.len() >= 3,
            "{seen:?}"
        );
        assert!(seen.watched >= 250_000_000, "{seen:?}");
        assert!(used.is_some_and(|used| used > 0.0), "{used:?}");
    }

    #[test]
    fn without_a_measured_part_nothing_was_seen() {
        let roots = Roots {
            server: 1,
            upstream: None,
            port: 1,
        };
        let watch = Watch::start(roots, Placement::split(&[0]), Duration::from_secs(1));
        assert_eq!(watch.finish(), Resources::default());
    }
}
