//! Is the process that wrote a run still there?

use std::fs;
use std::io;

/// Identity of a process, valid as long as the file lives: ids recur, but not with the same start in the same boot.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ProcessKey {
    /// The process id, as seen in its own pid namespace.
    pub pid: u32,
    /// `/proc/sys/kernel/random/boot_id`.
    pub boot_id: String,
    /// When it started, in clock ticks since the boot: `starttime` of proc_pid_stat(5).
    pub start_ticks: u64,
}

impl ProcessKey {
    /// Returns the identity of this process.
    ///
    /// # Errors
    ///
    /// If `/proc` cannot be read.
    pub fn current() -> io::Result<Self> {
        let pid = std::process::id();
        let start_ticks = start_ticks(pid)?.ok_or(io::ErrorKind::InvalidData)?;
        Ok(Self {
            pid,
            boot_id: boot_id()?,
            start_ticks,
        })
    }

    /// Is it still running here? A process in another pid namespace (a container with the same
    /// notebook) cannot be seen and counts as gone.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let same_boot = boot_id().is_ok_and(|boot_id| boot_id == self.boot_id);
        same_boot && start_ticks(self.pid).ok().flatten() == Some(self.start_ticks)
    }
}

fn boot_id() -> io::Result<String> {
    Ok(fs::read_to_string("/proc/sys/kernel/random/boot_id")?
        .trim()
        .to_owned())
}

/// When the process started; None if it has ended and only waits to be collected.
fn start_ticks(pid: u32) -> io::Result<Option<u64>> {
    Ok(parse_stat(&fs::read_to_string(format!(
        "/proc/{pid}/stat"
    ))?))
}

/// Field 22 of proc_pid_stat(5), unless field 3, the state, says that the process has ended. The
/// second field is a name in parentheses and may hold anything, so counting begins after it.
fn parse_stat(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    let state = fields.next()?;
    (!matches!(state, "Z" | "X")).then_some(())?;
    fields.nth(22 - 4)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_others_are_not_taken_for_it() {
        let this = ProcessKey::current().expect("/proc");
        assert!(this.is_alive());
        assert!(
            !ProcessKey {
                start_ticks: this.start_ticks + 1,
                ..this.clone()
            }
            .is_alive()
        );
        assert!(
            !ProcessKey {
                boot_id: "another".to_owned(),
                ..this.clone()
            }
            .is_alive()
        );
        assert!(
            !ProcessKey {
                pid: u32::MAX,
                ..this
            }
            .is_alive()
        );
    }

    #[test]
    fn a_name_may_hold_anything() {
        let tail = "1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 4711 0 0";
        assert_eq!(parse_stat(&format!("7 (a) b (c)) S {tail}\n")), Some(4711));
        assert_eq!(parse_stat(&format!("7 (gone) Z {tail}\n")), None);
        assert_eq!(parse_stat("garbage"), None);
    }
}
