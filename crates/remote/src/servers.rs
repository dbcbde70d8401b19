//! The servers of an agent: built, started, verified, watched and stopped on its machine, as the coordinator asks.

use crate::message::{Call, RemoteVerifySpec, RemoteWorkload, Reply, Sources, Start, Up};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use prony_lab::builder::{Builder, Built, Missing};
use prony_lab::catalog::Server;
use prony_lab::contract::Contract;
use prony_lab::control_group::{self, Group};
use prony_lab::host::{Host, LocalHost, SpawnedServer, Started, VerifySpec, Watcher};
use prony_lab::interrupt::Interrupt;
use prony_lab::leftovers::{self, Scratch};
use prony_lab::placement::Placement;
use prony_lab::service::{ServiceSpecs, Services};
use prony_lab::side::Candidate;
use prony_lab::workload::Workload;
use prony_record::{Failure, Step};
use std::collections::HashMap;
use std::fs;
use std::net::IpAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Servers of a host, and everything that is needed to run them.
pub(crate) struct Servers {
    host: LocalHost,
    /// Temporary folder for the servers' output and for the sources that were taken over.
    scratch: Scratch,
    adopted: HashMap<String, Server>,
    running: HashMap<u32, SpawnedServer>,
    /// Services of servers on other machines.
    services: HashMap<u32, Services>,
    watches: HashMap<u32, Box<dyn Watcher>>,
    next: u32,
}

type Answer = Result<Reply, String>;

impl Servers {
    /// A host with these CPUs.
    pub(crate) fn new(placement: Placement) -> Result<Self, String> {
        leftovers::end_processes();
        control_group::remove_left();
        Group::check(&placement.limits)
            .map_err(|error| format!("{error} ({})", control_group::REMEDY))?;
        let scratch =
            Scratch::new().map_err(|error| format!("cannot make a temporary folder: {error}"))?;
        let prony = std::env::current_exe()
            .map_err(|error| format!("cannot find prony's program: {error}"))?;
        Ok(Self {
            host: LocalHost {
                prony,
                scratch: scratch.path().to_owned(),
                placement,
                interrupt: Arc::new(Interrupt::default()),
                builder: Builder::new(&cache()),
            },
            scratch,
            adopted: HashMap::new(),
            running: HashMap::new(),
            services: HashMap::new(),
            watches: HashMap::new(),
            next: 0,
        })
    }

