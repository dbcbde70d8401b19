//! One file per verb.

pub mod audit;
pub mod capacity;
pub mod compare;
pub mod completions;
pub mod duel;
pub mod echo_client;
pub mod explain;
pub mod export;
pub mod face;
pub mod import;
pub mod keeper;
pub mod load;
pub mod report;
pub mod run;
pub mod runs;
pub mod schema;
pub mod serve;
pub mod servers;
pub mod tare;
pub mod view;
