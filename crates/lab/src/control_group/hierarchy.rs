//! Where the kernel's control groups are mounted, and in which of them a process is.

use std::fs;
use std::path::{Path, PathBuf};

/// A controller that limits something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Controller {
    /// CPU time.
    Cpu,
    /// Memory.
    Memory,
}

impl Controller {
    /// The kernel's name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
        }
    }
}

/// Version of the kernel's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// A tree for each controller.
    V1,
    /// One tree for all.
    V2,
}

/// A tree of control groups.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mount {
    version: Version,
    /// Controllers of version 1; those of version 2 are in a file of each group.
    controllers: Vec<String>,
    /// The group that is mounted.
    root: String,
    /// Folder of that group.
    folder: PathBuf,
}

/// The group in which a process is, in the tree of a controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Membership {
    pub version: Version,
    /// Folder of the topmost group that can be seen.
    pub top: PathBuf,
    /// Folder of the process's own group, `top` or below it.
    pub own: PathBuf,
}

impl Membership {
    /// The group of a process; None where nothing limits what the controller is about.
    pub(super) fn of(process: &str, controller: Controller) -> Option<Self> {
        let read = |path: String| fs::read_to_string(path).unwrap_or_default();
        let mounts = read("/proc/self/mountinfo".into());
        let groups = read(format!("/proc/{process}/cgroup"));
        let unified = |folder: &Path| {
            let text = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
            text.split_ascii_whitespace()
                .any(|name| name == controller.name())
        };
        Self::read(&mounts, &groups, controller, unified)
    }

    /// Finds it in the texts of `/proc/self/mountinfo` and `/proc/self/cgroup`. `unified` tells whether a tree of version 2 has the controller.
    fn read(
        mounts: &str,
        groups: &str,
        controller: Controller,
        unified: impl Fn(&Path) -> bool,
    ) -> Option<Self> {
        let mounts: Vec<Mount> = mounts.lines().filter_map(Mount::parse).collect();
        let has = |mount: &&Mount| match mount.version {
            Version::V1 => mount.controllers.iter().any(|it| it == controller.name()),
            Version::V2 => unified(&mount.folder),
        };
        let mount = mounts.iter().find(has)?;
        // Each line is `number:controllers:/path`; that of version 2 has no controllers.
        let path = groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let named = match mount.version {
                Version::V1 => controllers.split(',').any(|it| it == controller.name()),
                Version::V2 => controllers.is_empty(),
            };
            named.then_some(path)
        })?;
        // A path that does not begin with what is mounted is that of the mounted group itself, seen from outside.
        let below = Path::new(path)
            .strip_prefix(&mount.root)
            .unwrap_or(Path::new(""));
        let outside = below.components().any(|it| it.as_os_str() == "..");
        Some(Self {
            version: mount.version,
            top: mount.folder.clone(),
            own: match outside || below == Path::new("") {
                true => mount.folder.clone(),
                false => mount.folder.join(below),
            },
        })
    }
}

impl Mount {
    /// A line of `mountinfo`: `36 35 0:30 ROOT FOLDER options … - TYPE source OPTIONS`.
    fn parse(line: &str) -> Option<Self> {
        let (mount, filesystem) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, folder) = (mount.next()?, mount.next()?);
        let mut filesystem = filesystem.split(' ');
        let version = match filesystem.next()? {
            "cgroup" => Version::V1,
            "cgroup2" => Version::V2,
            _ => return None,
        };
        let options = filesystem.nth(1).unwrap_or_default();
        Some(Self {
            version,
            controllers: match version {
                Version::V1 => options.split(',').map(ToOwned::to_owned).collect(),
                Version::V2 => Vec::new(),
            },
            root: root.to_owned(),
            folder: folder.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(mounts: &str, groups: &str, controller: Controller) -> Option<(Version, String)> {
        let unified = |folder: &Path| folder == Path::new("/sys/fs/cgroup");
        let found = Membership::read(mounts, groups, controller, unified)?;
        Some((found.version, found.own.display().to_string()))
    }

    #[test]
    fn a_tree_for_each_controller() {
        let mounts = "30 29 0:26 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n\
            31 30 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
            32 30 0:28 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n\
            33 30 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/jobs/7\n2:cpu,cpuacct:/\n0::/\n";
        assert_eq!(
            found(mounts, groups, Controller::Cpu),
            Some((Version::V1, "/sys/fs/cgroup/cpu,cpuacct".into()))
        );
        assert_eq!(
            found(mounts, groups, Controller::Memory),
            Some((Version::V1, "/sys/fs/cgroup/memory/jobs/7".into()))
        );
    }

    #[test]
    fn one_tree_for_all() {
        let mounts = "30 29 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
        let groups = "0::/user.slice/run-7.scope\n";
        for controller in [Controller::Cpu, Controller::Memory] {
            assert_eq!(
                found(mounts, groups, controller),
                Some((Version::V2, "/sys/fs/cgroup/user.slice/run-7.scope".into()))
            );
        }
    }

    #[test]
    fn inside_a_container() {
        // Its own group is mounted, and its path is seen from outside or from its own root.
        let mounts = "31 30 0:27 /docker/1 /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n";
        let expected = Some((Version::V1, "/sys/fs/cgroup/cpu".to_owned()));
        for groups in ["2:cpu:/docker/1\n", "2:cpu:/\n", "2:cpu:/../7\n"] {
            assert_eq!(found(mounts, groups, Controller::Cpu), expected, "{groups}");
        }
        assert_eq!(found(mounts, "", Controller::Cpu), None);
        assert_eq!(found("", "2:cpu:/\n", Controller::Cpu), None);
    }
}
