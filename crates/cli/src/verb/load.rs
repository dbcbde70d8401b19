//! `prony load`: load a server that is already running.

mod dialogue;
mod display;
mod keep;
mod verified;

use crate::Ended;
use crate::args::pace::Pace;
use crate::args::{Load, Places};
use crate::target;
use display::Display;
use jiff::Timestamp;
use miette::{IntoDiagnostic, Result, miette};
use prony_checks::{Evidence, Tcp, examine};
use prony_engine::{Dialogue, Plan, descriptors};
use prony_lab::generator::{Generator, Local, Steer, Wheel};
use prony_lab::interrupt::Interrupt;
use prony_lab::machine::TcpCounters;
use prony_lab::requests::begun;
use prony_lab::warmup::{Warming, until};
use prony_record::stages::due_in;
use prony_record::{Extent, Finding, Nanos, Observation, Percentiles, Span, Stage, Window};
use prony_remote::Fleet;
use prony_report::load::{
    HostReport, Http2Report, LoadReport, RequestReport, SessionReport, over_time, recoveries,
};
use std::sync::Arc;
use std::time::Duration;

pub fn main(places: &Places, args: &Load) -> Result<Ended> {
    let fleet = args.from.fleet()?;
    if fleet.is_none() {
        descriptors::reserve(u64::from(args.connections)).into_diagnostic()?;
    }
    let plan = plan(args, fleet.as_ref())?;
    known_requests(args, &plan)?;
    let interrupt = Arc::new(Interrupt::default());
    crate::place::on_signal(&interrupt)?;
    if let (Some(file), false, None) = (&args.file, args.no_verify, &fleet) {
        verified::verified(&file.display().to_string(), &plan)?;
    }
    let (before, started) = (TcpCounters::read(), Timestamp::now());
    let seen = match &fleet {
        Some(fleet) => carry_out(args, &plan, &interrupt, fleet)?,
        None => carry_out(args, &plan, &interrupt, &Local)?,
    };
    let tcp = TcpCounters::read().since(&before);
    let evidence = Evidence {
        // Of other machines' connections this one counts nothing.
        tcp: fleet.is_none().then_some(Tcp {
            listen_overflows: tcp.listen_overflows,
            syn_retransmits: tcp.syn_retransmits,
            retransmits: tcp.retransmits,
        }),
        // What falls due are sessions, which last as long as they do.
        rate: plan.load.rate.filter(|_| seen.by_session.is_empty()),
        ..Evidence::of(&plan.load, &seen)
    };
    let report = report(args, &plan, &seen, examine(&evidence), interrupt.fired());
    let verdict = args.gate.judge(&crate::gate::of_load(&report));
    if args.json {
        println!("{}", verdict.json(&report)?);
    } else {
        crate::out::report(|width| report.text(width));
    }
    verdict.tell();
    if seen.outcomes.ok == 0 && args.url.starts_with("http://") && fleet.is_none() {
        crate::tls::hint(&args.url, &plan.target, args.timeout.0);
    }
    if !args.no_keep {
        let done = keep::Done {
            plan: &plan,
            seen: &seen,
            checks: &report.checks,
            result: report.result(),
            started,
            interrupted: report.interrupted,
        };
        // What was measured is shown already: a notebook that cannot be written does not undo that.
        if let Err(error) = keep::keep(places, args, &done) {
            eprintln!("\nnot kept: {error}");
        }
    }
    let comment = || Ok(prony_pages::export::load_markdown(&report));
    args.gate.comment(&verdict, comment)?;
    Ok(verdict.ended(match report.outcomes.ok {
        0 => Ended::Incomplete,
        _ => Ended::Done,
    }))
}

