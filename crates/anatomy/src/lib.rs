//! Cost of one request to a server, part by part: samples of the server's stacks, and counts of what it asks of the
//! kernel.
//!
//! A [`Probe`] looks at a process tree for one measurement, in one of four ways ([`ProbeMode`]). It reads what procfs counts
//! anyway, which disturbs nothing, samples stacks, counts system calls, or records when threads wait. Counting costs
//! the server more than sampling does, and sampling more than nothing: they are never done in the same measurement.
//!
//! Samples and system calls come from `perf_event_open`, one event per CPU that the server may use rather than one per
//! thread. A server may have thousands of threads, and an event of a thread is stopped and started at each of its
//! context switches. That would cost most where there are most switches. Records of other processes on these CPUs are
//! dropped here, by process. Children that appear later are known from the kernel's records of forks.

mod counts;
mod family;
mod generated;
mod jvm;
mod perf;
mod probe;
mod records;
mod refused;
pub mod speed;
#[cfg(feature = "symbols")]
mod symbolizer;
#[cfg(not(feature = "symbols"))]
#[path = "symbolizer_absent.rs"]
mod symbolizer;
mod symbols;
mod tidy;
mod tracepoint;
mod waits;

pub use counts::{ProcessCounts, THREADS, TcpCounts};
pub use probe::{Probe, ProbeMode, Taken};
pub use refused::Refused;
pub use symbols::{Namer, RUNNABLE, forget};

/// A point on `CLOCK_MONOTONIC`, in nanoseconds.
pub type Nanos = u64;

/// CPU time between two samples, in nanoseconds: some 1,000 samples per second on a CPU. It is no multiple of a
/// round number, so that no load with a regular rhythm is met at the same point of each request.
pub const PERIOD: Nanos = 997_001;

/// The name of a system call of this machine, by its number.
#[must_use]
pub fn call_name(number: i64) -> String {
    let known = usize::try_from(number).ok().and_then(syscalls::Sysno::new);
    known.map_or_else(
        || format!("system call {number}"),
        |call| call.name().to_owned(),
    )
}
