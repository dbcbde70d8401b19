//! Does prony say what is wrong? Situations with a known fault, each several times: is the right check
//! raised, and is none raised where nothing is wrong?

use crate::child::Child;
use crate::claims::plant::Plant;
use crate::error::{Error, Result};
use crate::place::Rig;
use crate::prony;
use crate::server;
use crate::table::Table;
use clap::ValueEnum;
use prony_record::CheckId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Where a neighbour stands.
#[derive(Debug, Clone, Copy)]
enum Beside {
    Server,
    Generator,
}

/// A situation.
struct Situation {
    name: &'static str,
    /// The check that is right; none where nothing is wrong.
    right: Option<CheckId>,
    /// The server: a plant, or one of the catalog.
    server: Server,
    hog: Option<Beside>,
    /// Fields of the experiment's table `[load]`, in TOML.
    load: &'static str,
}

#[derive(Clone, Copy)]
enum Server {
    Plant(Plant),
    Catalog(&'static str),
}

const CLOSED: &str = "connections = 64\nduration = \"2s\"\nwarmup = \"1s\"";

fn situations() -> Vec<Situation> {
    let plant = |name, right, plant, load| Situation {
        name,
        right: Some(right),
        server: Server::Plant(plant),
        hog: None,
        load,
    };
    let beside = |name, right, hog| Situation {
        name,
        right: Some(right),
        server: Server::Catalog("reference-epoll"),
        hog: Some(hog),
        load: CLOSED,
    };
    let clean = |name, server, load| Situation {
        name,
        right: None,
        server,
        hog: None,
        load,
    };
    // Long enough to settle and to outlast a scheduling delay, as in a careful measurement.
    let rate = "connections = 64\nrate = 5000\nduration = \"5s\"\nwarmup = \"10s\"";
    let few = "connections = 16\nduration = \"5s\"\nwarmup = \"10s\"";
    let many = "connections = 64\nduration = \"5s\"\nwarmup = \"10s\"";
    vec![
        beside(
            "generator starved of CPU",
            CheckId::GeneratorSaturated,
            Beside::Generator,
        ),
        plant(
            "upstream the limit",
            CheckId::Ceiling,
            Plant::Gateway,
            CLOSED,
        ),
        plant(
            "backlog overflow",
            CheckId::ListenOverflow,
            Plant::Backlog,
            "connections = 64\nkeepalive = false\nduration = \"4s\"\nwarmup = \"0s\"",
        ),
        plant(
            "Nagle against delayed ACKs",
            CheckId::ServerIdle,
            Plant::Nagle,
            CLOSED,
        ),
        plant(
            "idle because of a lock",
            CheckId::ServerIdle,
            Plant::Lock,
            CLOSED,
        ),
        plant(
            "wrong answers under load only",
            CheckId::WrongAnswers,
            Plant::Wrong,
            CLOSED,
        ),
        plant(
            "uneven connections between loops",
            CheckId::UnevenConnections,
            Plant::Uneven,
            CLOSED,
        ),
        plant(
            "warm-up longer than the limit",
            CheckId::NotSteady,
            Plant::Warming,
            CLOSED,
        ),
        plant(
            "drifting server",
            CheckId::NotSteady,
            Plant::Drifting,
            "connections = 64\nduration = \"4s\"\nwarmup = \"1s\"",
        ),
        beside(
            "noisy neighbour on the server's CPU",
            CheckId::NoisyHost,
            Beside::Server,
        ),
        clean("clean: epoll", Server::Catalog("working-epoll"), many),
        clean("clean: epoll, few", Server::Catalog("working-epoll"), few),
        clean(
            "clean: epoll, at a rate",
            Server::Catalog("working-epoll"),
            rate,
        ),
        clean("clean: io_uring", Server::Catalog("working-io-uring"), many),
        clean("clean: threads", Server::Catalog("working-threads"), many),
        clean(
            "clean: another's threads",
            Server::Plant(Plant::Plain),
            many,
        ),
    ]
}

/// Output of a run, reduced to the fields that are needed here.
#[derive(Debug, Deserialize)]
struct Run {
    cells: Vec<Cell>,
    failures: Vec<Failure>,
}

#[derive(Debug, Deserialize)]
struct Cell {
    server: String,
    checks: Vec<Found>,
}

#[derive(Debug, Deserialize)]
struct Found {
    name: CheckId,
    severity: String,
    text: String,
}

#[derive(Debug, Deserialize)]
struct Failure {
    step: String,
    message: String,
}

/// One situation, over all repetitions.
#[derive(Debug, Serialize)]
struct Row {
    situation: &'static str,
    expected: Option<CheckId>,
    times: u32,
    right: u32,
    /// Warnings and worse, by check, with the repetitions that raised them.
    raised: BTreeMap<CheckId, u32>,
}

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct Attribution {
    rows: Vec<Row>,
}

/// Runs each situation `times` times.
///
/// # Errors
/// When a run cannot be carried out.
pub fn run(rig: Rig, times: u32) -> Result<Attribution> {
    let scratch = tempfile::tempdir().map_err(Error::io("no temporary folder"))?;
    let catalog = catalog(scratch.path())?;
    let mut rows = Vec::new();
    for situation in situations() {
        let mut row = Row {
            situation: situation.name,
            expected: situation.right,
            times,
            right: 0,
            raised: BTreeMap::new(),
        };
        for _ in 0..times {
            let found = situation.once(rig, scratch.path(), &catalog)?;
            let grave = found.iter().filter(|found| found.severity != "note");
            let grave: Vec<&Found> = grave.collect();
            row.right += u32::from(match situation.right {
                Some(right) => grave.iter().any(|found| found.name == right),
                None => grave.is_empty(),
            });
            for found in grave {
                // What an alarm says is what there is to mend.
                if situation.right.is_none() {
                    eprintln!("attribution: {}: {}", row.situation, found.text);
                }
                *row.raised.entry(found.name).or_default() += 1;
            }
        }
        eprintln!(
            "attribution: {}: {} of {times} {:?}",
            row.situation, row.right, row.raised
        );
        rows.push(row);
    }
    Ok(Attribution { rows })
}

/// A catalog with the plants, and prony's own servers.
fn catalog(scratch: &Path) -> Result<PathBuf> {
    let catalog = scratch.join("servers");
    let this = std::env::current_exe().map_err(Error::io("cannot find this program"))?;
    for plant in Plant::value_variants() {
        let (contract, more) = match plant {
            Plant::Hog => continue,
            Plant::Gateway => ("weather", " --upstream {upstream}"),
            Plant::Upstream => ("weather-upstream", " --docroot '{docroot}'"),
            _ => ("tcp-echo", ""),
        };
        let name = plant_name(*plant);
        // The manifest's text is TOML's literal kind, in which nothing is an escape.
        let manifest = format!(
            "title = \"planted: {name}\"\nlanguage = \"Rust\"\ncontracts = [\"{contract}\"]\n\
             model = \"with a fault\"\n\
             run = '''\"{}\" plant {name} --port {{port}}{more}'''\n",
            this.display()
        );
        write(&catalog.join(&name).join("server.toml"), &manifest)?;
    }
    // With some work for each request: without it the generator is what they are limited by.
    for model in ["epoll", "io-uring", "threads"] {
        for (kind, busy) in [("reference", ""), ("working", " --busy 20us")] {
            let manifest = format!(
                "title = \"prony: {model}\"\nlanguage = \"Rust\"\ncontracts = [\"tcp-echo\"]\n\
                 model = \"{model}\"\n\
                 run = \"{{prony}} serve {{contract}} --model {model} --listen :{{port}}{busy}\"\n"
            );
            write(
                &catalog.join(format!("{kind}-{model}")).join("server.toml"),
                &manifest,
            )?;
        }
    }
    Ok(catalog)
}

fn plant_name(plant: Plant) -> String {
    let value = plant.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

fn write(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .map_err(Error::io(format!("cannot write {}", path.display())))
}

impl Situation {
    /// Carries out a run of one round, and returns the checks that it raised for the server.
    fn once(&self, rig: Rig, scratch: &Path, catalog: &Path) -> Result<Vec<Found>> {
        let name = match self.server {
            Server::Plant(plant) => plant_name(plant),
            Server::Catalog(name) => name.to_owned(),
        };
        let (contract, more, beside) = match self.server {
            // Measured alone as well, to know what it can do.
            Server::Plant(Plant::Gateway) => {
                ("weather", "upstream = \"upstream\"\n", ", \"upstream\"")
            }
            _ => ("tcp-echo", "", ""),
        };
        let experiment = format!(
            "title = \"{}\"\ncontract = \"{contract}\"\n{more}servers = [\"{name}\"{beside}]\n\
             baseline = \"{name}\"\nrounds = 1\n[load]\n{}\n",
            self.name, self.load
        );
        let file = scratch.join("experiment.toml");
        write(&file, &experiment)?;
        let _hog = self
            .hog
            .map(|beside| {
                let cpu = match beside {
                    Beside::Server => rig.server,
                    Beside::Generator => rig.client,
                };
                let mut hog = server::ourselves("plant")?;
                hog.arg("hog");
                Child::start(hog, cpu)
            })
            .transpose()?;
        let mut command = std::process::Command::new(prony::program()?);
        command
            .arg("run")
            .arg(&file)
            .args(["--json", "--quiet", "--only-catalog"])
            .arg(catalog)
            .env("PRONY_NOTEBOOK", scratch.join("notebook.db"))
            .env("PRONY_CACHE", scratch.join("cache"));
        let run: Run = prony::json(&mut command)?;
        if let Some(failure) = run.failures.first() {
            let text = format!("{}: {}: {}", self.name, failure.step, failure.message);
            return Err(Error::Unusable(text));
        }
        let cell = run.cells.into_iter().find(|cell| cell.server == name);
        cell.map(|cell| cell.checks)
            .ok_or_else(|| Error::Unusable(format!("{}: nothing was measured", self.name)))
    }
}

impl fmt::Display for Attribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "situation",
            "right check",
            "raised",
            "warnings, with others",
        ]);
        for row in &self.rows {
            let raised: Vec<String> = row
                .raised
                .iter()
                .map(|(check, n)| format!("{check} {n}"))
                .collect();
            table.row([
                row.situation.into(),
                row.expected.map_or("none", CheckId::word).into(),
                format!("{} of {}", row.right, row.times),
                raised.join(", "),
            ]);
        }
        writeln!(f, "{table}")?;
        for (planted, text) in [
            (
                true,
                "planted faults with the right check; at least 95% is asked",
            ),
            (false, "clean runs without a warning; at least 95% is asked"),
        ] {
            let rows = self
                .rows
                .iter()
                .filter(|row| row.expected.is_some() == planted);
            let (right, times) = rows.fold((0, 0), |(right, times), row| {
                (right + row.right, times + row.times)
            });
            let share = 100.0 * f64::from(right) / f64::from(times.max(1));
            writeln!(f, "{right} of {times} {text} ({share:.1}%)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plant_has_a_name_and_the_situations_differ() {
        for plant in Plant::value_variants() {
            assert!(!plant_name(*plant).is_empty());
        }
        let all = situations();
        let names: std::collections::BTreeSet<_> = all.iter().map(|it| it.name).collect();
        assert_eq!(names.len(), all.len());
        assert!(all.iter().any(|it| it.right.is_none()));
    }
}
