//! Does `prony view` answer others while a thousand connections are held against it?
//!
//! The view is the real command, over a notebook that is made up. Each kind of client holds as many
//! connections as were asked for; those that the view closes are opened again, as an attacker would. Meanwhile another
//! client asks for the first page, each time on a connection of its own, and its answers are timed.

use crate::error::{Error, Result};
use crate::place::Rig;
use crate::spread::Spread;
use crate::status;
use crate::table::Table;
use crate::view;
use serde::Serialize;
use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// Trials in the notebook: the pages are of ordinary size.
const TRIALS: u32 = 1_000;
/// Between two questions of the client that is timed, in which those that hold connections do what they do.
const PAUSE: Duration = Duration::from_millis(20);
/// Beyond this, something hangs.
const HANGS: Duration = Duration::from_secs(60);

/// What the clients that hold connections do with them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    /// There are none: what the view does when it is left alone.
    None,
    Silent,
    HalfAHead,
    /// A byte of a head with each look at the connection.
    Dripping,
    /// A head far above what the view takes.
    EndlessHead,
    /// Events, which are never read.
    Events,
    /// A page after the other, which are never read.
    Unread,
    /// Two lengths in one request, and another request in what one of them calls the body.
    Smuggled,
    /// A connection of each of the others.
    Mixed,
}

impl Kind {
    const SINGLE: [Self; 7] = [
        Self::Silent,
        Self::HalfAHead,
        Self::Dripping,
        Self::EndlessHead,
        Self::Events,
        Self::Unread,
        Self::Smuggled,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Silent => "send nothing",
            Self::HalfAHead => "send half a head",
            Self::Dripping => "send a head byte by byte",
            Self::EndlessHead => "send a head that never ends",
            Self::Events => "never read their events",
            Self::Unread => "ask for pages and never read",
            Self::Smuggled => "two lengths in one request",
            Self::Mixed => "all of these",
        }
    }

    /// What the connection with this number does.
    fn of(self, number: usize) -> Self {
        match self {
            Self::Mixed => Self::SINGLE[number % Self::SINGLE.len()],
            one => one,
        }
    }

    /// What is sent at each look at a connection, by how often it has been looked at.
    fn says(self, looks: usize) -> Vec<u8> {
        const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nX: ";
        let once = |bytes: &[u8]| match looks {
            0 => bytes.to_vec(),
            _ => Vec::new(),
        };
        match self {
            Self::None | Self::Silent | Self::Mixed => Vec::new(),
            Self::HalfAHead => once(HEAD),
            Self::Dripping => vec![HEAD.get(looks).copied().unwrap_or(b'x')],
            Self::EndlessHead => match looks {
                0 => HEAD.to_vec(),
                _ => vec![b'x'; 16 << 10],
            },
            Self::Events => once(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            Self::Unread => b"GET /histories HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(20),
            Self::Smuggled => once(
                b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n\
                  0\r\n\r\nGET /run/1 HTTP/1.1\r\nHost: elsewhere\r\n\r\n",
            ),
        }
    }
}

/// A connection that is held.
struct Held {
    stream: TcpStream,
    kind: Kind,
    looks: usize,
}

/// What was seen.
#[derive(Debug, Serialize)]
pub struct Siege {
    connections: usize,
    rows: Vec<Row>,
}

/// Beside one kind of clients.
#[derive(Debug, Serialize)]
struct Row {
    clients: Kind,
    /// Connections that the view closed, and which were opened again.
    reopened: u64,
    /// Questions of the client that was timed.
    asked: usize,
    /// How long its answers took, from connecting to the last byte, in milliseconds.
    answers: Spread,
    /// Most memory that the view had resident, in bytes.
    memory: u64,
}

