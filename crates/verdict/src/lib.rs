//! Decisions from measurements: pure, without I/O and without a clock.
//!
//! - [`duel`]: how the sides of a duel compare, at which rate, and when it may end
//! - [`seen`]: what a duel has seen, and its report
//! - [`sentence`]: what that says, in words
//! - [`capacity`]: which rate a capacity search tries next, and what it has found

#![forbid(unsafe_code)]

pub mod capacity;
pub mod duel;
pub mod seen;
pub mod sentence;
