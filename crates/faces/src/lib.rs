//! Other tools' command lines, spoken by prony: their flags become a load, and what the load has
//! shown is printed as they would. `docs/faces.md` says where the meaning of a number differs.

pub mod ab;
pub mod echo_client;
pub mod httperf;
mod shared;
mod stage;
pub mod weighttp;
pub mod wrk;

pub use shared::evidence::evidence;
pub use stage::Stage;
