//! Who runs on which CPUs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::io;

/// How CPUs are shared out between server and generator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    /// Half of the CPUs for each.
    #[default]
    Split,
    /// All CPUs for both.
    Shared,
}

impl Sharing {
    /// The placement on these CPUs, with or without an upstream behind the server.
    pub fn of(self, cpus: &[usize], upstream: bool) -> Placement {
        match (self, upstream) {
            (Self::Split, false) => Placement::split(cpus),
            (Self::Split, true) => Placement::split(cpus).with_upstream(),
            (Self::Shared, _) => Placement::shared(cpus),
        }
    }
}

/// The CPUs of server, generator and, behind a gateway, upstream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The server's.
    pub server: Vec<usize>,
    /// The generator's; prony's other threads run there too, so that they never disturb the server.
    pub generator: Vec<usize>,
    /// The upstream's; empty when there is none.
    pub upstream: Vec<usize>,
}

impl Placement {
    /// The lower half of the CPUs for the server, the upper half for the generator. With a single
    /// CPU they share it.
    pub fn split(cpus: &[usize]) -> Self {
        match cpus {
            [] | [_] => Self::shared(cpus),
            _ => {
                let (server, generator) = cpus.split_at(cpus.len() / 2);
                Self {
                    server: server.to_vec(),
                    generator: generator.to_vec(),
                    upstream: Vec::new(),
                }
            }
        }
    }

    /// With an upstream on a half of the generator's CPUs; a single one they share, so that the
    /// gateway, which is what is measured, has its own.
    fn with_upstream(mut self) -> Self {
        let half = self.generator.len() / 2;
        self.upstream = match half {
            0 => self.generator.clone(),
            _ => self.generator.drain(..half).collect(),
        };
        self
    }

    /// All CPUs for both: for servers that are to use every CPU there is.
    pub fn shared(cpus: &[usize]) -> Self {
        Self {
            server: cpus.to_vec(),
            generator: cpus.to_vec(),
            upstream: cpus.to_vec(),
        }
    }

    /// The same with only the first CPUs of the server's for it, as on a smaller machine.
    ///
    /// # Errors
    /// How many there are, when that is fewer.
    pub fn with_server_cpus(mut self, cpus: usize) -> Result<Self, usize> {
        if cpus > self.server.len() {
            return Err(self.server.len());
        }
        self.server.truncate(cpus);
        Ok(self)
    }

    /// The CPUs that generator threads are pinned to, one each. Those that share their CPUs with a
    /// server are not pinned: the kernel may move them out of its way.
    pub fn pinned(&self) -> &[usize] {
        if self.share(&self.server) {
            &[]
        } else {
            &self.generator
        }
    }

    /// The CPUs for what prony does beside measuring while the given number of generator threads is pinned:
    /// those of the generator that none of them has, or all of the generator's when none is left.
    pub fn spare(&self, threads: u32) -> &[usize] {
        match self.generator.get(threads as usize..) {
            Some(rest) if !rest.is_empty() && !self.share(&self.server) => rest,
            _ => &self.generator,
        }
    }

    /// All CPUs that either of them uses, once each.
    pub fn all(&self) -> Vec<usize> {
        let mut all = [&self.server[..], &self.generator, &self.upstream].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Does the generator share a CPU with the server or its upstream?
    pub fn co_located(&self) -> bool {
        self.share(&self.server) || self.share(&self.upstream)
    }

    fn share(&self, others: &[usize]) -> bool {
        others.iter().any(|cpu| self.generator.contains(cpu))
    }
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let generator = list(&self.generator);
        if self.share(&self.server) {
            return write!(f, "server and generator share CPU {generator}");
        }
        write!(f, "server on CPU {}, ", list(&self.server))?;
        match self.upstream.as_slice() {
            [] => write!(f, "generator on CPU {generator}"),
            upstream if self.share(upstream) => {
                write!(f, "upstream and generator share CPU {generator}")
            }
            upstream => write!(
                f,
                "upstream on CPU {}, generator on CPU {generator}",
                list(upstream)
            ),
        }
    }
}

/// The CPUs that this process may use.
pub fn allowed_cpus() -> Vec<usize> {
    match allowed_cpus_of(0) {
        cpus if cpus.is_empty() => vec![0],
        cpus => cpus,
    }
}

