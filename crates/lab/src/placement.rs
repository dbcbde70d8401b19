//! Who runs on which CPUs.

use serde::{Deserialize, Serialize};
use std::io;

/// The CPUs of server and generator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The server's.
    pub server: Vec<usize>,
    /// The generator's; prony's other threads run there too, so that they never disturb the server.
    pub generator: Vec<usize>,
}

impl Placement {
    /// The lower half of the CPUs for the server, the upper half for the generator. With a single
    /// CPU they share it.
    pub fn split(cpus: &[usize]) -> Self {
        match cpus {
            [] | [_] => Self {
                server: cpus.to_vec(),
                generator: cpus.to_vec(),
            },
            _ => {
                let (server, generator) = cpus.split_at(cpus.len() / 2);
                Self {
                    server: server.to_vec(),
                    generator: generator.to_vec(),
                }
            }
        }
    }

    /// All CPUs that either of them uses, once each.
    pub fn all(&self) -> Vec<usize> {
        let mut all = [self.server.as_slice(), self.generator.as_slice()].concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Do server and generator share a CPU?
    pub fn co_located(&self) -> bool {
        self.server.iter().any(|cpu| self.generator.contains(cpu))
    }
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |cpus: &[usize]| -> String {
            cpus.iter()
                .map(usize::to_string)
                .collect::<Vec<_>>()
                .join(",")
        };
        if self.co_located() {
            write!(
                f,
                "server and generator share CPU {}",
                list(&self.generator)
            )
        } else {
            write!(
                f,
                "server on CPU {}, generator on CPU {}",
                list(&self.server),
                list(&self.generator)
            )
        }
    }
}

/// The CPUs that this process may use.
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: an all-zero cpu_set_t is valid, and its size is given.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) < 0 {
            return vec![0];
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
    fn halves() {
        let split = |cpus: &[usize]| Placement::split(cpus);
        assert!(split(&[3]).co_located());
        assert_eq!(
            split(&[0, 1]),
            Placement {
                server: vec![0],
                generator: vec![1]
            }
        );
        assert_eq!(
            split(&[0, 1, 2]),
            Placement {
                server: vec![0],
                generator: vec![1, 2]
            }
        );
        assert_eq!(
            split(&[1, 3, 5, 7]).to_string(),
            "server on CPU 1,3, generator on CPU 5,7"
        );
        assert!(split(&[3]).to_string().contains("share CPU 3"));
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
