//! Another machine as a host: servers are built, started, watched and stopped there.

use crate::link::Link;
use crate::message::{
    Call, RemoteVerifySpec, RemoteWorkload, Reply, SourceFile, Sources, Start, Up,
};
use crate::registry::Registry;
use crate::service_host::{RemoteServices, ServiceHost};
use crate::watch::RemoteWatch;
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Target};
use prony_lab::builder::{BuildError, Built, Missing};
use prony_lab::catalog::Server;
use prony_lab::contract::Contract;
use prony_lab::host::{Elsewhere, Host, Relayed, Started, VerifySpec, Watcher};
use prony_lab::placement::Placement;
use prony_lab::side::{Candidate, Role, Running};
use prony_lab::tree::Root;
use prony_lab::workload::Workload;
use prony_record::load::Protocol;
use prony_record::{Failure, Load, Step};
use std::any::Any;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A host only gets servers that it has started itself.
const OWN: &str = "a server is where its host is";
/// The largest folder of sources that is sent, in bytes.
const MOST_SOURCES: u64 = 64 << 20;

/// A machine on which servers are built and started.
pub(crate) struct HostAgent {
    registry: Arc<Registry>,
    name: String,
    /// Link to its agent; replaced when that agent is lost.
    link: Mutex<Arc<Link>>,
    placement: Placement,
    /// Servers of the catalog that were built there.
    built: Mutex<BTreeSet<String>>,
}

impl HostAgent {
    pub(crate) fn new(
        registry: Arc<Registry>,
        name: &str,
        placement: Placement,
    ) -> Result<Self, String> {
        let link = registry.link(name)?;
        link.call(Call::Host(placement.clone()))?;
        Ok(Self {
            registry,
            name: name.to_owned(),
            link: Mutex::new(link),
            placement,
            built: Mutex::default(),
        })
    }

    /// Returns the link to its agent. Starts a lost agent again: what it had built is still there.
    ///
    /// # Errors
    /// When that cannot be done.
    pub(crate) fn link(&self) -> Result<Arc<Link>, String> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if link.lost().is_some() {
            let again = self.registry.link(&self.name)?;
            again.call(Call::Host(self.placement.clone()))?;
            *link = again;
        }
        Ok(Arc::clone(&link))
    }

    fn built(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn build(&self, server: &Server) -> Result<Built, BuildError> {
        let elsewhere = |text: String| BuildError::Elsewhere(text, Missing(false));
        let sources = sources(server).map_err(|error| elsewhere(error.to_string()))?;
        let link = self.link().map_err(elsewhere)?;
        link.call(Call::Adopt(Box::new(sources)))
            .map_err(elsewhere)?;
        match link
            .call(Call::Build(server.name.clone()))
            .map_err(elsewhere)?
        {
            Reply::Built(built) => {
                self.built().insert(server.name.clone());
                Ok(*built)
            }
            Reply::NotBuilt(failure, missing) => {
                let at = &self.name;
                let output = match failure.output.as_str() {
                    "" => String::new(),
                    output => format!("\n{output}"),
                };
                let text = format!("on host {at}: {}{output}", failure.message);
                Err(BuildError::Elsewhere(text, missing))
            }
            other => Err(elsewhere(format!("an unexpected answer: {other:?}"))),
        }
    }

    fn start_by(&self, who: &Candidate<'_>, at: SocketAddr, elsewhere: Elsewhere) -> Start {
        // What a user's command line names is there already, and runs where the agent does.
        let ours = self.built().contains(&who.server.name);
        Start {
            name: who.server.name.clone(),
            manifest: who.server.manifest.clone(),
            built: ours.then(|| who.built.clone()),
            workers: who.workers,
            contract: who.contract.name().to_owned(),
            role: who.role,
            over: who.over,
            key: who.key,
            at,
            elsewhere,
        }
    }
}

/// Another machine.
pub struct RemoteHost {
    agent: HostAgent,
    /// How the generators reach it.
    ip: IpAddr,
    /// Generators run there too.
    shared: bool,
    /// Where upstreams run, if not there.
    upstream_host: Option<UpstreamHost>,
    /// Where services run, if not there.
    service_host: Option<ServiceHost>,
    /// The machine that its servers are verified from, and how it is reached; none: itself.
    witness: Option<(String, IpAddr)>,
}

