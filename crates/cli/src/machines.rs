//! Other machines, as the command line names them.

use crate::args::machines::{LoadFrom, Machines};
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use prony_remote::{Fleet, Hosts, Registry};
use std::path::PathBuf;
use std::sync::Arc;

/// What `prony --version` prints after the name: agents must have the same.
pub const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("PRONY_COMMIT"), ")");

impl Machines {
    /// The hosts that are known.
    pub fn known(&self) -> Result<Hosts> {
        let mut hosts = match self.hosts.as_deref() {
            Some("slurm") => Hosts::slurm().into_diagnostic()?,
            Some(file) => Hosts::read(file.as_ref()).into_diagnostic()?,
            None => match default_file() {
                Some(file) if file.exists() => Hosts::read(&file).into_diagnostic()?,
                _ => Hosts::default(),
            },
        };
        for host in &self.host {
            hosts.add(host.clone());
        }
        Ok(hosts)
    }

    /// The agents on them; none is started yet.
    pub fn registry(&self) -> Result<Arc<Registry>> {
        let program = std::env::current_exe()
            .into_diagnostic()
            .wrap_err("cannot find this program")?;
        let told = Box::new(|text: &str| eprintln!("{text}"));
        Ok(Arc::new(Registry::new(
            self.known()?,
            &program,
            VERSION,
            told,
        )))
    }
}

impl LoadFrom {
    /// The generators on other machines; none: the load comes from this one.
    pub fn fleet(&self) -> Result<Option<Fleet>> {
        if self.load_from.is_empty() {
            return Ok(None);
        }
        let registry = self.machines.registry()?;
        let mut names: Vec<String> = Vec::new();
        for name in self.load_from.iter().map(|name| name.trim()) {
            registry.known(name).into_diagnostic()?;
            if names.iter().any(|known| known == name) {
                return Err(miette!("--load-from names {name} twice"));
            }
            names.push(name.to_owned());
        }
        Ok(Some(Fleet::new(registry, names)))
    }
}

/// Where hosts are listed unless said otherwise.
fn default_file() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    from("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| from("HOME").map(|home| PathBuf::from(home).join(".config")))
        .map(|folder| folder.join("prony/hosts.toml"))
}
