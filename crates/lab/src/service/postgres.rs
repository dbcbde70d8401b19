//! PostgreSQL: a cluster of its own for each start of a server.

use super::account::Account;
use super::client::PostgresClient;
use super::database::{Database, DatabaseAt};
use super::{Place, Ready, ServedBy, ServiceSpec, password, template};
use crate::manifest::on_path;
use crate::process::Process;
use prony_record::{Failure, Step};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

/// Major versions that work.
const VERSIONS: std::ops::RangeInclusive<u32> = 13..=18;
/// Where packages put the programs, a folder per major version.
const PACKAGED: [&str; 2] = ["/usr/lib/postgresql", "/usr/pgsql-"];
/// Name of the server's database, and of the role that it logs in as, unless a specification has others.
const SERVER: &str = "prony";
/// Role of whoever asks on prony's behalf, so that the server's statements are told from others.
pub(super) const WATCHER: &str = "postgres";
/// Database that every cluster has, with the statistics: the server's is its own.
pub(super) const STATISTICS: &str = "postgres";
/// Library that counts statements.
pub(super) const COUNTER: &str = "pg_stat_statements";
/// Setting that limits connections.
const LIMIT: &str = "max_connections";
/// Connections that a server is told to have at the most, all its workers together.
const POOL: u32 = 64;
/// Connections that are left for others.
const RESERVED: u32 = 10;
/// Line of `pg_hba.conf`: every role logs in with its password, from any address. prony sets `listen_addresses` at each
/// start.
const ACCESS: &str = "host all all all scram-sha-256\n";

/// Role and database of the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Login {
    pub user: String,
    /// None: a random one.
    password: Option<String>,
    pub database: String,
}

impl Login {
    pub(super) fn of(spec: &ServiceSpec) -> Self {
        let or_own = |name: &Option<String>| name.clone().unwrap_or_else(|| SERVER.to_owned());
        Self {
            user: or_own(&spec.user),
            password: spec.password.clone(),
            database: or_own(&spec.database),
        }
    }

    fn password(&self) -> String {
        self.password.clone().unwrap_or_else(password)
    }
}

/// Programs of an installed PostgreSQL, and the account that it runs under.
#[derive(Debug)]
pub(super) struct Postgres {
    folder: PathBuf,
    version: String,
    account: Account,
    counter: bool,
}

impl Postgres {
    /// The one on the PATH, or else the newest that packages have installed.
    ///
    /// # Errors
    /// When there is none of a version that works, in a line.
    pub(super) fn find() -> Result<Self, Failure> {
        let missing = |what: &str| {
            Failure::new(
                Step::Start,
                format!("{what}: apt-get install postgresql, or put PostgreSQL on the PATH"),
            )
        };
        let folder = folder().ok_or_else(|| missing("PostgreSQL is not installed"))?;
        for program in ["initdb", "pg_ctl"] {
            if !folder.join(program).is_file() {
                return Err(missing(&format!("{} has no {program}", folder.display())));
            }
        }
        if !folder.join("psql").is_file() && !on_path("psql") {
            return Err(missing("psql is not installed"));
        }
        let said = output(Command::new(folder.join("postgres")).arg("--version"))?;
        let version = number(&String::from_utf8_lossy(&said.stdout));
        let digits = version.split(|c: char| !c.is_ascii_digit()).next();
        let major = digits.and_then(|it| it.parse().ok());
        if !major.is_some_and(|major: u32| VERSIONS.contains(&major)) {
            let (first, last) = (VERSIONS.start(), VERSIONS.end());
            return Err(Failure::new(
                Step::Start,
                format!("PostgreSQL {version} is installed; {first} to {last} work"),
            ));
        }
        let account = Account::unprivileged().map_err(|why| Failure::new(Step::Start, why))?;
        Ok(Self {
            counter: has_counter(&folder),
            folder,
            version,
            account,
        })
    }

