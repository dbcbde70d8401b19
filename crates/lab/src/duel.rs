//! Duels: servers that are started together and loaded in turns, so that whatever else happens on
//! the machine happens to all of them.
//!
//! In a round every side is started anew; then all of them are warmed up, and loaded in short
//! segments in an order and its reverse (A B B A): a drift of the machine within the round adds the
//! same to each. A server that is not loaded sleeps.

use crate::builder::Built;
use crate::catalog::Server;
use crate::contract::{Contract, Depth, Inspection, Wanted};
use crate::get::Get;
use crate::load::Extent;
use crate::manifest::Manifest;
use crate::text::Span;
use crate::tree;
use crate::trial::{Bench, Candidate, Failure, Running, Step};
use crate::warmup::Warming;
use prony_engine::{
    Arrival, Control, Dialogue, Nanos, Observation, Plan, Target, TransportKind, Window, automatic,
    descriptors,
};
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Who takes part.
#[derive(Debug, Clone)]
pub struct Side {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub what: What,
}

/// What a side is.
#[derive(Debug, Clone)]
pub enum What {
    /// Started anew in every round.
    Started {
        /// The server.
        server: Box<Server>,
        /// Its build.
        built: Box<Built>,
        /// Its workers.
        workers: u32,
    },
    /// Somebody else has started it; it is only loaded.
    Running(SocketAddr),
}

/// What is asked of all sides.
#[derive(Debug, Clone)]
pub enum Ask {
    /// A contract, which is verified.
    Contract(Contract),
    /// A request.
    Get(Get),
}

/// How all sides are loaded.
#[derive(Debug, Clone)]
pub struct Manner {
    /// What is asked.
    pub ask: Ask,
    /// What is echoed, for tcp-echo.
    pub message: String,
    /// Connections.
    pub connections: u32,
    /// Generator threads.
    pub threads: u32,
    /// How long each side is loaded in each part of a round.
    pub duration: Duration,
    /// The longest that the warm-up of a start may take.
    pub warmup: Duration,
    /// After this, a request is given up.
    pub timeout: Duration,
    /// How bytes are moved; `None`: what suits each part.
    pub transport: Option<TransportKind>,
    /// How thoroughly each start is verified.
    pub depth: Depth,
}

/// One part of a round for one side.
#[derive(Debug)]
pub struct Part {
    /// The plan of its segments.
    pub plan: Plan,
    /// What was seen in each of them.
    pub segments: Vec<Observation>,
    /// CPU time of the server over all of them; `None` when it is somebody else's.
    pub cpu: Option<Nanos>,
}

/// A side in a round.
#[derive(Debug)]
pub struct Bout {
    /// As fast as answers come; `None` if that was not wanted.
    pub saturation: Option<Part>,
    /// At the rate that is common to all sides; `None` until there is one.
    pub fixed: Option<Part>,
    /// Its command line; empty when it is somebody else's.
    pub command: Vec<String>,
    /// The most memory of its processes, in bytes.
    pub rss_peak: u64,
}

impl Bout {
    /// Answers per second, as fast as they came.
    pub fn throughput(&self) -> Option<f64> {
        self.saturation.as_ref().map(Part::throughput)
    }

    /// What it was loaded with, in order.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.saturation.iter().chain(&self.fixed)
    }
}

/// The parts of a round.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parts {
    /// As fast as answers come.
    pub saturation: bool,
    /// At this rate, in requests per second.
    pub rate: Option<f64>,
}

/// What a side tells while it takes part.
#[derive(Debug)]
pub enum Now<'a> {
    /// What is done with it from here on.
    Step(&'static str),
    /// A window has ended.
    Window {
        /// The window.
        window: &'a Window,
        /// It was not measured.
        warmup: bool,
    },
    /// It has been loaded, and used so many CPUs meanwhile.
    Used(f64),
}

