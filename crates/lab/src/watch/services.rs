//! Resources of the services of a server that is measured.

use crate::service::ServiceRoot;
use crate::service::database::Counts;
use crate::tree;
use prony_engine::{Nanos, clock};
use prony_record::{QueryCounts, ServiceUse};

/// A service as it was when the measurement began.
pub(super) struct WatchedService {
    root: ServiceRoot,
    cpu: Nanos,
    written: Option<u64>,
    counts: Option<(Nanos, Counts)>,
}

impl WatchedService {
    /// A service that is to be watched. Its database is asked once, so that a connection is there when the measurement
    /// begins.
    pub(super) fn of(root: &ServiceRoot) -> Self {
        let _ = counts(root);
        Self {
            root: root.clone(),
            cpu: 0,
            written: None,
            counts: None,
        }
    }

    /// Looks at it as the measurement begins.
    pub(super) fn begin(&mut self) {
        self.cpu = cpu(&self.root);
        self.written = written(&self.root);
        self.counts = counts(&self.root);
    }

    /// Looks again, and gives its name and what it used between. Its database is asked last.
    pub(super) fn end(self) -> (String, ServiceUse) {
        let root = &self.root;
        let now = cpu(root);
        let written = written(root);
        let pids = root.root.processes().into_iter();
        let used = ServiceUse {
            what: root.what.clone(),
            cpu_ns: now.saturating_sub(self.cpu),
            memory_bytes: pids.filter_map(tree::memory).sum(),
            written_bytes: written
                .zip(self.written)
                .map(|(now, then)| now.saturating_sub(then)),
            queries: counts(root).zip(self.counts).map(between),
        };
        (self.root.name, used)
    }
}

/// CPU time of all its processes, with those that have ended: databases have a process per connection, and a server may
/// open one for each request.
fn cpu(root: &ServiceRoot) -> Nanos {
    let pids = root.root.processes();
    let each = pids.into_iter();
    each.filter_map(|pid| Some(tree::cpu_time(pid)? + tree::collected(pid).unwrap_or(0)))
        .sum()
}

fn written(root: &ServiceRoot) -> Option<u64> {
    let pids = root.root.processes();
    let each: Vec<u64> = pids.into_iter().filter_map(tree::written).collect();
    (!each.is_empty()).then(|| each.iter().sum())
}

/// When its database was asked, and what it said; None where it does not count.
fn counts(root: &ServiceRoot) -> Option<(Nanos, Counts)> {
    let counts = root.database.as_ref()?.counts().ok()?;
    Some((clock::now(), counts))
}

fn between(((now, last), (then, first)): ((Nanos, Counts), (Nanos, Counts))) -> QueryCounts {
    let work = last - first;
    QueryCounts {
        counted_ns: now.saturating_sub(then),
        statements: work.statements,
        rows: work.rows,
    }
}
