//! Control groups of servers: the kernel limits the CPU time and memory of all processes in one, and counts how often
//! the processes reached the limits.
//!
//! Each start of a server has its group, below prony's own where that can be written. The [supervisor](crate::supervisor)
//! puts the server into it, not itself, and removes it when nothing of the server is left. Should prony and the supervisor
//! be killed, the group is found by its name and removed when prony starts again.

mod counters;
mod hierarchy;

pub use counters::Folders;

use crate::leftovers::namespace_number;
use hierarchy::{Controller, Membership, Version};
use prony_record::ServerLimits;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Names of prony's groups begin with this; then follow the namespace of process numbers, the number of prony's process and
/// one that counts.
const PREFIX: &str = "prony-";
/// Name of the group that prony itself goes into, behind the same numbers.
const SELF: &str = "self";
/// The longest wait for a group to be empty: its processes have ended, and the kernel still has to notice.
const EMPTY_LIMIT: Duration = Duration::from_secs(5);

/// How limits can be had where prony itself may not set them.
pub const REMEDY: &str = "start prony as root, or in a group that it may divide: `systemd-run --user --scope -p Delegate=yes \
                          prony …`; inside a container, its control groups must be writable";

/// Servers cannot be limited here.
#[derive(Debug)]
pub struct Unlimitable(String);

impl fmt::Display for Unlimitable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "servers cannot be limited here: {}", self.0)
    }
}

/// The control group of a server. Dropping it removes it, if its supervisor has not.
#[derive(Debug)]
pub struct Group(Folders);

impl Group {
    /// A new group with these limits; None without limits.
    ///
    /// # Errors
    /// When the kernel has no control groups, or prony may not make one.
    pub fn new(limits: &ServerLimits) -> Result<Option<Self>, Unlimitable> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        if limits.is_none() {
            return Ok(None);
        }
        let name = own_name(&NEXT.fetch_add(1, Ordering::Relaxed).to_string());
        let found: Vec<(Controller, Membership)> = controllers(limits)
            .map(|controller| {
                let none = || Unlimitable(format!("no control groups for {}", controller.name()));
                Ok((
                    controller,
                    Membership::of("self", controller).ok_or_else(none)?,
                ))
            })
            .collect::<Result<_, _>>()?;
        let unified = found.iter().filter(|(_, own)| own.version == Version::V2);
        let unified: Vec<Controller> = unified.map(|(controller, _)| *controller).collect();
        let mut this = Self(Folders {
            limits: *limits,
            ..Folders::default()
        });
        let mut common = None;
        for (controller, own) in &found {
            // Of version 2, one group has all controllers.
            let folder = match own.version {
                Version::V1 => make(own, &name, &[])?,
                Version::V2 => match &common {
                    Some(made) => PathBuf::clone(made),
                    None => common.insert(make(own, &name, &unified)?).clone(),
                },
            };
            match controller {
                Controller::Cpu => this.0.cpu = Some(folder.clone()),
                Controller::Memory => this.0.memory = Some(folder.clone()),
            }
            counters::limit((*controller, own.version), &folder, limits)
                .map_err(|error| Unlimitable(error.to_string()))?;
        }
        Ok(Some(this))
    }

    /// Can servers be limited here? Tries it, before anything is started.
    ///
    /// # Errors
    /// Why not.
    pub fn check(limits: &ServerLimits) -> Result<(), Unlimitable> {
        Self::new(limits).map(drop)
    }

    /// Folders of the group.
    #[must_use]
    pub const fn folders(&self) -> &Folders {
        &self.0
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.0.remove();
    }
}

