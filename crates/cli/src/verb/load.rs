//! `prony load`: load a server that is already running.

mod dialogue;
mod display;
mod grpc;
mod keep;
mod reach;
mod replay;
mod shape;

use crate::Ended;
use crate::args::{Load, Places};
use crate::machines::generator_of;
use crate::target;
use display::Display;
use jiff::Timestamp;
use miette::{IntoDiagnostic, Result, miette};
use prony_engine::{Dialogue, Plan, Target};
use prony_lab::contract::Depth;
use prony_lab::host::{Host, LocalHost};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::prepared::Prepared;
use prony_lab::recording::{Scope, findings};
use prony_lab::requests::begun;
use prony_lab::side::{Http2, Role, Running, Side, What, Workload};
use prony_lab::sockets::{Listener, server_at};
use prony_lab::sources::{SentFrom, Sources};
use prony_lab::topology::Topology;
use prony_lab::tree::{Attached, Root};
use prony_lab::trial::{Lab, Progress};
use prony_record::inert;
use prony_record::load::Over;
use prony_record::{Extent, Failure, Finding, Observation, Percentiles, Step};
use prony_remote::Fleet;
use prony_report::load::{
    GrpcReport, HostReport, Http2Report, LoadReport, RequestReport, ServerReport, SessionReport,
    WsReport, over_time, recoveries,
};
use std::sync::Arc;

pub fn main(places: &Places, args: &Load) -> Result<Ended> {
    let fleet = args.from.fleet()?;
    let shared = Placement::shared(&Topology::here());
    let settled = settle(args, fleet.as_ref())?;
    known_requests(args, &settled.plan)?;
    let interrupt = Arc::new(Interrupt::default());
    crate::place::on_signal(&interrupt)?;
    let apart = fleet.is_some();
    let workload = Workload::Prepared(Box::new(prepared(args, &settled.plan, apart)?));
    let server = match &settled.plan.target {
        Target::Tcp(address) if !apart => server_at(*address),
        _ => None,
    };
    let side = side(args, &settled, server.as_ref());
    let plan = settled.plan;
    let host = LocalHost::of_running(placement(&plan, server.as_ref(), shared), &interrupt);
    let host = host.into_diagnostic()?;
    let generator = SentFrom {
        generator: generator_of(fleet),
        sources: settled.sources,
    };
    let lab = Lab {
        host: &host,
        generator: &generator,
        interrupt: &interrupt,
    };
    let started = Timestamp::now();
    let mut display = Display::new(args, &plan);
    let told = &mut |progress: Progress<'_>| display.on_event(&progress);
    let failed = |failure: Failure| {
        if failure.step == Step::Verify && args.url.starts_with("http://") && !apart {
            target::hint(&args.url, &plan.target, args.timeout.0);
        }
        explain(&failure)
    };
    let mut up = lab
        .bring_up(&side, &workload, None, &plan.load, Depth::Full, told)
        .map_err(failed)?;
    let measured = up.measure(&plan.load, told).map_err(failed)?;
    // A server that was loaded until it answers wrongly is worse than one that is slow: the samples of the load may have
    // missed it.
    let broken = match interrupt.fired() {
        true => None,
        false => up.verify_again(told).err(),
    };
    let durations = up.take_down();
    drop(display);
    let checks = findings(&plan.load, &measured, None, host.placement(), Scope::All);
    let mut report = report(args, &plan, &measured.seen, checks, interrupt.fired());
    report.server = server.and_then(|server| {
        let process = (server.pid, server.name.as_str());
        ServerReport::of(process, &measured.seen, &measured.used)
    });
    let verdict = args.gate.judge(&crate::gate::of_load(&report));
    if args.json {
        println!("{}", verdict.json(&report)?);
    } else {
        crate::out::report(|width| report.text(width));
    }
    verdict.tell();
    if report.outcomes.ok == 0 && !apart {
        if args.url.starts_with("http://") {
            target::hint(&args.url, &plan.target, args.timeout.0);
        } else if let Some(tls) = plan
            .tls
            .as_ref()
            .filter(|_| args.url.starts_with("https://"))
        {
            crate::tls::hint(&plan.target, tls, args.timeout.0);
        }
    }
    if !args.no_keep {
        let done = keep::Done {
            plan: &plan,
            workload: &workload,
            measured: &measured,
            durations,
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
    if let Some(broken) = &broken {
        eprintln!("\nafter the load: {}", broken.message);
    }
    Ok(verdict.ended(match (report.outcomes.ok, broken) {
        (0, _) | (_, Some(_)) => Ended::Incomplete,
        _ => Ended::Done,
    }))
}

/// A load whose bytes and options are settled, and how its server is spoken to.
struct Settled {
    plan: Plan,
    sources: Sources,
    authority: String,
    http2: Option<Http2>,
}

/// The load, with the file whose requests are tried around it.
fn prepared(args: &Load, plan: &Plan, apart: bool) -> Result<Prepared> {
    let file = args.file.as_ref().or(args.replay.as_ref());
    let file = file.filter(|_| !args.no_verify);
    let tried = file.map(|file| file.display().to_string());
    let tried = tried.filter(|file| match apart.then(|| reach::reached(plan)) {
        Some(Err(why)) => {
            let file = inert::line(file);
            eprintln!("the requests of {file} are not tried before the load: {why}");
            false
        }
        _ => true,
    });
    Ok(Prepared {
        dialogue: plan.dialogue.clone(),
        said: match plan.dialogue {
            Dialogue::Echo(_) => "echo".to_owned(),
            Dialogue::Grpc(_) => "call".to_owned(),
            _ => args.request.method()?,
        },
        seed: plan.seed,
        cpus: plan.cpus.clone(),
        tried,
        silence: args.timeout.0,
    })
}

/// The server, which runs already; its processes are known where one of this machine listens.
fn side(args: &Load, settled: &Settled, server: Option<&Listener>) -> Side {
    let plan = &settled.plan;
    Side {
        name: args.url.clone(),
        what: What::Running(Running {
            target: plan.target.clone(),
            authority: settled.authority.clone(),
            tls: plan.tls.clone().map(Box::new),
            process: server.and_then(|server| Attached::to(server.pid)),
        }),
        role: Role::Server,
        http2: settled.http2,
        key: None,
    }
}

/// Server and generator run where the scheduler or their users put them.
fn placement(plan: &Plan, server: Option<&Listener>, shared: Placement) -> Placement {
    let server = server.map(|server| Root::itself(server.pid).cpus());
    Placement {
        server: server.unwrap_or_else(|| shared.server.clone()),
        generator: match plan.cpus.as_slice() {
            [] => shared.generator.clone(),
            cpus => cpus.to_vec(),
        },
        upstream: Vec::new(),
        ..shared
    }
}

/// A trial that could not be made, with what helps.
fn explain(failure: &Failure) -> miette::Report {
    match failure.step {
        Step::Verify => miette!(
            help =
                "`prony verify FILE URL` tries each request; --no-verify loads the server without",
            "{}",
            failure.message
        ),
        _ => miette!("{}", failure.message),
    }
}

fn settle(args: &Load, fleet: Option<&Fleet>) -> Result<Settled> {
    let address = target::parse(&args.url)?;
    let http2 = args.protocol.is_spoken(&address)?;
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
    load.check().map_err(|invalid| usage!("--{invalid}"))?;
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
            return Err(usage!("a unix socket is reached on its own machine only"));
        }
        (None, Some(fleet)) => args.connect.route(&address).from(fleet, args.timeout.0)?,
    };
    let sources = args.origin.sources(&args.from.client_host)?;
    let from = sources
        .toward(&target)
        .map_err(|invalid| usage!("--{invalid}"))?;
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
    let http2 = (http2 || address.grpc).then(|| args.protocol.settings());
    let load = prony_record::Load {
        over: Over::of(tls.is_some(), http2.is_some()),
        ..load
    };
    let plan = Plan {
        tls,
        sources: from,
        seed: args.seed.unwrap_or_else(rand::random),
        cpus,
        ..Plan::new(load, target, dialogue)
    };
    plan.validate().map_err(|invalid| usage!("--{invalid}"))?;
    Ok(Settled {
        plan,
        sources,
        authority: address.authority,
        http2,
    })
}

