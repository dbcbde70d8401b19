//! Steps that count the work of the database while requests come on many connections at once.

use super::super::wire::Fault;
use super::super::{Act, Depth, Visit};
use super::ask::{self, Media};
use super::rows::{self, MOST};
use super::table;
use crate::service::database::{Counts, Database};
use std::ops::RangeInclusive;
use std::thread;
use std::time::{Duration, Instant};

/// Rows of a request.
const EACH: usize = 20;

/// Statements for each request that a pool may add, and rows of them: it tests a connection before it is used and puts
/// it in order after that, for which asyncpg sends four statements.
const OF_POOL: (u64, u64) = (4, 2);

/// How often requests are sent until the counts are right: connections to the database that are opened for
/// the first ones, with statements of their own, are not a server's way to work.
const TRIES: usize = 3;
/// The same for a cache that is filled by what is asked for; after so many, hardly a row is new to it.
const CACHE_TRIES: usize = 6;

/// How long a count below the expected may stay the same before it is taken for the last: a statement is
/// counted at its end, which may come after the answer.
const SETTLED: Duration = Duration::from_millis(60);
const PAUSE: Duration = Duration::from_millis(10);

pub(super) const QUERIES_COUNTED: Act = Act {
    name: "queries-counted",
    tried: "statements and rows of GET /queries?queries=20 on many connections",
    from: Depth::Quick,
    run: queries,
};
pub(super) const UPDATES_COUNTED: Act = Act {
    name: "updates-counted",
    tried: "statements and rows of GET /updates?queries=20 on many connections",
    from: Depth::Quick,
    run: updates,
};
pub(super) const DB_COUNTED: Act = Act {
    name: "db-counted",
    tried: "statements and rows of GET /db on many connections",
    from: Depth::Full,
    run: db,
};
pub(super) const FORTUNES_COUNTED: Act = Act {
    name: "fortunes-counted",
    tried: "statements and rows of GET /fortunes on many connections",
    from: Depth::Full,
    run: fortunes,
};
pub(super) const CACHED_QUERIES_COUNTED: Act = Act {
    name: "cached-queries-counted",
    tried: "rows of the database for GET /cached-queries?count=500",
    from: Depth::Full,
    run: cached_queries,
};

/// Work that requests may cause.
pub(in crate::contract) struct Bounds {
    statements: RangeInclusive<u64>,
    rows: RangeInclusive<u64>,
    tries: usize,
}

impl Bounds {
    /// From the least to 5 % more than the most, and what a pool may add for so many requests.
    pub(in crate::contract) fn new(
        requests: usize,
        statements: (u64, u64),
        rows: (u64, u64),
    ) -> Self {
        let range = |(least, most): (u64, u64), each: u64| {
            least..=most + most / 20 + each * requests as u64
        };
        Self {
            statements: range(statements, OF_POOL.0),
            rows: range(rows, OF_POOL.1),
            tries: TRIES,
        }
    }

    /// Repeats what sends the requests and gives the work that they caused, until that is within the bounds.
    pub(in crate::contract) fn repeat(
        &self,
        requests: usize,
        mut send: impl FnMut() -> Result<Counts, Fault>,
    ) -> Result<(), Fault> {
        let mut last = Ok(());
        for _ in 0..self.tries {
            last = judge(send()?, self, requests);
            if last.is_ok() {
                break;
            }
        }
        last
    }
}

/// 1 % less than this, as a request may choose a row twice.
const fn nearly(number: u64) -> u64 {
    number - number / 100
}

/// Requires as many statements as rows: neither fewer for several rows each, nor none for rows that are kept.
fn queries(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let requests = visit.choose(16, 64);
    let all = (requests * EACH) as u64;
    let bounds = Bounds::new(requests, (all, all), (nearly(all), all));
    count(visit, "/queries?queries=20", requests, EACH, &bounds)
}

/// Each row is read and written, by a statement for each or for all rows of a request.
fn updates(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let requests = visit.choose(8, 16);
    let all = (requests * EACH) as u64;
    let statements = (all + requests as u64, 2 * all);
    let bounds = Bounds::new(requests, statements, (nearly(2 * all), 2 * all));
    count(visit, "/updates?queries=20", requests, EACH, &bounds)
}

/// A statement for each request, which gives a row.
fn db(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let bounds = Bounds::new(64, (64, 64), (64, 64));
    count(visit, "/db", 64, 0, &bounds)
}

/// A statement for each request, which gives the 12 rows of the table.
fn fortunes(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let bounds = Bounds::new(64, (64, 64), (12 * 64, 12 * 64));
    count(visit, "/fortunes", 64, 0, &bounds)
}

/// A cache has nearly all rows, at the latest when they have been asked for several times.
fn cached_queries(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let requests = 20;
    let few = (requests * MOST) as u64 / 20;
    let bounds = Bounds {
        statements: 0..=few,
        rows: 0..=few,
        tries: CACHE_TRIES,
    };
    count(visit, "/cached-queries?count=500", requests, MOST, &bounds)
}

/// Sends so many requests at once, for `each` rows, until the database's work is within the bounds.
fn count(
    visit: &Visit<'_>,
    target: &str,
    requests: usize,
    each: usize,
    bounds: &Bounds,
) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let media = match target {
        "/fortunes" => Media::Html,
        _ => Media::Json,
    };
    bounds.repeat(requests, || {
        let before = table::counts(database)?;
        for answer in ask::at_once(visit, &vec![target; requests], media)? {
            if each > 0 {
                rows::rows(&answer, each)?;
            }
        }
        settled(database, before, *bounds.statements.start())
    })
}

fn judge(work: Counts, bounds: &Bounds, requests: usize) -> Result<(), Fault> {
    for (what, found, right) in [
        ("statements", work.statements, &bounds.statements),
        ("rows", work.rows, &bounds.rows),
    ] {
        if !right.contains(&found) {
            let (least, most) = (right.start(), right.end());
            return Err(Fault::new(
                format!("{least} to {most} {what} in the database for {requests} requests"),
                format!("{found} {what}"),
            ));
        }
    }
    Ok(())
}

/// The work since `before`, once there are `least` statements, or no more have come for a while.
pub(in crate::contract) fn settled(
    database: &dyn Database,
    before: Counts,
    least: u64,
) -> Result<Counts, Fault> {
    let mut work = table::counts(database)? - before;
    let mut grown = Instant::now();
    while work.statements < least && grown.elapsed() < SETTLED {
        thread::sleep(PAUSE);
        let now = table::counts(database)? - before;
        if now.statements > work.statements {
            grown = Instant::now();
        }
        work = now;
    }
    Ok(work)
}
