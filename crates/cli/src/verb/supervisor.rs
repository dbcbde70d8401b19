//! `prony supervisor`: see [`prony_lab::supervisor`].

use crate::CommandEnd;
use miette::{IntoDiagnostic, Result};

pub fn main(arguments: &[String]) -> Result<CommandEnd> {
    prony_lab::supervisor::main(arguments).into_diagnostic()?;
    Ok(CommandEnd::Done)
}
