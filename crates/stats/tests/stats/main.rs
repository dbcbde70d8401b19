//! Statistics against tables, other programs and simulations.

mod change_of_mean;
mod change_points;
mod common;
mod coverage;
mod groups;
mod order_interval;
mod properties;
mod published;
mod scaling;
mod sequential;
mod series;
mod ties;
mod two_modes;
mod warmup;