/// Told what goes on, and with which side.
pub type Told<'t> = &'t mut dyn FnMut(&Side, Now<'_>);

/// Segments of a part of a round: the order, and its reverse.
const SEGMENTS: u32 = 2;
/// Windows of a warm-up, and of a segment.
const WINDOW: Duration = Duration::from_millis(100);

/// A command line as a side: `{host}` and `{port}` in it, and the variables HOST and PORT, are where
/// it must listen.
///
/// # Errors
/// When it cannot be split as a shell would.
pub fn command_side(name: &str, line: &str, folder: &Path) -> Result<Side, String> {
    let text = toml::toml! {
        title = "given on the command line"
        language = "any"
        model = "any"
        contracts = ["tcp-echo"]
        run = "true"
        env = { HOST = "{host}", PORT = "{port}" }
    };
    let mut manifest: Manifest = text.try_into().expect("a constant manifest");
    crate::manifest::command(line, &crate::manifest::Fill::default())
        .map_err(|error| error.to_string())?;
    line.clone_into(&mut manifest.run);
    let server = Server {
        // Files are called after it.
        name: "command".into(),
        folder: folder.to_owned(),
        manifest,
    };
    let built = Built {
        src: folder.to_owned(),
        build: folder.to_owned(),
        deps: folder.to_owned(),
        shared: folder.to_owned(),
        version: String::new(),
        cached: true,
    };
    Ok(Side {
        name: name.to_owned(),
        what: What::Started {
            server: Box::new(server),
            built: Box::new(built),
            workers: 1,
        },
    })
}

/// A side that is up, verified, and can be loaded.
#[derive(Debug)]
pub struct Up<'a> {
    side: &'a Side,
    running: Option<Running>,
    addr: SocketAddr,
    dialogue: Dialogue,
}

impl<'a> Up<'a> {
    /// Starts a side (unless somebody else has), verifies it, and warms it up.
    ///
    /// # Errors
    /// When it does not start or answer as it should.
    pub fn start(
        bench: &Bench,
        side: &'a Side,
        manner: &Manner,
        told: Told<'_>,
    ) -> Result<Self, Failure> {
        told(side, Now::Step("starting"));
        let mut up = start(bench, side, manner)?;
        told(side, Now::Step("warming up"));
        warm_up(bench, &mut up, manner, told)?;
        Ok(up)
    }

    /// Loads it once.
    ///
    /// # Errors
    /// When it ends under the load, or the generator cannot go on.
    pub fn load(
        &mut self,
        bench: &Bench,
        manner: &Manner,
        arrival: Arrival,
        length: Duration,
        told: Told<'_>,
    ) -> Result<Part, Failure> {
        let mut part = empty(self, manner, arrival, bench);
        segment(bench, self, length, &mut part, told)?;
        Ok(part)
    }

    /// Its command line; empty when it is somebody else's.
    pub fn command(&self) -> Vec<String> {
        let running = self.running.as_ref();
        running.map_or_else(Vec::new, |running| running.command.clone())
    }

    /// The most memory of its processes, in bytes; 0 when it is somebody else's.
    pub fn rss_peak(&self) -> u64 {
        self.running.as_ref().map_or(0, peak)
    }
}

