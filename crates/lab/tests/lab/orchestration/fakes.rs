//! A host whose servers are figures, and a generator that measures just these.

use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Error, Nanos, Plan, Target};
use prony_lab::builder::{BuildError, Built};
use prony_lab::catalog::Server;
use prony_lab::contract::Contract;
use prony_lab::generator::{Generator, LoadControl, LoadController};
use prony_lab::host::{Host, Started, VerifySpec, Watched, Watcher};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::side::{Candidate, Role, Running, Side, What};
use prony_lab::topology::Topology;
use prony_lab::tree::Root;
use prony_lab::trial::Lab;
use prony_lab::workload::Workload;
use prony_record::{
    Backlog, Distributions, Extent, Failure, Load, Observation, Outcomes, Phase, Resources, SECOND,
    Step, Window,
};
use std::any::Any;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// State that several threads change, where rigs measure side by side.
#[derive(Default)]
pub struct Shared<T>(Mutex<T>);

impl<T> Shared<T> {
    pub fn borrow(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap()
    }

    fn borrow_mut(&self) -> MutexGuard<'_, T> {
        self.borrow()
    }
}

impl<T: Copy> Shared<T> {
    fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    pub fn get(&self) -> T {
        *self.borrow()
    }

    pub fn set(&self, value: T) {
        *self.borrow() = value;
    }

    fn replace(&self, value: T) -> T {
        std::mem::replace(&mut self.borrow(), value)
    }
}

/// How a server behaves.
#[derive(Clone)]
pub struct Behaviour {
    /// Answers per second, as fast as they come.
    pub capacity: f64,
    /// How long each answer takes at least, in seconds, however many there are at once.
    pub latency: f64,
    /// CPU time per request, in nanoseconds.
    pub cpu_ns: f64,
    /// The factor on both, by the number of the load since the beginning.
    pub noise: fn(u32) -> f64,
    /// Windows until its rate is steady; each is faster than the one before.
    pub warms_up_for: u32,
    /// The server cannot be built; `true`: its toolchain is missing; none: it can be built.
    pub unbuildable: Option<bool>,
    /// The step at which it fails, in its start with this number, from 0.
    pub fails: Option<(Step, u32)>,
    /// TCP segments that are sent again in each load.
    pub retransmits: u64,
    /// CPU time of other processes, as a part of all.
    pub others_busy: f64,
    /// The same besides, by the number of the load since the beginning.
    pub others_in: fn(u32) -> f64,
    /// Windows after a load that was too much in which it is still slow.
    pub recovers_in: u32,
    /// Once it was overloaded, it gives a third of what it could until it is started anew.
    pub stays_overloaded: bool,
    /// The server works while others are loaded.
    pub never_rests: bool,
    /// Falsifies the generator's observation of the server.
    pub seen: fn(&mut Observation),
    /// Falsifies the server's use of resources.
    pub used: fn(&mut Watched),
    /// Placement of its host, and of all servers beside it; none: two CPUs of which nothing is known.
    pub placement: Option<Placement>,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            capacity: 10_000.0,
            latency: 0.0,
            cpu_ns: 90_000.0,
            noise: |_| 1.0,
            warms_up_for: 0,
            unbuildable: None,
            fails: None,
            retransmits: 0,
            others_busy: 0.0,
            others_in: |_| 0.0,
            recovers_in: 0,
            stays_overloaded: false,
            never_rests: false,
            seen: |_| {},
            used: |_| {},
            placement: None,
        }
    }
}

/// Everything that is made up, and what was done with it.
#[derive(Default)]
pub struct World {
    servers: Shared<BTreeMap<String, Behaviour>>,
    names: Shared<Vec<String>>,
    starts: Shared<BTreeMap<String, u32>>,
    loads: Shared<u32>,
    /// The load before was more than it can do.
    overloaded: Shared<bool>,
    /// Number of the load in which its machines are lost; from then on they cannot be reached.
    pub lost_in: Shared<Option<u32>>,
    /// The user interrupts it in the load with this number.
    pub interrupt_in: Shared<Option<u32>>,
    /// Actions in their order: `start a`, `load a`, `stop a`.
    pub done: Shared<Vec<String>>,
    /// Loads at a rate: of which server, with the seeds of their arrivals and of their values.
    pub drawn: Shared<Vec<(String, u64, Option<u64>)>>,
}

pub struct FakeHost {
    world: Arc<World>,
    placement: Placement,
}

pub struct FakeGenerator(Arc<World>);

