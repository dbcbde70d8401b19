//! Processes that belong to the server: everything below its root, and what these start.

use std::collections::BTreeSet;
use std::fs;

/// Processes below a root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Family {
    pids: BTreeSet<u32>,
}

impl Family {
    /// Everything below this process now. The root itself belongs to it unless it is a supervisor.
    pub(crate) fn below(root: u32, with_root: bool) -> Self {
        let mut family = Self {
            pids: BTreeSet::new(),
        };
        if with_root {
            family.pids.insert(root);
        }
        family.add_below(root);
        family
    }

    fn add_below(&mut self, pid: u32) {
        let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
            return;
        };
        for thread in threads.flatten() {
            let text = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
            for child in text
                .split_ascii_whitespace()
                .filter_map(|id| id.parse().ok())
            {
                if self.pids.insert(child) {
                    self.add_below(child);
                }
            }
        }
    }

    pub(crate) fn has(&self, pid: u32) -> bool {
        self.pids.contains(&pid)
    }

    /// A process has started another (or a thread, which changes nothing).
    pub(crate) fn forked(&mut self, pid: u32, parent: u32) {
        if self.has(parent) {
            self.pids.insert(pid);
        }
    }

    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> + '_ {
        self.pids.iter().copied()
    }
}

#[cfg(test)]
impl Family {
    /// Family of these processes.
    pub(crate) fn of<const N: usize>(pids: [u32; N]) -> Self {
        Self { pids: pids.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_the_family_belong_to_it() {
        let mut family = Family::of([10]);
        family.forked(11, 10);
        family.forked(12, 11);
        family.forked(21, 20);
        assert_eq!(family.pids().collect::<Vec<_>>(), [10, 11, 12]);
    }

    #[test]
    fn this_process_is_below_its_parent() {
        let parent = std::os::unix::process::parent_id();
        let family = Family::below(parent, false);
        assert!(family.has(std::process::id()) && !family.has(parent));
        assert!(Family::below(parent, true).has(parent));
    }
}
