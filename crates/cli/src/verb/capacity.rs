//! `prony capacity`: the highest rate that a server keeps within limits, and its latency below that.

use super::duel::sides;
use crate::CommandEnd;
use crate::args::capacity::MAX_CONNECTIONS;
use crate::args::{Capacity, Places};
use crate::http2::ProtocolOptions;
use crate::journal::{NotebookJournal, conclude, say_where, subject};
use crate::live::Live;
use crate::machines::{ServerShare, rig};
use crate::place::on_signal;
use crate::target::is_url;
use crate::workload::WorkloadArgs;
use miette::{Result, miette};
use prony_lab::capacity::CapacityError;
use prony_lab::duel::WINDOW;
use prony_lab::event::Event;
use prony_lab::interrupt::Interrupt;
use prony_lab::trial::{Lab, Progress};
use prony_record::service::CapacityReport;
use prony_record::{Load, Spacing, Span, Subject};
use prony_report::show;
use prony_verdict::design::Given;
use std::sync::Arc;

pub fn main(places: &Places, args: &Capacity) -> Result<CommandEnd> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let sources = args.origin.sources(&args.apart.from.client_host)?;
    let elsewhere = args.apart.reach(!is_url(&args.server), false)?;
    let asked = WorkloadArgs::of(
        (args.contract, args.path.as_deref()),
        (&args.request, &args.called, &args.asked),
        (&args.messages, args.protocol.is_ws()),
    );
    let one = sides::One {
        server: &args.server,
        around: &args.around,
        limited: &args.apart.limited,
        protocol_options: ProtocolOptions {
            tls: &args.tls,
            protocol: &args.protocol,
            messages: &args.messages,
            key: args.key.server_key,
            connect: &args.connect,
            calls: asked.calls(),
        },
        asked,
        load: args.connect.begins(Load {
            window: Span(WINDOW),
            ..args.shape.load(Spacing::Poisson, &args.protocol)
        })?,
        given: Given {
            connections: args.connections,
            threads: args.shape.threads,
            duration: Some(args.duration.0),
            warmup: Some(args.warmup.0),
            timeout: Some(args.timeout.0),
            rate: None,
            no_pause: false,
            other_rates: false,
        },
    };
    let (side, spec) = sides::one(places, one, elsewhere.as_ref())?;
    let placement = sides::placement(std::slice::from_ref(&side), &spec.workload);
    let rig = rig(
        places,
        &interrupt,
        placement,
        args.shape.threads.unwrap_or(1),
        elsewhere,
        ServerShare {
            in_containers: side.in_container(),
            ..ServerShare::of(&args.apart)
        },
    )?
    .sending_from(sources);
    let mut notebook = places.notebook()?;
    let limits = args.limits.limits(args.shape.slo);
    let names = [side.name.clone()];
    let subject = Subject {
        service: Some(limits.clone()),
        limits: rig.host.placement().limits,
        ..subject(
            &names,
            sides::asked(&spec.workload, std::slice::from_ref(&side)),
            rig.placement.clone(),
        )
    };
    let mut kept = NotebookJournal::begin(
        &mut notebook,
        "capacity",
        &side.name,
        0,
        subject,
        rig.host.machine(),
    )?;
    let title = format!(
        "capacity {} · {}",
        side.name,
        prony_report::capacity::limits(&limits)
    );
    let live = Live::begin(title, &args.shown, &rig.spare);
    let search = prony_lab::capacity::Capacity {
        lab: Lab {
            host: &*rig.host,
            generator: &rig.generator,
            interrupt: &interrupt,
        },
        side: &side,
        spec: &spec,
        max_connections: args.shape.max_connections.unwrap_or(MAX_CONNECTIONS),
        limits: limits.clone(),
        starts: args.starts,
        beyond: args.beyond,
        max_time: args.max_time.map(|span| span.0),
    };
    let mut unclear = None;
    let outcome = search.carry_out(&mut kept, &mut |event| {
        if !is_repeated(&event, &mut unclear) {
            on_event(&live, &event);
        }
    });
    // The live view ends before the result is printed.
    drop(live);
    let id = kept.finish(&outcome, interrupt.fired())?;
    let found = outcome.map_err(|error| explain(&error))?;
    if let (true, Some(limit)) = (found.timed_out, args.max_time) {
        eprintln!(
            "the search ended at its time limit of {limit} (--max-time): this is what is known by then"
        );
    }
    let report = CapacityReport {
        run: id.0,
        server: side.name.clone(),
        limits,
        capacity: found.capacity,
        known: found.known,
        pilot: found.pilot,
        checks: found.checks,
        curve: found.curve,
        after_overload: found.after_overload,
        steps: found.steps,
        beyond: found.beyond,
        interrupted: interrupt.fired(),
    };
    conclude(&notebook, id, &prony_report::capacity::result(&report));
    let verdict = args.gate.judge(&crate::gate::of_capacity(&report));
    if args.json {
        println!("{}", verdict.json(&report)?);
    } else {
        crate::out::report(|width| prony_report::capacity::text(&report, width));
    }
    let words = format!("kept as run {id}: `prony report {id}`");
    say_where(&notebook, id, (!args.json).then_some(&words));
    verdict.tell();
    let comment = || Ok(prony_pages::export::capacity_markdown(&report));
    args.gate.comment(&verdict, comment)?;
    Ok(verdict.ended(judge(args, &report)))
}

