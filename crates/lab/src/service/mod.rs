//! Services that servers need, such as a database.

pub mod database;