/// The machine of the upstreams behind a host's gateways.
pub struct UpstreamHost {
    agent: HostAgent,
    /// How the gateways reach it.
    ip: IpAddr,
    /// How it reaches the gateways' machine.
    back: IpAddr,
    /// Generators run there too.
    shared: bool,
}

impl UpstreamHost {
    /// A machine of upstreams, which gateways reach at `ip`, and which reaches theirs at `back`. `shared` says whether a
    /// generator is on it too.
    ///
    /// # Errors
    /// When the agent cannot be a host.
    pub fn new(
        registry: Arc<Registry>,
        name: &str,
        (ip, back): (IpAddr, IpAddr),
        placement: Placement,
        shared: bool,
    ) -> Result<Self, String> {
        Ok(Self {
            agent: HostAgent::new(registry, name, placement)?,
            ip,
            back,
            shared,
        })
    }

    /// Passes the connections to the upstream's place on to prony's own upstream, on the gateway's machine.
    fn relay(&self, gateway: &Link) -> Result<Forwarded, String> {
        let own = address(gateway.call(Call::FreePort(self.back))?)?;
        let link = self.agent.link()?;
        let told = address(link.call(Call::FreePort(self.ip))?)?;
        link.call(Call::Relay(told, own))?;
        Ok(Forwarded {
            link,
            at: Relayed { own, told },
            behind: None,
        })
    }
}

/// The place of an upstream on another machine.
struct Forwarded {
    link: Arc<Link>,
    at: Relayed,
    /// The real one that has it, by its number.
    behind: Option<u32>,
}

fn address(reply: Reply) -> Result<SocketAddr, String> {
    match reply {
        Reply::Address(address) => Ok(address),
        other => Err(format!("an agent gave no address, but {other:?}")),
    }
}

impl RemoteHost {
    /// A host of servers on this machine, which the generators reach at `ip`. `shared` says whether one of
    /// them is on the same machine.
    ///
    /// # Errors
    /// When the agent cannot be a host.
    pub fn new(
        registry: Arc<Registry>,
        name: &str,
        ip: IpAddr,
        placement: Placement,
        shared: bool,
    ) -> Result<Self, String> {
        Ok(Self {
            agent: HostAgent::new(registry, name, placement)?,
            ip,
            shared,
            upstream_host: None,
            service_host: None,
            witness: None,
        })
    }

    /// With services on a machine of their own.
    #[must_use]
    pub fn served_by(self, service_host: ServiceHost) -> Self {
        Self {
            service_host: Some(service_host),
            ..self
        }
    }

    /// With upstreams on a machine of their own.
    #[must_use]
    pub fn before(self, upstream_host: UpstreamHost) -> Self {
        Self {
            upstream_host: Some(upstream_host),
            ..self
        }
    }

    /// With servers that are verified from another machine, a generator's, which this one reaches at `ip`: what verifies them
    /// sends everything through it. Servers of HTTP/3 are verified on their own machine: the relay passes TCP on.
    #[must_use]
    pub fn verified_from(self, name: &str, ip: IpAddr) -> Self {
        Self {
            witness: Some((name.to_owned(), ip)),
            ..self
        }
    }

    /// Starts something by a call.
    fn start_with(link: Arc<Link>, call: Call, ip: IpAddr) -> Result<RemoteServer, Failure> {
        let reply = link.call(call);
        match reply.map_err(|error| Failure::new(Step::Start, error))? {
            Reply::Server(up) => Ok(RemoteServer {
                link,
                up,
                witness: None,
                forwarded: None,
                services: None,
                stopped: false,
            }),
            Reply::Failed(failure) => {
                let hint = match failure.step {
                    Step::Ready => format!(
                        "; it has to listen on {ip}, by which the load reaches it ({{host}} in its command line)"
                    ),
                    _ => String::new(),
                };
                let message = format!("on host {}: {}{hint}", link.name(), failure.message);
                Err(Failure { message, ..failure })
            }
            other => Err(unexpected(Step::Start, other)),
        }
    }

