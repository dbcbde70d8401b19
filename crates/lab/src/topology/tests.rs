//! Topologies of other machines. Each file of `machines` has a machine's files below `/sys` and `/proc`, as a path
//! and a line. They were not copied there, but written after what `lscpu` prints on such machines.

use super::*;

/// A machine of `machines`.
pub(crate) fn machine(name: &str) -> &'static str {
    match name {
        "xeon" => include_str!("machines/xeon-e5-2623-v3-twice.tsv"),
        "epyc" => include_str!("machines/epyc-7313p.tsv"),
        "graviton" => include_str!("machines/graviton3-c7g.2xlarge.tsv"),
        "hybrid" => include_str!("machines/core-i5-1240p.tsv"),
        "container" => include_str!("machines/container-cpuset.tsv"),
        "vm" => include_str!("machines/virtual-machine.tsv"),
        _ => panic!("there is no machine {name}"),
    }
}

/// Files by their paths.
struct Listed(BTreeMap<String, String>);

impl Files for Listed {
    fn text(&self, path: &str) -> String {
        self.0.get(path).cloned().unwrap_or_default()
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let within = |path: &String| {
            let rest = path.strip_prefix(folder)?.strip_prefix('/')?;
            rest.split('/').next().map(str::to_owned)
        };
        let names: BTreeSet<String> = self.0.keys().filter_map(within).collect();
        names.into_iter().collect()
    }
}

/// Reads a machine of which these CPUs are allowed.
pub(crate) fn read(files: &str, allowed: &str) -> Topology {
    let lines = files.lines().filter(|line| !line.starts_with('#'));
    let listed = lines.map(|line| {
        let (path, text) = line.split_once('\t').unwrap();
        (path.to_owned(), format!("{text}\n"))
    });
    let listed = Listed(listed.collect());
    Topology::of(&listed, &parse_cpus(allowed).unwrap())
}

/// For each value that some CPUs have, these CPUs.
fn by<T: Ord>(all: &Topology, of: impl Fn(&Cpu) -> T) -> Vec<Vec<usize>> {
    let mut each: BTreeMap<T, Vec<usize>> = BTreeMap::new();
    for cpu in all.cpus() {
        each.entry(of(cpu)).or_default().push(cpu.number);
    }
    each.into_values().collect()
}

fn lists(texts: &[&str]) -> Vec<Vec<usize>> {
    texts.iter().map(|text| parse_cpus(text).unwrap()).collect()
}

#[test]
fn two_sockets_of_cores_with_two_threads() {
    let xeon = read(machine("xeon"), "0-15");
    let sockets = lists(&["0-3,8-11", "4-7,12-15"]);
    assert_eq!(by(&xeon, |cpu| cpu.node), sockets);
    assert_eq!(by(&xeon, |cpu| cpu.package), sockets);
    assert_eq!(by(&xeon, |cpu| cpu.cache), sockets, "L3, not L1 or L2");
    let pairs: Vec<Vec<usize>> = (0..8).map(|cpu| vec![cpu, cpu + 8]).collect();
    assert_eq!(by(&xeon, |cpu| cpu.core), pairs);
    assert!(
        xeon.cpus()
            .iter()
            .all(|cpu| cpu.kind.is_none() && !cpu.isolated)
    );
    assert_eq!((xeon.quota(), xeon.nodes(&[1, 9])), (None, [0].into()));
    // Only some of them: their cores are known all the same.
    let some = read(machine("xeon"), "1,9,12");
    assert_eq!(some.numbers(), [1, 9, 12]);
    assert_eq!(by(&some, |cpu| cpu.core), lists(&["1,9", "12"]));
}

#[test]
fn one_node_with_several_caches() {
    let epyc = read(machine("epyc"), "0-31");
    let caches = lists(&["0-3,16-19", "4-7,20-23", "8-11,24-27", "12-15,28-31"]);
    assert_eq!(by(&epyc, |cpu| cpu.cache), caches);
    assert_eq!(by(&epyc, |cpu| cpu.node), lists(&["0-31"]));
    assert_eq!(by(&epyc, |cpu| cpu.core).len(), 16);
}

#[test]
fn cores_of_one_thread() {
    let graviton = read(machine("graviton"), "0-7");
    assert_eq!(by(&graviton, |cpu| cpu.core).len(), 8);
    assert_eq!(by(&graviton, |cpu| (cpu.node, cpu.cache)).len(), 1);
    assert!(graviton.cpus().iter().all(|cpu| cpu.kind.is_none()));
}

