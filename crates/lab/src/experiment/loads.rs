//! The loads of an experiment, each with the requests that it sends.

use super::{ExperimentFile, asked, place_of};
use crate::contract::Contract;
use crate::load_table::LoadTable;
use crate::requests::Folder;
use crate::requests::verify::RequestFile;
use crate::source::{Mistake, Source};
use crate::workload::Workload;
use prony_record::{Load, inert};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;

/// A load of an experiment.
#[derive(Debug, Clone)]
pub struct ExperimentLoad {
    /// How requests are sent.
    pub shape: Load,
    /// Requests that the servers get instead of those of the contract; none: those of the contract.
    pub requests: Option<Arc<RequestFile>>,
    /// Weight of the load in the composite; none: it does not count.
    pub weight: Option<f64>,
}

impl ExperimentLoad {
    /// Requests to a server that keeps this contract, and what is a right response to them.
    #[must_use]
    pub fn workload(&self, contract: Contract) -> Workload {
        match &self.requests {
            Some(asked) => Workload::Requests {
                contract,
                asked: Arc::clone(asked),
            },
            None => Workload::Contract(contract),
        }
    }
}

impl fmt::Display for ExperimentLoad {
    /// Writes the label of the load, as [`Load`] does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shape.fmt(f)
    }
}

/// Levels of the loads of an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Levels {
    /// Levels that suit a small machine.
    Own,
    /// Levels that others published.
    Published,
}

