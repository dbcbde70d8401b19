//! Observations of sessions, where users go through several steps.

use crate::{Distributions, Percentiles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reasons of failures that are kept apart.
const REASONS: usize = 32;

/// Observations of the sessions of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BySession {
    /// The name.
    pub name: String,
    /// The share of all sessions that it was to have, from 0 to 1.
    pub share: f64,
    /// Sessions whose last step was answered rightly in the measurement.
    pub completed: u64,
    /// Sessions that ended in the measurement at a step that failed.
    pub failed: u64,
    /// Why they failed: the step and what was wrong, with the number of sessions.
    pub failures: BTreeMap<String, u64>,
    /// Durations of completed sessions, as response times: from when the first request was due until the last was
    /// answered, pauses included. The other distributions are empty.
    pub times: Distributions,
}

impl BySession {
    /// A session has failed.
    pub fn fail(&mut self, why: String) {
        self.failed += 1;
        add(&mut self.failures, why, 1);
    }

    /// Adds what was seen of the same name by another worker, or in another load.
    pub fn merge(&mut self, other: &Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        for (why, n) in &other.failures {
            add(&mut self.failures, why.clone(), *n);
        }
        self.times.merge(&other.times);
    }
}

fn add(all: &mut BTreeMap<String, u64>, why: String, n: u64) {
    let why = match all.len() < REASONS || all.contains_key(&why) {
        true => why,
        false => "other reasons".to_owned(),
    };
    *all.entry(why).or_default() += n;
}

/// Adds `more` to `all`, by name.
pub fn merge(all: &mut Vec<BySession>, more: &[BySession]) {
    for one in more {
        match all.iter_mut().find(|known| known.name == one.name) {
            Some(known) => known.merge(one),
            None => all.push(one.clone()),
        }
    }
}

/// The sessions of one name, as reports show them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionReport {
    /// The name.
    pub name: String,
    /// The share of all sessions that it was to have, from 0 to 1.
    pub share_asked: f64,
    /// Sessions whose last step was answered rightly in the measurement.
    pub completed: u64,
    /// Sessions that ended in the measurement at a step that failed.
    pub failed: u64,
    /// Why they failed: the step and what was wrong, with the number of sessions.
    pub failures: BTreeMap<String, u64>,
    /// From when the first request was due until the last was answered, pauses included, of those that were
    /// completed.
    pub duration: Percentiles,
}

impl SessionReport {
    /// Returns the report of each name.
    #[must_use]
    pub fn all(all: &[BySession]) -> Vec<Self> {
        let of = |one: &BySession| Self {
            name: one.name.clone(),
            share_asked: one.share,
            completed: one.completed,
            failed: one.failed,
            failures: one.failures.clone(),
            duration: Percentiles::of(&one.times.response, one.failed)
                .with_intervals(&one.times.response, &one.times.effective),
        };
        all.iter().map(of).collect()
    }

    /// Sessions completed per second, of a measurement of this length; none of one without length.
    #[must_use]
    pub fn per_second(&self, seconds: f64) -> Option<f64> {
        (seconds > 0.0).then(|| self.completed as f64 / seconds)
    }
}
