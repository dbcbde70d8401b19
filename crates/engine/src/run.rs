//! Starting the workers and putting together what they saw.

use crate::clock::Nanos;
use crate::control::Control;
use crate::gather::Gather;
use crate::plan::{Arrival, Dialogue, Plan, Target};
use crate::protocol::h2::H2;
use crate::protocol::tls::{Connector, Tls, TlsInvalid};
use crate::protocol::{Echo, Http, Mixed, Session};
use crate::schedule::{Closed, Constant, Poisson, Schedule, Share, Staged};
use crate::trace::{Opening, Sample};
use crate::transport::{Came, Epoll, Transport, Uring};
use crate::worker::{Event, Report, Worker};
use prony_record::load::{Invalid, Load};
use prony_record::{Observation, Outcomes, Transport as Kind, Window};
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
        kind: Kind,
        /// What the kernel said.
        source: io::Error,
    },
    /// The plan's options of TLS cannot be carried out.
    #[error(transparent)]
    Tls(#[from] TlsInvalid),
    /// A worker could not go on.
    #[error("a generator thread ended: {0}")]
    Worker(io::Error),
}

/// What is known of a load beyond what is [recorded](Observation), for callers that report every
/// request or every thread.
#[derive(Debug, Default)]
pub struct Detail {
    /// When the measurement began, on the engine's clock.
    pub from: Nanos,
    /// When it ended.
    pub until: Nanos,
    /// Answers, right or wrong, per second of each worker in each of its whole windows inside the
    /// measurement, in no particular order.
    pub worker_rates: Vec<f64>,
    /// Every request that was answered or took too long in the measurement, worker by worker, in
    /// the order in which they ended; empty unless the [plan](Plan::trace) asks for it. One that
    /// met an error, or an answer that breaks the protocol, is not here.
    pub trace: Vec<Sample>,
    /// The head of the first answer, where the protocol has heads.
    pub first_head: Vec<u8>,
    /// How connections were opened.
    pub opening: Opening,
}

/// Hears how a load goes, on the thread that called [`run`].
pub trait Progress {
    /// The load begins at this time of the engine's clock, a moment from now.
    fn began(&mut self, _start: Nanos) {}

    /// How the requests ended that ended in the [window](Self::window) told of next.
    fn outcomes(&mut self, _outcomes: &Outcomes) {}

    /// All workers have finished this window.
    fn window(&mut self, window: &Window);
}

impl<F: FnMut(&Window)> Progress for F {
    fn window(&mut self, window: &Window) {
        self(window);
    }
}

/// Carries out `plan` until it ends by itself or `control` ends it. The times of windows count
/// from the load's start, as those of `control` do.
///
/// # Errors
/// When the plan is not valid, or a transport could not be had. A server that fails is not an
/// error: its failures are counted.
pub fn run(
    plan: &Plan,
    control: &Control,
    mut progress: impl Progress,
) -> Result<(Observation, Detail), Error> {
    speak(plan, control, &mut progress)
}

