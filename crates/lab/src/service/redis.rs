//! Redis or Valkey: a server of its own for each start of a server.

use super::account::Account;
use super::{Place, Ready, ServedBy, Site, password, template};
use crate::manifest::on_path;
use crate::process::Process;
use prony_record::{Failure, Step};
use std::fs;
use std::io::Write;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Server and client programs, the first that are installed.
const PROGRAMS: [[&str; 2]; 2] = [
    ["redis-server", "redis-cli"],
    ["valkey-server", "valkey-cli"],
];
/// File of the content.
const DUMP: &str = "dump.rdb";

/// Programs of an installed Redis or Valkey.
#[derive(Debug)]
pub(super) struct Redis {
    server: &'static str,
    client: &'static str,
    version: String,
}

impl Redis {
    /// The one on the PATH: for service `valkey`, Valkey is looked for first.
    ///
    /// # Errors
    /// When there is none, in a line.
    pub(super) fn find(name: &str) -> Result<Self, Failure> {
        let mut programs = PROGRAMS;
        programs.sort_by_key(|[server, _]| !server.starts_with(name));
        let found = programs
            .into_iter()
            .find(|pair| pair.iter().all(|program| on_path(program)));
        let [server, client] = found.ok_or_else(|| {
            let why = "neither Redis nor Valkey is installed: apt-get install redis-server";
            Failure::new(Step::Start, why)
        })?;
        let said = Command::new(server).arg("--version").output();
        let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
        Ok(Self {
            server,
            client,
            version: version(&said.unwrap_or_default()),
        })
    }

    /// Starts a server with the content that these commands make.
    pub(super) fn start(&self, seed: &str, place: &Place<'_>) -> Result<ServedBy, Failure> {
        let scratch = template::scratch(&Account::Own)?;
        if !seed.trim().is_empty() {
            let depends = [self.server, &self.version, seed];
            let made = template::template(place.site.cache, "redis", &depends, |new| {
                self.make(new, seed, place)
            })?;
            template::copy(&made.join(DUMP), &scratch.path().join(DUMP))?;
        }
        // On loopback, Redis accepts clients without a password, and other machines cannot reach it.
        let password = (!place.site.ip.is_loopback()).then(password);
        let process = self.run(scratch.path(), place, password.as_deref())?;
        let log_in = password.map_or_else(String::new, |it| format!(":{it}@"));
        let url = format!("redis://{log_in}{}/0", place.address());
        Ok(ServedBy {
            what: format!("{}, in memory alone", self.version),
            env: vec![("REDIS_URL", url.clone())],
            database: None,
            url,
            process,
            scratch,
        })
    }

    fn make(&self, new: &Path, seed: &str, place: &Place<'_>) -> Result<(), Failure> {
        let scratch = template::scratch(&Account::Own)?;
        let site = Site {
            ip: Ipv4Addr::LOCALHOST.into(),
            ..place.site
        };
        let place = &Place { site, ..*place };
        let process = self.run(scratch.path(), place, None)?;
        self.tell(place, None, &[], seed)
            .and_then(|()| self.tell(place, None, &["SAVE"], ""))
            .map_err(|why| Failure::new(Step::Start, format!("its seed: {why}")))?;
        process.stop();
        let cannot = |error: std::io::Error| Failure::new(Step::Start, error.to_string());
        fs::create_dir_all(new).map_err(cannot)?;
        template::copy(&scratch.path().join(DUMP), &new.join(DUMP))
    }

    fn run(
        &self,
        folder: &Path,
        place: &Place<'_>,
        password: Option<&str>,
    ) -> Result<Process, Failure> {
        let (ip, port) = (place.site.ip.to_string(), place.port.to_string());
        let dir = folder.display().to_string();
        let line = [
            self.server,
            "--port",
            &port,
            "--bind",
            &ip,
            "--requirepass",
            password.unwrap_or(""),
            "--dir",
            &dir,
            "--dbfilename",
            DUMP,
            // A snapshot would begin in the midst of some measurement.
            "--save",
            "",
            "--appendonly",
            "no",
        ]
        .map(ToOwned::to_owned);
        let ready = || self.tell(place, password, &["PING"], "");
        place.launch(&line, &folder.join("log"), folder, &Ready::Asked(&ready))
    }

    /// Sends commands: those of the arguments, or of a text with one per line.
    fn tell(
        &self,
        place: &Place<'_>,
        password: Option<&str>,
        words: &[&str],
        lines: &str,
    ) -> Result<(), String> {
        let mut child = Command::new(self.client)
            .args(["-e", "-h", &place.site.ip.to_string()])
            .args(["-p", &place.port.to_string()])
            .args(words)
            .envs(password.map(|password| ("REDISCLI_AUTH", password)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", self.client))?;
        let mut stdin = child.stdin.take().expect("it was asked for");
        let text = lines.to_owned();
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child
            .wait_with_output()
            .map_err(|error| error.to_string())?;
        let _ = writer.join();
        let printed = [output.stderr.as_slice(), &output.stdout].concat();
        let printed = String::from_utf8_lossy(&printed);
        // Without arguments, the client ends well whatever the server said.
        let error = printed.lines().find(|line| is_error(line));
        match (error, output.status.success()) {
            (None, true) => Ok(()),
            (Some(error), _) => Err(error.to_owned()),
            (None, false) => Err(printed.lines().next().unwrap_or("it failed").to_owned()),
        }
    }
}

/// Is a line of the client's output an error? They begin with a word in capitals: `ERR unknown command`, `WRONGTYPE …`.
fn is_error(line: &str) -> bool {
    let line = line.strip_prefix("(error) ").unwrap_or(line);
    [
        "ERR ",
        "WRONGTYPE ",
        "NOAUTH ",
        "OOM ",
        "READONLY ",
        "LOADING ",
    ]
    .iter()
    .any(|word| line.starts_with(word))
}

/// Name and version in `Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=…`.
fn version(said: &str) -> String {
    let name = said.split_whitespace().next().unwrap_or("Redis");
    let number = said
        .split_whitespace()
        .find_map(|word| word.strip_prefix("v="));
    format!("{name} {}", number.unwrap_or("of unknown version"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_errors_are_read() {
        let said = "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64";
        assert_eq!(version(said), "Redis 7.0.15");
        assert_eq!(version("Valkey server v=8.1.0 sha=0"), "Valkey 8.1.0");
        assert!(is_error("ERR unknown command 'SETT'"));
        assert!(is_error("(error) WRONGTYPE Operation against a key"));
        assert!(!is_error("OK") && !is_error("ERRATA"));
    }
}
