//! A side of an application under way, for `prony load`, which starts none.

use super::app::{App, Side};
use crate::error::{Error, Result};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A start may take this long: that of a JVM on a busy machine.
const START: Duration = Duration::from_secs(90);
/// After this, a process that was asked to end is killed.
const END: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);

/// Ends with all its processes when it is dropped.
pub struct Running {
    child: Child,
    port: u16,
}

impl Running {
    /// Starts a command line of an application, and waits for its first right response.
    ///
    /// # Errors
    /// When it ends, gives wrong responses, or none in time; its output is then in `server.log`, in its folder.
    pub fn start(app: &App, side: &Side, plant_us: f64) -> Result<Self> {
        let port = free_port()?;
        let line = app.planted(side, plant_us)?;
        let log = app.folder()?.join("server.log");
        let output = File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
        let (stdout, stderr) = output.map_err(Error::io("cannot write a log"))?;
        let mut shell = Command::new("sh");
        let line = line.replace("{port}", &port.to_string());
        shell
            .args(["-c", &format!("exec {line}")])
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr);
        // SAFETY: a plain system call without pointers. The server ends when this program is killed.
        unsafe {
            shell.pre_exec(
                || match libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                },
            )
        };
        let child = app.at_home(&mut shell)?.spawn();
        let child = child.map_err(Error::io("cannot start a shell"))?;
        let mut running = Self { child, port };
        let problem = running.wait(app);
        problem.map_or(Ok(running), |problem| {
            let name = format!("{} {}", app.name, side.name);
            Err(Error::process(
                name,
                format!("{problem}, see {}", log.display()),
            ))
        })
    }

    /// None once it responds rightly, else what is wrong.
    fn wait(&mut self, app: &App) -> Option<String> {
        let begun = Instant::now();
        loop {
            if let Some(response) = self.get(&app.path) {
                let right = response.starts_with("HTTP/1.") && response.contains(&app.expect);
                return (!right).then(|| format!("a wrong response: {response:.300}"));
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Some(format!("ended ({status})"));
            }
            if begun.elapsed() > START {
                return Some(format!("no response within {} s", START.as_secs()));
            }
            sleep(LOOK);
        }
    }

    /// A whole response, head and body.
    fn get(&self, path: &str) -> Option<String> {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, self.port).into();
        let mut stream = TcpStream::connect_timeout(&address, START).ok()?;
        stream.set_read_timeout(Some(START)).ok()?;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
        )
        .ok()?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response).ok()?;
        Some(String::from_utf8_lossy(&response).into_owned())
    }

    /// The address of a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn signal(&self, signal: i32) {
        // SAFETY: a plain system call without pointers; the group is this child's own.
        unsafe { libc::kill(-self.child.id().cast_signed(), signal) };
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.signal(libc::SIGTERM);
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < END {
            sleep(LOOK);
        }
        // Workers may outlive their parent.
        self.signal(libc::SIGKILL);
        let _ = self.child.wait();
    }
}

fn free_port() -> Result<u16> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|it| it.local_addr());
    Ok(free.map_err(Error::io("no free port"))?.port())
}