/// The CPUs that this thread may use, 0 being the calling one; none when it is gone.
pub(crate) fn allowed_cpus_of(thread: libc::pid_t) -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is valid, and its size is given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(thread, size_of::<libc::cpu_set_t>(), &raw mut set) < 0 {
            return Vec::new();
        }
        set
    };
    // SAFETY: CPU_ISSET reads inside the set for every index below CPU_SETSIZE.
    (0..libc::CPU_SETSIZE as usize)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &set) })
        .collect()
}

/// Binds the calling thread, and what it starts from here on, to these CPUs.
///
/// # Errors
/// When one of them does not exist or is not allowed.
pub fn bind(cpus: &[usize]) -> io::Result<()> {
    // SAFETY: an all-zero cpu_set_t is valid; CPU_SET checks its index; the size is given.
    let result = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        for &cpu in cpus {
            libc::CPU_SET(cpu, &mut set);
        }
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set)
    };
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// CPUs as a list: `0,2,3`.
#[must_use]
pub fn list(cpus: &[usize]) -> String {
    let each: Vec<String> = cpus.iter().map(usize::to_string).collect();
    each.join(",")
}

/// A list of CPUs as people write it: `0,2-3`.
///
/// # Errors
/// When it is not such a list.
pub fn parse_cpus(text: &str) -> Result<Vec<usize>, String> {
    let wrong = || format!("{text:?} is not a list of CPUs: expected something like 0,2-3");
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (
            first.trim().parse().map_err(|_| wrong())?,
            last.trim().parse().map_err(|_| wrong())?,
        );
        if first > last || last >= libc::CPU_SETSIZE as usize {
            return Err(wrong());
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_spare() {
        let split = Placement::split(&[0, 1, 2, 3, 4, 5]);
        assert_eq!(split.spare(1), [4, 5]);
        assert_eq!(split.spare(2), [5]);
        for threads in [3, 4] {
            assert_eq!(split.spare(threads), [3, 4, 5]);
        }
        assert_eq!(Placement::split(&[0, 1]).spare(1), [1]);
        assert_eq!(Placement::shared(&[0, 1]).spare(1), [0, 1]);
    }

    #[test]
    fn halves() {
        let split = |cpus: &[usize]| Placement::split(cpus);
        assert!(split(&[3]).co_located());
        assert_eq!(
            split(&[0, 1]),
            Placement {
                server: vec![0],
                generator: vec![1],
                upstream: vec![],
            }
        );
        assert_eq!(
            split(&[0, 1, 2]),
            Placement {
                server: vec![0],
                generator: vec![1, 2],
                upstream: vec![],
            }
        );
        assert_eq!(
            split(&[1, 3, 5, 7]).to_string(),
            "server on CPU 1,3, generator on CPU 5,7"
        );
        assert!(split(&[3]).to_string().contains("share CPU 3"));
        assert_eq!(split(&[0, 1]).pinned(), [1]);
        let shared = Sharing::Shared.of(&[0, 1], false);
        assert_eq!(
            (shared.server.len(), shared.pinned(), shared.co_located()),
            (2, &[][..], true)
        );
    }

    #[test]
    fn an_upstream_takes_from_the_generator() {
        let on = |cpus: &[usize]| Sharing::Split.of(cpus, true);
        let two = on(&[0, 1]);
        assert!(two.co_located() && two.pinned() == [1]);
        assert_eq!(
            two.to_string(),
            "server on CPU 0, upstream and generator share CPU 1"
        );
        let four = on(&[0, 1, 2, 3]);
        assert!(!four.co_located());
        assert_eq!(
            four.to_string(),
            "server on CPU 0,1, upstream on CPU 2, generator on CPU 3"
        );
        assert_eq!(four.all(), [0, 1, 2, 3]);
    }

    #[test]
    fn lists_of_cpus() {
        assert_eq!(parse_cpus("0,2-4, 2"), Ok(vec![0, 2, 3, 4]));
        for text in ["", "a", "3-1", "0-99999", "1,,2"] {
            assert!(parse_cpus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn binding_is_seen() {
        let all = allowed_cpus();
        assert!(!all.is_empty());
        std::thread::spawn(move || {
            bind(&all[..1]).unwrap();
            assert_eq!(allowed_cpus(), all[..1]);
        })
        .join()
        .unwrap();
    }
}
