//! File descriptors: every connection needs one.

use std::io;

/// More descriptors are needed than this process may have.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{needed} file descriptors are needed and {limit} are allowed: raise the limit (ulimit -n, or \
     LimitNOFILE= of the service), or use fewer connections"
)]
pub struct TooFewDescriptors {
    /// How many are needed.
    pub needed: u64,
    /// The most that are allowed.
    pub limit: u64,
}

/// Besides connections: the program's own files, with room to spare.
const OWN: u64 = 64;

/// Raises the soft limit to the hard one, and tells whether that is enough for `connections`.
/// Children inherit the raised limit.
///
/// # Errors
/// When it is not enough.
pub fn reserve(connections: u64) -> Result<(), TooFewDescriptors> {
    let needed = connections.saturating_add(OWN);
    let limit = raise().unwrap_or(u64::MAX);
    if limit < needed {
        Err(TooFewDescriptors { needed, limit })
    } else {
        Ok(())
    }
}

/// The most connections that this process may have, after raising the soft limit to the hard one.
pub fn most() -> u64 {
    raise().unwrap_or(u64::MAX).saturating_sub(OWN).max(1)
}

/// The most connections for which there are descriptors beside what this process has open now, with
/// `threads` workers, after raising the soft limit to the hard one. Closer to the limit than [`most`], for
/// commands that measure with what a low limit leaves: whatever else is opened later can be in its way.
pub fn room(threads: u32) -> u64 {
    let limit = raise().unwrap_or(u64::MAX);
    limit.saturating_sub(beside(threads, limit))
}

/// Raises the soft limit to the hard one, and tells whether there is [`room`] for `connections`.
///
/// # Errors
/// When there is not.
pub fn reserve_closely(connections: u64, threads: u32) -> Result<(), TooFewDescriptors> {
    let limit = raise().unwrap_or(u64::MAX);
    let needed = connections.saturating_add(beside(threads, limit));
    if limit < needed {
        Err(TooFewDescriptors { needed, limit })
    } else {
        Ok(())
    }
}

/// Descriptors open now with numbers below `limit`, plus three for each worker: its transport, its timer, and a file
/// that it reads for a moment.
fn beside(threads: u32, limit: u64) -> u64 {
    open(limit).unwrap_or(OWN) + 3 * u64::from(threads)
}

/// How many descriptors this process has open with numbers below `limit`. The limit is one of numbers: those
/// that were opened under a higher one do not count.
fn open(limit: u64) -> io::Result<u64> {
    let mut open = 0_u64;
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let number = entry?
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        open += u64::from(number.is_some_and(|number: u64| number < limit));
    }
    // One of them is the listing's own.
    Ok(open.saturating_sub(1))
}

/// The limit after raising it as far as it goes.
fn raise() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is valid for both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) < 0 {
            return Err(io::Error::last_os_error());
        }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            if libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) < 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_are_always_there_and_too_many_never() {
        assert_eq!(reserve(10), Ok(()));
        assert_eq!(reserve(most()), Ok(()));
        let error = reserve(1 << 40).unwrap_err();
        assert_eq!(error.needed, (1 << 40) + OWN);
        assert!(error.to_string().contains("ulimit -n"));
    }

    #[test]
    fn what_is_open_takes_room() {
        // Other tests of this process open and close files meanwhile, but not as many as these.
        let before = open(u64::MAX).unwrap();
        let held: Vec<_> = (0..200)
            .map(|_| std::fs::File::open("/dev/null").unwrap())
            .collect();
        assert!(open(u64::MAX).unwrap() >= before.saturating_sub(100) + 200);
        drop(held);
        assert_eq!(open(0).unwrap(), 0);
        assert!(room(1) > room(100));
        assert_eq!(reserve_closely(1, 1), Ok(()));
        assert!(reserve_closely(1 << 40, 1).is_err());
    }
}
