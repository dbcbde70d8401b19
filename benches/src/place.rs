//! Where things run: one CPU for the server and one for the client, and how many files a process
//! may open.

use std::fmt;
use std::io;

/// The two CPUs that are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rig {
    /// Servers run here.
    pub server: usize,
    /// Generators and other clients run here.
    pub client: usize,
}

impl Rig {
    /// The first two CPUs that this process may use; the same one twice where it has only one.
    ///
    /// # Errors
    /// When the kernel does not tell.
    pub fn here() -> io::Result<Self> {
        let cpus = allowed()?;
        match cpus[..] {
            [] => Err(io::Error::other("this process may use no CPU")),
            [only] => Ok(Self {
                server: only,
                client: only,
            }),
            [server, client, ..] => Ok(Self { server, client }),
        }
    }

    /// Whether server and client share one CPU.
    pub fn is_shared(self) -> bool {
        self.server == self.client
    }

    /// The CPUs, each once.
    pub fn cpus(self) -> Vec<usize> {
        let mut cpus = vec![self.server, self.client];
        cpus.dedup();
        cpus
    }
}

impl fmt::Display for Rig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_shared() {
            write!(
                f,
                "server and client SHARE CPU {}, the only one: rates and latencies say little here",
                self.server
            )
        } else {
            write!(
                f,
                "server on CPU {}, client on CPU {}",
                self.server, self.client
            )
        }
    }
}

fn allowed() -> io::Result<Vec<usize>> {
    // SAFETY: an all-zero cpu_set_t is the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the set is valid for writes of the size that is given.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the index is below the set's size.
    let has = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
    Ok((0..libc::CPU_SETSIZE as usize).filter(has).collect())
}

/// Pins the calling thread. Async-signal-safe, so that a child may do it before `exec`.
///
/// # Errors
/// When this process may not use the CPU.
pub fn pin(cpu: usize) -> io::Result<()> {
    // SAFETY: an all-zero cpu_set_t is the empty set; `CPU_SET` checks the index; the set is valid
    // for the call.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Raises this process's soft limit of open files to the hard limit, and gives that. Children
/// inherit it.
///
/// # Errors
/// When the kernel refuses.
pub fn raise_open_files() -> io::Result<u64> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the struct is valid for writes.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } < 0 {
        return Err(io::Error::last_os_error());
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: the struct is valid for reads.
    if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(limit.rlim_max)
}
