//! A folder in which prony measures small servers, and what has to be so there whatever happened.

use crate::error::{Error, Result};
use rusqlite::{Connection, OpenFlags};
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Environment variable whose value marks the processes of one scene: children inherit it.
const MARK: &str = "PRONY_FAULTS_MARK";
/// Time after which a process counts as hung: many times as long as it takes on a busy machine.
const HANGS: Duration = Duration::from_secs(120);
/// Between two looks at what is awaited.
const LOOK: Duration = Duration::from_millis(20);

/// A server that leaves a helper behind: in a session of its own, deaf to every signal that can be ignored.
const START: &str = "trap '' HUP INT
(setsid sh -c 'trap \"\" TERM HUP INT; sleep 1000' &)
exec \"$1\" serve tcp-echo --model threads --listen \"[$3]:$2\"
";

/// Kind of process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whom {
    /// The command itself.
    Prony,
    /// Process between the command and a server.
    Supervisor,
    /// A server.
    Server,
    /// Process that a server has started.
    Helper,
    /// Process of a server's database.
    Service,
    /// prony on what it takes for another machine.
    Agent,
    /// Process that has started an agent there.
    Launcher,
}

impl Whom {
    /// Processes of a command that measures on this machine.
    pub const ALL: [Self; 4] = [Self::Prony, Self::Supervisor, Self::Server, Self::Helper];
    /// Processes of a command that starts servers with services.
    pub const WITH_SERVICES: [Self; 4] =
        [Self::Prony, Self::Supervisor, Self::Server, Self::Service];
    /// Processes of a command that measures on other machines.
    pub const APART: [Self; 6] = [
        Self::Prony,
        Self::Supervisor,
        Self::Server,
        Self::Helper,
        Self::Agent,
        Self::Launcher,
    ];
}

/// Command line with which prony is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Run,
    Duel,
    Capacity,
    View,
    /// A run with the server and the load on machines of their own.
    Apart,
    /// A run whose servers have PostgreSQL and another service.
    Services,
}

impl Verb {
    pub const ALL: [Self; 6] = [
        Self::Run,
        Self::Duel,
        Self::Capacity,
        Self::View,
        Self::Apart,
        Self::Services,
    ];

    fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Run => &["run", "it.toml", "--plain"],
            Self::Services => &["run", "services.toml", "--plain"],
            Self::Duel => &[
                "duel",
                "clinging",
                "clinging",
                "--contract",
                "tcp-echo",
                "--rounds",
                "4",
                "--warmup",
                "0s",
                "-d",
                "100ms",
                "-c",
                "2",
                "--plain",
            ],
            Self::Capacity => &[
                "capacity",
                "clinging",
                "--contract",
                "tcp-echo",
                "--p99",
                "50ms",
                "--plain",
            ],
            Self::View => &["view", "--listen", ":0"],
            Self::Apart => &[
                "run",
                "it.toml",
                "--plain",
                "--hosts",
                "hosts.toml",
                "--server-host",
                "a",
                "--client-host",
                "b,c",
            ],
        }
    }

    /// The fewest trials that are in the notebook when progress has told of this line.
    fn trials(self, line: &str) -> u64 {
        match self {
            Self::Run | Self::Apart | Self::Services
                if line.starts_with("round ") && line.contains("p99") =>
            {
                1
            }
            Self::Duel if line.starts_with("round ") && line.contains('×') => 2,
            Self::Capacity if line.contains("/s: kept") || line.contains("/s: not kept") => 1,
            _ => 0,
        }
    }
}

/// A folder with a catalog, an experiment and a notebook.
pub struct Scene {
    folder: TempDir,
    /// Folder for the command's standard output and standard error, which no fault touches.
    said: TempDir,
    program: PathBuf,
    mark: String,
}

/// prony, started in a scene.
pub struct Started {
    pub child: Child,
    verb: Verb,
}