/// A world with these servers, its host and its generator.
pub fn world(servers: &[(&str, Behaviour)]) -> (Arc<World>, FakeHost, FakeGenerator) {
    let world = Arc::new(World::default());
    for (name, behaviour) in servers {
        let mut known = world.servers.borrow_mut();
        known.insert((*name).to_owned(), behaviour.clone());
    }
    let host = FakeHost {
        world: Arc::clone(&world),
        placement: servers
            .iter()
            .find_map(|(_, it)| it.placement.clone())
            .unwrap_or_else(|| Placement::split(&Topology::unknown(&[0, 1]))),
    };
    let generator = FakeGenerator(Arc::clone(&world));
    (world, host, generator)
}

pub fn lab<'a>(
    host: &'a FakeHost,
    generator: &'a FakeGenerator,
    interrupt: &'a Interrupt,
) -> Lab<'a> {
    Lab {
        host,
        generator,
        interrupt,
    }
}

/// A server of a catalog.
pub fn server(name: &str) -> Server {
    let side = Side::of_command(name, "it {port}", &PathBuf::from(".")).unwrap();
    let What::Started { server, .. } = side.what else {
        unreachable!("a command is started")
    };
    Server {
        name: name.to_owned(),
        ..*server
    }
}

fn built() -> Built {
    let folder = PathBuf::from(".");
    Built {
        src: folder.clone(),
        build: folder.clone(),
        deps: folder.clone(),
        shared: folder,
        version: "1".into(),
        cached: true,
        container: None,
    }
}

pub fn side(name: &str) -> Side {
    Side {
        name: name.to_owned(),
        what: What::Started {
            server: Box::new(server(name)),
            built: Box::new(built()),
            workers: 1,
        },
        http2: None,
        key: None,
        role: Role::Server,
    }
}

pub fn workload() -> Workload {
    Workload::Contract(Contract::TcpEcho)
}

pub struct FakeServer {
    world: Arc<World>,
    name: String,
    behaviour: Behaviour,
    start: u32,
    command: Vec<String>,
    cpu_time: Shared<u64>,
    paused: bool,
}

