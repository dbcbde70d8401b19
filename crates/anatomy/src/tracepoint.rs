//! The number of a tracepoint, which the kernel says in tracefs only.

use std::ffi::CString;
use std::{fs, io};

/// Where it is mounted, on systems that mount it.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// The number of a tracepoint, such as `raw_syscalls/sys_enter`. Where tracefs is not mounted (containers, small
/// systems), it is mounted for a moment, in a namespace of a thread's own, which nothing else on the system sees.
pub(crate) fn id(name: &str) -> io::Result<u64> {
    let seen = PLACES.iter().find_map(|place| read(place, name).ok());
    match seen {
        Some(id) => Ok(id),
        None => in_private(name),
    }
}

fn read(place: &str, name: &str) -> io::Result<u64> {
    let text = fs::read_to_string(format!("{place}/events/{name}/id"))?;
    text.trim().parse().map_err(io::Error::other)
}

fn in_private(name: &str) -> io::Result<u64> {
    let name = name.to_owned();
    let thread = std::thread::spawn(move || {
        mount()?;
        read(PLACES[0], &name)
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
