//! `prony servers`: list, setup, check, start.

mod check;
mod parallel;
mod setup;

use crate::CommandEnd;
use crate::args::{DisplayArgs, Places, Servers, ServersAction};
use crate::live::Live;
use crate::place::{local_host, on_signal};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::builder::Builder;
use prony_lab::catalog::{Catalog, Server};
use prony_lab::contract::Contract;
use prony_lab::experiment::{self, Experiment};
use prony_lab::host::Started;
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::side::{Candidate, Role};
use prony_lab::topology::Topology;
use prony_record::Failure;
use prony_record::load::{KeyKind, Protocol};
use prony_report::table::{Align, TextTable};
use serde_json::json;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub fn main(places: &Places, args: &Servers) -> Result<CommandEnd> {
    match &args.action {
        ServersAction::List { contract, json } => list(&places.catalog()?, *contract, *json),
        ServersAction::Setup {
            names,
            yes,
            dry_run,
            jobs,
        } => setup::main(places, names, (*yes, *dry_run), *jobs),
        ServersAction::Check {
            names,
            protocol: over,
            server_key,
            jobs,
            json,
        } => check::check(places, names, (over, *server_key), *jobs, *json),
        ServersAction::Start {
            name,
            contract,
            listen,
            protocol: over,
            server_key,
        } => start(places, name, *contract, (*listen, *over, *server_key)),
    }
}

fn contracts(server: &Server) -> String {
    server
        .manifest
        .contracts
        .iter()
        .map(Contract::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

fn list(catalog: &Catalog, contract: Option<Contract>, json: bool) -> Result<CommandEnd> {
    let servers: Vec<&Server> = catalog
        .servers()
        .iter()
        .filter(|server| contract.is_none_or(|c| server.manifest.contracts.contains(&c)))
        .collect();
    if json {
        let servers: Vec<_> = servers
            .iter()
            .map(|server| {
                json!({
                    "name": server.name,
                    "manifest": server.manifest,
                    "missing": server.manifest.missing(),
                })
            })
            .collect();
        println!(
            "{}",
            serde_json::to_string_pretty(&servers).into_diagnostic()?
        );
        return Ok(CommandEnd::Done);
    }
    let mut table = TextTable::new([
        ("server", Align::Left),
        ("contracts", Align::Left),
        ("language", Align::Left),
        ("over", Align::Left),
        ("model", Align::Left),
        ("workers", Align::Left),
        ("toolchain", Align::Left),
    ]);
    for server in servers {
        let manifest = &server.manifest;
        table.row([
            server.name.clone(),
            contracts(server),
            manifest.language.clone(),
            list_of(&manifest.speaks),
            manifest.model.clone(),
            match manifest.workers {
                None => "1".into(),
                Some(range) => match range.max {
                    None => format!("{}…", range.min),
                    Some(max) => format!("{}…{max}", range.min),
                },
            },
            match manifest.missing().as_slice() {
                [] => "here".into(),
                missing => format!("missing: {}", missing.join(" ")),
            },
        ]);
    }
    crate::out::report(|width| table.fit(width));
    Ok(CommandEnd::Done)
}

/// The servers and contracts that the words of a command line mean.
fn selected<'a>(
    places: &Places,
    catalog: &'a Catalog,
    names: &[String],
) -> Result<Vec<(&'a Server, Contract)>> {
    let all = |server: &'a Server| server.manifest.contracts.iter().map(move |&c| (server, c));
    if names.is_empty() {
        return Ok(catalog.servers().iter().flat_map(all).collect());
    }
    let mut found = Vec::new();
    for name in names {
        if let Ok(server) = catalog.get(name) {
            found.extend(all(server));
        } else if let Ok(contract) = name.parse::<Contract>() {
            found.extend(catalog.of(contract).map(|server| (server, contract)));
        } else if experiment::names().contains(name) || Path::new(name).is_file() {
            let experiment = Experiment::find(name, catalog, &|name| places.imported(name))?;
            for entrant in experiment.entrants {
                found.push((catalog.get(&entrant.server.name)?, experiment.contract));
            }
        } else {
            catalog.get(name)?;
        }
    }
    let mut seen = HashSet::new();
    found.retain(|(server, contract)| seen.insert((server.name.clone(), *contract)));
    Ok(found)
}

/// Does something that takes a while, and says so: on a terminal in a line that goes away.
fn progress<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let live = Live::begin(what.to_owned(), &DisplayArgs::default(), &[]);
    live.line(|| what.to_owned());
    work()
}

