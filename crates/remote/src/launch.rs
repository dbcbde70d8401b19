//! Starting prony on another machine, through a program that starts programs there.
//!
//! Where no installed prony is named, a shell is started, which needs no quoting whatever the launcher does with its
//! arguments (ssh joins them, kubectl and srun pass them on), and is told line by line what to do: is this very
//! program in the cache already? If not, it is copied there through the shell's standard input. Then the shell becomes
//! the agent. Every line waits for the answer to the one before: a shell reads ahead, and would swallow what follows.

use crate::frame::{FrameError, Receiver};
use crate::hosts::HostSpec;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The longest line of a shell that is read as an answer.
const LONGEST_LINE: usize = 4 << 10;
/// Lines of a greeting before the shell's first answer.
const MOST_LINES: usize = 1_000;
/// Bytes that are kept of the end of a launcher's standard error.
const COMPLAINTS: usize = 4 << 10;

/// An agent that has been started.
pub(crate) struct Launched {
    /// The launcher's process.
    pub child: Child,
    /// To the agent.
    pub input: ChildStdin,
    /// From the agent, its first frame next.
    pub output: Receiver<ChildStdout>,
    /// End of the standard error of the launcher and of prony there.
    pub complaints: Complaints,
}

/// The end of what a launcher has said on its standard error.
#[derive(Debug, Clone, Default)]
pub(crate) struct Complaints(Arc<Mutex<Vec<u8>>>);

impl Complaints {
    fn listen(&self, mut to: impl Read + Send + 'static) {
        let kept = Arc::clone(&self.0);
        thread::spawn(move || {
            let mut bytes = [0; 1_024];
            while let Ok(n @ 1..) = to.read(&mut bytes) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&bytes[..n]);
                let surplus = kept.len().saturating_sub(COMPLAINTS);
                kept.drain(..surplus);
            }
        });
    }

    /// The last line that says something, after a colon; nothing when there is none.
    pub(crate) fn last(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let line = text.lines().rev().find(|line| !line.trim().is_empty());
        line.map_or_else(String::new, |line| format!(": {}", line.trim()))
    }
}

/// File of this program, which is copied to other machines.
#[derive(Debug)]
pub struct Program {
    path: PathBuf,
    /// SHA-256 of the file, in hexadecimal; computed when it is first needed.
    hash: Mutex<Option<String>>,
}

impl Program {
    /// The program in this file.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            hash: Mutex::new(None),
        }
    }

    fn hash(&self) -> io::Result<String> {
        let mut known = self.hash.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(hash) = &*known {
            return Ok(hash.clone());
        }
        let mut file = fs::File::open(&self.path)?;
        let mut hasher = Sha256::new();
        let mut bytes = vec![0; 1 << 16];
        loop {
            match file.read(&mut bytes)? {
                0 => break,
                n => hasher.update(&bytes[..n]),
            }
        }
        let mut hash = String::new();
        for byte in hasher.finalize() {
            let _ = write!(hash, "{byte:02x}");
        }
        *known = Some(hash.clone());
        Ok(hash)
    }
}

/// Starts an agent. `copying` is told when the program has to be copied, with its size in bytes.
///
/// # Errors
/// What was tried, what was found, and what can be done.
pub(crate) fn launch(
    host: &HostSpec,
    program: &Program,
    copying: &dyn Fn(u64),
) -> Result<Launched, String> {
    let own = program.path.display().to_string();
    let installed = match (&host.prony, host.launch.is_empty()) {
        (Some(installed), _) => Some(installed.as_str()),
        (None, true) => Some(own.as_str()),
        (None, false) => None,
    };
    let mut words = host.launch.clone();
    match installed {
        Some(prony) => words.extend([prony.to_owned(), "agent".to_owned()]),
        None => words.push("sh".to_owned()),
    }
    let line = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
    let mut command = Command::new(&words[0]);
    command
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Ctrl-C in a terminal goes to the launcher too, which must live until what was measured has come. It stays in
    // prony's process group, so that it can ask for a password.
    // SAFETY: `signal` may be called between fork and exec, and changes nothing but the new process.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        });
    }
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot run `{line}`: {error}"))?;
    let complaints = Complaints::default();
    complaints.listen(child.stderr.take().expect("it is a pipe"));
    let mut input = child.stdin.take().expect("it is a pipe");
    let mut output = child.stdout.take().expect("it is a pipe");
    let started = match installed {
        Some(_) => Ok(()),
        None => bootstrap(&mut input, &mut output, &host.name, program, copying),
    };
    let mut output = Receiver::new(output);
    let found = started.and_then(|()| {
        output.find_agent().map_err(|error| match error {
            FrameError::NoAgent(found) if found.is_empty() => Trouble::Silent,
            other => Trouble::Other(other.to_string()),
        })
    });
    match found {
        Ok(()) => Ok(Launched {
            child,
            input,
            output,
            complaints,
        }),
        Err(trouble) => {
            drop(input);
            let _ = child.kill();
            let ended = child.wait();
            // Its last words are read by a thread of their own.
            thread::sleep(std::time::Duration::from_millis(50));
            Err(trouble.told(&line, installed, &complaints.last(), ended.ok()))
        }
    }
}

/// Why no agent could be started.
enum Trouble {
    /// The launcher ended, or said nothing.
    Silent,
    /// The program does not run on that machine.
    Unable(String),
    /// The program could not be copied, for this reason.
    NotCopied(String),
    /// Anything else.
    Other(String),
}

