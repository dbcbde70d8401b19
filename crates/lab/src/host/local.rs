//! Servers on this machine.

use super::attached::AttachedServer;
use super::spawned::{ServerEndpoint, SpawnedServer};
use super::{Host, Started, Watched, Watcher};
use crate::builder::{BuildError, Builder, Built};
use crate::catalog::Server;
use crate::contract::{Depth, Fixture, Verified};
use crate::control_group::Folders;
use crate::hook::{AtEnd, Hook};
use crate::interrupt::Interrupt;
use crate::machine::{TcpCounters, this_machine};
use crate::manifest::{CommandError, Fill, command, fill};
use crate::placement::{Placement, list};
use crate::port::Port;
use crate::process::{Launch, Process};
use crate::service::{Connected, ServiceSpecs, Services, Site};
use crate::side::{Candidate, Role, Running};
use crate::starting::wait_for;
use crate::watch::{ProcWatch, Roots};
use crate::workload::Workload;
use prony_engine::{Nanos, Target, descriptors};
use prony_record::{Failure, Resources, ServerLimits, Step};
use serde::{Deserialize, Serialize};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a server listens unless asked otherwise: on a free port.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Ports that are drawn for a server before that is given up.
const TRIES: u32 = 20;
/// More connections at once than a verification makes.
const VERIFIER_CONNECTIONS: u64 = 256;
/// Sockets of a connection that goes through the relay that takes TLS off.
const THROUGH_RELAY: u64 = 3;

/// Host that is this machine.
#[derive(Debug)]
pub struct LocalHost {
    /// File of this program, which is the supervisor too.
    pub prony: PathBuf,
    /// For the servers' output; exists, and is ours.
    pub scratch: PathBuf,
    /// CPUs of server, upstream and generator.
    pub placement: Placement,
    /// Ends the waiting for a server that is starting.
    pub interrupt: Arc<Interrupt>,
    /// Builds servers.
    pub builder: Builder,
}

/// Parts that surround a server and run on other machines.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Elsewhere {
    /// Upstream of a gateway.
    pub upstream: Option<Relayed>,
    /// Services; none: they are started here.
    pub services: Option<Connected>,
}

/// Addresses for a gateway whose upstream has its own machine. While the gateway is verified, that machine passes on
/// what comes to prony's own upstream, which is on the gateway's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relayed {
    /// Where prony's own upstream listens, on this machine.
    pub own: SocketAddr,
    /// Where the gateway finds its upstream, on the other machine.
    pub told: SocketAddr,
}

impl LocalHost {
    /// The host of a server that runs already: nothing is built or started here.
    ///
    /// # Errors
    /// When this program's own file is not known.
    pub fn of_running(placement: Placement, interrupt: &Arc<Interrupt>) -> std::io::Result<Self> {
        let scratch = std::env::temp_dir();
        Ok(Self {
            prony: std::env::current_exe()?,
            builder: Builder::new(&scratch),
            scratch,
            placement,
            interrupt: Arc::clone(interrupt),
        })
    }

    /// Starts a server on `at` and waits until it answers. Port 0 stands for a free one.
    ///
    /// # Errors
    /// When the address cannot be used, or the server does not start, ends by itself, or does not
    /// answer in time.
    pub fn start_on(&self, who: &Candidate<'_>, at: SocketAddr) -> Result<SpawnedServer, Failure> {
        self.start_with(who, at, Elsewhere::default())
    }

