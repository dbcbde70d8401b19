//! A trial: one fresh start of one server under one load.

use crate::builder::{BuildError, Built};
use crate::catalog::Server;
use crate::contract::{Contract, Depth, Fixture, Inspection, Verified, Violation, Wanted};
use crate::host::TcpCounters;
use crate::load::Load;
use crate::manifest::{CommandError, Fill, command, fill};
use crate::placement::Placement;
use crate::process::{Launch, Process, free_port};
use crate::warmup::{WarmUp, Warming};
use crate::watch::{Resources, Roots, Watch};
use prony_engine::{Control, Dialogue, Nanos, Observation, Plan, Window, clock, descriptors};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two tries to reach a server that is starting.
const PROBE_PAUSE: Duration = Duration::from_millis(2);
/// How long one try may take.
const PROBE_LIMIT: Duration = Duration::from_millis(500);
/// Where a server listens unless asked otherwise: on a free port.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// More connections at once than a verification makes.
const VERIFIER_CONNECTIONS: u64 = 256;

/// A step of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Compile it.
    Build,
    /// Run its command.
    Start,
    /// Wait until it answers.
    Ready,
    /// Prove that it keeps its contract.
    Verify,
    /// Load it.
    Load,
    /// Prove it again.
    VerifyAgain,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Build => "build",
            Self::Start => "start",
            Self::Ready => "get ready",
            Self::Verify => "verification",
            Self::Load => "load",
            Self::VerifyAgain => "verification after the load",
        })
    }
}

/// Why a trial failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{step}: {message}")]
pub struct Failure {
    /// At which step.
    pub step: Step,
    /// What was tried and what was found.
    pub message: String,
    /// The end of what the server, or its build, printed.
    pub output: String,
}

impl From<BuildError> for Failure {
    fn from(error: BuildError) -> Self {
        let message = error.to_string();
        let output = if let BuildError::Command { output, .. } = error {
            output
        } else {
            String::new()
        };
        Self {
            step: Step::Build,
            message,
            output,
        }
    }
}

/// Something that the user may interrupt.
#[derive(Debug, Default)]
pub struct Interrupt {
    inner: Mutex<Interrupted>,
}

#[derive(Debug, Default)]
struct Interrupted {
    fired: bool,
    load: Option<Arc<Control>>,
}

impl Interrupt {
    /// Ends the load under way, if there is one, and every one after it.
    pub fn fire(&self) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.fired = true;
        if let Some(load) = &inner.load {
            load.stop();
        }
    }

    /// Has it been fired?
    pub fn fired(&self) -> bool {
        self.inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fired
    }

    /// From here on, firing stops this load.
    pub fn guard(&self, load: &Arc<Control>) {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if inner.fired {
            load.stop();
        }
        inner.load = Some(Arc::clone(load));
    }
}

/// Where trials are carried out.
#[derive(Debug)]
pub struct Bench {
    /// This program.
    pub prony: PathBuf,
    /// For the servers' output; exists, and is ours.
    pub scratch: PathBuf,
    /// Who runs where.
    pub placement: Placement,
    /// What ends everything.
    pub interrupt: Arc<Interrupt>,
}

/// What a trial reports while it runs.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A step begins.
    Step(Step),
    /// A window has ended; is it a part of the warm-up?
    Window {
        /// The window.
        window: &'a Window,
        /// It was not measured.
        warmup: bool,
        /// How many CPUs the server used when it was last looked at; `None` before the measurement.
        server: Option<f64>,
    },
}

/// How long the steps took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// From the start of the server's command until it answered.
    pub ready: Nanos,
    /// Both verifications.
    pub verify: Nanos,
    /// Warm-up, measurement and what was in flight after it.
    pub load: Nanos,
    /// Until nothing of the server was left.
    pub stop: Nanos,
    /// The whole trial.
    pub total: Nanos,
}

/// What a trial yields.
#[derive(Debug)]
pub struct Trial {
    /// The engine's plan of the load.
    pub plan: Plan,
    /// What the generator saw.
    pub observation: Observation,
    /// What the server used.
    pub resources: Resources,
    /// TCP events between the beginning and the end of the load.
    pub tcp: TcpCounters,
    /// How the warm-up went.
    pub warmup: WarmUp,
    /// The server's command line.
    pub command: Vec<String>,
    /// The end of what it printed.
    pub output: String,
    /// How long the steps took.
    pub times: Times,
    /// The load was ended by the user.
    pub interrupted: bool,
}

/// A server that was started and answers.
#[derive(Debug)]
pub struct Running {
    /// Its process.
    pub process: Process,
    /// Where it listens.
    pub addr: SocketAddr,
    /// Its command line.
    pub command: Vec<String>,
    /// From its start until it answered.
    pub ready: Duration,
    /// What surrounds it.
    pub fixture: Fixture,
}

