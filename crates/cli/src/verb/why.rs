//! `prony why`: what a request costs a server, and where.

mod attach;
pub mod files;

use super::duel::sides;
use super::rounds::{explain, on_event, whole_rounds};
use crate::CommandEnd;
use crate::args::{Places, Why};
use crate::http2::ProtocolOptions;
use crate::live::Live;
use crate::machines::{ServerShare, rig};
use crate::place::on_signal;
use crate::target::is_url;
use crate::workload::WorkloadArgs;
use miette::{IntoDiagnostic, Result};
use prony_lab::duel::LoadSpec;
use prony_lab::event::Event;
use prony_lab::interrupt::Interrupt;
use prony_lab::pilot::survey;
use prony_lab::side::Side;
use prony_lab::trial::Lab;
use prony_lab::why::{LENGTH, LocalAnatomist};
use prony_report::why::WhyReport;
use prony_verdict::design::highest;
use prony_verdict::why::anatomy;
use std::sync::Arc;

pub fn main(places: &Places, args: &Why) -> Result<CommandEnd> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let sources = args.origin.sources(&[])?;
    attach::fits(args)?;
    let (side, spec) = choose(places, args)?;
    let placement = sides::placement(std::slice::from_ref(&side), &spec.workload);
    let rig = rig(
        places,
        &interrupt,
        placement,
        args.driven.shape.threads.unwrap_or(1),
        None,
        ServerShare {
            limits: args.limited.limits(),
            in_containers: side.in_container(),
            ..ServerShare::default()
        },
    )?
    .sending_from(sources);
    let lab = Lab {
        host: &*rig.host,
        generator: &rig.generator,
        interrupt: &interrupt,
    };
    let live = Live::begin(format!("why {}", side.name), &args.shown, &rig.spare);
    let sides = std::slice::from_ref(&side);
    let mut on_event = |event: Event<'_>| on_event(&live, &event);
    // A pilot shows how it is to be measured, and half of what it reaches.
    let found = survey(lab, sides, &spec, (false, true), &mut on_event);
    let Some(design) = found.map_err(|error| explain(&error))? else {
        return Ok(CommandEnd::Incomplete);
    };
    let reached = args.rate.is_none().then(|| highest(&design.pilots[0]));
    let rate = design.rate.expect("it was asked for");
    let why = prony_lab::why::Why {
        lab,
        anatomist: &LocalAnatomist::default(),
        sides,
        spec: &spec,
        design: &design,
        duration: args.driven.duration.map_or(LENGTH, |span| span.0),
        rate,
        rounds: args.rounds,
    };
    let outcome = why.carry_out(&mut on_event);
    // The live view ends before the result is printed.
    drop(live);
    let complete = outcome.failure.is_none() && !interrupt.fired();
    if let (true, Some(failure)) = (outcome.seen.rounds.is_empty(), &outcome.failure) {
        return Err(explain(failure));
    }
    let Some(seen) = whole_rounds(outcome) else {
        eprintln!("no round was finished: there is nothing to show");
        return Ok(CommandEnd::Incomplete);
    };
    let report = WhyReport {
        server: side.name.clone(),
        asked: sides::asked(&spec.workload, sides),
        connections: design.at_rate.connections,
        reached,
        why: anatomy(&seen),
    };
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        crate::out::report(|width| prony_report::why::of_server(&report, width));
    }
    files::write(&report.why, args.html.as_deref(), args.folded.as_deref())?;
    if let Some(path) = &args.markdown {
        crate::out::write_file(path, prony_pages::why::markdown_of(&report))?;
    }
    Ok(match complete {
        true => CommandEnd::Done,
        false => CommandEnd::Incomplete,
    })
}

/// The server, and how it is loaded.
fn choose(places: &Places, args: &Why) -> Result<(Side, LoadSpec)> {
    let asked = WorkloadArgs::of(
        (args.contract, args.path.as_deref()),
        (&args.request, &args.called, &args.asked),
        (&args.messages, args.protocol.is_ws()),
    );
    let one = sides::One {
        server: &args.server,
        around: &args.around,
        limited: &args.limited,
        protocol_options: ProtocolOptions {
            tls: &args.tls,
            protocol: &args.protocol,
            messages: &args.messages,
            key: args.key.server_key,
            connect: &args.connect,
            calls: asked.calls(),
        },
        asked,
        load: args.connect.begins(args.driven.load(&args.protocol))?,
        given: args.driven.given(args.rate),
    };
    let (mut side, spec) = sides::one(places, one, None)?;
    if is_url(&args.server) {
        attach::to_process(&mut side, args.pid)?;
    }
    Ok((side, spec))
}
