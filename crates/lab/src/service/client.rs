//! A client of a running PostgreSQL: `psql`, which every installation has.

use super::database::{Counts, Database, DatabaseAt};
use super::postgres::{self, COUNTER, STATISTICS, WATCHER};
use crate::supervisor::wait_for;
use prony_record::{Failure, Step};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Between fields of psql's output: a character that text hardly has.
const FIELD: char = '\u{1f}';
/// Between its rows.
const ROW: char = '\u{1e}';
/// Row behind the last one of an answer.
const LAST: &str = "-- that was all";
/// Silence after which a database counts as hung.
const SILENCE: Duration = Duration::from_secs(10);

/// Beginnings of statements that concern transactions, or the session itself: drivers say them when a connection goes back
/// to its pool. In SQL, for `query`.
const NOT_WORK: &str = "'^\\s*(begin|start|commit|end|rollback|savepoint|release|set|reset|show|deallocate|discard|close|listen|unlisten\
    |select pg_advisory_unlock_all)\\M'";
/// A client. Its questions use connections that stay open: a new one takes longer than most answers.
#[derive(Debug)]
pub(super) struct PostgresClient {
    psql: PathBuf,
    at: DatabaseAt,
    /// To the server's database.
    application: Mutex<Option<PsqlSession>>,
    /// To the one with the statistics.
    statistics: Mutex<Option<PsqlSession>>,
}

impl PostgresClient {
    pub(super) fn new(psql: PathBuf, at: DatabaseAt) -> Self {
        Self {
            psql,
            at,
            application: Mutex::default(),
            statistics: Mutex::default(),
        }
    }

    /// A client of a database on another machine.
    pub(super) fn elsewhere(at: DatabaseAt) -> Self {
        Self::new(postgres::psql(), at)
    }

    /// Where it is.
    pub(super) fn at(&self) -> &DatabaseAt {
        &self.at
    }

    pub(super) fn url(&self) -> String {
        let DatabaseAt {
            address,
            login,
            password,
            ..
        } = &self.at;
        let (user, database) = (&login.user, &login.database);
        format!("postgres://{user}:{password}@{address}/{database}")
    }

    /// Name of the server's database.
    pub(super) fn database(&self) -> &str {
        &self.at.login.database
    }

    /// Variables by which servers and PostgreSQL's own library find it.
    pub(super) fn env(&self) -> Vec<(&'static str, String)> {
        let address = self.at.address;
        vec![
            ("DATABASE_URL", self.url()),
            ("PGHOST", address.ip().to_string()),
            ("PGPORT", address.port().to_string()),
            ("PGUSER", self.at.login.user.clone()),
            ("PGPASSWORD", self.at.password.clone()),
            ("PGDATABASE", self.at.login.database.clone()),
        ]
    }

    fn psql(&self, database: &str, role: &str) -> Command {
        let mut command = Command::new(&self.psql);
        command
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"])
            .args(["-h", &self.at.address.ip().to_string()])
            .args(["-p", &self.at.address.port().to_string()])
            .args(["-U", role, "-d", database, "-f", "-"])
            .env("PGPASSWORD", &self.at.password)
            .env("PGCONNECT_TIMEOUT", "10")
            .env("PGCLIENTENCODING", "UTF8");
        command
    }

    /// Runs a script to its end, as psql does: `\copy` and `COPY … FROM stdin` work.
    pub(super) fn script(&self, database: &str, role: &str, script: &str) -> Result<(), Failure> {
        let cannot = |error: std::io::Error| Failure::new(Step::Start, format!("psql: {error}"));
        let mut child = self
            .psql(database, role)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let mut stdin = child.stdin.take().expect("it was asked for");
        let text = script.to_owned();
        // While the complaints are read: a script that complains a lot would wait for a reader.
        let writer = std::thread::spawn(move || stdin.write_all(text.as_bytes()));
        let output = child.wait_with_output().map_err(cannot)?;
        // When psql has ended early, its own words say more than the broken pipe.
        let _ = writer.join();
        match output.status.success() {
            true => Ok(()),
            false => Err(Failure::new(
                Step::Start,
                complaint(&String::from_utf8_lossy(&output.stderr)),
            )),
        }
    }

    /// Rows of a statement outside the server's database, by a role that is not the server's.
    pub(super) fn ask(&self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        self.ask_in(&self.statistics, STATISTICS, sql)
    }

    fn ask_in(
        &self,
        session: &Mutex<Option<PsqlSession>>,
        database: &str,
        sql: &str,
    ) -> Result<Vec<Vec<String>>, String> {
        let mut held = session.lock().unwrap_or_else(PoisonError::into_inner);
        let session = match held.as_mut() {
            Some(session) => session,
            None => held.insert(PsqlSession::open(self.psql(database, WATCHER))?),
        };
        let answer = session.ask(sql);
        if answer.is_err() {
            // It has ended, or is in the midst of an answer.
            *held = None;
        }
        answer
    }
}

impl Database for PostgresClient {
    fn query(&self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        self.ask_in(&self.application, self.database(), sql)
    }

