//! A place of a test's own, the command in it, and processes that end with the test.

use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// After this, something hangs. Far beyond what anything here takes on a busy machine.
pub const HANGS: Duration = Duration::from_secs(90);

/// The program under test.
pub const PRONY: &str = env!("CARGO_BIN_EXE_prony");

/// The project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder with a notebook, a cache and a catalog, which no other test uses.
pub struct Place {
    folder: TempDir,
}

/// Exit status and output of a command that has ended.
#[derive(Debug)]
pub struct Done {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    /// An empty one.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("prony-test-")
            .tempdir()
            .unwrap();
        fs::create_dir(folder.path().join("catalog")).unwrap();
        Self { folder }
    }

    /// One with prony's own servers for both contracts: `quick` (epoll) and `plain` (threads).
    pub fn with_references() -> Self {
        let place = Self::new();
        for (name, model, workers) in [
            ("quick", "epoll", "workers = { min = 1 }"),
            ("plain", "threads", ""),
        ] {
            place.manifest(
                name,
                &format!(
                    "title = 'prony, {model}'\nlanguage = 'Rust'\nmodel = '{model}'\n\
                     contracts = ['tcp-echo', 'http-echo']\n\
                     run = '{{prony}} serve {{contract}} --model {model} --listen [{{host}}]:{{port}} --workers {{workers}}'\n\
                     {workers}\n"
                ),
            );
        }
        place
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Writes a file and gives its path.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Adds a server to the catalog.
    pub fn manifest(&self, server: &str, text: &str) {
        self.file(&format!("catalog/{server}/server.toml"), text);
    }

    /// Adds a tcp-echo server to the catalog that is started with this command line; `more` are
    /// further lines of its manifest.
    pub fn echo_server(&self, name: &str, run: &str, more: &str) {
        self.manifest(
            name,
            &format!(
                "title = 'A test server'\nlanguage = 'any'\nmodel = 'any'\n\
                 contracts = ['tcp-echo']\nrun = '''{run}'''\n{more}\n"
            ),
        );
    }

    /// Writes an experiment file and gives its path as text.
    pub fn experiment(&self, name: &str, text: &str) -> String {
        self.file(&format!("{name}.toml"), text)
            .display()
            .to_string()
    }

    fn environment(&self) -> [(&'static str, PathBuf); 4] {
        [
            ("PRONY_NOTEBOOK", self.path().join("notebook.db")),
            ("PRONY_CACHE", self.path().join("cache")),
            ("PRONY_ONLY_CATALOG", self.path().join("catalog")),
            // What a killed prony leaves goes with the place.
            ("TMPDIR", self.path().to_owned()),
        ]
    }

    /// The command with these arguments, to be started by the test.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(PRONY);
        command
            .args(arguments)
            .envs(self.environment())
            .env_remove("RUST_BACKTRACE")
            .current_dir(self.path());
        command
    }

    /// Runs the command to its end. What loads as fast as answers come, again and again, waits for its turn: several at
    /// once share the same two CPUs, see slow servers, and measure each for longer. Loads at a rate leave CPUs free.
    pub fn prony(&self, arguments: &[&str]) -> Done {
        static TURN: Mutex<()> = Mutex::new(());
        let loads = !arguments.contains(&"--rate")
            && arguments
                .first()
                .is_some_and(|verb| ["duel", "capacity", "why", "calibrate"].contains(verb));
        let _turn = loads.then(|| TURN.lock().unwrap_or_else(PoisonError::into_inner));
        self.finish(&mut self.command(arguments))
    }

    /// Runs the command, which must fail before it loads (status 1 or 2), and therefore needs no turn.
    pub fn fails(&self, arguments: &[&str]) -> Done {
        let done = self.finish(&mut self.command(arguments));
        assert!(matches!(done.code, Some(1 | 2)), "{arguments:?}: {done}");
        done
    }

    /// Runs the command, which must refuse its arguments (status 2).
    pub fn refused(&self, arguments: &[&str]) -> Done {
        self.fails(arguments).with(2)
    }

    /// Runs `sh -c SCRIPT`, in which `$PRONY` is the command, to its end.
    pub fn shell(&self, script: &str) -> Done {
        self.finish(&mut self.shell_command(script))
    }

    /// `sh -c SCRIPT`, in which `$PRONY` is the command, to be started.
    pub fn shell_command(&self, script: &str) -> std::process::Command {
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", script])
            .env("PRONY", PRONY)
            .envs(self.environment())
            .current_dir(self.path());
        command
    }

    /// Runs a command to its end, with nothing on its standard input.
    pub fn finish(&self, command: &mut Command) -> Done {
        let output = output(command.stdin(Stdio::null()));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("prony prints UTF-8");
        Done::new(output.status, text(output.stdout), text(output.stderr))
    }

    /// The notebook, to look into.
    pub fn notebook(&self) -> rusqlite::Connection {
        let path = self.path().join("notebook.db");
        rusqlite::Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY)
            .unwrap()
    }
}

