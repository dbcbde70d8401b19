//! Experiment files: servers × loads × rounds, and the order of their trials.

mod asked;
mod loads;
mod over;
mod place;
mod shipped;

use crate::catalog::{Catalog, Server};
use crate::contract::Contract;
use crate::load_table::LoadTable;
use crate::placement::{Placement, Sharing, allowed_cpus};
use crate::requests::Folder;
use crate::service::{ServiceSpec, ServiceSpecs};
use crate::source::{Mistake, Source, Unreadable, did_you_mean};
use crate::topology::Topology;
use loads::Levels;
use over::Unspoken;
use prony_record::bounds::MOST_ROUNDS;
use prony_record::inert;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shipped::{FoundExperiment, locate, published};
use std::path::PathBuf;
use toml::Spanned;

pub use loads::ExperimentLoad;
pub use place::HostPlacement;
pub use shipped::{names, shipped_figures};

/// An experiment file.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExperimentFile {
    /// One line that says what it compares.
    #[serde(deserialize_with = "inert::read_line")]
    pub title: String,
    /// Contract that the servers must keep.
    #[schemars(with = "Contract")]
    pub contract: Spanned<Contract>,
    /// A file of requests (docs/your-own-requests.md), seen from the experiment's own folder, for loads that name no
    /// other: the servers are started and verified for the contract, and then asked and verified by these.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub requests: Option<Spanned<PathBuf>>,
    /// Servers as `name`, `name@workers`, or `name@1..4` for each number of workers from 1 to 4
    /// (beyond 8, doubling); `N` stands for the number of CPUs. `"*"` stands for every server of the
    /// catalog that keeps the contract and is not named.
    #[schemars(with = "Vec<String>")]
    pub servers: Vec<Spanned<String>>,
    /// The server (with its workers, as above) that the others are compared with; the first one
    /// unless said otherwise.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub baseline: Option<Spanned<String>>,
    /// Trials of each cell; at least 1, and at least 3 for intervals that mean something.
    #[serde(default = "default_rounds")]
    #[schemars(with = "u32")]
    pub rounds: Spanned<u32>,
    /// The figures that others published for this, shown beside what is measured: the name
    /// of a file in published/, a path seen from the experiment's own folder, or the name under
    /// which `prony import` has put them into the notebook.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub published: Option<Spanned<String>>,
    /// For gateways: the server that stands behind each of them while it is loaded. When it takes
    /// part itself, it is loaded directly, where it runs as an upstream: the ceiling of all others.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub upstream: Option<Spanned<String>>,
    /// Services that every server is started with, by name, such as `[services.postgres]`.
    #[serde(default)]
    pub services: ServiceSpecs,
    /// How CPUs are shared out between server and generator: `"split"`, half of them for each, or
    /// `"shared"`, all of them for both.
    #[serde(default)]
    pub placement: Sharing,
    /// The machines on which it is measured, if not on this one alone.
    #[serde(default)]
    pub place: HostPlacement,
    /// The load; lists in it make a grid.
    #[serde(default = "default_load")]
    #[schemars(with = "LoadTable")]
    pub load: Spanned<LoadTable>,
    /// Several loads, each as `load`, instead of one.
    #[serde(default)]
    #[schemars(with = "Vec<LoadTable>")]
    pub loads: Vec<Spanned<LoadTable>>,
}

fn default_rounds() -> Spanned<u32> {
    Spanned::new(0..0, 3)
}

fn default_load() -> Spanned<LoadTable> {
    Spanned::new(
        0..0,
        toml::from_str("").expect("every key of a load has a default"),
    )
}

/// A server with a number of workers.
#[derive(Debug, Clone)]
pub struct Entrant {
    /// The server.
    pub server: Server,
    /// Number of workers.
    pub workers: u32,
    /// The experiment names the server; false: `"*"` stands for it.
    pub named: bool,
    /// Contract that the server must keep.
    pub contract: Contract,
}

impl Entrant {
    /// `name`, or `name@workers` with more than one.
    pub fn label(&self) -> String {
        match self.workers {
            1 => self.server.name.clone(),
            workers => format!("{}@{workers}", self.server.name),
        }
    }
}