/// A server as it takes part.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The server.
    pub server: &'a Server,
    /// Its build.
    pub built: &'a Built,
    /// Its workers.
    pub workers: u32,
    /// What it must answer.
    pub contract: Contract,
    /// Its CPUs.
    pub cpus: &'a [usize],
}

impl Bench {
    /// Starts a server on `at` and waits until it answers. Port 0 stands for a free one, `None` for a
    /// free one of 127.0.0.1.
    ///
    /// # Errors
    /// When the address cannot be used, or the server does not start, ends by itself, or does not
    /// answer in time.
    pub fn start(&self, who: &Candidate<'_>, at: Option<SocketAddr>) -> Result<Running, Failure> {
        let Candidate {
            server,
            built,
            workers,
            contract,
            cpus,
        } = *who;
        let fail = |step, message: String, output| Failure {
            step,
            message,
            output,
        };
        let cannot = |error: &dyn fmt::Display| fail(Step::Start, error.to_string(), String::new());
        let started = |error: CommandError| cannot(&error);
        // Before the server starts, which inherits the raised limit; and lest the verifier's lack of
        // descriptors be taken for the server's fault.
        descriptors::reserve(VERIFIER_CONNECTIONS).map_err(|error| cannot(&error))?;
        let fixture = Fixture::set_up(contract, &self.scratch).map_err(|error| cannot(&error))?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(rand::random());
        let mut addr = at.unwrap_or(LOOPBACK);
        if addr.port() == 0 {
            addr.set_port(free_port(&mut rng).map_err(|error| cannot(&error))?);
        }
        // A server that is there already would answer in this one's place.
        TcpListener::bind(addr)
            .map_err(|error| cannot(&format_args!("{addr} cannot be used: {error}")))?;
        let with = Fill {
            build: built.build.display().to_string(),
            src: built.src.display().to_string(),
            host: addr.ip().to_string(),
            port: addr.port(),
            workers,
            contract: contract.to_string(),
            prony: self.prony.display().to_string(),
            deps: built.deps.display().to_string(),
            cache: built.shared.display().to_string(),
            docroot: fixture.docroot().display().to_string(),
            upstream: fixture
                .upstream()
                .map_or_else(String::new, |addr| addr.to_string()),
            ..Fill::default()
        };
        let line = command(&server.manifest.run, &with).map_err(started)?;
        let mut env = std::collections::BTreeMap::new();
        for (name, value) in &server.manifest.env {
            env.insert(name.clone(), fill(value, &with).map_err(started)?);
        }
        let launch = Launch {
            command: line.clone(),
            env,
            cpus: cpus.to_vec(),
            folder: built.src.clone(),
            log: self
                .scratch
                .join(format!("{}-{}.log", server.name, addr.port())),
        };
        let begun = Instant::now();
        let mut process = Process::start(&self.prony, &launch).map_err(|error| {
            fail(
                Step::Start,
                format!("`{}`: {error}", line.join(" ")),
                String::new(),
            )
        })?;
        let limit = server.manifest.start_timeout();
        loop {
            if let Some(exit) = process.exited() {
                let message = format!("it ended {exit} before it answered");
                return Err(fail(Step::Ready, message, process.output()));
            }
            match contract.probe(addr, PROBE_LIMIT) {
                Ok(()) => break,
                Err(error) if begun.elapsed() > limit => {
                    let message = format!("no answer within {limit:?} of its start: {error}");
                    return Err(fail(Step::Ready, message, process.output()));
                }
                Err(_) if self.interrupt.fired() => {
                    return Err(fail(Step::Ready, "interrupted".into(), String::new()));
                }
                Err(_) => std::thread::sleep(PROBE_PAUSE),
            }
        }
        Ok(Running {
            process,
            addr,
            command: line,
            ready: begun.elapsed(),
            fixture,
        })
    }

    /// Starts a server, verifies it thoroughly, and stops it.
    ///
    /// # Errors
    /// When it does not start or answer, or answers wrongly.
    pub fn check(&self, who: &Candidate<'_>) -> Result<Verified, Failure> {
        let mut running = self.start(who, None)?;
        let known = &who.server.manifest.expected_failures;
        let how = Inspection::new(Depth::Thorough, rand::random()).knowing(known);
        running.verify(Step::Verify, who.contract, &how)
    }