/// Is the capacity known? Whether it is known well enough for a condition, the condition says.
fn judge(args: &Capacity, report: &CapacityReport) -> CommandEnd {
    let known = report.capacity.is_some() || !args.gate.conditions.fail_if.is_empty();
    match known && !report.interrupted {
        true => CommandEnd::Done,
        false => CommandEnd::Incomplete,
    }
}

fn explain(error: &CapacityError) -> miette::Report {
    match error {
        CapacityError::Server(failure) if !failure.output.is_empty() => {
            miette!("{error}\n{}", failure.output)
        }
        _ => miette!("{error}"),
    }
}

/// Is this another trial at a rate that has just been unclear, and is again? The rate has its line already. `unclear` is the
/// rate of the trial before, if that was unclear.
fn is_repeated(event: &Event<'_>, unclear: &mut Option<f64>) -> bool {
    let Event::Tried(step) = event else {
        return false;
    };
    let before = std::mem::replace(unclear, step.unclear.map(|_| step.rate));
    unclear.is_some() && *unclear == before
}

/// Shows how it goes.
fn on_event(live: &Live, event: &Event<'_>) {
    match event {
        Event::Progress(_, Progress::Doing(doing)) => {
            let text = doing.phrase();
            live.change(move |frame| text.clone_into(&mut frame.doing));
        }
        Event::Progress(_, Progress::Window { window, server }) => live.window(window, *server),
        Event::Piloted(pilot) => {
            live.say(&format!("pilot: {}", prony_report::design::pilot(pilot)));
        }
        Event::Trying(rate, length) => {
            let doing = format!("trying {} for {length:?}", show::rate(*rate));
            live.change(move |frame| {
                frame.doing = doing;
                frame.load = crate::live::frame::LoadProgress::default();
            });
        }
        Event::Tried(step) => live.say(&prony_report::capacity::line(step)),
        Event::Overloaded(seen) => live.say(&prony_report::capacity::overload_line(seen)),
        Event::Between(kept, broken) => {
            let least = kept.map_or(String::new(), |rate| {
                format!("at least {}", show::rate(rate))
            });
            let most = broken.map_or(String::new(), |rate| {
                format!(", less than {}", show::rate(rate))
            });
            let known = vec![("capacity".to_owned(), format!("{least}{most}"))];
            live.change(move |frame| frame.known = known);
        }
        _ => {}
    }
}
