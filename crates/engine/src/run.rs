//! Starting the workers and putting together what they saw.

use crate::control::Control;
use crate::gather::Gather;
use crate::lookups::look_up_again;
use crate::outcome::{Detail, Error, Progress, WorkerMessage};
use crate::part::{LoadShare, PartMessage};
use crate::plan::{Arrival, Dialogue, Plan};
use crate::protocol::grpc::Grpc;
use crate::protocol::h2::{Content, H2, Plain};
use crate::protocol::h3::{H3, possible};
use crate::protocol::mix::{Users, over_h2, over_h3};
use crate::protocol::proxy::{Prelude, layers};
use crate::protocol::tls::{Connector, Tls, TlsInvalid};
use crate::protocol::ws::Ws;
use crate::protocol::{Echo, Http, Mixed, Session};
use crate::schedule::{
    Closed, Constant, Open, Poisson, Replayed, Schedule, Share, Staged, StagedPoisson,
};
use crate::target::Target;
use crate::transport::{Came, Endpoints, Epoll, Transport, Udp, Uring, try_source};
use crate::worker::{Event, Worker, WorkerReport};
use prony_record::load::Load;
use prony_record::{Observation, Transport as Kind};
use std::net::{IpAddr, SocketAddr};
use std::sync::mpsc;

/// Can the connections of a load come from these addresses of this machine?
///
/// # Errors
/// [`Error::Source`], for the first that they cannot come from.
pub fn check_sources(sources: &[IpAddr]) -> Result<(), Error> {
    let tried =
        |&address: &IpAddr| try_source(address).map_err(|error| Error::Source { address, error });
    sources.iter().try_for_each(tried)
}

/// Carries out `plan` until it ends by itself or `control` ends it. The times of windows count
/// from the load's start, as those of `control` do.
///
/// # Errors
/// When the plan is not valid, a source address is not this machine's, or a transport could not be had. A server that fails is not an
/// error: its failures are counted.
pub fn run(
    plan: &Plan,
    control: &Control,
    mut progress: impl Progress,
) -> Result<(Observation, Detail), Error> {
    gathered(plan, control, &mut progress, |hear| {
        speak(plan, LoadShare::whole(plan), control, hear)
    })
}

/// Carries out `part` of a plan whose other parts other processes carry out, in steps of its own: `hear` is
/// told what its workers tell, for the [`Gather`] of the process that puts the parts together. The caller lets
/// the load begin ([`Control::begin_at`]) when all parts are ready.
///
/// # Errors
/// When the plan is not valid. What a worker cannot do is told.
pub fn run_part(
    plan: &Plan,
    part: LoadShare,
    control: &Control,
    mut hear: impl FnMut(PartMessage),
) -> Result<(), Error> {
    plan.validate()?;
    check_sources(&plan.sources)?;
    speak(plan, part, control, &mut |told| hear(told.into()))
}

