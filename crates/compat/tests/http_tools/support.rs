//! Running compatibility commands and originals, servers to run them against, and outputs without their times.

use prony_compat::Console;
use prony_engine::Control;
use prony_reference::{Contract, ceiling};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

/// Output of a program, and its exit status.
#[derive(Debug)]
pub struct Run {
    pub out: String,
    pub err: String,
    pub status: u8,
}

impl Run {
    pub fn with(self, status: u8) -> Self {
        assert_eq!(self.status, status, "{self:#?}");
        self
    }
}

pub type Main = fn(Vec<OsString>, &mut Console<'_>) -> u8;

/// Runs a command in this process.
pub fn prony(main: Main, args: &[&str]) -> Run {
    guarded(main, args, &|_| {})
}

/// The same, stopped so long after its load has begun, as by Ctrl-C.
pub fn stopped(main: Main, after: Duration, args: &[&str]) -> Run {
    guarded(main, args, &|control| {
        let control = Arc::clone(control);
        thread::spawn(move || {
            thread::sleep(after);
            control.stop();
        });
    })
}

fn guarded(main: Main, args: &[&str], guard: &dyn Fn(&Arc<Control>)) -> Run {
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let status = main(
        args.iter().map(OsString::from).collect(),
        &mut Console {
            out: &mut out,
            err: &mut err,
            guard,
        },
    );
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Run {
        out: text(out),
        err: text(err),
        status,
    }
}

/// Are the originals run as well? Elsewhere only their recorded outputs are compared.
fn in_the_campaign() -> Option<()> {
    std::env::var_os("PRONY_TEST_ALL").map(drop)
}

/// Runs the original, in the campaign `compat`; `None` elsewhere.
pub fn original(tool: &str, args: &[&str]) -> Option<Run> {
    in_the_campaign()?;
    let ran = Command::new(tool).args(args).output();
    Some(said_by(&ran.expect(tool)))
}

/// The original, interrupted so long after its start, in the campaign `compat`; `None` elsewhere.
pub fn original_stopped(tool: &str, after: Duration, args: &[&str]) -> Option<Run> {
    in_the_campaign()?;
    let mut command = Command::new(tool);
    let command = command
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let running = command.spawn().expect(tool);
    thread::sleep(after);
    let kill = Command::new("kill")
        .args(["-INT", &running.id().to_string()])
        .status();
    assert!(kill.expect("kill").success());
    Some(said_by(&running.wait_with_output().unwrap()))
}

fn said_by(done: &Output) -> Run {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Run {
        out: text(&done.stdout),
        err: text(&done.stderr),
        status: u8::try_from(done.status.code().expect("no signal")).expect("a status"),
    }
}

/// The arguments of a command that a test runs in a process of its own, one a line.
const ARGS: &str = "PRONY_TEST_ARGS";
/// Where that process writes what the command says.
const SAID: &str = "PRONY_TEST_SAID";

/// In the process that [`prony_with_few`] has started, runs the command and ends; otherwise does nothing. The
/// first line of a test, so that nothing else is open there.
pub fn if_started_with_few(main: Main) {
    if let (Ok(args), Ok(said)) = (std::env::var(ARGS), std::env::var(SAID)) {
        let run = prony(main, &args.lines().collect::<Vec<_>>());
        std::fs::write(format!("{said}/out"), run.out).unwrap();
        std::fs::write(format!("{said}/err"), run.err).unwrap();
        std::process::exit(run.status.into());
    }
}

/// Runs a command under a limit of file descriptors, which is one of the whole process: another process is
/// started for the test named `test`.
pub fn prony_with_few(test: &str, descriptors: u32, args: &[&str]) -> Run {
    let said = tempfile::tempdir().unwrap();
    let this = std::env::current_exe().unwrap();
    let done = with_few(descriptors, this.to_str().unwrap())
        .args(["--exact", test])
        .env(ARGS, args.join("\n"))
        .env(SAID, said.path())
        .output()
        .unwrap();
    let read = |name: &str| {
        let path = said.path().join(name);
        std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {done:#?}"))
    };
    Run {
        out: read("out"),
        err: read("err"),
        ..said_by(&done)
    }
}

/// The original under a limit of file descriptors, in the campaign `compat`; `None` elsewhere.
pub fn original_with_few(tool: &str, descriptors: u32, args: &[&str]) -> Option<Run> {
    in_the_campaign()?;
    let done = with_few(descriptors, tool).args(args).output().unwrap();
    Some(said_by(&done))
}

fn with_few(descriptors: u32, program: &str) -> Command {
    let mut command = Command::new("sh");
    let script = format!("ulimit -n {descriptors} && exec \"$0\" \"$@\"");
    command.args(["-c", &script, program]);
    command
}

/// A real output of the original for a case, in which the server's port is `PORT`. With
/// `PRONY_GOLDEN=write` it becomes `real`.
pub fn golden(case: &str, real: Option<&str>) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(format!("{case}.txt"));
    if let Some(real) = real
        && std::env::var("PRONY_GOLDEN").as_deref() == Ok("write")
    {
        std::fs::write(&path, real).unwrap();
    }
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// `text` with `PORT` instead of the port, which is another one in each run.
pub fn without_port(text: &str, addr: SocketAddr) -> String {
    let port = addr.port();
    text.replace(&format!(":{port}"), ":PORT")
        .replace(&format!("--port={port}"), "--port=PORT")
        .replace(
            &format!("Server Port:            {port}"),
            "Server Port:            PORT",
        )
        .replace(
            &format!("<td colspan=2 bgcolor=white>{port}</td>"),
            "<td colspan=2 bgcolor=white>PORT</td>",
        )
}

/// The lines of an output with `#` for each number and one space for many.
pub fn shape(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| {
            let mut out = String::new();
            let mut rest = line.chars().peekable();
            while let Some(c) = rest.next() {
                if c.is_ascii_digit() {
                    while rest.next_if(|&c| c.is_ascii_digit() || c == '.').is_some() {}
                    out.push('#');
                } else if c != ' ' || !out.ends_with(' ') {
                    out.push(c);
                }
            }
            out.trim().to_owned()
        })
        .collect()
}

/// The lines `name: value`, the first of each name.
pub fn fields(text: &str) -> BTreeMap<&str, &str> {
    let mut fields = BTreeMap::new();
    for (name, value) in text.lines().filter_map(|line| line.split_once(':')) {
        fields.entry(name.trim()).or_insert(value.trim());
    }
    fields
}

/// prony's own HTTP server, which answers each path with the path and the date, in a thread for
/// the rest of the test's life.
pub fn http_echo() -> SocketAddr {
    let server = ceiling::Server::bind(&ceiling::Options {
        contract: Contract::HttpEcho,
        ..ceiling::Options::new("127.0.0.1:0".parse().unwrap())
    })
    .unwrap();
    let addr = server.local_addr();
    thread::spawn(move || server.run());
    addr
}

/// A server of any manners: `serve` gets each connection, after its first request has been read,
/// and how many came before it.
pub fn server(serve: fn(TcpStream, u64)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    thread::spawn(move || {
        let nth = AtomicU64::new(0);
        thread::scope(|scope| {
            for stream in listener.incoming() {
                let nth = nth.fetch_add(1, Relaxed);
                scope.spawn(move || {
                    if let Ok(mut stream) = stream
                        && read_head(&mut stream)
                    {
                        serve(stream, nth);
                    }
                });
            }
        });
    });
    addr
}

fn read_head(stream: &mut TcpStream) -> bool {
    let mut head = Vec::new();
    let mut buffer = [0; 4096];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(n @ 1..) => head.extend_from_slice(&buffer[..n]),
            _ => return false,
        }
    }
    true
}

/// An answer, after which the server closes.
pub fn answer(stream: &mut TcpStream, status: &str, body: &str) {
    let text = format!(
        "HTTP/1.0 {status}\r\nServer: demo/1 (x)\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.write_all(text.as_bytes());
}

/// A port on which no server listens.
pub fn unused_port() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
}
