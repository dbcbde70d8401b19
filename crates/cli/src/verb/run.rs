//! `prony run`: an experiment.

mod adapt;
mod display;

use crate::Ended;
use crate::args::{Places, Run};
use crate::journal::{Kept, conclude, say_where};
use crate::machines::rig;
use crate::place::on_signal;
use crate::request::PAUSES;
use adapt::adapt;
use display::Display;
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::experiment::{Entrant, Experiment};
use prony_lab::host::Host;
use prony_lab::interrupt::Interrupt;
use prony_lab::run::RunError;
use prony_lab::source::Source;
use prony_lab::trial::Lab;
use prony_record::Subject;
use prony_record::published::Published;
use serde_json::json;
use std::sync::Arc;

pub fn main(places: &Places, args: &Run) -> Result<Ended> {
    let catalog = places.catalog()?;
    let mut experiment =
        Experiment::find(&args.experiment, &catalog, &|name| places.imported(name))?;
    adapt(&mut experiment, args)?;
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
    if experiment
        .requests
        .as_ref()
        .is_some_and(|asked| asked.paused)
    {
        eprintln!("{PAUSES}");
    }
    let elsewhere = args.apart.reach(true, experiment.upstream.is_some())?;
    let threads = experiment.loads.iter().map(|load| load.threads).max();
    let placement = experiment.placement();
    let rig = rig(
        places,
        &interrupt,
        placement,
        threads.unwrap_or(1),
        elsewhere,
    )?;
    let subject = subject(&experiment, published, rig.placement.clone());
    let (name, title) = (&experiment.name, &experiment.title);
    let mut kept = Kept::begin(
        &mut notebook,
        name,
        title,
        seed,
        subject,
        rig.host.machine(),
    )?;
    let run = prony_lab::run::Run {
        lab: Lab {
            host: &rig.host,
            generator: &rig.generator,
            interrupt: &interrupt,
        },
        experiment: &experiment,
        seed,
    };
    let mut display = Display::new(args.shown, &experiment, &rig.spare);
    let outcome = run.carry_out(&mut kept, &mut |event| display.hear(&event));
    // The live view ends before the result is printed.
    drop(display);
    let id = kept.finish(&outcome, interrupt.fired())?;
    outcome.map_err(explain)?;
    let run = notebook.run(id).into_diagnostic()?;
    let report = prony_report::kept::report(&notebook, &run).into_diagnostic()?;
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
    if !args.no_html && !notebook.is_in_memory() {
        // The run is done and kept: a page that cannot be written does not undo that.
        let path = super::report::page_path(&notebook, &run);
        match super::report::write_page(&notebook, &run, None, &path) {
            Ok(()) if args.shown.quiet => {}
            Ok(()) => eprintln!("\nreport: {}", path.display()),
            Err(error) => eprintln!("\nno page: {error}"),
        }
    }
    let path = notebook.path().display();
    let words = format!("run {id} is kept in {path}: `prony report {id}`");
    say_where(&notebook, id, (!args.json).then_some(&words));
    Ok(verdict.ended(if report.complete() && !interrupt.fired() {
        Ended::Done
    } else {
        Ended::Incomplete
    }))
}

fn explain(error: RunError) -> miette::Report {
    match error {
        RunError::Upstream { server, error } => {
            let help = format!("`prony servers setup {server}`");
            miette!(help = help, "the upstream {server}: {error}")
        }
        RunError::Journal(error) => miette!("{error}"),
    }
}

fn subject(experiment: &Experiment, published: Option<Published>, placement: String) -> Subject {
    let servers = || experiment.entrants.iter().map(|entrant| &entrant.server);
    let failing = servers().filter(|server| !server.manifest.expected_failures.is_empty());
    Subject {
        contract: experiment.contract.to_string(),
        baseline: experiment.baseline.clone(),
        rounds: experiment.rounds,
        placement,
        servers: experiment.entrants.iter().map(Entrant::label).collect(),
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
    }
}
