//! Every check of a measurement, planted in a duel and, where it applies, in a capacity search: it is
//! raised for the side that has the fault, and for no other.

use super::fakes::{Behaviour, lab, side, workload, world};
use prony_lab::capacity::Capacity;
use prony_lab::duel::{Duel, LoadSpec, Time};
use prony_lab::interrupt::Interrupt;
use prony_lab::placement::Placement;
use prony_lab::side::{Side, What};
use prony_lab::topology::Topology;
use prony_record::service::{LatencyLimit, Limits};
use prony_record::verdict::{Bands, Quantity, Terms};
use prony_record::{
    Backlog, ByHost, CheckId, CpuQuota, Distributions, LimitEffect, Load, Observation, Pool, Quic,
    Recording, ServerLimits,
};
use prony_verdict::capacity::STARTS;
use prony_verdict::design::Given;
use std::time::Duration;

/// Checks that a duel cannot raise: three look at several measurements, and two judge how long was
/// measured, which in a duel the number of rounds decides.
const NOT_IN_A_DUEL: [CheckId; 5] = [
    CheckId::Ceiling,
    CheckId::RigsDiffer,
    CheckId::SpreadExceedsEffect,
    CheckId::TooFewSamples,
    CheckId::TooShort,
];

/// Checks that need a file of requests and a database, which the fakes do not have: the command's own tests raise them.
const WITH_A_DATABASE: [CheckId; 1] = [CheckId::QueriesMissing];

/// Checks of a duel that a capacity search cannot raise: they look at closed loops, or at the side's place, alone.
const NOT_IN_A_SEARCH: [CheckId; 8] = [
    CheckId::CoLocated,
    CheckId::LittlesLaw,
    CheckId::NumaCrossed,
    CheckId::Oversubscribed,
    CheckId::RateMissed,
    CheckId::ServerIdle,
    CheckId::SideNotIdle,
    CheckId::SmtShared,
];

