//! Everything around a load: what a server must answer ([`contract`]), which servers there are
//! ([`catalog`], [`manifest`]), how they are built ([`builder`]), started and stopped
//! ([`process`], [`supervisor`]), where everybody runs ([`placement`]), what they use ([`watch`],
//! [`host`]), and how all of this is put together to a trial ([`trial`]) and trials to an
//! experiment ([`experiment`], [`load`]).

pub mod builder;
pub mod catalog;
pub mod contract;
pub mod duel;
pub mod experiment;
pub mod get;
pub mod host;
pub mod load;
pub mod manifest;
pub mod placement;
pub mod process;
pub mod setup;
pub mod source;
mod spread;
mod starting;
pub mod supervisor;
pub mod text;
mod tree;
pub mod trial;
pub mod warmup;
pub mod watch;
