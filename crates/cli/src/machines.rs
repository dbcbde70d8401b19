//! Other machines, as the command line names them.

use crate::args::Limited;
use crate::args::Places;
use crate::args::machines::{Apart, LoadFrom, Machines};
use crate::place::local_host;
use crate::remedy::unknown;
use miette::{IntoDiagnostic, Result, WrapErr, miette};
use prony_lab::control_group::{self, Group};
use prony_lab::experiment::HostPlacement;
use prony_lab::generator::{Generator, Local};
use prony_lab::host::Host;
use prony_lab::interrupt::Interrupt;
use prony_lab::leftovers::Scratch;
use prony_lab::placement::{Placement, Sharing, allowed_cpus};
use prony_lab::sources::{SentFrom, Sources};
use prony_record::ServerLimits;
use prony_remote::check::network;
use prony_remote::host::UpstreamHost;
use prony_remote::reach::reached;
use prony_remote::service_host::ServiceHost;
use prony_remote::{Fleet, Hosts, LOCAL, Link, Registry, RemoteHost, SlowClient};
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

/// Requests per second of a slow client: few beside what servers answer, and enough for a 99th percentile in ten seconds.
const SLOW_RATE: f64 = 100.0;

impl Machines {
    /// The hosts that are known.
    pub fn known(&self) -> Result<Hosts> {
        let mut hosts = match self.hosts.as_deref() {
            Some("slurm") => Hosts::slurm().map_err(|error| miette!("--hosts slurm: {error}"))?,
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
            crate::built::VERSION,
            told,
        )))
    }
}

impl LoadFrom {
    /// The generators on other machines; none: the load comes from this one.
    pub fn fleet(&self) -> Result<Option<Fleet>> {
        if self.client_host.is_empty() {
            return self.without_slow_client().map(|()| None);
        }
        self.fleet_of(&self.machines.registry()?).map(Some)
    }

    /// The same with these agents; there must be a name.
    fn fleet_of(&self, registry: &Arc<Registry>) -> Result<Fleet> {
        let mut names: Vec<String> = Vec::new();
        for name in self.client_host.iter().map(|name| name.trim()) {
            registry.known(name).map_err(|error| unknown(&error))?;
            if names.iter().any(|known| known == name) {
                return Err(usage!("--client-host names {name} twice"));
            }
            names.push(name.to_owned());
        }
        let slow = self.slow_client(registry, &names)?;
        let fleet = Fleet::new(Arc::clone(registry), names);
        Ok(match slow {
            Some(slow) => fleet.measured_by(slow),
            None => fleet,
        })
    }

    /// Where the load comes from, in words.
    pub fn words(&self) -> String {
        let from = match self.client_host.as_slice() {
            [] => return "generator on this machine".to_owned(),
            names => format!("generators on {}", names.join(", ")),
        };
        match &self.probe_host {
            Some(name) => format!("{from}, slow client on {name}"),
            None => from,
        }
    }

    /// The slow client that measures beside the load of these machines.
    fn slow_client(&self, registry: &Registry, senders: &[String]) -> Result<Option<SlowClient>> {
        let Some(name) = self.probe_host.as_deref().map(str::trim) else {
            return Ok(None);
        };
        registry.known(name).map_err(|error| unknown(&error))?;
        if senders.iter().any(|sender| sender == name) {
            return Err(usage!(
                help = "name a machine that does nothing else, such as local, which is this one",
                "--probe-host {name}: that machine sends the load"
            ));
        }
        Ok(Some(SlowClient {
            host: name.to_owned(),
            rate: self.probe_rate.unwrap_or(SLOW_RATE),
        }))
    }

    /// Refuses a slow client where the load comes from this process.
    fn without_slow_client(&self) -> Result<()> {
        match &self.probe_host {
            None => Ok(()),
            Some(name) => Err(usage!(
                help = "--client-host says where the load comes from; --client-host local is this machine",
                "--probe-host {name} needs --client-host: a slow client measures during a load from other machines"
            )),
        }
    }
}

/// With what servers are measured: where they run, and where loads come from.
pub struct Rig {
    pub host: Box<dyn Host>,
    pub generator: SentFrom,
    /// Where what is where, in words.
    pub placement: String,
    /// CPUs of this machine for what prony does beside measuring.
    pub spare: Vec<usize>,
    _scratch: Option<Scratch>,
}

/// The generator of loads from these machines; none: from this process.
pub fn generator_of(fleet: Option<Fleet>) -> Box<dyn Generator> {
    match fleet {
        Some(fleet) => Box::new(fleet),
        None => Box::new(Local),
    }
}

