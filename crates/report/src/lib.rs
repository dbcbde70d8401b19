//! Reports on a load or a run, for people and programs. The figures are there as types with a JSON Schema ([`load`],
//! [`run`]), and the same as text ([`table`], [`show`]).
//!
//! A run's report is made from the notebook alone, so it can be made again at any time.

pub mod calibration;
pub mod capacity;
pub mod design;
pub mod diff;
pub mod duel;
pub mod history;
pub mod idle;
pub mod kept;
pub mod load;
pub mod published;
pub mod run;
pub mod scaling;
pub mod services;
pub mod show;
pub mod table;
pub mod why;