/// One round: every side started, warmed up, and loaded in turns; in the order of `sides`.
///
/// # Errors
/// The side that failed, and how. An interrupt is no failure: `None`.
pub fn round(
    bench: &Bench,
    sides: &[Side],
    manner: &Manner,
    parts: Parts,
    told: Told<'_>,
) -> Result<Option<Vec<Bout>>, (String, Failure)> {
    let mut order: Vec<usize> = (0..sides.len()).collect();
    order.shuffle(&mut rand::rng());
    let mut up: Vec<Option<Up<'_>>> = sides.iter().map(|_| None).collect();
    for &i in &order {
        told(&sides[i], Now::Step("starting"));
        let failed = |failure| (sides[i].name.clone(), failure);
        up[i] = Some(start(bench, &sides[i], manner).map_err(failed)?);
    }
    let mut up: Vec<Up<'_>> = up.into_iter().flatten().collect();
    for &i in &order {
        told(up[i].side, Now::Step("warming up"));
        let failed = |failure| (sides[i].name.clone(), failure);
        warm_up(bench, &mut up[i], manner, told).map_err(failed)?;
    }
    let mut part = |up: &mut Vec<Up<'_>>, arrival: Arrival, what: &'static str| {
        let mut parts: Vec<Part> = up
            .iter()
            .map(|up| empty(up, manner, arrival, bench))
            .collect();
        let there_and_back = order.iter().chain(order.iter().rev());
        for &i in there_and_back {
            if bench.interrupt.fired() {
                return Ok(None);
            }
            told(up[i].side, Now::Step(what));
            let length = manner.duration / SEGMENTS;
            segment(bench, &mut up[i], length, &mut parts[i], told)
                .map_err(|failure| (sides[i].name.clone(), failure))?;
        }
        Ok(Some(parts))
    };
    let wanted = [
        (
            parts.saturation.then_some(Arrival::Closed),
            "as fast as it can",
        ),
        (parts.rate.map(Arrival::Constant), "at the common rate"),
    ];
    let mut loaded = Vec::new();
    for (arrival, what) in wanted {
        loaded.push(match arrival {
            None => sides.iter().map(|_| None).collect::<Vec<_>>(),
            Some(arrival) => match part(&mut up, arrival, what)? {
                Some(parts) => parts.into_iter().map(Some).collect(),
                None => return Ok(None),
            },
        });
    }
    let [saturation, fixed] = loaded.try_into().expect("one for each part");
    let bouts = up.into_iter().zip(saturation).zip(fixed);
    Ok(Some(
        bouts
            .map(|((up, saturation), fixed)| Bout {
                saturation,
                fixed,
                rss_peak: up.rss_peak(),
                command: up.command(),
            })
            .collect(),
    ))
}

fn peak(running: &Running) -> u64 {
    let pids = tree::descendants(running.process.root());
    let status = pids.into_iter().filter_map(tree::status);
    status.map(|status| status.rss_peak).sum()
}

fn start<'a>(bench: &Bench, side: &'a Side, manner: &Manner) -> Result<Up<'a>, Failure> {
    let cannot = |step, message: String| Failure {
        step,
        message,
        output: String::new(),
    };
    descriptors::reserve(u64::from(manner.connections))
        .map_err(|error| cannot(Step::Load, error.to_string()))?;
    let (mut running, addr) = match &side.what {
        What::Running(addr) => (None, *addr),
        What::Started {
            server,
            built,
            workers,
        } => {
            let contract = match manner.ask {
                Ask::Contract(contract) => contract,
                Ask::Get(_) => Contract::Http,
            };
            let candidate = Candidate {
                server,
                built,
                workers: *workers,
                contract,
                cpus: &bench.placement.server,
            };
            let running = bench.start(&candidate, None)?;
            let addr = running.addr;
            (Some(running), addr)
        }
    };
    let none = BTreeMap::new();
    let known = match &side.what {
        What::Started { server, .. } => &server.manifest.expected_failures,
        What::Running(_) => &none,
    };
    let dialogue = match (&manner.ask, &mut running) {
        (Ask::Get(get), running) => get.dialogue(addr).map_err(|message| Failure {
            step: Step::Verify,
            message,
            output: running
                .as_ref()
                .map_or_else(String::new, |r| r.process.output()),
        })?,
        (Ask::Contract(contract), Some(running)) => {
            let how = Inspection::new(manner.depth, rand::random()).knowing(known);
            running.verify(Step::Verify, *contract, &how)?;
            running.dialogue(*contract, &how, &manner.message, true)?
        }
        (Ask::Contract(contract), None) => {
            let how = Inspection::new(manner.depth, rand::random());
            let failed = |message: String| cannot(Step::Verify, message);
            let fixture = crate::contract::Fixture::set_up(*contract, &bench.scratch)
                .map_err(|error| failed(error.to_string()))?;
            how.of(*contract, addr, &fixture)
                .map_err(|violation| failed(violation.to_string()))?;
            let wanted = Wanted {
                message: &manner.message,
                keepalive: true,
            };
            how.dialogue(*contract, addr, &fixture, wanted)
                .map_err(|violation| failed(violation.to_string()))?
        }
    };
    Ok(Up {
        side,
        running,
        addr,
        dialogue,
    })
}

