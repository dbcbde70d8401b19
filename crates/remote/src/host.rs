//! Another machine as a host: servers are built, started, watched and stopped there.

use crate::clocks::Offset;
use crate::link::Link;
use crate::message::{Asked, Call, Proven, Reply, SourceFile, Sources, Start, Up};
use crate::registry::Registry;
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use prony_engine::protocol::tls::TlsOptions;
use prony_engine::{Dialogue, Nanos, Target};
use prony_lab::builder::{BuildError, Built, Missing};
use prony_lab::catalog::Server;
use prony_lab::host::{Host, Looks, Proof, Started, Watched};
use prony_lab::placement::Placement;
use prony_lab::side::{Ask, Candidate, Running};
use prony_record::{Failure, Load, Step};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The largest folder of sources that is sent, in bytes.
const MOST_SOURCES: u64 = 64 << 20;

/// Another machine.
pub struct RemoteHost {
    registry: Arc<Registry>,
    name: String,
    /// Its agent, and the one that is started when this is lost.
    link: Mutex<Arc<Link>>,
    /// How the generators reach it.
    ip: IpAddr,
    placement: Placement,
    /// Generators run there too.
    shared: bool,
    /// Servers of the catalog that were built there.
    built: Mutex<BTreeSet<String>>,
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
        let link = registry.link(name)?;
        link.call(Call::Host(placement.clone()))?;
        Ok(Self {
            registry,
            name: name.to_owned(),
            link: Mutex::new(link),
            ip,
            placement,
            shared,
            built: Mutex::default(),
        })
    }

    /// Its agent. One that is lost is started again: what it had built is still there.
    ///
    /// # Errors
    /// When that cannot be done.
    fn link(&self) -> Result<Arc<Link>, String> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        if link.lost().is_some() {
            let again = self.registry.link(&self.name)?;
            again.call(Call::Host(self.placement.clone()))?;
            *link = again;
        }
        Ok(Arc::clone(&link))
    }

    fn start_by(&self, who: &Candidate<'_>) -> Start {
        // What a user's command line names is there already, and runs where the agent does.
        let ours = self.built().contains(&who.server.name);
        Start {
            name: who.server.name.clone(),
            manifest: who.server.manifest.clone(),
            built: ours.then(|| who.built.clone()),
            workers: who.workers,
            contract: who.contract.name().to_owned(),
            role: who.role,
            http2: who.http2,
            ip: self.ip,
        }
    }

    fn built(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.built.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts something by a call.
    fn start_with(link: Arc<Link>, call: Call, ip: IpAddr) -> Result<RemoteServer, Failure> {
        let reply = link.call(call);
        match reply.map_err(|error| Failure::new(Step::Start, error))? {
            Reply::Server(up) => Ok(RemoteServer {
                link,
                up: *up,
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
}

fn unexpected(step: Step, reply: Reply) -> Failure {
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
    type Server = RemoteServer;
    type Watch = RemoteWatch;

    fn machine(&self) -> prony_record::Host {
        let link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        link.hello().machine.clone()
    }

    fn placement(&self) -> &Placement {
        &self.placement
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

    fn start(&self, who: &Candidate<'_>) -> Result<RemoteServer, Failure> {
        let call = Call::Start(Box::new(self.start_by(who)));
        let link = self.link();
        Self::start_with(
            link.map_err(|error| Failure::new(Step::Start, error))?,
            call,
            self.ip,
        )
    }

    fn attach(&self, running: &Running, _ask: &Ask) -> Result<RemoteServer, Failure> {
        let text = format!(
            "{} runs already: --server-on is for servers that prony starts",
            running.addr
        );
        Err(Failure::new(Step::Start, text))
    }

    fn put_behind(
        &self,
        gateway: &mut RemoteServer,
        upstream: &Candidate<'_>,
    ) -> Result<RemoteServer, Failure> {
        let start = self.start_by(upstream);
        let call = Call::PutBehind(gateway.up.number, Box::new(start));
        Self::start_with(Arc::clone(&gateway.link), call, self.ip)
    }

    fn watch(
        &self,
        server: &RemoteServer,
        upstream: Option<&RemoteServer>,
        period: Duration,
    ) -> RemoteWatch {
        let upstream = upstream.map(|upstream| upstream.up.number);
        let number = server.up.number;
        // A lost agent fails the load, which says so.
        let link = Arc::clone(&server.link);
        let watching = link.call(Call::Watch(number, upstream, period)).is_ok();
        RemoteWatch {
            offset: link.offset().ok().filter(|_| watching),
            link,
            number,
            apart: !self.shared,
        }
    }
}

/// A server on another machine.
pub struct RemoteServer {
    link: Arc<Link>,
    up: Up,
    stopped: bool,
}

impl RemoteServer {
    fn end(&mut self) {
        if !std::mem::replace(&mut self.stopped, true) {
            // Without its agent it has ended already.
            let _ = self.link.call(Call::Stop(self.up.number));
        }
    }
}

impl Drop for RemoteServer {
    fn drop(&mut self) {
        self.end();
    }
}

fn proven(how: &Proof<'_>) -> Proven {
    Proven {
        ask: match how.ask {
            Ask::Contract(contract) => Asked::Contract(contract.name().to_owned()),
            Ask::Get(get) => Asked::Get(Box::new(get.clone())),
            Ask::Requests { contract, asked } => {
                Asked::Requests(contract.name().to_owned(), Box::new((**asked).clone()))
            }
        },
        http2: how.http2,
        depth: how.depth,
        seed: how.seed,
    }
}

impl Started for RemoteServer {
    fn target(&self) -> Target {
        Target::Tcp(self.up.address)
    }

    fn tls(&self) -> Option<TlsOptions> {
        None
    }

    fn command(&self) -> &[String] {
        &self.up.command
    }

    fn ready_ns(&self) -> Nanos {
        self.up.ready_ns
    }

    fn verify(&mut self, step: Step, how: &Proof<'_>) -> Result<(), Failure> {
        let call = Call::Verify(self.up.number, step, proven(how));
        match self.link.call(call) {
            Ok(Reply::Done) => Ok(()),
            Ok(other) => Err(unexpected(step, other)),
            Err(error) => Err(Failure::new(step, error)),
        }
    }

    fn dialogue(&mut self, how: &Proof<'_>, load: &Load) -> Result<Dialogue, Failure> {
        let call = Call::Dialogue(self.up.number, proven(how), Box::new(load.clone()));
        match self.link.call(call) {
            Ok(Reply::Dialogue(said)) => Ok(*said),
            Ok(other) => Err(unexpected(Step::Verify, other)),
            Err(error) => Err(Failure::new(Step::Verify, error)),
        }
    }

    fn root(&self) -> Option<libc::pid_t> {
        None
    }

    fn exited(&mut self) -> Option<String> {
        match self.link.call(Call::Exited(self.up.number)) {
            Ok(Reply::Exited(exit)) => exit,
            Ok(_) => None,
            Err(error) => Some(format!("with its machine: {error}")),
        }
    }

    fn output(&self) -> String {
        match self.link.call(Call::Output(self.up.number)) {
            Ok(Reply::Text(text)) => text,
            _ => String::new(),
        }
    }

    fn stop(mut self) {
        self.end();
    }
}

/// What watches a server on another machine.
pub struct RemoteWatch {
    link: Arc<Link>,
    number: u32,
    /// None when it could not begin.
    offset: Option<Offset>,
    /// The generator is on another machine.
    apart: bool,
}

impl Looks for RemoteWatch {
    fn measure(&self, from: Nanos, until: Nanos) {
        if let Some(offset) = self.offset {
            let (from, until) = (
                offset.there(from),
                match until {
                    Nanos::MAX => Nanos::MAX,
                    until => offset.there(until),
                },
            );
            let _ = self.link.call(Call::WatchFrom(self.number, from, until));
        }
    }

    fn used(&self) -> Option<f64> {
        match self.link.call(Call::Used(self.number)) {
            Ok(Reply::Used(used)) => used,
            _ => None,
        }
    }

    fn finish(self) -> Watched {
        let (Some(offset), Ok(Reply::Watched(watched))) =
            (self.offset, self.link.call(Call::Watched(self.number)))
        else {
            return Watched::default();
        };
        let mut watched = *watched;
        for sample in &mut watched.samples {
            sample.at = offset.here(sample.at);
        }
        watched.apart = self.apart;
        watched
    }
}
