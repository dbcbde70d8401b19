//! Runs: one execution of an experiment, a duel, a capacity search or a calibration.

use crate::design::Design;
use crate::published::Published;
use crate::service::Limits;
use crate::verdict::Terms;
use crate::word::words;
use crate::{Host, ServerLimits};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

words! {
    /// How a run ended.
    RunStatus {
        /// Under way, or left behind by a process that died.
        Running = "running",
        /// Every trial of its plan was done.
        Finished = "finished",
        /// The user stopped the run.
        Interrupted = "interrupted",
        /// The run could not continue because of an error.
        Failed = "failed",
    }
}

/// Facts about a run that are known when it begins.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunFacts {
    /// The experiment's name, by which the latest run is found; `duel`, `capacity`, `calibrate`.
    pub name: String,
    /// A title for people.
    pub title: String,
    /// When it began; kept to the microsecond.
    #[schemars(with = "String")]
    pub started: Timestamp,
    /// Seed of the run's random choices.
    pub seed: u64,
    /// Subject of the run.
    pub experiment: Subject,
    /// The host it ran on.
    pub host: Host,
    /// prony's version.
    pub prony_version: String,
    /// The commit prony was built from, if known.
    pub prony_commit: Option<String>,
    /// The command line, as typed.
    pub command_line: String,
}

/// Subject of a run: what it measures, on which servers, and by which terms.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Subject {
    /// Contract or requests that the servers had to answer, in words.
    pub contract: String,
    /// The label of the server that the others are compared with.
    pub baseline: String,
    /// Rounds that were planned.
    pub rounds: u32,
    /// CPUs of the server and of the generator, in words.
    pub placement: String,
    /// Limits of each server's processes.
    #[serde(skip_serializing_if = "ServerLimits::is_none")]
    pub limits: ServerLimits,
    /// The servers that took part, by their labels.
    pub servers: Vec<String>,
    /// The server behind every gateway.
    pub upstream: Option<String>,
    /// Weights of the loads in the composite, by their labels; empty: there is no composite.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub weights: BTreeMap<String, f64>,
    /// Figures that others have published for it.
    pub published: Option<Published>,
    /// By server: steps of the verification that its stack cannot pass, with the reason.
    pub expected_failures: BTreeMap<String, BTreeMap<String, String>>,
    /// By server: what its manifest says of it.
    pub manifests: BTreeMap<String, Value>,
    /// Limits that a capacity run keeps within.
    pub service: Option<Limits>,
    /// How a duel is to be decided.
    pub duel: Option<Terms>,
    /// How it measures, as soon as its pilot has shown that.
    pub design: Option<Design>,
}
