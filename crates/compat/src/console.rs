//! Where a compatibility command prints, and what may stop it.

use prony_engine::Control;
use std::io::Write;
use std::sync::Arc;

/// Standard output, standard error, and what passes on the user's Ctrl-C.
pub struct Console<'a> {
    /// Output that the original prints to standard output, and nothing else.
    pub out: &'a mut dyn Write,
    /// Everything else.
    pub err: &'a mut dyn Write,
    /// Is told of every load before it begins, so that it can be stopped.
    pub guard: &'a dyn Fn(&Arc<Control>),
}
