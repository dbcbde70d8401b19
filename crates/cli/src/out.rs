//! Printing that goes on when the reader has gone: `prony report | head` ends as if all had
//! been read.
//!
//! The standard library's macros panic there. A signal (SIGPIPE, as in C) would be no better: sockets whose
//! other end is gone would raise it too, in the middle of a load. So the macros of the same names below
//! stand in front of those of the standard library, in all of this crate.

use crate::{locale, paint};
use prony_report::table::UNLIMITED;
use std::fmt::Arguments;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Narrower terminals break lines themselves.
const NARROWEST: usize = 20;

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

/// Something could not be written to standard output.
static FAILED: AtomicBool = AtomicBool::new(false);

/// The file that takes the place of standard output (`--output`).
static FILE: OnceLock<File> = OnceLock::new();

/// Sends all later output to this file; `-` is standard output. An older file keeps its content until there is a result.
///
/// # Errors
/// When it cannot be written.
pub fn to(path: &Path) -> std::io::Result<()> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    let mut options = OpenOptions::new();
    let file = options
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    FILE.set(file).expect("called once");
    if paint::forced() != Some(true) {
        console::set_colors_enabled(false);
    }
    Ok(())
}

/// To standard output, or the file in its place, at once. A full disk is an error, a closed pipe is not. Either way the
/// notebook keeps the measurement, so the command continues, and [fails](failed) at its end.
pub fn out(text: Arguments<'_>) {
    write(|to| to.write_fmt(text));
}

/// The same of what need not be text.
pub fn bytes(content: &[u8]) {
    write(|to| to.write_all(content));
}

fn write(content: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    let written = match FILE.get() {
        Some(mut file) => {
            let emptied = match BEGUN.swap(true, Ordering::Relaxed) {
                true => Ok(()),
                // A device or a pipe has no length.
                false if file.metadata().is_ok_and(|it| !it.is_file()) => Ok(()),
                false => file.set_len(0),
            };
            emptied.and_then(|()| content(&mut file))
        }
        None => {
            let mut stdout = std::io::stdout().lock();
            content(&mut stdout).and_then(|()| stdout.flush())
        }
    };
    if let Err(error) = written {
        note(&error);
    }
}

/// Standard output, or the file in its place, could not be written.
pub fn note(error: &std::io::Error) {
    if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) {
        let where_to = match FILE.get() {
            Some(_) => "the file of --output",
            None => "standard output",
        };
        eprintln!("{where_to} cannot be written: {error}");
    }
}

/// Is something missing on standard output?
pub fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// A report of a given width in columns to standard output: as wide as the terminal, or as it needs to be.
/// Lines that are too long for the terminal are broken between words.
pub fn report(text: impl FnOnce(usize) -> String) {
    let terminal = console::Term::stdout().size_checked();
    let text = match terminal.filter(|_| FILE.get().is_none()) {
        Some((_, columns)) => wrapped(text, usize::from(columns)),
        None => text(UNLIMITED),
    };
    let text = paint::report(&text);
    match locale::shows_unicode() {
        true => out(format_args!("{text}")),
        false => out(format_args!("{}", locale::ascii(&text))),
    }
}

fn wrapped(text: impl FnOnce(usize) -> String, columns: usize) -> String {
    let columns = columns.max(NARROWEST);
    let mut wrapped = String::new();
    for line in text(columns).lines() {
        let indent = &line[..line.len() - line.trim_start().len()];
        let further = format!("{indent}  ");
        // Most lines fit, and those of tables have more than one space between words.
        if line.chars().count() <= columns {
            wrapped += line;
        } else {
            let how = textwrap::Options::new(columns)
                .word_separator(textwrap::WordSeparator::AsciiSpace)
                .word_splitter(textwrap::WordSplitter::NoHyphenation)
                .break_words(false)
                .subsequent_indent(&further);
            // A percentage is one word.
            let whole = line.replace(" %", "\u{a0}%");
            wrapped += &textwrap::fill(&whole, how).replace('\u{a0}', " ");
        }
        wrapped.push('\n');
    }
    wrapped
}

/// To standard error. When that fails there is nowhere left to report it.
pub fn err(text: Arguments<'_>) {
    let _ = std::io::stderr().lock().write_fmt(text);
}

/// Writes a file: a regular one, or one that is new, whole and in one go, so that its readers have the old
/// one or the new one; a link where it leads to; anything else, such as a device or a pipe, as it is. `-` is
/// standard output.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> miette::Result<()> {
    let content = content.as_ref();
    if path.as_os_str() == "-" {
        bytes(content);
        return Ok(());
    }
    write_through(path, content)
        .map_err(|error| miette::miette!("{} cannot be written: {error}", path.display()))
}

fn write_through(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let found = match path.canonicalize() {
        Ok(path) => path,
        // A link that leads to nothing yet makes what it leads to.
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            return std::fs::write(path, content);
        }
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    match std::fs::metadata(&found) {
        Ok(what) if !what.is_file() => {
            let mut file = std::fs::OpenOptions::new().write(true).open(&found)?;
            return file.write_all(content);
        }
        _ => {}
    }
    let folder = found
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)?;
    file.write_all(content)?;
    file.persist(&found).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::io::Read;

    #[test]
    fn long_lines_are_broken_between_words_and_words_are_whole() {
        let text = |columns: usize| {
            format!("{columns} a  b\n  one two-three 10% /a/very/long/path\nx  y\n")
        };
        assert_eq!(
            wrapped(text, 12),
            "20 a  b\n  one two-three 10%\n    /a/very/long/path\nx  y\n"
        );
    }

    #[test]
    fn a_file_is_replaced_and_everything_else_is_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        write_file(&at("new"), "one").unwrap();
        write_file(&at("new"), "two").unwrap();
        assert_eq!(fs::read_to_string(at("new")).unwrap(), "two");
        for (link, target) in [("link", "new"), ("dangling", "later")] {
            std::os::unix::fs::symlink(at(target), at(link)).unwrap();
            write_file(&at(link), "through").unwrap();
            assert!(at(link).is_symlink(), "{link}");
            assert_eq!(fs::read_to_string(at(target)).unwrap(), "through");
        }
        write_file(Path::new("/dev/null"), "gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        let fifo = at("fifo");
        let made = std::process::Command::new("mkfifo").arg(&fifo).status();
        assert!(made.unwrap().success());
        let reader = {
            let fifo = fifo.clone();
            std::thread::spawn(move || {
                let mut text = String::new();
                File::open(fifo).unwrap().read_to_string(&mut text).unwrap();
                text
            })
        };
        write_file(&fifo, "piped").unwrap();
        assert_eq!(reader.join().unwrap(), "piped");
        assert!(!fs::metadata(&fifo).unwrap().is_file());
        let error = write_file(Path::new("/no/such/file"), "x").unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/no/such/file cannot be written")
        );
    }
}
