//! Mistakes on the command line that clap's definition cannot express: wrong values and options that do not fit together.

use miette::{Diagnostic, MietteDiagnostic, Report};
use std::fmt::{self, Display};

/// Like `miette::miette!`, for mistakes on the command line: prony exits with 2.
macro_rules! usage {
    ($($text:tt)*) => { $crate::usage::Usage::report(miette::diagnostic!($($text)*)) };
}

/// A mistake on the command line.
#[derive(Debug)]
pub struct Usage(MietteDiagnostic);

impl Usage {
    /// An error to return from a verb.
    pub fn report(diagnostic: MietteDiagnostic) -> Report {
        Report::new(Self(diagnostic))
    }
}

impl Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Usage {}

impl Diagnostic for Usage {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        self.0.help()
    }
}
