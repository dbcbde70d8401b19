//! `prony export`: a run as a file of another tool.

use super::report::find;
use crate::CommandEnd;
use crate::args::{Export, Format, Places};
use crate::out::{self, write_file};
use miette::{IntoDiagnostic, Result, miette};
use prony_pages::material::Material;
use prony_pages::{chart, export, why};
use prony_verdict::why::ServerAnatomy;
use std::collections::BTreeMap;

pub fn main(places: &Places, args: &Export) -> Result<CommandEnd> {
    let notebook = places.notebook_to_read()?;
    let run = find(&notebook, &args.run)?;
    let material = Material::read(&notebook, &run).into_diagnostic()?;
    let text = match args.format {
        Format::Json => export::json(&material).into_diagnostic()?,
        Format::Csv => export::csv(&material),
        Format::Markdown => export::markdown(&material),
        Format::Hlog => export::hlog(&material).into_diagnostic()?,
        Format::Hgrm => {
            let cell = cell(&material, args)?;
            export::hgrm(&material.times[cell])
        }
        Format::Benchstat => export::benchstat(&material),
        Format::Openmetrics => export::openmetrics(&material),
        Format::Svg => svg(&material, args)?,
        Format::Folded if args.waits => why::folded(waits(sampled(&material, args)?)?),
        Format::Folded => why::folded(&sampled(&material, args)?.stacks),
        Format::Pprof => return pprof(&material, args),
    };
    match &args.output {
        Some(path) => {
            write_file(path, &text)?;
            eprintln!("{}", path.display());
        }
        None => print!("{text}"),
    }
    Ok(CommandEnd::Done)
}

/// The one format that is no text.
fn pprof(material: &Material, args: &Export) -> Result<CommandEnd> {
    let side = sampled(material, args)?;
    let at_ns = material.run.facts.started.as_nanosecond();
    let profile =
        export::pprof(side, i64::try_from(at_ns).unwrap_or_default()).into_diagnostic()?;
    match &args.output {
        Some(path) => {
            write_file(path, profile)?;
            eprintln!("{}", path.display());
        }
        None if console::Term::stdout().is_term() => {
            return Err(usage!(
                help = "`--output FILE`; then `go tool pprof -http=: FILE`",
                "a profile is compressed, and nothing for a terminal"
            ));
        }
        None => out::bytes(&profile),
    }
    Ok(CommandEnd::Done)
}

fn svg(material: &Material, args: &Export) -> Result<String> {
    let there = || {
        let all = chart::charts(material);
        let names = all
            .iter()
            .map(|chart| format!("{} ({})", chart.name, chart.title));
        names.collect::<Vec<_>>().join("\n")
    };
    match &args.chart {
        Some(name) => chart::chart(material, name)
            .map(|chart| chart.file())
            .map_err(|error| miette!(help = "without --chart they are listed", "{error}")),
        None => Err(usage!(
            help = "`--chart NAME`",
            "which chart? There are:\n{}",
            there()
        )),
    }
}

/// The stacks in which threads of a server wait.
fn waits(side: &ServerAnatomy) -> Result<&BTreeMap<String, u64>> {
    match side.waiting.is_empty() {
        false => Ok(&side.waiting),
        true => Err(miette!(
            "nothing is known of how {} waits: the system did not allow it, or an earlier prony made the run",
            side.name
        )),
    }
}

/// The one server that is meant, with its stacks.
fn sampled<'a>(material: &'a Material, args: &Export) -> Result<&'a ServerAnatomy> {
    let Some(anatomy) = &material.report.why else {
        return Err(miette!(
            help = "`prony duel --why` and `prony run --why` sample them",
            "run {} has no stacks",
            material.run.id
        ));
    };
    let wanted = args.server.as_deref();
    let fits = |side: &&ServerAnatomy| wanted.is_none_or(|wanted| wanted == side.name);
    match anatomy.sides.iter().filter(fits).collect::<Vec<_>>()[..] {
        [side] => Ok(side),
        ref found => {
            let names = anatomy
                .sides
                .iter()
                .map(|side| format!("--server '{}'", side.name));
            Err(usage!(
                help = names.collect::<Vec<_>>().join("\n"),
                "{} servers fit, and this format takes one: say which",
                found.len()
            ))
        }
    }
}

/// The one cell that is meant: formats of a single distribution take no more.
fn cell(material: &Material, args: &Export) -> Result<usize> {
    let cells = &material.report.cells;
    let fits = |wanted: &Option<String>, label: &str| wanted.as_deref().is_none_or(|w| w == label);
    let found: Vec<usize> = (0..cells.len())
        .filter(|&at| {
            fits(&args.server, &cells[at].label()) && fits(&args.load, cells[at].load_label())
        })
        .collect();
    match found[..] {
        [one] => Ok(one),
        _ => {
            let all: Vec<String> = cells
                .iter()
                .map(|cell| format!("--server '{}' --load '{}'", cell.label(), cell.load_label()))
                .collect();
            Err(usage!(
                help = all.join("\n"),
                "{} distributions fit, and this format takes one: say which server and which load",
                found.len()
            ))
        }
    }
}
