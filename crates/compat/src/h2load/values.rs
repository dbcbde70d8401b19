//! The values of options, and what is said of those that are none.

use super::units::duration;
use crate::shared::flags::{Instead, fitting, text};
use std::fs::File;
use std::io::{Read, stdin};
use std::str::FromStr;
use std::time::Duration;

/// `text` on standard error, with the original's only status.
pub(super) fn wrong(text: &str) -> Instead {
    Instead::Wrong {
        text: format!("{text}\n"),
        status: 1,
    }
}

pub(super) fn unread(error: &lexopt::Error) -> Instead {
    wrong(&format!("h2load: {error}"))
}

/// Error for an option that prony does not support; `why` is the reason, or what to use instead.
pub(super) fn refused(option: &str, why: &str) -> Instead {
    wrong(&format!("prony: --{option} is not supported: {why}"))
}

pub(super) fn value(parser: &mut lexopt::Parser) -> Result<String, Instead> {
    text(parser).map_err(|error| unread(&error))
}

pub(super) fn number<T: FromStr>(label: &str, parser: &mut lexopt::Parser) -> Result<T, Instead> {
    let number = fitting(parser, |_| true).map_err(|error| unread(&error))?;
    number.map_err(|given| wrong(&format!("{label}: bad option value: {given}")))
}

pub(super) fn bits(label: &str, parser: &mut lexopt::Parser) -> Result<u32, Instead> {
    let number = fitting(parser, |&bits| bits <= 30).map_err(|error| unread(&error))?;
    let says = format!("{label}: specify the integer in the range [0, 30], inclusive");
    number.map_err(|_| wrong(&says))
}

/// `says` is what the original says in front of a value that is none.
pub(super) fn span(says: &str, parser: &mut lexopt::Parser) -> Result<Duration, Instead> {
    let given = value(parser)?;
    duration(&given).ok_or_else(|| wrong(&format!("{says} {given}")))
}

/// To the original, 0 is nothing.
pub(super) fn some(span: Duration) -> Option<Duration> {
    (!span.is_zero()).then_some(span)
}

/// `Name: value`; of the names that begin with a colon those that an answer does not depend on elsewhere.
pub(super) fn field(given: &str) -> Result<(String, String), Instead> {
    let after = usize::from(given.starts_with(':'));
    let colon = given.get(after..).and_then(|rest| rest.find(':'));
    let colon = colon.filter(|&at| at > 0).map(|at| at + after);
    let Some((name, value)) = colon.map(|at| given.split_at(at)) else {
        return Err(wrong(&format!("-H: invalid header: {given}")));
    };
    let name = name.to_ascii_lowercase();
    if name.starts_with(':') && !matches!(name.as_str(), ":method" | ":authority") {
        let why = "the URI says it";
        return Err(refused(&format!("header {name}"), why));
    }
    let value = value[1..].trim().to_owned();
    if value
        .bytes()
        .chain(name.bytes())
        .any(|byte| matches!(byte, b'\r' | b'\n' | 0))
    {
        return Err(wrong(&format!("-H: invalid header: {given}")));
    }
    Ok((name, value))
}

/// The lines of a file of URIs, without empty ones.
pub(super) fn lines(path: &str) -> Result<Vec<String>, Instead> {
    let mut text = String::new();
    let read = match path {
        "-" => stdin().read_to_string(&mut text),
        _ => File::open(path).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.map_err(|_| wrong(&format!("cannot read input file: {path}")))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    Ok(lines.map(str::to_owned).collect())
}
