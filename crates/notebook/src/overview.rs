//! Many runs at a glance: what a list of them shows, without reading their trials' JSON.

use std::collections::HashMap;

use jiff::Timestamp;
use prony_record::{CheckId, Host, RunStatus, Severity, Step, TrialStatus};
use rusqlite::types::{ToSqlOutput, Value as Bound};
use rusqlite::{Row, ToSql, params_from_iter};

use crate::column::{Json, Moment, Whole, Word, line, lines, optional_lines, whole};
use crate::error::{ErrorContext, NotebookError};
use crate::open::Notebook;
use crate::process::ProcessKey;
use crate::run::RunId;
use crate::trial::TrialId;

/// A server's name, and its workers if it was given a number.
pub type Entrant = (String, Option<u32>);

/// A run at a glance.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// Number of the run.
    pub id: RunId,
    /// The experiment's name.
    pub name: String,
    /// Title of the run.
    pub title: String,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, however it did; None while it is running or abandoned.
    pub finished: Option<Timestamp>,
    /// Status of the run, as it was written down.
    pub status: RunStatus,
    /// Result of the run, in a sentence or two: what was found, or why it failed. None while it is under way, and
    /// where its process ended before it said so.
    pub result: Option<String>,
    /// The process that wrote it.
    pub process: ProcessKey,
    /// The host it ran on.
    pub host: Host,
    /// The command line, as typed.
    pub command_line: String,
    /// Trials that are in the notebook.
    pub trials: u64,
    /// Trials in the notebook that failed.
    pub failed: u64,
    /// Latest trial in the notebook; none without trials.
    pub last_trial: Option<TrialId>,
    /// The servers of the trials, each with its workers, by name.
    pub servers: Vec<Entrant>,
}

impl Overview {
    /// Is it marked as running although its process is gone?
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.status == RunStatus::Running && !self.process.is_alive()
    }
}

/// Conditions that select runs; all of them must hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// In the title, the experiment's name, the command line, the result, or a server's name; without regard to
    /// the case of ASCII letters.
    pub text: Option<String>,
    /// The experiment's name.
    pub name: Option<String>,
    /// Older than this one.
    pub before: Option<RunId>,
    /// Only this run.
    pub only: Option<RunId>,
    /// Only runs that are marked as running.
    pub unfinished: bool,
    /// At most this many.
    pub limit: u32,
}

/// A trial in a line.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialLine {
    /// Number of the trial.
    pub id: TrialId,
    /// Place of the trial in the run's plan, from 0.
    pub ordinal: u32,
    /// Round of the trial, from 0.
    pub round: u32,
    /// The server's name.
    pub server: String,
    /// The server's workers, if it was given a number.
    pub workers: Option<u32>,
    /// Label of the load, which trials of the same server under the same load have in common.
    pub cell: String,
    /// Status with which the trial ended.
    pub status: TrialStatus,
    /// The step that failed.
    pub failed_step: Option<Step>,
    /// Why it failed.
    pub message: Option<String>,
    /// Right answers a second.
    pub throughput: Option<f64>,
    /// CPU time of the server's processes per request that was served, in nanoseconds.
    pub cpu_ns_per_request: Option<f64>,
    /// The median response time, in nanoseconds.
    pub p50_ns: Option<u64>,
    /// The 99th percentile of the response time, in nanoseconds.
    pub p99_ns: Option<u64>,
}

/// Finding of a check in a run's trials, and the number of trials that have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckCount {
    /// Name of the check.
    pub name: CheckId,
    /// How serious it is.
    pub severity: Severity,
    /// The number of trials.
    pub trials: u64,
}

