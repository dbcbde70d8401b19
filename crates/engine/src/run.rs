//! Starting the workers and putting together what they saw.

use crate::clock::{self, Nanos, SECOND};
use crate::control::Control;
use crate::plan::{Arrival, Dialogue, Invalid, Plan, Target, TransportKind};
use crate::protocol::{Echo, Http, Session};
use crate::recorder::{Outcomes, Record, Times, Window};
use crate::schedule::{Closed, Constant, Poisson, Schedule, Share};
use crate::trace::{Opening, Sample};
use crate::transport::{Came, Epoll, Transport, Uring};
use crate::worker::{Event, Report, Worker};
use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc;

/// Why a load could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan is invalid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The transport could not be had.
    #[error("{kind} cannot be used: {source}")]
    Transport {
        /// Which.
        kind: TransportKind,
        /// What the kernel said.
        source: io::Error,
    },
    /// A worker could not go on.
    #[error("a generator thread ended: {0}")]
    Worker(io::Error),
}

/// What the generator itself used, over the measurement.
#[derive(Debug, Clone, Default)]
pub struct Generator {
    /// Threads.
    pub threads: u32,
    /// CPU time of all threads for the work: without waiting.
    pub work: Nanos,
    /// CPU time of all threads spent waiting without sleep (an open loop must not oversleep).
    pub spin: Nanos,
    /// The work of the thread with the least time left, as a part of the measured time, 0 to 1.
    pub busiest: f64,
    /// The part of the measured time in which that thread was ready to run and others had its CPU,
    /// 0 to 1; zero where the kernel does not say.
    pub kept_waiting: f64,
}

/// What a load has shown.
#[derive(Debug)]
pub struct Observation {
    /// When the measurement began, on the engine's clock.
    pub from: Nanos,
    /// When it ended.
    pub until: Nanos,
    /// Done − due, of every request due in the measurement.
    pub response: Times,
    /// Done − sent.
    pub service: Times,
    /// Sent − due; all zero in a closed loop, where due means sent, except for requests that
    /// waited for a connection to be made.
    pub send_delay: Times,
    /// How late the generator itself was: sent − max(due, since when the connection was free).
    /// Empty in a closed loop.
    pub late: Times,
    /// Time to make a connection, set-up included; one that took too long at the time-out's length.
    pub connect: Times,
    /// What became of the requests.
    pub outcomes: Outcomes,
    /// All windows since the load began, warm-up included, in order.
    pub windows: Vec<Window>,
    /// Answers, right or wrong, per second of each worker in each of its whole windows inside the
    /// measurement, in no particular order.
    pub worker_rates: Vec<f64>,
    /// What the generator used.
    pub generator: Generator,
    /// Connections made, set-up included.
    pub connected: u64,
    /// Answers in the measurement by connection.
    pub per_connection: Vec<u64>,
    /// Bytes received since the load began.
    pub bytes_received: u64,
    /// Bytes sent since the load began.
    pub bytes_sent: u64,
    /// Bytes of answers' bodies since the load began, without any transfer coding.
    pub body_bytes: u64,
    /// Every request that was answered or took too long in the measurement, worker by worker, in
    /// the order in which they ended; empty unless the [plan](Plan::trace) asks for it. One that
    /// met an error, or an answer that breaks the protocol, is not here.
    pub trace: Vec<Sample>,
    /// The head of the first answer, where the protocol has heads.
    pub first_head: Vec<u8>,
    /// How connections were opened.
    pub opening: Opening,
    /// The first wrong answers, in words.
    pub wrong: Vec<String>,
    /// Errors by their text, with how often each occurred since the load began.
    pub errors: BTreeMap<String, u64>,
    /// How bytes were moved.
    pub transport: TransportKind,
}

impl Observation {
    /// Length of the measurement.
    pub fn measured(&self) -> Nanos {
        self.until - self.from
    }

    /// Verified answers per second over the measurement.
    pub fn throughput(&self) -> f64 {
        match self.measured() {
            0 => 0.0,
            measured => self.outcomes.ok as f64 * SECOND as f64 / measured as f64,
        }
    }

    /// The windows that lie wholly inside the measurement.
    pub fn measured_windows(&self) -> impl Iterator<Item = &Window> {
        // A window may begin a little before the measurement, by the length of a turn.
        self.windows.iter().filter(|window| {
            window.start >= self.from && window.start + window.length <= self.until
        })
    }
}

/// Carries out `plan` until it ends by itself or `control` ends it. `progress` is called on this
/// thread with each window when all workers have finished it.
///
/// # Errors
/// When the plan is not valid, or a transport could not be had. A server that fails is not an
/// error: its failures are counted.
pub fn run(
    plan: &Plan,
    control: &Control,
    progress: impl FnMut(&Window),
) -> Result<Observation, Error> {
    match &plan.dialogue {
        Dialogue::Echo(message) => {
            let part = |_| (plan.target.clone(), Echo::new(message.clone()));
            run_with(plan, control, part, progress)
        }
        Dialogue::Http { exchanges, limits } => {
            let part = |_| (plan.target.clone(), Http::new(exchanges.clone(), *limits));
            run_with(plan, control, part, progress)
        }
        Dialogue::Own => Err(Plan::without_dialogue().into()),
    }
}

