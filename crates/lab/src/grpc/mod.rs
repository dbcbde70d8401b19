//! gRPC as it is verified: calls by another implementation than the one that loads, messages as JSON, and a call that a
//! user gives.
//!
//! | file | what it is about |
//! |---|---|
//! | `client` | calls over the crate `h2` |
//! | `rpc` | a call that a user gives, and what is known of its answer |
//! | `schema` | `.proto` files: methods, and messages as JSON |

pub(crate) mod client;
mod rpc;
mod schema;

pub use client::Answer;
pub use rpc::{Rpc, Seen};
pub use schema::{Method, Output, Schema};
