//! This machine as a host.

use super::external::External;
use super::{Host, Looks, Proof, Started, Watched};
use crate::builder::{BuildError, Builder, Built};
use crate::catalog::Server;
use crate::contract::{Contract, Depth, Fixture, Inspection, Verified, Violation, Wanted};
use crate::get::Spoken;
use crate::interrupt::Interrupt;
use crate::machine::{TcpCounters, this_machine};
use crate::manifest::{CommandError, Fill, command, fill};
use crate::placement::Placement;
use crate::process::{Launch, Process, free_port};
use crate::side::{Ask, Candidate, Role, Running};
use crate::starting::{Starting, active};
use crate::watch::{ProcWatch, Roots};
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Target, clock, descriptors};
use prony_record::{Failure, Load, Resources, Step};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Where a server listens unless asked otherwise: on a free port.
const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// More connections at once than a verification makes.
const VERIFIER_CONNECTIONS: u64 = 256;

/// This machine.
#[derive(Debug)]
pub struct LocalHost {
    /// This program, which is the supervisor too.
    pub prony: PathBuf,
    /// For the servers' output; exists, and is ours.
    pub scratch: PathBuf,
    /// Which CPUs server, upstream and generator have.
    pub placement: Placement,
    /// Ends the waiting for a server that is starting.
    pub interrupt: Arc<Interrupt>,
    /// Builds servers.
    pub builder: Builder,
}

/// A server on this machine.
#[derive(Debug)]
pub struct LocalServer(Kind);

#[derive(Debug)]
enum Kind {
    Ours(Box<Ours>),
    External(Box<External>),
}

/// A server that this program has started.
#[derive(Debug)]
struct Ours {
    process: Process,
    addr: SocketAddr,
    command: Vec<String>,
    ready: Duration,
    fixture: Fixture,
    expected_failures: BTreeMap<String, String>,
}

impl LocalHost {
    /// Starts a server on `at` and waits until it answers. Port 0 stands for a free one.
    ///
    /// # Errors
    /// When the address cannot be used, or the server does not start, ends by itself, or does not
    /// answer in time.
    pub fn start_on(&self, who: &Candidate<'_>, at: SocketAddr) -> Result<LocalServer, Failure> {
        let Candidate {
            server,
            built,
            workers,
            contract,
            role,
            http2,
        } = *who;
        let cannot = |error: &dyn fmt::Display| Failure::new(Step::Start, error.to_string());
        let started = |error: CommandError| cannot(&error);
        // Before the server starts, which inherits the raised limit; and lest the verifier's lack of
        // descriptors be taken for the server's fault.
        descriptors::reserve(VERIFIER_CONNECTIONS).map_err(|error| cannot(&error))?;
        let fixture = Fixture::set_up(contract, &self.scratch).map_err(|error| cannot(&error))?;
        let addr = self.address(at)?;
        let with = Fill {
            build: built.build.display().to_string(),
            src: built.src.display().to_string(),
            host: addr.ip().to_string(),
            port: addr.port(),
            workers,
            contract: contract.to_string(),
            prony: self.prony.display().to_string(),
            deps: built.deps.display().to_string(),
            cache: built.shared.display().to_string(),
            docroot: fixture.docroot().display().to_string(),
            upstream: fixture
                .upstream()
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
            cpus: match role {
                Role::Server => self.placement.server.clone(),
                Role::Upstream => self.placement.upstream.clone(),
            },
            folder: built.src.clone(),
            log: self
                .scratch
                .join(format!("{}-{}.log", server.name, addr.port())),
        };
        let begun = Instant::now();
        let mut process = Process::start(&self.prony, &launch)
            .map_err(|error| Failure::new(Step::Start, format!("`{}`: {error}", line.join(" "))))?;
        let limit = server.manifest.start_timeout();
        let probe = |patience| match http2 {
            true => prony_engine::protocol::h2::probe(&Target::Tcp(addr), patience)
                .map_err(|error| error.to_string()),
            false => contract
                .probe(addr, patience)
                .map_err(|error| error.to_string()),
        };
        self.wait_for(&mut process, &probe, limit)?;
        Ok(LocalServer(Kind::Ours(Box::new(Ours {
            process,
            addr,
            command: line,
            ready: begun.elapsed(),
            fixture,
            expected_failures: who.expected_failures().clone(),
        }))))
    }

