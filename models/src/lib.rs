//! The engine's [`control`] with loom's atomics in place of the standard library's.

#![allow(dead_code, reason = "the engine calls what the models do not")]

#[path = "../../crates/engine/src/clock.rs"]
mod clock;
#[path = "../../crates/engine/src/control.rs"]
mod control;
