//! A probe: looks at a server for one measurement.

use crate::counts::ProcessCounts;
use crate::family::Family;
use crate::perf::{EventKind, Ring};
use crate::records::{self, Record, Sample};
use crate::tracepoint::{self, SwitchFields};
use crate::waits::{Switch, Waits};
use crate::{Nanos, PERIOD, Refused};
use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two readings of the rings.
const TURN: Duration = Duration::from_millis(20);
/// Different stacks that are kept of one measurement. Those beyond keep their innermost frames only.
const MOST_STACKS: usize = 100_000;

/// How a probe looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ProbeMode {
    /// Procfs only, at both ends: costs the server nothing.
    Plain,
    /// Samples of its stacks.
    Stacks,
    /// System calls of its processes, every single one.
    Calls,
    /// How long its threads wait, and where: every time that one of them leaves its CPU.
    Waits,
}

/// A stack of one process: addresses, innermost first.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Stack {
    pub pid: u32,
    pub kernel: Vec<u64>,
    pub user: Vec<u64>,
    /// For a wait: the thread could have run, and waited for a CPU.
    pub runnable: bool,
}

/// Observations of a probe.
#[derive(Debug, Default)]
pub struct Taken {
    /// Counts of procfs, by name; empty when nothing was measured.
    pub counts: BTreeMap<&'static str, f64>,
    /// System calls by number.
    pub calls: BTreeMap<i64, u64>,
    /// How many samples there are; of [`ProbeMode::Waits`], how many waits.
    pub samples: u64,
    /// Records that did not fit into the ring.
    pub lost: u64,
    /// Samples by stack; of [`ProbeMode::Waits`], nanoseconds.
    pub(crate) stacks: HashMap<Stack, u64>,
}

/// Looks at a process tree from a thread of its own.
#[derive(Debug)]
pub struct Probe {
    orders: mpsc::Sender<(Nanos, Nanos)>,
    thread: JoinHandle<Taken>,
}

impl Probe {
    /// Gets ready to look at everything below `root` (at `root` too, if `with_root`), which runs on these CPUs.
    ///
    /// # Errors
    /// When the kernel does not allow it.
    pub fn open(
        root: u32,
        with_root: bool,
        cpus: &[usize],
        look: ProbeMode,
    ) -> Result<Self, Refused> {
        let tried = match look {
            ProbeMode::Calls => "counting system calls",
            ProbeMode::Waits => "recording when threads wait",
            ProbeMode::Plain | ProbeMode::Stacks => "sampling stacks",
        };
        let refused = |error: std::io::Error| Refused::new(tried, &error);
        let mut fields = None;
        let kind = match look {
            ProbeMode::Plain => None,
            ProbeMode::Stacks => Some(EventKind::Stacks(PERIOD)),
            ProbeMode::Calls => {
                let id = tracepoint::id("raw_syscalls/sys_enter").map_err(refused)?;
                Some(EventKind::Tracepoint(id))
            }
            ProbeMode::Waits => {
                let (id, known) = tracepoint::switches().map_err(refused)?;
                fields = Some(known);
                Some(EventKind::TracepointStacks(id))
            }
        };
        let mut rings = Vec::new();
        for &cpu in kind.map_or(&[][..], |_| cpus) {
            let ring = kind.map(|kind| Ring::open(kind, cpu)).transpose();
            rings.extend(ring.map_err(refused)?);
        }
        let (orders, inbox) = mpsc::channel();
        let sample_type = kind.map_or(0, EventKind::sample_type);
        let mut collector = Collector {
            family: Family::below(root, with_root),
            rings,
            sample_type,
            fields,
            taken: Taken::default(),
        };
        let thread = std::thread::spawn(move || {
            collector.watch(&inbox);
            collector.taken
        });
        Ok(Self { orders, thread })
    }