/// An experiment, checked against the catalog.
#[derive(Debug, Clone)]
pub struct Experiment {
    /// Name of the experiment: that of its file.
    pub name: String,
    /// Title: one line about what is compared.
    pub title: String,
    /// Contract that the servers must keep.
    pub contract: Contract,
    /// The servers.
    pub entrants: Vec<Entrant>,
    /// The label of the one that others are compared with.
    pub baseline: String,
    /// Server behind the gateways; none: the experiment has no gateways.
    pub upstream: Option<Server>,
    /// The loads.
    pub loads: Vec<ExperimentLoad>,
    /// The loads with the levels that others published; empty where there are none.
    pub published_loads: Vec<ExperimentLoad>,
    /// Trials of each cell.
    pub rounds: u32,
    /// How CPUs are shared out.
    pub placement: Sharing,
    /// On which machines it is measured.
    pub place: HostPlacement,
    /// The text of what others published.
    pub published: Option<Source>,
}

/// An entrant under a load, by their places in the experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Cell {
    /// Place of the entrant.
    pub entrant: usize,
    /// Place of the load.
    pub load: usize,
}

/// Why there is no such experiment.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum ExperimentError {
    /// There is no such file and no experiment of that name.
    #[error("there is no experiment file {name:?} and no experiment of that name")]
    Unknown {
        /// Name that was asked for.
        name: String,
        /// The names there are.
        #[help]
        help: Option<String>,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Something in it is not right.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Mistake(#[from] Box<Mistake>),
}

impl From<Mistake> for ExperimentError {
    fn from(mistake: Mistake) -> Self {
        Self::Mistake(Box::new(mistake))
    }
}

/// Finds figures that were imported, by the name that they were given.
pub type Imported<'a> = dyn Fn(&str) -> Option<Source> + 'a;

impl Experiment {
    /// The experiment of this name, or in this file.
    ///
    /// # Errors
    /// When there is none, or something in it is not right.
    pub fn find(
        name: &str,
        catalog: &Catalog,
        imported: &Imported<'_>,
    ) -> Result<Self, ExperimentError> {
        let FoundExperiment {
            stem,
            source,
            inside,
        } = locate(name)?;
        let folder = match inside {
            true => Folder::Program(shipped::inside()),
            false => asked::folder_of(&source),
        };
        Ok(Self::parse_in((&stem, &source), folder, catalog, imported)?)
    }

    /// Contract of the experiment of this name, or in this file.
    ///
    /// # Errors
    /// When there is none, or its file cannot be read.
    pub fn contract(name: &str) -> Result<Contract, ExperimentError> {
        let file: ExperimentFile = locate(name)?.source.parse()?;
        Ok(*file.contract.get_ref())
    }

    /// Reads an experiment and checks it against the catalog.
    ///
    /// # Errors
    /// The first mistake, with its place.
    pub fn parse(
        name: &str,
        source: &Source,
        catalog: &Catalog,
        imported: &Imported<'_>,
    ) -> Result<Self, Mistake> {
        Self::parse_in((name, source), asked::folder_of(source), catalog, imported)
    }

    /// The same; the file of requests is seen from `folder`.
    fn parse_in(
        (name, source): (&str, &Source),
        folder: Folder<'_>,
        catalog: &Catalog,
        imported: &Imported<'_>,
    ) -> Result<Self, Mistake> {
        let file: ExperimentFile = source.parse()?;
        let wrong = |span: std::ops::Range<usize>, label: String, help: Option<String>| {
            source.mistake(span, "the experiment is not right", label, help)
        };
        let contract = *file.contract.get_ref();
        if !(1..=MOST_ROUNDS).contains(file.rounds.get_ref()) {
            let label = format!("must be from 1 to {MOST_ROUNDS}");
            return Err(wrong(file.rounds.span(), label, None));
        }
        let read = |levels| loads::read(&file, levels, source, folder, &wrong);
        let (loads, published_loads) = (read(Levels::Own)?, read(Levels::Published)?);
        let upstream = upstream(&file, catalog, &wrong)?;
        let mut entrants = entrants(&file, catalog, contract, upstream.as_ref(), &wrong)?;
        let unspoken = over::fit(contract, &loads, &mut entrants);
        unspoken.map_err(|unspoken| match unspoken {
            Unspoken::Load(why) => {
                let table = file.loads.first().map_or(file.load.span(), Spanned::span);
                wrong(place_of("over", table, source.text()), why, None)
            }
            Unspoken::Server(at, why) => {
                let name = &entrants[at].server.name;
                let named = |entry: &&Spanned<String>| {
                    entry.get_ref().split('@').next() == Some(name.as_str())
                };
                let span = file.servers.iter().find(named).map_or(0..1, Spanned::span);
                wrong(span, why, None)
            }
        })?;
        let services = services(&file, folder, &wrong)?;
        for entrant in &mut entrants {
            (entrant.server.manifest.services).extend(services.clone());
        }
        let published = match &file.published {
            None => None,
            Some(name) => {
                let found = published(name.get_ref(), source).or_else(|| imported(name.get_ref()));
                Some(found.ok_or_else(|| {
                    let label = "there is no such file, none of that name in published/, and \
                        nothing was imported under it";
                    wrong(name.span(), label.into(), None)
                })?)
            }
        };
        let Some(first) = entrants.first() else {
            return Err(wrong(0..1, "no server takes part".into(), None));
        };
        let baseline = match &file.baseline {
            None => first.label(),
            Some(label) => {
                let known = || entrants.iter().map(Entrant::label).collect::<Vec<_>>();
                if !known().contains(label.get_ref()) {
                    return Err(wrong(
                        label.span(),
                        "this server does not take part".into(),
                        did_you_mean(label.get_ref(), known().iter().map(String::as_str)),
                    ));
                }
                label.get_ref().clone()
            }
        };
        Ok(Self {
            name: inert::line(name).into_owned(),
            title: file.title,
            contract,
            entrants,
            baseline,
            upstream,
            loads,
            published_loads,
            rounds: file.rounds.into_inner(),
            placement: file.placement,
            place: file.place,
            published,
        })
    }

    /// Takes the levels that others published, which the title says from here on.
    ///
    /// # Errors
    /// When none of its loads has any, in words.
    pub fn as_published(&mut self) -> Result<(), String> {
        if self.published_loads.is_empty() {
            return Err(format!("no load of {} has as_published", self.name));
        }
        self.loads.clone_from(&self.published_loads);
        self.title += ", as published";
        Ok(())
    }

    /// Placement of server, generator and upstream on this process's CPUs.
    pub fn placement(&self) -> Placement {
        let placement = (self.placement).of(&Topology::here(), self.upstream.is_some());
        let needs = |entrant: &Entrant| {
            let manifest = &entrant.server.manifest;
            !manifest.services(entrant.contract).is_empty()
        };
        match self.entrants.iter().any(needs) {
            true => placement.with_services(),
            false => placement,
        }
    }

    /// The trials in their order: each round has every cell once, in an order of its own
    /// (randomised complete blocks). The same seed gives the same order.
    pub fn plan(&self, seed: u64) -> Vec<(u32, Cell)> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        (0..self.rounds)
            .flat_map(|round| {
                let mut cells = self.cells();
                cells.shuffle(&mut rng);
                cells.into_iter().map(move |cell| (round, cell))
            })
            .collect()
    }
}

