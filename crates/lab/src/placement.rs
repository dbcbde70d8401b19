//! CPUs of server, upstream and generator, and how much of them and of memory a server may use.

use crate::topology::{CoreKind, Cpu, Topology};
use prony_record::ServerLimits;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
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
    pub fn of(self, cpus: &Topology, upstream: bool) -> Placement {
        match (self, upstream) {
            (Self::Split, false) => Placement::split(cpus),
            (Self::Split, true) => Placement::split(cpus).with_upstream(),
            (Self::Shared, _) => Placement::shared(cpus),
        }
    }
}

/// The CPUs of server, generator and, behind a gateway, upstream. Of several threads of each core, the first ones
/// come first: who takes some of them takes cores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placement {
    /// The server's.
    pub server: Vec<usize>,
    /// The generator's; prony's other threads run there too, so that they never disturb the server.
    pub generator: Vec<usize>,
    /// The upstream's; empty when there is none.
    pub upstream: Vec<usize>,
    /// CPUs of the server's services; empty when there are none.
    #[serde(default)]
    pub services: Vec<usize>,
    /// Limits of each server's processes together.
    #[serde(default)]
    pub limits: ServerLimits,
    /// Where all CPUs that it could choose from are in the machine.
    pub topology: Topology,
}

impl Placement {
    /// The lower half of the CPUs for the server, the upper half for the generator; on a machine with several nodes
    /// or kinds of cores, of those that are alike and near each other. No core is divided if there are two. With a
    /// single CPU they share it.
    pub fn split(cpus: &Topology) -> Self {
        let alike = extents(cpus)
            .into_iter()
            .find(|cores| cores.len() >= ENOUGH);
        Self::halves(cpus, &alike.unwrap_or_else(|| cores(cpus.cpus())))
    }