    /// Does what is asked of a host.
    pub(crate) fn answer(&mut self, call: Call) -> Answer {
        match call {
            Call::Adopt(sources) => self.adopt(*sources).map(|()| Reply::Done),
            Call::Build(name) => self.build(&name),
            Call::Start(start) => Ok(self.start(&start)),
            Call::PutBehind(gateway, start) => self.attach_upstream(gateway, &start),
            Call::Verify(number, step, proven) => {
                let workload = workload(&proven.workload)?;
                let server = self.server(number)?;
                let verified = server
                    .verify_through(proven.through)
                    .and_then(|()| server.verify(step, &proof(&workload, &proven)));
                Ok(verified.map_or_else(Reply::Failed, |()| Reply::Done))
            }
            Call::Dialogue(number, proven, load) => {
                let workload = workload(&proven.workload)?;
                let server = self.server(number)?;
                let said = server
                    .verify_through(proven.through)
                    .and_then(|()| server.dialogue(&proof(&workload, &proven), &load));
                Ok(said.map_or_else(Reply::Failed, |said| Reply::Dialogue(Box::new(said))))
            }
            Call::Release(number) => {
                self.server(number)?.release_upstream();
                Ok(Reply::Done)
            }
            Call::Resume(number) => {
                let resumed = self.server(number)?.resume_upstream();
                Ok(resumed.map_or_else(Reply::Failed, |()| Reply::Done))
            }
            Call::StartServices(specs, ip) => Ok(self.serve(&specs, ip)),
            Call::Exited(number) => Ok(Reply::Exited(match self.services.get_mut(&number) {
                Some(services) => services.ended(),
                None => self.server(number)?.exited(),
            })),
            Call::Output(number) => Ok(Reply::Text(match self.services.get(&number) {
                Some(services) => services.last_words().to_owned(),
                None => self.server(number)?.output(),
            })),
            Call::Pause(number) => {
                match self.services.get_mut(&number) {
                    Some(services) => services.pause(),
                    None => self.server(number)?.pause(),
                }
                Ok(Reply::Done)
            }
            Call::GoOn(number) => {
                match self.services.get_mut(&number) {
                    Some(services) => services.resume(),
                    None => self.server(number)?.resume(),
                }
                Ok(Reply::Done)
            }
            Call::Stop(number) => {
                drop(self.services.remove(&number));
                if let Some(server) = self.running.remove(&number) {
                    Box::new(server).stop();
                }
                Ok(Reply::Done)
            }
            Call::Watch(number, _, period) if self.services.contains_key(&number) => {
                let watch = (self.host).watch_services(&self.services[&number], period);
                self.watches.insert(number, watch);
                Ok(Reply::Done)
            }
            Call::Watch(number, upstream, period) => {
                let upstream = upstream.and_then(|number| self.running.get(&number));
                let upstream = upstream.map(|it| it as &dyn Started);
                let server = self.running.get(&number).ok_or_else(|| gone(number))?;
                let watch = self.host.watch(server, upstream, period);
                self.watches.insert(number, watch);
                Ok(Reply::Done)
            }
            Call::WatchFrom(number, from, until) => {
                let watch = self.watches.get(&number).ok_or_else(|| gone(number))?;
                watch.measure(from, until);
                Ok(Reply::Done)
            }
            Call::Used(number) => Ok(Reply::Used(
                self.watches.get(&number).and_then(|it| it.used()),
            )),
            Call::Watched(number) => {
                let watch = self.watches.remove(&number).ok_or_else(|| gone(number))?;
                Ok(Reply::Watched(Box::new(watch.finish())))
            }
            other => Err(format!("this is not asked of a host: {other:?}")),
        }
    }

    fn server(&mut self, number: u32) -> Result<&mut SpawnedServer, String> {
        self.running.get_mut(&number).ok_or_else(|| gone(number))
    }

    /// Writes the files of a server.
    fn adopt(&mut self, sources: Sources) -> Result<(), String> {
        let folder = self.scratch.path().join("sources").join(&sources.name);
        if !is_below(Path::new(&sources.name)) {
            return Err(format!("{:?} is no name of a server", sources.name));
        }
        for file in &sources.files {
            if !is_below(Path::new(&file.path)) {
                return Err(format!("{:?} is not below a server's folder", file.path));
            }
            let path = folder.join(&file.path);
            let written = BASE64
                .decode(&file.base64)
                .map_err(std::io::Error::other)
                .and_then(|bytes| {
                    fs::create_dir_all(path.parent().unwrap_or(&folder))?;
                    fs::write(&path, bytes)?;
                    let mode = if file.executable { 0o755 } else { 0o644 };
                    fs::set_permissions(&path, fs::Permissions::from_mode(mode))
                });
            written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        let server = Server {
            name: sources.name.clone(),
            folder,
            manifest: sources.manifest,
        };
        self.adopted.insert(sources.name, server);
        Ok(())
    }

    fn build(&self, name: &str) -> Answer {
        let server = self
            .adopted
            .get(name)
            .ok_or_else(|| format!("the files of {name} have not been sent"))?;
        Ok(match self.host.build(server) {
            Ok(built) => Reply::Built(Box::new(built)),
            Err(error) => {
                let missing = Missing(error.is_missing());
                Reply::NotBuilt(Failure::from(error), missing)
            }
        })
    }

    fn start(&mut self, start: &Start) -> Reply {
        let with = |host: &LocalHost, who: &Candidate<'_>| {
            host.start_with(who, start.at, start.elsewhere.clone())
        };
        match as_candidate(start, |who| with(&self.host, who)) {
            Ok(server) => self.keep(server),
            Err(failure) => Reply::Failed(failure),
        }
    }

    fn attach_upstream(&mut self, gateway: u32, start: &Start) -> Answer {
        let mut server = self.running.remove(&gateway).ok_or_else(|| gone(gateway))?;
        let put = as_candidate(start, |who| self.host.start_behind(&mut server, who));
        self.running.insert(gateway, server);
        Ok(match put {
            Ok(upstream) => self.keep(upstream),
            Err(failure) => Reply::Failed(failure),
        })
    }

