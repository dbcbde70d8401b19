//! The agents that are there: each is started when it is first needed, and again when it is lost.

use crate::hosts::{Hosts, UnknownHost};
use crate::launch::Program;
use crate::link::Link;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Tells what is going on while agents are started.
pub type Told = Box<dyn Fn(&str) + Send + Sync>;

/// The agent of one host, if it is there. Locked while it is started, so that it is started once.
type LinkSlot = Arc<Mutex<Option<Arc<Link>>>>;

/// The agents of this program.
pub struct Registry {
    hosts: Hosts,
    program: Program,
    version: String,
    told: Told,
    links: Mutex<BTreeMap<String, LinkSlot>>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry")
            .field("hosts", &self.hosts)
            .finish_non_exhaustive()
    }
}

impl Registry {
    /// No agent yet. `program` is this program's file, `version` what it prints for `--version`.
    #[must_use]
    pub fn new(hosts: Hosts, program: &Path, version: &str, told: Told) -> Self {
        Self {
            hosts,
            program: Program::at(program),
            version: version.to_owned(),
            told,
            links: Mutex::default(),
        }
    }

    /// The hosts that are known.
    pub fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// Is there such a host?
    ///
    /// # Errors
    /// When there is none.
    pub fn known(&self, name: &str) -> Result<(), UnknownHost> {
        self.hosts.get(name).map(drop)
    }

    /// The agent of this host, which is started unless it is there. Those of several hosts can be started side by side.
    ///
    /// # Errors
    /// When there is no such host, or no agent can be started there.
    pub fn link(&self, name: &str) -> Result<Arc<Link>, String> {
        let host = self.hosts.get(name).map_err(|error| error.to_string())?;
        let place = {
            let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(links.entry(name.to_owned()).or_default())
        };
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        match place.as_ref() {
            Some(link) if link.lost().is_none() => return Ok(Arc::clone(link)),
            Some(_) => (self.told)(&format!("starting prony on {name} again")),
            None => {}
        }
        let copying = |size: u64| {
            let size = size as f64 / 1e6;
            (self.told)(&format!("copying prony to {name} ({size:.0} MB, once)"));
        };
        let link = Link::open(&host, &self.program, &self.version, &copying)?;
        let link = Arc::new(link);
        *place = Some(Arc::clone(&link));
        Ok(link)
    }
}
