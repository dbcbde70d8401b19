//! A view in this process, and a client that sends whatever it is told to.

use crate::sample::Plan;
use prony_notebook::Notebook;
use prony_view::View;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// After this, something hangs.
pub const HANGS: Duration = Duration::from_secs(60);

/// A view over a notebook of its own. It ends with the test's process.
pub struct Scene {
    pub folder: TempDir,
    pub at: SocketAddr,
    /// Path of the first request, with the token if there is one.
    pub door: String,
}

impl Scene {
    /// Over the notebook that `fill` has filled.
    pub fn new(fill: impl FnOnce(&mut Notebook)) -> Self {
        Self::at("127.0.0.1", fill)
    }

    /// The same, on this address.
    pub fn at(ip: &str, fill: impl FnOnce(&mut Notebook)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut notebook = Notebook::open(&folder.path().join("notebook.db")).unwrap();
        fill(&mut notebook);
        let ip: IpAddr = ip.parse().unwrap();
        let view = View::new(notebook, ip, 0).unwrap();
        let url = view.url().to_owned();
        thread::spawn(move || view.serve().map(|_| ()).unwrap());
        let (host, path) = url
            .strip_prefix("http://")
            .unwrap()
            .split_once('/')
            .unwrap();
        let port: u16 = host.rsplit_once(':').unwrap().1.parse().unwrap();
        Self {
            folder,
            at: SocketAddr::from(([127, 0, 0, 1], port)),
            door: format!("/{path}"),
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("notebook.db")
    }

    /// Another connection to the notebook, as another process has.
    pub fn notebook(&self) -> Notebook {
        Notebook::open(&self.path()).unwrap()
    }

    /// Asks for a path and reads the answer to its end.
    pub fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, &[("host", "localhost")])
    }

    /// The same with any method and headers.
    pub fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut stream = self.send(method, path, headers);
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        Answer::of(&String::from_utf8(bytes).expect("answers are UTF-8"))
    }

    /// Listens to what is new.
    pub fn listen(&self) -> Events {
        let stream = self.send("GET", "/events", &[("host", "localhost")]);
        Events(BufReader::new(stream))
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(HANGS)).unwrap();
        let mut text = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{text}\r\n").as_bytes()).unwrap();
        stream
    }
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn of(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer has a head");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self {
            status,
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// Asserts that the answer has this status.
    #[track_caller]
    pub fn with(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}\n\n{}", self.head, self.body);
        self
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// Asserts that the body contains `text`.
    #[track_caller]
    pub fn has(&self, text: &str) -> &Self {
        assert!(
            self.body.contains(text),
            "{text:?} is not in\n{}",
            self.body
        );
        self
    }
}

/// A stream of events.
pub struct Events(BufReader<TcpStream>);

impl Events {
    /// The data of the next event for which this is so.
    #[track_caller]
    pub fn until(&mut self, so: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let mut line = String::new();
        loop {
            line.clear();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream ended");
            if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).unwrap();
                if so(&data) {
                    return data;
                }
            }
        }
    }
}

/// A small run of two servers.
pub fn plan() -> Plan {
    let mut plan = Plan::of(&[("it", 1, 50_000.0), ("other", 2, 40_000.0)]);
    (plan.samples, plan.windows) = (300, 12);
    plan
}

/// The same on that day of March 2026, and that fast.
pub fn on(day: u32, rate: f64) -> Plan {
    let mut plan = plan();
    plan.servers.truncate(1);
    plan.servers[0].2 = rate;
    // As many as a p99 needs.
    plan.samples = 1_500;
    plan.seed = day;
    plan.started = format!("2026-03-{day:02}T09:00:00Z").parse().unwrap();
    plan
}