    fn close(&self) {
        for session in [&self.application, &self.statistics] {
            *session.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }

    fn counts(&self) -> Result<Counts, String> {
        if !self.at.counts {
            return Err(format!(
                "{COUNTER} is not installed, so statements are not counted"
            ));
        }
        let sum =
            |what: &str| format!("coalesce(sum({what}) filter (where query !~* {NOT_WORK}), 0)");
        let sql = format!(
            "select {}, {}, (1e9 * extract(epoch from clock_timestamp()))::bigint from {COUNTER} s join pg_database d on d.oid = s.dbid join pg_roles r on r.oid = s.userid \
             where datname = '{}' and rolname = '{}'",
            sum("calls"),
            sum("rows"),
            self.at.login.database,
            self.at.login.user,
        );
        let rows = self.ask(&sql)?;
        let row = rows.first().map_or(&[][..], Vec::as_slice);
        let numbers: Vec<u64> = row.iter().filter_map(|text| text.parse().ok()).collect();
        match numbers.as_slice() {
            &[statements, rows, at_ns] => Ok(Counts {
                at_ns,
                statements,
                rows,
            }),
            _ => Err(format!("{COUNTER} answered {row:?}")),
        }
    }
}

/// A psql that reads statements from its standard input.
#[derive(Debug)]
struct PsqlSession {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
}

impl PsqlSession {
    fn open(mut psql: Command) -> Result<Self, String> {
        let mut child = psql
            .args(["-F", &FIELD.to_string(), "-R", &ROW.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("psql: {error}"))?;
        let stdin = child.stdin.take().expect("it was asked for");
        let stdout = child.stdout.take().expect("it was asked for");
        Ok(Self {
            child,
            stdin,
            stdout,
        })
    }

    /// Rows of one statement.
    fn ask(&mut self, sql: &str) -> Result<Vec<Vec<String>>, String> {
        let text = format!(
            "{};\nselect '{LAST}';\n",
            sql.trim_end().trim_end_matches(';')
        );
        // When psql has ended, its own words say more than the broken pipe.
        let _ = self.stdin.write_all(text.as_bytes());
        let end = format!("{LAST}\n");
        let mut printed = Vec::new();
        while !printed.ends_with(end.as_bytes()) {
            let fd = self.stdout.as_raw_fd();
            let ready = wait_for(&[fd], Some(SILENCE)).map_err(|error| error.to_string())?;
            if ready == 0 {
                return Err(format!("no answer for {} s", SILENCE.as_secs()));
            }
            let mut chunk = [0; 16_384];
            match self.stdout.read(&mut chunk) {
                Ok(n) if n > 0 => printed.extend_from_slice(&chunk[..n]),
                _ => return Err(self.last_words()),
            }
        }
        printed.truncate(printed.len() - end.len());
        let text = String::from_utf8_lossy(&printed);
        let rows = text.strip_suffix('\n').unwrap_or(&text).split(ROW);
        let fields = |row: &str| row.split(FIELD).map(Into::into).collect();
        Ok(rows.filter(|row| !row.is_empty()).map(fields).collect())
    }

    /// The complaint of a psql that has ended.
    fn last_words(&mut self) -> String {
        let mut printed = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut printed);
        }
        complaint(&printed)
    }
}

impl Drop for PsqlSession {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The first line of an error, without the name of psql's input.
fn complaint(printed: &str) -> String {
    let is_error = |line: &&str| line.contains("ERROR") || line.contains("FATAL");
    let line = printed.lines().find(is_error);
    let line = line
        .or_else(|| printed.lines().next())
        .unwrap_or("psql failed");
    let line = line
        .strip_prefix("psql:<stdin>:")
        .map_or_else(|| line.to_owned(), |rest| format!("line {rest}"));
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_of_a_seed_is_one_line() {
        let printed = "psql:<stdin>:2: NOTICE:  it is so\npsql:<stdin>:3: ERROR:  relation \"x\" does not exist\n\
            LINE 1: select * from x;\n";
        assert_eq!(
            complaint(printed),
            "line 3: ERROR:  relation \"x\" does not exist"
        );
        assert_eq!(complaint(""), "psql failed");
    }

    /// A shell in psql's place.
    fn session(script: &str) -> PsqlSession {
        let mut shell = Command::new("sh");
        // psql's own options are the script's arguments.
        shell.args(["-c", script, "psql"]);
        PsqlSession::open(shell).unwrap()
    }

    #[test]
    fn rows_are_read_up_to_the_last_and_errors_to_the_end() {
        let answers = "while read line; do case $line in \
            *all*) echo \"-- that was all\";; *empty*) ;; *) printf 'a\\037\\0361\\0372\\n';; esac; done";
        let mut psql = session(answers);
        let row = |fields: &[&str]| fields.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        for _ in 0..2 {
            let rows = psql.ask("select 1;").unwrap();
            assert_eq!(rows, [row(&["a", ""]), row(&["1", "2"])]);
        }
        assert_eq!(psql.ask("select empty"), Ok(vec![]));
        let mut psql = session("read line; echo 'psql:<stdin>:1: ERROR:  no such thing' >&2");
        let error = psql.ask("select nothing").unwrap_err();
        assert_eq!(error, "line 1: ERROR:  no such thing");
    }
}
