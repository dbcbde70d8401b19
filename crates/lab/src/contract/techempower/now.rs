//! Steps that compare answers with the tables as they are.

use super::super::wire::Fault;
use super::super::{Act, Depth, Visit};
use super::ask::{self, Media};
use super::rows::{self, ROWS, WorldRow};
use super::table::{self, Table};
use super::written;
use rand::RngExt;

/// Every so many rows of the table one is changed: few, so that the table stays as it was made, and with
/// 320 rows that are asked for, a server that keeps old ones is found out but once in 10,000,000 times.
const CHANGED: u32 = 20;

/// Connections that update at once. All updates of a verification leave fewer dead rows than PostgreSQL cleans up by
/// itself, which it would do during the load that follows.
const WRITING: usize = 8;

pub(super) const ROWS_NOW: Act = Act {
    name: "rows-now",
    tried: "rows of /db and /queries after the table was changed",
    from: Depth::Quick,
    run: rows_now,
};
pub(super) const CACHED_ROWS: Act = Act {
    name: "cached-rows",
    tried: "rows of /cached-queries compared with the table",
    from: Depth::Full,
    run: cached_rows,
};
pub(super) const UPDATES_WRITTEN: Act = Act {
    name: "updates-written",
    tried: "the table before and after GET /updates?queries=20 on several connections",
    from: Depth::Quick,
    run: updates_written,
};

/// Rows that were read before a change are not those of the table.
fn rows_now(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let (rest, shift) = (
        visit.rng.random_range(0..CHANGED),
        visit.rng.random_range(1..ROWS - 1),
    );
    table::ask(
        database,
        &format!(
            "UPDATE world SET randomnumber = 1 + (randomnumber + {shift}) % {ROWS} \
             WHERE id % {CHANGED} = {rest}"
        ),
    )?;
    let mut targets = Vec::new();
    for (part, target) in [("queries", "/queries?queries=20"), ("db", "/db")] {
        targets.extend([target; 16].into_iter().filter(|_| visit.keeps(part)));
    }
    let answers = ask::at_once(visit, &targets, Media::Json)?;
    let world = table::read(database, "world")?;
    for (target, answer) in targets.iter().zip(&answers) {
        let found = match *target {
            "/db" => vec![rows::row(answer)?],
            _ => rows::rows(answer, 20)?,
        };
        are_of(&world, target, &found)?;
    }
    Ok(())
}

fn cached_rows(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let target = "/cached-queries?count=100";
    let answer = ask::once(visit, target, Media::Json)?;
    let world = table::read(database, "cachedworld")?;
    are_of(&world, target, &rows::rows(&answer, 100)?)
}

/// Requires that rows of an answer are rows of the table.
fn are_of(table: &Table, target: &str, found: &[WorldRow]) -> Result<(), Fault> {
    let Some(wrong) = found
        .iter()
        .find(|row| table.get(&row.id) != Some(&row.number))
    else {
        return Ok(());
    };
    let there = match table.get(&wrong.id) {
        Some(number) => format!(
            "randomNumber {number} in row {}, as the table has it",
            wrong.id
        ),
        None => format!("a row of the table, which has no row {}", wrong.id),
    };
    Err(Fault::new(
        there,
        format!("{} in an answer to {target}", wrong.number),
    ))
}

fn updates_written(visit: &mut Visit<'_>) -> Result<(), Fault> {
    let database = table::database(visit)?;
    let targets = ["/updates?queries=20"; WRITING];
    let before = table::read(database, "world")?;
    let answers = ask::at_once(visit, &targets, Media::Json)?;
    let after = table::read(database, "world")?;
    let mut answered = Vec::new();
    for answer in &answers {
        answered.extend(rows::rows(answer, 20)?);
    }
    written::judge(&before, &after, &answered)
}
