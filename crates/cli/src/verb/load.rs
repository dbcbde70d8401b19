//! `prony load`: load a server that is already running.

mod asked;
mod display;
mod grpc;
mod keep;
mod reach;
mod replay;
mod shape;

use crate::CommandEnd;
use crate::args::{LoadArgs, Places};
use crate::http2::ProtocolOptions;
use crate::machines::generator_of;
use crate::proxy;
use crate::running::{self, Reach};
use crate::target;
use display::LoadDisplay;
use jiff::Timestamp;
use miette::{IntoDiagnostic, Result, miette};
use prony_engine::{Dialogue, Plan, Target};
use prony_lab::as_given::AsGiven;
use prony_lab::contract::Depth;
use prony_lab::grpc::Rpc;
use prony_lab::host::{Host, LocalHost};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::recording::{Scope, findings};
use prony_lab::relay::Passage;
use prony_lab::requests::begun;
use prony_lab::side::{Running, Side, variant};
use prony_lab::sockets::{Listener, server_at};
use prony_lab::sources::{SentFrom, Sources};
use prony_lab::topology::Topology;
use prony_lab::tree::{Attached, Root};
use prony_lab::trial::{Lab, Progress};
use prony_lab::workload::Workload;
use prony_record::inert;
use prony_record::{AddressShare, Extent, Failure, Finding, Observation, Percentiles, Step};
use prony_remote::Fleet;
use prony_report::load::{
    EventReport, Goodput, GrpcReport, HostReport, LoadReport, RequestReport, ServerReport,
    SessionReport, StreamsReport, WsReport, over_time, recoveries,
};
use std::sync::Arc;

