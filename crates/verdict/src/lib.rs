//! Decisions from measurements: pure, without I/O and without a clock.
//!
//! - [`design`]: how servers are measured, from what a pilot has seen of them
//! - [`duel`]: how the sides of a duel compare, at which rate, and when it may end
//! - [`outlook`]: what it can still find in the time it has
//! - [`doubt`]: which of its verdicts something else than the servers' code explains
//! - [`seen`]: what a duel has seen, and its report
//! - [`note`]: what else has to be known to read it
//! - [`sentence`]: what that says, in words
//! - [`gate`]: conditions under which a build fails
//! - [`why`]: which parts of a request cost more or less than another server's
//! - [`capacity`]: which rate a capacity search tries next, and what it has found

#![forbid(unsafe_code)]

pub mod by_name;
mod by_rate;
pub mod capacity;
pub mod design;
pub mod doubt;
pub mod duel;
mod frequency;
pub mod gate;
#[cfg(test)]
mod made_up;
pub mod note;
pub mod outlook;
pub mod seen;
pub mod sentence;
pub mod why;