    /// Two halves of these cores.
    fn halves(cpus: &Topology, cores: &[Core<'_>]) -> Self {
        match halves(cores) {
            (server, _) if server.is_empty() => Self::shared(cpus),
            (server, generator) => Self {
                server,
                generator,
                upstream: Vec::new(),
                services: Vec::new(),
                limits: ServerLimits::default(),
                topology: cpus.clone(),
            },
        }
    }

    /// With services on a half of the generator's CPUs. A single one they leave to it, since what it measures would suffer,
    /// and share the server's.
    #[must_use]
    pub fn with_services(mut self) -> Self {
        if self.share(&self.server) {
            self.services.clone_from(&self.server);
            return self;
        }
        let known = self
            .generator
            .iter()
            .filter_map(|cpu| self.topology.get(*cpu));
        let (services, generator) = halves(&cores(known));
        match services.is_empty() {
            true => self.services.clone_from(&self.server),
            false => (self.services, self.generator) = (services, generator),
        }
        self
    }

    /// The CPUs of the server's services: those of the server where nothing else was chosen.
    pub fn for_services(&self) -> &[usize] {
        match self.services.as_slice() {
            [] => &self.server,
            own => own,
        }
    }

    /// With an upstream on a half of the generator's CPUs; a single one they share, so that the
    /// gateway, which is what is measured, has its own.
    fn with_upstream(mut self) -> Self {
        let known = self
            .generator
            .iter()
            .filter_map(|cpu| self.topology.get(*cpu));
        match halves(&cores(known)) {
            (upstream, _) if upstream.is_empty() => self.upstream = self.generator.clone(),
            (upstream, generator) => (self.upstream, self.generator) = (upstream, generator),
        }
        self
    }

    /// All CPUs for both: for servers that are to use every CPU there is.
    pub fn shared(cpus: &Topology) -> Self {
        let all = cpus.numbers();
        Self {
            server: all.clone(),
            generator: all.clone(),
            upstream: all,
            services: Vec::new(),
            limits: ServerLimits::default(),
            topology: cpus.clone(),
        }
    }

    /// All CPUs for a server that nothing else runs beside.
    pub fn alone(cpus: &Topology) -> Self {
        Self {
            server: cpus.numbers(),
            generator: Vec::new(),
            upstream: Vec::new(),
            services: Vec::new(),
            limits: ServerLimits::default(),
            topology: cpus.clone(),
        }
    }

    /// The same with only the first CPUs of the server's for it, as on a smaller machine: beside the generator's
    /// first ones if one cache has enough cores for both, or of more nodes or kinds of cores than [`split`](Self::split)
    /// takes if there are not enough otherwise.
    ///
    /// # Errors
    /// How many there are, when that is fewer.
    pub fn with_server_cpus(mut self, cpus: usize) -> Result<Self, usize> {
        let divided = !self.generator.is_empty() && !self.share(&self.server);
        if divided && self.upstream.is_empty() {
            self = self.fit(cpus);
        }
        if cpus > self.server.len() {
            return Err(self.server.len());
        }
        let with_services = self.services == self.server;
        self.server.truncate(cpus);
        if with_services {
            self.services.clone_from(&self.server);
        }
        Ok(self)
    }

    /// Halves that have so many CPUs for the server, as near each other as can be.
    fn fit(&self, cpus: usize) -> Self {
        let topology = &self.topology;
        let mut found = self.clone();
        for cores in extents(topology) {
            found = Self::halves(topology, &cores);
            if cores.len() < ENOUGH || found.server.len() < cpus {
                continue;
            }
            let near = groups(cores, |cpu| cpu.cache).into_values();
            let near = near.filter(|near| near.len() >= ENOUGH);
            let first = near
                .map(|near| halves(&near))
                .find(|(server, _)| server.len() >= cpus);
            if let Some((server, mut generator)) = first {
                // More threads than the cache has cores for take those that are farther away.
                let others = |cpu: &usize| !server.contains(cpu) && !generator.contains(cpu);
                let others: Vec<usize> = found.generator.into_iter().filter(others).collect();
                generator.extend(others);
                (found.server, found.generator) = (server, generator);
            }
            break;
        }
        found
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
        let mut all = [
            &self.server[..],
            &self.generator,
            &self.upstream,
            &self.services,
        ]
        .concat();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Does the generator share a CPU with the server or its upstream?
    pub fn co_located(&self) -> bool {
        self.share(&self.server) || self.share(&self.upstream)
    }

    /// CPUs of the server or its upstream, each with one of the generator that is another thread of the same core.
    pub fn shared_cores(&self) -> Vec<[usize; 2]> {
        let core = |cpu: usize| self.topology.get(cpu).map(|cpu| cpu.core);
        let beside = |cpu: usize| {
            let mut others = self.generator.iter().copied().filter(move |it| *it != cpu);
            others.find(|other| core(*other).is_some_and(|it| Some(it) == core(cpu)))
        };
        let theirs = self.server.iter().chain(&self.upstream);
        theirs
            .filter_map(|&cpu| Some([cpu, beside(cpu)?]))
            .collect()
    }

    /// The NUMA nodes of the server and its upstream, and those of the generator.
    pub fn nodes(&self) -> [Vec<usize>; 2] {
        let theirs = [&self.server[..], &self.upstream].concat();
        [&theirs, &self.generator].map(|cpus| self.topology.nodes(cpus).into_iter().collect())
    }

    /// Remarks on what is special about these CPUs, as text for people.
    fn remarks(&self) -> Vec<String> {
        let all = self.all();
        let mut remarks = Vec::new();
        if !self.co_located() && !self.shared_cores().is_empty() {
            remarks.push("threads of one core".to_owned());
        }
        let cpus = || all.iter().filter_map(|cpu| self.topology.get(*cpu));
        if cpus().all(|cpu| cpu.kind == Some(CoreKind::Performance)) && !all.is_empty() {
            remarks.push("performance cores".to_owned());
        }
        let nodes = self.topology.nodes(&self.topology.numbers()).len();
        if nodes > 1 {
            let used: Vec<usize> = self.topology.nodes(&all).into_iter().collect();
            let s = if used.len() == 1 { "" } else { "s" };
            remarks.push(format!("NUMA node{s} {} of {nodes}", list(&used)));
        }
        let isolated: Vec<usize> = cpus()
            .filter(|cpu| cpu.isolated)
            .map(|cpu| cpu.number)
            .collect();
        if !isolated.is_empty() {
            remarks.push(format!("isolated: CPU {}", list(&isolated)));
        }
        if let Some(quota) = self.topology.quota() {
            remarks.push(format!("limited to the time of {quota} CPUs in all"));
        }
        remarks
    }

    fn share(&self, others: &[usize]) -> bool {
        others.iter().any(|cpu| self.generator.contains(cpu))
    }
}

impl std::fmt::Display for Placement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = |cpus: &[usize]| {
            let mut sorted = cpus.to_vec();
            sorted.sort_unstable();
            list(&sorted)
        };
        let generator = list(&self.generator);
        let with_services = !self.services.is_empty() && self.services == self.server;
        if self.share(&self.server) {
            let both = if with_services {
                "server, services"
            } else {
                "server"
            };
            write!(f, "{both} and generator share CPU {generator}")?;
            if !self.limits.is_none() {
                write!(f, ", the server {}", self.limits)?;
            }
        } else {
            let services = match self.services.as_slice() {
                [] => String::new(),
                _ if with_services => " and services".to_owned(),
                own => format!(", services on CPU {}", list(own)),
            };
            let server = list(&self.server);
            let limits = match (self.limits.is_none(), with_services) {
                (true, _) => String::new(),
                (false, false) => format!(", {}", self.limits),
                (false, true) => format!(", the server {}", self.limits),
            };
            match with_services {
                true => write!(f, "server{services} on CPU {server}{limits}, "),
                false => write!(f, "server on CPU {server}{limits}{services}, "),
            }?;
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
            }?;
        }
        match self.remarks().as_slice() {
            [] => Ok(()),
            remarks => write!(f, " ({})", remarks.join("; ")),
        }
    }
}

