//! Text as lines, numbers and JSON.

pub(crate) mod json;
pub(crate) mod lines;
pub(crate) mod number;