/// As [`run`], of any progress: so that the load loop is compiled here, once, and not for every caller.
fn speak(
    plan: &Plan,
    control: &Control,
    progress: &mut dyn Progress,
) -> Result<(Observation, Detail), Error> {
    match &plan.dialogue {
        Dialogue::Echo(message) => {
            let part = |_| (plan.target.clone(), Echo::new(message.clone()));
            carry_out(plan, control, part, progress)
        }
        Dialogue::Http { exchanges, limits } => {
            let part = |_| (plan.target.clone(), Http::new(exchanges.clone(), *limits));
            carry_out(plan, control, part, progress)
        }
        Dialogue::H2 {
            exchanges,
            limits,
            window,
        } => {
            let part = |_| {
                let h2 = H2::new(exchanges.clone(), *limits, *window);
                (plan.target.clone(), h2)
            };
            carry_out(plan, control, part, progress)
        }
        Dialogue::Mix(mix) => {
            let threads = plan.load.threads;
            let part = |worker| {
                let mixed = Mixed::new(mix, plan.seed, worker, threads);
                (plan.target.clone(), mixed)
            };
            carry_out(plan, control, part, progress)
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
    mut progress: impl Progress,
) -> Result<(Observation, Detail), Error> {
    carry_out(plan, control, part, &mut progress)
}

/// With a session, or the same over TLS.
fn carry_out<P: Session>(
    plan: &Plan,
    control: &Control,
    part: impl Fn(u32) -> (Target, P) + Sync,
    progress: &mut dyn Progress,
) -> Result<(Observation, Detail), Error> {
    let Some(options) = &plan.tls else {
        return start(plan, control, part, progress);
    };
    let connector = Connector::new(options)?;
    let secure = |worker| {
        let (target, session) = part(worker);
        (target, Tls::new(session, &connector))
    };
    start(plan, control, secure, progress)
}

fn start<P: Session>(
    plan: &Plan,
    control: &Control,
    part: impl Fn(u32) -> (Target, P) + Sync,
    progress: &mut dyn Progress,
) -> Result<(Observation, Detail), Error> {
    plan.validate()?;
    let part = &part;
    let (sender, receiver) = mpsc::channel();
    let threads = plan.load.threads;
    let mut gather = Gather::new(plan);
    std::thread::scope(|scope| {
        for worker in 0..threads {
            let sender = sender.clone();
            scope.spawn(move || {
                let share = Share {
                    worker,
                    workers: threads,
                    total: plan.load.connections,
                };
                settle(plan, worker);
                let events = |event| {
                    // The receiver is gone only when the whole load is being given up.
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
                    if ready == threads {
                        progress.began(control.begin());
                    }
                }
                Message::Event(Event::Window(slice)) => {
                    gather.slice(*slice, control, progress);
                }
                Message::Done(Ok(report)) => gather.reports.push(*report),
                Message::Done(Err(error)) => {
                    control.stop();
                    gather.error.get_or_insert(error);
                }
            }
        }
    });
    gather.observation(control)
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
    let kind = transport(&plan.load);
    let unusable = |source| Error::Transport { kind, source };
    let n = share.connections();
    let came = match (plan.load.rate, target) {
        (None, _) | (_, Target::Unix(_)) => Came::Read,
        _ => Came::Stamped,
    };
    match kind {
        Kind::Auto | Kind::Epoll => {
            let transport = Epoll::new(target, n, came).map_err(unusable)?;
            by_arrival(plan, share, control, events, transport, protocol)
        }
        Kind::IoUring => {
            let transport = Uring::new(target, n, plan.load.keepalive, came).map_err(unusable)?;
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
    match plan.arrival() {
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
        Arrival::Staged => {
            let schedule = Staged::new(&plan.load.stages, share);
            go(plan, share, control, events, transport, schedule, protocol)
        }
        Arrival::Poisson { rate, seed } => {
            let schedule = Poisson::new(rate, share, seed);
            go(plan, share, control, events, transport, schedule, protocol)
        }
    }
}

/// Is this transport available here?
pub fn available(kind: Kind) -> bool {
    let nowhere = Target::Tcp(([127, 0, 0, 1], 1).into());
    match kind {
        Kind::Auto | Kind::Epoll => true,
        Kind::IoUring => Uring::new(&nowhere, 1, false, Came::Read).is_ok(),
    }
}

/// The transport that carries out a load: the one that it names, or else the one that suits its arrival
/// best here.
///
/// Closed loop: the one that needs less CPU time per request, `io_uring` where the kernel has it
/// (from 64 connections on it was measured 4 to 10 % below epoll, and with fewer a few percent
/// above; `cargo run --release -p prony-benches -- peers` shows it for this machine). Open loop:
/// epoll, because with it each request leaves when it is due, and not with the others of its turn.
pub fn transport(load: &Load) -> Kind {
    match (load.transport, load.rate) {
        (Kind::Auto, None) if available(Kind::IoUring) => Kind::IoUring,
        (Kind::Auto, _) => Kind::Epoll,
        (named, _) => named,
    }
}
