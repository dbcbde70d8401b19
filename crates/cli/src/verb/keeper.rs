//! `prony keeper`: see [`prony_lab::keeper`].

use crate::Ended;
use miette::{IntoDiagnostic, Result};

pub fn main(arguments: &[String]) -> Result<Ended> {
    prony_lab::keeper::main(arguments).into_diagnostic()?;
    Ok(Ended::Done)
}
