//! What several commands need: flags, URLs, carrying a load out, and what the checks say of it.

pub(crate) mod address;
pub(crate) mod flags;
pub(crate) mod load;
pub(crate) mod remarks;