impl Scene {
    /// A fresh one, with an empty notebook.
    ///
    /// # Errors
    /// When its files cannot be written, or `prony` does not start.
    pub fn new(program: &Path) -> Result<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let new_folder = || tempfile::tempdir().map_err(Error::io("cannot make a folder"));
        let (folder, said) = (new_folder()?, new_folder()?);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let scene = Self {
            folder,
            said,
            program: program.to_owned(),
            mark: format!("{}-{number}", std::process::id()),
        };
        let host = |name: &str| {
            let program = program.display();
            format!("[{name}]\nlaunch = 'sh launch.sh'\nprony = '{program}'\n")
        };
        let hosts = ["a", "b", "c"].map(host).concat();
        let queue = format!("{} serve tcp-echo --listen :{{port}}", program.display());
        let services = format!(
            "title = 'T'\ncontract = 'tcp-echo'\nservers = ['clinging']\nrounds = 2\n\
             [services.postgres]\nseed_text = 'create table t(i int);'\n[services.queue]\ncommand = '{queue}'\n\
             [load]\nconnections = 2\nwarmup = '0s'\nduration = '150ms'\n"
        );
        let files = [
            ("services.toml", services.as_str()),
            ("hosts.toml", hosts.as_str()),
            // Not `exec`: the launcher is a process beside the agent, as ssh is.
            ("launch.sh", "\"$@\"\n"),
            (
                "catalog/clinging/server.toml",
                "title = 'with a helper'\nlanguage = 'Rust'\ncontracts = ['tcp-echo']\nmodel = 'threads'\n\
                 run = 'sh {src}/start.sh {prony} {port} {host}'\n",
            ),
            ("catalog/clinging/start.sh", START),
            (
                "it.toml",
                "title = 'T'\ncontract = 'tcp-echo'\nservers = ['clinging']\nrounds = 6\n\
                 [load]\nconnections = 2\nwarmup = '0s'\nduration = '150ms'\n",
            ),
        ];
        for (name, text) in files {
            let path = scene.path(name);
            let parent = path.parent().expect("files lie in a folder");
            fs::create_dir_all(parent)
                .and_then(|()| fs::write(&path, text))
                .map_err(Error::io(format!("cannot write {name}")))?;
        }
        // For root, PostgreSQL runs under another account, which comes by here.
        fs::set_permissions(scene.folder.path(), fs::Permissions::from_mode(0o711))
            .map_err(Error::io("cannot open the folder"))?;
        for name in ["tmp", "home"] {
            fs::create_dir_all(scene.path(name))
                .map_err(Error::io(format!("cannot make {name}")))?;
        }
        let ended = scene.command(&["runs"]).output();
        let ended = ended.map_err(Error::io("cannot start prony"))?;
        match ended.status.success() {
            true => Ok(scene),
            false => Err(Error::process("prony", "cannot make a notebook")),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the command's standard output and error go.
    pub fn said(&self, name: &str) -> PathBuf {
        self.said.path().join(name)
    }

    /// The command in this folder, which nothing of the caller's environment reaches.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        self.furnish(&mut command);
        command.args(arguments);
        command
    }