fn plan(up: &Up<'_>, manner: &Manner, arrival: Arrival, bench: &Bench) -> Plan {
    Plan {
        target: Target::Tcp(up.addr),
        dialogue: up.dialogue.clone(),
        arrival,
        connections: manner.connections,
        threads: manner.threads,
        cpus: bench.placement.pinned().to_vec(),
        pipeline: 1,
        keepalive: true,
        calls: 1,
        trace: false,
        timeout: manner.timeout,
        window: WINDOW,
        requests: None,
        transport: manner.transport.unwrap_or_else(|| automatic(&arrival)),
    }
}

fn empty(up: &Up<'_>, manner: &Manner, arrival: Arrival, bench: &Bench) -> Part {
    Part {
        plan: plan(up, manner, arrival, bench),
        segments: Vec::new(),
        cpu: up.running.is_some().then_some(0),
    }
}

fn warm_up(bench: &Bench, up: &mut Up<'_>, manner: &Manner, told: Told<'_>) -> Result<(), Failure> {
    let plan = plan(up, manner, Arrival::Closed, bench);
    let control = Arc::new(Control::default());
    bench.interrupt.guard(&control);
    let mut warming = Warming::new(Span(manner.warmup), Extent::Duration(Span(WINDOW)));
    let side = up.side;
    let result = prony_engine::run(&plan, &control, |window| {
        let warmup = true;
        told(side, Now::Window { window, warmup });
        if warming.after(window).is_some() {
            control.stop();
        }
    });
    done(up, result).map(drop)
}

/// Loads one side for a segment.
fn segment(
    bench: &Bench,
    up: &mut Up<'_>,
    length: Duration,
    part: &mut Part,
    told: Told<'_>,
) -> Result<(), Failure> {
    let control = Arc::new(Control::at_once(prony_engine::clock::nanos(length)));
    bench.interrupt.guard(&control);
    let root = up.running.as_ref().map(|running| running.process.root());
    let before = root.map(cpu);
    let side = up.side;
    let result = prony_engine::run(&part.plan, &control, |window| {
        let warmup = false;
        told(side, Now::Window { window, warmup });
    });
    let used = root.map(cpu).zip(before);
    let seen = done(up, result)?;
    if let Some((sum, (after, before))) = part.cpu.as_mut().zip(used) {
        let used = after.saturating_sub(before);
        *sum += used;
        told(side, Now::Used(used as f64 / seen.measured().max(1) as f64));
    }
    part.segments.push(seen);
    Ok(())
}

/// CPU time of everything below a process.
fn cpu(root: libc::pid_t) -> Nanos {
    let pids = tree::descendants(root);
    pids.into_iter().filter_map(tree::cpu_time).sum()
}

fn done(
    up: &mut Up<'_>,
    result: Result<Observation, prony_engine::Error>,
) -> Result<Observation, Failure> {
    let fail = |message: String, output: String| Failure {
        step: Step::Load,
        message,
        output,
    };
    let process = up.running.as_mut().map(|running| &mut running.process);
    if let Some(process) = process
        && let Some(exit) = process.exited()
    {
        let message = format!("it ended {exit} under the load");
        return Err(fail(message, process.output()));
    }
    result.map_err(|error| fail(error.to_string(), String::new()))
}

impl Part {
    /// Length of what was measured, in seconds.
    pub fn seconds(&self) -> f64 {
        let nanos: Nanos = self.segments.iter().map(Observation::measured).sum();
        nanos as f64 / prony_engine::clock::SECOND as f64
    }

    /// Answers as expected.
    pub fn ok(&self) -> u64 {
        self.segments.iter().map(|seen| seen.outcomes.ok).sum()
    }

    /// Answers per second.
    pub fn throughput(&self) -> f64 {
        self.ok() as f64 / self.seconds()
    }

    /// CPU time of the server per request that ended, in nanoseconds.
    pub fn cpu_per_request(&self) -> Option<f64> {
        let finished: u64 = self
            .segments
            .iter()
            .map(|seen| seen.outcomes.finished() + seen.outcomes.in_flight_at_end)
            .sum();
        Some(self.cpu? as f64 / finished as f64).filter(|_| finished > 0)
    }
}
