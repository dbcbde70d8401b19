//! Surroundings of a server under test, as its contract needs them: a folder with the files that it serves, an upstream
//! that it asks, or its database.

mod upstream;

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use rand::RngExt;
use rand::distr::Alphanumeric;

use super::wire::Fault;
use super::{Contract, arena};
use crate::service::database::Database;
use upstream::Upstream;

/// The published page's size.
const PAGE: usize = 151;
/// The name of the folder that is served, and of the file beside it that must not be.
const FOLDER: &str = "docroot";
const SECRET: &str = "secret";
/// The file of an upstream.
const FILE: &str = "weather.json";

/// The weather that an upstream tells of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Weather {
    /// `weather[0].id`.
    pub code: u32,
    /// `main.temp`, in hundredths of a degree.
    pub hundredths: i32,
}

impl Weather {
    /// Weather of the published file.
    pub const PUBLISHED: Self = Self {
        code: 500,
        hundredths: 1_465,
    };

    /// The upstream's file: the published one, 466 bytes, with these two figures.
    pub fn file(self) -> String {
        let sign = if self.hundredths < 0 { "-" } else { "" };
        let size = self.hundredths.abs();
        // With the newline at its end, which makes 466 bytes.
        format!(
            r#"{{"coord":{{"lon":24.96,"lat":60.17}},"weather":[{{"id":{},"main":"Rain","description":"légères pluies","icon":"10d"}}],"base":"stations","main":{{"temp":{sign}{}.{:02},"pressure":996,"humidity":93,"temp_min":13.89,"temp_max":15}},"visibility":10000,"wind":{{"speed":4.1,"deg":100}},"rain":{{"1h":0.2}},"clouds":{{"all":90}},"dt":1436382481,"sys":{{"type":1,"id":5018,"message":0.0161,"country":"FI","sunrise":1436317820,"sunset":1436384349}},"id":650744,"name":"Kruununhaka","cod":200}}
"#,
            self.code,
            size / 100,
            size % 100
        )
    }

    /// The gateway's answer: the temperature without its fraction.
    pub fn answer(self) -> String {
        format!(
            r#"{{"code":{},"temp":{}}}"#,
            self.code,
            self.hundredths / 100
        )
    }
}

/// Reply of an upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum UpstreamReply {
    /// The weather.
    Weather(Weather),
    /// `cod` 404 with this message.
    Failure(String),
    /// Something that begins like JSON.
    Broken,
    /// Nothing: it closes the connection.
    Down,
}

impl UpstreamReply {
    fn body(&self) -> Option<String> {
        match self {
            Self::Weather(weather) => Some(weather.file()),
            Self::Failure(message) => {
                Some(serde_json::json!({"cod": 404, "message": message}).to_string())
            }
            Self::Broken => Some("{\"coord\":{\"lon\":24.96,".into()),
            Self::Down => None,
        }
    }
}

/// A server's surroundings. What was made for it goes with it.
#[derive(Debug)]
pub struct Fixture {
    folder: Option<FixtureFolder>,
    page: Vec<u8>,
    secret: Vec<u8>,
    /// Items that a server of arena reads; null for other contracts.
    dataset: serde_json::Value,
    /// Files that a server of arena sends; none for other contracts.
    files: Vec<arena::StaticFile>,
    reply: Mutex<UpstreamReply>,
    upstream: Option<Upstream>,
    database: Option<Arc<dyn Database>>,
    /// Whoever started the server has its database too.
    foreign: bool,
}

impl Fixture {
    /// Sets up what servers of this contract need; files go below `scratch`.
    ///
    /// # Errors
    /// When a file cannot be written, or no port be had.
    pub fn set_up(contract: Contract, scratch: &Path) -> io::Result<Self> {
        Self::set_up_at(contract, scratch, None)
    }

