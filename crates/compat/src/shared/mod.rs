//! What several commands need: flags, URLs, carrying a load out, distributions of whole values, and what the checks say.

pub(crate) mod address;
pub(crate) mod flags;
pub(crate) mod load;
pub(crate) mod remarks;
pub(crate) mod stats;
pub(crate) mod tls;