pub fn main(places: &Places, args: &LoadArgs) -> Result<CommandEnd> {
    let fleet = args.from.fleet()?;
    let shared = Placement::shared(&Topology::here());
    let settled = settle(args, fleet.as_ref())?;
    known_requests(args, &settled.plan)?;
    let interrupt = Arc::new(Interrupt::default());
    crate::place::on_signal(&interrupt)?;
    // This machine reaches the server itself, to find out what it speaks.
    let begins = settled.plan.proxy.is_some() || settled.plan.load.proxy_protocol.is_some();
    let direct = fleet.is_none() && !begins;
    let Settled {
        plan,
        workload,
        side,
        server,
        sources,
    } = settled;
    let host = LocalHost::of_running(placement(&plan, server.as_ref(), shared), &interrupt);
    let host = host.into_diagnostic()?;
    let generator = SentFrom {
        generator: generator_of(fleet),
        sources,
    };
    let lab = Lab {
        host: &host,
        generator: &generator,
        interrupt: &interrupt,
    };
    let started = Timestamp::now();
    let mut display = LoadDisplay::new(args, &plan);
    let told = &mut |progress: Progress<'_>| display.on_event(&progress);
    let failed = |failure: Failure| {
        if failure.step == Step::Verify && args.url.starts_with("http://") && direct {
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
    if let Some(hint) = proxy::hint(&plan, &report.statuses) {
        eprintln!("\n{hint}");
    }
    // Streams that go on are as good as answers.
    let streaming = report.events.is_some() && report.outcomes.finished() == 0;
    let answered = report.outcomes.ok > 0 || streaming;
    if !answered && direct {
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
    Ok(verdict.ended(match (answered, broken) {
        (false, _) | (_, Some(_)) => CommandEnd::Incomplete,
        _ => CommandEnd::Done,
    }))
}

/// A load whose options are settled, and its server.
struct Settled {
    plan: Plan,
    workload: Workload,
    side: Side,
    /// Process of the server, where one of this machine listens.
    server: Option<Listener>,
    sources: Sources,
}

/// Are the requests of a file tried before the load?
fn verified(args: &LoadArgs, plan: &Plan, apart: bool) -> bool {
    let file = args.file.as_ref().or(args.replay.as_ref());
    let Some(file) = file.filter(|_| !args.no_verify) else {
        return false;
    };
    let reached = match apart {
        true => reach::reached(plan),
        false => Ok(()),
    };
    if let Err(why) = &reached {
        let file = file.display().to_string();
        let file = inert::line(&file);
        eprintln!("the requests of {file} are not tried before the load: {why}");
    }
    reached.is_ok()
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

fn settle(args: &LoadArgs, fleet: Option<&Fleet>) -> Result<Settled> {
    let address = target::parse(&args.url)?;
    let mut asked = asked::of(args);
    let options = ProtocolOptions {
        tls: &args.tls,
        protocol: &args.protocol,
        messages: &args.messages,
        key: None,
        connect: &args.connect,
        calls: false,
    };
    options.fit(std::slice::from_ref(&args.url))?;
    let proxy = running::proxy(&address, &options, fleet.is_some())?;
    let endpoint = running::endpoint(0, &address, &options, proxy.as_ref());
    if endpoint.http2.is_some() {
        args.shape.not_pipelined()?;
    }
    let reach = Reach {
        timeout: args.timeout.0,
        fleet,
        unix: args.unix.as_deref(),
    };
    let url = (args.url.as_str(), &address);
    asked.schema = crate::grpc::reflected(&asked, url, &endpoint, &options, &reach)?;
    let workload = asked::workload(args, &asked, &address)?;
    let load = options.messages(shape::load(args)?, &workload)?;
    let load = of_sessions(load, &workload, endpoint.http2.is_some())?;
    let load = args.connect.begins(load)?;
    let load = prony_record::Load {
        over: variant(endpoint.tls, endpoint.http2),
        ..replay::at_its_times(load, args, &workload)?
    };
    load.check().map_err(|invalid| usage!("--{invalid}"))?;
    let keepalive = !args.shape.no_keepalive;
    let dialogue = |workload: &Workload| workload.dialogue(&endpoint, &load, keepalive);
    // Requests that cannot be sent are reported before the server is reached.
    let asked = dialogue(&workload).map_err(|wrong| usage!("{wrong}"))?;
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
    let sources = args.origin.sources(&args.from.client_host)?;
    let upgrade = crate::ws::upgrade(&workload, &address.authority)?;
    let running = running::server(url, &endpoint, &options, upgrade.as_ref(), &reach)?;
    let (target, tls) = (running.target.clone(), running.tls.as_deref().cloned());
    let passage = Passage::of(&running).into_diagnostic()?;
    let tried = passage
        .as_ref()
        .map_or_else(|| target.clone(), Passage::target);
    let from = sources
        .toward(&target)
        .map_err(|invalid| usage!("--{invalid}"))?;
    let (workload, asked) = match workload {
        Workload::Call(rpc) if fleet.is_none() && !args.no_verify => {
            let expect = grpc::looked(args, &endpoint, &rpc, &tried, tls.as_ref())?;
            let call = Workload::Call(Box::new(Rpc { expect, ..*rpc }));
            let asked = dialogue(&call).map_err(|wrong| miette!("{wrong}"))?;
            (call, asked)
        }
        other => (other, asked),
    };
    let plan = Plan {
        tls,
        addresses: running.addresses.clone(),
        name: running.name.clone(),
        proxy: running.proxy.as_deref().cloned(),
        sources: from,
        seed: args.seed.unwrap_or_else(rand::random),
        cpus,
        ..Plan::new(load, target, asked)
    };
    plan.validate().map_err(|invalid| usage!("--{invalid}"))?;
    let server = match &plan.target {
        // At the target of a load through a proxy, the proxy listens.
        Target::Tcp(address) if fleet.is_none() && running.proxy.is_none() => server_at(*address),
        _ => None,
    };
    let running = Running {
        process: server.as_ref().and_then(|it| Attached::to(it.pid)),
        as_given: Some(Box::new(AsGiven {
            seed: plan.seed,
            cpus: plan.cpus.clone(),
            keepalive,
            verified: verified(args, &plan, fleet.is_some()),
            silence: args.timeout.0,
        })),
        ..running
    };
    Ok(Settled {
        plan,
        workload,
        side: running::side(&args.url, running, &endpoint),
        server,
        sources,
    })
}

/// The load as sessions need it, if the file has some.
fn of_sessions(
    load: prony_record::Load,
    workload: &Workload,
    http2: bool,
) -> Result<prony_record::Load> {
    let Some(mix) = workload.mix() else {
        return Ok(load);
    };
    let ends = load.requests_per_connection.is_some() || load.connection_lifetime.is_some();
    if !mix.sessions.is_empty() && ends {
        return Err(usage!(
            "a session has a connection until it ends: sessions take no --requests-per-connection and no --connection-lifetime"
        ));
    }
    if !mix.sessions.is_empty() && load.pipeline > 1 {
        return Err(usage!(
            "a session waits for each answer: sessions take no {}",
            match http2 {
                false => "--pipeline",
                true => "--streams",
            }
        ));
    }
    Ok(begun::on_connections(load, mix))
}

fn report(
    args: &LoadArgs,
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
            None if !plan.addresses.is_empty() => {
                format!("{} at {} addresses", args.url, plan.addresses.len())
            }
            None => match place {
                Some(place) => format!("{} {place}", args.url),
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
        proxy: load.proxy.clone(),
        proxy_protocol: load.proxy_protocol,
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
            Dialogue::H2(it) => Some(streams(load, it.window, seen)),
            Dialogue::Grpc(it) => Some(streams(load, it.window, seen)),
            Dialogue::Mix(mix) => {
                (mix.http2.filter(|it| !it.http3)).map(|it| streams(load, it.window, seen))
            }
            _ => None,
        },
        http3: match &plan.dialogue {
            Dialogue::H3(it) => Some(streams(load, it.window, seen)),
            Dialogue::Mix(mix) => {
                (mix.http2.filter(|it| it.http3)).map(|it| streams(load, it.window, seen))
            }
            _ => None,
        },
        quic: seen.quic,
        grpc: seen
            .grpc
            .as_ref()
            .map(|grpc| GrpcReport::of(grpc, seen.seconds())),
        events: EventReport::of(load, seen),
        goodput: Goodput::of(load, seen),
        idle: seen.idle,
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
        // A stream from the command line is the only kind of request, and has no name.
        requests: match args.file.is_none() && args.replay.is_none() && seen.streams.any() {
            true => Vec::new(),
            false => RequestReport::all(&seen.by_request),
        },
        sessions: SessionReport::all(&seen.by_session),
        generators: seen.by_host.iter().map(HostReport::from).collect(),
        addresses: seen.by_address.iter().map(AddressShare::from).collect(),
        used_up: used_up(plan, seen, interrupted),
        checks,
    }
}

fn streams(load: &prony_record::Load, window: u32, seen: &Observation) -> StreamsReport {
    StreamsReport {
        streams: seen
            .streams_allowed
            .map_or(load.pipeline, |most| most.min(load.pipeline)),
        asked: load.pipeline,
        window,
        sent_again: seen.sent_again,
    }
}

/// Conditions speak of requests and sessions that there are.
fn known_requests(args: &LoadArgs, plan: &Plan) -> Result<()> {
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