/// The same with a [`Session`] of the caller's own: `part` is called once on each worker's thread
/// with the worker's number (0-based) and says whom it talks to and how. The plan's own target and
/// dialogue are not looked at.
///
/// # Errors
/// As [`run`].
pub fn run_with<P: Session>(
    plan: &Plan,
    control: &Control,
    part: impl Fn(u32) -> (Target, P) + Sync,
    mut progress: impl FnMut(&Window),
) -> Result<Observation, Error> {
    plan.validate()?;
    let part = &part;
    let (sender, receiver) = mpsc::channel();
    let mut gather = Gather::new(plan.threads);
    std::thread::scope(|scope| {
        for worker in 0..plan.threads {
            let sender = sender.clone();
            scope.spawn(move || {
                let share = Share {
                    worker,
                    workers: plan.threads,
                    total: plan.connections,
                };
                settle(plan, worker);
                let events = |event| {
                    // Nobody listens any more only when the whole load is being given up.
                    let _ = sender.send(Message::Event(event));
                };
                let (target, protocol) = part(worker);
                let result = by_transport(plan, share, control, events, &target, protocol);
                let _ = sender.send(Message::Done(result.map(Box::new)));
            });
        }
        drop(sender);
        let mut ready = 0;
        for message in receiver {
            match message {
                Message::Event(Event::Ready) => {
                    ready += 1;
                    if ready == plan.threads {
                        control.begin();
                    }
                }
                Message::Event(Event::Window(window)) => gather.window(*window, &mut progress),
                Message::Done(Ok(report)) => gather.reports.push(*report),
                Message::Done(Err(error)) => {
                    control.stop();
                    gather.error.get_or_insert(error);
                }
            }
        }
    });
    gather.observation(plan)
}

enum Message {
    Event(Event),
    Done(Result<Box<Report>, Error>),
}

/// Pins the calling thread and makes its sleeps exact.
fn settle(plan: &Plan, worker: u32) {
    if !plan.cpus.is_empty() {
        let cpu = plan.cpus[worker as usize % plan.cpus.len()];
        // SAFETY: an all-zero cpu_set_t is the empty set; `CPU_SET` checks the index; the set is
        // valid for the call. Failing leaves the thread unpinned, which only costs precision.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(cpu, &mut set);
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        }
    }
    // SAFETY: a plain system call; the default slack of 50 µs would be every sleep's lateness.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

fn by_transport<P: Session>(
    plan: &Plan,
    share: Share,
    control: &Control,
    events: impl FnMut(Event),
    target: &Target,
    protocol: P,
) -> Result<Report, Error> {
    let unusable = |source| Error::Transport {
        kind: plan.transport,
        source,
    };
    let n = share.connections();
    let came = match (&plan.arrival, target) {
        (Arrival::Closed, _) | (_, Target::Unix(_)) => Came::Read,
        _ => Came::Stamped,
    };
    match plan.transport {
        TransportKind::Epoll => {
            let transport = Epoll::new(target, n, came).map_err(unusable)?;
            by_arrival(plan, share, control, events, transport, protocol)
        }
        TransportKind::IoUring => {
            let transport = Uring::new(target, n, plan.keepalive, came).map_err(unusable)?;
            by_arrival(plan, share, control, events, transport, protocol)
        }
    }
}

fn by_arrival<T: Transport, P: Session>(
    plan: &Plan,
    share: Share,
    control: &Control,
    events: impl FnMut(Event),
    transport: T,
    protocol: P,
) -> Result<Report, Error> {
    fn go<T: Transport, S: Schedule, P: Session>(
        plan: &Plan,
        share: Share,
        control: &Control,
        events: impl FnMut(Event),
        transport: T,
        schedule: S,
        protocol: P,
    ) -> Result<Report, Error> {
        Worker::new(plan, share, control, schedule, protocol, events)
            .run(transport)
            .map_err(Error::Worker)
    }
    match plan.arrival {
        Arrival::Closed => go(plan, share, control, events, transport, Closed, protocol),
        Arrival::Constant(rate) => go(
            plan,
            share,
            control,
            events,
            transport,
            Constant::new(rate, share),
            protocol,
        ),
        Arrival::Poisson { rate, seed } => {
            let schedule = Poisson::new(rate, share, seed);
            go(plan, share, control, events, transport, schedule, protocol)
        }
    }
}

/// Puts together what the workers send.
struct Gather {
    threads: u32,
    /// Windows that some, but not all, workers have finished, by index.
    partial: BTreeMap<u32, (u32, Window)>,
    windows: Vec<Window>,
    /// Start, length and answers of each worker's windows.
    paces: Vec<(Nanos, Nanos, u64)>,
    reports: Vec<Report>,
    error: Option<Error>,
}