/// Every load of the file at these levels, lists spelled out; none where none were published. `wrong` makes a mistake of
/// the experiment, at a place in it.
pub(super) fn read(
    file: &ExperimentFile,
    levels: Levels,
    source: &Source,
    folder: Folder<'_>,
    wrong: &impl Fn(Range<usize>, String, Option<String>) -> Mistake,
) -> Result<Vec<ExperimentLoad>, Mistake> {
    if !file.loads.is_empty() && !file.load.span().is_empty() {
        let label = "either one load or several loads".into();
        return Err(wrong(file.load.span(), label, None));
    }
    let tables = match file.loads.as_slice() {
        [] => std::slice::from_ref(&file.load),
        several => several,
    };
    let published = |table: &Spanned<LoadTable>| table.get_ref().as_published.is_some();
    if levels == Levels::Published && !tables.iter().any(published) {
        return Ok(Vec::new());
    }
    let mut loads: Vec<ExperimentLoad> = Vec::new();
    for table in tables {
        let grid = match (levels, &table.get_ref().as_published) {
            (Levels::Own, Some(levels)) if levels.only => continue,
            (Levels::Own, _) => table.get_ref().grid(),
            (Levels::Published, _) => table.get_ref().as_published().grid(),
        };
        let mut grid = grid.map_err(|(key, must)| {
            let at = place_of(key, table.span(), source.text());
            wrong(at, format!("{key} {must}"), None)
        })?;
        if let Some(twice) = grid
            .iter()
            .map(Load::to_string)
            .find(|it| loads.iter().any(|load| load.to_string() == *it))
        {
            let label = format!("{twice} is the label of two loads: give them names");
            return Err(wrong(table.span(), label, None));
        }
        let own = table.get_ref().file.as_ref();
        let path = own.or(file.requests.as_ref());
        if path.is_none() && *file.contract.get_ref() == Contract::Http {
            let label = "http needs requests: requests = \"FILE\"".to_owned();
            return Err(wrong(file.contract.span(), label, None));
        }
        let requests = path
            .map(|path| asked::read(path, folder, &grid, wrong))
            .transpose()?;
        if let Some(own) = own {
            let shown = own.get_ref().display().to_string();
            for load in &mut grid {
                load.contract = Some(inert::line(&shown).into_owned());
            }
        }
        let weight = table.get_ref().weight;
        if weight.is_some_and(|weight| weight.is_nan() || weight <= 0.0 || weight.is_infinite()) {
            let at = place_of("weight", table.span(), source.text());
            return Err(wrong(at, "weight must be above 0".into(), None));
        }
        let share = grid.len() as f64;
        loads.extend(grid.into_iter().map(|shape| ExperimentLoad {
            shape,
            requests: requests.clone(),
            weight: weight.map(|weight| weight / share),
        }));
    }
    Ok(loads)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;
    use crate::contract::parts::Routes;
    use crate::experiment::Experiment;
    use crate::requests::ServerFacts;
    use crate::requests::verify::SendMode;
    use prony_engine::protocol::mix::Piece;
    use std::fs;
    use std::path::{Path, PathBuf};

    fn experiments() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")
    }

    /// Reads an experiment with one server, seen from the project's experiments.
    fn parse(text: &str) -> Result<Experiment, String> {
        let dir = tempfile::tempdir().unwrap();
        let server = dir.path().join("one");
        fs::create_dir(&server).unwrap();
        let manifest = "title = 'One'\nlanguage = 'C'\ncontracts = ['techempower', 'http']\n\
            model = 'threads'\nrun = 'one {port}'\n";
        fs::write(server.join("server.toml"), manifest).unwrap();
        let catalog = Catalog::open(dir.path()).unwrap();
        let (source, folder) = (Source::new("it.toml", text), experiments());
        Experiment::parse_in(("it", &source), Folder::Disk(&folder), &catalog, &|_| None).map_err(
            |mistake| {
                let mut out = String::new();
                miette::NarratableReportHandler::new()
                    .render_report(&mut out, &mistake)
                    .unwrap();
                out
            },
        )
    }

    const TWO: &str = "title = 'T'\ncontract = 'techempower'\nservers = ['*']\n\
        [[loads]]\nfile = 'techempower/json.toml'\nname = 'json'\nconnections = [16, 64]\n\
        [[loads]]\nname = 'other'\n";

    #[test]
    fn each_load_may_have_requests_of_its_own() {
        let names = |text: &str| {
            let experiment = parse(text).unwrap();
            let of = |load: &ExperimentLoad| {
                let workload = load.workload(experiment.contract);
                assert_eq!(workload.contract(), Contract::Techempower);
                let name = workload.mix().map(|mix| mix.requests[0].name.clone());
                (load.to_string(), name, load.shape.contract.clone())
            };
            experiment.loads.iter().map(of).collect::<Vec<_>>()
        };
        let all = |label: &str, name: Option<&str>, file: Option<&str>| {
            let owned = |text: Option<&str>| text.map(str::to_owned);
            (label.to_owned(), owned(name), owned(file))
        };
        let json = |label| all(label, Some("json"), Some("techempower/json.toml"));
        let own = [json("json c16"), json("json c64")];
        let contract_alone = all("other", None, None);
        assert_eq!(names(TWO), [&own[..], &[contract_alone]].concat());
        let default = TWO.replace("servers", "requests = 'techempower/db.toml'\nservers");
        let of_all = all("other", Some("db"), None);
        assert_eq!(names(&default), [&own[..], &[of_all]].concat());
        let mut spoken = parse(TWO).unwrap();
        spoken
            .speak(&[prony_record::load::Protocol::Plain])
            .unwrap();
        assert!(spoken.loads[1].requests.is_some() && spoken.loads[2].requests.is_none());
    }

    #[test]
    fn a_load_needs_the_part_that_it_requests() {
        let text = fs::read_to_string(experiments().join("techempower.toml")).unwrap();
        let experiment = parse(&text).unwrap();
        let own = |target: &str| format!("/own{target}");
        let contract = Contract::Techempower;
        let kept = contract.parts().iter();
        let kept = kept.map(|it| (it.name.to_owned(), own(it.path))).collect();
        let mut needed = Vec::new();
        for load in &experiment.loads {
            let asked = load.requests.as_ref().unwrap();
            needed.extend(contract.parts_of(Some(&asked.mix)).iter().map(|it| it.name));
            let mix = Routes::new(contract, &kept).mix(asked.mix.clone());
            let text = |piece: &Piece| match piece {
                Piece::Text(text) => String::from_utf8_lossy(text).into_owned(),
                _ => String::new(),
            };
            let path: String = mix.requests[0].path.iter().map(text).collect();
            assert!(path.starts_with("/own/"), "{path}");
        }
        let all: Vec<&str> = contract.parts().iter().map(|it| it.name).collect();
        assert_eq!(needed, all);
        assert_eq!(contract.parts_of(None)[0].name, "plaintext");
    }

    #[test]
    fn mistakes_are_shown_in_their_place() {
        let missing = parse(&TWO.replace("json.toml", "none.toml")).unwrap_err();
        assert!(missing.contains("line 5"), "{missing}");
        let http = parse(&TWO.replace("'techempower'\n", "'http'\n")).unwrap_err();
        assert!(http.contains("http needs requests"), "{http}");
        let all = TWO.replace(
            "'techempower'\n",
            "'http'\nrequests = 'techempower/db.toml'\n",
        );
        assert_eq!(parse(&all).unwrap().loads.len(), 3);
    }

    #[test]
    fn every_file_of_requests_that_ships_is_right() {
        let mut read = 0;
        for folder in ["techempower", "arena", "shop"] {
            for entry in fs::read_dir(experiments().join(folder)).unwrap() {
                let path = entry.unwrap().path();
                if path
                    .extension()
                    .is_some_and(|extension| extension == "toml")
                {
                    let ways = SendMode::ALL.to_vec();
                    RequestFile::read(&path, &ServerFacts::anywhere(), ways).unwrap();
                    read += 1;
                }
            }
        }
        assert!(read >= 20, "{read}");
    }
}