impl Folders {
    /// The groups that limit this process of a container, which its engine has made; None without limits.
    ///
    /// # Errors
    /// When the engine has not limited it: some only print a warning.
    pub(crate) fn around(
        process: libc::pid_t,
        limits: &ServerLimits,
    ) -> Result<Option<Self>, Unlimitable> {
        if limits.is_none() {
            return Ok(None);
        }
        let find = |controller: Controller| {
            let group = Membership::of(&process.to_string(), controller)?;
            // The process may be in a group below the one with the limit.
            let mut up = (group.own.ancestors()).take_while(|it| it.starts_with(&group.top));
            up.find(|folder| counters::is_limited(folder, controller, group.version))
                .map(Path::to_owned)
        };
        let mut this = Self {
            limits: *limits,
            ..Self::default()
        };
        for controller in controllers(limits) {
            let ignored = || {
                Unlimitable(format!(
                    "the container's engine has set no limit of {}",
                    controller.name()
                ))
            };
            let folder = Some(find(controller).ok_or_else(ignored)?);
            match controller {
                Controller::Cpu => this.cpu = folder,
                Controller::Memory => this.memory = folder,
            }
        }
        Ok(Some(this))
    }

    /// Files through which a process joins the group: each takes `0`, the number of who writes.
    pub(crate) fn doors(&self) -> io::Result<Vec<fs::File>> {
        let open = |folder: &PathBuf| {
            fs::File::options()
                .write(true)
                .open(folder.join("cgroup.procs"))
        };
        self.all().map(open).collect()
    }

    /// Removes the group, whose processes have ended or are about to.
    pub(crate) fn remove(&self) {
        for folder in self.all() {
            remove(folder, EMPTY_LIMIT);
        }
    }
}

/// Removes the groups of pronys that are no more, except where their servers are still being ended.
pub fn remove_left() {
    let own = |controller| Membership::of("self", controller);
    for group in [Controller::Cpu, Controller::Memory]
        .into_iter()
        .filter_map(own)
    {
        for above in places(&group) {
            let entries = fs::read_dir(above).into_iter().flatten().flatten();
            let left = entries.filter(|entry| {
                let name = entry.file_name();
                let owner = name
                    .to_str()
                    .and_then(|name| owner(name, namespace_number()));
                owner.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists())
            });
            for entry in left {
                remove(&entry.path(), Duration::ZERO);
            }
        }
    }
}

