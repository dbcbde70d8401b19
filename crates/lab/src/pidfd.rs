//! Processes by descriptors, which stay with them whoever gets their numbers later.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// A descriptor of the process that has this number now; it becomes readable when the process ends.
pub(crate) fn open(pid: libc::pid_t) -> io::Result<OwnedFd> {
    // SAFETY: a plain system call.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: just opened, and has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) })
}

/// Sends a signal to a process.
pub(crate) fn send(process: &OwnedFd, signal: libc::c_int) -> io::Result<()> {
    let (fd, nothing) = (process.as_raw_fd(), std::ptr::null::<libc::siginfo_t>());
    // SAFETY: a plain system call; a null pointer stands for what kill(2) would send.
    match unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, nothing, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
