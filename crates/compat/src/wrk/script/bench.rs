//! A script without a server, for fuzzing.

use super::state::{Functions, state};
use super::thread::{StopFlag, Thread};
use crate::wrk::args::Parsed;

/// One thread of a script.
pub(in crate::wrk) struct Bench {
    thread: Thread,
}

impl Bench {
    /// # Panics
    /// When the script has a mistake.
    pub(in crate::wrk) fn new(source: &[u8]) -> Self {
        let line = ["-s", "a script", "http://127.0.0.1/"];
        let args = Parsed::from(line.map(Into::into).to_vec())
            .args
            .expect("a command line");
        let state = state(&args, Some(source)).expect("a script without a mistake");
        let thread = Thread::new(state).expect("a thread");
        Self { thread }
    }

    /// Sets a variable of the script.
    pub(in crate::wrk) fn set(&self, name: &str, value: &[u8]) {
        self.thread.set(name, value);
    }

    pub(in crate::wrk) fn functions(&self) -> Functions {
        self.thread.functions.clone()
    }

    pub(in crate::wrk) fn stop_flag(&self) -> StopFlag {
        self.thread.handle.stop_flag()
    }
}