    /// The same; an upstream of prony's own listens there, if an address is said.
    ///
    /// # Errors
    /// As [`set_up`](Self::set_up), and when the address cannot be used.
    pub fn set_up_at(
        contract: Contract,
        scratch: &Path,
        upstream: Option<SocketAddr>,
    ) -> io::Result<Self> {
        let mut this = Self {
            folder: None,
            page: page(),
            secret: page(),
            dataset: serde_json::Value::Null,
            files: Vec::new(),
            reply: Mutex::new(UpstreamReply::Weather(Weather::PUBLISHED)),
            upstream: None,
            database: None,
            foreign: false,
        };
        match contract {
            Contract::TcpEcho
            | Contract::HttpEcho
            | Contract::Fibonacci
            | Contract::GrpcEcho
            | Contract::Http
            | Contract::Sse
            | Contract::Techempower
            | Contract::WsEcho => {}
            Contract::StaticFile => {
                let folder = FixtureFolder::new(scratch)?;
                folder.write("index.html", &this.page)?;
                fs::write(folder.above.join(SECRET), &this.secret)?;
                this.folder = Some(folder);
            }
            Contract::WeatherUpstream => {
                let folder = FixtureFolder::new(scratch)?;
                folder.write(FILE, Weather::PUBLISHED.file().as_bytes())?;
                this.folder = Some(folder);
            }
            Contract::Arena => {
                let folder = FixtureFolder::new(scratch)?;
                this.dataset = arena::random_dataset();
                folder.write(arena::DATASET_FILE, this.dataset.to_string().as_bytes())?;
                this.files = arena::random_files();
                let below = folder.above.join(FOLDER).join(arena::FILES_FOLDER);
                fs::create_dir(&below)?;
                for file in &this.files {
                    fs::write(below.join(file.name), &file.bytes)?;
                }
                this.folder = Some(folder);
            }
            Contract::Weather => {
                this.upstream = Some(match upstream {
                    Some(addr) => Upstream::start_at(addr, None)?,
                    None => Upstream::start()?,
                });
            }
        }
        Ok(this)
    }

    /// The folder that is to be served; empty when there is none.
    pub fn docroot(&self) -> PathBuf {
        self.folder
            .as_ref()
            .map_or_else(PathBuf::new, |folder| folder.above.join(FOLDER))
    }

    /// Where the upstream listens.
    pub fn upstream(&self) -> Option<SocketAddr> {
        self.upstream.as_ref().map(|upstream| upstream.addr)
    }

    /// The same with the server's database, which verifications ask.
    #[must_use]
    pub fn with_database(mut self, database: Arc<dyn Database>) -> Self {
        self.database = Some(database);
        self
    }

    /// The server's database; none: it has none, or prony did not start it.
    pub fn database(&self) -> Option<&dyn Database> {
        self.database.as_deref()
    }

    /// The same for a server that prony has not started: steps that ask its database are left out.
    #[must_use]
    pub fn of_running_server(mut self) -> Self {
        self.foreign = true;
        self
    }

    /// Steps that ask the database can be taken, or fail for want of it.
    pub(super) fn asks_database(&self) -> bool {
        self.database.is_some() || !self.foreign
    }

    /// Stops prony's own upstream, so that a server can take its place.
    pub fn release(&mut self) {
        if let Some(own) = &mut self.upstream {
            own.stop();
        }
    }

    /// Starts prony's own upstream again where it was, after [`release`](Self::release).
    ///
    /// # Errors
    /// When its address is in use.
    pub fn resume(&mut self) -> io::Result<()> {
        if let Some(own) = &mut self.upstream {
            own.stop();
            *own = Upstream::start_at(own.addr, own.port.take())?;
            *self.reply.get_mut().unwrap_or_else(PoisonError::into_inner) =
                UpstreamReply::Weather(Weather::PUBLISHED);
        }
        Ok(())
    }

    /// From here on the file of the server that has taken the upstream's place is what is changed.
    pub fn hand_over(&mut self, upstream: &Self) {
        self.folder = upstream.folder.as_ref().map(FixtureFolder::borrowed);
    }

    pub(super) fn page(&self) -> &[u8] {
        &self.page
    }

    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }

    pub(super) fn dataset(&self) -> &serde_json::Value {
        &self.dataset
    }

    pub(super) fn files(&self) -> &[arena::StaticFile] {
        &self.files
    }

    pub(super) fn weather(&self) -> Weather {
        match *self.reply.lock().unwrap_or_else(PoisonError::into_inner) {
            UpstreamReply::Weather(weather) => weather,
            _ => Weather::PUBLISHED,
        }
    }

    /// Requests that prony's own upstream has answered.
    pub(super) fn hits(&self) -> u64 {
        self.upstream
            .as_ref()
            .map_or(0, |upstream| upstream.shared.hits.load(Ordering::SeqCst))
    }

    /// From here on the upstream answers this.
    pub(super) fn set(&self, reply: &UpstreamReply) -> Result<(), Fault> {
        *self.reply.lock().unwrap_or_else(PoisonError::into_inner) = reply.clone();
        if let Some(folder) = &self.folder {
            let body = reply.body().unwrap_or_default();
            return folder.write(FILE, body.as_bytes()).map_err(|error| {
                Fault::new("the upstream's file to be written", error.to_string())
            });
        }
        if let Some(upstream) = &self.upstream {
            let mut now = upstream.shared.reply.lock();
            **now.as_mut().unwrap_or_else(|poisoned| poisoned.get_mut()) = reply.clone();
        }
        Ok(())
    }
}