    /// Starts a cluster with this content, which is made if it has never been before.
    pub(super) fn start(
        &self,
        seed: &str,
        login: Login,
        place: &Place<'_>,
    ) -> Result<ServedBy, Failure> {
        let fixed = login.password.as_deref().unwrap_or("");
        let role = format!("{} {fixed} {}", login.user, login.database);
        let depends = [&self.version, self.account.name(), ACCESS, &role, seed];
        let template = template::template(place.site.cache, "postgres", &depends, |new| {
            self.make(new, seed, &login, place)
        })?;
        let scratch = template::scratch(&self.account)?;
        let data = scratch.path().join("data");
        template::copy(&template.join("data"), &data)?;
        let password = read(&template.join("password"))?;
        let log = scratch.path().join("log");
        let client = self.client(login, password, place);
        let process = self.run(&data, &log, &client, place)?;
        let url = client.url();
        let settings = settings(&client).map_err(|why| Failure::new(Step::Start, why))?;
        let most = settings.iter().find(|(name, _)| *name == LIMIT);
        let most = most.and_then(|(_, value)| value.parse::<u32>().ok());
        let pool = most.map_or(POOL, |most| POOL.min(most.saturating_sub(RESERVED).max(1)));
        let mut env = client.env();
        env.push(("DATABASE_MAX_CONN", pool.to_string()));
        Ok(ServedBy {
            what: self.describe(&settings),
            env,
            database: Some(Arc::new(client)),
            url,
            process,
            scratch,
        })
    }

    /// Makes a cluster, fills it, and puts it into `new`.
    fn make(
        &self,
        new: &Path,
        seed: &str,
        login: &Login,
        place: &Place<'_>,
    ) -> Result<(), Failure> {
        let scratch = template::scratch(&self.account)?;
        let path = |name: &str| scratch.path().join(name);
        let (all, data) = (path("all"), path("all/data"));
        let password = login.password();
        let cannot = |error: std::io::Error| Failure::new(Step::Start, error.to_string());
        fs::create_dir(&all)
            .and_then(|()| self.account.let_through(&all))
            .and_then(|()| fs::create_dir(&data))
            .and_then(|()| self.account.own(&data))
            .and_then(|()| fs::write(path("all/password"), &password))
            .and_then(|()| self.account.own(&path("all/password")))
            .map_err(cannot)?;
        self.do_it(&[
            "initdb",
            "--pgdata",
            &data.display().to_string(),
            "--username",
            WATCHER,
            "--pwfile",
            &path("all/password").display().to_string(),
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ])?;
        // Before what the seed says with ALTER SYSTEM, which counts.
        let mut settings = "unix_socket_directories = ''\n".to_owned();
        if self.counter {
            settings.push_str("shared_preload_libraries = 'pg_stat_statements'\n");
        }
        fs::OpenOptions::new()
            .append(true)
            .open(data.join("postgresql.conf"))
            .and_then(|mut file| file.write_all(settings.as_bytes()))
            .and_then(|()| fs::write(data.join("pg_hba.conf"), ACCESS))
            .map_err(cannot)?;
        let client = self.client(login.clone(), password.clone(), place);
        let process = self.run(&data, &path("log"), &client, place)?;
        self.fill(&client, login, &password, seed)
            .map_err(|failure| match failure.output.as_str() {
                "" => failure.with_output(process.output()),
                _ => failure,
            })?;
        // With its own time for that: a cluster that is killed would recover at each start.
        client.close();
        let data = data.display().to_string();
        self.do_it(&["pg_ctl", "stop", "--mode=fast", "--wait", "--pgdata", &data])?;
        process.stop();
        template::copy(&all, new)
    }

    /// Roles, the server's database and its content.
    fn fill(
        &self,
        client: &PostgresClient,
        login: &Login,
        password: &str,
        seed: &str,
    ) -> Result<(), Failure> {
        let Login { user, database, .. } = login;
        let begin = format!(
            "create role \"{user}\" login superuser password '{password}';\ncreate database \"{database}\" owner \"{user}\";"
        );
        client.script(STATISTICS, WATCHER, &begin)?;
        if self.counter {
            client.script(STATISTICS, WATCHER, &format!("create extension {COUNTER};"))?;
        }
        client.script(database, user, seed).map_err(|failure| {
            Failure::new(failure.step, format!("its seed: {}", failure.message))
        })?;
        // Else they would be done by themselves, during a measurement of some starts and not of others.
        client.script(database, user, "vacuum (freeze, analyze);\ncheckpoint;")
    }

    fn client(&self, login: Login, password: String, place: &Place<'_>) -> PostgresClient {
        let at = DatabaseAt {
            address: place.address(),
            login,
            password,
            counts: self.counter,
        };
        PostgresClient::new(psql_in(Some(&self.folder)), at)
    }

