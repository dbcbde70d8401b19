//! `prony load`: load a server that is already running.

mod dialogue;
mod display;
mod grpc;
mod keep;
mod replay;
mod shape;
mod verified;

use crate::Ended;
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
use prony_record::inert;
use prony_record::{Extent, Finding, Nanos, Observation, Percentiles, Window};
use prony_remote::Fleet;
use prony_report::load::{
    GrpcReport, HostReport, Http2Report, LoadReport, RequestReport, SessionReport, WsReport,
    over_time, recoveries,
};
use std::sync::Arc;

pub fn main(places: &Places, args: &Load) -> Result<Ended> {
    let fleet = args.from.fleet()?;
    if fleet.is_none() {
        let most = args.max_connections.map_or(0.0, f64::from);
        descriptors::reserve(args.connections.most().max(most) as u64).into_diagnostic()?;
    }
    let plan = plan(args, fleet.as_ref())?;
    known_requests(args, &plan)?;
    let interrupt = Arc::new(Interrupt::default());
    crate::place::on_signal(&interrupt)?;
    let file = args.file.as_ref().or(args.replay.as_ref());
    let file = file.filter(|_| !args.no_verify);
    let file = file.map(|file| file.display().to_string());
    let file = file.filter(|file| {
        let Some(Err(why)) = fleet.as_ref().map(|_| verified::reached(&plan)) else {
            return true;
        };
        let file = inert::line(file);
        eprintln!("the requests of {file} are not tried before the load: {why}");
        false
    });
    if let Some(file) = &file {
        verified::verified(file, &plan)?;
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
    // A server that was loaded until it answered wrongly is worse than one that was slow: the samples of the load may have missed it.
    let broken = match &file {
        Some(file) if !interrupt.fired() => verified::verified(file, &plan).err(),
        _ => None,
    };
    if let Some(broken) = &broken {
        eprintln!("\nafter the load: {broken}");
    }
    Ok(verdict.ended(match (report.outcomes.ok, broken) {
        (0, _) | (_, Some(_)) => Ended::Incomplete,
        _ => Ended::Done,
    }))
}

fn plan(args: &Load, fleet: Option<&Fleet>) -> Result<Plan> {
    let address = target::parse(&args.url)?;
    let http2 = args.http2.is_spoken(&address)?;
    let (call, dialogue) = match address.grpc {
        true => {
            let (call, dialogue) = grpc::call(args, &address)?;
            (Some(call), dialogue)
        }
        false => {
            args.grpc.unused()?;
            (None, dialogue::dialogue(args, &address, http2)?)
        }
    };
    let load = of_sessions(shape::load(args)?, &dialogue)?;
    let load = replay::at_its_times(load, args, &dialogue)?;
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
    let tls = match crate::ws::of(&dialogue) {
        None => crate::tls::settled(&args.tls, url, &target, args.timeout.0, (fleet, http2))?,
        Some(upgrade) => {
            let tls = match address.tls {
                true => Some(args.tls.options(&address.host, false)?),
                false => args.tls.unused().map(|()| None)?,
            };
            if fleet.is_none() {
                crate::ws::tried(&args.url, &target, tls.as_ref(), upgrade, args.timeout.0)?;
            }
            tls
        }
    };
    if address.h2c && fleet.is_none() {
        crate::http2::tried(&args.url, &target, args.timeout.0)?;
    }
    let dialogue = match call {
        Some(call) if fleet.is_none() && !args.no_verify => {
            grpc::looked(args, &address, &call, &target, tls.as_ref())?
        }
        _ => dialogue,
    };
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
            "a session waits for each answer: sessions take no {}",
            match mix.http2 {
                None => "--pipeline",
                Some(_) => "--streams",
            }
        )),
        Dialogue::Mix(mix) => Ok(begun::on_connections(load, mix)),
        _ => Ok(load),
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
    let over_time = over_time(load, seen);
    LoadReport {
        target: match &args.unix {
            Some(path) => format!("{} over {}", args.url, path.display()),
            None if args.connect.is_given() => format!("{} at {}", args.url, plan.target),
            None => args.url.clone(),
        },
        connections: load.connections,
        pool: load.rate.map(|_| seen.pool),
        arrival: match load.rate {
            None => "closed".into(),
            Some(_) if load.replay.is_some() => "recorded".into(),
            Some(_) => load.arrival.to_string(),
        },
        replay: load.replay.clone(),
        rate: load.rate,
        connection_stages: load.connection_stages.clone(),
        stages: load.stages.clone(),
        recoveries: load
            .changes()
            // What goes up and down in a log is not one spike after the other.
            .filter(|_| load.replay.is_none())
            .map_or_else(Vec::new, |change| recoveries(change, &over_time)),
        over_time,
        seconds: seen.seconds(),
        interrupted,
        throughput: prony_report::load::throughput(load, seen),
        latency: seen.times.percentiles(),
        generator_lateness: load.rate.map(|_| Percentiles::of(&seen.times.late)),
        connect: Percentiles::of(&seen.times.connect),
        handshake: seen
            .tls
            .is_some()
            .then(|| Percentiles::of(&seen.times.handshake)),
        tls: seen.tls.clone(),
        http2: match &plan.dialogue {
            Dialogue::H2(it) => Some(http2(load, it.window, seen)),
            Dialogue::Grpc(it) => Some(http2(load, it.window, seen)),
            Dialogue::Mix(mix) => mix.http2.map(|it| http2(load, it.window, seen)),
            _ => None,
        },
        grpc: seen
            .grpc
            .as_ref()
            .map(|grpc| GrpcReport::of(grpc, seen.seconds())),
        websocket: match &plan.dialogue {
            Dialogue::Ws(messages) => Some(WsReport {
                size: messages.size,
                text: messages.text,
                in_flight: load.pipeline,
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

fn http2(load: &prony_record::Load, window: u32, seen: &Observation) -> Http2Report {
    Http2Report {
        streams: load.pipeline,
        window,
        sent_again: seen.sent_again,
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