/// Where a key of a table stands, up to the end of its line; the table itself when the key is not
/// in it. The span of a table with a header is the header's: its keys are in the lines that follow.
fn place_of(key: &str, table: std::ops::Range<usize>, text: &str) -> std::ops::Range<usize> {
    let mut start = table.start;
    for (number, line) in text[table.start..].split_inclusive('\n').enumerate() {
        let inline = number == 0;
        if !inline && line.trim_start().starts_with('[') {
            break;
        }
        let found = if inline {
            line.find(key)
        } else {
            line.trim_start()
                .starts_with(key)
                .then(|| line.len() - line.trim_start().len())
        };
        if let Some(offset) = found {
            return start + offset..start + line.trim_end().len();
        }
        start += line.len();
    }
    table
}

/// Numbers of workers: `2`, `N`, `1..4`, `1..N`, where `N` is the number of CPUs.
fn workers(text: &str, cpus: u32) -> Option<Vec<u32>> {
    /// Up to here every number is tried; beyond, a curve is seen well enough in doublings.
    const EACH: u32 = 8;
    let number = |text: &str| match text {
        "N" => Some(cpus),
        digits => digits.parse().ok(),
    };
    let Some((first, last)) = text.split_once("..") else {
        return Some(vec![number(text)?]);
    };
    let (first, last) = (number(first)?, number(last)?);
    if first > last || last > 1 << 16 {
        return None;
    }
    let kept = |&n: &u32| n <= EACH || n.is_power_of_two() || n == last;
    Some((first..=last).filter(kept).collect())
}

