//! Services: databases, and whatever else a server needs, started anew for each of its starts.

mod account;
mod client;
pub mod database;
mod postgres;
mod redis;
mod spec;
mod template;

use crate::interrupt::Interrupt;
use crate::leftovers::Scratch;
use crate::manifest::{Fill, command};
use crate::paused::Paused;
use crate::port::Port;
use crate::process::{Launch, Process};
use crate::starting;
use crate::tree::Root;
use client::PostgresClient;
use database::{Database, DatabaseAt};
use prony_record::{Failure, ServerLimits, Step};
use rand::RngExt;
use rand::distr::Alphanumeric;
use serde::{Deserialize, Serialize};
pub use spec::ServiceSpec;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// How long a service may be idle before it is ready.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// Characters of a password.
const PASSWORD: usize = 24;

/// Services of a server, by name.
pub type ServiceSpecs = BTreeMap<String, ServiceSpec>;

/// A kind of service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Postgres,
    Redis,
    Command,
}

impl Kind {
    fn named(name: &str) -> Self {
        match name {
            "postgres" => Self::Postgres,
            "redis" | "valkey" => Self::Redis,
            _ => Self::Command,
        }
    }
}

/// Debian package of a service that is not installed here; None for one that is, or that its user starts by a command.
#[must_use]
pub fn missing(name: &str) -> Option<&'static str> {
    match Kind::named(name) {
        Kind::Postgres => postgres::Postgres::find().is_err().then_some("postgresql"),
        Kind::Redis => redis::Redis::find(name).is_err().then_some("redis-server"),
        Kind::Command => None,
    }
}

/// Where services run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    /// File of this program, which is the supervisor too.
    pub prony: &'a Path,
    /// For templates of content.
    pub cache: &'a Path,
    /// CPUs of the services.
    pub cpus: &'a [usize],
    /// Address that they listen on.
    pub ip: IpAddr,
    /// Ends the waiting for one that is starting.
    pub interrupt: &'a Interrupt,
    /// Where command lines are run.
    pub folder: &'a Path,
}

/// Where one service runs.
struct Place<'a> {
    site: Site<'a>,
    port: u16,
}

/// How a service shows that it is ready.
enum Ready<'a> {
    /// A connection is accepted.
    Tcp,
    /// A path is answered with a status below 400.
    Http(&'a str),
    /// A shell command succeeds.
    Shell(&'a str),
    /// A client of its kind is answered.
    Asked(&'a dyn Fn() -> Result<(), String>),
}

impl<'a> Ready<'a> {
    fn of(text: Option<&'a str>) -> Self {
        match text {
            None | Some("tcp") => Self::Tcp,
            Some(text) => match text.strip_prefix("http:") {
                Some(path) => Self::Http(path),
                None => Self::Shell(text),
            },
        }
    }

    fn probe(&self, address: SocketAddr, patience: Duration) -> Result<(), String> {
        let text = |error: std::io::Error| error.to_string();
        match self {
            Self::Tcp => TcpStream::connect_timeout(&address, patience)
                .map(drop)
                .map_err(text),
            Self::Http(path) => {
                let status = status_of(address, path, patience).map_err(text)?;
                match status {
                    Some(status) if status < 400 => Ok(()),
                    Some(status) => Err(format!("{path} is answered with {status}")),
                    None => Err(format!("{path} is answered with no HTTP")),
                }
            }
            Self::Shell(line) => {
                let status = Command::new("sh")
                    .args(["-c", line])
                    .env("PORT", address.port().to_string())
                    .env("HOST", address.ip().to_string())
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .status();
                match status.map_err(text)? {
                    status if status.success() => Ok(()),
                    status => Err(format!("`{line}` failed ({status})")),
                }
            }
            Self::Asked(ask) => ask(),
        }
    }
}

/// Status of an answer to GET, over a connection of its own.
fn status_of(address: SocketAddr, path: &str, patience: Duration) -> std::io::Result<Option<u16>> {
    let mut stream = TcpStream::connect_timeout(&address, patience)?;
    stream.set_read_timeout(Some(patience))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )?;
    let mut head = Vec::new();
    stream.take(32).read_to_end(&mut head)?;
    let head = String::from_utf8_lossy(&head);
    let status = head.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5));
    Ok(status.and_then(|status| status.parse().ok()))
}

