//! Where CPUs are in the machine: which of them are threads of one core, and which cores share a cache, a
//! package and a NUMA node.
//!
//! Everything is read from `Files`, so that tests read what other machines have below `/sys` and `/proc`.
//! Virtual machines and containers leave files out. What they do not say is unknown, and then each CPU is a
//! core of its own, and all are on one node.

use crate::placement::{allowed_cpus, parse_cpus};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The files of a machine, by their paths from its root: `sys/devices/system/cpu/online`.
trait Files {
    /// Text of a file; empty when there is none.
    fn text(&self, path: &str) -> String;

    /// The names in a folder.
    fn names(&self, folder: &str) -> Vec<String>;

    /// A list of CPUs as the kernel writes them; none when there is no such file, or nothing in it.
    fn cpus(&self, path: &str) -> Vec<usize> {
        parse_cpus(self.text(path).trim()).unwrap_or_default()
    }

    /// A number.
    fn number(&self, path: &str) -> Option<usize> {
        self.text(path).trim().parse().ok()
    }

    /// Numbers in the names that are `word` and a number, in ascending order.
    fn numbered(&self, folder: &str, word: &str) -> Vec<usize> {
        let names = self.names(folder).into_iter();
        let mut found: Vec<usize> = names
            .filter_map(|name| name.strip_prefix(word)?.parse().ok())
            .collect();
        found.sort_unstable();
        found
    }
}

/// Files below a folder.
impl Files for Path {
    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.join(path)).unwrap_or_default()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.join(folder)).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        names.filter_map(|name| name.into_string().ok()).collect()
    }
}

/// The folder of what the machine is made of.
const SYSTEM: &str = "sys/devices/system";

/// The two kinds of cores of machines that have two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoreKind {
    /// The fastest ones.
    Performance,
    /// All others.
    Efficiency,
}

/// A CPU as the kernel counts them: one thread of a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Number of the CPU.
    pub number: usize,
    /// The first of the CPUs that are threads of its core; its own number when that is not known.
    pub core: usize,
    /// Number of its package; none when it is not known.
    pub package: Option<usize>,
    /// Number of its NUMA node; none when it is not known.
    pub node: Option<usize>,
    /// The first of the CPUs that share its last cache.
    pub cache: Option<usize>,
    /// The kind of its core, if the machine has more than one.
    pub kind: Option<CoreKind>,
    /// The kernel moves nothing to it by itself (`isolcpus=`): threads stay on the one where they are.
    pub isolated: bool,
}

impl Cpu {
    /// A CPU of which nothing is known.
    fn unknown(number: usize) -> Self {
        Self {
            number,
            core: number,
            package: None,
            node: None,
            cache: None,
            kind: None,
            isolated: false,
        }
    }
}

/// The CPUs that may be used, each once and by their numbers, and for how much of the time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topology {
    /// Each of them.
    cpus: Vec<Cpu>,
    /// How much of them all a control group grants, in thousandths of a CPU; none: all of their time.
    quota: Option<u64>,
    /// Somebody named these CPUs: all of them are to be used.
    named: bool,
}

impl Topology {
    /// The CPUs that this process may use.
    pub fn here() -> Self {
        Self::read(Path::new("/"), &allowed_cpus())
    }

    /// CPUs of which nothing is known but their numbers.
    pub fn unknown(cpus: &[usize]) -> Self {
        let numbers: BTreeSet<usize> = cpus.iter().copied().collect();
        Self {
            cpus: numbers.into_iter().map(Cpu::unknown).collect(),
            ..Self::default()
        }
    }

    /// Reads, from `sys` and `proc` below `root`, those of the `allowed` CPUs that are online and in the control
    /// group's set. A limit that would leave none of them is ignored.
    pub fn read(root: &Path, allowed: &[usize]) -> Self {
        Self::of(root, allowed)
    }

