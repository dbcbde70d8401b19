//! How long does the report of a long run take, and how large is it?
//!
//! The run is made up (`prony_pages::sample`) and in a notebook on disk: 20 servers, 50 rounds, 30
//! windows and 5,000 answers a trial. What is timed is everything that `prony report --html` does but
//! the start of the process: opening the notebook, reading, drawing, and writing the file.

use crate::error::{Error, Result};
use prony_notebook::Notebook;
use prony_pages::material::Material;
use prony_pages::page::html;
use prony_pages::sample::{Plan, write};
use serde::Serialize;
use std::fmt;
use std::fs;
use std::time::Instant;

const SERVERS: u32 = 20;

/// What was seen.
#[derive(Debug, Serialize)]
pub struct Pages {
    trials: u32,
    /// The file's size.
    bytes: usize,
    /// Of every repetition, in order.
    seconds: Vec<f64>,
}

/// Writes the report of a run with about `trials` trials, `times` times.
///
/// # Errors
/// When the notebook or the file cannot be written.
pub fn run(trials: u32, times: u32) -> Result<Pages> {
    let unusable = |error: &dyn fmt::Display| Error::Unusable(error.to_string());
    let folder = tempfile::tempdir().map_err(Error::io("no folder for a notebook"))?;
    let path = folder.path().join("notebook.db");
    let mut plan = Plan::of(&[]);
    let server = |i: u32| (format!("server-{i}"), 1, 10_000.0 + 3_000.0 * f64::from(i));
    plan.servers = (0..SERVERS).map(server).collect();
    plan.rounds = trials.div_ceil(SERVERS);
    let mut notebook = Notebook::open(&path).map_err(|error| unusable(&error))?;
    let id = write(&mut notebook, &plan).map_err(|error| unusable(&error))?;
    drop(notebook);
    let page = folder.path().join("report.html");
    let mut seconds = Vec::new();
    let mut bytes = 0;
    for _ in 0..times {
        let begin = Instant::now();
        let notebook = Notebook::open(&path).map_err(|error| unusable(&error))?;
        let run = notebook.run(id).map_err(|error| unusable(&error))?;
        let material = Material::read(&notebook, &run).map_err(|error| unusable(&error))?;
        let text = html(&material).map_err(|error| unusable(&error))?;
        fs::write(&page, &text).map_err(Error::io("cannot write a page"))?;
        seconds.push(begin.elapsed().as_secs_f64());
        bytes = text.len();
    }
    Ok(Pages {
        trials: plan.rounds * SERVERS,
        bytes,
        seconds,
    })
}

impl fmt::Display for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.seconds.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or(f64::NAN);
        writeln!(
            f,
            "a report of {} trials: {:.2} s (median of {}; {:.2} to {:.2}), {:.2} MB",
            self.trials,
            at(sorted.len() / 2),
            sorted.len(),
            at(0),
            at(sorted.len().saturating_sub(1)),
            self.bytes as f64 / 1e6
        )
    }
}
