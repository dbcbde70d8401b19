//! One file per verb.

pub mod agent;
pub mod audit;
pub mod calibrate;
pub mod capacity;
pub mod compare;
pub mod compat;
pub mod completions;
pub mod duel;
pub mod echo_client;
pub mod explain;
pub mod export;
pub mod hosts;
pub mod import;
pub mod load;
pub mod report;
pub mod requests;
pub mod run;
pub mod runs;
pub mod schema;
pub mod serve;
pub mod servers;
pub mod supervisor;
pub mod verify;
pub mod view;
pub mod why;
