//! The clock that two processes of one host can both read.

/// CLOCK_MONOTONIC in nanoseconds: a load generator on the same host sees the same time, which
/// `std::time::Instant` keeps to itself.
pub(crate) fn monotonic_ns() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a timespec of our own, alive during the call.
    let result = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    debug_assert_eq!(result, 0, "Linux always has CLOCK_MONOTONIC");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