    fn of(files: &(impl Files + ?Sized), allowed: &[usize]) -> Self {
        let groups = Groups::read(files);
        let mut usable = allowed.to_vec();
        // The kernel leaves the others out of what it allows; where it seems not to, its word on what is
        // allowed is better than a file.
        let online = files.cpus(&format!("{SYSTEM}/cpu/online"));
        for limit in [online, groups.cpus(files)] {
            let within = |cpu: &usize| limit.contains(cpu);
            if usable.iter().any(within) {
                usable.retain(within);
            }
        }
        let nodes = nodes(files);
        let isolated = files.cpus(&format!("{SYSTEM}/cpu/isolated"));
        let kinds = kinds(files, &usable);
        let mut all = Self::unknown(&usable);
        for cpu in &mut all.cpus {
            let number = cpu.number;
            let folder = format!("{SYSTEM}/cpu/cpu{number}");
            let threads = ["core_cpus_list", "thread_siblings_list"]
                .map(|name| files.cpus(&format!("{folder}/topology/{name}")))
                .into_iter()
                .find(|threads| threads.contains(&number));
            *cpu = Cpu {
                number,
                core: threads.map_or(number, |threads| threads[0]),
                // Some kernels say -1 where it is not known.
                package: files.number(&format!("{folder}/topology/physical_package_id")),
                node: nodes.get(&number).copied(),
                cache: last_cache(files, number),
                kind: kinds.get(&number).copied(),
                isolated: isolated.contains(&number),
            };
        }
        Self {
            quota: groups.quota(files),
            ..all
        }
    }

    /// Only these CPUs, which somebody has named. Of those that are not here nothing is known.
    #[must_use]
    pub fn only(&self, cpus: &[usize]) -> Self {
        let mut named = Self::unknown(cpus);
        for cpu in &mut named.cpus {
            if let Some(known) = self.get(cpu.number) {
                *cpu = known.clone();
            }
        }
        Self {
            quota: self.quota,
            named: true,
            ..named
        }
    }

    /// Has somebody named these CPUs, so that all of them are to be used?
    pub fn named(&self) -> bool {
        self.named
    }

    /// The numbers of all CPUs.
    pub fn numbers(&self) -> Vec<usize> {
        self.cpus.iter().map(|cpu| cpu.number).collect()
    }

    /// All CPUs.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// How many CPUs' time the control group grants them together, if it grants less than all.
    pub fn quota(&self) -> Option<f64> {
        let whole = self.cpus.len() as u64 * 1000;
        self.quota
            .filter(|quota| *quota < whole)
            .map(|quota| quota as f64 / 1000.0)
    }

    /// The NUMA nodes of these CPUs.
    pub fn nodes(&self, cpus: &[usize]) -> BTreeSet<usize> {
        let known = cpus.iter().filter_map(|cpu| self.get(*cpu));
        known.filter_map(|cpu| cpu.node).collect()
    }

    /// A CPU by its number.
    pub fn get(&self, number: usize) -> Option<&Cpu> {
        let at = self.cpus.binary_search_by_key(&number, |cpu| cpu.number);
        at.ok().map(|at| &self.cpus[at])
    }
}

/// The node of each CPU.
fn nodes(files: &(impl Files + ?Sized)) -> BTreeMap<usize, usize> {
    let folder = format!("{SYSTEM}/node");
    let each = files.numbered(&folder, "node").into_iter();
    each.flat_map(|node| {
        let of_it = files.cpus(&format!("{folder}/node{node}/cpulist"));
        of_it.into_iter().map(move |cpu| (cpu, node))
    })
    .collect()
}

/// The first CPU that shares the cache of the highest level with this one.
fn last_cache(files: &(impl Files + ?Sized), number: usize) -> Option<usize> {
    let folder = format!("{SYSTEM}/cpu/cpu{number}/cache");
    let caches = files.numbered(&folder, "index").into_iter();
    let known = caches.filter_map(|cache| {
        let shared = files.cpus(&format!("{folder}/index{cache}/shared_cpu_list"));
        let level = files.number(&format!("{folder}/index{cache}/level"))?;
        shared.contains(&number).then(|| (level, shared[0]))
    });
    known
        .max_by_key(|(level, _)| *level)
        .map(|(_, first)| first)
}