    /// Carries out one trial; a gateway is loaded in front of `upstream`.
    ///
    /// # Errors
    /// When the server does not start or answer, answers wrongly, or ends under the load.
    pub fn trial(
        &self,
        who: &Candidate<'_>,
        upstream: Option<&Candidate<'_>>,
        load: &Load,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<Trial, Failure> {
        let begun = Instant::now();
        descriptors::reserve(u64::from(load.connections)).map_err(|error| Failure {
            step: Step::Load,
            message: error.to_string(),
            output: String::new(),
        })?;
        progress(Progress::Step(Step::Start));
        let mut running = self.start(who, None)?;
        progress(Progress::Step(Step::Verify));
        let verifying = Instant::now();
        let (known, seed) = (&who.server.manifest.expected_failures, rand::random());
        let full = Inspection::new(Depth::Full, seed).knowing(known);
        running.verify(Step::Verify, who.contract, &full)?;
        let mut verified = verifying.elapsed();
        progress(Progress::Step(Step::Load));
        // prony's own upstream counts and changes what it says; a real one is what is to be loaded.
        let behind = match running.fixture.upstream().zip(upstream) {
            None => None,
            Some((addr, upstream)) => {
                running.fixture.release();
                let behind = self.start(upstream, Some(addr))?;
                running.fixture.hand_over(&behind.fixture);
                Some(behind)
            }
        };
        let dialogue = running.dialogue(who.contract, &full, &load.message, load.keepalive)?;
        let loading = Instant::now();
        let tcp = TcpCounters::read();
        let roots = Roots {
            server: running.process.root(),
            upstream: behind.as_ref().map(|behind| behind.process.root()),
            port: running.addr.port(),
        };
        let (plan, observation, resources, warmup) =
            self.load(dialogue, &mut running, roots, load, progress)?;
        let tcp = TcpCounters::read().since(&tcp);
        let loaded = loading.elapsed();
        let mut all = vec![("it", &mut running.process)];
        let mut behind = behind;
        all.extend(behind.iter_mut().map(|b| ("its upstream", &mut b.process)));
        for (which, process) in all {
            if let Some(exit) = process.exited() {
                let message = format!("{which} ended {exit} under the load");
                return Err(Failure {
                    step: Step::Load,
                    message,
                    output: process.output(),
                });
            }
        }
        let interrupted = self.interrupt.fired();
        if !interrupted {
            progress(Progress::Step(Step::VerifyAgain));
            let verifying = Instant::now();
            let quick = Inspection::new(Depth::Quick, seed).knowing(known);
            running.verify(Step::VerifyAgain, who.contract, &quick)?;
            verified += verifying.elapsed();
        }
        let Running {
            process,
            command,
            ready,
            ..
        } = running;
        let output = process.output();
        let stopping = Instant::now();
        process.stop();
        let times = Times {
            ready: clock::nanos(ready),
            verify: clock::nanos(verified),
            load: clock::nanos(loaded),
            stop: clock::nanos(stopping.elapsed()),
            total: clock::nanos(begun.elapsed()),
        };
        Ok(Trial {
            plan,
            observation,
            resources,
            tcp,
            warmup,
            command,
            output,
            times,
            interrupted,
        })
    }

    fn load(
        &self,
        dialogue: Dialogue,
        running: &mut Running,
        roots: Roots,
        load: &Load,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Plan, Observation, Resources, WarmUp), Failure> {
        let process = &mut running.process;
        let cpus = self.placement.pinned();
        let plan = load.plan(dialogue, running.addr, cpus, rand::random());
        let control = Arc::new(Control::default());
        self.interrupt.guard(&control);
        let watch = Watch::start(roots, self.placement.clone(), load.window.0);
        let mut warming = Warming::new(load.warmup, load.extent);
        let result = prony_engine::run(&plan, &control, |window| {
            let was_warmup = warming.is_on();
            progress(Progress::Window {
                window,
                warmup: was_warmup,
                server: watch.used(),
            });
            if let Some((from, until)) = warming.after(window) {
                let (from, until) = control.measure(from, until);
                watch.measure(from, until);
            }
            // A number of requests would take forever to fail one by one.
            if process.exited().is_some() {
                control.stop();
            }
        });
        let resources = watch.finish();
        let observation = result.map_err(|error| Failure {
            step: Step::Load,
            message: error.to_string(),
            output: process.output(),
        })?;
        Ok((plan, observation, resources, warming.result()))
    }
}

impl Running {
    pub(crate) fn verify(
        &mut self,
        step: Step,
        contract: Contract,
        how: &Inspection<'_>,
    ) -> Result<Verified, Failure> {
        how.of(contract, self.addr, &self.fixture)
            .map_err(|violation| self.violated(step, &violation))
    }

    pub(crate) fn dialogue(
        &mut self,
        contract: Contract,
        how: &Inspection<'_>,
        message: &str,
        keepalive: bool,
    ) -> Result<Dialogue, Failure> {
        let wanted = Wanted { message, keepalive };
        how.dialogue(contract, self.addr, &self.fixture, wanted)
            .map_err(|violation| self.violated(Step::Load, &violation))
    }

    fn violated(&mut self, step: Step, violation: &Violation) -> Failure {
        let message = match self.process.exited() {
            Some(exit) => format!("{violation} (the server ended {exit})"),
            None => violation.to_string(),
        };
        Failure {
            step,
            message,
            output: self.process.output(),
        }
    }
}