impl Place<'_> {
    /// Where it listens.
    fn address(&self) -> SocketAddr {
        SocketAddr::new(self.site.ip, self.port)
    }

    /// Starts a process and waits until it is ready.
    fn launch(
        &self,
        line: &[String],
        log: &Path,
        folder: &Path,
        ready: &Ready<'_>,
    ) -> Result<Process, Failure> {
        let (site, host) = (self.site, self.site.ip.to_string());
        let env = [("HOST", host), ("PORT", self.port.to_string())];
        let launch = Launch {
            command: line.to_vec(),
            env: env.map(|(name, value)| (name.to_owned(), value)).into(),
            cpus: site.cpus.to_vec(),
            // They are around what is measured, as in production.
            limits: ServerLimits::default(),
            folder: folder.to_owned(),
            log: log.to_owned(),
        };
        let mut process = Process::start(site.prony, &launch)
            .map_err(|error| Failure::new(Step::Start, format!("`{}`: {error}", line.join(" "))))?;
        let probe = |patience| ready.probe(self.address(), patience);
        starting::wait_for(&mut process, &probe, START_TIMEOUT, site.interrupt)?;
        Ok(process)
    }
}

/// A service that has been started.
struct ServedBy {
    what: String,
    url: String,
    env: Vec<(&'static str, String)>,
    database: Option<Arc<PostgresClient>>,
    process: Process,
    scratch: Scratch,
}

/// Parts of services that a server and its verification need, wherever these run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Connected {
    /// Values of the placeholders that are called as services are: URLs, or host and port.
    pub(crate) placeholders: BTreeMap<String, String>,
    /// Variables by which a server finds them.
    pub(crate) env: BTreeMap<String, String>,
    /// The database that can be asked, if there is one.
    database: Option<DatabaseAt>,
}

/// A service that runs. Dropping it ends it and removes its data.
#[derive(Debug)]
struct Service {
    name: String,
    what: String,
    database: Option<Arc<PostgresClient>>,
    process: Process,
    /// After `process`, which uses it.
    _scratch: Scratch,
    /// After `process`: given back when that has ended.
    _port: Port,
}

impl Drop for Service {
    fn drop(&mut self) {
        // A database waits for its clients when it is to end.
        if let Some(database) = &self.database {
            database.close();
        }
    }
}

/// Parts of a service that are watched.
#[derive(Debug, Clone)]
pub struct ServiceRoot {
    /// Name of the service.
    pub name: String,
    /// Program, version and settings of the service, in a line.
    pub what: String,
    /// The process above its own.
    pub root: Root,
    /// The database, if the service is one that can be asked.
    pub database: Option<Arc<dyn Database>>,
}

/// The services of a server. Dropping them ends those that run here.
#[derive(Debug, Default)]
pub struct Services {
    /// Services that are stopped while others are measured. Before `all`, which could not end.
    paused: Vec<Paused>,
    /// Services that run here.
    all: Vec<Service>,
    connected: Connected,
    database: Option<Arc<dyn Database>>,
    /// Last words of one that was lost.
    lost: String,
}

impl Services {
    /// Starts all of them, one after the other.
    ///
    /// # Errors
    /// When one cannot be started: its name, and why.
    pub(crate) fn start(specs: &ServiceSpecs, site: Site<'_>) -> Result<Self, Failure> {
        let mut this = Self::default();
        for (name, spec) in specs {
            this.add(name, spec, site).map_err(|failure| Failure {
                message: format!("service {name}: {}", failure.message),
                step: Step::Start,
                ..failure
            })?;
        }
        Ok(this)
    }

    /// Services that run on another machine.
    pub(crate) fn elsewhere(connected: Connected) -> Self {
        let database = connected.database.clone();
        Self {
            database: database.map(|at| Arc::new(PostgresClient::elsewhere(at)) as _),
            connected,
            ..Self::default()
        }
    }

