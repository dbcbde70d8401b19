//! Refusals of the system, and what would lift them.

use std::{fs, io};

/// The kernel refuses sampling or counting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// Attempt, and the kernel's answer.
    pub what: String,
    /// Remedy, in one line.
    pub remedy: String,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; {}", self.what, self.remedy)
    }
}

impl std::error::Error for Refused {}

impl Refused {
    /// `tried` is what was tried, such as `sampling the server's stacks`.
    pub(crate) fn new(tried: &str, error: &io::Error) -> Self {
        let what = format!("{tried} is refused: {error}");
        let remedy = match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => allow(),
            Some(libc::ENOSYS) => {
                "this kernel or this container has no perf_event_open (Docker: run with `--cap-add PERFMON \
                 --security-opt seccomp=unconfined`)"
                    .to_owned()
            }
            Some(libc::EMFILE) => "raise the limit of open files (`ulimit -n`)".to_owned(),
            _ => "`perf record -e cpu-clock -a sleep 1` may say more".to_owned(),
        };
        Self { what, remedy }
    }
}

/// The line that allows it, with the setting that forbids it.
fn allow() -> String {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
    let now = paranoid.map_or_else(|_| "unknown".to_owned(), |it| it.trim().to_owned());
    format!(
        "`sudo sysctl kernel.perf_event_paranoid=-1` allows it (it is {now}), or run prony as root; in a container also \
         `--cap-add PERFMON --security-opt seccomp=unconfined`"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_right_comes_with_the_line_that_grants_it() {
        let refused = Refused::new("sampling", &io::Error::from_raw_os_error(libc::EPERM));
        assert!(refused.what.starts_with("sampling is refused: "));
        assert!(refused.remedy.contains("kernel.perf_event_paranoid=-1"));
        let other = Refused::new("sampling", &io::Error::from_raw_os_error(libc::EMFILE));
        assert!(other.remedy.contains("ulimit"));
    }
}
