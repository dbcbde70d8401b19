//! `prony audit`: what is wrong with outputs, tables and pages.

use crate::CommandEnd;
use crate::args::Audit;
use crate::texts;
use miette::{IntoDiagnostic, Result};
use schemars::Schema;

pub use prony_audit::{EXPLANATIONS, example};

pub fn main(args: &Audit) -> Result<CommandEnd> {
    // One file that is missing is no reason to leave the others unread.
    let (found, mut errors) = texts::read_those_there(&args.files)?;
    if found.is_empty()
        && let Some(error) = errors.pop()
    {
        return Err(error);
    }
    let audit = prony_audit::audit(&found);
    if args.json {
        let json = serde_json::to_string_pretty(&audit).into_diagnostic()?;
        println!("{json}");
    } else {
        crate::out::report(|width| audit.text(width));
    }
    let mut ended = CommandEnd::Done;
    for error in errors {
        eprintln!("{error:?}");
        ended = CommandEnd::Incomplete;
    }
    for file in audit.files.iter().filter(|file| !file.says_something()) {
        eprintln!(
            "{}: no output of a load generator, no table of figures and no command line was \
             recognised, so nothing was audited",
            file.name
        );
        ended = CommandEnd::Incomplete;
    }
    Ok(if audit.serious() {
        CommandEnd::Broken
    } else {
        ended
    })
}

/// The shape of what `--json` prints.
pub fn schema() -> Result<Schema> {
    Ok(schemars::schema_for!(prony_audit::Audit))
}