impl Notebook {
    /// Runs at a glance, the latest first.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn overviews(&self, wanted: &Wanted) -> Result<Vec<Overview>, NotebookError> {
        self.read_overviews(wanted)
            .doing(|| "reading an overview of the runs".to_owned())
    }

    fn read_overviews(&self, wanted: &Wanted) -> rusqlite::Result<Vec<Overview>> {
        let mut sql = "SELECT id, name, title, started, finished, status, pid, boot_id,
             pid_start_ticks, host_json, command_line, result FROM run WHERE true"
            .to_owned();
        let mut values: Vec<Bound> = Vec::new();
        if let Some(text) = &wanted.text {
            sql += " AND (title LIKE ?1 ESCAPE '\\' OR name LIKE ?1 ESCAPE '\\'
                 OR command_line LIKE ?1 ESCAPE '\\' OR result LIKE ?1 ESCAPE '\\' OR EXISTS (SELECT 1 FROM trial
                     WHERE run_id = run.id AND server LIKE ?1 ESCAPE '\\'))";
            values.push(format!("%{}%", literal(text)).into());
        }
        let mut with = |condition: &str, value: Bound| {
            values.push(value);
            sql += &format!(" AND {condition} ?{}", values.len());
        };
        if let Some(name) = &wanted.name {
            with("name =", name.clone().into());
        }
        if let Some(before) = wanted.before {
            with("id <", before.0.into());
        }
        if let Some(only) = wanted.only {
            with("id =", only.0.into());
        }
        if wanted.unfinished {
            sql += " AND status = 'running'";
        }
        values.push(i64::from(wanted.limit).into());
        sql += &format!(" ORDER BY id DESC LIMIT ?{}", values.len());
        let mut runs: Vec<Overview> = self
            .connection
            .prepare_cached(&sql)?
            .query_map(params_from_iter(values), |row| {
                read_overview(row).or_else(|error| unreadable(row, &error))
            })?
            .collect::<rusqlite::Result<_>>()?;
        let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
        let mut counts = self.counts(&ids)?;
        let mut servers = self.servers(&ids)?;
        for run in &mut runs {
            if let Some((trials, failed, last)) = counts.remove(&run.id) {
                (run.trials, run.failed, run.last_trial) = (trials, failed, Some(last));
            }
            run.servers = servers.remove(&run.id).unwrap_or_default();
        }
        Ok(runs)
    }

    /// By run: trials, failed ones, and the latest.
    fn counts(&self, runs: &[RunId]) -> rusqlite::Result<HashMap<RunId, (u64, u64, TrialId)>> {
        let sql = format!(
            "SELECT run_id, count(*), count(*) FILTER (WHERE status = 'failed'), max(id)
             FROM trial WHERE run_id IN ({}) GROUP BY run_id",
            places(runs.len())
        );
        self.connection
            .prepare(&sql)?
            .query_map(params_from_iter(runs), |row| {
                let number = |at| row.get::<_, Whole>(at).map(|whole| whole.0);
                Ok((
                    RunId(row.get(0)?),
                    (number(1)?, number(2)?, TrialId(row.get(3)?)),
                ))
            })?
            .collect()
    }

    /// By run: the servers of its trials.
    fn servers(&self, runs: &[RunId]) -> rusqlite::Result<HashMap<RunId, Vec<Entrant>>> {
        let sql = format!(
            "SELECT DISTINCT run_id, server, workers FROM trial WHERE run_id IN ({})
             ORDER BY server, workers",
            places(runs.len())
        );
        let mut all: HashMap<RunId, Vec<Entrant>> = HashMap::new();
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query(params_from_iter(runs))?;
        while let Some(row) = rows.next()? {
            let servers = all.entry(RunId(row.get(0)?)).or_default();
            servers.push((row.get(1)?, row.get(2)?));
        }
        Ok(all)
    }

    /// Returns the findings of the checks in these runs, by run, the most frequent first.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn findings(
        &self,
        runs: &[RunId],
    ) -> Result<HashMap<RunId, Vec<CheckCount>>, NotebookError> {
        // Read by SQLite's own JSON functions: a trial's measurement is large, and this is a list of
        // many runs.
        let sql = format!(
            "SELECT run_id, finding.value ->> 'name', finding.value ->> 'severity', count(*) AS trials
             FROM trial, json_each(observation_json, '$.checks') AS finding
             WHERE run_id IN ({}) GROUP BY 1, 2, 3 ORDER BY trials DESC, 2",
            places(runs.len())
        );
        let read = || -> rusqlite::Result<_> {
            let mut all: HashMap<RunId, Vec<CheckCount>> = HashMap::new();
            let mut statement = self.connection.prepare(&sql)?;
            let mut rows = statement.query(params_from_iter(runs))?;
            while let Some(row) = rows.next()? {
                let found = CheckCount {
                    name: row.get::<_, Word<_>>(1)?.0,
                    severity: row.get::<_, Word<_>>(2)?.0,
                    trials: row.get::<_, Whole>(3)?.0,
                };
                all.entry(RunId(row.get(0)?)).or_default().push(found);
            }
            Ok(all)
        };
        read().doing(|| format!("reading the findings of {} runs", runs.len()))
    }

    /// The names of all experiments, in alphabetical order.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn names(&self) -> Result<Vec<String>, NotebookError> {
        let read = || -> rusqlite::Result<_> {
            self.connection
                .prepare_cached("SELECT DISTINCT name FROM run ORDER BY name")?
                .query_map([], |row| row.get(0))?
                .collect()
        };
        read().doing(|| "reading the experiments' names".to_owned())
    }

    /// The trials of a run that were written last, the latest first: at most this many.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn latest_trials(&self, run: RunId, limit: u32) -> Result<Vec<TrialLine>, NotebookError> {
        self.lines(
            "WHERE run_id = ?1 ORDER BY ordinal DESC LIMIT ?2",
            run,
            limit,
        )
        .doing(|| format!("reading the latest trials of run {run}"))
    }

    /// Returns, for each server under each load of a run, the first trial that yielded figures. They are in the order
    /// of the loads: at most `limit`.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn first_trials(&self, run: RunId, limit: u32) -> Result<Vec<TrialLine>, NotebookError> {
        let which = "WHERE id IN (SELECT min(id) FROM trial
                 WHERE run_id = ?1 AND throughput IS NOT NULL GROUP BY server, workers, cell)
             ORDER BY cell, server, workers LIMIT ?2";
        self.lines(which, run, limit)
            .doing(|| format!("reading the servers and loads of run {run}"))
    }

    fn lines(&self, which: &str, run: RunId, limit: u32) -> rusqlite::Result<Vec<TrialLine>> {
        let sql = format!(
            "SELECT id, ordinal, round, server, workers, cell, status, failed_step, message,
                 throughput, cpu_ns_per_request, p50_ns, p99_ns FROM trial {which}"
        );
        self.connection
            .prepare_cached(&sql)?
            .query_map([run.0, i64::from(limit)], read_line)?
            .collect()
    }

    /// A number that changes whenever another connection has written to the file, to be compared with
    /// what this connection was told before: SQLite's `data_version`. Asking costs next to nothing.
    ///
    /// # Errors
    ///
    /// If the notebook cannot be read.
    pub fn data_version(&self) -> Result<i64, NotebookError> {
        self.connection
            .pragma_query_value(None, "data_version", |row| row.get(0))
            .doing(|| "asking whether the notebook has changed".to_owned())
    }
}

