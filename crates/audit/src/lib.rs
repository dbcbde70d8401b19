//! Finds errors of a benchmark from its text alone.
//!
//! A text, whether the output of a load generator or a page that mixes sentences, command lines,
//! tables and outputs, is read into a [`model::Document`]; checks look at documents and raise
//! [`Remark`]s with the lines they are about.
//!
//! - `text`: lines, numbers, JSON
//! - [`model`]: what is found in a text
//! - `tool`: readers of what load generators print, one file for each
//! - `table`: readers of Markdown, HTML, CSV, tables drawn with lines, and lists
//! - `read`: a whole text, with headings, labels and command lines
//! - `figures`: the rates of all texts, by system and load
//! - `check`: the checks, one file each, with their thresholds
//! - [`import()`]: the figures, to be kept and shown beside measurements
//!
//! ```
//! use prony_audit::{CheckId, audit};
//!
//! let text = "Running 10s test @ http://10.0.0.2/\n  \
//!     2 threads and 64 connections\n  \
//!     Thread Stats   Avg      Stdev     Max   +/- Stdev\n    \
//!     Latency    30.00ms   10.00ms 300.00ms   97.00%\n    \
//!     Req/Sec    16.00k     1.00k   17.00k    90.00%\n  \
//!     320000 requests in 10.00s, 50.00MB read\n\
//!     Requests/sec:  32000.00\nTransfer/sec:      5.00MB\n";
//! let audit = audit(&[("wrk.txt".to_owned(), text.to_owned())]);
//! // 32,000 requests per second of 30 ms each are 960 at a time, of 64 connections.
//! assert!(audit.remarks.iter().any(|remark| remark.finding.name == CheckId::LittlesLaw));
//! assert!(audit.serious());
//! ```

#![forbid(unsafe_code)]

mod address;
mod audit;
mod axis;
mod check;
mod command;
mod figures;
pub mod import;
pub mod load;
pub mod model;
mod names;
mod quantity;
mod read;
mod table;
mod tabled;
mod text;
mod tool;
mod words;

pub use audit::{Audit, ReadFile, Remark, Unread, audit};
pub use check::{EXPLANATIONS, example};
pub use command::Command;
pub use import::{Figures, import};
pub use read::read;
pub use text::number::Printed;

#[doc(inline)]
pub use prony_checks::{CheckId, Explanation, Finding, Severity};
