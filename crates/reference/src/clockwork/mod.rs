//! The clockwork: a server whose delays and stalls are scripted exactly.
//!
//! What a load generator reports can only be judged beside what it should have reported. A
//! [`ReplyScript`] says when each request is answered, as a pure function of when the requests arrive
//! ([`Timeline`]); [`implied`] says which response times follow for arrivals that a schedule
//! dictates. A [`ClockworkServer`] then keeps that script to within a microsecond or two, and [`ClockworkReport`]s how
//! well it did, so that a test can tell its own instrument's error from the generator's.
//!
//! ```
//! use std::time::Duration;
//! use prony_reference::clockwork::{Delay, ReplyScript, implied, quantile};
//!
//! // Every second nothing is answered for 100 ms; asked at a steady 1,000 requests a second.
//! let script = ReplyScript {
//!     delay: Delay::Constant(Duration::from_millis(1)),
//!     stall: Some("100ms/1s".parse()?),
//!     ..ReplyScript::default()
//! };
//! let times = implied(&script, (0..10_000).map(|k| 1_000_000_000 + k * 1_000_000));
//! assert_eq!(quantile(&times, 0.5), 1_000_000);
//! assert_eq!(quantile(&times, 0.99), 91_000_000);
//! # Ok::<(), prony_reference::ParseError>(())
//! ```

mod held;
mod http3;
mod report;
mod requests;
mod script;
mod server;
mod timeline;
mod wire;

pub use report::ClockworkReport;
pub use script::{Delay, EventScript, ReplyScript, Stall};
pub use server::{ClockworkServer, Options};
pub use timeline::{Timeline, implied, quantile};

use std::sync::atomic::AtomicBool;

use crate::{Error, sys};

/// A flag for [`ClockworkServer::run`] that SIGTERM and SIGINT set, which no longer end this process.
///
/// # Errors
///
/// [`Error::System`] if the kernel refuses the handlers.
pub fn stop_on_signals() -> Result<&'static AtomicBool, Error> {
    sys::stop_on_signals().map_err(Error::system("sigaction"))
}