#[test]
fn two_kinds_of_cores() {
    let hybrid = read(machine("hybrid"), "0-15");
    let kinds = lists(&["0-7", "8-15"]);
    let is_fast = |cpu: &Cpu| cpu.kind != Some(CoreKind::Performance);
    assert_eq!(by(&hybrid, is_fast), kinds);
    assert_eq!(by(&hybrid, |cpu| cpu.core).len(), 12);
    let arm = "sys/devices/system/cpu/cpu0/cpu_capacity\t446\n\
               sys/devices/system/cpu/cpu1/cpu_capacity\t446\n\
               sys/devices/system/cpu/cpu2/cpu_capacity\t1024";
    let arm = read(arm, "0-2");
    assert_eq!(by(&arm, is_fast), lists(&["2", "0,1"]));
}

#[test]
fn a_container_has_what_its_group_grants() {
    // The kernel would allow these three only; some that show files of their own allow all.
    let container = read(machine("container"), "0-7");
    assert_eq!(container.numbers(), [0, 1, 4]);
    assert_eq!(by(&container, |cpu| cpu.core), lists(&["0,4", "1"]));
    assert_eq!(container.quota(), Some(1.5));
}

#[test]
fn the_tightest_group_around_a_process_limits_it() {
    let nested = "proc/self/cgroup\t0::/a/b\n\
                  sys/fs/cgroup/a/b/cpu.max\tmax 100000\n\
                  sys/fs/cgroup/a/cpu.max\t50000 100000\n\
                  sys/fs/cgroup/a/cpuset.cpus.effective\t2-3\n\
                  sys/fs/cgroup/other/cpu.max\t1000 100000\n\
                  sys/fs/cgroup/cpuset.cpus.effective\t0-3";
    let nested = read(nested, "0-3");
    assert_eq!((nested.numbers(), nested.quota()), (vec![2, 3], Some(0.5)));
    let old = |quota: &str, allowed: &str| {
        let files = format!(
            "proc/self/cgroup\t4:cpu,cpuacct:/docker/1\n\
             sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us\t-1\n\
             sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us\t100000\n\
             sys/fs/cgroup/cpu/cpu.cfs_quota_us\t{quota}\n\
             sys/fs/cgroup/cpu/cpu.cfs_period_us\t100000\n\
             sys/fs/cgroup/cpuset/cpuset.cpus\t1,2"
        );
        let read = read(&files, allowed);
        (read.numbers(), read.quota())
    };
    assert_eq!(old("-1", "0-3"), (vec![1, 2], None));
    assert_eq!(old("150000", "0-3"), (vec![1, 2], Some(1.5)));
    assert_eq!(old("400000", "0-3"), (vec![1, 2], None), "more than all");
    assert_eq!(old("-1", "5"), (vec![5], None), "the kernel knows better");
}

#[test]
fn what_is_not_said_is_unknown() {
    let unknown = Topology::unknown(&[0, 1, 2, 3]);
    assert_eq!(read(machine("vm"), "0-3"), unknown);
    assert_eq!(read("proc/version\tLinux", "0-3"), unknown);
    let damaged = "sys/devices/system/cpu/online\tall\n\
                   sys/devices/system/cpu/cpu0/topology/core_cpus_list\t9\n\
                   sys/devices/system/cpu/cpu1/topology/thread_siblings_list\t\n\
                   sys/devices/system/cpu/cpu1/topology/physical_package_id\t-1\n\
                   sys/devices/system/cpu/cpu2/cache/index0/level\t1\n\
                   sys/devices/system/node/node0/cpulist\t\n\
                   sys/fs/cgroup/cpu.max\t1 0";
    assert_eq!(read(damaged, "0-3"), unknown);
}

#[test]
fn offline_and_isolated() {
    let files = "sys/devices/system/cpu/online\t0-2\nsys/devices/system/cpu/isolated\t2";
    let read = read(files, "0-3");
    assert_eq!(by(&read, |cpu| cpu.isolated), lists(&["0,1", "2"]));
}

#[test]
fn named_cpus_are_all_used_known_or_not() {
    let xeon = read(machine("xeon"), "0-15");
    assert!(!xeon.named());
    let some = xeon.only(&[40, 9, 4]);
    assert!(some.named());
    assert_eq!(some.numbers(), [4, 9, 40]);
    let cores: Vec<usize> = some.cpus().iter().map(|cpu| cpu.core).collect();
    assert_eq!(cores, [4, 1, 40]);
}

#[test]
fn this_machine_is_read() {
    assert_eq!(Topology::here().numbers(), allowed_cpus());
    let root = tempfile::tempdir().unwrap();
    let node = root.path().join("sys/devices/system/node/node3");
    fs::create_dir_all(&node).unwrap();
    fs::write(node.join("cpulist"), "1-2\n").unwrap();
    let read = Topology::read(root.path(), &[1, 2]);
    assert_eq!(by(&read, |cpu| cpu.node), [[1, 2]]);
    assert_eq!(read.nodes(&[1]), [3].into());
}
