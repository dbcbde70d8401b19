//! Addresses of a server's name that connections go to.

use crate::word::words;

words! {
    /// Addresses of a server's name that connections go to.
    #[derive(Default)]
    Addresses {
        /// The first that accepts a connection.
        #[default]
        First = "first",
        /// All of them, evenly.
        Even = "even",
        /// All of them, one for each generator thread in turn.
        PerThread = "per-thread",
    }
}

impl Addresses {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub(super) fn is_default(&self) -> bool {
        *self == Self::First
    }
}