/// The services of every server, with the content of their files.
fn services(
    file: &ExperimentFile,
    folder: Folder<'_>,
    wrong: &impl Fn(std::ops::Range<usize>, String, Option<String>) -> Mistake,
) -> Result<ServiceSpecs, Mistake> {
    let read = |(name, spec): (&String, &ServiceSpec)| {
        let spec = match folder {
            Folder::Disk(folder) => spec.clone().read(name, folder),
            Folder::Program(_) if spec.seed.is_some() => {
                Err("an experiment inside this program has the text of a seed, no file".into())
            }
            Folder::Program(_) => spec.clone().read(name, std::path::Path::new("")),
        };
        Ok((name.clone(), spec.map_err(|why| wrong(0..1, why, None))?))
    };
    file.services.iter().map(read).collect()
}

/// Returns the server behind gateways: `weather` requires one, and every other contract refuses it.
fn upstream(
    file: &ExperimentFile,
    catalog: &Catalog,
    wrong: &impl Fn(std::ops::Range<usize>, String, Option<String>) -> Mistake,
) -> Result<Option<Server>, Mistake> {
    let is_gateway = *file.contract.get_ref() == Contract::Weather;
    let Some(name) = &file.upstream else {
        let label = "a gateway needs an upstream: upstream = \"nginx-weather\"";
        return match is_gateway {
            true => Err(wrong(file.contract.span(), label.into(), None)),
            false => Ok(None),
        };
    };
    if !is_gateway {
        let label = format!("servers of {} ask no upstream", file.contract.get_ref());
        return Err(wrong(name.span(), label, None));
    }
    let known = || catalog.of(Contract::WeatherUpstream);
    match known().find(|server| server.name == *name.get_ref()) {
        Some(server) => Ok(Some(server.clone())),
        None => {
            let names = known().map(|server| server.name.as_str());
            let label = "there is no upstream of this name".into();
            Err(wrong(
                name.span(),
                label,
                did_you_mean(name.get_ref(), names),
            ))
        }
    }
}

/// The servers that take part, `"*"` spelled out.
fn entrants(
    file: &ExperimentFile,
    catalog: &Catalog,
    contract: Contract,
    upstream: Option<&Server>,
    wrong: &impl Fn(std::ops::Range<usize>, String, Option<String>) -> Mistake,
) -> Result<Vec<Entrant>, Mistake> {
    let mut found: Vec<Entrant> = Vec::new();
    for entry in file.servers.iter().filter(|entry| entry.get_ref() != "*") {
        let (name, workers) = match entry.get_ref().split_once('@') {
            None => (entry.get_ref().as_str(), None),
            Some((name, text)) => match workers(text, allowed_cpus().len() as u32) {
                Some(workers) => (name, Some(workers)),
                None => {
                    let label = "after @ a number of workers is expected, such as 2, N or 1..N";
                    return Err(wrong(entry.span(), label.into(), None));
                }
            },
        };
        let known = catalog.of(contract).map(|server| server.name.as_str());
        let Ok(server) = catalog.get(name) else {
            let label = "there is no server of this name".into();
            return Err(wrong(entry.span(), label, did_you_mean(name, known)));
        };
        let contract = match upstream {
            Some(upstream) if upstream.name == server.name => Contract::WeatherUpstream,
            _ => contract,
        };
        if !server.manifest.contracts.contains(&contract) {
            return Err(wrong(
                entry.span(),
                format!("this server does not keep {contract}"),
                None,
            ));
        }
        let workers = workers.unwrap_or_else(|| vec![server.manifest.default_workers()]);
        for workers in workers {
            if !server.manifest.allows(workers) {
                let label = match server.manifest.workers {
                    None => "this server's model has one worker".to_owned(),
                    Some(range) => match range.max {
                        Some(max) => format!("this server can have {} to {max} workers", range.min),
                        None => format!("this server has at least {} workers", range.min),
                    },
                };
                return Err(wrong(entry.span(), label, None));
            }
            let entrant = Entrant {
                server: server.clone(),
                workers,
                named: true,
                contract,
            };
            if found.iter().any(|other| other.label() == entrant.label()) {
                let label = "this server is named twice".into();
                return Err(wrong(entry.span(), label, None));
            }
            found.push(entrant);
        }
    }
    if file.servers.iter().any(|entry| entry.get_ref() == "*") {
        for server in catalog.of(contract) {
            if !found
                .iter()
                .any(|entrant| entrant.server.name == server.name)
            {
                let workers = server.manifest.default_workers();
                found.push(Entrant {
                    server: server.clone(),
                    workers,
                    named: false,
                    contract,
                });
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