impl ToSql for RunId {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.into())
    }
}

/// Text that LIKE takes as it stands.
fn literal(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// `?1,?2,?3`.
fn places(n: usize) -> String {
    let all: Vec<String> = (1..=n).map(|at| format!("?{at}")).collect();
    all.join(",")
}

fn read_overview(row: &Row<'_>) -> rusqlite::Result<Overview> {
    Ok(Overview {
        id: RunId(row.get("id")?),
        name: line(row, "name")?,
        title: line(row, "title")?,
        started: row.get::<_, Moment>("started")?.0,
        finished: row
            .get::<_, Option<Moment>>("finished")?
            .map(|moment| moment.0),
        status: row.get::<_, Word<_>>("status")?.0,
        result: optional_lines(row, "result")?,
        process: ProcessKey {
            pid: row.get("pid")?,
            boot_id: row.get("boot_id")?,
            start_ticks: row.get::<_, Whole>("pid_start_ticks")?.0,
        },
        host: row.get::<_, Json<_>>("host_json")?.0,
        command_line: lines(row, "command_line")?,
        trials: 0,
        failed: 0,
        last_trial: None,
        servers: Vec::new(),
    })
}

/// Returns an entry for a run that cannot be read, so that it does not hide the others in a list.
fn unreadable(row: &Row<'_>, error: &rusqlite::Error) -> rusqlite::Result<Overview> {
    Ok(Overview {
        id: RunId(row.get("id")?),
        name: "?".into(),
        title: format!("it cannot be read: {error}"),
        started: Timestamp::UNIX_EPOCH,
        finished: None,
        status: RunStatus::Failed,
        result: None,
        process: ProcessKey::default(),
        host: Host::default(),
        command_line: String::new(),
        trials: 0,
        failed: 0,
        last_trial: None,
        servers: Vec::new(),
    })
}

fn read_line(row: &Row<'_>) -> rusqlite::Result<TrialLine> {
    Ok(TrialLine {
        id: TrialId(row.get("id")?),
        ordinal: row.get("ordinal")?,
        round: row.get("round")?,
        server: line(row, "server")?,
        workers: row.get("workers")?,
        cell: line(row, "cell")?,
        status: row.get::<_, Word<_>>("status")?.0,
        failed_step: row
            .get::<_, Option<Word<_>>>("failed_step")?
            .map(|word| word.0),
        message: optional_lines(row, "message")?,
        throughput: row.get("throughput")?,
        cpu_ns_per_request: row.get("cpu_ns_per_request")?,
        p50_ns: whole(row, "p50_ns")?,
        p99_ns: whole(row, "p99_ns")?,
    })
}