    /// A relay to a server on the machine that it is verified from.
    fn witness(&self, server: SocketAddr) -> Result<Option<(Arc<Link>, SocketAddr)>, String> {
        let Some((name, ip)) = &self.witness else {
            return Ok(None);
        };
        let link = self.agent.registry.link(name)?;
        let at = address(link.call(Call::Relay(SocketAddr::new(*ip, 0), server))?)?;
        Ok(Some((link, at)))
    }
}

pub(crate) fn unexpected(step: Step, reply: Reply) -> Failure {
    match reply {
        Reply::Failed(failure) => failure,
        other => Failure::new(step, format!("an unexpected answer: {other:?}")),
    }
}

/// The files of a server's folder.
fn sources(server: &Server) -> io::Result<Sources> {
    fn walk(
        folder: &Path,
        below: &Path,
        files: &mut Vec<SourceFile>,
        left: &mut u64,
    ) -> io::Result<()> {
        let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, meta) = (entry.path(), fs::metadata(entry.path())?);
            if meta.is_dir() {
                walk(&path, below, files, left)?;
                continue;
            }
            *left = left.checked_sub(meta.len()).ok_or_else(|| {
                io::Error::other(format!("{} is larger than 64 MiB", below.display()))
            })?;
            let name = path.strip_prefix(below).map_err(io::Error::other)?;
            files.push(SourceFile {
                path: name
                    .to_str()
                    .ok_or_else(|| io::Error::other(format!("{} is no text", path.display())))?
                    .to_owned(),
                executable: meta.permissions().mode() & 0o111 != 0,
                base64: BASE64.encode(fs::read(&path)?),
            });
        }
        Ok(())
    }
    let (mut files, mut left) = (Vec::new(), MOST_SOURCES);
    walk(&server.folder, &server.folder, &mut files, &mut left)?;
    Ok(Sources {
        name: server.name.clone(),
        manifest: server.manifest.clone(),
        files,
    })
}

impl Host for RemoteHost {
    fn machine(&self) -> prony_record::Host {
        let link = self
            .agent
            .link
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        link.hello().machine.clone()
    }

    fn placement(&self) -> &Placement {
        &self.agent.placement
    }

    fn build(&self, server: &Server) -> Result<Built, BuildError> {
        self.agent.build(server)
    }

    fn build_upstream(&self, server: &Server) -> Result<Built, BuildError> {
        match &self.upstream_host {
            Some(upstream_host) => upstream_host.agent.build(server),
            None => self.agent.build(server),
        }
    }

    fn reachable(&self) -> Result<(), String> {
        self.agent.link()?;
        let upstream = self.upstream_host.as_ref().map(|it| &it.agent);
        let services = self.service_host.as_ref().map(|it| &it.agent);
        let mut others = upstream.into_iter().chain(services);
        others.try_for_each(|agent| agent.link().map(drop))
    }

    fn start(&self, who: &Candidate<'_>) -> Result<Box<dyn Started>, Failure> {
        let failed = |error: String| Failure::new(Step::Start, error);
        // An upstream that is measured by itself is where it stands behind the others.
        let (agent, ip) = match &self.upstream_host {
            Some(upstream_host) if who.role == Role::Upstream => {
                (&upstream_host.agent, upstream_host.ip)
            }
            _ => (&self.agent, self.ip),
        };
        let link = agent.link().map_err(failed)?;
        let forwarded = match &self.upstream_host {
            Some(upstream_host) if who.contract == Contract::Weather => {
                Some(upstream_host.relay(&link).map_err(failed)?)
            }
            _ => None,
        };
        let services = match &self.service_host {
            Some(service_host) if !who.services().is_empty() => Some(service_host.serve(who)?),
            _ => None,
        };
        let elsewhere = Elsewhere {
            upstream: forwarded.as_ref().map(|it| it.at),
            services: services.as_ref().map(|it| it.connected.clone()),
        };
        let start = agent.start_by(who, SocketAddr::new(ip, 0), elsewhere);
        let started = Self::start_with(link, Call::Start(Box::new(start)), ip);
        match started {
            Ok(mut server) => {
                server.forwarded = forwarded;
                server.services = services;
                if who.over != Protocol::H3 {
                    server.witness = self.witness(server.up.address).map_err(failed)?;
                }
                Ok(Box::new(server))
            }
            Err(failure) => {
                if let Some(it) = forwarded {
                    let _ = it.link.call(Call::EndRelay(it.at.told));
                }
                Err(failure)
            }
        }
    }