/// Lists the transports of a server, in words.
fn list_of(over: &[Protocol]) -> String {
    let words: Vec<&str> = over.iter().map(|over| over.word()).collect();
    words.join(" ")
}

fn start(
    places: &Places,
    name: &str,
    contract: Option<Contract>,
    (at, over, key): (SocketAddr, Protocol, Option<KeyKind>),
) -> Result<CommandEnd> {
    let catalog = places.catalog()?;
    let (name, workers) = match name.split_once('@') {
        None => (name, None),
        Some((name, workers)) => {
            let workers = workers
                .parse::<u32>()
                .map_err(|_| usage!("after @ a number of workers is expected, not {workers:?}"))?;
            (name, Some(workers))
        }
    };
    let server = catalog.get(name)?;
    let workers = workers.unwrap_or_else(|| server.manifest.default_workers());
    if !server.manifest.allows(workers) {
        return Err(usage!("{name} cannot have {workers} workers"));
    }
    let contract = match (contract, server.manifest.contracts.as_slice()) {
        (Some(contract), contracts) if contracts.contains(&contract) => contract,
        (None, [only]) => *only,
        (Some(contract), _) => {
            return Err(usage!(
                "{name} does not keep {contract}, but {}",
                contracts(server)
            ));
        }
        (None, _) => {
            return Err(usage!(
                help = "say which with --contract",
                "{name} keeps several contracts: {}",
                contracts(server)
            ));
        }
    };
    let speaks = server.manifest.speaks(contract);
    if !speaks.contains(&over) {
        return Err(usage!(
            help = format!("--protocol {}", list_of(speaks).replace(' ', ", or ")),
            "{name} does not speak {over} ({}) under {contract}, but {}",
            over.phrase(),
            list_of(speaks)
        ));
    }
    if key.is_some() && !over.is_tls() {
        return Err(usage!("--server-key is for --protocol tls, h2 and h3"));
    }
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    eprintln!("building {name}");
    let built = Builder::new(&places.cache()?)
        .build(server)
        .map_err(Failure::from)
        .map_err(|failure| explain(&failure))?;
    let (host, _scratch) = local_host(places, &interrupt, Placement::split(&Topology::here()))?;
    let candidate = Candidate {
        server,
        built: &built,
        workers,
        contract,
        role: Role::Server,
        over,
        key: key.unwrap_or_default(),
    };
    let mut running = host
        .start_on(&candidate, at)
        .map_err(|failure| explain(&failure))?;
    let addr = running.addr();
    println!("{addr}");
    eprintln!(
        "{name} keeps {contract} on {addr}, until Ctrl-C ({})",
        running.command().join(" ")
    );
    if let Some(certificate) = running.certificate() {
        let protocol = match over.has_streams() {
            true => format!(" --protocol {over}"),
            false => String::new(),
        };
        eprintln!(
            "its certificate is for localhost: prony load{protocol} --ca {} https://localhost:{}/",
            certificate.display(),
            addr.port()
        );
    }
    while !interrupt.fired() {
        if let Some(exit) = running.exited() {
            return Err(miette!("{name} {exit}\n{}", running.output()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Box::new(running).stop();
    Ok(CommandEnd::Done)
}

/// A failure with the end of the server's output.
fn explain(failure: &Failure) -> miette::Report {
    match failure.output.as_str() {
        "" => miette!("{failure}"),
        output => miette!("{failure}\n{output}"),
    }
}
