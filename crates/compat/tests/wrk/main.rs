//! `prony wrk` against real servers, beside the real wrk, and against what the real wrk and wrk2
//! have printed.
//!
//! Rates are never compared with a threshold: what is, are keys, units, columns, counts that must
//! be equal, and what scripts and servers have seen.

mod command;
mod differential;
mod golden;
#[cfg(feature = "lua")]
mod scripted;
#[cfg(feature = "lua")]
mod scripts;
mod server;
mod shape;
mod support;
mod tls;
#[cfg(not(feature = "lua"))]
mod without_lua;
