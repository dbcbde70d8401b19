//! Flags as `getopt` takes them: `-c10`, `-c 10`, `-kq`, `--rate=5`, `--rate 5`.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::str::FromStr;

/// There is nothing to run: what to say instead, and the exit status.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    /// Text that the user asked for, on standard output; the status is 0.
    Said(String),
    /// Error message, on standard error.
    Wrong {
        /// Whole lines.
        text: String,
        /// The exit status.
        status: u8,
    },
}

impl Instead {
    /// With one more line at its end.
    pub(crate) fn and(self, line: &str) -> Self {
        match self {
            Self::Wrong { text, status } => Self::Wrong {
                text: format!("{text}{line}\n"),
                status,
            },
            said @ Self::Said(_) => said,
        }
    }

    /// Says it and gives the exit status.
    pub(crate) fn say(&self, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
        // If the reader has closed the stream, there is no one to report the error to.
        match self {
            Self::Said(text) => {
                let _ = out.write_all(text.as_bytes());
                0
            }
            Self::Wrong { text, status } => {
                let _ = err.write_all(text.as_bytes());
                *status
            }
        }
    }
}

/// The extra flag of every command, `--quiet`, taken out of the others wherever it stands.
pub(crate) fn take_quiet(args: Vec<OsString>) -> (Vec<OsString>, bool) {
    let before = args.len();
    let args: Vec<_> = args.into_iter().filter(|arg| arg != "--quiet").collect();
    let quiet = args.len() < before;
    (args, quiet)
}

/// The value of the flag just read as text.
pub(crate) fn text(parser: &mut lexopt::Parser) -> Result<String, lexopt::Error> {
    Ok(parser.value()?.to_string_lossy().into_owned())
}

/// The value of the flag just read as a number that fits; else what was given.
pub(crate) fn fitting<T: FromStr>(
    parser: &mut lexopt::Parser,
    fits: impl Fn(&T) -> bool,
) -> Result<Result<T, String>, lexopt::Error> {
    let given = text(parser)?;
    let number = given.trim().parse().ok().filter(fits);
    Ok(number.ok_or(given))
}

/// Returns a message about a value that a flag does not take.
/// It goes beside the original's message, which does not name the value.
pub(crate) fn not_taken(flag: char, value: &str) -> String {
    format!("prony: -{flag} {value}: not a value that it takes")
}

/// The name among `names` that `given` abbreviates; an exact one abbreviates nothing else.
pub(crate) fn abbreviated<'a>(given: &str, names: &[&'a str]) -> Option<&'a str> {
    if let Some(exact) = names.iter().find(|name| **name == given) {
        return Some(exact);
    }
    let mut begin = names.iter().filter(|name| name.starts_with(given));
    match (begin.next(), begin.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    }
}

/// Returns the message of `getopt` for a name that abbreviates several; `None` if it abbreviates at most one.
pub(crate) fn ambiguous(given: &str, names: &[&str]) -> Option<String> {
    let begin = names.iter().filter(|name| name.starts_with(given));
    let possible: Vec<String> = begin.map(|name| format!("'--{name}'")).collect();
    (possible.len() > 1).then(|| {
        format!(
            "option '--{given}' is ambiguous; possibilities: {}",
            possible.join(" ")
        )
    })
}

/// Returns the name of an unknown flag: a letter without its dash, or a long name with its dashes.
pub(crate) fn name(argument: &lexopt::Arg<'_>) -> String {
    match argument {
        lexopt::Arg::Short(letter) => letter.to_string(),
        lexopt::Arg::Long(name) => format!("--{name}"),
        lexopt::Arg::Value(value) => OsStr::to_string_lossy(value).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_may_stand_anywhere() {
        let args = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(
            take_quiet(args(&["-n", "1", "--quiet", "x"])),
            (args(&["-n", "1", "x"]), true)
        );
        assert_eq!(take_quiet(args(&["x"])), (args(&["x"]), false));
    }

    #[test]
    fn long_names_may_be_cut_while_they_are_unique() {
        let names = ["num-calls", "num-conns", "rate", "timeout", "time"];
        assert_eq!(abbreviated("num-co", &names), Some("num-conns"));
        assert_eq!(abbreviated("num", &names), None);
        assert_eq!(abbreviated("time", &names), Some("time"));
        assert_eq!(abbreviated("nothing", &names), None);
        assert_eq!(
            ambiguous("num", &names).unwrap(),
            "option '--num' is ambiguous; possibilities: '--num-calls' '--num-conns'"
        );
        assert_eq!(ambiguous("nothing", &names), None);
    }
}
