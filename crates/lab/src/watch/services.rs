//! Resources of the services of a server that is measured.

use crate::service::ServiceRoot;
use crate::service::database::Counts;
use crate::tree;
use prony_engine::Nanos;
use prony_record::{QueryCounts, ServiceUse};

/// A service as it was when the measurement began.
pub(super) struct WatchedService {
    root: ServiceRoot,
    cpu: Nanos,
    written: Option<u64>,
    first: Option<Counts>,
    last: Option<Counts>,
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
            first: None,
            last: None,
        }
    }

    /// Looks at it as the measurement begins.
    pub(super) fn begin(&mut self) {
        self.cpu = cpu(&self.root);
        self.written = written(&self.root);
        self.first = counts(&self.root);
    }

    /// Counts for the last time.
    pub(super) fn count(&mut self) {
        self.last = counts(&self.root);
    }

    /// Looks again, and gives its name and what it used between. Its database is asked last, if it has not been.
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
            queries: (self.last.or_else(|| counts(root)))
                .zip(self.first)
                .map(between),
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

/// Counts of its database; None where it does not count.
fn counts(root: &ServiceRoot) -> Option<Counts> {
    root.database.as_ref()?.counts().ok()
}

fn between((last, first): (Counts, Counts)) -> QueryCounts {
    let work = last - first;
    QueryCounts {
        counted_ns: work.at_ns,
        statements: work.statements,
        rows: work.rows,
    }
}
