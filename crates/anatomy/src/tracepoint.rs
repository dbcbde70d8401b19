//! Facts about a tracepoint that the kernel gives in tracefs only: its number, and the places of its fields.

use std::ffi::CString;
use std::{fs, io};

/// Where it is mounted, on systems that mount it.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The number of a tracepoint, such as `raw_syscalls/sys_enter`.
pub(crate) fn id(name: &str) -> io::Result<u64> {
    file(name, "id")?.trim().parse().map_err(io::Error::other)
}

/// Where the fields of `sched/sched_switch` that are used lie in its records, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SwitchFields {
    /// The thread that leaves the CPU: 4 bytes.
    pub leaves: usize,
    /// Why it does: 8 bytes.
    pub state: usize,
    /// The thread that comes: 4 bytes.
    pub comes: usize,
}

/// The number of `sched/sched_switch`, and where its fields lie.
pub(crate) fn switches() -> io::Result<(u64, SwitchFields)> {
    let name = "sched/sched_switch";
    let fields = fields(&file(name, "format")?).ok_or_else(|| {
        io::Error::other("the kernel's sched_switch has fields that are not known")
    })?;
    Ok((id(name)?, fields))
}

/// Reads a format: `field:pid_t prev_pid; offset:24; size:4; signed:1;`.
fn fields(format: &str) -> Option<SwitchFields> {
    let place = |name: &str, size: usize| {
        let line = format
            .lines()
            .find(|line| line.contains(&format!(" {name};")))?;
        let number = |key: &str| {
            let (_, rest) = line.split_once(key)?;
            rest.split(';').next()?.trim().parse::<usize>().ok()
        };
        number("offset:").filter(|_| number("size:") == Some(size))
    };
    Some(SwitchFields {
        leaves: place("prev_pid", 4)?,
        state: place("prev_state", 8)?,
        comes: place("next_pid", 4)?,
    })
}

/// A file of a tracepoint. Where tracefs is not mounted (containers, small systems), it is mounted for a moment, in a
/// namespace of a thread's own, which nothing else on the system sees.
fn file(name: &str, file: &str) -> io::Result<String> {
    let seen = PLACES.iter().find_map(|place| read(place, name, file).ok());
    match seen {
        Some(text) => Ok(text),
        None => in_private(name, file),
    }
}

fn read(place: &str, name: &str, file: &str) -> io::Result<String> {
    fs::read_to_string(format!("{place}/events/{name}/{file}"))
}

fn in_private(name: &str, file: &str) -> io::Result<String> {
    let (name, file) = (name.to_owned(), file.to_owned());
    let thread = std::thread::spawn(move || {
        mount()?;
        read(PLACES[0], &name, &file)
    });
    let gone = |_| io::Error::other("the thread that reads tracefs has ended");
    thread.join().map_err(gone)?
}

/// Mounts tracefs for the calling thread alone.
fn mount() -> io::Result<()> {
    let done = |result: libc::c_int| match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    };
    let [root, place, kind] =
        ["/", PLACES[0], "tracefs"].map(|text| CString::new(text).unwrap_or_default());
    // SAFETY: plain system calls with valid strings. The thread leaves its process' mount namespace first, and what is
    // mounted is not passed on to others; the thread does nothing else afterwards.
    unsafe {
        done(libc::unshare(libc::CLONE_FS | libc::CLONE_NEWNS))?;
        let nothing = std::ptr::null();
        let private = libc::MS_REC | libc::MS_PRIVATE;
        done(libc::mount(
            nothing,
            root.as_ptr(),
            nothing,
            private,
            nothing.cast(),
        ))?;
        let from = kind.as_ptr();
        done(libc::mount(from, place.as_ptr(), from, 0, nothing.cast()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_name_and_have_the_known_size() {
        let format = "name: sched_switch\nformat:\n\
            \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
            \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
            \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
            \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
            \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\n\
            print fmt: \"prev_pid=%d next_pid=%d\"";
        let expected = SwitchFields {
            leaves: 24,
            state: 32,
            comes: 56,
        };
        assert_eq!(fields(format), Some(expected));
        assert_eq!(fields(&format.replace("size:8", "size:4")), None);
        assert_eq!(fields(&format.replace("next_pid;", "next;")), None);
    }
}
