//! Everything around a load: what a server must answer ([`contract`]), which servers there are
//! ([`catalog`], [`manifest`]), how they are built ([`builder`]), started and stopped ([`process`],
//! [`supervisor`]), on which CPUs everything runs ([`placement`], by the machine's
//! [`topology`]), what it uses ([`watch`],
//! [`machine`]), and how measurements are made of all this.
//!
//! Measurements ask two things of the world, each behind a small trait: a [`generator`] that carries
//! out loads, and a [`host`] on which servers run. [`trial`] is the one way in which a server is
//! brought up, measured and recorded; [`run`], [`duel`], [`capacity`] and [`calibration`] orchestrate
//! trials, tell an observer how it goes, and put what was measured into a journal ([`event`]).

pub mod as_given;
pub mod builder;
pub mod calibration;
mod canary;
pub mod capacity;
pub mod catalog;
pub mod checkout;
mod closing;
pub mod container;
pub mod contract;
pub mod control_group;
pub mod duel;
pub mod event;
pub mod experiment;
pub mod generator;
pub mod get;
pub mod grpc;
pub mod hook;
pub mod host;
mod idle;
pub mod interfaces;
pub mod interrupt;
pub mod leftovers;
pub mod load_table;
pub mod machine;
pub mod manifest;
mod over_h2;
mod paused;
mod pidfd;
pub mod pilot;
pub mod placement;
pub mod port;
pub mod process;
pub mod recording;
pub mod relay;
pub mod requests;
pub mod rest;
pub mod run;
mod server_log;
pub mod service;
pub mod setup;
pub mod side;
pub mod socket;
pub mod sockets;
pub mod source;
pub mod sources;
mod spread;
mod starting;
pub mod supervisor;
pub mod topology;
pub mod tree;
pub mod trial;
pub mod warmup;
pub mod watch;
pub mod why;
pub mod workload;
