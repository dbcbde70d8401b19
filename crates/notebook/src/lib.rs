//! The notebook: every run, trial and window in one SQLite file.
//!
//! A run is begun before its first trial, each trial is written in one transaction before the next
//! begins, and the run is finished last. Whatever way a process ends, at most the trial under way
//! is lost, and a run that its process did not finish can be told from one still going on
//! ([`StoredRun::is_abandoned`]). Several processes may use one file at once.
//!
//! It keeps the types of [`prony_record`]: their main figures as columns, for queries, and the rest as
//! JSON beside them; `src/schema` explains both.
//!
//! - [`open`]: the file: where it is, opening it, bringing an older one up to date
//! - [`run`], [`trial`]: what goes in and what comes out
//! - [`overview`]: many runs at a glance
//! - [`past`]: what the same server gave under the same load, in all runs
//! - [`import`]: runs that were measured elsewhere
//! - [`published`]: what others have published, put in by name
//! - [`process`]: is the process that wrote a run still there?

#![forbid(unsafe_code)]

mod anatomy;
mod column;
pub mod error;
mod histogram;
pub mod import;
mod migrate;
pub mod open;
pub mod overview;
pub mod past;
pub mod process;
pub mod published;
pub mod run;
pub mod trial;
mod window;

pub use error::NotebookError;
pub use import::{Import, Origin};
pub use open::{Notebook, default_path};
pub use overview::{CheckCount, Overview, TrialLine, Wanted};
pub use past::{PastRun, PastTrial};
pub use process::ProcessKey;
pub use published::StoredFigures;
pub use run::{RunId, StoredRun, UnreadableRun};
pub use trial::{StoredTrial, TrialId};
