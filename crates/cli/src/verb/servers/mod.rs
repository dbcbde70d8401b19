//! `prony servers`: list, setup, check, start.

mod setup;

use crate::Ended;
use crate::args::{Places, Servers, ServersAction, Shown};
use crate::live::Live;
use crate::place::{local_host, on_signal};
use miette::{IntoDiagnostic, Result, miette};
use prony_lab::builder::Builder;
use prony_lab::catalog::{Catalog, Server};
use prony_lab::contract::{Contract, Verified};
use prony_lab::experiment::{self, Experiment};
use prony_lab::host::{LocalHost, Started};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::{Placement, allowed_cpus};
use prony_lab::side::{Candidate, Role};
use prony_record::Failure;
use prony_report::table::{Align, Table};
use serde_json::json;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub fn main(places: &Places, args: &Servers) -> Result<Ended> {
    match &args.action {
        ServersAction::List { contract, json } => list(&places.catalog()?, *contract, *json),
        ServersAction::Setup {
            names,
            yes,
            dry_run,
        } => setup::main(places, names, *yes, *dry_run),
        ServersAction::Check { names, json } => check(places, names, *json),
        ServersAction::Start {
            name,
            contract,
            host,
            port,
        } => start(places, name, *contract, SocketAddr::new(*host, *port)),
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
    let live = Live::begin(what.to_owned(), Shown::default(), &[]);
    live.line(|| what.to_owned());
    work()
}

/// How a server fared.
enum State {
    Ready { version: String, verified: Verified },
    Missing(String),
    Failing(Failure),
}

fn check(places: &Places, names: &[String], json: bool) -> Result<Ended> {
    let catalog = places.catalog()?;
    let selected = selected(places, &catalog, names)?;
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let (host, _scratch) = local_host(places, &interrupt, Placement::split(&allowed_cpus()))?;
    let mut states = Vec::new();
    for (server, contract) in selected {
        if interrupt.fired() {
            break;
        }
        let state = progress(&format!("checking {} ({contract})", server.name), || {
            check_one(&host, server, contract)
        });
        states.push((server, contract, state));
    }
    if json {
        let states: Vec<_> = states
            .iter()
            .map(|(server, contract, state)| {
                let limits = match state {
                    State::Ready { verified, .. } => expected_failures(server, verified),
                    _ => Vec::new(),
                };
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
                    "limits": limits.iter().map(|(step, reason, found)| json!({
                        "step": step, "reason": reason, "found": found,
                    })).collect::<Vec<_>>(),
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
            State::Ready { version, verified } => {
                for (step, reason, found) in expected_failures(server, verified) {
                    outputs += &format!(
                        "\n{} ({contract}) has an expected failure, {step}: {reason}\n  as verified: {found}\n",
                        server.name
                    );
                }
                let took = format!("{} ms", verified.took().as_millis());
                ("ready", took, version.clone())
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

/// The steps that a server's stack cannot pass: the step, the reason, and what was found.
fn expected_failures<'a>(
    server: &'a Server,
    verified: &'a Verified,
) -> Vec<(&'a str, &'a str, &'a str)> {
    let reason = |step: &str| {
        server
            .manifest
            .expected_failures
            .get(step)
            .map(String::as_str)
    };
    let steps = verified.steps.iter();
    steps
        .filter_map(|step| Some((step.name, reason(step.name)?, step.limit.as_deref()?)))
        .collect()
}

fn check_one(host: &LocalHost, server: &Server, contract: Contract) -> State {
    let built = match host.builder.build(server) {
        Ok(built) => built,
        Err(error) if error.is_missing() => return State::Missing(error.to_string()),
        Err(error) => return State::Failing(error.into()),
    };
    let candidate = Candidate {
        server,
        built: &built,
        workers: server.manifest.default_workers(),
        contract,
        role: Role::Server,
    };
    match host.check(&candidate) {
        Ok(verified) => State::Ready {
            version: built.version,
            verified,
        },
        Err(failure) => State::Failing(failure),
    }
}

fn start(places: &Places, name: &str, contract: Option<Contract>, at: SocketAddr) -> Result<Ended> {
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
    let (host, _scratch) = local_host(places, &interrupt, Placement::split(&allowed_cpus()))?;
    let candidate = Candidate {
        server,
        built: &built,
        workers,
        contract,
        role: Role::Server,
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
    while !interrupt.fired() {
        if let Some(exit) = running.exited() {
            return Err(miette!("{name} ended {exit}\n{}", running.output()));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    running.stop();
    Ok(Ended::Done)
}

/// A failure with the end of the server's output.
fn explain(failure: &Failure) -> miette::Report {
    match failure.output.as_str() {
        "" => miette!("{failure}"),
        output => miette!("{failure}\n{output}"),
    }
}
