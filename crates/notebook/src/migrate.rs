//! Bringing a file up to date: one SQL script a version, counted in `PRAGMA user_version`.

use rusqlite::{Connection, TransactionBehavior};

/// The scripts, the first of which makes version 1 from an empty file. A released script is never
/// changed; a change is a new one.
pub(crate) const SCRIPTS: &[&str] = &[include_str!("schema/1.sql"), include_str!("schema/2.sql")];

/// `PRAGMA application_id` of a notebook: "PRNY", as `schema/1.sql` sets it.
const APPLICATION: i64 = 0x5052_4e59;

/// Why a file is left as it is.
#[derive(Debug)]
pub(crate) enum OpenRefusal {
    /// An SQLite file that something else has written.
    Foreign,
    /// A notebook of a later version than the scripts make.
    Newer {
        found: usize,
    },
    Sql(rusqlite::Error),
}

impl From<rusqlite::Error> for OpenRefusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

/// Runs the scripts that the file has not seen yet, all in one transaction: after a crash the file
/// is as it was before.
pub(crate) fn migrate(connection: &mut Connection, scripts: &[&str]) -> Result<(), OpenRefusal> {
    if version(connection, scripts.len())? == scripts.len() {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Asked again: another process may have done it while this one waited for the lock.
    let version = version(&transaction, scripts.len())?;
    for script in &scripts[version..] {
        transaction.execute_batch(script)?;
    }
    transaction.pragma_update(None, "user_version", scripts.len() as i64)?;
    Ok(transaction.commit()?)
}

/// The file's version, if it is a notebook of a version known here, or empty.
pub(crate) fn version(connection: &Connection, known: usize) -> Result<usize, OpenRefusal> {
    let number = |pragma| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let version = number("user_version")?;
    let objects: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let empty = version == 0 && objects == 0;
    if !empty && number("application_id")? != APPLICATION {
        return Err(OpenRefusal::Foreign);
    }
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        Ok(found) => Err(OpenRefusal::Newer { found }),
        Err(_) => Err(OpenRefusal::Foreign),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "PRAGMA application_id = 1347571289;
        CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT) STRICT;";
    const NEW: &str = "ALTER TABLE note ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody';";
    const BROKEN: &str = "CREATE TABLE more (id INTEGER); SELECT * FROM missing;";

    fn version(connection: &Connection) -> i64 {
        connection
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap()
    }

    #[test]
    fn an_empty_file_gets_every_script() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, SCRIPTS).unwrap();
        assert_eq!(version(&connection), SCRIPTS.len() as i64);
        migrate(&mut connection, SCRIPTS).unwrap();
    }

    #[test]
    fn a_file_of_the_first_version_keeps_its_distributions() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &SCRIPTS[..1]).unwrap();
        connection
            .execute_batch(
                "PRAGMA foreign_keys = OFF;
                INSERT INTO histogram VALUES (1, 'response', 3, x'00', NULL);",
            )
            .unwrap();
        migrate(&mut connection, SCRIPTS).unwrap();
        let add = "INSERT INTO histogram VALUES (1, 'first-byte', 1, x'01', NULL)";
        connection.execute(add, []).unwrap();
        let count: i64 = connection
            .query_row("SELECT sum(count) FROM histogram", [], |row| row.get(0))
            .unwrap();
        assert_eq!(count, 4);
    }

    #[test]
    fn an_older_file_keeps_what_it_holds() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[OLD]).unwrap();
        connection
            .execute("INSERT INTO note (text) VALUES ('kept')", [])
            .unwrap();
        migrate(&mut connection, &[OLD, NEW]).unwrap();
        assert_eq!(version(&connection), 2);
        let row = connection.query_row("SELECT text, author FROM note", [], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
        });
        assert_eq!(row.unwrap(), ("kept".to_owned(), "nobody".to_owned()));
    }

    #[test]
    fn a_script_that_fails_leaves_the_file_as_it_was() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[OLD]).unwrap();
        assert!(matches!(
            migrate(&mut connection, &[OLD, BROKEN]),
            Err(OpenRefusal::Sql(_))
        ));
        assert_eq!(version(&connection), 1);
        let tables: i64 = connection
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE name = 'more'",
                [],
                |r| r.get(0),
            )
            .unwrap();
        assert_eq!(tables, 0);
        migrate(&mut connection, &[OLD, NEW]).unwrap();
    }

    #[test]
    fn newer_and_foreign_files_are_refused() {
        let mut connection = Connection::open_in_memory().unwrap();
        migrate(&mut connection, &[OLD, NEW]).unwrap();
        assert!(matches!(
            migrate(&mut connection, &[OLD]),
            Err(OpenRefusal::Newer { found: 2 })
        ));
        let mut foreign = Connection::open_in_memory().unwrap();
        foreign
            .execute_batch("CREATE TABLE song (title TEXT)")
            .unwrap();
        assert!(matches!(
            migrate(&mut foreign, SCRIPTS),
            Err(OpenRefusal::Foreign)
        ));
    }
}
