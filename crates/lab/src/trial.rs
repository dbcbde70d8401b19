//! A trial: one fresh start of one server under one load.

use crate::builder::{BuildError, Built};
use crate::catalog::Server;
use crate::contract::{Contract, Depth, Violation};
use crate::host::TcpCounters;
use crate::load::Load;
use crate::manifest::{CommandError, Fill, command, fill};
use crate::placement::Placement;
use crate::process::{Launch, Process, free_port};
use crate::warmup::{WarmUp, Warming};
use crate::watch::{Resources, Watch};
use prony_engine::{Control, Nanos, Observation, Plan, Window, clock, descriptors};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two tries to reach a server that is starting.
const PROBE_PAUSE: Duration = Duration::from_millis(2);
/// How long one try may take.
const PROBE_LIMIT: Duration = Duration::from_millis(500);
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
    },
}

/// How long the steps took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// From the start of the server's command until it answered.
    pub ready: Nanos,
    /// Both verifications.
    pub verify: Nanos,
    /// Warm-up, measured part and what was in flight after it.
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
}

impl Bench {
    /// Starts a server and waits until it answers.
    ///
    /// # Errors
    /// When it does not start, ends by itself, or does not answer in time.
    pub fn start(
        &self,
        server: &Server,
        built: &Built,
        workers: u32,
        contract: Contract,
        port: Option<u16>,
    ) -> Result<Running, Failure> {
        let fail = |step, message: String, output| Failure {
            step,
            message,
            output,
        };
        let started = |error: CommandError| fail(Step::Start, error.to_string(), String::new());
        // Before the server starts, which inherits the raised limit; and lest the verifier's lack of
        // descriptors be taken for the server's fault.
        descriptors::reserve(VERIFIER_CONNECTIONS)
            .map_err(|error| fail(Step::Start, error.to_string(), String::new()))?;
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(rand::random());
        let port = match port {
            // Whoever has it would answer in the server's place.
            Some(port) => match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                Ok(_) => port,
                Err(error) => {
                    let message = format!("port {port} cannot be used: {error}");
                    return Err(fail(Step::Start, message, String::new()));
                }
            },
            None => free_port(&mut rng)
                .map_err(|error| fail(Step::Start, error.to_string(), String::new()))?,
        };
        let with = Fill {
            build: built.build.display().to_string(),
            src: built.src.display().to_string(),
            port,
            workers,
            contract: contract.to_string(),
            prony: self.prony.display().to_string(),
        };
        let line = command(&server.manifest.run, &with).map_err(started)?;
        let mut env = std::collections::BTreeMap::new();
        for (name, value) in &server.manifest.env {
            env.insert(name.clone(), fill(value, &with).map_err(started)?);
        }
        let launch = Launch {
            command: line.clone(),
            env,
            cpus: self.placement.server.clone(),
            folder: built.src.clone(),
            log: self.scratch.join(format!("{}-{port}.log", server.name)),
        };
        let begun = Instant::now();
        let mut process = Process::start(&self.prony, &launch).map_err(|error| {
            fail(
                Step::Start,
                format!("`{}`: {error}", line.join(" ")),
                String::new(),
            )
        })?;
        let addr = SocketAddr::from(([127, 0, 0, 1], port));
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
        })
    }

    /// Carries out one trial.
    ///
    /// # Errors
    /// When the server does not start or answer, answers wrongly, or ends under the load.
    pub fn trial(
        &self,
        server: &Server,
        built: &Built,
        workers: u32,
        contract: Contract,
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
        let Running {
            mut process,
            addr,
            command,
            ready,
        } = self.start(server, built, workers, contract, None)?;
        progress(Progress::Step(Step::Verify));
        let verifying = Instant::now();
        verify(Step::Verify, contract, addr, Depth::Full, &mut process)?;
        let mut verified = verifying.elapsed();
        progress(Progress::Step(Step::Load));
        let loading = Instant::now();
        let tcp = TcpCounters::read();
        let (plan, observation, resources, warmup) =
            self.load(contract, addr, load, &mut process, progress)?;
        let tcp = TcpCounters::read().since(&tcp);
        let loaded = loading.elapsed();
        if let Some(exit) = process.exited() {
            let message = format!("it ended {exit} under the load");
            return Err(Failure {
                step: Step::Load,
                message,
                output: process.output(),
            });
        }
        let interrupted = self.interrupt.fired();
        if !interrupted {
            progress(Progress::Step(Step::VerifyAgain));
            let verifying = Instant::now();
            verify(
                Step::VerifyAgain,
                contract,
                addr,
                Depth::Quick,
                &mut process,
            )?;
            verified += verifying.elapsed();
        }
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
        contract: Contract,
        addr: SocketAddr,
        load: &Load,
        process: &mut Process,
        progress: &mut dyn FnMut(Progress<'_>),
    ) -> Result<(Plan, Observation, Resources, WarmUp), Failure> {
        let plan = load.plan(contract, addr, &self.placement.generator, rand::random());
        let control = Arc::new(Control::default());
        self.interrupt.guard(&control);
        let watch = Watch::start(process.root(), self.placement.clone(), load.window.0);
        let mut warming = Warming::new(load.warmup, load.extent);
        let result = prony_engine::run(&plan, &control, |window| {
            let was_warmup = warming.is_on();
            progress(Progress::Window {
                window,
                warmup: was_warmup,
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

fn verify(
    step: Step,
    contract: Contract,
    addr: SocketAddr,
    depth: Depth,
    process: &mut Process,
) -> Result<(), Failure> {
    let failed = |violation: Violation| violation.to_string();
    match contract.verify(addr, depth, rand::random()).map_err(failed) {
        Ok(_) => Ok(()),
        Err(message) => {
            let message = match process.exited() {
                Some(exit) => format!("{message} (the server ended {exit})"),
                None => message,
            };
            Err(Failure {
                step,
                message,
                output: process.output(),
            })
        }
    }
}
