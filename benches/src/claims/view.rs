//! How soon does `prony view` answer, with many trials in the notebook?
//!
//! The notebook is made up (`crates/pages/tests/pages/sample`): 50 runs, so that the first page counts all of their
//! trials. The view is the real command. A cold answer is the first that a view gives after its start
//! (the file is in the kernel's cache); warm ones follow. Times are from sending the question: to the
//! first byte of the answer, and to its last.

#[path = "../../../crates/pages/tests/pages/sample/mod.rs"]
mod sample;

use crate::child::Child;
use crate::error::{Error, Result};
use crate::place::Rig;
use crate::prony;
use crate::spread::Spread;
use crate::table::Table;
use prony_notebook::Notebook;
use sample::{Plan, write};
use serde::Serialize;
use std::fmt;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const RUNS: u32 = 50;
const SERVERS: u32 = 20;
/// Beyond this, something hangs.
const HANGS: Duration = Duration::from_secs(60);
/// Pages that are requested: a name, and the path.
const PAGES: [(&str, &str); 5] = [
    ("list of runs", "/"),
    ("a run", "/run/50"),
    ("its report", "/run/50/report"),
    ("histories", "/histories"),
    ("a history", "/history/1"),
];

/// Results of this benchmark.
#[derive(Debug, Serialize)]
pub struct View {
    trials: u32,
    pages: Vec<Page>,
}

/// Times of one page, in milliseconds, and its size.
#[derive(Debug, Serialize)]
struct Page {
    name: &'static str,
    bytes: usize,
    /// To the first byte of the first answer after a start.
    cold_first_byte: Spread,
    /// To its last byte.
    cold_whole: Spread,
    /// To the first byte of later ones.
    warm_first_byte: Spread,
    /// To their last byte.
    warm_whole: Spread,
}

/// An answer's times in milliseconds, and its size.
struct Timed {
    /// To the first byte.
    first_byte: f64,
    /// To the last byte, without the time for connecting.
    whole: f64,
    /// Size of head and body together.
    bytes: usize,
}

/// Requests each page of a view over about `trials` trials: `times` times cold, ten times as often warm.
///
/// # Errors
/// When the notebook cannot be written, or the view does not answer.
pub fn run(rig: Rig, trials: u32, times: u32) -> Result<View> {
    let folder = tempfile::tempdir().map_err(Error::io("no folder for a notebook"))?;
    let path = folder.path().join("notebook.db");
    let trials = fill(&path, trials).map_err(|error| Error::Unusable(error.to_string()))?;
    let mut pages = Vec::new();
    for (name, page) in PAGES {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let (mut view, at) = open(rig, &path)?;
            cold.push(ask(&at, page)?);
            for _ in 0..10 {
                warm.push(ask(&at, page)?);
            }
            view.terminate();
            view.end(HANGS)?;
        }
        let spread = |all: &[Timed], pick: fn(&Timed) -> f64| {
            let values = Spread::of(all.iter().map(pick));
            values.ok_or_else(|| Error::Unusable("no repetition".into()))
        };
        pages.push(Page {
            name,
            bytes: cold.first().map_or(0, |first| first.bytes),
            cold_first_byte: spread(&cold, |timed| timed.first_byte)?,
            cold_whole: spread(&cold, |timed| timed.whole)?,
            warm_first_byte: spread(&warm, |timed| timed.first_byte)?,
            warm_whole: spread(&warm, |timed| timed.whole)?,
        });
    }
    Ok(View { trials, pages })
}

/// Starts a view of a notebook, and tells its address.
///
/// # Errors
/// When it cannot be started.
fn open(rig: Rig, notebook: &Path) -> Result<(Child, String)> {
    let mut command = Command::new(prony::program()?);
    command
        .args(["view", "--listen", ":0", "--notebook"])
        .arg(notebook);
    let mut view = Child::start(command, rig.server)?;
    let url = view.line()?;
    let at = url.trim_start_matches("http://").trim_end_matches('/');
    Ok((view, at.to_owned()))
}

/// Makes a notebook of about `trials` trials, and tells how many it has.
///
/// # Errors
/// When it cannot be written.
fn fill(path: &Path, trials: u32) -> std::result::Result<u32, prony_notebook::NotebookError> {
    let mut plan = Plan::of(&[]);
    let server = |i: u32| (format!("server-{i}"), 1, 10_000.0 + 3_000.0 * f64::from(i));
    plan.servers = (0..SERVERS).map(server).collect();
    plan.rounds = trials.div_ceil(SERVERS * RUNS);
    plan.check = Some("others used 12.7% of the CPUs: measure on a quiet machine".into());
    // Neither is read for a list; fewer of them are made faster.
    (plan.samples, plan.windows) = (1_000, 10);
    let mut notebook = Notebook::open(path)?;
    for day in 1..=RUNS {
        plan.seed = day;
        plan.started += jiff::SignedDuration::from_hours(24);
        write(&mut notebook, &plan)?;
    }
    Ok(plan.rounds * SERVERS * RUNS)
}

/// Asks for a page on a connection of its own.
///
/// # Errors
/// When there is no answer, or another than a page.
fn ask(at: &str, page: &str) -> Result<Timed> {
    let io = |what: &'static str| Error::io(what);
    let mut stream = TcpStream::connect(at).map_err(io("cannot reach the view"))?;
    stream
        .set_read_timeout(Some(HANGS))
        .map_err(io("no time limit"))?;
    let question = format!("GET {page} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let begin = Instant::now();
    stream
        .write_all(question.as_bytes())
        .map_err(io("cannot ask the view"))?;
    let mut bytes = vec![0; 1];
    stream
        .read_exact(&mut bytes)
        .map_err(io("the view does not answer"))?;
    let first_byte = begin.elapsed();
    stream
        .read_to_end(&mut bytes)
        .map_err(io("the view does not answer to the end"))?;
    let whole = begin.elapsed();
    if !bytes.starts_with(b"HTTP/1.1 200 ") {
        let head = String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
        return Err(Error::process("prony view", format!("{page}: {head}")));
    }
    Ok(Timed {
        first_byte: first_byte.as_secs_f64() * 1e3,
        whole: whole.as_secs_f64() * 1e3,
        bytes: bytes.len(),
    })
}

impl fmt::Display for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} trials in {RUNS} runs; milliseconds: median (best–worst)\n",
            self.trials
        )?;
        let mut table = Table::new([
            "page",
            "kB",
            "cold: first byte",
            "cold: whole",
            "warm: first byte",
            "warm: whole",
        ]);
        for page in &self.pages {
            table.row([
                page.name.into(),
                format!("{:.0}", page.bytes as f64 / 1e3),
                page.cold_first_byte.show(1),
                page.cold_whole.show(1),
                page.warm_first_byte.show(1),
                page.warm_whole.show(1),
            ]);
        }
        write!(f, "{table}")
    }
}