    fn add(&mut self, name: &str, spec: &ServiceSpec, site: Site<'_>) -> Result<(), Failure> {
        let port = match spec.port {
            Some(number) => Port::fixed(number),
            None => Port::free(),
        };
        let port = port.map_err(|error| Failure::new(Step::Start, error.to_string()))?;
        let place = Place {
            site,
            port: port.number(),
        };
        let seed = spec.seed_text.as_deref().unwrap_or("");
        let served = match Kind::named(name) {
            Kind::Postgres => {
                postgres::Postgres::find()?.start(seed, postgres::Login::of(spec), &place)?
            }
            Kind::Redis => redis::Redis::find(name)?.start(seed, &place)?,
            Kind::Command => by_command(spec, &place)?,
        };
        let known = &mut self.connected;
        let env = served.env.into_iter();
        known
            .env
            .extend(env.map(|(key, value)| (key.to_owned(), value)));
        // Of two databases, each is found by its name.
        let url = format!("{}_URL", name.to_uppercase());
        known.env.insert(url, served.url.clone());
        known.placeholders.insert(name.to_owned(), served.url);
        if let (None, Some(client)) = (&self.database, &served.database) {
            known.database = Some(client.at().clone());
            self.database = Some(Arc::clone(client) as _);
        }
        self.all.push(Service {
            name: name.to_owned(),
            what: served.what,
            database: served.database,
            process: served.process,
            _scratch: served.scratch,
            _port: port,
        });
        Ok(())
    }

    /// Parts that a server needs.
    #[must_use]
    pub fn connected(&self) -> &Connected {
        &self.connected
    }

    /// The loss of the first that has ended, as words that follow the server's name: `lost its postgres, which ended by signal
    /// 9`.
    pub fn ended(&mut self) -> Option<String> {
        self.all.iter_mut().find_map(|it| {
            let exit = it.process.exited()?.to_owned();
            self.lost = it.process.output();
            Some(format!("lost its {}, which {exit}", it.name))
        })
    }

    /// The end of what one has printed that was lost; empty when none was.
    #[must_use]
    pub fn last_words(&self) -> &str {
        &self.lost
    }

    /// Stops the processes of all until [`resume`](Self::resume).
    pub fn pause(&mut self) {
        let roots = self.roots().into_iter();
        self.paused = roots
            .filter_map(|it| Paused::new(it.root, it.root.pid))
            .collect();
    }

    /// Lets them go on, if they are stopped.
    pub fn resume(&mut self) {
        self.paused.clear();
    }

    /// Parts of each that are watched.
    pub(crate) fn roots(&self) -> Vec<ServiceRoot> {
        let root = |it: &Service| ServiceRoot {
            name: it.name.clone(),
            what: it.what.clone(),
            root: Root::above(it.process.root()),
            database: it.database.clone().map(|it| it as _),
        };
        self.all.iter().map(root).collect()
    }

    /// The database that can be asked, if there is one.
    pub(crate) fn database(&self) -> Option<Arc<dyn Database>> {
        self.database.clone()
    }
}

/// A random password.
fn password() -> String {
    let drawn = rand::rng().sample_iter(Alphanumeric).take(PASSWORD);
    drawn.map(char::from).collect()
}

/// Starts the service that a command line is.
fn by_command(spec: &ServiceSpec, place: &Place<'_>) -> Result<ServedBy, Failure> {
    let line = spec.command.as_deref().unwrap_or_default();
    let with = Fill {
        host: place.site.ip.to_string(),
        port: place.port,
        ..Fill::default()
    };
    let words =
        command(line, &with).map_err(|error| Failure::new(Step::Start, error.to_string()))?;
    let scratch = template::scratch(&account::Account::Own)?;
    let ready = Ready::of(spec.ready.as_deref());
    let log = scratch.path().join("log");
    Ok(ServedBy {
        what: line.to_owned(),
        url: place.address().to_string(),
        env: Vec::new(),
        database: None,
        process: place.launch(&words, &log, place.site.folder, &ready)?,
        scratch,
    })
}
