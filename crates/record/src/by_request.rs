//! Observations of requests by their name, where a load sends several kinds.

use crate::encoded::Encoded;
use crate::observation::keep_example;
use crate::{Distributions, Outcomes, Percentiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Observations of the requests of one name.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ByRequest {
    /// The name.
    pub name: String,
    /// The share of all requests that it was to have, from 0 to 1.
    pub share: f64,
    /// Outcomes of the requests of this name. A request that was never sent belongs to no name.
    pub outcomes: Outcomes,
    /// Response times of the requests of this name; the other distributions are empty.
    pub times: Distributions,
    /// Answers whose bodies were searched, for what is checked on a sample.
    pub searched: u64,
    /// By content coding, where bodies are decoded: what those that were searched had.
    #[serde(default)]
    pub encodings: BTreeMap<String, Encoded>,
    /// The first wrong answers, in words.
    pub wrong_answers: Vec<String>,
}

impl ByRequest {
    /// Adds what was seen of the same name by another worker, or in another load.
    pub fn merge(&mut self, other: &Self) {
        self.outcomes += &other.outcomes;
        self.times.merge(&other.times);
        self.searched += other.searched;
        for (name, encoded) in &other.encodings {
            encoded.count(name, &mut self.encodings);
        }
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

/// The requests of one name, as reports show them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestReport {
    /// The name.
    pub name: String,
    /// The share of all requests that it was to have, from 0 to 1.
    pub share_asked: f64,
    /// The share that it had of those that ended in the measurement; null when none ended.
    pub share: Option<f64>,
    /// Outcomes of the requests of this name. A request that was never sent belongs to no name.
    pub outcomes: Outcomes,
    /// Response times: from when a request was due until it was answered.
    pub response: Percentiles,
    /// Answers whose bodies were searched, where the file expects a text, a pattern or JSON. What else it
    /// expects is checked in every answer.
    pub searched: u64,
    /// By content coding, where bodies were decoded (`--compressed`): what those that were searched had. `identity` is
    /// none; several codings one on the other are separated by commas, in the order in which they were applied.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub encodings: BTreeMap<String, Encoded>,
    /// The first wrong answers, in words.
    pub wrong_answers: Vec<String>,
}

impl RequestReport {
    /// Returns the report of each name.
    #[must_use]
    pub fn all(all: &[ByRequest]) -> Vec<Self> {
        all.iter().map(|one| Self::of(one, all)).collect()
    }

    /// Returns the report of one name; its share is that of the requests of `all` names.
    #[must_use]
    pub fn of(one: &ByRequest, all: &[ByRequest]) -> Self {
        let ended: u64 = all.iter().map(|one| one.outcomes.finished()).sum();
        let share = one.outcomes.finished() as f64 / ended as f64;
        let times = &one.times;
        Self {
            name: one.name.clone(),
            share_asked: one.share,
            share: (ended > 0).then_some(share),
            outcomes: one.outcomes.clone(),
            response: Percentiles::of(&times.response, one.outcomes.untimed())
                .with_intervals(&times.response, &times.effective),
            searched: one.searched,
            encodings: one.encodings.clone(),
            wrong_answers: one.wrong_answers.clone(),
        }
    }
}
