//! `prony run`: an experiment.

mod adapt;
mod display;
mod from;
mod why;

use super::rounds::keep;
use crate::CommandEnd;
use crate::args::machines::Apart;
use crate::args::{Places, RunArgs};
use crate::journal::{NotebookJournal, conclude, say_where};
use crate::live::Live;
use crate::machines::{Rig, ServerShare, rig};
use crate::place::on_signal;
use crate::request::PAUSES;
use crate::rigs;
use adapt::adapt;
use display::RunDisplay;
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::experiment::{Entrant, Experiment};
use prony_lab::interrupt::Interrupt;
use prony_lab::run::RunError;
use prony_lab::source::Source;
use prony_lab::trial::Lab;
use prony_record::published::Published;
use prony_record::{ServerLimits, Subject};
use prony_verdict::why::anatomy;
use serde_json::json;
use std::sync::Arc;

pub fn main(places: &Places, args: &RunArgs) -> Result<CommandEnd> {
    let catalog = match &args.from {
        Some(folder) => from::catalog(places, folder, args)?,
        None => places.catalog()?,
    };
    let mut experiment =
        Experiment::find(&args.experiment, &catalog, &|name| places.imported(name))?;
    adapt(&mut experiment, args)?;
    if args.why.why {
        why::fits(&experiment)?;
    }
    let published = experiment
        .published
        .as_ref()
        .map(Source::parse::<Published>)
        .transpose()?;
    if let Some(Err(why)) = published.as_ref().map(Published::check) {
        return Err(miette!("the published figures: {why}"));
    }
    let mut notebook = places.notebook()?;
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let seed = args.seed.unwrap_or_else(rand::random);
    let mut asked = experiment
        .loads
        .iter()
        .filter_map(|load| load.requests.as_ref());
    if asked.any(|asked| asked.paused) {
        eprintln!("{PAUSES}");
    }
    let threads = experiment.loads.iter().map(|load| load.shape.threads).max();
    let rigs = raise(places, args, &experiment, &interrupt, threads.unwrap_or(1))?;
    let [(_, first), ..] = rigs.as_slice() else {
        return Err(usage!("--shard-rounds names no machine"));
    };
    let placement = match rigs.as_slice() {
        [(None, rig)] => rig.placement.clone(),
        rigs => rigs::placement(rigs.iter().map(|(_, rig)| rig)),
    };
    let limits = rigs[0].1.host.placement().limits;
    let subject = subject(&experiment, published, (placement, limits));
    let (name, title) = (&experiment.name, &experiment.title);
    let mut kept = NotebookJournal::begin(
        &mut notebook,
        name,
        title,
        seed,
        subject,
        first.host.machine(),
    )?;
    let mut display = RunDisplay::new(&args.shown, &experiment, &first.spare);
    let outcome = match rigs.as_slice() {
        [(None, rig)] => prony_lab::run::Run {
            lab: lab(rig, &interrupt),
            experiment: &experiment,
            seed,
        }
        .carry_out(&mut kept, &mut |event| display.on_event(&event)),
        rigs => {
            let rigs: Vec<_> = rigs
                .iter()
                .map(|(name, rig)| prony_lab::run::rigs::Rig {
                    name: name.clone().unwrap_or_default(),
                    lab: lab(rig, &interrupt),
                })
                .collect();
            prony_lab::run::rigs::Rigs {
                rigs: &rigs,
                experiment: &experiment,
                seed,
            }
            .carry_out(&mut kept, &mut |event| display.on_event(&event))
        }
    };
    // The live view ends before the result is printed.
    drop(display);
    let id = kept.finish(&outcome, interrupt.fired())?;
    outcome.map_err(explain)?;
    let run = notebook.run(id).into_diagnostic()?;
    let mut report = prony_report::kept::report(&notebook, &run).into_diagnostic()?;
    if args.why.why && !interrupt.fired() {
        let live = Live::begin(format!("why {name}"), &args.shown, &first.spare);
        let seen = why::look(
            lab(first, &interrupt),
            &experiment,
            &report,
            args.why.why_rounds,
            &live,
        );
        drop(live);
        if let Some(seen) = &seen {
            keep(&notebook, id, seen);
        }
        report.why = seen.as_ref().map(anatomy);
    }
    conclude(&notebook, id, &report.result());
    // As it is kept from now on, for its page.
    let run = notebook.run(id).into_diagnostic()?;
    let verdict = args.gate.judge(&crate::gate::of_run(&report));
    match args.json {
        true => println!("{}", verdict.json(&report)?),
        false => crate::out::report(|width| report.text(args.verbose, width)),
    }
    verdict.tell();
    args.gate
        .comment(&verdict, || super::duel::comment(&notebook, id))?;
    if let Some(path) = &args.html {
        super::report::write_page(&notebook, &run, None, path)?;
        eprintln!("\nreport: {}", path.display());
    } else if !args.no_html && !notebook.is_in_memory() {
        // The run is done and kept: a page that cannot be written does not undo that.
        let path = super::report::page_path(&notebook, &run);
        match super::report::write_page(&notebook, &run, None, &path) {
            Ok(()) if args.shown.quiet => {}
            Ok(()) => eprintln!("\nreport: {}", path.display()),
            Err(error) => eprintln!("\nno page: {error}"),
        }
    }
    let path = notebook.path().display();
    let mut words = format!("run {id} is kept in {path}: `prony report {id}`");
    if experiment.rounds < FEW && report.complete() {
        words += &format!("; narrower intervals: --rounds {}", 4 * experiment.rounds);
    }
    say_where(&notebook, id, (!args.json).then_some(&words));
    Ok(verdict.ended(if report.complete() && !interrupt.fired() {
        CommandEnd::Done
    } else {
        CommandEnd::Incomplete
    }))
}