impl Rig {
    /// The same, with connections that come from these addresses.
    pub fn sending_from(mut self, sources: Sources) -> Self {
        self.generator.sources = sources;
        self
    }
}

/// Parts of a measurement that are on other machines; none of them when everything is here.
pub struct Elsewhere {
    host: Option<RemoteHost>,
    generator: Box<dyn Generator>,
    placement: String,
    /// The machine of services, if they have one.
    services: Option<String>,
}

impl Apart {
    /// Fills what the command line leaves open with the values of an experiment.
    pub fn or(&self, place: &HostPlacement) -> Self {
        let mut apart = self.clone();
        if apart.server_host.is_none() {
            apart.server_host.clone_from(&place.server_host);
        }
        if apart.upstream_host.is_none() {
            apart.upstream_host.clone_from(&place.upstream_host);
        }
        if apart.service_host.is_none() {
            apart.service_host.clone_from(&place.service_host);
        }
        apart.server_cpus = apart.server_cpus.or(place.server_cpus.map(NonZeroU32::get));
        apart.limited = apart.limited.or(place);
        if apart.from.client_host.is_empty() {
            apart.from.client_host.clone_from(&place.client_host);
        }
        if apart.from.probe_host.is_none() {
            apart.from.probe_host.clone_from(&place.probe_host);
        }
        apart
    }

    /// Refuses `--why`, which samples processes of this machine, where servers are started by agents.
    pub fn without_why(&self, why: bool) -> Result<()> {
        match why && (self.server_host.is_some() || !self.from.client_host.is_empty()) {
            true => Err(usage!(
                help = "leave out --server-host and --client-host to look into the same servers on this machine, or run the same \
                        command with --why on the servers' machine",
                "--why looks into servers that are started on this machine and loaded from it"
            )),
            false => Ok(()),
        }
    }

    /// Reaches the machines that the command line names. `starts`: prony starts servers, which then have to be reached
    /// from where the load comes; `upstream`: behind a gateway there is one more.
    pub fn reach(&self, starts: bool, upstream: bool) -> Result<Option<Elsewhere>> {
        let on_server = [&self.server_host, &self.service_host];
        if !starts && (on_server.iter().any(|it| it.is_some()) || self.server_cpus.is_some()) {
            return Err(usage!(
                help = "--client-host says where the load comes from",
                "--server-host, --service-host and --server-cpus are for servers that prony starts, and these run already"
            ));
        }
        if self.upstream_host.is_some() && !upstream {
            return Err(usage!(
                help = "experiments with gateways and an upstream, such as weather, have one",
                "--upstream-host: there is no upstream here"
            ));
        }
        if self.from.client_host.is_empty() {
            self.from.without_slow_client()?;
        }
        if self.server_host.is_none() && self.from.client_host.is_empty() {
            let behind = [
                ("upstream", &self.upstream_host),
                ("service", &self.service_host),
            ];
            let behind = behind
                .iter()
                .find_map(|(what, name)| Some((what, name.as_ref()?)));
            return match behind {
                None => Ok(None),
                Some((what, name)) => Err(usage!(
                    help = "--server-host local is this machine, as the others reach it",
                    "--{what}-host {name} needs --server-host"
                )),
            };
        }
        let registry = self.from.machines.registry()?;
        self.reach_by(&registry, starts, upstream).map(Some)
    }

