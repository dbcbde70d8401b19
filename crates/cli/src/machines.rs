//! Other machines, as the command line names them.

use crate::args::Places;
use crate::args::machines::{Apart, LoadFrom, Machines};
use crate::place::local_host;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use prony_lab::generator::Local;
use prony_lab::interrupt::Interrupt;
use prony_lab::leftovers::Scratch;
use prony_lab::placement::{Placement, Sharing, allowed_cpus};
use prony_lab::sources::{SentFrom, Sources};
use prony_remote::place::{LoadPlace, ServerPlace};
use prony_remote::reach::reached;
use prony_remote::{Fleet, Hosts, LOCAL, Link, Registry, RemoteHost};
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
        self.fleet_of(&self.machines.registry()?).map(Some)
    }

    /// The same with these agents; there must be a name.
    fn fleet_of(&self, registry: &Arc<Registry>) -> Result<Fleet> {
        let mut names: Vec<String> = Vec::new();
        for name in self.load_from.iter().map(|name| name.trim()) {
            registry.known(name).into_diagnostic()?;
            if names.iter().any(|known| known == name) {
                return Err(miette!("--load-from names {name} twice"));
            }
            names.push(name.to_owned());
        }
        Ok(Fleet::new(Arc::clone(registry), names))
    }
}

/// With what servers are measured: where they run, and where loads come from.
pub struct Rig {
    pub host: ServerPlace,
    pub generator: SentFrom<LoadPlace>,
    /// Where what is where, in words.
    pub placement: String,
    /// CPUs of this machine for what prony does beside measuring.
    pub spare: Vec<usize>,
    _scratch: Option<Scratch>,
}

impl Rig {
    /// The same, with connections that come from these addresses.
    pub fn sending_from(mut self, sources: Sources) -> Self {
        self.generator.sources = sources;
        self
    }
}

/// What is on other machines; none of it when everything is here.
pub struct Elsewhere {
    host: Option<RemoteHost>,
    generator: LoadPlace,
    placement: String,
}

impl Apart {
    /// Reaches the machines that the command line names. `starts`: prony starts servers, which then have to be reached
    /// from where the load comes; `upstream`: behind a gateway there is one more.
    pub fn reach(&self, starts: bool, upstream: bool) -> Result<Option<Elsewhere>> {
        let load_from = &self.from.load_from;
        if self.server_on.is_none() && load_from.is_empty() {
            return Ok(None);
        }
        if !starts && self.server_on.is_some() {
            return Err(miette!(
                help = "--load-from says where the load comes from",
                "--server-on is for servers that prony starts, and these run already"
            ));
        }
        let registry = self.from.machines.registry()?;
        let fleet = match load_from.as_slice() {
            [] => None,
            _ => Some(self.from.fleet_of(&registry)?),
        };
        let senders = fleet.as_ref().map_or(Ok(Vec::new()), Fleet::links);
        let senders = senders.map_err(|error| miette!("{error}"))?;
        let from = match load_from.as_slice() {
            [] => "generator on this machine".to_owned(),
            names => format!("generators on {}", names.join(", ")),
        };
        if !starts {
            return Ok(Some(Elsewhere {
                host: None,
                generator: fleet.map_or(LoadPlace::Here(Local), LoadPlace::There),
                placement: from,
            }));
        }
        let name = self.server_on.as_deref().unwrap_or(LOCAL);
        registry.known(name).into_diagnostic()?;
        let told = |error: String| miette!("{error}");
        let link = registry.link(name).map_err(told)?;
        let ip = reached(&link, &senders).map_err(told)?;
        let shared = senders.iter().any(|sender| sender.name() == name)
            || (senders.is_empty() && link.host().launch.is_empty());
        let placement = placed(&link, shared, upstream);
        let words = format!("server on {name} ({} CPUs), {from}", placement.server.len());
        let fleet = fleet.map(|fleet| match shared {
            true => fleet.beside(name, placement.pinned()),
            false => fleet,
        });
        let host = RemoteHost::new(registry, name, ip, placement, shared).map_err(told)?;
        Ok(Some(Elsewhere {
            host: Some(host),
            generator: fleet.map_or(LoadPlace::Here(Local), LoadPlace::There),
            placement: words,
        }))
    }
}

/// Which CPUs of a machine are the server's, its upstream's and, when they are there too, the generators'.
fn placed(link: &Link, shared: bool, upstream: bool) -> Placement {
    let cpus = match link.host().cpus.as_slice() {
        [] => &link.hello().cpus,
        cpus => cpus,
    };
    match (shared, upstream) {
        (true, _) => Sharing::Split.of(cpus, upstream),
        (false, false) => Placement {
            server: cpus.to_vec(),
            generator: Vec::new(),
            upstream: Vec::new(),
        },
        (false, true) => {
            let halves = Placement::split(cpus);
            Placement {
                server: halves.server,
                upstream: halves.generator,
                generator: Vec::new(),
            }
        }
    }
}

impl Elsewhere {
    /// Where servers are built, if that is not here.
    pub fn host(&self) -> Option<&RemoteHost> {
        self.host.as_ref()
    }
}

/// With what servers are measured: `placement` says how this machine's CPUs are divided if they run here, for loads of
/// so many threads.
pub fn rig(
    places: &Places,
    interrupt: &Arc<Interrupt>,
    placement: Placement,
    threads: u32,
    elsewhere: Option<Elsewhere>,
) -> Result<Rig> {
    let Some(elsewhere) = elsewhere else {
        let spare = placement.spare(threads).to_vec();
        let (host, scratch) = local_host(places, interrupt, placement)?;
        return Ok(Rig {
            placement: host.placement.to_string(),
            host: ServerPlace::Here(host),
            generator: SentFrom {
                generator: LoadPlace::Here(Local),
                sources: Sources::default(),
            },
            spare,
            _scratch: Some(scratch),
        });
    };
    let (host, scratch) = match elsewhere.host {
        Some(host) => (ServerPlace::There(host), None),
        None => {
            let (host, scratch) = local_host(places, interrupt, placement)?;
            (ServerPlace::Here(host), Some(scratch))
        }
    };
    Ok(Rig {
        host,
        generator: SentFrom {
            generator: elsewhere.generator,
            sources: Sources::default(),
        },
        placement: elsewhere.placement,
        spare: allowed_cpus(),
        _scratch: scratch,
    })
}

/// Where hosts are listed unless said otherwise.
fn default_file() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    from("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| from("HOME").map(|home| PathBuf::from(home).join(".config")))
        .map(|folder| folder.join("prony/hosts.toml"))
}
