//! Servers on this machine.

use super::attached::AttachedServer;
use super::spawned::{SpawnedServer, Place};
use super::{Host, Watcher, VerifySpec, Started, Watched};
use crate::builder::{BuildError, Builder, Built};
use crate::catalog::Server;
use crate::contract::{Depth, Fixture, Verified};
use crate::hook::{AtEnd, Hook};
use crate::interrupt::Interrupt;
use crate::machine::{TcpCounters, this_machine};
use crate::manifest::{CommandError, Fill, command, fill};
use crate::placement::{Placement, list};
use crate::port::Port;
use crate::process::{Launch, Process};
use crate::side::{Workload, Candidate, Role, Running};
use crate::starting::{Starting, activity};
use crate::tree::Root;
use crate::watch::{ProcWatch, Roots};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Target, descriptors};
use prony_record::{Failure, Load, Resources, Step};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
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

/// Addresses for a gateway whose upstream has its own machine. While the gateway is verified, that machine passes on
/// what comes to prony's own upstream, which is on the gateway's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relayed {
    /// Where prony's own upstream listens, on this machine.
    pub own: SocketAddr,
    /// Where the gateway finds its upstream, on the other machine.
    pub told: SocketAddr,
}

/// A server on this machine.
#[derive(Debug)]
pub struct LocalServer(Kind);

#[derive(Debug)]
enum Kind {
    SpawnedServer(Box<SpawnedServer>),
    AttachedServer(Box<AttachedServer>),
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
    pub fn start_on(&self, who: &Candidate<'_>, at: SocketAddr) -> Result<LocalServer, Failure> {
        self.start_before(who, at, None)
    }

    /// The same for a gateway whose upstream has a machine of its own.
    ///
    /// # Errors
    /// As [`start_on`](Self::start_on).
    pub fn start_before(
        &self,
        who: &Candidate<'_>,
        at: SocketAddr,
        upstream: Option<Relayed>,
    ) -> Result<LocalServer, Failure> {
        let Candidate {
            server,
            built,
            workers,
            contract,
            role,
            http2,
            key,
        } = *who;
        let cannot = |error: &dyn fmt::Display| Failure::new(Step::Start, error.to_string());
        let started = |error: CommandError| cannot(&error);
        // Before the server starts, which inherits the raised limit; and lest the verifier's lack of
        // descriptors be taken for the server's fault.
        descriptors::reserve(VERIFIER_CONNECTIONS * if key.is_some() { THROUGH_RELAY } else { 1 })
            .map_err(|error| cannot(&error))?;
        let fixture = Fixture::set_up_at(contract, &self.scratch, upstream.map(|it| it.own))
            .map_err(|error| cannot(&error))?;
        let (addr, port) = address(at)?;
        let place =
            Place::new(addr, (key, http2), &self.scratch).map_err(|error| cannot(&error))?;
        let (certificate, private_key) = place.files();
        let cpus = match role {
            Role::Server => &self.placement.server,
            Role::Upstream => &self.placement.upstream,
        };
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
            ..Fill::default()
        };
        let line = command(&server.manifest.run, &with).map_err(started)?;
        let mut env = BTreeMap::new();
        for (name, value) in &server.manifest.env {
            env.insert(name.clone(), fill(value, &with).map_err(started)?);
        }
        let launch = Launch {
            command: line.clone(),
            env,
            cpus: cpus.clone(),
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
        let container = built.container.as_ref().map(|it| it.on(addr.port()));
        let begun = Instant::now();
        let mut process = Process::start(&self.prony, &launch)
            .map_err(|error| Failure::new(Step::Start, format!("`{}`: {error}", line.join(" "))))?;
        let limit = server.manifest.start_timeout();
        let probe = |patience| place.probe(contract, patience);
        self.wait_for(&mut process, &probe, limit)?;
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
        Ok(LocalServer(Kind::SpawnedServer(Box::new(SpawnedServer {
            paused: None,
            container: container.transpose()?,
            process,
            _cleanup: cleanup,
            _port: port,
            place,
            command: line,
            ready,
            fixture,
            expected_failures: who.expected_failures().clone(),
        }))))
    }