/// The kind of each core that has one: by the two performance monitoring units of hybrid x86, or else by the
/// capacity that the kernel gives each CPU (Arm), where they differ.
fn kinds(files: &(impl Files + ?Sized), usable: &[usize]) -> BTreeMap<usize, CoreKind> {
    let units = [
        ("cpu_core", CoreKind::Performance),
        ("cpu_atom", CoreKind::Efficiency),
    ]
    .map(|(unit, kind)| (files.cpus(&format!("sys/devices/{unit}/cpus")), kind));
    if units.iter().all(|(cpus, _)| !cpus.is_empty()) {
        let each = units.into_iter();
        return each
            .flat_map(|(cpus, kind)| cpus.into_iter().map(move |cpu| (cpu, kind)))
            .collect();
    }
    let capacity = |cpu: &usize| {
        let capacity = files.number(&format!("{SYSTEM}/cpu/cpu{cpu}/cpu_capacity"))?;
        Some((*cpu, capacity))
    };
    let capacities: Vec<(usize, usize)> = usable.iter().filter_map(capacity).collect();
    let of_each = || capacities.iter().map(|(_, capacity)| *capacity);
    match (of_each().min(), of_each().max()) {
        (Some(least), Some(most)) if least < most => capacities
            .into_iter()
            .map(|(cpu, capacity)| match capacity == most {
                true => (cpu, CoreKind::Performance),
                false => (cpu, CoreKind::Efficiency),
            })
            .collect(),
        _ => BTreeMap::new(),
    }
}

/// The control groups that this process is in, each as folders from its own group up.
struct Groups {
    /// Version 2.
    unified: Vec<String>,
    /// Version 1's `cpu`.
    time: Vec<String>,
    /// Version 1's `cpuset`.
    set: Vec<String>,
}

impl Groups {
    fn read(files: &(impl Files + ?Sized)) -> Self {
        let text = files.text("proc/self/cgroup");
        // Each line is `number:controllers:/path`; version 2 has one, without controllers.
        let path = |controller: &str| {
            let path = text.lines().find_map(|line| {
                let (_, rest) = line.split_once(':')?;
                let (controllers, path) = rest.split_once(':')?;
                let named = controllers.split(',').any(|name| name == controller);
                named.then_some(path)
            });
            path.unwrap_or_default()
        };
        let up = |mount: &str, controller: &str| {
            let mut folder = mount.to_owned();
            let mut all = vec![folder.clone()];
            // A path that begins outside the container's groups has `..` in it, or does not exist here: then what
            // is mounted is the container's own group.
            let parts = path(controller).split('/');
            for part in parts.filter(|part| !["", ".", ".."].contains(part)) {
                folder = format!("{folder}/{part}");
                all.push(folder.clone());
            }
            all.reverse();
            all
        };
        Self {
            unified: up("sys/fs/cgroup", ""),
            time: up("sys/fs/cgroup/cpu", "cpu"),
            set: up("sys/fs/cgroup/cpuset", "cpuset"),
        }
    }

    /// The CPUs of the innermost group that says something.
    fn cpus(&self, files: &(impl Files + ?Sized)) -> Vec<usize> {
        let unified = self.unified.iter();
        let unified = unified.map(|folder| format!("{folder}/cpuset.cpus.effective"));
        let old = self.set.iter().flat_map(|folder| {
            ["cpuset.effective_cpus", "cpuset.cpus"].map(|name| format!("{folder}/{name}"))
        });
        let mut all = unified.chain(old).map(|path| files.cpus(&path));
        all.find(|cpus| !cpus.is_empty()).unwrap_or_default()
    }

    /// The least that a group grants, in thousandths of a CPU: each limits all that are in it.
    fn quota(&self, files: &(impl Files + ?Sized)) -> Option<u64> {
        let thousandths = |quota: &str, period: &str| {
            let (quota, period): (u64, u64) =
                (quota.trim().parse().ok()?, period.trim().parse().ok()?);
            (period > 0).then(|| quota.saturating_mul(1000) / period)
        };
        // `max 100000` and -1 stand for no limit, and are no such numbers.
        let unified = self.unified.iter().filter_map(|folder| {
            let text = files.text(&format!("{folder}/cpu.max"));
            let (quota, period) = text.trim().split_once(' ')?;
            thousandths(quota, period)
        });
        let old = self.time.iter().filter_map(|folder| {
            let read = |name: &str| files.text(&format!("{folder}/{name}"));
            thousandths(&read("cpu.cfs_quota_us"), &read("cpu.cfs_period_us"))
        });
        unified.chain(old).min()
    }
}

#[cfg(test)]
pub(crate) mod tests;
