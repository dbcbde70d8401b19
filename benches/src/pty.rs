//! A pseudo-terminal whose output is read and discarded.

use crate::error::{Error, Result};
use rustix::io::Errno;
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::thread::{self, JoinHandle};

/// As wide and high as people have them.
const SIZE: Winsize = Winsize {
    ws_row: 40,
    ws_col: 120,
    ws_xpixel: 0,
    ws_ypixel: 0,
};

/// Opens one: returns the end for a command, and a thread that counts the bytes written to it until the
/// last process has closed that end.
///
/// # Errors
/// When the system has none.
pub fn open() -> Result<(OwnedFd, JoinHandle<u64>)> {
    let pair = || -> std::result::Result<(OwnedFd, OwnedFd), Errno> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let user = ioctl_tiocgptpeer(&controller, flags)?;
        tcsetwinsize(&user, SIZE)?;
        Ok((controller, user))
    };
    let (controller, user) =
        pair().map_err(|error| Error::io("cannot open a terminal")(io::Error::from(error)))?;
    let reader = thread::spawn(move || {
        let (mut from, mut buffer, mut bytes) = (File::from(controller), [0; 4096], 0);
        // Once no process can write any more, reading fails.
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            bytes += n as u64;
        }
        bytes
    });
    Ok((user, reader))
}