    fn wait_for(
        &self,
        process: &mut Process,
        probe: &dyn Fn(Duration) -> Result<(), String>,
        limit: Duration,
    ) -> Result<(), Failure> {
        let (begun, mut starting) = (Instant::now(), Starting::new(limit));
        loop {
            if let Some(exit) = process.exited() {
                let message = format!("it ended {exit} before it answered");
                return Err(Failure::new(Step::Ready, message).with_output(process.output()));
            }
            let Err(error) = probe(starting.patience()) else {
                return Ok(());
            };
            if self.interrupt.fired() {
                return Err(Failure::new(Step::Ready, "interrupted"));
            }
            if let Some(why) = starting.look(begun.elapsed(), || activity(process.root())) {
                let message = format!("{why}: {error}");
                return Err(Failure::new(Step::Ready, message).with_output(process.output()));
            }
            std::thread::sleep(starting.pause());
        }
    }

    /// Starts a server, verifies it thoroughly, and stops it.
    ///
    /// # Errors
    /// When it does not start or answer, or answers wrongly.
    pub fn check(&self, who: &Candidate<'_>) -> Result<Verified, Failure> {
        let LocalServer(Kind::SpawnedServer(mut running)) = self.start_on(who, LOOPBACK)? else {
            unreachable!("it was started here")
        };
        running.inspect(Step::Verify, who.contract, Depth::Thorough, rand::random())
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
    type Server = LocalServer;
    type Watch = LocalWatch;

    fn machine(&self) -> prony_record::Host {
        this_machine()
    }

    fn placement(&self) -> &Placement {
        &self.placement
    }

    fn build(&self, server: &Server) -> Result<Built, BuildError> {
        self.builder.build(server)
    }

    fn start(&self, who: &Candidate<'_>) -> Result<LocalServer, Failure> {
        self.start_on(who, LOOPBACK)
    }

    fn attach(&self, running: &Running, workload: &Workload) -> Result<LocalServer, Failure> {
        AttachedServer::of(running, workload, &self.scratch)
            .map(|it| LocalServer(Kind::AttachedServer(Box::new(it))))
    }

    fn attach_upstream(
        &self,
        gateway: &mut LocalServer,
        upstream: &Candidate<'_>,
    ) -> Result<LocalServer, Failure> {
        let none = || Failure::new(Step::Start, "it has no upstream to be replaced");
        let Kind::SpawnedServer(gateway) = &mut gateway.0 else {
            return Err(none());
        };
        let addr = gateway.fixture.upstream().ok_or_else(none)?;
        gateway.fixture.release();
        let behind = self.start_on(upstream, addr)?;
        if let Kind::SpawnedServer(behind) = &behind.0 {
            gateway.fixture.hand_over(&behind.fixture);
        }
        Ok(behind)
    }

    fn watch(
        &self,
        server: &LocalServer,
        upstream: Option<&LocalServer>,
        period: Duration,
    ) -> LocalWatch {
        let Some(root) = server.root() else {
            return LocalWatch::Tcp(TcpCounters::read());
        };
        let roots = Roots {
            server: root,
            upstream: upstream.and_then(Started::root),
            port: match server.target() {
                Target::Tcp(address) => address.port(),
                // Connections are found by their port.
                Target::Unix(_) => 0,
            },
        };
        LocalWatch::Processes(ProcWatch::start(roots, self.placement.clone(), period))
    }
}

/// Watch over a server on this machine.
#[derive(Debug)]
pub enum LocalWatch {
    /// The server's processes are watched.
    Processes(ProcWatch),
    /// The server's processes are not known: only TCP is watched, from these counters on.
    Tcp(TcpCounters),
}

impl Watcher for LocalWatch {
    fn measure(&self, from: Nanos, until: Nanos) {
        if let Self::Processes(watch) = self {
            watch.measure(from, until);
        }
    }

    fn used(&self) -> Option<f64> {
        match self {
            Self::Processes(watch) => watch.used(),
            Self::Tcp(_) => None,
        }
    }

