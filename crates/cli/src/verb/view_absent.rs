//! In the place of `view` where the viewer is left out.

use crate::CommandEnd;
use crate::args::{Places, View as Args};
use crate::built;
use miette::Result;

pub fn main(_places: &Places, _args: &Args) -> Result<CommandEnd> {
    Err(built::absent("view", "shows the notebook as a web page"))
}
