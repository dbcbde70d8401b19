//! `prony servers`: list, check, start.

use crate::Ended;
use crate::args::{Places, Servers, ServersAction};
use crate::place::{bench, on_signal};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::builder::{Builder, has_toolchain};
use prony_lab::catalog::{Catalog, Server};
use prony_lab::contract::{Contract, Depth};
use prony_lab::trial::{Bench, Failure, Interrupt, Step};
use prony_report::table::{Align, Table};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

pub fn main(places: &Places, args: &Servers) -> Result<Ended> {
    match &args.action {
        ServersAction::List { contract, json } => list(&places.catalog()?, *contract, *json),
        ServersAction::Check { names, json } => check(places, names, *json),
        ServersAction::Start {
            name,
            contract,
            port,
        } => start(places, name, *contract, *port),
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

fn list(catalog: &Catalog, contract: Option<Contract>, json: bool) -> Result<Ended> {
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
        return Ok(Ended::Done);
    }
    let mut table = Table::new([
        ("server", Align::Left),
        ("contracts", Align::Left),
        ("language", Align::Left),
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
    print!("{table}");
    Ok(Ended::Done)
}

/// The servers and contracts that the words of a command line mean.
fn selected<'a>(catalog: &'a Catalog, names: &[String]) -> Result<Vec<(&'a Server, Contract)>> {
    let all = |server: &'a Server| server.manifest.contracts.iter().map(move |&c| (server, c));
    if names.is_empty() {
        return Ok(catalog.servers().iter().flat_map(all).collect());
    }
    let mut found = Vec::new();
    for name in names {
        match name.parse::<Contract>() {
            Ok(contract) => found.extend(catalog.of(contract).map(|server| (server, contract))),
            Err(_) => found.extend(all(catalog.get(name)?)),
        }
    }
    Ok(found)
}

/// How a server fared.
enum State {
    Ready { version: String, took: Duration },
    Missing(String),
    Failing(Failure),
}

fn check(places: &Places, names: &[String], json: bool) -> Result<Ended> {
    let catalog = places.catalog()?;
    let selected = selected(&catalog, names)?;
    let builder = Builder::new(&places.cache()?);
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let (bench, _scratch) = bench(Arc::clone(&interrupt))?;
    let mut states = Vec::new();
    for (server, contract) in selected {
        if interrupt.fired() {
            break;
        }
        eprintln!("checking {} ({contract})", server.name);
        states.push((
            server,
            contract,
            check_one(&bench, &builder, server, contract),
        ));
    }
    if json {
        let states: Vec<_> = states
            .iter()
            .map(|(server, contract, state)| {
                let (state, step, message, output) = match state {
                    State::Ready { version, .. } => ("ready", None, version.clone(), String::new()),
                    State::Missing(what) => ("missing", None, what.clone(), String::new()),
                    State::Failing(failure) => (
                        "failing",
                        Some(failure.step.to_string()),
                        failure.message.clone(),
                        failure.output.clone(),
                    ),
                };
                json!({
                    "server": server.name, "contract": contract, "state": state,
                    "step": step, "message": message, "output": output,
                })
            })
            .collect();
        println!(
            "{}",
            serde_json::to_string_pretty(&states).into_diagnostic()?
        );
    } else {
        print!("{}", check_table(&states));
    }
    let failing = states
        .iter()
        .any(|(_, _, state)| matches!(state, State::Failing(_)));
    Ok(if failing || interrupt.fired() {
        Ended::Incomplete
    } else {
        Ended::Done
    })
}

fn check_table(states: &[(&Server, Contract, State)]) -> String {
    let mut table = Table::new([
        ("server", Align::Left),
        ("contract", Align::Left),
        ("state", Align::Left),
        ("verified in", Align::Right),
        ("what", Align::Left),
    ]);
    let mut outputs = String::new();
    for (server, contract, state) in states {
        let (word, took, what) = match state {
            State::Ready { version, took } => {
                ("ready", format!("{} ms", took.as_millis()), version.clone())
            }
            State::Missing(what) => ("missing", String::new(), what.clone()),
            State::Failing(failure) => {
                outputs += &format!("\n{} ({contract}): {failure}\n", server.name);
                for line in failure.output.lines() {
                    outputs += &format!("  | {}\n", line.escape_debug());
                }
                (
                    "failing",
                    String::new(),
                    format!("{} (see below)", failure.step),
                )
            }
        };
        table.row([
            server.name.clone(),
            contract.to_string(),
            word.into(),
            took,
            what,
        ]);
    }
    format!("{table}{outputs}")
}

fn check_one(bench: &Bench, builder: &Builder, server: &Server, contract: Contract) -> State {
    if !has_toolchain(server) {
        let missing = server.manifest.missing().join(" ");
        let mend = match server.manifest.apt.as_slice() {
            [] => String::new(),
            packages => format!("; on Debian: apt-get install {}", packages.join(" ")),
        };
        return State::Missing(format!("{missing}{mend}"));
    }
    let attempt = || -> Result<(String, Duration), Failure> {
        let built = builder.build(server)?;
        let workers = server.manifest.default_workers();
        let running = bench.start(server, &built, workers, contract, None)?;
        let verified = contract
            .verify(running.addr, Depth::Full, rand::random())
            .map_err(|violation| Failure {
                step: Step::Verify,
                message: violation.to_string(),
                output: running.process.output(),
            })?;
        Ok((built.version, verified.took()))
    };
    match attempt() {
        Ok((version, took)) => State::Ready { version, took },
        Err(failure) => State::Failing(failure),
    }
}

fn start(
    places: &Places,
    name: &str,
    contract: Option<Contract>,
    port: Option<u16>,
) -> Result<Ended> {
    let catalog = places.catalog()?;
    let (name, workers) = match name.split_once('@') {
        None => (name, None),
        Some((name, workers)) => {
            let workers = workers
                .parse::<u32>()
                .map_err(|_| miette!("after @ a number of workers is expected, not {workers:?}"))?;
            (name, Some(workers))
        }
    };
    let server = catalog.get(name)?;
    let workers = workers.unwrap_or_else(|| server.manifest.default_workers());
    if !server.manifest.allows(workers) {
        return Err(miette!("{name} cannot have {workers} workers"));
    }
    let contract = match (contract, server.manifest.contracts.as_slice()) {
        (Some(contract), contracts) if contracts.contains(&contract) => contract,
        (None, [only]) => *only,
        (Some(contract), _) => {
            return Err(miette!(
                "{name} does not keep {contract}, but {}",
                contracts(server)
            ));
        }
        (None, _) => {
            return Err(miette!(
                help = "say which with --contract",
                "{name} keeps several contracts: {}",
                contracts(server)
            ));
        }
    };
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    eprintln!("building {name}");
    let built = Builder::new(&places.cache()?)
        .build(server)
        .map_err(Failure::from)
        .map_err(|failure| explain(&failure))?;
    let (bench, _scratch) = bench(Arc::clone(&interrupt))?;
    let mut running = bench
        .start(server, &built, workers, contract, port)
        .map_err(|failure| explain(&failure))?;
    println!("{}", running.addr);
    eprintln!(
        "{name} keeps {contract} on {}, until Ctrl-C ({})",
        running.addr,
        running.command.join(" ")
    );
    while !interrupt.fired() {
        if let Some(exit) = running.process.exited() {
            let exit = exit.to_owned();
            return Err(miette!("{name} ended {exit}\n{}", running.process.output()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    running.process.stop();
    Ok(Ended::Done)
}

/// A failure with the end of the server's output.
fn explain(failure: &Failure) -> miette::Report {
    match failure.output.as_str() {
        "" => miette!("{failure}"),
        output => miette!("{failure}\n{output}"),
    }
}
