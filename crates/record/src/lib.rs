//! The one vocabulary of measurements: plain data, with one JSON form and one JSON Schema each.
//!
//! | module | what it holds |
//! |---|---|
//! | [`load`] | what was asked: connections, rate, duration |
//! | [`outcomes`], [`ends`], [`times`], [`window`], [`backlog`], [`generator`] | what the generator saw, and what it cost |
//! | [`tls`] | what connections agreed on with the server, where they are encrypted |
//! | [`observation`] | all of that together, for one load; two of one kind add up |
//! | [`resources`], [`host`] | what the server and the machine used, and what machine it was |
//! | [`check_id`], [`finding`] | names of the checks, and what they found |
//! | [`server_limits`] | limits of a server's processes, and their effect |
//! | [`failure`] | at which step a trial failed, and why |
//! | [`trial`], [`run`] | everything known of a trial, and of a run |
//! | [`verdict`], [`service`] | what duels and capacity searches compare, and by which terms |
//! | [`design`] | how a duel measures its servers, from what a pilot has seen of them |
//! | [`anatomy`] | what one request costs a server, part by part |
//! | [`calibration`] | what this host's rig can do, and how noisy it is |
//! | [`published`] | figures that others have published |
//!
//! The engine fills in what is the engine's, the lab the rest; the notebook stores it, the checks
//! judge it, and reports, pages, exports and imports carry it.

#![forbid(unsafe_code)]

pub mod anatomy;
pub mod backlog;
pub mod bounds;
pub mod by_address;
pub mod by_host;
pub mod by_request;
pub mod by_session;
pub mod calibration;
pub mod check_id;
pub mod design;
pub mod encoded;
pub mod ends;
pub mod failure;
pub mod finding;
pub mod generator;
pub mod grpc;
pub mod host;
mod idle;
pub mod inert;
pub mod load;
pub mod observation;
pub mod outcomes;
pub mod pool;
pub mod published;
pub mod quic;
pub mod resources;
pub mod run;
pub mod server_limits;
pub mod service;
pub mod size;
mod slo;
pub mod span;
pub mod stages;
mod streams;
pub mod times;
pub mod tls;
pub mod trial;
pub mod verdict;
pub mod window;
mod word;

pub use backlog::Backlog;
pub use by_address::{AddressShare, ByAddress};
pub use by_host::{ByHost, HostShare};
pub use by_request::ByRequest;
pub use by_session::BySession;
pub use check_id::CheckId;
pub use design::Design;
pub use encoded::Encoded;
pub use ends::Ends;
pub use failure::{Failure, Step};
pub use finding::{Finding, Severity};
pub use generator::Generator;
pub use grpc::Grpc;
pub use host::Host;
pub use idle::IdleConnections;
pub use load::{Change, Extent, Load, Replay, Spacing, Transport};
pub use observation::Observation;
pub use outcomes::Outcomes;
pub use pool::Pool;
pub use quic::Quic;
pub use resources::{QueryCounts, Resources, ServiceCost, ServiceTotals, ServiceUse};
pub use run::{RunFacts, RunStatus, Subject};
pub use server_limits::{CpuQuota, LimitEffect, ServerLimits};
pub use size::Size;
pub use slo::{AnswerTimes, Slo};
pub use span::Span;
pub use stages::Stage;
pub use streams::Streams;
pub use times::{Distributions, Latency, Percentiles, Timed, Times};
pub use tls::Tls;
pub use trial::{
    Durations, Measurement, MedianAndP99, Recording, StreamFigures, Trial, TrialStatus,
};
pub use window::{Phase, Window};

/// A point on, or a span of, a monotonic clock, in nanoseconds.
pub type Nanos = u64;

/// Nanoseconds in a second.
pub const SECOND: Nanos = 1_000_000_000;