/// Removes a group as soon as it is empty, for as long as this.
fn remove(folder: &Path, limit: Duration) {
    let begun = Instant::now();
    while let Err(error) = fs::remove_dir(folder) {
        if error.kind() != io::ErrorKind::ResourceBusy || begun.elapsed() >= limit {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn controllers(limits: &ServerLimits) -> impl Iterator<Item = Controller> {
    let cpu = limits.cpus.map(|_| Controller::Cpu);
    let memory = limits.memory.map(|_| Controller::Memory);
    cpu.into_iter().chain(memory)
}

/// Name of a group of this process.
fn own_name(last: &str) -> String {
    name(namespace_number(), std::process::id(), last)
}

fn name(namespace: u64, process: u32, last: &str) -> String {
    format!("{PREFIX}{namespace}-{process}-{last}")
}

/// The number of the prony that has made the group of this name; None for another's.
fn owner(group: &str, namespace: u64) -> Option<u32> {
    let mut parts = group.strip_prefix(PREFIX)?.splitn(3, '-');
    let ours = parts.next()?.parse() == Ok(namespace);
    let process = parts.next()?.parse().ok();
    process.filter(|_| ours && parts.next().is_some())
}

/// The groups below which servers' groups may be, in the order in which that is tried: prony's own, and, for root in a
/// session's group, the topmost. What prony itself was put into is below the former.
fn places(group: &Membership) -> Vec<PathBuf> {
    let is_own = |name: &str| owner(name, namespace_number()).is_some() && name.ends_with(SELF);
    let own = match group.own.file_name().and_then(|name| name.to_str()) {
        Some(name) if is_own(name) => group.own.parent().unwrap_or(&group.top),
        _ => &group.own,
    };
    let mut places = vec![own.to_owned()];
    places.extend((own != group.top).then(|| group.top.clone()));
    places
}

/// Makes a group in the first place that allows it, where `wanted` controllers are handed down (version 2).
fn make(own: &Membership, name: &str, wanted: &[Controller]) -> Result<PathBuf, Unlimitable> {
    let mut first = None;
    for place in places(own) {
        let folder = place.join(name);
        match hand_down(&place, wanted).and_then(|()| fs::create_dir(&folder)) {
            Ok(()) => return Ok(folder),
            Err(error) => {
                let told = format!(
                    "no control group can be made in {}: {error}",
                    place.display()
                );
                first.get_or_insert(told);
            }
        }
    }
    Err(Unlimitable(first.unwrap_or_default()))
}

/// Has the groups below this one (version 2) know these controllers. The kernel refuses it while processes are in the group
/// itself; if prony alone is, it goes into a group below.
fn hand_down(place: &Path, wanted: &[Controller]) -> io::Result<()> {
    let control = place.join("cgroup.subtree_control");
    if wanted.is_empty() {
        return Ok(());
    }
    let known = fs::read_to_string(&control)?;
    let known: Vec<&str> = known.split_ascii_whitespace().collect();
    let missing = wanted.iter().filter(|it| !known.contains(&it.name()));
    let missing: Vec<String> = missing.map(|it| format!("+{}", it.name())).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let missing = missing.join(" ");
    let refused = match fs::write(&control, &missing) {
        Err(error) if error.kind() == io::ErrorKind::ResourceBusy => error,
        done => return done,
    };
    let me = std::process::id().to_string();
    if fs::read_to_string(place.join("cgroup.procs"))?.trim() != me {
        return Err(io::Error::new(refused.kind(), "other processes are in it"));
    }
    let below = place.join(own_name(SELF));
    fs::create_dir(&below)?;
    fs::write(below.join("cgroup.procs"), &me)?;
    fs::write(&control, &missing).inspect_err(|_| {
        let _ = fs::write(place.join("cgroup.procs"), &me);
        remove(&below, Duration::ZERO);
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_is_in_the_name() {
        let own = namespace_number();
        assert_eq!(owner(&name(own, 4711, "0"), own), Some(4711));
        assert_eq!(owner(&name(own, 4711, SELF), own), Some(4711));
        for other in [
            &name(own + 1, 4711, "0"),
            "prony-x-1-2",
            "prony-1",
            "user.slice",
        ] {
            assert_eq!(owner(other, own), None, "{other}");
        }
    }

    #[test]
    fn below_its_own_group_or_at_the_top() {
        let group = |own: &str| Membership {
            version: Version::V2,
            top: "/cg".into(),
            own: own.into(),
        };
        let shown = |own: &str| {
            let all = places(&group(own)).into_iter();
            all.map(|it| it.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(shown("/cg/a.scope"), ["/cg/a.scope", "/cg"]);
        assert_eq!(shown("/cg"), ["/cg"]);
        let inside = format!("/cg/a.scope/{}", own_name(SELF));
        assert_eq!(shown(&inside), ["/cg/a.scope", "/cg"]);
    }

    #[test]
    fn controllers_are_handed_down_once() {
        let place = tempfile::tempdir().unwrap();
        let control = place.path().join("cgroup.subtree_control");
        let wanted = [Controller::Cpu, Controller::Memory];
        assert!(hand_down(place.path(), &wanted).is_err());
        assert!(hand_down(place.path(), &[]).is_ok());
        fs::write(&control, "cpuset memory\n").unwrap();
        hand_down(place.path(), &wanted).unwrap();
        assert_eq!(fs::read_to_string(&control).unwrap(), "+cpu");
        fs::write(&control, "cpu memory\n").unwrap();
        hand_down(place.path(), &wanted).unwrap();
        assert_eq!(fs::read_to_string(&control).unwrap(), "cpu memory\n");
    }

    #[test]
    fn nothing_is_made_without_limits() {
        assert!(Group::new(&ServerLimits::default()).unwrap().is_none());
    }
}