    fn finish(self) -> Watched {
        match self {
            Self::Processes(watch) => watch.finish(),
            Self::Tcp(before) => {
                let tcp = TcpCounters::read().since(&before);
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
    }
}

impl LocalServer {
    /// The file of the certificate that it was given; None without TLS.
    #[must_use]
    pub fn certificate(&self) -> Option<PathBuf> {
        match &self.0 {
            Kind::SpawnedServer(spawned) => spawned.place.certificate(),
            Kind::AttachedServer(_) => None,
        }
    }

    /// From here on it is verified through this relay; none: where it listens.
    ///
    /// # Errors
    /// When the relay that takes TLS off cannot be made.
    pub fn verify_through(&mut self, relay: Option<SocketAddr>) -> Result<(), Failure> {
        match &mut self.0 {
            Kind::SpawnedServer(spawned) => spawned.place.reach(relay),
            Kind::AttachedServer(_) => Ok(()),
        }
    }

    /// Stops prony's own upstream behind it, so that another can take its place.
    pub fn release_upstream(&mut self) {
        if let Kind::SpawnedServer(spawned) = &mut self.0 {
            spawned.fixture.release();
        }
    }

    /// Starts prony's own upstream again where it was, so that the gateway can be verified.
    ///
    /// # Errors
    /// When its address is in use.
    pub fn resume_upstream(&mut self) -> Result<(), Failure> {
        match &mut self.0 {
            Kind::SpawnedServer(spawned) => (spawned.fixture.resume()).map_err(|error| {
                Failure::new(Step::VerifyAgain, format!("prony's own upstream: {error}"))
            }),
            Kind::AttachedServer(_) => Ok(()),
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        match self.target() {
            Target::Tcp(addr) => addr,
            Target::Unix(_) => unreachable!("servers listen on TCP here"),
        }
    }
}

impl Started for LocalServer {
    fn target(&self) -> Target {
        match &self.0 {
            Kind::SpawnedServer(spawned) => spawned.target(),
            Kind::AttachedServer(attached) => attached.target(),
        }
    }

    fn tls(&self) -> Option<TlsOptions> {
        match &self.0 {
            Kind::SpawnedServer(spawned) => spawned.tls(),
            Kind::AttachedServer(attached) => attached.tls(),
        }
    }

    fn command(&self) -> &[String] {
        match &self.0 {
            Kind::SpawnedServer(spawned) => spawned.command(),
            Kind::AttachedServer(attached) => attached.command(),
        }
    }

    fn ready_ns(&self) -> Nanos {
        match &self.0 {
            Kind::SpawnedServer(spawned) => spawned.ready_ns(),
            Kind::AttachedServer(attached) => attached.ready_ns(),
        }
    }

    fn verify(&mut self, step: Step, how: &VerifySpec<'_>) -> Result<(), Failure> {
        match &mut self.0 {
            Kind::SpawnedServer(spawned) => spawned.verify(step, how),
            Kind::AttachedServer(attached) => attached.verify(step, how),
        }
    }

    fn dialogue(&mut self, how: &VerifySpec<'_>, load: &Load) -> Result<Dialogue, Failure> {
        match &mut self.0 {
            Kind::SpawnedServer(spawned) => spawned.dialogue(how, load),
            Kind::AttachedServer(attached) => attached.dialogue(how, load),
        }
    }

    fn root(&self) -> Option<Root> {
        match &self.0 {
            Kind::SpawnedServer(spawned) => spawned.root(),
            Kind::AttachedServer(attached) => attached.root(),
        }
    }

    fn pause(&mut self) {
        match &mut self.0 {
            Kind::SpawnedServer(spawned) => spawned.pause(),
            Kind::AttachedServer(attached) => attached.pause(),
        }
    }

    fn resume(&mut self) {
        match &mut self.0 {
            Kind::SpawnedServer(spawned) => spawned.resume(),
            Kind::AttachedServer(attached) => attached.resume(),
        }
    }

    fn exited(&mut self) -> Option<String> {
        match &mut self.0 {
            Kind::SpawnedServer(spawned) => spawned.exited(),
            Kind::AttachedServer(attached) => attached.exited(),
        }
    }

    fn output(&self) -> String {
        match &self.0 {
            Kind::SpawnedServer(spawned) => spawned.output(),
            Kind::AttachedServer(attached) => attached.output(),
        }
    }

    fn stop(self) {
        match self.0 {
            Kind::SpawnedServer(spawned) => spawned.stop(),
            Kind::AttachedServer(attached) => attached.stop(),
        }
    }
}