/// The load as sessions need it, if the file has some.
fn of_sessions(load: prony_record::Load, dialogue: &Dialogue) -> Result<prony_record::Load> {
    match dialogue {
        Dialogue::Mix(mix)
            if !mix.sessions.is_empty() && load.requests_per_connection.is_some() =>
        {
            Err(usage!(
                "a session has a connection until it ends: sessions take no --requests-per-connection"
            ))
        }
        Dialogue::Mix(mix) if !mix.sessions.is_empty() && load.pipeline > 1 => Err(usage!(
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

fn report(
    args: &Load,
    plan: &Plan,
    seen: &Observation,
    checks: Vec<Finding>,
    interrupted: bool,
) -> LoadReport {
    let load = &plan.load;
    let over_time = over_time(load, seen);
    let address = target::parse(&args.url).ok();
    let place = address.and_then(|address| address.place(&args.connect, &plan.target));
    LoadReport {
        target: match &args.unix {
            Some(path) => format!("{} over {}", args.url, path.display()),
            None => match place {
                Some(place) => format!("{} at {place}", args.url),
                None => args.url.clone(),
            },
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
        latency: seen.times.percentiles(seen.outcomes.untimed()),
        generator_lateness: load.rate.map(|_| Percentiles::of(&seen.times.late, 0)),
        connect: Percentiles::of(&seen.times.connect, 0),
        handshake: seen
            .tls
            .is_some()
            .then(|| Percentiles::of(&seen.times.handshake, 0)),
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
        server: None,
        statuses: (seen.statuses.iter())
            .map(|(status, n)| (status.to_string(), *n))
            .collect(),
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
        streams: seen
            .streams_allowed
            .map_or(load.pipeline, |most| most.min(load.pipeline)),
        asked: load.pipeline,
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
    for condition in &args.gate.conditions.fail_if {
        if let Some(name) = &condition.request
            && !names.contains(&name.as_str())
        {
            let known = match names.as_slice() {
                [] => "requests have names in a file, --file".to_owned(),
                names => format!("there are {}", names.join(", ")),
            };
            return Err(usage!(
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