/// Asks `questions` times beside each kind of client, which holds `connections` connections.
///
/// # Errors
/// When the view cannot be started, or does not answer.
pub fn run(rig: Rig, connections: usize, questions: u32) -> Result<Siege> {
    let folder = tempfile::tempdir().map_err(Error::io("no folder for a notebook"))?;
    let path = folder.path().join("notebook.db");
    view::fill(&path, TRIALS).map_err(|error| Error::Unusable(error.to_string()))?;
    let mut rows = Vec::new();
    let alone = [Kind::None];
    for kind in alone.into_iter().chain(Kind::SINGLE).chain([Kind::Mixed]) {
        eprintln!("siege: {}", kind.name());
        let (mut view, at) = view::open(rig, &path)?;
        rows.push(beside(kind, &at, connections, questions, view.id())?);
        view.terminate();
        view.end(HANGS)?;
    }
    Ok(Siege { connections, rows })
}

fn beside(kind: Kind, at: &str, connections: usize, questions: u32, pid: u32) -> Result<Row> {
    let address: SocketAddr = at
        .parse()
        .map_err(|_| Error::process("prony view", format!("has no address in {at:?}")))?;
    let count = if kind == Kind::None { 0 } else { connections };
    let open = |number: usize| -> Result<Held> {
        let stream =
            TcpStream::connect(address).map_err(Error::io("cannot reach the view any more"))?;
        stream
            .set_nonblocking(true)
            .map_err(Error::io("cannot hold a connection"))?;
        Ok(Held {
            stream,
            kind: kind.of(number),
            looks: 0,
        })
    };
    let mut held = (0..count).map(open).collect::<Result<Vec<_>>>()?;
    let (mut reopened, mut times) = (0, Vec::new());
    for _ in 0..questions {
        for (number, one) in held.iter_mut().enumerate() {
            if !look(one) {
                *one = open(number)?;
                reopened += 1;
            }
        }
        // The first page, as any other client would ask for it.
        let begin = Instant::now();
        view::ask(at, "/")?;
        times.push(begin.elapsed().as_secs_f64() * 1e3);
        std::thread::sleep(PAUSE);
    }
    let answers = Spread::of(times).ok_or_else(|| Error::Unusable("no question".into()))?;
    Ok(Row {
        clients: kind,
        reopened,
        asked: answers.n,
        answers,
        memory: status::bytes(pid, "VmHWM").unwrap_or(0),
    })
}

/// Does with a connection what its kind does. Is it still open?
fn look(held: &mut Held) -> bool {
    let blocks = |error: &std::io::Error| error.kind() == ErrorKind::WouldBlock;
    // Where answers are never read, a closed connection shows when it is written to.
    if !matches!(held.kind, Kind::Events | Kind::Unread) {
        let mut bytes = [0; 4096];
        match held.stream.read(&mut bytes) {
            Ok(0) => return false,
            Ok(_) => {}
            Err(error) if blocks(&error) => {}
            Err(_) => return false,
        }
    }
    let bytes = held.kind.says(held.looks);
    held.looks += 1;
    match held.stream.write(&bytes) {
        // What does not fit is left out: the connection is full of requests that wait.
        Ok(sent) => sent > 0 || bytes.is_empty(),
        Err(error) => blocks(&error),
    }
}

impl fmt::Display for Siege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} connections held against a view; another client asks for the first page: milliseconds, median (best–worst)\n",
            self.connections
        )?;
        let mut table = Table::new(["clients", "answers", "reopened", "asked", "view's memory"]);
        for row in &self.rows {
            table.row([
                row.clients.name().into(),
                row.answers.show(1),
                row.reopened.to_string(),
                row.asked.to_string(),
                format!("{:.1} MiB", row.memory as f64 / f64::from(1 << 20)),
            ]);
        }
        write!(f, "{table}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dripping_client_sends_the_head_and_then_goes_on() {
        let sent: Vec<u8> = (0..60).flat_map(|at| Kind::Dripping.says(at)).collect();
        assert!(sent.starts_with(b"GET / HTTP/1.1\r\n"));
        assert!(sent.ends_with(b"xx"), "it never ends");
        assert_eq!(sent.len(), 60, "byte by byte");
    }

    #[test]
    fn mixed_clients_are_of_all_kinds() {
        let kinds: Vec<Kind> = (0..7).map(|number| Kind::Mixed.of(number)).collect();
        assert_eq!(kinds, Kind::SINGLE);
    }
}