/// Like [`run`] and [`run_part`], with any listener as a `dyn` object: the load loop is compiled once, in this crate,
/// and not for every caller.
fn speak(
    plan: &Plan,
    part: LoadShare,
    control: &Control,
    hear: &mut dyn FnMut(WorkerMessage),
) -> Result<(), Error> {
    match &plan.dialogue {
        Dialogue::Echo(message) => {
            let session = |_| (plan.target.clone(), Echo::new(message.clone()));
            carry_out(plan, part, control, &session, hear)
        }
        Dialogue::Http { exchanges, limits } => {
            let session = |_| (plan.target.clone(), Http::new(exchanges.clone(), *limits));
            carry_out(plan, part, control, &session, hear)
        }
        Dialogue::H2(it) => {
            let session = |_| {
                let h2 = H2::<Plain>::new(it.exchanges.clone(), it.limits, it.window);
                (plan.target.clone(), h2)
            };
            carry_out(plan, part, control, &session, hear)
        }
        Dialogue::H3(it) => {
            let session = |_, over: (&Connector, SocketAddr)| {
                H3::<Plain>::new(it.exchanges.clone(), it.limits, it.window, over)
            };
            over_http3(plan, part, control, &session, hear)
        }
        Dialogue::Grpc(it) => {
            let session = |_| {
                let h2 = H2::<Grpc>::new(it.exchanges.clone(), it.limits, it.window);
                (plan.target.clone(), h2)
            };
            carry_out(plan, part, control, &session, hear)
        }
        Dialogue::Ws(messages) => {
            let calls = match plan.load.keepalive {
                true => plan.load.requests_per_connection,
                false => Some(plan.load.calls),
            };
            let session = |_| (plan.target.clone(), Ws::new((**messages).clone(), calls));
            carry_out(plan, part, control, &session, hear)
        }
        Dialogue::Mix(mix) if !mix.sessions.is_empty() => {
            let values = plan.values.unwrap_or(plan.seed);
            let keepalive = plan.load.keepalive;
            let users = |worker| Users::new(mix, values, (worker, part.workers), keepalive);
            let target = || plan.target.clone();
            match mix.http2 {
                None => {
                    let session = |worker| (target(), users(worker));
                    carry_out(plan, part, control, &session, hear)
                }
                Some(how) if how.http3 => {
                    let session =
                        |worker, over: (&Connector, SocketAddr)| over_h3(users(worker), mix, over);
                    over_http3(plan, part, control, &session, hear)
                }
                Some(_) => {
                    let session = |worker| (target(), over_h2(users(worker), mix));
                    carry_out(plan, part, control, &session, hear)
                }
            }
        }
        Dialogue::Mix(mix) => {
            let values = plan.values.unwrap_or(plan.seed);
            let mixed = |worker| {
                let mixed = Mixed::new(mix, values, worker, part.workers);
                let share = Share {
                    worker,
                    workers: part.workers,
                    total: plan.load.max_connections(),
                };
                match &mix.recorded {
                    Some(recorded) => mixed.recorded(recorded, share),
                    None => mixed,
                }
            };
            let target = || plan.target.clone();
            match mix.http2 {
                None => {
                    let session = |worker| (target(), mixed(worker));
                    carry_out(plan, part, control, &session, hear)
                }
                Some(how) if how.http3 => {
                    let session =
                        |worker, over: (&Connector, SocketAddr)| over_h3(mixed(worker), mix, over);
                    over_http3(plan, part, control, &session, hear)
                }
                Some(_) => {
                    let session = |worker| (target(), over_h2(mixed(worker), mix));
                    carry_out(plan, part, control, &session, hear)
                }
            }
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
    gathered(plan, control, &mut progress, |hear| {
        carry_out(plan, LoadShare::whole(plan), control, &part, hear)
    })
}

/// Carries out a whole plan by `workers`, which tells its argument what the workers tell.
fn gathered(
    plan: &Plan,
    control: &Control,
    progress: &mut dyn Progress,
    workers: impl FnOnce(&mut dyn FnMut(WorkerMessage)) -> Result<(), Error>,
) -> Result<(Observation, Detail), Error> {
    plan.validate()?;
    check_sources(&plan.sources)?;
    let mut gather = Gather::new(plan, plan.load.threads);
    workers(&mut |told| {
        if gather.hear(told, control, progress) {
            progress.began(control.begin());
        }
    })?;
    gather.observation(control)
}

/// Says whom a worker talks to, and how. It is `dyn`, since it is called once per worker, and the load loop would otherwise be
/// compiled again for every caller.
type Sessions<'a, P> = dyn Fn(u32) -> (Target, P) + Sync + 'a;

/// With a session, or the same over TLS, behind what a connection to the server begins with.
fn carry_out<P: Session>(
    plan: &Plan,
    part: LoadShare,
    control: &Control,
    session: &Sessions<'_, P>,
    hear: &mut dyn FnMut(WorkerMessage),
) -> Result<(), Error> {
    let connector = plan.tls.as_ref().map(Connector::new).transpose()?;
    let prelude = Prelude::of(plan);
    let proxy = plan.proxy.as_ref().and_then(|proxy| proxy.tls.as_ref());
    let proxy = proxy.map(Connector::new).transpose()?;
    if prelude.is_some() || proxy.is_some() {
        let session = |worker| {
            let (target, session) = session(worker);
            let layers = layers(
                session,
                connector.as_ref(),
                prelude.as_ref(),
                proxy.as_ref(),
            );
            (target, layers)
        };
        start(plan, part, control, &session, by_transport, hear);
        return Ok(());
    }
    let Some(connector) = connector else {
        start(plan, part, control, session, by_transport, hear);
        return Ok(());
    };
    let secure = |worker| {
        let (target, session) = session(worker);
        (target, Tls::new(session, &connector))
    };
    start::<Tls<'_, P::Token>>(plan, part, control, &secure, by_transport, hear);
    Ok(())
}

/// Says how a worker speaks HTTP/3 over these.
type QuicSessions<'a, C> =
    dyn Fn(u32, (&Connector, SocketAddr)) -> Result<H3<C>, TlsInvalid> + Sync + 'a;

/// Over HTTP/3: what a worker needs of TLS, and of the server's address, to begin.
fn over_http3<C: Content>(
    plan: &Plan,
    part: LoadShare,
    control: &Control,
    session: &QuicSessions<'_, C>,
    hear: &mut dyn FnMut(WorkerMessage),
) -> Result<(), Error> {
    let (Some(options), &Target::Tcp(remote)) = (&plan.tls, &plan.target) else {
        return Err(Plan::without_quic().into());
    };
    let connector = Connector::new(options)?;
    possible(&connector, remote)?;
    let session = |worker| {
        let made = session(worker, (&connector, remote));
        (plan.target.clone(), made.expect("it is possible"))
    };
    start(plan, part, control, &session, by_datagrams, hear);
    Ok(())
}

/// How a worker's bytes travel.
type Carrier<P> =
    fn(&Plan, Share, &Control, &dyn Fn(Event), &Target, P) -> Result<(Kind, WorkerReport), Error>;

/// Starts the workers of a part, and hears them until the last has ended.
fn start<P: Session>(
    plan: &Plan,
    part: LoadShare,
    control: &Control,
    session: &Sessions<'_, P>,
    over: Carrier<P>,
    hear: &mut dyn FnMut(WorkerMessage),
) {
    let (sender, receiver) = mpsc::channel();
    let _looked_up = look_up_again(plan);
    std::thread::scope(|scope| {
        for thread in 0..plan.load.threads {
            let sender = sender.clone();
            let share = Share {
                worker: part.first + thread,
                workers: part.workers,
                total: plan.load.max_connections(),
            };
            let failed = sender.clone();
            let work = move || {
                settle(plan, thread);
                let events = |event| {
                    // The receiver is gone only when the whole load is being given up.
                    let _ = sender.send(match event {
                        Event::Ready => WorkerMessage::Ready,
                        Event::Window(slice) => WorkerMessage::Window(slice),
                    });
                };
                let (target, session) = session(share.worker);
                let result = over(plan, share, control, &events, &target, session);
                let _ = sender.send(match result {
                    Ok((transport, report)) => WorkerMessage::Done(transport, Box::new(report)),
                    Err(error) => WorkerMessage::Failed(error),
                });
            };
            // There may be too little memory for another thread.
            if let Err(error) = std::thread::Builder::new().spawn_scoped(scope, work) {
                let _ = failed.send(WorkerMessage::Failed(Error::Worker(error)));
            }
        }
        drop(sender);
        receiver.into_iter().for_each(hear);
    });
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
    events: &dyn Fn(Event),
    target: &Target,
    protocol: P,
) -> Result<(Kind, WorkerReport), Error> {
    let kind = transport(&plan.load);
    let unusable = |source| Error::Transport { kind, source };
    let n = share.connections();
    let came = match (plan.load.rate, target) {
        (None, _) | (_, Target::Unix(_)) => Came::Read,
        _ => Came::Stamped,
    };
    let ends = Endpoints {
        target,
        sources: &plan.sources,
        first: share.worker,
    };
    let report = match kind {
        Kind::Auto | Kind::Epoll => {
            let transport = Epoll::new(&ends, n, came).map_err(unusable)?;
            by_arrival(plan, share, control, events, transport, protocol)
        }
        Kind::IoUring => {
            let transport = Uring::new(&ends, n, plan.load.keepalive, came).map_err(unusable)?;
            by_arrival(plan, share, control, events, transport, protocol)
        }
    };
    Ok((kind, report?))
}

/// Over UDP, by epoll.
fn by_datagrams<P: Session>(
    plan: &Plan,
    share: Share,
    control: &Control,
    events: &dyn Fn(Event),
    target: &Target,
    protocol: P,
) -> Result<(Kind, WorkerReport), Error> {
    let kind = Kind::Epoll;
    let came = match plan.load.rate {
        None => Came::Read,
        Some(_) => Came::Stamped,
    };
    let ends = Endpoints {
        target,
        sources: &plan.sources,
        first: share.worker,
    };
    let transport = Udp::new(&ends, share.connections(), plan.load.udp_sockets, came)
        .map_err(|source| Error::Transport { kind, source })?;
    let report = by_arrival(plan, share, control, events, transport, protocol)?;
    Ok((kind, report))
}

fn by_arrival<T: Transport, P: Session>(
    plan: &Plan,
    share: Share,
    control: &Control,
    events: &dyn Fn(Event),
    transport: T,
    protocol: P,
) -> Result<WorkerReport, Error> {
    fn go<T: Transport, S: Schedule, P: Session>(
        plan: &Plan,
        share: Share,
        control: &Control,
        events: &dyn Fn(Event),
        transport: T,
        schedule: S,
        protocol: P,
    ) -> Result<WorkerReport, Error> {
        Worker::new(plan, share, control, schedule, protocol, events)
            .run(transport)
            .map_err(Error::Worker)
    }
    match open(plan, share) {
        None => go(plan, share, control, events, transport, Closed, protocol),
        Some(open) => go(plan, share, control, events, transport, open, protocol),
    }
}

/// The schedule of a worker, when the loop is open.
fn open(plan: &Plan, share: Share) -> Option<Open> {
    let stages = &plan.load.stages;
    Some(match plan.arrival() {
        Arrival::Closed => return None,
        Arrival::Constant(rate) => Open::Constant(Constant::new(rate, share)),
        Arrival::Poisson { rate, seed } => Open::Poisson(Poisson::new(rate, share, seed)),
        Arrival::Staged => Open::Staged(Staged::new(stages, share)),
        Arrival::StagedPoisson { seed } => {
            Open::StagedPoisson(StagedPoisson::new(stages, share, seed))
        }
        Arrival::Recorded => {
            let due = plan.recorded().map_or(&[][..], |recorded| &recorded.due);
            Open::Replayed(Replayed::new(due, share))
        }
    })
}

/// Is this transport available here?
pub fn available(kind: Kind) -> bool {
    let nowhere = Target::Tcp(([127, 0, 0, 1], 1).into());
    match kind {
        Kind::Auto | Kind::Epoll => true,
        Kind::IoUring => Uring::new(&Endpoints::to(&nowhere), 1, false, Came::Read).is_ok(),
    }
}

/// The transport that carries out a load: the one that it names, or else the one that suits its arrival
/// best here.
///
/// Closed loop: the one that needs less CPU time per request, `io_uring` where the kernel has it
/// (from 64 connections on it was measured 4 to 10% below epoll, and with fewer a few percent
/// above; `cargo run --release -p prony-benches -- peers` shows it for this machine). Open loop:
/// epoll, because with it each request leaves when it is due, and not with the others of its turn.
pub fn transport(load: &Load) -> Kind {
    match (load.transport, load.rate) {
        (Kind::Auto, None) if available(Kind::IoUring) => Kind::IoUring,
        (Kind::Auto, _) => Kind::Epoll,
        (named, _) => named,
    }
}
