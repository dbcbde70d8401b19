//! Memory of a process according to `/proc/PID/status`.

/// A field that is given in kB, such as `VmRSS` or `VmHWM`, in bytes. `None` where the process has ended.
pub fn bytes(pid: u32, field: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    bytes_in(&status, field)
}

/// The same of the file's text.
pub fn bytes_in(status: &str, field: &str) -> Option<u64> {
    let value = status
        .lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1_024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_in_kibibytes() {
        let status = "Name:\tprony\nVmHWM:\t   20480 kB\nVmRSS:\t 100 kB\nThreads:\t2\n";
        assert_eq!(bytes_in(status, "VmHWM"), Some(20 << 20));
        assert_eq!(bytes_in(status, "VmRSS"), Some(100 << 10));
        assert_eq!(bytes_in(status, "Threads"), None, "not in kB");
        assert_eq!(bytes_in("", "VmRSS"), None);
        assert!(bytes(std::process::id(), "VmRSS").is_some_and(|it| it > 0));
    }
}