    fn attach(&self, running: &Running, _workload: &Workload) -> Result<Box<dyn Started>, Failure> {
        let text = format!(
            "{} runs already: only servers that prony starts can be on another machine",
            running.target
        );
        Err(Failure::new(Step::Start, text))
    }

    fn attach_upstream(
        &self,
        gateway: &mut dyn Started,
        upstream: &Candidate<'_>,
    ) -> Result<Box<dyn Started>, Failure> {
        let gateway: &mut dyn Any = gateway;
        let gateway: &mut RemoteServer = gateway.downcast_mut().expect(OWN);
        let (Some(upstream_host), Some(place)) = (&self.upstream_host, &mut gateway.forwarded)
        else {
            // It takes the place of prony's own, whose address the agent knows.
            let start =
                self.agent
                    .start_by(upstream, SocketAddr::new(self.ip, 0), Elsewhere::default());
            let call = Call::PutBehind(gateway.up.number, Box::new(start));
            let behind = Self::start_with(Arc::clone(&gateway.link), call, self.ip)?;
            return Ok(Box::new(behind));
        };
        let failed = |error: String| Failure::new(Step::Start, error);
        let release = Call::Release(gateway.up.number);
        gateway.link.call(release).map_err(failed)?;
        let end = Call::EndRelay(place.at.told);
        place.link.call(end).map_err(failed)?;
        let start = (upstream_host.agent).start_by(upstream, place.at.told, Elsewhere::default());
        let link = Arc::clone(&place.link);
        let behind = Self::start_with(link, Call::Start(Box::new(start)), upstream_host.ip)?;
        place.behind = Some(behind.up.number);
        Ok(Box::new(behind))
    }

    fn watch(
        &self,
        server: &dyn Started,
        upstream: Option<&dyn Started>,
        period: Duration,
    ) -> Box<dyn Watcher> {
        let (server, upstream) = (own(server), upstream.map(own));
        let apart = upstream.filter(|it| it.link.name() != server.link.name());
        let beside = match apart {
            Some(_) => None,
            None => upstream.map(|it| it.up.number),
        };
        let watched = (&server.link, server.up.number);
        let mut watch = RemoteWatch::begin(watched, beside, period, !self.shared);
        watch.upstream = apart.map(|it| {
            let shared = self
                .upstream_host
                .as_ref()
                .is_some_and(|upstream_host| upstream_host.shared);
            Box::new(RemoteWatch::begin(
                (&it.link, it.up.number),
                None,
                period,
                !shared,
            ))
        });
        let services = server.services.as_ref();
        watch.services = services.map(|it| Box::new(it.watch(period)));
        Box::new(watch)
    }
}

/// A server on another machine.
pub struct RemoteServer {
    link: Arc<Link>,
    up: Box<Up>,
    /// A relay on another machine, through which it is verified.
    witness: Option<(Arc<Link>, SocketAddr)>,
    /// Place of the upstream, for a gateway whose upstream has a separate machine; none for other servers.
    forwarded: Option<Forwarded>,
    /// Services of the server, if they have a separate machine.
    services: Option<RemoteServices>,
    stopped: bool,
}

/// The server that this host has started.
fn own(server: &dyn Started) -> &RemoteServer {
    let server: &dyn Any = server;
    server.downcast_ref().expect(OWN)
}

impl RemoteServer {
    fn end(&mut self) {
        if !std::mem::replace(&mut self.stopped, true) {
            // Without its agent it has ended already, and so has a relay.
            let _ = self.link.call(Call::Stop(self.up.number));
            if let Some((link, relay)) = &self.witness {
                let _ = link.call(Call::EndRelay(*relay));
            }
            if let Some(place) = &self.forwarded {
                let _ = place.link.call(Call::EndRelay(place.at.told));
            }
        }
    }

    fn proven(&self, how: &VerifySpec<'_>) -> RemoteVerifySpec {
        let through = self.witness.as_ref().map(|(_, relay)| *relay);
        RemoteVerifySpec {
            through,
            ..proven(how)
        }
    }