/// A page of random letters that no program can have been built with.
fn page() -> Vec<u8> {
    let (start, end) = ("<!doctype html><title>prony</title><p>", "\n");
    let letters = PAGE - start.len() - end.len();
    let text: String = rand::rng()
        .sample_iter(Alphanumeric)
        .take(letters)
        .map(char::from)
        .collect();
    format!("{start}{text}{end}").into_bytes()
}

/// A folder with the folder that is served in it.
#[derive(Debug)]
struct FixtureFolder {
    above: PathBuf,
    own: bool,
}

impl FixtureFolder {
    fn new(scratch: &Path) -> io::Result<Self> {
        let above = scratch.join(format!("fixture-{:016x}", rand::random::<u64>()));
        fs::create_dir_all(above.join(FOLDER))?;
        Ok(Self { above, own: true })
    }

    fn borrowed(&self) -> Self {
        Self {
            above: self.above.clone(),
            own: false,
        }
    }

    /// In one go: a reader at the same time has the old file or the new one.
    fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let new = self.above.join("new");
        fs::write(&new, bytes)?;
        fs::rename(new, self.above.join(FOLDER).join(name))
    }
}

impl Drop for FixtureFolder {
    fn drop(&mut self) {
        if self.own {
            let _ = fs::remove_dir_all(&self.above);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};

    #[test]
    fn the_published_weather() {
        let file = Weather::PUBLISHED.file();
        assert_eq!(file.len(), 466);
        let json: serde_json::Value = serde_json::from_str(&file).unwrap();
        assert_eq!(json["weather"][0]["id"], 500);
        assert_eq!(json["main"]["temp"], 14.65);
        assert_eq!(json["cod"], 200);
        assert_eq!(Weather::PUBLISHED.answer(), r#"{"code":500,"temp":14}"#);
        for (hundredths, written, truncated) in
            [(-399, "-3.99", -3), (-50, "-0.50", 0), (7, "0.07", 0)]
        {
            let weather = Weather {
                code: 1,
                hundredths,
            };
            assert!(weather.file().contains(&format!("\"temp\":{written},")));
            assert!(weather.answer().ends_with(&format!(":{truncated}}}")));
        }
    }

    #[test]
    fn pages_have_the_published_size_and_are_never_the_same() {
        assert_eq!(page().len(), PAGE);
        assert_ne!(page(), page());
    }

    fn ask(addr: SocketAddr) -> String {
        let mut stream = TcpStream::connect(addr).unwrap();
        let request = b"GET /weather.json HTTP/1.1\r\nHost: x\r\n\r\n";
        stream.write_all(request).unwrap();
        // It closes the connection when it has answered all that came before this end.
        stream.shutdown(Shutdown::Write).unwrap();
        let mut text = String::new();
        let _ = stream.read_to_string(&mut text);
        text
    }

    #[test]
    fn the_upstream_answers_what_it_is_told_counts_and_hands_its_port_over() {
        let dir = tempfile::tempdir().unwrap();
        let mut fixture = Fixture::set_up(Contract::Weather, dir.path()).unwrap();
        let addr = fixture.upstream().unwrap();
        assert!(ask(addr).ends_with(&Weather::PUBLISHED.file()));
        fixture.set(&UpstreamReply::Failure("gone".into())).unwrap();
        assert!(ask(addr).contains("\"message\":\"gone\""));
        assert_eq!(fixture.hits(), 2);
        fixture.set(&UpstreamReply::Down).unwrap();
        assert_eq!(ask(addr), "");
        let behind = Fixture::set_up(Contract::WeatherUpstream, dir.path()).unwrap();
        let running = fixture.upstream.as_ref().unwrap().running.as_ref();
        let copy = running.unwrap().0.try_clone().unwrap();
        fixture.release();
        fixture.hand_over(&behind);
        TcpListener::bind(addr).unwrap();
        drop(copy);
        let mut resumed = Fixture::set_up(Contract::Weather, dir.path()).unwrap();
        let there = resumed.upstream().unwrap();
        resumed.set(&UpstreamReply::Failure("gone".into())).unwrap();
        resumed.release();
        resumed.resume().unwrap();
        assert_eq!(resumed.upstream(), Some(there));
        assert!(ask(there).ends_with(&Weather::PUBLISHED.file()));
        let weather = Weather {
            code: 7,
            hundredths: 100,
        };
        fixture.set(&UpstreamReply::Weather(weather)).unwrap();
        let file = behind.docroot().join("weather.json");
        assert_eq!(fs::read_to_string(file).unwrap(), weather.file());
    }
}
