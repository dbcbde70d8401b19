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
}