impl Gather {
    fn new(threads: u32) -> Self {
        Self {
            threads,
            partial: BTreeMap::new(),
            windows: Vec::new(),
            paces: Vec::new(),
            reports: Vec::new(),
            error: None,
        }
    }

    fn window(&mut self, window: Window, progress: &mut impl FnMut(&Window)) {
        let answers = window.outcomes.ok + window.outcomes.wrong_answer;
        self.paces.push((window.start, window.length, answers));
        let index = window.index;
        let parts = match self.partial.entry(index) {
            std::collections::btree_map::Entry::Vacant(entry) => entry.insert((1, window)).0,
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let (parts, whole) = entry.get_mut();
                whole.merge(&window);
                *parts += 1;
                *parts
            }
        };
        if parts == self.threads
            && let Some((_, whole)) = self.partial.remove(&index)
        {
            progress(&whole);
            self.windows.push(whole);
        }
    }

    fn observation(mut self, plan: &Plan) -> Result<Observation, Error> {
        if let Some(error) = self.error {
            return Err(error);
        }
        // Workers that ended a little sooner than others have no part in the last windows.
        self.windows
            .extend(self.partial.into_values().map(|(_, window)| window));
        let measured = self.reports.iter().map(|report| report.measured);
        let (from, until) = measured
            .clone()
            .filter(|(from, until)| from < until)
            .reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)))
            .unwrap_or_else(|| {
                // Stopped before anything was measured: each worker says when it saw that.
                let at = measured.map(|(_, until)| until).max().unwrap_or(0);
                (at, at)
            });
        let mut record = Record::new();
        for report in &self.reports {
            record.merge(&report.record);
        }
        // A number of requests is done when the last one is, not when that is noticed.
        let until = match plan.requests {
            Some(_) if record.last_finish > from => until.min(record.last_finish),
            _ => until,
        };
        let whole = clock::nanos(plan.window);
        let worker_rates = self
            .paces
            .iter()
            .filter(|&&(start, length, _)| {
                length == whole && start >= from && start + length <= until
            })
            .map(|&(_, length, answers)| answers as f64 * SECOND as f64 / length as f64)
            .collect();
        let length = (until - from).max(1) as f64;
        let work = |report: &Report| report.cpu.saturating_sub(report.spin);
        let busiest = self
            .reports
            .iter()
            .max_by_key(|report| work(report) + report.kept_waiting);
        let generator = Generator {
            threads: plan.threads,
            work: self.reports.iter().map(work).sum(),
            spin: self.reports.iter().map(|report| report.spin).sum(),
            busiest: busiest.map_or(0, work) as f64 / length,
            kept_waiting: busiest.map_or(0, |report| report.kept_waiting) as f64 / length,
        };
        Ok(Observation {
            from,
            until,
            response: record.response,
            service: record.service,
            send_delay: record.send_delay,
            late: record.late,
            connect: record.connect,
            outcomes: record.outcomes,
            windows: self.windows,
            worker_rates,
            generator,
            connected: self.reports.iter().map(|report| report.connected).sum(),
            per_connection: self
                .reports
                .iter()
                .flat_map(|r| r.answers.iter().copied())
                .collect(),
            bytes_received: record.bytes_received,
            bytes_sent: record.bytes_sent,
            body_bytes: record.body_bytes,
            first_head: self
                .reports
                .iter()
                .map(|report| &report.first_head)
                .find(|head| !head.is_empty())
                .cloned()
                .unwrap_or_default(),
            opening: self
                .reports
                .iter()
                .map(|report| report.opening)
                .fold(Opening::default(), Opening::merge),
            trace: self
                .reports
                .into_iter()
                .flat_map(|report| report.trace)
                .collect(),
            wrong: record.wrong,
            errors: record.errors,
            transport: plan.transport,
        })
    }
}

/// Is this transport available here?
pub fn available(kind: TransportKind) -> bool {
    let nowhere = crate::plan::Target::Tcp(([127, 0, 0, 1], 1).into());
    match kind {
        TransportKind::Epoll => true,
        TransportKind::IoUring => Uring::new(&nowhere, 1, false, Came::Read).is_ok(),
    }
}

/// The transport that suits an arrival best here.
///
/// Closed loop: the one that needs less CPU time per request, `io_uring` where the kernel has it
/// (from 64 connections on it was measured 4 to 10 % below epoll, and with fewer a few percent
/// above; `cargo run --release -p prony-benches -- peers` shows it for this machine). Open loop:
/// epoll, because with it each request leaves when it is due, and not with the others of its turn.
pub fn automatic(arrival: &Arrival) -> TransportKind {
    match arrival {
        Arrival::Closed if available(TransportKind::IoUring) => TransportKind::IoUring,
        _ => TransportKind::Epoll,
    }
}
