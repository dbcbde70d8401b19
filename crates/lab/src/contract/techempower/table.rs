//! Tables of the server's database, as they are now.

use super::super::Visit;
use super::super::wire::Fault;
use crate::service::database::{Counts, Database};
use std::collections::HashMap;

/// Numbers of a table by their ids.
pub(super) type Table = HashMap<u32, u32>;

/// The server's database.
pub(in crate::contract) fn database<'a>(visit: &Visit<'a>) -> Result<&'a dyn Database, Fault> {
    visit.fixture.database().ok_or_else(|| {
        let expected = "PostgreSQL with pg_stat_statements, which prony has started for the server";
        Fault::new(expected, "none")
    })
}

/// Executes a statement.
pub(in crate::contract) fn ask(
    database: &dyn Database,
    sql: &str,
) -> Result<Vec<Vec<String>>, Fault> {
    let failed = |why: String| Fault::new("the database to answer prony", one_line(&why));
    database.query(sql).map_err(failed)
}

/// Work of the database so far.
pub(in crate::contract) fn counts(database: &dyn Database) -> Result<Counts, Fault> {
    let failed = |why: String| Fault::new("the database's statistics", one_line(&why));
    database.counts().map_err(failed)
}

/// All rows of `world` or `cachedworld`.
pub(super) fn read(database: &dyn Database, name: &str) -> Result<Table, Fault> {
    let rows = ask(database, &format!("SELECT id, randomnumber FROM {name}"))?;
    let number = |text: &String| text.parse::<u32>().ok();
    let pair = |row: &Vec<String>| match &row[..] {
        [id, random] => number(id).zip(number(random)),
        _ => None,
    };
    let table: Option<Table> = rows.iter().map(pair).collect();
    table.ok_or_else(|| Fault::new(format!("two numbers in each row of {name}"), "others"))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
