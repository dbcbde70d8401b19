//! `prony supervisor`: see [`prony_lab::supervisor`].

use crate::Ended;
use miette::{IntoDiagnostic, Result};

pub fn main(arguments: &[String]) -> Result<Ended> {
    prony_lab::supervisor::main(arguments).into_diagnostic()?;
    Ok(Ended::Done)
}
