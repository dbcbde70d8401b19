//! The little that is understood of sentences.

mod claims;
mod failures;
mod laptop;
mod machine;
mod pictures;
mod stated;

pub use claims::{About, Claim};

pub(super) use claims::claim;
pub(super) use failures::failure;
pub(super) use laptop::is_of_a_desktop;
pub(super) use machine::{asks_this_machine, is_of_one_machine, loads_this_machine};
pub(super) use pictures::{
    heads_results, is_chart, is_measured, is_of_results, is_picture, links_to_results,
    names_a_load_test,
};
pub(crate) use stated::PACED;
pub(crate) use stated::tools;
pub(super) use stated::{
    heads_requests, names_a_harness, repetitions, sends_at_a_rate, stated_connections,
    stated_depth, stated_requests, stated_seconds,
};

/// At most this many words of a line are read.
const LOOKED_AT: usize = 200;

/// What stands around words in a sentence.
const MARKS: [char; 9] = ['*', '_', '`', '.', ',', ';', ':', '(', ')'];

#[cfg(test)]
mod tests;