impl Done {
    fn new(status: ExitStatus, stdout: String, stderr: String) -> Self {
        let done = Self {
            code: status.code(),
            stdout,
            stderr,
        };
        for sign in ["panicked", "RUST_BACKTRACE"] {
            assert!(
                !done.stderr.contains(sign) && !done.stdout.contains(sign),
                "{done}"
            );
        }
        done
    }

    /// Asserts that the command ended with this status.
    #[track_caller]
    pub fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self}");
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}

impl std::fmt::Display for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            code,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "status {code:?}\n--- stdout\n{stdout}\n--- stderr\n{stderr}\n---"
        )
    }
}

/// A process that goes on while the test does other things. Dropping it kills it.
pub struct Background {
    child: Child,
    lines: mpsc::Receiver<String>,
    stderr: String,
    stdout: Option<thread::JoinHandle<String>>,
}

impl Background {
    /// Starts it.
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let stdout = thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).unwrap();
            text
        });
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self {
            child,
            lines,
            stderr: String::new(),
            stdout: Some(stdout),
        }
    }

    pub fn pid(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// Waits for a line of standard error with this text in it, and gives the line.
    #[track_caller]
    pub fn line(&mut self, text: &str) -> String {
        let deadline = Instant::now() + HANGS;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                panic!("there was no line with {text:?}, but:\n{}", self.stderr);
            };
            self.stderr += &line;
            self.stderr.push('\n');
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        // SAFETY: a plain system call; the child has not been reaped, so the number is its own.
        assert_eq!(unsafe { libc::kill(self.pid(), signal) }, 0);
    }

    /// Sends a signal to it and to all processes of its group, which it must lead.
    pub fn signal_group(&self, signal: i32) {
        // SAFETY: a plain system call; the child has not been reaped, so the number is its own.
        assert_eq!(unsafe { libc::kill(-self.pid(), signal) }, 0);
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Done {
        let mut status = None;
        until("the end of prony", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        let stdout = self.stdout.take().unwrap().join().unwrap();
        while let Ok(line) = self.lines.recv_timeout(HANGS) {
            self.stderr += &line;
            self.stderr.push('\n');
        }
        Done::new(status.unwrap(), stdout, std::mem::take(&mut self.stderr))
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server of `prony serve`.
pub struct Served {
    process: Background,
    pub addr: SocketAddr,
}

impl Served {
    /// `prony serve ARGUMENTS` on a free port.
    pub fn start(arguments: &[&str]) -> Self {
        let mut process = Background::start(Command::new(PRONY).arg("serve").args(arguments));
        let line = process.line("serving");
        let addr = line.rsplit(' ').next().unwrap().parse().unwrap();
        Self { process, addr }
    }

    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: i32) {
        self.process.signal(signal);
    }

    pub fn http(&self, path: &str) -> String {
        format!("http://{}{path}", self.addr)
    }

    pub fn tcp(&self) -> String {
        format!("tcp://{}", self.addr)
    }
}

/// Waits until something is so.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let deadline = Instant::now() + HANGS;
    while !so() {
        assert!(Instant::now() < deadline, "{what} did not come");
        thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command to its end, within [`HANGS`].
pub fn output(command: &mut Command) -> Output {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let stdout = thread::spawn(move || read_all(&mut stdout));
    let stderr = thread::spawn(move || read_all(&mut stderr));
    let deadline = Instant::now() + HANGS;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            let status = child.wait().unwrap();
            panic!("{command:?} hangs, and was killed: {status}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    Output {
        status,
        stdout: stdout.join().unwrap(),
        stderr: stderr.join().unwrap(),
    }
}

fn read_all(from: &mut impl Read) -> Vec<u8> {
    let mut all = Vec::new();
    from.read_to_end(&mut all).unwrap();
    all
}

/// The schema of this name as it is in the repository.
pub fn schema(name: &str) -> Value {
    let path = project().join(format!("schemas/{name}.schema.json"));
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// A schema, ready for use.
pub fn compiled(schema: &Value) -> (boon::Schemas, boon::SchemaIndex) {
    let (mut schemas, mut compiler) = (boon::Schemas::new(), boon::Compiler::new());
    compiler
        .add_resource("json-schema:///schema", schema.clone())
        .unwrap();
    let index = compiler
        .compile("json-schema:///schema", &mut schemas)
        .unwrap();
    (schemas, index)
}

/// The value must be as the schema says.
#[track_caller]
pub fn valid(schema: &Value, value: &Value) {
    let (schemas, index) = compiled(schema);
    if let Err(error) = schemas.validate(value, index) {
        panic!("{error:#}\n{value:#}");
    }
}

/// The names of the checks that were raised.
pub fn raised(checks: &Value) -> BTreeSet<&str> {
    checks
        .as_array()
        .unwrap()
        .iter()
        .map(|check| check["name"].as_str().unwrap())
        .collect()
}
