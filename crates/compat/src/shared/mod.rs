//! Parts that several commands share: flags, URLs, running a load, distributions of whole values, and the checks'
//! remarks.

pub(crate) mod address;
pub(crate) mod flags;
pub(crate) mod load;
pub(crate) mod remarks;
pub(crate) mod remedy;
pub(crate) mod stats;
pub(crate) mod tls;
