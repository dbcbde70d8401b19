//! prony's own servers: the ceiling, as fast as the kernel allows, and the clockwork, whose delays
//! are known exactly.
//!
//! A benchmark needs two servers that it can trust. [`ceiling`] answers with as little work as a
//! server can do: no other server on the same host is faster, so a measurement near it is of this
//! limit rather than of the server. [`clockwork`] answers after delays and stalls that are a pure
//! function of the arrival times, so what a load generator must report is known beforehand.
//!
//! Both speak the same [`Contract`]s. What a connection answers is one state machine per
//! contract (`session`: bytes in, bytes out, no I/O); the [`ceiling::Model`]s differ only in how the
//! bytes travel (`sys` holds the system calls).
//!
//! ```no_run
//! use prony_reference::{Contract, ceiling};
//!
//! let server = ceiling::Server::bind(&ceiling::Options {
//!     contract: Contract::HttpEcho,
//!     ..ceiling::Options::new("127.0.0.1:0".parse()?)
//! })?;
//! println!("listening on {}", server.local_addr());
//! server.run()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod ceiling;
pub mod clockwork;
mod contract;
mod date;
mod error;
pub mod http3;
mod over;
mod session;
mod slab;
mod sys;
mod work;

pub use contract::Contract;
pub use date::Date;
pub use error::{Error, ParseError};
pub use over::Layers;