    /// The same by these agents, when a machine is named.
    pub fn reach_by(
        &self,
        registry: &Arc<Registry>,
        starts: bool,
        upstream: bool,
    ) -> Result<Elsewhere> {
        let client_host = &self.from.client_host;
        let fleet = match client_host.as_slice() {
            [] => None,
            _ => Some(self.from.fleet_of(registry)?),
        };
        let senders = fleet.as_ref().map_or(Ok(Vec::new()), Fleet::links);
        let senders = senders.map_err(|error| miette!("{error}"))?;
        let from = self.from.words();
        if !starts {
            return Ok(Elsewhere {
                host: None,
                generator: generator_of(fleet),
                placement: from,
                services: None,
            });
        }
        let name = self.server_host.as_deref().unwrap_or(LOCAL);
        registry.known(name).map_err(|error| unknown(&error))?;
        let told = |error: String| miette!("{error}");
        let link = registry.link(name).map_err(told)?;
        let slow = match &fleet {
            Some(fleet) => fleet.slow_link().map_err(told)?,
            None => None,
        };
        if let Some(slow) = slow.as_ref().filter(|slow| slow.name() == name) {
            return Err(usage!(
                help = "name a machine that does nothing else",
                "--probe-host {}: the servers run there, and would share its CPUs",
                slow.name()
            ));
        }
        let clients: Vec<Arc<Link>> = senders.iter().chain(&slow).cloned().collect();
        let ip = reached(&link, &clients).map_err(told)?;
        let is_shared = |link: &Link| {
            senders.iter().any(|sender| sender.name() == link.name())
                || (senders.is_empty() && link.host().launch.is_empty())
        };
        let shared = is_shared(&link);
        // Beside the server it is on the server's machine, on other CPUs.
        let upstream_host = self.upstream_host.as_deref().filter(|it| *it != name);
        let beside = upstream && upstream_host.is_none();
        let placement = placed(&link, shared, beside, ServerShare::of(self))?;
        let limits = match placement.limits.is_none() {
            true => String::new(),
            false => format!(", {}", placement.limits),
        };
        let mut words = format!(
            "server on {name} ({} CPUs{limits}), ",
            placement.server.len()
        );
        let mut fleet = fleet.map(|fleet| match shared {
            true => fleet.beside(name, placement.pinned()),
            false => fleet,
        });
        let mut host =
            RemoteHost::new(Arc::clone(registry), name, ip, placement, shared).map_err(told)?;
        if let Some(name) = upstream_host {
            registry.known(name).map_err(|error| unknown(&error))?;
            let behind = registry.link(name).map_err(told)?;
            let ways = (
                reached(&behind, &[Arc::clone(&link)]).map_err(told)?,
                // Its verification comes back from there.
                reached(&link, &[Arc::clone(&behind)]).map_err(told)?,
            );
            let shared = is_shared(&behind);
            let halves = placed(&behind, shared, false, ServerShare::default())?;
            words += &format!("upstream on {name} ({} CPUs), ", halves.server.len());
            fleet = fleet.map(|fleet| match shared {
                true => fleet.beside(name, halves.pinned()),
                false => fleet,
            });
            let placement = Placement {
                upstream: halves.server.clone(),
                ..halves
            };
            let beyond = UpstreamHost::new(Arc::clone(registry), name, ways, placement, shared);
            host = host.before(beyond.map_err(told)?);
        }
        if let Some(name) = self.service_host.as_deref().filter(|it| *it != name) {
            registry.known(name).map_err(|error| unknown(&error))?;
            let behind = registry.link(name).map_err(told)?;
            let ip = reached(&behind, &[Arc::clone(&link)]).map_err(told)?;
            let shared = is_shared(&behind);
            let placement = placed(&behind, shared, false, ServerShare::default())?;
            words += &format!("services on {name} ({} CPUs), ", placement.server.len());
            fleet = fleet.map(|fleet| match shared {
                true => fleet.beside(name, placement.pinned()),
                false => fleet,
            });
            let served = ServiceHost::new(Arc::clone(registry), name, ip, placement, shared);
            host = host.served_by(served.map_err(told)?);
        }
        words += &from;
        // So that a load that fills it is told from one that fills a CPU. One that is not known is not judged.
        let apart = senders.iter().any(|sender| sender.name() != name);
        fleet = fleet.map(|fleet| match apart {
            true => match network(&fleet, &link, ip, &Interrupt::default()) {
                Ok(bytes) => fleet.over(bytes),
                Err(_) => fleet,
            },
            false => fleet,
        });
        // From a generator's machine, if there is another and the server's reaches it.
        if let Some(sender) = senders.iter().find(|sender| sender.name() != name) {
            let witness = sender.name();
            match reached(sender, &[link]) {
                Ok(ip) => host = host.verified_from(witness, ip),
                Err(_) => words += &format!(", verified on {name}, which does not reach {witness}"),
            }
        }
        Ok(Elsewhere {
            host: Some(host),
            generator: generator_of(fleet),
            placement: words,
            services: self.service_host.clone(),
        })
    }
}

/// Divides the CPUs of a machine between the server, its upstream and, if `shared`, the generators.
fn placed(link: &Link, shared: bool, upstream: bool, share: ServerShare) -> Result<Placement> {
    let topology = &link.hello().topology;
    let cpus = &match link.host().cpus.as_slice() {
        [] => topology.clone(),
        cpus => topology.only(cpus),
    };
    let placement = match (shared, upstream) {
        (true, _) => Sharing::Split.of(cpus, upstream),
        (false, false) => Placement::alone(cpus),
        (false, true) => {
            let halves = Placement::split(cpus);
            Placement {
                server: halves.server,
                upstream: halves.generator,
                generator: Vec::new(),
                services: Vec::new(),
                limits: ServerLimits::default(),
                topology: halves.topology,
            }
        }
    };
    share
        .of_placement(placement)
        .map_err(|error| miette!("on host {}: {error}", link.name()))
}

