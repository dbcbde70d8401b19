//! Other tools' command lines, spoken by prony: their flags become a load, and what the load has
//! shown is printed as they would. `docs/compat.md` says where the meaning of a number differs.

pub mod ab;
mod console;
pub mod echo_client;
pub mod h2load;
pub mod httperf;
mod shared;
pub mod weighttp;
pub mod wrk;

pub use console::Console;