impl Trouble {
    fn told(
        &self,
        line: &str,
        installed: Option<&str>,
        last: &str,
        ended: Option<std::process::ExitStatus>,
    ) -> String {
        match (self, installed) {
            (Self::Silent, Some(prony)) => format!(
                "`{line}` started no prony{last}; is {prony} installed there, in the same version as here?"
            ),
            (Self::Silent, None) => {
                let how = match ended.and_then(|status| status.code()) {
                    Some(code) if code != 0 => format!(" (exit status {code})"),
                    _ => String::new(),
                };
                format!(
                    "`{line}` started no shell{how}{last}; try it by hand: `echo hostname | {line}`"
                )
            }
            (Self::Unable(why), _) => format!(
                "this prony does not run there: {why}{last}; install one of the same version and name it: `prony = \
                 \"/path/to/prony\"` in the host's table"
            ),
            (Self::NotCopied(why), _) => format!(
                "prony could not be copied there: {why}{last}; it needs space in the cache folder (XDG_CACHE_HOME or \
                 ~/.cache), or name an installed one: `prony = \"/path/to/prony\"` in the host's table"
            ),
            (Self::Other(why), _) => format!("`{line}`: {why}{last}"),
        }
    }
}

/// Turns a shell on the machine of this name into the agent.
fn bootstrap(
    input: &mut impl Write,
    output: &mut impl Read,
    name: &str,
    program: &Program,
    copying: &dyn Fn(u64),
) -> Result<(), Trouble> {
    let here = |error: io::Error| {
        Trouble::Other(format!("cannot read {}: {error}", program.path.display()))
    };
    let hash = program.hash().map_err(here)?;
    ask(
        input,
        &format!(
            "d=\"${{PRONY_CACHE:-${{XDG_CACHE_HOME:-${{HOME:-/tmp}}/.cache}}/prony}}/agents/{hash}\"; p=\"$d/prony\"; \
         if [ -x \"$p\" ]; then echo 'prony: there'; else echo 'prony: missing'; fi"
        ),
    )?;
    if answer(output)? == "missing" {
        let mut file = fs::File::open(&program.path).map_err(here)?;
        let size = file.metadata().map_err(here)?.len();
        copying(size);
        let failed = || Trouble::NotCopied("writing it failed".into());
        // Copied beside and renamed, so that a copy that was cut off is not taken for the program, under a name of the
        // machine's own: several may have one cache, and processes of the same number. What another has put there meanwhile
        // stays, since its agent runs by that name already and starts others by it. Its length is
        // looked at because `head` ends well when its input ends. Where `head` cannot write, the shell has to end, or
        // it would take the rest of the program for commands. Programs of a month ago are removed.
        ask(
            input,
            &format!(
                "if mkdir -p \"$d\" && t=\"$p.{name}.$$\" && : > \"$t\"; then echo 'prony: ready'; else exit 1; fi; \
                 head -c {size} > \"$t\" || exit 1; [ \"$(wc -c < \"$t\")\" -eq {size} ] && \
                 chmod 755 \"$t\" && {{ ln \"$t\" \"$p\" 2> /dev/null || [ -x \"$p\" ] || mv \"$t\" \"$p\"; }} || exit 1; \
                 rm -f \"$t\"; echo 'prony: copied'; \
                 find \"$d/..\" -mindepth 1 -maxdepth 1 -mtime +30 -exec rm -rf {{}} + 2> /dev/null"
            ),
        )?;
        let quiet = |trouble| match trouble {
            Trouble::Silent => failed(),
            other => other,
        };
        answer(output).map_err(quiet)?;
        io::copy(&mut file, input)
            .and_then(|_| input.flush())
            .map_err(|_| failed())?;
        answer(output).map_err(quiet)?;
    }
    ask(
        input,
        "if \"$p\" --version > /dev/null; then echo 'prony: runs'; else echo \"prony: $(uname -sm)\"; fi",
    )?;
    match answer(output)?.as_str() {
        "runs" => ask(input, "exec \"$p\" agent"),
        machine => Err(Trouble::Unable(format!("the machine is {machine}"))),
    }
}

/// Gives a shell a line to carry out.
fn ask(input: &mut impl Write, line: &str) -> Result<(), Trouble> {
    // A launcher that has ended breaks the pipe; why, its standard error says.
    writeln!(input, "{line}")
        .and_then(|()| input.flush())
        .map_err(|_| Trouble::Silent)
}

/// The shell's next answer; other lines, such as a greeting, are passed over.
fn answer(output: &mut impl Read) -> Result<String, Trouble> {
    let mut line = Vec::new();
    let mut byte = [0];
    let mut lines = 0;
    loop {
        match output.read(&mut byte) {
            Ok(0) => return Err(Trouble::Silent),
            Ok(_) => {}
            Err(error) => return Err(Trouble::Other(error.to_string())),
        }
        if byte[0] != b'\n' {
            line.push(byte[0]);
            if line.len() > LONGEST_LINE {
                line.clear();
            }
            continue;
        }
        let text = String::from_utf8_lossy(&line);
        if let Some(answer) = text.trim_end().strip_prefix("prony: ") {
            return Ok(answer.to_owned());
        }
        lines += 1;
        if lines > MOST_LINES {
            return Err(Trouble::Other(format!("no shell answers, but {text:?}")));
        }
        line.clear();
    }
}
