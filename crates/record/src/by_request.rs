//! What was seen of the requests of one name, where a load sends several.

use crate::observation::keep_example;
use crate::{Distributions, Outcomes};
use serde::{Deserialize, Serialize};

/// What was seen of the requests of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ByRequest {
    /// The name.
    pub name: String,
    /// The share of all requests that it was to have, from 0 to 1.
    pub share: f64,
    /// What became of its requests. One that was never sent belongs to no name.
    pub outcomes: Outcomes,
    /// Its response times; the other distributions are empty.
    pub times: Distributions,
    /// Answers whose bodies were searched, for what is checked on a sample.
    pub searched: u64,
    /// The first wrong answers, in words.
    pub wrong_answers: Vec<String>,
}

impl ByRequest {
    /// Adds what was seen of the same name by another worker, or in another load.
    pub fn merge(&mut self, other: &Self) {
        self.outcomes += &other.outcomes;
        self.times.merge(&other.times);
        self.searched += other.searched;
        for text in &other.wrong_answers {
            keep_example(&mut self.wrong_answers, text.clone());
        }
    }
}

/// Adds `more` to `all`, by name.
pub fn merge(all: &mut Vec<ByRequest>, more: &[ByRequest]) {
    for one in more {
        match all.iter_mut().find(|known| known.name == one.name) {
            Some(known) => known.merge(one),
            None => all.push(one.clone()),
        }
    }
}
