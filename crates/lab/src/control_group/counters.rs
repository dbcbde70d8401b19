//! The files of a control group: its limits, and what the kernel counts.

use super::hierarchy::{Controller, Version};
use prony_record::{LimitEffect, Nanos, ServerLimits, Size};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Length of a period, in which a group may use its CPU time: the kernel's default, and that of container engines.
const PERIOD: Nanos = 100_000_000;

/// Beginnings of what files of limits have where there is none; the last is that of memory in version 1.
const UNLIMITED: [&str; 3] = ["max", "-1", "92233720368547"];

/// The folders of a server's control group, by controller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Folders {
    /// Limits of the server.
    pub(super) limits: ServerLimits,
    /// The group of CPU time, if that is limited.
    pub(super) cpu: Option<PathBuf>,
    /// The group of memory, if that is limited; of version 2 the same.
    pub(super) memory: Option<PathBuf>,
}

/// Counters of a control group since it was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    periods: u64,
    throttled_periods: u64,
    throttled_ns: Nanos,
    memory_reached: u64,
    oom_kills: u64,
}

impl Folders {
    /// Every folder once.
    pub(super) fn all(&self) -> impl Iterator<Item = &PathBuf> {
        let memory = self.memory.as_ref();
        let other = memory.filter(|it| Some(*it) != self.cpu.as_ref());
        self.cpu.iter().chain(other)
    }

    /// The counters now; 0 where the group is gone.
    pub(crate) fn counters(&self) -> Counters {
        let text = |folder: &Option<PathBuf>, name: &str| {
            let folder = folder.as_deref().map(|it| it.join(name));
            folder.map_or_else(String::new, |it| fs::read_to_string(it).unwrap_or_default())
        };
        let memory = [
            "memory.events",
            "memory.oom_control",
            "memory.failcnt",
            "memory.memsw.failcnt",
        ];
        let memory = memory.map(|name| text(&self.memory, name));
        Counters::read(&text(&self.cpu, "cpu.stat"), &memory)
    }

    /// Effect of the limits between two counts.
    pub(crate) fn effect(&self, before: &Counters, after: &Counters) -> LimitEffect {
        LimitEffect {
            limits: self.limits,
            periods: after.periods.saturating_sub(before.periods),
            throttled_periods: (after.throttled_periods).saturating_sub(before.throttled_periods),
            throttled_ns: after.throttled_ns.saturating_sub(before.throttled_ns),
            memory_reached: after.memory_reached.saturating_sub(before.memory_reached),
            oom_kills: after.oom_kills.saturating_sub(before.oom_kills),
        }
    }

    /// The limit of memory because of which the kernel has killed a process of the group; None: it has killed none.
    pub(crate) fn killed_for(&self) -> Option<Size> {
        (self.counters().oom_kills > 0).then_some(self.limits.memory)?
    }
}

impl Counters {
    /// The counters in `cpu.stat` and, of memory, in `memory.events` (version 2) or `memory.oom_control` and
    /// both `failcnt` (version 1), which counts a limit that includes swap for itself.
    fn read(cpu: &str, [events, oom_control, reached @ ..]: &[String; 4]) -> Self {
        let value = |text: &str, name: &str| -> Option<u64> {
            let mut pairs = text.lines().filter_map(|line| line.split_once(' '));
            let (_, value) = pairs.find(|(known, _)| *known == name)?;
            value.trim().parse().ok()
        };
        let count = |text: &str| text.trim().parse().unwrap_or(0);
        let micros = |name| value(cpu, name).map(|it| it * 1000);
        Self {
            periods: value(cpu, "nr_periods").unwrap_or(0),
            throttled_periods: value(cpu, "nr_throttled").unwrap_or(0),
            // Version 1 says nanoseconds, version 2 microseconds.
            throttled_ns: value(cpu, "throttled_time")
                .or_else(|| micros("throttled_usec"))
                .unwrap_or(0),
            memory_reached: value(events, "max")
                .unwrap_or_else(|| count(&reached[0]) + count(&reached[1])),
            oom_kills: value(events, "oom_kill")
                .or_else(|| value(oom_control, "oom_kill"))
                .unwrap_or(0),
        }
    }
}

/// Sets the limit of a controller in its group.
///
/// # Errors
/// When the kernel does not take it.
pub(super) fn limit(
    (controller, version): (Controller, Version),
    folder: &Path,
    limits: &ServerLimits,
) -> io::Result<()> {
    for (name, value) in settings(controller, version, limits) {
        let path = folder.join(name);
        match fs::write(&path, value) {
            // Kernels that do not count swap have no limit of it, nor need it.
            Err(_) if name.contains("sw") && !path.exists() => {}
            done => done.map_err(|error| {
                io::Error::new(error.kind(), format!("{}: {error}", path.display()))
            })?,
        }
    }
    Ok(())
}