/// The CPUs that are threads of one core.
type Core<'a> = Vec<&'a Cpu>;

/// Cores that are enough for server and generator: one each.
const ENOUGH: usize = 2;

/// The cores of some CPUs, those that share a node, a package and a cache beside each other, and otherwise by number.
fn cores<'a>(cpus: impl IntoIterator<Item = &'a Cpu>) -> Vec<Core<'a>> {
    let mut cores: BTreeMap<_, Core<'a>> = BTreeMap::new();
    for cpu in cpus {
        let core = (cpu.node, cpu.package, cpu.cache, cpu.core);
        cores.entry(core).or_default().push(cpu);
    }
    cores.into_values().collect()
}

/// Cores by what their CPUs have in common.
fn groups<'a>(
    cores: Vec<Core<'a>>,
    common: impl Fn(&Cpu) -> Option<usize>,
) -> BTreeMap<Option<usize>, Vec<Core<'a>>> {
    let mut groups: BTreeMap<_, Vec<Core<'a>>> = BTreeMap::new();
    for core in cores {
        groups.entry(common(core[0])).or_default().push(core);
    }
    groups
}

/// The cores among which server and generator may be placed, from the best choice to all: the fastest ones of one
/// node, those of one node, all. What is slower, or reached only by way of another node's memory, differs from what
/// the rest measures.
fn extents(cpus: &Topology) -> Vec<Vec<Core<'_>>> {
    let all = || cores(cpus.cpus());
    if cpus.named() {
        return vec![all()];
    }
    let is_fast = |core: &Core<'_>| core[0].kind == Some(CoreKind::Performance);
    let fast = all().into_iter().filter(is_fast).collect();
    vec![one_node(fast), one_node(all()), all()]
}

/// Cores of the node that has the most of these cores.
fn one_node(cores: Vec<Core<'_>>) -> Vec<Core<'_>> {
    let nodes = groups(cores, |cpu| cpu.node).into_iter();
    nodes
        .max_by_key(|(node, cores)| (cores.len(), Reverse(*node)))
        .map(|(_, cores)| cores)
        .unwrap_or_default()
}

/// Two halves of some cores by their number of CPUs, the larger one last; a single core is divided into its threads.
fn halves(cores: &[Core<'_>]) -> (Vec<usize>, Vec<usize>) {
    let count = |cores: &[Core<'_>]| cores.iter().map(Vec::len).sum::<usize>();
    if cores.len() < ENOUGH {
        let mut threads = threads(cores);
        let upper = threads.split_off(threads.len() / 2);
        return (threads, upper);
    }
    let all = count(cores);
    let cuts = 1..cores.len();
    let from_half = |cut: &usize| (2 * count(&cores[..*cut])).abs_diff(all);
    // The first of those that are equally near is the one with the smaller lower half.
    let (lower, upper) = cores.split_at(cuts.min_by_key(from_half).unwrap_or(1));
    match count(lower) > count(upper) {
        true => (threads(upper), threads(lower)),
        false => (threads(lower), threads(upper)),
    }
}

/// The CPUs of some cores: the first thread of each, then the second of each, and so on.
fn threads(cores: &[Core<'_>]) -> Vec<usize> {
    let most = cores.iter().map(Vec::len).max().unwrap_or(0);
    (0..most)
        .flat_map(|thread| cores.iter().filter_map(move |core| core.get(thread)))
        .map(|cpu| cpu.number)
        .collect()
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
mod tests;