    /// Starts a server on `at` whose upstream or services run on other machines, and waits until it answers.
    ///
    /// # Errors
    /// As [`start_on`](Self::start_on).
    pub fn start_with(
        &self,
        who: &Candidate<'_>,
        at: SocketAddr,
        elsewhere: Elsewhere,
    ) -> Result<SpawnedServer, Failure> {
        let upstream = elsewhere.upstream;
        let Candidate {
            server,
            built,
            workers,
            contract,
            role,
            over,
            key,
        } = *who;
        let cannot = |error: &dyn fmt::Display| Failure::new(Step::Start, error.to_string());
        let started = |error: CommandError| cannot(&error);
        // Before the server starts, which inherits the raised limit; and lest the verifier's lack of
        // descriptors be taken for the server's fault.
        descriptors::reserve(VERIFIER_CONNECTIONS * if over.is_tls() { THROUGH_RELAY } else { 1 })
            .map_err(|error| cannot(&error))?;
        let at = match (at.port(), server.manifest.port) {
            (0, Some(fixed)) => SocketAddr::new(at.ip(), fixed),
            _ => at,
        };
        let (addr, port) = address(at)?;
        let place = ServerEndpoint::new(addr, (over, key), &self.scratch)
            .map_err(|error| cannot(&error))?;
        let (certificate, private_key) = place.files();
        let none = ServerLimits::default();
        let (cpus, limits) = match role {
            Role::Server => (&self.placement.server, self.placement.limits),
            // It is around what is measured.
            Role::Upstream => (&self.placement.upstream, none),
        };
        let services = match elsewhere.services {
            Some(connected) => Services::elsewhere(connected),
            None => self.serve(&who.services(), LOOPBACK.ip(), &built.src)?,
        };
        let mut fixture = Fixture::set_up_at(contract, &self.scratch, upstream.map(|it| it.own))
            .map_err(|error| cannot(&error))?;
        if let Some(database) = services.database() {
            fixture = fixture.with_database(database);
        }
        let with = Fill {
            build: built.build.display().to_string(),
            src: built.src.display().to_string(),
            host: addr.ip().to_string(),
            port: addr.port(),
            workers,
            cpus: list(cpus),
            contract: contract.to_string(),
            over: place.over().to_string(),
            cert: certificate,
            key: private_key,
            prony: self.prony.display().to_string(),
            deps: built.deps.display().to_string(),
            cache: built.shared.display().to_string(),
            docroot: fixture.docroot().display().to_string(),
            upstream: upstream
                .map(|it| it.told)
                .or_else(|| fixture.upstream())
                .map_or_else(String::new, |addr| addr.to_string()),
            services: services.connected().placeholders.clone(),
            ..Fill::default()
        };
        let container = built.container.as_ref();
        let run = container.map(|it| it.line(&limits));
        let run = run.as_deref().unwrap_or(&server.manifest.run);
        let line = command(run, &with).map_err(started)?;
        // With the names of services: their URLs have passwords, and differ from start to start.
        let shown = Fill {
            services: with
                .services
                .keys()
                .map(|name| (name.clone(), format!("{{{name}}}")))
                .collect(),
            ..with.clone()
        };
        let shown = command(run, &shown).map_err(started)?;
        let mut env = BTreeMap::new();
        for (name, value) in &server.manifest.env {
            env.insert(name.clone(), fill(value, &with).map_err(started)?);
        }
        env.extend(services.connected().env.clone());
        let launch = Launch {
            command: line.clone(),
            env,
            cpus: cpus.clone(),
            // A container's are set by its engine.
            limits: if container.is_some() { none } else { limits },
            folder: built.src.clone(),
            log: self
                .scratch
                .join(format!("{}-{}.log", server.name, addr.port())),
        };
        let hook = |line: &String| Hook {
            line: line.clone(),
            folder: launch.folder.clone(),
            env: launch.env.clone(),
        };
        // Before what is prepared, which may fail half-way.
        let cleanup = server.manifest.cleanup.as_ref().map(hook).map(AtEnd);
        if let Some(prepare) = server.manifest.prepare.as_ref().map(hook) {
            prepare.run().map_err(|error| cannot(&error))?;
        }
        let container = container.map(|it| it.on(addr.port()));
        let begun = Instant::now();
        let mut process = Process::start(&self.prony, &launch)
            .map_err(|error| Failure::new(Step::Start, format!("`{}`: {error}", line.join(" "))))?;
        let limit = server.manifest.start_timeout();
        let probe = |patience| place.probe(contract, patience);
        wait_for(&mut process, &probe, limit, &self.interrupt)?;
        let ready = begun.elapsed();
        let container = container.map(|it| {
            let first = it.pid().ok_or_else(|| {
                Failure::new(
                    Step::Ready,
                    "its container has no process that can be watched",
                )
            })?;
            Ok::<_, Failure>((it, first))
        });
        let container = container.transpose()?;
        let limited = match &container {
            Some((_, first)) => Folders::around(*first, &limits)
                .map_err(|why| Failure::new(Step::Ready, why.to_string()))?,
            None => process.group().cloned(),
        };
        Ok(SpawnedServer {
            paused: None,
            container,
            process,
            services,
            _cleanup: cleanup,
            _port: port,
            place,
            command: shown,
            ready,
            fixture,
            expected_failures: who.expected_failures().clone(),
            parts: server.manifest.parts.clone(),
            limited,
        })
    }

    /// Starts services that listen on this address; what command lines name is seen from `folder`.
    ///
    /// # Errors
    /// When one does not start, ends by itself, or is not ready in time.
    pub fn serve(
        &self,
        specs: &ServiceSpecs,
        ip: IpAddr,
        folder: &Path,
    ) -> Result<Services, Failure> {
        let site = Site {
            prony: &self.prony,
            cache: self.builder.cache(),
            cpus: self.placement.for_services(),
            ip,
            interrupt: &self.interrupt,
            folder,
        };
        Services::start(specs, site)
    }