impl FakeServer {
    fn fails_at(&self, step: Step) -> Result<(), Failure> {
        match self.behaviour.fails {
            Some((at, start)) if at == step && start == self.start => {
                Err(Failure::new(step, "as planned"))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for FakeServer {
    fn drop(&mut self) {
        let mut done = self.world.done.borrow_mut();
        done.push(format!("stop {}", self.name));
    }
}

impl Host for FakeHost {
    fn machine(&self) -> prony_record::Host {
        prony_record::Host::default()
    }

    fn placement(&self) -> &Placement {
        &self.placement
    }

    fn reachable(&self) -> Result<(), String> {
        match self.world.lost_in.get() {
            Some(load) if load < self.world.loads.get() => Err("no route to host".into()),
            _ => Ok(()),
        }
    }

    fn build(&self, server: &Server) -> Result<Built, BuildError> {
        let behaviour = self.world.servers.borrow()[&server.name].clone();
        match behaviour.unbuildable {
            None => Ok(built()),
            Some(true) => Err(BuildError::Programs {
                programs: vec!["cc".into()],
                apt: Vec::new(),
            }),
            Some(false) => Err(BuildError::Command {
                command: "make".into(),
                status: "exit status 2".into(),
                output: "no rule".into(),
            }),
        }
    }

    fn start(&self, who: &Candidate<'_>) -> Result<Box<dyn Started>, Failure> {
        let name = who.server.name.clone();
        let behaviour = self.world.servers.borrow()[&name].clone();
        let mut starts = self.world.starts.borrow_mut();
        let start = starts.entry(name.clone()).or_default();
        let server = FakeServer {
            world: Arc::clone(&self.world),
            command: vec![name.clone(), start.to_string()],
            cpu_time: Shared::default(),
            paused: false,
            name: name.clone(),
            behaviour,
            start: *start,
        };
        *start += 1;
        self.world.overloaded.set(false);
        self.world.done.borrow_mut().push(format!("start {name}"));
        self.world.names.borrow_mut().push(name);
        server.fails_at(Step::Start)?;
        Ok(Box::new(server))
    }

    fn attach(
        &self,
        _running: &Running,
        _workload: &Workload,
    ) -> Result<Box<dyn Started>, Failure> {
        Err(Failure::new(Step::Start, "there is nothing else"))
    }

    fn attach_upstream(
        &self,
        _gateway: &mut dyn Started,
        upstream: &Candidate<'_>,
    ) -> Result<Box<dyn Started>, Failure> {
        self.start(upstream)
    }

    fn watch(
        &self,
        server: &dyn Started,
        _upstream: Option<&dyn Started>,
        _period: Duration,
    ) -> Box<dyn Watcher> {
        let server: &dyn Any = server;
        let server: &FakeServer = server.downcast_ref().unwrap();
        Box::new(FakeWatch {
            behaviour: server.behaviour.clone(),
            loads: self.world.loads.get(),
            measured: Shared::new((0, 0)),
        })
    }
}

impl Started for FakeServer {
    fn target(&self) -> Target {
        // The name of what is loaded travels as the path of a socket.
        Target::Unix(PathBuf::from(&self.name))
    }

    fn tls(&self) -> Option<TlsOptions> {
        None
    }

    fn command(&self) -> &[String] {
        &self.command
    }

    fn ready_ns(&self) -> Nanos {
        1
    }

    fn verify(&mut self, step: Step, _how: &VerifySpec<'_>) -> Result<(), Failure> {
        self.fails_at(step)
    }

    fn dialogue(&mut self, _how: &VerifySpec<'_>, _load: &Load) -> Result<Dialogue, Failure> {
        Ok(Dialogue::Echo(b"x".to_vec()))
    }

    fn root(&self) -> Option<Root> {
        Some(Root::above(1))
    }

    fn cpu_time(&self) -> Option<u64> {
        let more = if self.behaviour.never_rests && !self.paused {
            SECOND
        } else {
            0
        };
        self.cpu_time.set(self.cpu_time.get() + more);
        Some(self.cpu_time.get())
    }

    fn pause(&mut self) {
        self.paused = true;
        self.world
            .done
            .borrow_mut()
            .push(format!("pause {}", self.name));
    }

    fn resume(&mut self) {
        self.paused = false;
        self.world
            .done
            .borrow_mut()
            .push(format!("resume {}", self.name));
    }

    fn exited(&mut self) -> Option<String> {
        self.fails_at(Step::Load)
            .err()
            .map(|_| "ended by signal 9".into())
    }

    fn output(&self) -> String {
        format!("{} said this", self.name)
    }

    fn stop(self: Box<Self>) {}
}

pub struct FakeWatch {
    behaviour: Behaviour,
    loads: u32,
    measured: Shared<(Nanos, Nanos)>,
}

impl Watcher for FakeWatch {
    fn measure(&self, from: Nanos, until: Nanos) {
        self.measured.set((from, until));
    }

    fn used(&self) -> Option<f64> {
        None
    }

    fn finish(self: Box<Self>) -> Watched {
        let (from, until) = self.measured.get();
        let watched_ns = until.saturating_sub(from);
        let seconds = watched_ns as f64 / SECOND as f64;
        let factor = (self.behaviour.noise)(self.loads);
        let work = self.behaviour.capacity * seconds * self.behaviour.cpu_ns * factor;
        // Its load has begun.
        let others = self.behaviour.others_busy + (self.behaviour.others_in)(self.loads);
        let mut watched = Watched {
            resources: Resources {
                watched_ns,
                server_cpu_ns: work as u64,
                rss_peak_bytes: 1_000,
                retransmits: self.behaviour.retransmits,
                ..Resources::default()
            },
            all_cpus_busy: work as u64 + (others * 2.0 * watched_ns as f64) as u64,
            stolen: 0,
            cpus: 2,
            samples: Vec::new(),
            apart: false,
        };
        (self.behaviour.used)(&mut watched);
        watched
    }
}

/// Steers a load whose time is made up.
struct FakeLoadControl {
    now: Shared<Nanos>,
    measured: Shared<Option<(Nanos, Nanos)>>,
    stopped: Shared<bool>,
}

impl LoadControl for FakeLoadControl {
    fn elapsed(&self) -> Nanos {
        self.now.get()
    }

    fn measure(&self, from: Nanos, until: Nanos) -> (Nanos, Nanos) {
        self.measured.set(Some((from, until)));
        (from, until)
    }

    fn stop(&self) {
        self.stopped.set(true);
    }
}

impl Generator for FakeGenerator {
    fn load(
        &self,
        plan: &Plan,
        interrupt: &Interrupt,
        controller: &mut dyn LoadController,
    ) -> Result<Observation, Error> {
        let Target::Unix(name) = &plan.target else {
            unreachable!("see the server's target")
        };
        let name = name.display().to_string();
        let number = self.0.loads.get();
        self.0.loads.set(number + 1);
        self.0.done.borrow_mut().push(format!("load {name}"));
        if self.0.lost_in.get().is_some_and(|lost| number >= lost) {
            return Err(Error::Elsewhere("agent-lost: no answer".into()));
        }
        if plan.load.rate.is_some() {
            let drawn = (name.clone(), plan.seed, plan.values);
            self.0.drawn.borrow_mut().push(drawn);
        }
        let behaviour = self.0.servers.borrow()[&name].clone();
        let most = f64::from(plan.load.max_connections()) / behaviour.latency;
        let stuck = behaviour.stays_overloaded && self.0.overloaded.get();
        let left = if stuck { 1.0 / 3.0 } else { 1.0 };
        let reached = (behaviour.capacity * (behaviour.noise)(number) * left).min(most);
        let rate = plan.load.rate.unwrap_or(f64::INFINITY).min(reached);
        let length = plan.load.window.0.as_nanos() as Nanos;
        let control = FakeLoadControl {
            now: Shared::new(0),
            measured: Shared::new(controller.at_once().map(|length| (0, length))),
            stopped: Shared::new(false),
        };
        controller.began(0, &control);
        let latency = (behaviour.latency * SECOND as f64) as Nanos;
        let time = response_time(plan, rate, reached).max(latency);
        let overload = plan.load.rate.is_some_and(|due| due > reached) || stuck;
        let slow = match self.0.overloaded.replace(overload) {
            true => behaviour.recovers_in,
            false => 0,
        };
        let mut windows = Vec::new();
        for index in 0.. {
            let cold = index < behaviour.warms_up_for;
            let part = if cold {
                0.5 + 0.02 * f64::from(index)
            } else {
                1.0
            };
            let mut window = Window::empty(index, Nanos::from(index) * length, length);
            window.verified_answers = (rate * part * window.seconds()) as u64;
            let behind = plan.load.rate.map_or(0.0, |due| due - rate);
            window.outstanding = (behind * window.end_ns() as f64 / SECOND as f64) as u64;
            let time = if index < slow { TOO_LONG } else { time };
            (window.p50_ns, window.p99_ns) = (Some(time), Some(time));
            control.now.set(window.end_ns());
            if let Some((from, until)) = control.measured.get()
                && window.start_ns >= from
            {
                if window.start_ns >= until {
                    break;
                }
                window.phase = Phase::Measure;
            }
            controller.window(&window, &control);
            windows.push(window);
            if self.0.interrupt_in.get() == Some(number) {
                interrupt.fire();
            }
            if control.stopped.get() || interrupt.fired() || index > 10_000 {
                break;
            }
        }
        let mut seen = observation(plan, &control, windows, rate, time);
        (behaviour.seen)(&mut seen);
        Ok(seen)
    }
}

/// The response time of a server in whose queue requests wait.
const TOO_LONG: Nanos = 50_000_000;

fn response_time(plan: &Plan, rate: f64, reached: f64) -> Nanos {
    match plan.load.rate {
        // As Little's law says.
        None => (f64::from(plan.load.connections) / reached * SECOND as f64) as Nanos,
        // The closer to what it can do, the longer the queue.
        Some(_) if rate / reached > 0.95 => TOO_LONG,
        Some(_) => 1_000_000,
    }
}

fn observation(
    plan: &Plan,
    control: &FakeLoadControl,
    windows: Vec<Window>,
    rate: f64,
    time: Nanos,
) -> Observation {
    let (from, until) = control.measured.get().unwrap_or_default();
    let until = match plan.load.extent {
        Extent::Duration(_) => until.min(control.now.get()),
        Extent::Requests(n) => from + (n as f64 / rate * SECOND as f64) as Nanos,
    };
    let measured_ns = until.saturating_sub(from);
    let ok = (rate * measured_ns as f64 / SECOND as f64) as u64;
    let mut response = prony_record::times::times();
    response.record_n(time, ok.min(100_000)).unwrap();
    // What is in flight at the end is waited for.
    let in_flight_at_end = u64::from(ok == 0);
    response.record_n(time, in_flight_at_end).unwrap();
    let backlog = plan.load.rate.map_or_else(Backlog::default, |due| Backlog {
        judged: 1,
        grew: u32::from(due > rate),
        at_end: 0,
        growth: due - rate,
    });
    let mut seen = Observation {
        began_ns: from,
        measured_ns,
        backlog,
        outcomes: Outcomes {
            ok,
            in_flight_at_end,
            ..Outcomes::default()
        },
        times: Distributions {
            response,
            ..Distributions::default()
        },
        windows,
        per_connection: vec![ok],
        ..Observation::default()
    };
    seen.generator.busy = 0.2;
    seen
}
