//! gRPC as it is verified: calls by another implementation than the one that loads, messages as JSON, and a call that a
//! user gives.
//!
//! | file | what it is about |
//! |---|---|
//! | `client` | calls over the crate `h2` |
//! | `options` | `.proto` files whose imports only bring options |
//! | `output` | the kind of the messages of answers |
//! | `rpc` | a call that a user gives, and what is known of its answer |
//! | `reflection` | types that a server describes itself |
//! | `schema` | `.proto` files: methods, and messages as JSON |

pub(crate) mod client;
#[cfg(feature = "proto")]
mod options;
mod output;
#[cfg(feature = "proto")]
mod reflection;
mod rpc;
#[cfg(feature = "proto")]
mod schema;
#[cfg(not(feature = "proto"))]
#[path = "schema_absent.rs"]
mod schema;

pub use client::GrpcAnswer;
pub use output::AnswerType;
pub use rpc::{CallProbe, Rpc};
pub use schema::{Method, Schema};