    /// Sets the mark by which the processes that `command` starts are found, and keeps its files in this folder.
    pub fn furnish(&self, command: &mut Command) {
        command
            .current_dir(self.folder.path())
            .env(MARK, &self.mark)
            .env("TMPDIR", self.path("tmp"))
            .env("HOME", self.path("home"))
            .env("PRONY_NOTEBOOK", self.path("notebook.db"))
            .env("PRONY_CACHE", self.path("cache"))
            .env("PRONY_ONLY_CATALOG", self.path("catalog"))
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::null());
    }

    /// Starts `verb`; `prepare` changes the command before.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(
        &self,
        verb: Verb,
        prepare: impl FnOnce(Command, &Self) -> Command,
    ) -> Result<Started> {
        let said = |name: &str| {
            File::create(self.said(name)).map_err(Error::io(format!("cannot make {name}")))
        };
        let mut command = self.command(verb.arguments());
        command.stdout(said("stdout")?).stderr(said("stderr")?);
        let mut command = prepare(command, self);
        // Signals meant for it are not meant for this program, nor the other way round.
        command.process_group(0);
        let child = command.spawn().map_err(Error::io("cannot start prony"))?;
        Ok(Started { child, verb })
    }

    /// The living processes of this scene.
    pub fn processes(&self, prony: u32) -> Vec<(i32, Whom)> {
        let entry = format!("{MARK}={}", self.mark);
        let tmp = self.path("tmp");
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        all.filter_map(|process| {
            let pid: i32 = process.file_name().to_str()?.parse().ok()?;
            let environment = fs::read(process.path().join("environ")).ok()?;
            let marked = environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == entry.as_bytes());
            // Processes of PostgreSQL write their titles over their environment.
            let data =
                || fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&tmp));
            (marked || data()).then_some(())?;
            let line = fs::read(process.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let whom = match line {
                _ if u32::try_from(pid) == Ok(prony) => Whom::Prony,
                line if line.contains(" supervisor ") => Whom::Supervisor,
                line if line.contains("postgres") => Whom::Service,
                line if line.contains(" serve ") => Whom::Server,
                line if line.contains("launch.sh ") => Whom::Launcher,
                line if line.ends_with(" agent ") => Whom::Agent,
                _ => Whom::Helper,
            };
            Some((pid, whom))
        })
        .collect()
    }

    /// Waits for the command's end. None: it has hung, and was killed.
    pub fn end(&self, started: &mut Started) -> Option<ExitStatus> {
        let began = Instant::now();
        while began.elapsed() < HANGS {
            if let Ok(Some(status)) = started.child.try_wait() {
                return Some(status);
            }
            std::thread::sleep(LOOK);
        }
        // It is the answer that counts: that it hung.
        let _ = started.child.kill();
        let _ = started.child.wait();
        None
    }

    /// Returns the text that the command has written to standard error.
    pub fn complaint(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.said("stderr")).unwrap_or_default()).into_owned()
    }

    /// Returns the problems that are found once the command has ended; empty if there are none.
    pub fn wrong(&self, started: &Started, notebook_is_whole: bool) -> Vec<String> {
        let mut wrong = Vec::new();
        let complaint = self.complaint();
        // Behind a bar stands what a server has said.
        let own = complaint
            .lines()
            .filter(|line| !line.trim_start().starts_with('│'));
        if own.into_iter().any(|line| line.contains("panicked")) {
            wrong.push(format!("it panicked: {complaint}"));
        }
        if let Some(left) = self.left() {
            wrong.push(left);
        }
        if notebook_is_whole {
            let told: u64 = complaint
                .lines()
                .map(|line| started.verb.trials(line))
                .sum();
            match self.trials() {
                Ok(kept) if kept >= told => {}
                Ok(kept) => wrong.push(format!("{told} trials were told of, {kept} are kept")),
                Err(problem) => wrong.push(problem),
            }
        }
        wrong
    }

    /// Processes that do not go away.
    fn left(&self) -> Option<String> {
        let began = Instant::now();
        loop {
            let left = self.processes(0);
            if left.is_empty() {
                return None;
            }
            if began.elapsed() > HANGS {
                return Some(format!("processes are left: {left:?}"));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Ends what a failure left, so that it does not disturb what comes next.
    pub fn sweep(&self) {
        for (pid, _) in self.processes(0) {
            // SAFETY: a plain system call.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
    }

    /// Trials in a notebook without a flaw, and in files that were saved because it could not be written.
    fn trials(&self) -> std::result::Result<u64, String> {
        let problem = |error: rusqlite::Error| format!("the notebook cannot be read: {error}");
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let notebook =
            Connection::open_with_flags(self.path("notebook.db"), flags).map_err(problem)?;
        let verdict: String = notebook
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .map_err(problem)?;
        if verdict != "ok" {
            return Err(format!("the notebook is damaged: {verdict}"));
        }
        let kept: u32 = notebook
            .query_row("SELECT count(*) FROM trial", [], |row| row.get(0))
            .map_err(problem)?;
        let files = fs::read_dir(self.folder.path())
            .into_iter()
            .flatten()
            .flatten();
        let saved = files.filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            (name.starts_with("prony-") && name.ends_with(".json")).then_some(())?;
            let text = fs::read(file.path()).ok()?;
            let all: serde_json::Value = serde_json::from_slice(&text).ok()?;
            Some(all["trials"].as_array()?.len() as u64)
        });
        Ok(u64::from(kept) + saved.sum::<u64>())
    }

    /// Makes another run, without a fault, and returns its problems, with any temporary files that are left.
    pub fn wrong_afterwards(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        match self.start(Verb::Run, |command, _| command) {
            Err(error) => wrong.push(error.to_string()),
            Ok(mut next) => {
                let status = self.end(&mut next);
                if !status.is_some_and(|status| status.success()) {
                    let complaint = self.complaint();
                    wrong.push(format!("the next run failed ({status:?}): {complaint}"));
                }
                wrong.extend(self.wrong(&next, true));
            }
        }
        let left = fs::read_dir(self.path("tmp"))
            .into_iter()
            .flatten()
            .flatten();
        let left: Vec<_> = left.map(|file| file.file_name()).collect();
        if !left.is_empty() {
            wrong.push(format!("temporary files are left: {left:?}"));
        }
        wrong
    }
}
