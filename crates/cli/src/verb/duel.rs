//! `prony duel`: which of these servers is faster, by how much, and how sure is that?

mod display;
mod folders;
mod images;
mod names;
pub mod sides;
mod terms;
mod why;

use super::rounds::{explain, keep};
use crate::CommandEnd;
use crate::args::{Duel, Places};
use crate::journal::{NotebookJournal, conclude, say_where, subject};
use crate::machines::{ServerShare, rig};
use crate::place::on_signal;
use display::DuelDisplay;
use miette::{IntoDiagnostic, Result};
use prony_lab::interrupt::Interrupt;
use prony_lab::side::Side;
use prony_lab::trial::Lab;
use prony_notebook::{Notebook, RunId};
use prony_pages::material::Material;
use prony_record::Subject;
use prony_verdict::why::anatomy;
use std::sync::Arc;

pub fn main(places: &Places, args: &Duel) -> Result<CommandEnd> {
    sides::check(args)?;
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let sources = args.origin.sources(&args.apart.from.client_host)?;
    args.apart.without_why(args.why.why)?;
    let elsewhere = args.apart.reach(sides::any_starts(args), false)?;
    let chosen = sides::choose(places, args, elsewhere.as_ref())?;
    let placement = sides::placement(&chosen.sides, &chosen.spec.workload);
    let rig = rig(
        places,
        &interrupt,
        placement,
        args.driven.shape.threads.unwrap_or(1),
        elsewhere,
        ServerShare {
            in_containers: chosen.sides.iter().all(Side::in_container),
            ..ServerShare::of(&args.apart)
        },
    )?
    .sending_from(sources);
    let mut notebook = places.notebook()?;
    let names: Vec<String> = chosen.sides.iter().map(|side| side.name.clone()).collect();
    let terms = terms::terms(args, &chosen.spec, &notebook)?;
    let subject = Subject {
        duel: Some(terms.clone()),
        limits: rig.host.placement().limits,
        ..subject(
            &names,
            sides::asked(&chosen.spec.workload, &chosen.sides),
            rig.placement.clone(),
        )
    };
    let title = names.join(" against ");
    let mut kept = NotebookJournal::begin(
        &mut notebook,
        "duel",
        &title,
        0,
        subject,
        rig.host.machine(),
    )?;
    let duel = prony_lab::duel::Duel {
        lab: Lab {
            host: &*rig.host,
            generator: &rig.generator,
            interrupt: &interrupt,
        },
        sides: &chosen.sides,
        spec: &chosen.spec,
        terms: &terms,
        time: terms::time(args),
    };
    let mut display = DuelDisplay::new(args, &names, &rig.spare);
    let outcome = duel.carry_out(&mut kept, &mut |event| display.on_event(&event));
    let dissected = why::look(args, &duel, &outcome, &mut |event| display.on_event(&event));
    // The live view ends before the result is printed.
    drop(display);
    let id = kept.finish(&outcome, interrupt.fired())?;
    let (seen, terms) = match outcome {
        Ok(found) => found,
        Err(error) => {
            show_until_then(&notebook, id, args.json)?;
            return Err(explain(&error));
        }
    };
    if seen.rounds.is_empty() {
        conclude(&notebook, id, "no round was finished");
        say_where(&notebook, id, None);
        eprintln!("no round was finished: there is nothing to compare");
        return Ok(CommandEnd::Incomplete);
    }
    let mut report = seen
        .report(id.0, &terms, !interrupt.fired())
        .into_diagnostic()?;
    if let Some(seen) = &dissected {
        keep(&notebook, id, seen);
    }
    report.why = dissected.as_ref().map(anatomy);
    conclude(&notebook, id, &report.sentences.join(" "));
    let verdict = args.gate.judge(&crate::gate::of_duel(&report));
    if args.json {
        println!("{}", verdict.json(&report)?);
    } else {
        crate::out::report(|width| prony_report::duel::text(&report, width));
    }
    if let Some(path) = &args.html {
        let run = notebook.run(id).into_diagnostic()?;
        super::report::write_page(&notebook, &run, None, path)?;
        eprintln!("report: {}", path.display());
    }
    let words = format!("the duel is kept as run {id}: `prony report {id}`");
    say_where(&notebook, id, (!args.json).then_some(&words));
    verdict.tell();
    args.gate.comment(&verdict, || comment(&notebook, id))?;
    Ok(verdict.ended(match interrupt.fired() {
        true => CommandEnd::Incomplete,
        false => CommandEnd::Done,
    }))
}

/// Shows what whole rounds have found before a side failed, if there was one.
fn show_until_then(notebook: &Notebook, id: RunId, json: bool) -> Result<()> {
    let run = notebook.run(id).into_diagnostic()?;
    let Some(report) = prony_report::duel::read(notebook, &run).into_diagnostic()? else {
        return Ok(());
    };
    match json {
        true => println!(
            "{}",
            serde_json::to_string_pretty(&report).into_diagnostic()?
        ),
        false => crate::out::report(|width| prony_report::duel::text(&report, width)),
    }
    // One that the notebook could not take is in a file, as has been said.
    if !json && !notebook.is_in_memory() {
        eprintln!("\nthe rounds until then are kept as run {id}: `prony report {id}`");
    }
    Ok(())
}

/// A run as Markdown.
pub fn comment(notebook: &Notebook, id: RunId) -> Result<String> {
    let run = notebook.run(id).into_diagnostic()?;
    let material = Material::read(notebook, &run).into_diagnostic()?;
    Ok(prony_pages::export::markdown(&material))
}