fn plan(args: &Load, fleet: Option<&Fleet>) -> Result<Plan> {
    let address = target::parse(&args.url)?;
    let http2 = args.http2.is_spoken(&address)?;
    let dialogue = dialogue::dialogue(args, &address, http2)?;
    let load = of_sessions(load(args)?, &dialogue)?;
    load.check().map_err(|invalid| miette!("--{invalid}"))?;
    let allowed = prony_lab::placement::allowed_cpus();
    let cpus = args
        .cpus
        .as_ref()
        .map_or_else(Vec::new, |cpus| cpus.0.clone());
    if let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        return Err(miette!(
            "there is no CPU {cpu} to use here, only {allowed:?}"
        ));
    }
    args.connect.fit(std::slice::from_ref(&address))?;
    let target = match (&args.unix, fleet) {
        (Some(path), _) => target::unix(path)?,
        (None, None) => address.resolve(&args.connect, args.timeout.0)?,
        (None, Some(_)) if address.unix.is_some() => {
            return Err(miette!("a unix socket is reached on its own machine only"));
        }
        (None, Some(fleet)) => args.connect.route(&address).from(fleet, args.timeout.0)?,
    };
    let sources = args.origin.sources(&args.from.load_from)?;
    let sources = sources
        .toward(&target)
        .map_err(|invalid| miette!("--{invalid}"))?;
    let url = (args.url.as_str(), &address);
    let tls = crate::tls::settled(&args.tls, url, &target, args.timeout.0, (fleet, http2))?;
    if address.h2c && fleet.is_none() {
        crate::http2::tried(&args.url, &target, args.timeout.0)?;
    }
    let plan = Plan {
        tls,
        sources,
        seed: args.seed.unwrap_or_else(rand::random),
        cpus,
        ..Plan::new(load, target, dialogue)
    };
    plan.validate().map_err(|invalid| miette!("--{invalid}"))?;
    Ok(plan)
}

/// The load as sessions need it, if the file has some.
fn of_sessions(load: prony_record::Load, dialogue: &Dialogue) -> Result<prony_record::Load> {
    match dialogue {
        Dialogue::Mix(mix) if !mix.sessions.is_empty() && load.pipeline > 1 => Err(miette!(
            "a session waits for each answer: sessions take no --pipeline"
        )),
        Dialogue::Mix(mix) => Ok(begun::on_connections(load, mix)),
        _ => Ok(load),
    }
}

/// The length of a measurement when nothing is said.
const LENGTH: Duration = Duration::from_secs(10);
/// Windows of a load whose rate changes, which is shown window by window: more of them where each is still long.
const WINDOWS: u32 = 20;
const MOST_WINDOWS: u32 = 40;
const LONG_WINDOW: Duration = Duration::from_millis(250);
const SHORTEST_WINDOW: Duration = Duration::from_millis(50);

fn load(args: &Load) -> Result<prony_record::Load> {
    let stages = stages(args)?;
    let length: Duration = stages.iter().map(|stage| stage.duration.0).sum();
    let extent = match (args.requests, stages.as_slice()) {
        (Some(n), _) => Extent::Requests(n),
        (None, []) => Extent::Duration(args.duration.unwrap_or(Span(LENGTH))),
        (None, _) => Extent::Duration(Span(length)),
    };
    let window = match stages.as_slice() {
        [] => extent.window(),
        _ => (length / MOST_WINDOWS)
            .max(LONG_WINDOW)
            .min(length / WINDOWS)
            .max(SHORTEST_WINDOW),
    };
    let rate = match args.rate {
        Some(Pace::Steady(rate)) => Some(rate),
        Some(_) => Some(due_in(&stages, length.as_secs_f64()) / length.as_secs_f64()),
        None => None,
    };
    Ok(prony_record::Load {
        connections: args.connections,
        threads: args.threads,
        rate,
        stages,
        arrival: args.arrival,
        pipeline: args.http2.streams.unwrap_or(args.pipeline),
        keepalive: !args.no_keepalive,
        extent,
        timeout: args.timeout,
        warmup: args.warmup,
        window: Span(window),
        transport: args.transport,
        ..prony_record::Load::default()
    })
}

/// The stages of a rate that changes.
fn stages(args: &Load) -> Result<Vec<Stage>> {
    let stages = match &args.rate {
        None | Some(Pace::Steady(_)) => return Ok(Vec::new()),
        &Some(Pace::Ramp(from, to)) => {
            let duration = args.duration.unwrap_or(Span(LENGTH));
            vec![Stage { from, to, duration }]
        }
        Some(Pace::Stages(_)) if args.duration.is_some() => {
            return Err(miette!(
                "the stages of --rate have durations of their own: without --duration"
            ));
        }
        Some(Pace::Stages(stages)) => stages.clone(),
    };
    match (
        args.requests,
        stages.iter().any(|stage| stage.duration.0.is_zero()),
    ) {
        (Some(_), _) => Err(miette!(
            "a rate that changes lasts for a time: without --requests"
        )),
        (None, true) => Err(miette!("--duration must be longer than 0s")),
        (None, false) => Ok(stages),
    }
}

/// Runs the load with its progress.
fn carry_out(
    args: &Load,
    plan: &Plan,
    interrupt: &Interrupt,
    generator: &impl Generator,
) -> Result<Observation> {
    let extent = plan.load.extent;
    let mut steering = Steering {
        extent,
        warming: (!args.warmup.0.is_zero()).then(|| Warming::new(args.warmup, extent)),
        display: Display::new(args, plan),
    };
    generator
        .load(plan, interrupt, &mut steering)
        .into_diagnostic()
}

