//! What several faces have in common.

pub(crate) mod evidence;
pub(crate) mod flags;
