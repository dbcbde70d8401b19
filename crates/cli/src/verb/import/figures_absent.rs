//! In the place of `figures` where audits are left out: they are what reads figures.

use crate::CommandEnd;
use crate::args::{Import, Places};
use crate::built;
use miette::Result;

pub(super) fn main(
    _places: &Places,
    _texts: &[(String, String)],
    _name: &str,
    _args: &Import,
) -> Result<CommandEnd> {
    Err(built::absent(
        "audit",
        "reads figures of others; runs can be imported",
    ))
}