/// Measures at once, or when the load is steady.
struct Steering {
    extent: Extent,
    warming: Option<Warming>,
    display: Display,
}

impl Steer for Steering {
    fn at_once(&self) -> Option<Nanos> {
        self.warming.is_none().then(|| until(0, self.extent))
    }

    fn began(&mut self, _start: Nanos, _wheel: &dyn Wheel) {
        if let Some(length) = self.at_once() {
            self.display.measured(length);
        }
    }

    fn window(&mut self, window: &Window, wheel: &dyn Wheel) {
        self.display.window(window, wheel.elapsed());
        let over = self
            .warming
            .as_mut()
            .and_then(|warming| warming.after(window, wheel.elapsed()));
        if let Some((from, until)) = over {
            let (_, until) = wheel.measure(from, until);
            self.display.measured(until);
        }
    }
}

fn report(
    args: &Load,
    plan: &Plan,
    seen: &Observation,
    checks: Vec<Finding>,
    interrupted: bool,
) -> LoadReport {
    let load = &plan.load;
    let over_time = over_time(&load.stages, seen);
    LoadReport {
        target: match &args.unix {
            Some(path) => format!("{} over {}", args.url, path.display()),
            None if args.connect.is_given() => format!("{} at {}", args.url, plan.target),
            None => args.url.clone(),
        },
        connections: load.connections,
        arrival: match load.rate {
            None => "closed".into(),
            Some(_) => load.arrival.to_string(),
        },
        rate: load.rate,
        stages: load.stages.clone(),
        recoveries: recoveries(&load.stages, &over_time),
        over_time,
        seconds: seen.seconds(),
        interrupted,
        throughput: prony_report::load::throughput(seen),
        latency: seen.times.percentiles(),
        generator_lateness: load.rate.map(|_| Percentiles::of(&seen.times.late)),
        connect: Percentiles::of(&seen.times.connect),
        handshake: seen
            .tls
            .is_some()
            .then(|| Percentiles::of(&seen.times.handshake)),
        tls: seen.tls.clone(),
        http2: match &plan.dialogue {
            Dialogue::H2(it) => Some(Http2Report {
                streams: load.pipeline,
                window: it.window,
            }),
            _ => None,
        },
        outcomes: seen.outcomes.clone(),
        generator: seen.generator.clone(),
        bytes_received: seen.bytes_received,
        bytes_sent: seen.bytes_sent,
        errors: seen.errors.clone(),
        wrong_answers: seen.wrong_answers.clone(),
        unsolicited: seen.unsolicited.clone(),
        requests: RequestReport::all(&seen.by_request),
        sessions: SessionReport::all(&seen.by_session),
        generators: seen.by_host.iter().map(HostReport::from).collect(),
        used_up: used_up(plan, seen, interrupted),
        checks,
    }
}

/// Conditions speak of requests and sessions that there are.
fn known_requests(args: &Load, plan: &Plan) -> Result<()> {
    let (what, names): (_, Vec<&str>) = match &plan.dialogue {
        Dialogue::Mix(mix) => {
            let what = match mix.sessions.is_empty() {
                true => "request",
                false => "request or session",
            };
            let requests = mix.requests.iter().map(|one| one.name.as_str());
            let sessions = mix.sessions.iter().map(|one| one.name.as_str());
            (what, requests.chain(sessions).collect())
        }
        _ => ("request", Vec::new()),
    };
    for condition in &args.gate.fail_if {
        if let Some(name) = &condition.request
            && !names.contains(&name.as_str())
        {
            let known = match names.as_slice() {
                [] => "requests have names in a file, --file".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            return Err(miette!(
                help = known,
                "--fail-if '{condition}': there is no {what} {name:?}"
            ));
        }
    }
    Ok(())
}

/// The tables that are used once, when the load has ended with their last row.
fn used_up(plan: &Plan, seen: &Observation, interrupted: bool) -> Vec<String> {
    let Dialogue::Mix(mix) = &plan.dialogue else {
        return Vec::new();
    };
    let early = match plan.load.extent {
        Extent::Duration(length) => u128::from(seen.measured_ns) < length.0.as_nanos(),
        Extent::Requests(n) => seen.outcomes.finished() < n,
    };
    let once = mix
        .tables
        .iter()
        .filter(|table| table.once && early && !interrupted);
    once.map(|table| table.name.clone()).collect()
}
