//! How values that SQLite does not know are kept in a column.

use jiff::Timestamp;
use prony_record::times::Kind;
use prony_record::{CheckId, Phase, RunStatus, Severity, Step, TrialStatus, inert};
use rusqlite::Row;
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A time of day: RFC 3339 in UTC, always with six decimals, so that text order is time order.
/// What is finer than a microsecond is cut off.
pub(crate) struct Moment(pub Timestamp);

impl ToSql for Moment {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(format!("{:.6}", self.0).into())
    }
}

impl FromSql for Moment {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_str()?
            .parse()
            .map(Self)
            .map_err(FromSqlError::other)
    }
}

/// JSON as text.
pub(crate) struct Json<T>(pub T);

impl<T: Serialize> ToSql for Json<&T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        serde_json::to_string(self.0)
            .map(Into::into)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

impl<T: DeserializeOwned> FromSql for Json<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        inert::json(value.as_str()?)
            .map(Self)
            .map_err(FromSqlError::other)
    }
}

/// A text of others that may have several lines, made inert.
pub(crate) fn lines(row: &Row<'_>, column: &str) -> rusqlite::Result<String> {
    optional_lines(row, column).map(Option::unwrap_or_default)
}

/// The same, or nothing.
pub(crate) fn optional_lines(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<String>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.map(|text| inert::lines(&text).into_owned()))
}

/// A name or a title, made inert: in one line.
pub(crate) fn line(row: &Row<'_>, column: &str) -> rusqlite::Result<String> {
    let text: String = row.get(column)?;
    Ok(inert::line(&text).into_owned())
}

/// The same, or nothing.
pub(crate) fn optional_line(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<String>> {
    let text: Option<String> = row.get(column)?;
    Ok(text.map(|text| inert::line(&text).into_owned()))
}

/// A number that is never negative. Beyond 2⁶³ − 1 (292 years of nanoseconds) it is refused: an
/// SQLite integer has a sign.
pub(crate) struct Whole(pub u64);

impl ToSql for Whole {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        i64::try_from(self.0)
            .map(Into::into)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
    }
}

impl FromSql for Whole {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        u64::try_from(number)
            .map(Self)
            .map_err(|_| FromSqlError::OutOfRange(number))
    }
}

/// A column that holds a [`Whole`] or nothing.
pub(crate) fn whole(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    Ok(row.get::<_, Option<Whole>>(column)?.map(|whole| whole.0))
}

/// A number that uses all 64 bits, as text.
pub(crate) struct Seed(pub u64);

impl ToSql for Seed {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.to_string().into())
    }
}

impl FromSql for Seed {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value
            .as_str()?
            .parse()
            .map(Self)
            .map_err(FromSqlError::other)
    }
}

/// An enum of words, kept as its word, in SQL as in JSON.
pub(crate) struct Word<T>(pub T);

/// An enum of the record whose variants are words.
pub(crate) trait Words: Sized {
    /// The word that stands in the file.
    fn to_word(&self) -> &'static str;
    /// The one that a word stands for.
    fn from_word(word: &str) -> Option<Self>;
}

macro_rules! words {
    ($($name:ty),+) => {
        $(impl Words for $name {
            fn to_word(&self) -> &'static str {
                self.word()
            }

            fn from_word(word: &str) -> Option<Self> {
                Self::of_word(word)
            }
        })+
    };
}
words!(RunStatus, TrialStatus, Step, Phase, Kind, CheckId, Severity);

impl<T: Words> ToSql for Word<T> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.to_word().into())
    }
}

impl<T: Words> FromSql for Word<T> {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let word = value.as_str()?;
        let unknown = || FromSqlError::Other(unknown(word).into());
        T::from_word(word).map(Self).ok_or_else(unknown)
    }
}

/// Text of the error for a word that no variant has.
fn unknown(word: &str) -> String {
    format!("{word:?} is unknown: a newer prony may have written it")
}
