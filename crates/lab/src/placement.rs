//! Who runs on which CPUs.

use crate::topology::{Cpu, Kind, Topology};
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
                topology: cpus.clone(),
            },
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
            topology: cpus.clone(),
        }
    }

    /// All CPUs for a server that nothing else runs beside.
    pub fn alone(cpus: &Topology) -> Self {
        Self {
            server: cpus.numbers(),
            generator: Vec::new(),
            upstream: Vec::new(),
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
        self.server.truncate(cpus);
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
        let mut all = [&self.server[..], &self.generator, &self.upstream].concat();
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

    /// What is special about these CPUs, for people.
    fn remarks(&self) -> Vec<String> {
        let all = self.all();
        let mut remarks = Vec::new();
        if !self.co_located() && !self.shared_cores().is_empty() {
            remarks.push("threads of one core".to_owned());
        }
        let cpus = || all.iter().filter_map(|cpu| self.topology.get(*cpu));
        if cpus().all(|cpu| cpu.kind == Some(Kind::Performance)) && !all.is_empty() {
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
        if self.share(&self.server) {
            write!(f, "server and generator share CPU {generator}")?;
        } else {
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
    let is_fast = |core: &Core<'_>| core[0].kind == Some(Kind::Performance);
    let fast = all().into_iter().filter(is_fast).collect();
    vec![one_node(fast), one_node(all()), all()]
}

/// Those cores that are on the node that has the most of them.
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
mod tests {
    use super::*;
    use crate::topology::tests::{machine, read};

    #[test]
    fn what_is_spare() {
        let on = Topology::unknown;
        let split = Placement::split(&on(&[0, 1, 2, 3, 4, 5]));
        assert_eq!(split.spare(1), [4, 5]);
        assert_eq!(split.spare(2), [5]);
        for threads in [3, 4] {
            assert_eq!(split.spare(threads), [3, 4, 5]);
        }
        assert_eq!(Placement::split(&on(&[0, 1])).spare(1), [1]);
        assert_eq!(Placement::shared(&on(&[0, 1])).spare(1), [0, 1]);
    }

    #[test]
    fn halves() {
        let split = |cpus: &[usize]| Placement::split(&Topology::unknown(cpus));
        assert!(split(&[3]).co_located());
        assert_eq!(
            split(&[0, 1]),
            Placement {
                topology: Topology::unknown(&[0, 1]),
                server: vec![0],
                generator: vec![1],
                upstream: vec![],
            }
        );
        assert_eq!(
            split(&[0, 1, 2]),
            Placement {
                topology: Topology::unknown(&[0, 1, 2]),
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
        let shared = Sharing::Shared.of(&Topology::unknown(&[0, 1]), false);
        assert_eq!(
            (shared.server.len(), shared.pinned(), shared.co_located()),
            (2, &[][..], true)
        );
    }

    #[test]
    fn an_upstream_takes_from_the_generator() {
        let on = |cpus: &[usize]| Sharing::Split.of(&Topology::unknown(cpus), true);
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

    fn on(name: &str, allowed: &str) -> Topology {
        read(machine(name), allowed)
    }

    fn told(cpus: &Topology) -> String {
        Placement::split(cpus).to_string()
    }

    #[test]
    fn where_cores_have_one_thread_the_lower_half_is_the_servers() {
        for (name, last) in [("graviton", 7), ("vm", 3)] {
            for n in 0..=last {
                let all: Vec<usize> = (0..=n).collect();
                let known = Placement::split(&on(name, &list(&all)));
                let unknown = Placement::split(&Topology::unknown(&all));
                assert_eq!(known.to_string(), unknown.to_string());
                let half = all.len() / 2;
                if half > 0 {
                    assert_eq!(
                        (&known.server[..], &known.generator[..]),
                        all.split_at(half)
                    );
                }
                for cpus in 1..=known.server.len() {
                    let [known, unknown] =
                        [&known, &unknown].map(|it| it.clone().with_server_cpus(cpus).unwrap());
                    assert_eq!(known.server, unknown.server);
                    assert_eq!(known.generator, unknown.generator);
                }
            }
        }
    }

    #[test]
    fn siblings_stay_on_one_side_and_both_sides_on_one_node() {
        let xeon = Placement::split(&on("xeon", "0-15"));
        assert_eq!(
            xeon.to_string(),
            "server on CPU 0,1,8,9, generator on CPU 2,3,10,11 (NUMA node 0 of 2)"
        );
        assert_eq!(xeon.generator, [2, 3, 10, 11], "threads get cores first");
        assert_eq!(
            (xeon.shared_cores(), xeon.nodes()),
            (vec![], [vec![0], vec![0]])
        );
        assert_eq!(
            told(&on("xeon", "2,4-7,10,12-15")),
            "server on CPU 4,5,12,13, generator on CPU 6,7,14,15 (NUMA node 1 of 2)",
            "the node that has more of them"
        );
    }

    #[test]
    fn more_cpus_for_the_server_than_a_node_has_are_of_both_nodes() {
        let xeon = || Placement::split(&on("xeon", "0-15"));
        let six = xeon().with_server_cpus(6).unwrap();
        assert_eq!(six.server, [0, 1, 2, 3, 8, 9]);
        assert_eq!(six.nodes(), [vec![0], vec![1]]);
        assert!(six.to_string().ends_with(" (NUMA nodes 0,1 of 2)"), "{six}");
        assert_eq!(xeon().with_server_cpus(9), Err(8));
        // Whoever names CPUs means all of them.
        let named = Placement::split(&on("xeon", "0-15").only(&[0, 1, 4, 5]));
        assert_eq!((named.server, named.generator), (vec![0, 1], vec![4, 5]));
    }

    #[test]
    fn nodes_that_have_a_core_each_are_both_used() {
        let crossed = Placement::split(&on("xeon", "0,4,8,12"));
        assert_eq!(
            (&crossed.server[..], &crossed.generator[..]),
            (&[0, 8][..], &[4, 12][..])
        );
        assert_eq!(crossed.nodes(), [vec![0], vec![1]]);
        assert_eq!(crossed.shared_cores(), [] as [[usize; 2]; 0]);
    }

    #[test]
    fn the_threads_of_a_single_core_are_divided() {
        let one = Placement::split(&on("xeon", "1,9"));
        assert_eq!((&one.server[..], &one.generator[..]), (&[1][..], &[9][..]));
        assert_eq!(one.shared_cores(), [[1, 9]]);
        assert_eq!(
            one.to_string(),
            "server on CPU 1, generator on CPU 9 (threads of one core)"
        );
    }

    #[test]
    fn of_an_uneven_number_the_generator_has_more() {
        let three = Placement::split(&on("container", "0-7"));
        assert_eq!(
            (&three.server[..], &three.generator[..]),
            (&[1][..], &[0, 4][..])
        );
        assert!(
            three
                .to_string()
                .ends_with(" (limited to the time of 1.5 CPUs in all)")
        );
        let three = Placement::split(&on("xeon", "0-2,8-10"));
        assert_eq!(
            (&three.server[..], &three.generator[..]),
            (&[0, 8][..], &[1, 2, 9, 10][..])
        );
    }

    #[test]
    fn a_cache_with_enough_cores_is_shared() {
        let epyc = || Placement::split(&on("epyc", "0-31"));
        assert_eq!(
            epyc().to_string(),
            "server on CPU 0,1,2,3,4,5,6,7,16,17,18,19,20,21,22,23, \
             generator on CPU 8,9,10,11,12,13,14,15,24,25,26,27,28,29,30,31"
        );
        let four = epyc().with_server_cpus(4).unwrap();
        assert_eq!(four.server, [0, 1, 16, 17]);
        assert_eq!(four.generator[..4], [2, 3, 18, 19]);
        assert_eq!(
            four.generator.len(),
            20,
            "and all others if there are more threads"
        );
        let two = epyc().with_server_cpus(2).unwrap();
        assert_eq!((&two.server[..], two.generator[0]), (&[0, 1][..], 2));
        let five = epyc().with_server_cpus(5).unwrap();
        assert_eq!(
            (&five.server[..], five.generator[0]),
            (&[0, 1, 2, 3, 4][..], 8)
        );
    }

    #[test]
    fn both_are_on_performance_cores_if_there_are_two() {
        assert_eq!(
            told(&on("hybrid", "0-15")),
            "server on CPU 0,1,2,3, generator on CPU 4,5,6,7 (performance cores)"
        );
        let six = Placement::split(&on("hybrid", "0-15")).with_server_cpus(6);
        assert_eq!(six.unwrap().server, [0, 2, 4, 6, 1, 3]);
        assert_eq!(
            told(&on("hybrid", "0-1,8-11")),
            "server on CPU 0,1,8, generator on CPU 9,10,11"
        );
        assert_eq!(
            told(&on("hybrid", "12-15")),
            "server on CPU 12,13, generator on CPU 14,15"
        );
    }

    #[test]
    fn an_upstream_has_cores_of_its_own_too() {
        let xeon = Sharing::Split.of(&on("xeon", "0-15"), true);
        assert_eq!(
            (&xeon.upstream[..], &xeon.generator[..]),
            (&[2, 10][..], &[3, 11][..])
        );
        assert_eq!(xeon.shared_cores(), [] as [[usize; 2]; 0]);
        let two = Sharing::Split.of(&on("xeon", "0-1,8-9"), true);
        assert_eq!(two.shared_cores(), [[1, 9]], "upstream and generator");
        assert!(!two.co_located());
    }

    #[test]
    fn whatever_is_allowed_no_core_is_divided_if_there_are_two() {
        // Some of all sets of 16 CPUs: an odd step has each CPU in half of them.
        for set in (331..1 << 16).step_by(331) {
            let allowed: Vec<usize> = (0..16).filter(|cpu| set >> cpu & 1 == 1).collect();
            for name in ["xeon", "hybrid"] {
                let on = on(name, &list(&allowed));
                let place = Placement::split(&on);
                let cores = cores(on.cpus()).len();
                assert_eq!(place.co_located(), allowed.len() == 1, "{place}");
                assert!(
                    cores == 1 || place.shared_cores().is_empty(),
                    "{allowed:?}: {place}"
                );
                assert!(
                    (1..=place.generator.len()).contains(&place.server.len()),
                    "{allowed:?}: {place}"
                );
                for cpus in 1..=allowed.len() {
                    if let Ok(some) = place.clone().with_server_cpus(cpus) {
                        assert_eq!(some.server.len(), cpus);
                        assert!(some.co_located() == place.co_located(), "{some}");
                        assert!(cores == 1 || some.shared_cores().is_empty(), "{some}");
                    }
                }
            }
        }
    }

    #[test]
    fn isolated_cpus_are_told() {
        let files = "sys/devices/system/cpu/isolated\t2-3";
        let told = told(&read(files, "0-3"));
        assert!(told.ends_with(" (isolated: CPU 2,3)"), "{told}");
    }
}