/// The cause of each check.
fn planted() -> Vec<(CheckId, Behaviour)> {
    let clean = Behaviour::default;
    let seen = |seen| Behaviour { seen, ..clean() };
    let used = |used| Behaviour { used, ..clean() };
    vec![
        (
            CheckId::WrongAnswers,
            seen(|it| it.outcomes.wrong_answer = 10),
        ),
        (
            CheckId::SideNotIdle,
            Behaviour {
                never_rests: true,
                ..clean()
            },
        ),
        (CheckId::Unsolicited, seen(|it| it.outcomes.unsolicited = 1)),
        (
            CheckId::FlowControlStalls,
            seen(|it| it.stalled = it.outcomes.ok),
        ),
        (CheckId::Errors, seen(|it| it.outcomes.read_error = 5)),
        (
            CheckId::GeneratorSaturated,
            seen(|it| it.generator.busy = 0.99),
        ),
        (CheckId::RateMissed, seen(grows)),
        (
            CheckId::ConnectionsLimit,
            seen(|it| {
                grows(it);
                it.pool = Pool {
                    allowed: 64,
                    opened: 64,
                    helped: Some(true),
                };
            }),
        ),
        (
            CheckId::ScheduleLag,
            seen(|it| it.times.late.record_n(5_000_000, 1_000).unwrap()),
        ),
        (
            CheckId::LittlesLaw,
            seen(|it| it.times.response.record_n(500_000_000, 10_000).unwrap()),
        ),
        (
            CheckId::ListenOverflow,
            seen(|it| it.times.connect.record(1_100_000_000).unwrap()),
        ),
        (
            CheckId::Retransmits,
            Behaviour {
                retransmits: 1_000,
                ..seen(|it| {
                    it.lost_segments = 1;
                    it.times.response.record(250_000_000).unwrap();
                })
            },
        ),
        (
            CheckId::Redirects,
            seen(|it| it.statuses = [(301, it.outcomes.ok)].into()),
        ),
        (
            CheckId::PacketLoss,
            seen(|it| {
                it.quic = Some(Quic {
                    packets_sent: 1_000,
                    packets_lost: 50,
                    ..Quic::default()
                });
            }),
        ),
        (
            CheckId::UdpBufferOverflow,
            seen(|it| {
                it.quic = Some(Quic {
                    datagrams_dropped: 1,
                    ..Quic::default()
                });
            }),
        ),
        (CheckId::IdleClosed, seen(|it| it.idle_closed = 3)),
        (CheckId::CloseIgnored, seen(|it| it.close_ignored = true)),
        (
            CheckId::ServerIdle,
            Behaviour {
                cpu_ns: 10_000.0,
                ..clean()
            },
        ),
        (
            CheckId::NotSteady,
            Behaviour {
                warms_up_for: 400,
                ..clean()
            },
        ),
        (
            CheckId::NoisyHost,
            Behaviour {
                others_busy: 0.3,
                ..clean()
            },
        ),
        (
            CheckId::CoLocated,
            Behaviour {
                placement: Some(Placement::shared(&Topology::unknown(&[0]))),
                ..clean()
            },
        ),
        (
            CheckId::SmtShared,
            placed(&[
                ("cpu/cpu0/topology/core_cpus_list", "0-1"),
                ("cpu/cpu1/topology/core_cpus_list", "0-1"),
            ]),
        ),
        (
            CheckId::NumaCrossed,
            placed(&[("node/node0/cpulist", "0"), ("node/node1/cpulist", "1")]),
        ),
        (
            CheckId::FrequencyVaries,
            used(|it| it.resources.cpu_slowdown = Some(1.3)),
        ),
        (
            CheckId::Throttled,
            used(|it| {
                it.resources.limits = Some(LimitEffect {
                    limits: ServerLimits {
                        cpus: CpuQuota::new(0.5).ok(),
                        memory: None,
                    },
                    periods: 20,
                    throttled_periods: 10,
                    throttled_ns: 500_000_000,
                    ..LimitEffect::default()
                });
            }),
        ),
        (
            CheckId::ClockSlow,
            seen(|it| it.generator.clock_ns = Some(900.0)),
        ),
        (CheckId::Oversubscribed, clean()),
        (
            CheckId::AgentsDisagree,
            seen(|it| {
                slower_host(it)
                    .times
                    .response
                    .record_n(90_000_000, 100_000)
                    .unwrap();
            }),
        ),
        (
            CheckId::StartSkew,
            seen(|it| slower_host(it).late_start_ns = 5_000_000),
        ),
        (
            CheckId::ClockUncertain,
            seen(|it| slower_host(it).clock_error_ns = 50_000_000),
        ),
        (
            CheckId::LinkSaturated,
            Behaviour {
                cpu_ns: 10_000.0,
                ..seen(|it| {
                    it.bytes_received = 100 * it.outcomes.ok;
                    let rate = it.throughput() * 100.0;
                    slower_host(it);
                    it.by_host[0].link_bytes_per_second = Some(rate);
                })
            },
        ),
        (
            CheckId::UnevenConnections,
            used(|it| it.resources.connections_per_loop = vec![60, 4]),
        ),
    ]
}

/// On two CPUs of a machine that has these files below `/sys/devices/system`.
fn placed(files: &[(&str, &str)]) -> Behaviour {
    let root = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = root.path().join("sys/devices/system").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    Behaviour {
        placement: Some(Placement::split(&Topology::read(root.path(), &[0, 1]))),
        ..Behaviour::default()
    }
}

/// Changes `seen` as if half of what was due had not been answered.
fn grows(seen: &mut Observation) {
    seen.outcomes.ok /= 2;
    seen.backlog = Backlog {
        judged: 1,
        grew: 1,
        at_end: 1_000,
        growth: 500.0,
    };
}

/// Changes `seen` as if two machines had sent the load and seen the same. Returns the second, to be changed.
fn slower_host(seen: &mut Observation) -> &mut ByHost {
    seen.by_host = ["h1", "h2"]
        .map(|host| ByHost {
            host: host.into(),
            times: Distributions {
                response: seen.times.response.clone(),
                ..Distributions::default()
            },
            ..ByHost::default()
        })
        .to_vec();
    &mut seen.by_host[1]
}