    /// Where a server is to listen: there, or on a free port when it is 0.
    fn address(&self, mut addr: SocketAddr) -> Result<SocketAddr, Failure> {
        let failed = |message: String| Failure::new(Step::Start, message);
        if addr.port() == 0 {
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(rand::random());
            addr.set_port(free_port(&mut rng).map_err(|error| failed(error.to_string()))?);
        }
        // A server that is there already would answer in this one's place.
        TcpListener::bind(addr)
            .map_err(|error| failed(format!("{addr} cannot be used: {error}")))?;
        Ok(addr)
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
            if let Some(why) = starting.look(begun.elapsed(), || active(process.root())) {
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
        let LocalServer(Kind::Ours(mut running)) = self.start_on(who, LOOPBACK)? else {
            unreachable!("it was started here")
        };
        running.inspect(Step::Verify, who.contract, Depth::Thorough, rand::random())
    }
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

    fn attach(&self, running: &Running, ask: &Ask) -> Result<LocalServer, Failure> {
        External::of(running, ask, &self.scratch)
            .map(|it| LocalServer(Kind::External(Box::new(it))))
    }

    fn put_behind(
        &self,
        gateway: &mut LocalServer,
        upstream: &Candidate<'_>,
    ) -> Result<LocalServer, Failure> {
        let none = || Failure::new(Step::Start, "it has no upstream to be replaced");
        let Kind::Ours(gateway) = &mut gateway.0 else {
            return Err(none());
        };
        let addr = gateway.fixture.upstream().ok_or_else(none)?;
        gateway.fixture.release();
        let behind = self.start_on(upstream, addr)?;
        if let Kind::Ours(behind) = &behind.0 {
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
        match &server.0 {
            Kind::External(_) => LocalWatch::Tcp(TcpCounters::read()),
            Kind::Ours(ours) => {
                let roots = Roots {
                    server: ours.process.root(),
                    upstream: upstream.and_then(Started::root),
                    port: ours.addr.port(),
                };
                LocalWatch::Processes(ProcWatch::start(roots, self.placement.clone(), period))
            }
        }
    }
}

/// What watches a server on this machine.
#[derive(Debug)]
pub enum LocalWatch {
    /// Its processes.
    Processes(ProcWatch),
    /// Of a server that is not ours nothing is known but what TCP did, since this.
    Tcp(TcpCounters),
}

impl Looks for LocalWatch {
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

impl Ours {
    fn inspect(
        &mut self,
        step: Step,
        contract: Contract,
        depth: Depth,
        seed: u64,
    ) -> Result<Verified, Failure> {
        Inspection::new(depth, seed)
            .knowing(&self.expected_failures)
            .of(contract, self.addr, &self.fixture)
            .map_err(|violation| self.process.violated(step, &violation))
    }

    fn dialogue(&mut self, how: &Proof<'_>, load: &Load) -> Result<Dialogue, Failure> {
        match how.ask {
            Ask::Get(get) => get
                .dialogue(
                    self.addr,
                    &Spoken {
                        authority: &self.addr.to_string(),
                        tls: false,
                        http2: how.http2,
                    },
                )
                .map_err(|message| {
                    Failure::new(Step::Verify, message).with_output(self.process.output())
                }),
            Ask::Requests { asked, .. } => {
                Ok(asked.dialogue(&self.addr.to_string(), load.keepalive))
            }
            Ask::Contract(contract) => Inspection::new(how.depth, how.seed)
                .knowing(&self.expected_failures)
                .dialogue(*contract, self.addr, &self.fixture, Wanted::of(load))
                .map_err(|violation| self.process.violated(Step::Load, &violation)),
        }
    }
}

impl Process {
    fn violated(&mut self, step: Step, violation: &Violation) -> Failure {
        self.failed(step, violation.to_string())
    }

    fn failed(&mut self, step: Step, what: String) -> Failure {
        let message = match self.exited() {
            Some(exit) => format!("{what} (the server ended {exit})"),
            None => what,
        };
        Failure::new(step, message).with_output(self.output())
    }
}

impl LocalServer {
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
            Kind::Ours(ours) => Target::Tcp(ours.addr),
            Kind::External(external) => external.target(),
        }
    }

    fn tls(&self) -> Option<TlsOptions> {
        match &self.0 {
            Kind::External(external) => external.tls(),
            _ => None,
        }
    }

    fn command(&self) -> &[String] {
        match &self.0 {
            Kind::Ours(ours) => &ours.command,
            Kind::External(external) => external.command(),
        }
    }

    fn ready_ns(&self) -> Nanos {
        match &self.0 {
            Kind::Ours(ours) => clock::nanos(ours.ready),
            Kind::External(external) => external.ready_ns(),
        }
    }

    fn verify(&mut self, step: Step, how: &Proof<'_>) -> Result<(), Failure> {
        match (&mut self.0, how.ask) {
            (Kind::External(external), _) => external.verify(step, how),
            (Kind::Ours(ours), Ask::Contract(contract)) => {
                ours.inspect(step, *contract, how.depth, how.seed).map(drop)
            }
            (Kind::Ours(_), Ask::Get(_)) => Ok(()),
            (Kind::Ours(ours), Ask::Requests { asked, .. }) => {
                let (target, host) = (Target::Tcp(ours.addr), ours.addr.to_string());
                asked
                    .prove((&target, None), &host, (how.depth, how.seed))
                    .map_err(|message| ours.process.failed(step, message))
            }
        }
    }

    fn dialogue(&mut self, how: &Proof<'_>, load: &Load) -> Result<Dialogue, Failure> {
        match &mut self.0 {
            Kind::Ours(ours) => ours.dialogue(how, load),
            Kind::External(external) => external.dialogue(how, load),
        }
    }

    fn root(&self) -> Option<libc::pid_t> {
        match &self.0 {
            Kind::Ours(ours) => Some(ours.process.root()),
            Kind::External(external) => external.root(),
        }
    }

    fn exited(&mut self) -> Option<String> {
        match &mut self.0 {
            Kind::Ours(ours) => ours.process.exited().map(ToOwned::to_owned),
            Kind::External(external) => external.exited(),
        }
    }

    fn output(&self) -> String {
        match &self.0 {
            Kind::Ours(ours) => ours.process.output(),
            Kind::External(external) => external.output(),
        }
    }

    fn stop(self) {
        match self.0 {
            Kind::Ours(ours) => ours.process.stop(),
            Kind::External(external) => external.stop(),
        }
    }
}