    /// Starts the cluster in `data` and waits until it answers.
    fn run(
        &self,
        data: &Path,
        log: &Path,
        client: &PostgresClient,
        place: &Place<'_>,
    ) -> Result<Process, Failure> {
        let program = self.folder.join("postgres").display().to_string();
        let line = [
            program,
            "-D".into(),
            data.display().to_string(),
            "-p".into(),
            place.port.to_string(),
            "-c".into(),
            format!("listen_addresses={}", place.site.ip),
        ];
        let line = self.account.command(&line);
        let ready = || client.ask("select 1").map(drop);
        place.launch(&line, log, Path::new("/"), &Ready::Asked(&ready))
    }

    /// Runs one of its programs to the end, under its account.
    fn do_it(&self, line: &[&str]) -> Result<Output, Failure> {
        let mut line: Vec<String> = line.iter().map(|&word| word.to_owned()).collect();
        line[0] = self.folder.join(&line[0]).display().to_string();
        let line = self.account.command(&line);
        output(Command::new(&line[0]).args(&line[1..]).current_dir("/"))
    }

    /// Version and settings on which its speed depends.
    fn describe(&self, settings: &[(&str, String)]) -> String {
        let shown = settings
            .iter()
            .map(|(name, value)| format!("{name} {value}"));
        let shown: Vec<String> = shown.collect();
        format!("PostgreSQL {}, {}", self.version, shown.join(", "))
    }
}

/// Settings on which its speed depends, by name.
fn settings(client: &PostgresClient) -> Result<Vec<(&'static str, String)>, String> {
    let names = ["fsync", "synchronous_commit", "shared_buffers", LIMIT];
    let each = names.map(|name| format!("current_setting('{name}')"));
    let sql = format!(
        "select {}, datcollate from pg_database where datname = '{}'",
        each.join(", "),
        client.database()
    );
    let values = client.ask(&sql)?.into_iter().next();
    let names = names.into_iter().chain(["locale"]);
    Ok(names.zip(values.unwrap_or_default()).collect())
}

/// Client program of this machine.
pub(super) fn psql() -> PathBuf {
    psql_in(folder().as_deref())
}

/// Client program: that of the installation in this folder, or else of the PATH.
fn psql_in(folder: Option<&Path>) -> PathBuf {
    let installed = folder.map(|folder| folder.join("psql"));
    installed
        .filter(|psql| psql.is_file())
        .unwrap_or_else(|| "psql".into())
}

/// Folder with the programs.
fn folder() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("postgres"));
    let resolved = on_path
        .filter_map(|program| fs::canonicalize(program).ok())
        .find_map(|program| Some(program.parent()?.to_owned()));
    resolved.or_else(packaged)
}

/// Folder of the newest version that packages have installed.
fn packaged() -> Option<PathBuf> {
    let folders = PACKAGED.iter().flat_map(|prefix| {
        let prefix = prefix.to_string();
        VERSIONS
            .rev()
            .map(move |version| match prefix.ends_with('-') {
                true => PathBuf::from(format!("{prefix}{version}/bin")),
                false => PathBuf::from(format!("{prefix}/{version}/bin")),
            })
    });
    folders
        .into_iter()
        .find(|folder| folder.join("postgres").is_file())
}

/// The version in what `postgres --version` prints: `postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)`.
fn number(said: &str) -> String {
    let after = said.split_once("(PostgreSQL)").map_or(said, |it| it.1);
    after.split_whitespace().next().unwrap_or("").to_owned()
}

/// Is the library there that counts statements? A package of its own has it on some systems.
fn has_counter(folder: &Path) -> bool {
    let said = output(Command::new(folder.join("pg_config")).arg("--pkglibdir")).ok();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned());
    let next = folder.with_file_name("lib");
    let found = said.map(PathBuf::from).into_iter().chain([next]);
    let library = format!("{COUNTER}.so");
    found
        .into_iter()
        .any(|folder| folder.join(&library).is_file())
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path)
        .map_err(|error| Failure::new(Step::Start, format!("{}: {error}", path.display())))
}

/// Runs a command to its end; a failure has its last words.
fn output(command: &mut Command) -> Result<Output, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|error| Failure::new(Step::Start, format!("{name}: {error}")))?;
    match output.status.success() {
        true => Ok(output),
        false => {
            let printed = [output.stdout.as_slice(), &output.stderr].concat();
            let failure = Failure::new(Step::Start, format!("{name} failed ({})", output.status));
            Err(failure.with_output(String::from_utf8_lossy(&printed).trim().to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        assert_eq!(number(debian), "15.18");
        assert_eq!(number("postgres (PostgreSQL) 17beta1\n"), "17beta1");
        assert_eq!(number(""), "");
    }
}