fn sides(check: CheckId) -> [Side; 2] {
    let mut sides = [side("calm"), side("planted")];
    if let (CheckId::Oversubscribed, What::Started { workers, .. }) = (check, &mut sides[1].what) {
        *workers = 4;
    }
    sides
}

fn spec() -> LoadSpec {
    LoadSpec {
        workload: workload(),
        load: Load::default(),
        given: Given {
            connections: Some(64),
            threads: None,
            duration: Some(Duration::from_secs(2)),
            warmup: Some(Duration::from_secs(2)),
            timeout: None,
            rate: Some(2_000.0),
            no_pause: true,
            other_rates: false,
        },
    }
}

fn names(journal: &[Recording], server: &str) -> Vec<CheckId> {
    let of = journal.iter().filter(|it| it.trial.server == server);
    of.filter_map(|it| it.trial.observation.as_ref())
        .flat_map(|measured| measured.checks.iter().map(|check| check.name))
        .collect()
}

#[test]
fn the_table_is_complete() {
    let mut known: Vec<CheckId> = planted().into_iter().map(|(check, _)| check).collect();
    known.extend(NOT_IN_A_DUEL);
    known.extend(WITH_A_DATABASE);
    known.sort_unstable();
    let all = prony_checks::explanations();
    assert_eq!(known, all.iter().map(|it| it.name).collect::<Vec<_>>());
}

#[test]
fn each_is_raised_in_a_duel() {
    for (check, behaviour) in planted() {
        // How CPUs are shared out is the same for all.
        let shared = behaviour.placement.is_some();
        let (_world, host, generator) =
            world(&[("calm", Behaviour::default()), ("planted", behaviour)]);
        let interrupt = Interrupt::default();
        let (sides, spec) = (sides(check), spec());
        let terms = Terms {
            quantities: Quantity::ALL.to_vec(),
            most: 3,
            exact: true,
            precision: None,
            band: 0.01,
            bands: Bands::all(0.01),
        };
        let duel = Duel {
            lab: lab(&host, &generator, &interrupt),
            sides: &sides,
            spec: &spec,
            terms: &terms,
            time: Time::Unlimited,
        };
        let mut journal: Vec<Recording> = Vec::new();
        let (seen, _) = duel.carry_out(&mut journal, &mut |_| {}).unwrap();
        let raised = names(&journal, "planted");
        assert!(raised.contains(&check), "{check}: {raised:?}");
        let calm = names(&journal, "calm");
        assert!(shared || calm.is_empty(), "{check}: {calm:?}");
        let findings = seen.findings();
        let told = findings
            .iter()
            .find(|it| it.name == check && it.text.contains("planted"));
        assert!(told.is_some(), "{check}: {findings:?}");
    }
}

// Slow: 20 capacity searches, with simulated servers.
#[test]
fn each_that_applies_is_raised_in_a_capacity_search() {
    for (check, behaviour) in planted() {
        if NOT_IN_A_SEARCH.contains(&check) {
            continue;
        }
        let (_world, host, generator) = world(&[("planted", behaviour)]);
        let interrupt = Interrupt::default();
        let (side, spec) = (side("planted"), spec());
        let capacity = Capacity {
            lab: lab(&host, &generator, &interrupt),
            side: &side,
            spec: &spec,
            max_connections: 1_000,
            limits: Limits {
                latency: vec![LatencyLimit::new(99.0, 10.0)],
                errors: 0.5,
                good: None,
            },
            starts: STARTS,
            beyond: None,
            max_time: None,
        };
        let mut journal: Vec<Recording> = Vec::new();
        capacity.carry_out(&mut journal, &mut |_| {}).unwrap();
        let raised = names(&journal, "planted");
        assert!(raised.contains(&check), "{check}: {raised:?}");
    }
}