/// Does a group limit what the controller is about?
pub(super) fn is_limited(folder: &Path, controller: Controller, version: Version) -> bool {
    let name = match (controller, version) {
        (Controller::Cpu, Version::V1) => "cpu.cfs_quota_us",
        (Controller::Cpu, Version::V2) => "cpu.max",
        (Controller::Memory, Version::V1) => "memory.limit_in_bytes",
        (Controller::Memory, Version::V2) => "memory.max",
    };
    let text = fs::read_to_string(folder.join(name)).unwrap_or_default();
    !text.is_empty() && UNLIMITED.iter().all(|it| !text.starts_with(it))
}

/// Files and their values that set the limit of a controller. Memory is limited without swap, as in production.
fn settings(
    controller: Controller,
    version: Version,
    limits: &ServerLimits,
) -> Vec<(&'static str, String)> {
    let micros = |nanos: Nanos| (nanos / 1000).to_string();
    match (controller, limits.cpus, limits.memory) {
        (Controller::Cpu, Some(cpus), _) => {
            let (quota, period) = (micros(cpus.of_period(PERIOD)), micros(PERIOD));
            match version {
                Version::V1 => vec![("cpu.cfs_period_us", period), ("cpu.cfs_quota_us", quota)],
                Version::V2 => vec![("cpu.max", format!("{quota} {period}"))],
            }
        }
        (Controller::Memory, _, Some(Size(bytes))) => match version {
            Version::V1 => vec![
                ("memory.limit_in_bytes", bytes.to_string()),
                ("memory.memsw.limit_in_bytes", bytes.to_string()),
            ],
            Version::V2 => vec![
                ("memory.max", bytes.to_string()),
                ("memory.swap.max", "0".to_owned()),
            ],
        },
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_count_the_same() {
        let expected = Counters {
            periods: 50,
            throttled_periods: 20,
            throttled_ns: 1_500_000,
            memory_reached: 7,
            oom_kills: 1,
        };
        let first = "nr_periods 50\nnr_throttled 20\nthrottled_time 1500000\n";
        let oom = "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n";
        assert_eq!(
            Counters::read(first, &["".into(), oom.into(), "3\n".into(), "4\n".into()]),
            expected
        );
        let second = "usage_usec 9\nuser_usec 5\nnr_periods 50\nnr_throttled 20\nthrottled_usec 1500\nnr_bursts 0\n";
        let events = "low 0\nhigh 0\nmax 7\noom 1\noom_kill 1\noom_group_kill 0\n";
        assert_eq!(
            Counters::read(second, &[events.into(), "".into(), "".into(), "".into()]),
            expected
        );
        assert_eq!(Counters::read("", &Default::default()), Counters::default());
    }

    #[test]
    fn a_group_without_a_limit_is_told_from_one_with() {
        let folder = tempfile::tempdir().unwrap();
        let is = |controller, version| is_limited(folder.path(), controller, version);
        for (name, controller, version, without, with) in [
            (
                "cpu.max",
                Controller::Cpu,
                Version::V2,
                "max 100000",
                "50000 100000",
            ),
            (
                "cpu.cfs_quota_us",
                Controller::Cpu,
                Version::V1,
                "-1",
                "50000",
            ),
            (
                "memory.max",
                Controller::Memory,
                Version::V2,
                "max",
                "1048576",
            ),
            (
                "memory.limit_in_bytes",
                Controller::Memory,
                Version::V1,
                "9223372036854771712",
                "1048576",
            ),
        ] {
            assert!(!is(controller, version), "{name}");
            fs::write(folder.path().join(name), without).unwrap();
            assert!(!is(controller, version), "{name}");
            fs::write(folder.path().join(name), with).unwrap();
            assert!(is(controller, version), "{name}");
        }
    }

    #[test]
    fn limits_are_set_in_the_words_of_each_version() {
        let limits = ServerLimits {
            cpus: "0.5".parse().ok(),
            memory: "1MiB".parse().ok(),
        };
        let text = |controller, version| {
            let all = settings(controller, version, &limits).into_iter();
            all.map(|(name, value)| format!("{name}={value}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            text(Controller::Cpu, Version::V1),
            ["cpu.cfs_period_us=100000", "cpu.cfs_quota_us=50000"]
        );
        assert_eq!(text(Controller::Cpu, Version::V2), ["cpu.max=50000 100000"]);
        assert_eq!(
            text(Controller::Memory, Version::V1),
            [
                "memory.limit_in_bytes=1048576",
                "memory.memsw.limit_in_bytes=1048576"
            ]
        );
        assert_eq!(
            text(Controller::Memory, Version::V2),
            ["memory.max=1048576", "memory.swap.max=0"]
        );
        let none = ServerLimits::default();
        assert!(settings(Controller::Cpu, Version::V2, &none).is_empty());
    }
}