    fn serve(&mut self, specs: &ServiceSpecs, ip: IpAddr) -> Reply {
        let cannot = |error: std::io::Error| Failure::new(Step::Start, error.to_string());
        // What a user's command line names is there already.
        let here = std::env::current_dir().map_err(cannot);
        match here.and_then(|here| self.host.serve(specs, ip, &here)) {
            Ok(services) => {
                let (number, connected) = (self.number(), services.connected().clone());
                self.services.insert(number, services);
                Reply::Services(number, Box::new(connected))
            }
            Err(failure) => Reply::Failed(failure),
        }
    }

    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    fn keep(&mut self, server: SpawnedServer) -> Reply {
        let number = self.number();
        let up = Up {
            number,
            address: server.addr(),
            command: server.command().to_vec(),
            ready_ns: server.ready_ns(),
            tls: server.tls(),
        };
        self.running.insert(number, server);
        Reply::Server(Box::new(up))
    }
}

fn gone(number: u32) -> String {
    format!("there is no server of number {number}")
}

/// Starts something by the parts that a candidate refers to.
fn as_candidate(
    start: &Start,
    go: impl FnOnce(&Candidate<'_>) -> Result<SpawnedServer, Failure>,
) -> Result<SpawnedServer, Failure> {
    let cannot = |text: String| Failure::new(Step::Start, text);
    let here = std::env::current_dir().map_err(|error| cannot(error.to_string()))?;
    let built = start.built.clone().unwrap_or_else(|| Built {
        src: here.clone(),
        build: here.clone(),
        deps: here.clone(),
        shared: here.clone(),
        version: String::new(),
        cached: true,
        container: None,
    });
    let server = Server {
        name: start.name.clone(),
        folder: built.src.clone(),
        manifest: start.manifest.clone(),
    };
    go(&Candidate {
        server: &server,
        built: &built,
        workers: start.workers,
        contract: contract(&start.contract).map_err(cannot)?,
        role: start.role,
        over: start.over,
        key: start.key,
    })
}

/// A contract by its name.
fn contract(name: &str) -> Result<Contract, String> {
    name.parse()
        .map_err(|error: prony_lab::contract::UnknownContract| error.to_string())
}

fn workload(asked: &RemoteWorkload) -> Result<Workload, String> {
    Ok(match asked {
        RemoteWorkload::Contract(name) => Workload::Contract(contract(name)?),
        RemoteWorkload::Get(get) => Workload::Get((**get).clone()),
        RemoteWorkload::Call(rpc) => Workload::Call(rpc.clone()),
        RemoteWorkload::Socket(socket) => Workload::Socket((**socket).clone()),
        RemoteWorkload::Echo(message) => Workload::Echo(message.clone()),
        RemoteWorkload::Requests(name, asked) => Workload::Requests {
            contract: contract(name)?,
            asked: Arc::new((**asked).clone()),
        },
    })
}

fn proof<'a>(workload: &'a Workload, proven: &RemoteVerifySpec) -> VerifySpec<'a> {
    VerifySpec {
        workload,
        http2: proven.http2,
        depth: proven.depth,
        seed: proven.seed,
    }
}

/// Does a path lead nowhere but below where it begins?
fn is_below(path: &Path) -> bool {
    path.components().next().is_some()
        && path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
}

/// Where servers are built: as on the coordinator, unless the machine has no home.
fn cache() -> PathBuf {
    let from = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    from("PRONY_CACHE")
        .map(PathBuf::from)
        .or_else(|| from("XDG_CACHE_HOME").map(|folder| PathBuf::from(folder).join("prony")))
        .or_else(|| from("HOME").map(|home| PathBuf::from(home).join(".cache/prony")))
        .unwrap_or_else(|| std::env::temp_dir().join("prony-cache"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_below_their_folder() {
        for path in ["a", "a/b.c", "src/main.rs"] {
            assert!(is_below(Path::new(path)), "{path}");
        }
        for path in ["", "/etc/passwd", "../x", "a/../../x", "./a"] {
            assert!(!is_below(Path::new(path)), "{path}");
        }
    }
}
