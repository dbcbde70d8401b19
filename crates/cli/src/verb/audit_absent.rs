//! In the place of `audit` where audits are left out.

use crate::CommandEnd;
use crate::args::Audit;
use crate::built;
use miette::Result;
use prony_checks::{CheckId, Explanation};
use schemars::Schema;

pub fn main(_args: &Audit) -> Result<CommandEnd> {
    Err(built::absent("audit", "audits outputs, tables and pages"))
}

/// There are no checks of audits.
pub const EXPLANATIONS: [Explanation; 0] = [];

pub fn example(_check: CheckId) -> Option<&'static str> {
    None
}

pub fn schema() -> Result<Schema> {
    Err(built::absent("audit", "has this schema"))
}
