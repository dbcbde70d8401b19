//! `prony servers check`: does every server keep its contracts?

use super::parallel::{self, Task};
use super::selected;
use crate::CommandEnd;
use crate::args::{DisplayArgs, Places};
use crate::live::Live;
use crate::place::{local_host, on_signal};
use miette::{IntoDiagnostic, Result};
use prony_lab::catalog::Server;
use prony_lab::contract::{Contract, Verified};
use prony_lab::host::LocalHost;
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::side::{Candidate, Role};
use prony_lab::topology::Topology;
use prony_record::Failure;
use prony_record::load::{KeyKind, Protocol};
use prony_report::table::{Align, TextTable};
use serde_json::json;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// How a server fared.
enum CheckState {
    Ready { version: String, verified: Verified },
    Missing(String),
    Failing(Failure),
}

pub fn check(
    places: &Places,
    names: &[String],
    (only, key): (&[Protocol], Option<KeyKind>),
    jobs: Option<NonZeroUsize>,
    json: bool,
) -> Result<CommandEnd> {
    let catalog = places.catalog()?;
    let selected = selected(places, &catalog, names)?;
    let each: Vec<_> = selected
        .into_iter()
        .flat_map(|(server, contract)| {
            let speaks = server.manifest.speaks(contract).iter();
            let wanted = speaks.filter(|over| only.is_empty() || only.contains(over));
            wanted.map(move |&over| (server, contract, over))
        })
        .collect();
    if each.is_empty() {
        return Err(usage!(
            help = "`prony servers list` shows what each of them speaks",
            "none of these servers speaks {}",
            super::list_of(only)
        ));
    }
    let interrupt = Arc::new(Interrupt::default());
    on_signal(&interrupt)?;
    let stopped = || interrupt.fired();
    // Nothing is measured, so all may have all CPUs.
    let (host, _scratch) = local_host(places, &interrupt, Placement::shared(&Topology::here()))?;
    let tasks: Vec<_> = each
        .into_iter()
        .map(|of @ (server, contract, over)| Task {
            of,
            name: format!("checking {} ({})", server.name, asked(contract, over)),
            // It may have to be built first, which is done once.
            uses: Some(&server.name),
        })
        .collect();
    let check = |&(server, contract, over): &_| check_one(&host, server, contract, over, key);
    let live = Live::begin("checking servers".into(), &DisplayArgs::default(), &[]);
    let results = parallel::run(&live, &tasks, parallel::jobs(jobs), &stopped, &check);
    drop(live);
    let states: Vec<_> = tasks
        .iter()
        .zip(results)
        .filter_map(|(task, state)| Some((task.of.0, task.of.1, task.of.2, state?)))
        .collect();
    if json {
        let states: Vec<_> = states
            .iter()
            .map(|(server, contract, over, state)| {
                let limits = match state {
                    CheckState::Ready { verified, .. } => expected_failures(server, verified),
                    _ => Vec::new(),
                };
                let (state, step, message, output) = match state {
                    CheckState::Ready { version, .. } => {
                        ("ready", None, version.clone(), String::new())
                    }
                    CheckState::Missing(what) => ("missing", None, what.clone(), String::new()),
                    CheckState::Failing(failure) => (
                        "failing",
                        Some(failure.step.to_string()),
                        failure.message.clone(),
                        failure.output.clone(),
                    ),
                };
                json!({
                    "server": server.name, "contract": contract, "over": over, "state": state,
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
        crate::out::report(|width| check_table(&states, width));
    }
    let failing = states
        .iter()
        .any(|(_, _, _, state)| matches!(state, CheckState::Failing(_)));
    Ok(if failing || interrupt.fired() {
        CommandEnd::Incomplete
    } else {
        CommandEnd::Done
    })
}

/// Names what was checked: the contract, and its transport if that is not plain.
fn asked(contract: Contract, over: Protocol) -> String {
    match over {
        Protocol::Plain => contract.to_string(),
        over => format!("{contract} over {over}"),
    }
}

fn check_table(states: &[(&Server, Contract, Protocol, CheckState)], width: usize) -> String {
    let mut table = TextTable::new([
        ("server", Align::Left),
        ("contract", Align::Left),
        ("over", Align::Left),
        ("state", Align::Left),
        ("verified in", Align::Right),
        ("what", Align::Left),
    ]);
    let mut outputs = String::new();
    for &(server, contract, over, ref state) in states {
        let asked = asked(contract, over);
        let (word, took, what) = match state {
            CheckState::Ready { version, verified } => {
                for (step, reason, found) in expected_failures(server, verified) {
                    outputs += &format!(
                        "\n{} ({asked}) has an expected failure, {step}: {reason}\n  as verified: {found}\n",
                        server.name
                    );
                }
                let took = format!("{} ms", verified.took().as_millis());
                ("ready", took, version.clone())
            }
            CheckState::Missing(what) => ("missing", String::new(), what.clone()),
            CheckState::Failing(failure) => {
                outputs += &format!("\n{} ({asked}): {failure}\n", server.name);
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
            over.to_string(),
            word.into(),
            took,
            what,
        ]);
    }
    format!("{}{outputs}", table.fit(width))
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

fn check_one(
    host: &LocalHost,
    server: &Server,
    contract: Contract,
    over: Protocol,
    key: Option<KeyKind>,
) -> CheckState {
    let built = match host.builder.build(server) {
        Ok(built) => built,
        Err(error) if error.is_missing() => return CheckState::Missing(error.to_string()),
        Err(error) => return CheckState::Failing(error.into()),
    };
    let candidate = Candidate {
        server,
        built: &built,
        workers: server.manifest.default_workers(),
        contract,
        role: Role::Server,
        over,
        key: key.unwrap_or_default(),
    };
    match host.check(&candidate) {
        Ok(verified) => CheckState::Ready {
            version: built.version,
            verified,
        },
        Err(failure) => CheckState::Failing(failure),
    }
}
