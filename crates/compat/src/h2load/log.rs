//! The file of `--log-file`: a line for each request.

use prony_engine::{Nanos, TraceSample, clock};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A file that is there before the load, so that one that cannot be written is told at once.
pub(super) struct Log {
    file: File,
}

impl Log {
    /// # Errors
    /// What the original prints.
    pub(super) fn create(path: &Path) -> Result<Self, String> {
        let file = File::create(path);
        let says = |_| format!("--log-file: Could not open file {}", path.display());
        Ok(Self {
            file: file.map_err(says)?,
        })
    }

    /// Writes the requests, in the order in which they ended.
    pub(super) fn write(mut self, trace: &[TraceSample]) -> io::Result<()> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let epoch = since.unwrap_or_default().as_micros() as u64;
        let text = lines(trace, (clock::now(), epoch));
        self.file.write_all(text.as_bytes())
    }
}

/// When each began (in microseconds since the epoch), its status (-1 without an answer), and how many microseconds it
/// took. `now` is the same moment on the engine's clock, in nanoseconds, and since the epoch, in microseconds.
fn lines(trace: &[TraceSample], now: (Nanos, u64)) -> String {
    let mut ended: Vec<&TraceSample> = trace.iter().collect();
    ended.sort_unstable_by_key(|sample| sample.done);
    let mut out = String::new();
    for sample in ended {
        let ago = now.0.saturating_sub(sample.due) / 1_000;
        let begun = now.1.saturating_sub(ago);
        let took = sample.done.saturating_sub(sample.due) / 1_000;
        let status = match sample.status {
            0 => -1,
            status => i32::from(status),
        };
        let _ = writeln!(out, "{begun}\t{status}\t{took}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_in_the_order_of_their_ends() {
        let sample = |due, done, status| TraceSample {
            due,
            done,
            status,
            ..TraceSample::default()
        };
        let trace = [
            sample(1_000_000, 9_000_000, 0),
            sample(2_000_000, 2_500_999, 404),
        ];
        assert_eq!(
            lines(&trace, (10_000_000, 1_700_000_000_000_000)),
            "1699999999992000\t404\t500\n1699999999991000\t-1\t8000\n"
        );
    }
}
