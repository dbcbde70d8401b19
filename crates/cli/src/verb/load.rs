//! `prony load`: load a server that is already running.

mod dialogue;
mod display;
mod keep;

use crate::Ended;
use crate::args::{Load, Places};
use crate::target;
use display::Display;
use jiff::Timestamp;
use miette::{IntoDiagnostic, Result, miette};
use prony_checks::{Evidence, Tcp, examine};
use prony_engine::{Plan, descriptors};
use prony_lab::generator::{Generator, Local, Steer, Wheel};
use prony_lab::interrupt::Interrupt;
use prony_lab::machine::TcpCounters;
use prony_lab::warmup::{Warming, until};
use prony_record::{Extent, Finding, Nanos, Observation, Percentiles, Window};
use prony_report::load::LoadReport;
use std::sync::Arc;

pub fn main(places: &Places, args: &Load) -> Result<Ended> {
    descriptors::reserve(u64::from(args.connections)).into_diagnostic()?;
    let plan = plan(args)?;
    let interrupt = Arc::new(Interrupt::default());
    crate::place::on_signal(&interrupt)?;
    let (before, started) = (TcpCounters::read(), Timestamp::now());
    let seen = carry_out(args, &plan, &interrupt)?;
    let tcp = TcpCounters::read().since(&before);
    let evidence = Evidence {
        tcp: Some(Tcp {
            listen_overflows: tcp.listen_overflows,
            syn_retransmits: tcp.syn_retransmits,
            retransmits: tcp.retransmits,
        }),
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

fn plan(args: &Load) -> Result<Plan> {
    let address = target::parse(&args.url)?;
    let dialogue = dialogue::dialogue(args, &address)?;
    let load = load(args);
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
    let target = match &args.unix {
        Some(path) => target::unix(path)?,
        None => address.resolve(args.timeout.0)?,
    };
    let plan = Plan {
        seed: args.seed.unwrap_or_else(rand::random),
        cpus,
        ..Plan::new(load, target, dialogue)
    };
    plan.validate().map_err(|invalid| miette!("--{invalid}"))?;
    Ok(plan)
}

fn load(args: &Load) -> prony_record::Load {
    let extent = args
        .requests
        .map_or(Extent::Duration(args.duration), Extent::Requests);
    prony_record::Load {
        connections: args.connections,
        threads: args.threads,
        rate: args.rate,
        arrival: args.arrival,
        pipeline: args.pipeline,
        keepalive: !args.no_keepalive,
        extent,
        timeout: args.timeout,
        warmup: args.warmup,
        window: prony_record::Span(extent.window()),
        transport: args.transport,
        ..prony_record::Load::default()
    }
}

/// Runs the load with its progress.
fn carry_out(args: &Load, plan: &Plan, interrupt: &Interrupt) -> Result<Observation> {
    let extent = plan.load.extent;
    let mut steering = Steering {
        extent,
        warming: (!args.warmup.0.is_zero()).then(|| Warming::new(args.warmup, extent)),
        display: Display::new(args, plan),
    };
    Local.load(plan, interrupt, &mut steering).into_diagnostic()
}

/// Measures at once, or when the load is steady.
struct Steering {
    extent: Extent,
    warming: Option<Warming>,
    display: Display,
}

impl Steer for Steering {
    fn began(&mut self, _start: Nanos, wheel: &dyn Wheel) {
        if self.warming.is_none() {
            let (_, until) = wheel.measure(0, until(0, self.extent));
            self.display.measured(until);
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
    LoadReport {
        target: match &args.unix {
            Some(path) => format!("{} over {}", args.url, path.display()),
            None => args.url.clone(),
        },
        connections: load.connections,
        arrival: match load.rate {
            None => "closed".into(),
            Some(_) => load.arrival.to_string(),
        },
        rate: load.rate,
        seconds: seen.seconds(),
        interrupted,
        throughput: prony_report::load::throughput(seen),
        latency: seen.times.percentiles(),
        generator_lateness: load.rate.map(|_| Percentiles::of(&seen.times.late)),
        connect: Percentiles::of(&seen.times.connect),
        outcomes: seen.outcomes.clone(),
        generator: seen.generator.clone(),
        bytes_received: seen.bytes_received,
        bytes_sent: seen.bytes_sent,
        errors: seen.errors.clone(),
        wrong_answers: seen.wrong_answers.clone(),
        unsolicited: seen.unsolicited.clone(),
        checks,
    }
}
