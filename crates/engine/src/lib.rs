//! prony's load generator: it knows bytes, clocks and sockets, and nothing of servers or
//! experiments.
//!
//! Four parts that know nothing of each other's kind are put together once, by generics, in
//! [`run`]:
//!
//! | part | what it decides | kinds |
//! |---|---|---|
//! | [`schedule`] | when a request is due | closed loop, constant rate, Poisson |
//! | [`protocol`] | what is said: bytes out, bytes in, whether an answer is right | echo, HTTP/1.1, HTTP/2 |
//! | `transport` | how bytes travel | epoll, io_uring |
//! | `recorder` | what is kept | histograms, counters, windows |
//!
//! A worker thread has one of each and shares nothing while it runs. Its loop allocates nothing,
//! takes no lock, formats nothing, and makes no system call beyond those that move bytes.
//!
//! ```no_run
//! use prony_engine::{Control, Dialogue, Plan, Target, protocol, run};
//! use prony_record::Window;
//!
//! let request = protocol::HttpRequest::get("localhost", "/");
//! let dialogue = Dialogue::http(&request, protocol::Expect::default());
//! let plan = Plan::closed(Target::Tcp(([127, 0, 0, 1], 8000).into()), dialogue, 64);
//! let (seen, _) = run(&plan, &Control::at_once(10_000_000_000), |_: &Window| {})?;
//! println!("{} answers per second", seen.throughput());
//! # Ok::<(), prony_engine::Error>(())
//! ```

pub mod clock;
mod control;
pub mod descriptors;
mod gather;
mod load_error;
mod lookups;
mod outcome;
mod part;
mod plan;
pub mod protocol;
mod recorder;
mod remedy;
mod run;
pub mod schedule;
mod target;
mod trace;
mod transport;
mod worker;

pub use clock::Nanos;
pub use control::Control;
pub use gather::Gather;
pub use load_error::{Cause, IoActivity, LoadError};
pub use lookups::Lookups;
pub use outcome::{Detail, Error, Progress};
pub use part::{LoadShare, PartMessage};
pub use plan::{Arrival, Dialogue, Plan, StreamedRequests, Trace};
pub use prony_record::load::Invalid;
pub use remedy::{Remedy, TlsFile};
pub use run::{available, check_sources, run, run_part, run_with, transport};
pub use target::Target;
pub use trace::{Opening, TraceSample};
