//! Checkouts of public suites, whose entries become servers in images: built by their own Dockerfiles, and verified and
//! loaded like the servers of the catalog.

mod arena;
mod database;
mod techempower;

use crate::catalog::Server;
use crate::container::{Engine, ImageBuild};
use crate::contract::Contract;
use crate::manifest::Manifest;
use crate::source::did_you_mean;
use database::OwnDatabase;
use prony_record::{Span, inert};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an entry may be idle before it answers: a daemon may start its container, which uses no CPU time of ours.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Entries of a suite, by name; for those that cannot take part, the reason.
type Entries = BTreeMap<String, Result<SuiteEntry, String>>;

/// A checkout of a suite.
#[derive(Debug)]
pub struct Checkout {
    folder: PathBuf,
    entries: Entries,
}

/// An entry that can take part.
#[derive(Debug, Clone)]
struct SuiteEntry {
    server: Server,
    /// Database of the checkout that it needs, instead of prony's PostgreSQL.
    database: Option<OwnDatabase>,
}

/// Why entries of a checkout cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum CheckoutError {
    /// No suite has this contract.
    #[error("{0} is no contract of a suite with checkouts: techempower and arena are")]
    Contract(Contract),
    /// The folder has none of the suite's entries.
    #[error("{} is no checkout of {suite}: it has no {files}", folder.display())]
    NotACheckout {
        /// Folder that was given.
        folder: PathBuf,
        /// Repository of the suite.
        suite: &'static str,
        /// Pattern of the files that describe entries.
        files: &'static str,
        /// Command that makes a checkout.
        #[help]
        help: String,
    },
    /// There is no entry of this name.
    #[error("there is no entry {name:?} in {}", folder.display())]
    Unknown {
        /// Name that was asked for.
        name: String,
        /// Folder of the checkout.
        folder: PathBuf,
        /// The name that is most like it.
        #[help]
        help: Option<String>,
    },
    /// An entry cannot take part.
    #[error("{name} cannot take part: {why}")]
    LeftOut {
        /// Name of the entry.
        name: String,
        /// Reason.
        why: String,
    },
    /// The image of a database cannot be built.
    #[error("the database of {name}: {why}")]
    Database {
        /// Name of the entry.
        name: String,
        /// Reason, and the end of the build's output.
        why: String,
    },
}

impl Checkout {
    /// Reads every entry of the suite whose contract this is.
    ///
    /// # Errors
    /// When no suite has the contract, or the folder is no checkout of it.
    pub fn open(folder: &Path, contract: Contract) -> Result<Self, CheckoutError> {
        let (suite, files, entries) = match contract {
            Contract::Techempower => (
                "TechEmpower/FrameworkBenchmarks",
                "frameworks/*/*/benchmark_config.json",
                techempower::entries(folder),
            ),
            Contract::Arena => (
                "MDA2AV/HttpArena",
                "frameworks/*/meta.json",
                arena::entries(folder),
            ),
            other => return Err(CheckoutError::Contract(other)),
        };
        if entries.is_empty() {
            return Err(CheckoutError::NotACheckout {
                folder: folder.to_owned(),
                suite,
                files,
                help: format!("git clone --depth 1 https://github.com/{suite}"),
            });
        }
        Ok(Self {
            folder: folder.to_owned(),
            entries,
        })
    }

    /// How many entries there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Names of the entries that can take part.
    pub fn usable(&self) -> impl Iterator<Item = &str> {
        let usable = self.entries.iter().filter(|(_, entry)| entry.is_ok());
        usable.map(|(name, _)| name.as_str())
    }

    /// Names of the entries that cannot take part, by reason.
    #[must_use]
    pub fn left_out(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (name, entry) in &self.entries {
            if let Err(why) = entry {
                reasons.entry(why).or_default().push(name);
            }
        }
        reasons
    }

    /// Is there an entry of this name?
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.entries.contains_key(name)
    }

    /// Checks that there is an entry of this name, and that it can take part.
    ///
    /// # Errors
    /// When there is none, or it cannot.
    pub fn check(&self, name: &str) -> Result<(), CheckoutError> {
        self.entry(name).map(drop)
    }

    fn entry(&self, name: &str) -> Result<&SuiteEntry, CheckoutError> {
        let entry = self.entries.get(name).ok_or_else(|| {
            let known = self.entries.keys().map(String::as_str);
            CheckoutError::Unknown {
                name: name.to_owned(),
                folder: self.folder.clone(),
                help: did_you_mean(name, known),
            }
        })?;
        entry.as_ref().map_err(|why| CheckoutError::LeftOut {
            name: name.to_owned(),
            why: why.clone(),
        })
    }

    /// An entry as a server, in containers of this engine. The image of a database of the checkout is built, if the entry
    /// needs one.
    ///
    /// # Errors
    /// The errors of [`check`](Self::check); or the image of the entry's database cannot be built.
    pub fn server(&self, name: &str, engine: &Engine) -> Result<Server, CheckoutError> {
        let entry = self.entry(name)?;
        let mut server = entry.server.clone();
        if let Some(image) = &mut server.manifest.image {
            image.engine = Some(engine.program().to_owned());
        }
        if let Some(database) = entry.database {
            let begun = database.attach(&self.folder, engine, &mut server.manifest);
            begun.map_err(|why| CheckoutError::Database {
                name: name.to_owned(),
                why,
            })?;
        }
        Ok(server)
    }
}

/// A manifest without parts, services and image options.
fn manifest(contract: Contract, title: &str, language: &str, model: &str) -> Manifest {
    let text = toml::toml! {
        title = ""
        language = ""
        model = ""
        contracts = ["techempower"]
        run = ""
    };
    let blank: Manifest = text.try_into().expect("a constant manifest");
    Manifest {
        title: inert::line(title).into_owned(),
        language: inert::line(language).into_owned(),
        model: inert::line(model).into_owned(),
        contracts: vec![contract],
        start_timeout: Some(Span(START_TIMEOUT)),
        ..blank
    }
}

/// An image of this Dockerfile with no arguments and options.
fn image(dockerfile: &str) -> ImageBuild {
    ImageBuild {
        dockerfile: dockerfile.to_owned(),
        args: BTreeMap::new(),
        options: Vec::new(),
        engine: None,
    }
}

/// Folders in a folder, by name; none when it cannot be read.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect();
    found.sort();
    found
}

/// Name of a folder or file.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// JSON of a file; else the reason, with its line.
fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| {
        // Its own text ends with the place.
        let message = error.to_string();
        let message = message.split(" at line ").next().unwrap_or_default();
        format!("{}:{}: {message}", path.display(), error.line())
    })
}

#[cfg(test)]
mod tests;
