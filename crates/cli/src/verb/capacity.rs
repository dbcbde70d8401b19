//! `prony capacity`: the highest rate that a server keeps within limits, and its latency below that.

use super::duel::sides;
use crate::Ended;
use crate::args::{Capacity, Places};
use crate::journal::{Kept, subject};
use crate::live::Live;
use crate::place::{local_host, on_signal};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::capacity::CapacityError;
use prony_lab::event::Event;
use prony_lab::generator::Local;
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::{Placement, allowed_cpus};
use prony_lab::trial::{Lab, Progress};
use prony_record::Subject;
use prony_record::service::{CapacityReport, Limits};
use prony_report::show;
use std::sync::Arc;

pub fn main(places: &Places, args: &Capacity) -> Result<Ended> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let (side, manner) = sides::one(places, args)?;
    let placement = Placement::split(&allowed_cpus());
    let (host, _scratch) = local_host(places, &interrupt, placement)?;
    let mut notebook = places.notebook()?;
    let limits = Limits {
        percentile: args.percentile,
        within_ms: args.within.0.as_secs_f64() * 1e3,
        errors: args.errors.0,
    };
    let names = [side.name.clone()];
    let subject = Subject {
        service: Some(limits),
        ..subject(&names, manner.ask.to_string(), host.placement.to_string())
    };
    let mut kept = Kept::begin(&mut notebook, "capacity", &side.name, 0, subject)?;
    let within = show::time(args.within.0.as_nanos() as f64);
    let title = format!(
        "capacity {} · p{} within {within}",
        side.name, args.percentile
    );
    let live = Live::begin(title, args.shown, host.placement.spare(args.threads));
    let search = prony_lab::capacity::Capacity {
        lab: Lab {
            host: &host,
            generator: &Local,
            interrupt: &interrupt,
        },
        side: &side,
        manner: &manner,
        limits,
    };
    let outcome = search.carry_out(&mut kept, &mut |event| hear(&live, &event));
    // The live view ends before the result is printed.
    drop(live);
    let id = kept.finish(&outcome, interrupt.fired())?;
    let found = outcome.map_err(|error| explain(&error))?;
    let report = CapacityReport {
        run: id.0,
        server: side.name.clone(),
        limits,
        capacity: found.capacity,
        curve: found.curve,
        steps: found.steps,
        interrupted: interrupt.fired(),
    };
    if args.json {
        println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        );
    } else {
        print!("{}", prony_report::capacity::text(&report));
        eprintln!("\nkept as run {id}: `prony report {id}`");
    }
    Ok(judge(args, &report))
}

/// Was a capacity found, and is it as high as was asked for?
fn judge(args: &Capacity, report: &CapacityReport) -> Ended {
    let Some(found) = report.capacity.filter(|_| !report.interrupted) else {
        return Ended::Incomplete;
    };
    match args.at_least {
        Some(wanted) if found < wanted => {
            eprintln!(
                "the capacity is below the {} that were asked for",
                show::rate(wanted)
            );
            Ended::Broken
        }
        _ => Ended::Done,
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

/// Shows how it goes.
fn hear(live: &Live, event: &Event<'_>) {
    match event {
        Event::Progress(_, Progress::Doing(doing)) => {
            let text = doing.phrase();
            live.change(move |frame| text.clone_into(&mut frame.doing));
        }
        Event::Progress(_, Progress::Window { window, server }) => live.window(window, *server),
        Event::Trying(rate, length) => {
            let doing = format!("trying {} for {length:?}", show::rate(*rate));
            live.change(move |frame| {
                frame.doing = doing;
                frame.load = crate::live::frame::Load::default();
            });
        }
        Event::Tried(step) => live.say(&prony_report::capacity::line(step)),
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