/// How much of its machine each server has.
#[derive(Debug, Clone, Copy, Default)]
pub struct ServerShare {
    /// The first CPUs of those that are there for it; None: all of them.
    pub cpus: Option<u32>,
    pub limits: ServerLimits,
    /// All servers run in containers, whose engine limits them.
    pub in_containers: bool,
}

impl ServerShare {
    /// The share of servers that are started as these options say.
    pub fn of(apart: &Apart) -> Self {
        Self {
            cpus: apart.server_cpus,
            limits: apart.limited.limits(),
            in_containers: false,
        }
    }

    /// A placement whose server has this share.
    fn of_placement(self, placement: Placement) -> Result<Placement> {
        let placement = match self.cpus {
            None => placement,
            Some(cpus) => placement.with_server_cpus(cpus as usize).map_err(|there| {
                miette!(
                    help = "with a load from other machines (--client-host) the server has all CPUs of its machine",
                    "--server-cpus {cpus}: there are {there} for the server"
                )
            })?,
        };
        let there = placement.server.len();
        if let Some(cpus) = self.limits.cpus.filter(|it| it.cpus() > there as f64) {
            return Err(usage!(
                help = "give at most that many; --server-cpus and the placement say which CPUs the server has",
                "--server-cpu {}: the server has {} and would not be limited",
                cpus.cpus(),
                match there {
                    1 => "1 CPU".to_owned(),
                    there => format!("{there} CPUs"),
                }
            ));
        }
        Ok(Placement {
            limits: self.limits,
            ..placement
        })
    }
}

impl Limited {
    /// Fills what the command line leaves open with the values of an experiment.
    pub fn or(self, place: &HostPlacement) -> Self {
        Self {
            server_cpu: self.server_cpu.or(place.server_cpu),
            server_memory: self.server_memory.or(place.server_memory),
        }
    }
}

impl Elsewhere {
    /// Where servers are built, if that is not here.
    pub fn host(&self) -> Option<&RemoteHost> {
        self.host.as_ref()
    }
}

/// The host and the generator of a measurement. If the servers run here, `placement` divides this machine's CPUs between
/// them and the `threads` of the generator, and `share` limits each server to a part of its CPUs.
pub fn rig(
    places: &Places,
    interrupt: &Arc<Interrupt>,
    placement: Placement,
    threads: u32,
    elsewhere: Option<Elsewhere>,
    share: ServerShare,
) -> Result<Rig> {
    let Some(elsewhere) = elsewhere else {
        let placement = share.of_placement(placement)?;
        if !share.in_containers {
            Group::check(&placement.limits)
                .map_err(|error| miette!(help = control_group::REMEDY, "{error}"))?;
        }
        let spare = placement.spare(threads).to_vec();
        let (host, scratch) = local_host(places, interrupt, placement)?;
        return Ok(said(Rig {
            placement: host.placement.to_string(),
            host: Box::new(host),
            generator: SentFrom {
                generator: generator_of(None),
                sources: Sources::default(),
            },
            spare,
            _scratch: Some(scratch),
        }));
    };
    if let (Some(name), true) = (&elsewhere.services, placement.services.is_empty()) {
        return Err(usage!(
            help = "--service postgres=schema.sql starts one with each server",
            "--service-host {name}: the servers have no services"
        ));
    }
    let (host, scratch): (Box<dyn Host>, _) = match elsewhere.host {
        Some(host) => (Box::new(host), None),
        None => {
            let (host, scratch) = local_host(places, interrupt, placement)?;
            (Box::new(host), Some(scratch))
        }
    };
    Ok(said(Rig {
        host,
        generator: SentFrom {
            generator: elsewhere.generator,
            sources: Sources::default(),
        },
        placement: elsewhere.placement,
        spare: allowed_cpus(),
        _scratch: scratch,
    }))
}

/// The rig, whose placement is printed where servers are limited: their figures are those of the limits.
fn said(rig: Rig) -> Rig {
    if !rig.host.placement().limits.is_none() {
        eprintln!("{}", rig.placement);
    }
    rig
}

/// Where hosts are listed unless said otherwise.
fn default_file() -> Option<PathBuf> {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    from("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| from("HOME").map(|home| PathBuf::from(home).join(".config")))
        .map(|folder| folder.join("prony/hosts.toml"))
}