    /// Says what is measured, before it begins, on `CLOCK_MONOTONIC`.
    pub fn measure(&self, from: Nanos, until: Nanos) {
        let _ = self.orders.send((from, until));
    }

    /// Ends the look, at once if the measurement still goes on.
    #[must_use]
    pub fn finish(self) -> Taken {
        drop(self.orders);
        self.thread.join().unwrap_or_default()
    }
}

struct Collector {
    family: Family,
    rings: Vec<Ring>,
    sample_type: u64,
    /// Places of the fields of context switches, for [`ProbeMode::Waits`]; none for other looks.
    fields: Option<SwitchFields>,
    taken: Taken,
}

impl Collector {
    fn watch(&mut self, inbox: &mpsc::Receiver<(Nanos, Nanos)>) {
        let Ok((from, until)) = inbox.recv() else {
            return;
        };
        // At once, and not when the measurement begins: this thread may be woken late, and what is recorded too early is
        // dropped by its time. What cannot be switched on gives nothing: the caller sees that there are no samples.
        for ring in &self.rings {
            let _ = ring.enable();
        }
        std::thread::sleep(Duration::from_nanos(from.saturating_sub(now())));
        let before = ProcessCounts::of(self.family.pids());
        let mut waits = Waits::new(from, until);
        loop {
            let left = Duration::from_nanos(until.saturating_sub(now()));
            let ended = inbox.recv_timeout(left.min(TURN)) != Err(RecvTimeoutError::Timeout);
            self.read(from, until, &mut waits);
            if ended || now() >= until {
                break;
            }
        }
        if self.fields.is_some() {
            let Self { family, taken, .. } = self;
            let mut waited = |stack, time| taken.put(stack, time);
            waits.go_on(Nanos::MAX, family, &mut waited);
            waits.end(&mut waited);
        }
        let after = ProcessCounts::of(self.family.pids());
        self.rings.clear();
        self.taken.counts = after.since(&before);
    }

    fn read(&mut self, from: Nanos, until: Nanos, waits: &mut Waits) {
        let (family, taken) = (&mut self.family, &mut self.taken);
        let begun = now();
        for ring in &mut self.rings {
            ring.drain(
                |kind, body| match records::read(kind, body, self.sample_type) {
                    Some(Record::Fork { pid, parent }) => family.forked(pid, parent),
                    Some(Record::Lost(records)) => taken.lost += records,
                    Some(Record::Sample(sample)) if self.fields.is_some() => {
                        let switch = self.fields.and_then(|fields| Switch::of(sample, fields));
                        switch.into_iter().for_each(|switch| waits.add(switch));
                    }
                    Some(Record::Sample(sample))
                        if family.has(sample.pid) && (from..until).contains(&sample.time) =>
                    {
                        taken.add(sample);
                    }
                    _ => {}
                },
            );
        }
        if self.fields.is_some() {
            waits.go_on(begun, family, &mut |stack, time| taken.put(stack, time));
        }
    }
}

impl Taken {
    fn add(&mut self, sample: Sample) {
        if let Some(call) = sample.syscall() {
            *self.calls.entry(call).or_default() += 1;
            return;
        }
        let stack = Stack {
            pid: sample.pid,
            kernel: sample.kernel,
            user: sample.user,
            runnable: false,
        };
        self.put(stack, 1);
    }

    /// Adds a sample, or a wait of so many nanoseconds.
    fn put(&mut self, mut stack: Stack, weight: u64) {
        self.samples += 1;
        if self.stacks.len() >= MOST_STACKS && !self.stacks.contains_key(&stack) {
            stack.user.truncate(1);
        }
        *self.stacks.entry(stack).or_default() += weight;
    }
}

/// `CLOCK_MONOTONIC`.
fn now() -> Nanos {
    let mut ts = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `ts` is writable for the length of the call, which cannot fail for this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut ts) };
    ts.tv_sec as u64 * 1_000_000_000 + ts.tv_nsec as u64
}