    /// Watches services without a server, once per `period` while they are measured.
    #[must_use]
    pub fn watch_services(&self, services: &Services, period: Duration) -> Box<dyn Watcher> {
        let services = services.roots();
        let Some(first) = services.first() else {
            return Box::new(TcpWatch(TcpCounters::read()));
        };
        let roots = Roots {
            server: first.root,
            upstream: None,
            services,
            limited: None,
            port: 0,
        };
        Box::new(ProcWatch::start(roots, self.placement.clone(), period))
    }

    /// Starts a server, verifies it thoroughly, and stops it.
    ///
    /// # Errors
    /// When it does not start or answer, or answers wrongly.
    pub fn check(&self, who: &Candidate<'_>) -> Result<Verified, Failure> {
        let mut running = self.start_on(who, LOOPBACK)?;
        running.inspect(Step::Verify, who.contract, Depth::Thorough, rand::random())
    }

    /// Starts an upstream in the place of the one that has verified a gateway.
    ///
    /// # Errors
    /// When the gateway has none, or as for [`start_on`](Self::start_on).
    pub fn start_behind(
        &self,
        gateway: &mut SpawnedServer,
        upstream: &Candidate<'_>,
    ) -> Result<SpawnedServer, Failure> {
        let none = || Failure::new(Step::Start, "it has no upstream to be replaced");
        let addr = gateway.fixture.upstream().ok_or_else(none)?;
        gateway.fixture.release();
        let behind = self.start_on(upstream, addr)?;
        gateway.fixture.hand_over(&behind.fixture);
        Ok(behind)
    }
}

/// Where a server is to listen: there, or on a port that is free and reserved, if it is 0.
fn address(addr: SocketAddr) -> Result<(SocketAddr, Option<Port>), Failure> {
    let failed = |message: String| Failure::new(Step::Start, message);
    // A server that is there already would answer in this one's place.
    let unused = |addr: SocketAddr| TcpListener::bind(addr).map(drop);
    if addr.port() != 0 {
        unused(addr).map_err(|error| failed(format!("{addr} cannot be used: {error}")))?;
        return Ok((addr, None));
    }
    for _ in 0..TRIES {
        let port = Port::free().map_err(|error| failed(error.to_string()))?;
        let addr = SocketAddr::new(addr.ip(), port.number());
        if unused(addr).is_ok() {
            return Ok((addr, Some(port)));
        }
    }
    Err(failed(format!("no port of {} can be used", addr.ip())))
}

impl Host for LocalHost {
    fn machine(&self) -> prony_record::Host {
        this_machine()
    }

    fn placement(&self) -> &Placement {
        &self.placement
    }

    fn build(&self, server: &Server) -> Result<Built, BuildError> {
        self.builder.build(server)
    }

    fn start(&self, who: &Candidate<'_>) -> Result<Box<dyn Started>, Failure> {
        Ok(Box::new(self.start_on(who, LOOPBACK)?))
    }

    fn attach(&self, running: &Running, workload: &Workload) -> Result<Box<dyn Started>, Failure> {
        Ok(Box::new(AttachedServer::of(
            running,
            workload,
            &self.scratch,
        )?))
    }

    fn attach_upstream(
        &self,
        gateway: &mut dyn Started,
        upstream: &Candidate<'_>,
    ) -> Result<Box<dyn Started>, Failure> {
        let gateway: &mut dyn Any = gateway;
        let gateway = gateway.downcast_mut().ok_or_else(|| {
            Failure::new(Step::Start, "only servers that prony starts have upstreams")
        })?;
        Ok(Box::new(self.start_behind(gateway, upstream)?))
    }

    fn watch(
        &self,
        server: &dyn Started,
        upstream: Option<&dyn Started>,
        period: Duration,
    ) -> Box<dyn Watcher> {
        let Some(root) = server.root() else {
            return Box::new(TcpWatch(TcpCounters::read()));
        };
        let roots = Roots {
            server: root,
            upstream: upstream.and_then(Started::root),
            services: server.services(),
            limited: server.limited(),
            port: match server.target() {
                Target::Tcp(address) => address.port(),
                // Connections are found by their port.
                Target::Unix(_) => 0,
            },
        };
        Box::new(ProcWatch::start(roots, self.placement.clone(), period))
    }
}

/// Watch of a server whose processes are not known: of TCP alone, from these counters on.
#[derive(Debug)]
struct TcpWatch(TcpCounters);

impl Watcher for TcpWatch {
    fn measure(&self, _from: Nanos, _until: Nanos) {}

    fn used(&self) -> Option<f64> {
        None
    }

    fn finish(self: Box<Self>) -> Watched {
        let tcp = TcpCounters::read().since(&self.0);
        let resources = Resources {
            listen_overflows: tcp.listen_overflows,
            retransmits: tcp.retransmits,
            syn_retransmits: tcp.syn_retransmits,
            ..Resources::default()
        };
        Watched {
            resources,
            ..Watched::default()
        }
    }
}
