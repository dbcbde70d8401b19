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
fn limits_are_shown_where_the_server_is() {
    let limits = ServerLimits {
        cpus: "0.5".parse().ok(),
        memory: "256MiB".parse().ok(),
    };
    let shown = |placement: Placement| {
        Placement {
            limits,
            ..placement
        }
        .to_string()
    };
    let two = Topology::unknown(&[0, 1]);
    assert_eq!(
        shown(Placement::split(&two)),
        "server on CPU 0, at most 0.5 CPUs and 256 MiB, generator on CPU 1"
    );
    assert_eq!(
        shown(Placement::split(&two).with_services()),
        "server and services on CPU 0, the server at most 0.5 CPUs and 256 MiB, generator on CPU 1"
    );
    assert_eq!(
        shown(Placement::shared(&two)),
        "server and generator share CPU 0,1, the server at most 0.5 CPUs and 256 MiB"
    );
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
            services: vec![],
            limits: ServerLimits::default(),
        }
    );
    assert_eq!(
        split(&[0, 1, 2]),
        Placement {
            topology: Topology::unknown(&[0, 1, 2]),
            server: vec![0],
            generator: vec![1, 2],
            upstream: vec![],
            services: vec![],
            limits: ServerLimits::default(),
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
fn services_take_from_a_generator_that_has_enough() {
    let on = |cpus: &[usize]| Placement::split(&Topology::unknown(cpus)).with_services();
    let two = on(&[0, 1]);
    assert_eq!((two.for_services(), two.pinned()), (&[0][..], &[1][..]));
    assert_eq!(
        two.to_string(),
        "server and services on CPU 0, generator on CPU 1"
    );
    let four = on(&[0, 1, 2, 3]);
    assert_eq!((four.for_services(), four.pinned()), (&[2][..], &[3][..]));
    assert_eq!(
        four.to_string(),
        "server on CPU 0,1, services on CPU 2, generator on CPU 3"
    );
    assert_eq!(four.all(), [0, 1, 2, 3]);
    let shared = Placement::shared(&Topology::unknown(&[0, 1, 2, 3]));
    let text = shared.with_services().to_string();
    assert_eq!(text, "server, services and generator share CPU 0,1,2,3");
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