    /// Puts prony's own upstream, which counts requests and changes its answers, back in the place of the real one, if that is
    /// on another machine: only there could its file be changed.
    fn take_back(&mut self, step: Step) -> Result<(), Failure> {
        let number = self.up.number;
        let Some(place) = &mut self.forwarded else {
            return Ok(());
        };
        let Some(behind) = place.behind.take() else {
            return Ok(());
        };
        let failed = |error: String| Failure::new(step, error);
        place.link.call(Call::Stop(behind)).map_err(failed)?;
        match self.link.call(Call::Resume(number)).map_err(failed)? {
            Reply::Done => {}
            other => return Err(unexpected(step, other)),
        }
        let relay = Call::Relay(place.at.told, place.at.own);
        place.link.call(relay).map(drop).map_err(failed)
    }
}

impl Drop for RemoteServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn proven(how: &VerifySpec<'_>) -> RemoteVerifySpec {
    RemoteVerifySpec {
        workload: match how.workload {
            Workload::Contract(contract) => RemoteWorkload::Contract(contract.name().to_owned()),
            Workload::Get(get) => RemoteWorkload::Get(Box::new(get.clone())),
            Workload::Call(rpc) => RemoteWorkload::Call(rpc.clone()),
            Workload::Socket(socket) => RemoteWorkload::Socket(Box::new(socket.clone())),
            Workload::Echo(message) => RemoteWorkload::Echo(message.clone()),
            Workload::Requests { contract, asked } => {
                RemoteWorkload::Requests(contract.name().to_owned(), Box::new((**asked).clone()))
            }
        },
        http2: how.http2,
        depth: how.depth,
        seed: how.seed,
        through: None,
    }
}

impl Started for RemoteServer {
    fn target(&self) -> Target {
        Target::Tcp(self.up.address)
    }

    fn tls(&self) -> Option<TlsOptions> {
        self.up.tls.clone()
    }

    fn command(&self) -> &[String] {
        &self.up.command
    }

    fn ready_ns(&self) -> Nanos {
        self.up.ready_ns
    }

    fn verify(&mut self, step: Step, how: &VerifySpec<'_>) -> Result<(), Failure> {
        self.take_back(step)?;
        let call = Call::Verify(self.up.number, step, self.proven(how));
        let failure = match self.link.call(call) {
            Ok(Reply::Done) => return Ok(()),
            Ok(other) => unexpected(step, other),
            Err(error) => Failure::new(step, error),
        };
        Err(
            match self.services.as_ref().and_then(RemoteServices::lost) {
                Some(lost) => Failure::new(step, format!("it {lost}: {}", failure.message))
                    .with_output(self.output()),
                None => failure,
            },
        )
    }

    fn dialogue(&mut self, how: &VerifySpec<'_>, load: &Load) -> Result<Dialogue, Failure> {
        let call = Call::Dialogue(self.up.number, self.proven(how), Box::new(load.clone()));
        match self.link.call(call) {
            Ok(Reply::Dialogue(said)) => Ok(*said),
            Ok(other) => Err(unexpected(Step::Verify, other)),
            Err(error) => Err(Failure::new(Step::Verify, error)),
        }
    }

    fn root(&self) -> Option<Root> {
        None
    }

    fn pause(&mut self) {
        // A lost agent is found by what is asked of it next.
        let _ = self.link.call(Call::Pause(self.up.number));
        if let Some(it) = &self.services {
            it.pause();
        }
    }

    fn resume(&mut self) {
        if let Some(it) = &self.services {
            it.resume();
        }
        let _ = self.link.call(Call::GoOn(self.up.number));
    }

    fn exited(&mut self) -> Option<String> {
        if let Some(lost) = self.services.as_ref().and_then(RemoteServices::lost) {
            return Some(lost);
        }
        match self.link.call(Call::Exited(self.up.number)) {
            Ok(Reply::Exited(exit)) => exit,
            Ok(_) => None,
            Err(error) => Some(format!("ended with its machine: {error}")),
        }
    }

    fn output(&self) -> String {
        if let Some(words) = self.services.as_ref().and_then(RemoteServices::last_words) {
            return words;
        }
        match self.link.call(Call::Output(self.up.number)) {
            Ok(Reply::Text(text)) => text,
            _ => String::new(),
        }
    }

    fn stop(mut self: Box<Self>) {
        self.end();
    }
}
