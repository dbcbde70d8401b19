//! Printing that goes on when the reader has gone: `prony report | head` ends as if all had
//! been read.
//!
//! The standard library's macros panic there. A signal (SIGPIPE, as in C) would be no better: sockets whose
//! other end is gone would raise it too, in the middle of a load. So the macros of the same names below
//! stand in front of those of the standard library, in all of this crate.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

macro_rules! print {
    ($($text:tt)*) => { $crate::out::out(format_args!($($text)*)) };
}

macro_rules! println {
    () => { $crate::out::out(format_args!("\n")) };
    ($($text:tt)*) => { $crate::out::out(format_args!("{}\n", format_args!($($text)*))) };
}

macro_rules! eprintln {
    ($($text:tt)*) => { $crate::out::err(format_args!("{}\n", format_args!($($text)*))) };
}

/// To standard output, at once. A disk that is full is an error, unlike a reader that has gone.
pub fn out(text: Arguments<'_>) {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_fmt(text).and_then(|()| stdout.flush());
    if let Err(error) = written
        && error.kind() != ErrorKind::BrokenPipe
    {
        eprintln!("standard output cannot be written: {error}");
        std::process::exit(1);
    }
}

/// To standard error. When that fails there is nowhere left to report it.
pub fn err(text: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_fmt(text);
}