/// Fewer rounds than this leave intervals that more of them would narrow a good deal.
const FEW: u32 = 10;

/// The machines that measure: one rig without a name, or those that `--shard-rounds` names.
fn raise(
    places: &Places,
    args: &RunArgs,
    experiment: &Experiment,
    interrupt: &Arc<Interrupt>,
    threads: u32,
) -> Result<Vec<(Option<String>, Rig)>> {
    let upstream = experiment.upstream.is_some();
    if !args.shard_rounds.is_empty() {
        if args.why.why {
            return Err(usage!(
                help = "leave out --shard-rounds, or run it without --why and then with --why on this machine",
                "--why looks at servers on this machine, and those of rigs are elsewhere"
            ));
        }
        let rigs = rigs::rigs(
            places,
            interrupt,
            &args.shard_rounds,
            &Apart {
                limited: args.apart.limited.or(&experiment.place),
                ..args.apart.clone()
            },
            upstream,
            threads,
        )?;
        return Ok(rigs
            .into_iter()
            .map(|(name, rig)| (Some(name), rig))
            .collect());
    }
    let apart = Apart {
        upstream_host: args.upstream_host.clone(),
        ..args.apart.clone()
    }
    .or(&experiment.place);
    apart.without_why(args.why.why)?;
    let elsewhere = apart.reach(true, upstream)?;
    let placement = experiment.placement();
    let mut entrants = experiment.entrants.iter();
    let share = ServerShare {
        in_containers: entrants.all(|it| it.server.manifest.image.is_some()),
        ..ServerShare::of(&apart)
    };
    let rig = rig(places, interrupt, placement, threads, elsewhere, share)?;
    Ok(vec![(None, rig)])
}

/// With what a rig measures.
fn lab<'a>(rig: &'a Rig, interrupt: &'a Interrupt) -> Lab<'a> {
    Lab {
        host: &*rig.host,
        generator: &rig.generator,
        interrupt,
    }
}

fn explain(error: RunError) -> miette::Report {
    match error {
        RunError::Upstream { server, error } => {
            let help = format!("`prony servers setup {server}`");
            miette!(help = help, "the upstream {server}: {error}")
        }
        RunError::Journal(error) => miette!("{error}"),
        error @ RunError::NoRig { .. } => miette!(
            help = "results so far are in the notebook; `prony hosts check` lists the machines that can be reached",
            "{error}"
        ),
    }
}

fn subject(
    experiment: &Experiment,
    published: Option<Published>,
    (placement, limits): (String, ServerLimits),
) -> Subject {
    let servers = || experiment.entrants.iter().map(|entrant| &entrant.server);
    let failing = servers().filter(|server| !server.manifest.expected_failures.is_empty());
    Subject {
        contract: experiment.contract.to_string(),
        baseline: experiment.baseline.clone(),
        rounds: experiment.rounds,
        placement,
        limits,
        servers: experiment.entrants.iter().map(Entrant::label).collect(),
        weights: (experiment.loads.iter())
            .filter_map(|load| Some((load.to_string(), load.weight?)))
            .collect(),
        published,
        upstream: experiment
            .upstream
            .as_ref()
            .map(|server| server.name.clone()),
        expected_failures: failing
            .map(|server| {
                let failures = server.manifest.expected_failures.clone();
                (server.name.clone(), failures)
            })
            .collect(),
        manifests: servers()
            .map(|server| (server.name.clone(), json!(server.manifest)))
            .collect(),
        service: None,
        duel: None,
        design: None,
    }
}
