//! Finding the places: notebook, catalog, cache, and this program itself.

use crate::args::Places;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use prony_lab::builder::Builder;
use prony_lab::catalog::{Catalog, Chosen};
use prony_lab::control_group;
use prony_lab::host::LocalHost;
use prony_lab::interrupt::Interrupt;
use prony_lab::leftovers::{self, Scratch};
use prony_lab::placement::{Placement, bind};
use prony_lab::source::Source;
use prony_notebook::Notebook;
use std::path::PathBuf;
use std::sync::Arc;

impl Places {
    /// The cache folder.
    pub fn cache(&self) -> Result<PathBuf> {
        let from = |name: &str| {
            std::env::var_os(name)
                .filter(|v| !v.is_empty())
                .map(PathBuf::from)
        };
        self.cache
            .clone()
            .or_else(|| from("XDG_CACHE_HOME").map(|dir| dir.join("prony")))
            .or_else(|| from("HOME").map(|dir| dir.join(".cache/prony")))
            .ok_or_else(|| {
                miette!(
                    help = "say --cache FOLDER",
                    "there is no place for the cache: neither XDG_CACHE_HOME nor HOME is set"
                )
            })
    }

    /// The catalog.
    pub fn catalog(&self) -> Result<Catalog> {
        let chosen = Chosen {
            more: self.catalog.clone(),
            only: self.only_catalog.clone(),
        };
        Ok(Catalog::find(&chosen, &self.cache()?)?)
    }

    /// Where the notebook is, or will be.
    pub fn notebook_file(&self) -> Result<PathBuf> {
        match &self.notebook {
            Some(path) => Ok(path.clone()),
            None => prony_notebook::default_path().into_diagnostic(),
        }
    }

    /// The notebook, which is made if there is none.
    pub fn notebook(&self) -> Result<Notebook> {
        let path = self.notebook_file()?;
        // The message has the cause in it already; as a chain it would be told twice.
        Notebook::open(&path).map_err(|error| miette!("{error}"))
    }

    /// The notebook, to be read only.
    pub fn notebook_to_read(&self) -> Result<Notebook> {
        let path = self.notebook_file()?;
        Notebook::open_to_read(&path).map_err(|error| miette!("{error}"))
    }

    /// Figures that were imported under a name, as the text of a file like those of `published/`.
    pub fn imported(&self, name: &str) -> Option<Source> {
        let found = self.look_up(name).unwrap_or_else(|error| {
            eprintln!("cannot look for {name:?} in the notebook: {error}");
            None
        });
        found.map(|text| Source::new(format!("{name} in the notebook"), text))
    }

    fn look_up(&self, name: &str) -> Result<Option<String>> {
        let Some(kept) = self.notebook_to_read()?.published(name).into_diagnostic()? else {
            return Ok(None);
        };
        toml::to_string(&kept.table).map(Some).into_diagnostic()
    }
}

/// Returns this machine as a host, and the temporary folder that belongs to it.
pub fn local_host(
    places: &Places,
    interrupt: &Arc<Interrupt>,
    placement: Placement,
) -> Result<(LocalHost, Scratch)> {
    match leftovers::end_processes() {
        0 => {}
        1 => eprintln!("ended 1 process that a killed prony had left behind"),
        n => eprintln!("ended {n} processes that a killed prony had left behind"),
    }
    control_group::remove_left();
    let scratch = Scratch::new()
        .into_diagnostic()
        .wrap_err("cannot make a folder for the servers' output")?;
    // Whatever else prony does (progress, notebook) stays away from the server's CPUs.
    bind(&placement.generator)
        .into_diagnostic()
        .wrap_err("cannot bind to the generator's CPUs")?;
    let host = LocalHost {
        prony: std::env::current_exe()
            .into_diagnostic()
            .wrap_err("cannot find this program")?,
        scratch: scratch.path().to_owned(),
        placement,
        interrupt: Arc::clone(interrupt),
        builder: Builder::new(&places.cache()?),
    };
    Ok((host, scratch))
}

/// Ctrl-C, a TERM or a hang-up fires the interrupt; a second one ends prony at once (servers end
/// with it all the same).
pub fn on_signal(interrupt: &Arc<Interrupt>) -> Result<()> {
    on_signal_saying(interrupt, "\ninterrupted: ")
}

/// The same; what the first signal does is told behind `who`, or not at all when that is empty.
pub fn on_signal_saying(interrupt: &Arc<Interrupt>, who: &'static str) -> Result<()> {
    let interrupt = Arc::clone(interrupt);
    prony_lab::interrupt::on_signal(move || {
        if interrupt.fired() {
            std::process::exit(130);
        }
        if !crate::live::interrupted() && !who.is_empty() {
            eprintln!("{who}finishing; results so far are kept (Ctrl-C again to quit at once)");
        }
        interrupt.fire();
    })
    .into_diagnostic()
}
