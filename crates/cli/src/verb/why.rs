//! `prony why`: what a request costs a server, and where.

mod attach;
pub mod files;

use super::duel::{calls, explain, sides};
use crate::Ended;
use crate::args::{Places, Why};
use crate::http2::Manners;
use crate::live::Live;
use crate::live::frame::Load as Shown;
use crate::machines::rig;
use crate::place::on_signal;
use crate::target::is_url;
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::contract::Depth;
use prony_lab::duel::{Manner, Parts, WINDOW, round};
use prony_lab::event::{Event, Observer};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::{Placement, allowed_cpus};
use prony_lab::side::Side;
use prony_lab::trial::{Lab, Progress};
use prony_lab::why::{LocalAnatomist, Outcome};
use prony_notebook::{Notebook, RunId};
use prony_record::anatomy::Dissections;
use prony_record::{Load, Span};
use prony_report::show;
use prony_report::why::WhyReport;
use prony_verdict::duel::common_rate;
use prony_verdict::why::{anatomy, kept};
use std::sync::Arc;
use std::time::Duration;

pub fn main(places: &Places, args: &Why) -> Result<Ended> {
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let sources = args.origin.sources(&[])?;
    attach::fits(args)?;
    let (side, manner) = choose(places, args)?;
    let placement = Placement::split(&allowed_cpus());
    let rig = rig(
        places,
        &interrupt,
        placement,
        args.driven.threads,
        None,
        None,
    )?
    .sending_from(sources);
    let lab = Lab {
        host: &rig.host,
        generator: &rig.generator,
        interrupt: &interrupt,
    };
    let live = Live::begin(format!("why {}", side.name), args.shown, &rig.spare);
    let sides = std::slice::from_ref(&side);
    let mut hear = |event: Event<'_>| hear(&live, &event);
    let (rate, reached) = match args.rate {
        Some(rate) => (rate, None),
        None => match reach(lab, sides, &manner, &mut hear)? {
            Some((rate, reached)) => (rate, Some(reached)),
            None => return Ok(Ended::Incomplete),
        },
    };
    let why = prony_lab::why::Why {
        lab,
        anatomist: &LocalAnatomist::default(),
        sides,
        manner: &manner,
        rate,
        rounds: args.rounds,
        depth: match reached {
            Some(_) => Depth::Quick,
            None => Depth::Full,
        },
    };
    let outcome = why.carry_out(&mut hear);
    // The live view ends before the result is printed.
    drop(live);
    let complete = outcome.failure.is_none() && !interrupt.fired();
    if let (true, Some(failure)) = (outcome.seen.rounds.is_empty(), &outcome.failure) {
        return Err(explain(failure));
    }
    let Some(seen) = whole_rounds(outcome) else {
        eprintln!("no round was finished: there is nothing to show");
        return Ok(Ended::Incomplete);
    };
    let report = WhyReport {
        server: side.name.clone(),
        asked: sides::asked(&manner.ask, sides),
        connections: manner.load.connections,
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
    files::write(&report.why, args.page.as_deref(), args.folded.as_deref())?;
    if let Some(path) = &args.markdown {
        crate::out::write_file(path, prony_pages::why::markdown_of(&report))?;
    }
    Ok(match complete {
        true => Ended::Done,
        false => Ended::Incomplete,
    })
}

/// The whole rounds, if there are any. What ended them early is said.
pub fn whole_rounds(outcome: Outcome) -> Option<Dissections> {
    if let Some(failure) = outcome.failure {
        let n = outcome.seen.rounds.len() + 1;
        eprintln!("round {n} of the anatomy failed: {}", explain(&failure));
    }
    (!outcome.seen.rounds.is_empty()).then_some(outcome.seen)
}

/// The server, and how it is loaded.
fn choose(places: &Places, args: &Why) -> Result<(Side, Manner)> {
    let one = sides::One {
        server: &args.server,
        get: args.get.as_deref(),
        contract: args.contract,
        request: &args.request,
        called: &args.called,
        asked: &args.asked,
        manners: Manners {
            tls: &args.tls,
            http2: &args.http2,
            ws: &args.ws,
            over: &args.over,
            connect: &args.connect,
            calls: calls::calls(args.called.call.as_deref(), args.contract),
        },
        load: args.driven.load(&args.http2),
        duration: args.driven.duration.0,
    };
    let (mut side, manner) = sides::one(places, one, None)?;
    if is_url(&args.server) {
        attach::to_process(&mut side, args.pid)?;
    }
    Ok((side, manner))
}

/// In so long, a server that gives two answers a second has given some, also beside others that have its CPU most of the time.
const LONG_ENOUGH: Duration = Duration::from_secs(3);

/// The rate, half of what the server reaches as fast as answers come, and that; none when the user interrupts it.
fn reach<H: prony_lab::host::Host, G: prony_lab::generator::Generator>(
    lab: Lab<'_, H, G>,
    sides: &[Side],
    manner: &Manner,
    observer: Observer<'_>,
) -> Result<Option<(f64, f64)>> {
    let parts = Parts {
        saturation: true,
        rate: None,
    };
    let mut manner = manner.clone();
    loop {
        let bouts = match round(lab, sides, &manner, parts, Depth::Full, &mut *observer) {
            Ok(Some(bouts)) => bouts,
            Ok(None) => return Ok(None),
            Err(_) if lab.interrupt.fired() => return Ok(None),
            Err((side, failure)) => {
                return Err(explain(&prony_lab::duel::DuelError::Side { side, failure }));
            }
        };
        let reached = bouts.iter().find_map(prony_lab::duel::Bout::throughput);
        if let Some(found) = common_rate(reached).zip(reached) {
            return Ok(Some(found));
        }
        let seen = bouts.iter().flat_map(|bout| &bout.parts);
        let failed: u64 = seen.map(|(_, it)| it.seen.outcomes.failed()).sum();
        // Others may have had the CPU for all of so short a time.
        if failed == 0 && manner.duration < LONG_ENOUGH {
            manner.duration = LONG_ENOUGH;
            continue;
        }
        return Err(miette!(
            help = "prony load shows what comes back; a slower server needs --rate and a longer --duration",
            "{} gave less than two right answers a second; {} requests failed",
            sides[0].name,
            show::count(failed)
        ));
    }
}

impl crate::args::Driven {
    /// As a load, but for rate and length.
    pub fn load(&self, http2: &crate::args::http2::Http2) -> Load {
        Load {
            connections: self.connections,
            threads: self.threads,
            pipeline: http2.streams.unwrap_or(1),
            warmup: self.warmup,
            timeout: self.timeout,
            window: Span(WINDOW),
            ..Load::default()
        }
    }
}

/// Keeps in a run what rounds have shown that say why. That it cannot be written is said, and no reason to end.
pub fn keep(notebook: &Notebook, run: RunId, seen: &Dissections) {
    if let Err(error) = notebook.set_anatomy(run, &kept(seen)) {
        eprintln!("run {run} is kept without its anatomy: {error}");
    }
}

/// Shows how it goes.
pub fn hear(live: &Live, event: &Event<'_>) {
    match event {
        Event::Anatomy(number, all) => {
            let (number, all) = (u64::from(*number), u64::from(*all));
            live.line(|| format!("round {} of {all}", number + 1));
            live.change(move |frame| frame.parts = Some((number, all)));
        }
        Event::Progress(_, Progress::Doing(doing)) => {
            let text = doing.phrase();
            live.change(move |frame| {
                text.clone_into(&mut frame.doing);
                frame.load = Shown::default();
            });
        }
        Event::Progress(_, Progress::Window { window, server }) => live.window(window, *server),
        _ => {}
    }
}
