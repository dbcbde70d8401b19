//! A server's log takes a bounded part of the disk, however much the server prints: it keeps the
//! beginning, where a start is told of, and the end, where a fall is.
//!
//! The server writes to a plain file, without a pipe that would slow it down or could be full. While it
//! runs, the middle of the file is given back to the disk; when it has ended, the rest is put together,
//! with a line that says how much is missing.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

/// Bytes that are kept of the beginning.
const HEAD: u64 = 64 << 10;
/// Bytes that are kept of the end.
const TAIL: u64 = 1 << 20;
/// How often it is looked at: what is printed in between is on the disk meanwhile.
pub(crate) const LOOK: Duration = Duration::from_millis(200);
/// Space is given back in whole blocks of the disk.
const BLOCK: u64 = 4096;

/// A new, empty log that a server and whatever it starts may append to.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().create(true).append(true).open(path)?;
    file.set_len(0)?;
    Ok(file)
}

/// The log behind this process's standard error.
pub(crate) struct ServerLog {
    file: ManuallyDrop<File>,
    /// All of it between the beginning and here has been given back.
    cut: u64,
}

impl ServerLog {
    /// Nothing where standard error is no file: a terminal or a pipe takes no space.
    pub(crate) fn of_stderr() -> Option<Self> {
        // SAFETY: the descriptor is open as long as this process, and is not closed here.
        let file = ManuallyDrop::new(unsafe { File::from_raw_fd(2) });
        let is_file = file.metadata().is_ok_and(|it| it.is_file());
        is_file.then_some(Self { file, cut: HEAD })
    }

    /// Gives back what is neither the beginning nor the end.
    pub(crate) fn trim(&mut self) -> io::Result<()> {
        let end = self.file.metadata()?.len().saturating_sub(TAIL) / BLOCK * BLOCK;
        if end <= self.cut + TAIL {
            return Ok(());
        }
        let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        let (from, length) = (self.cut as libc::off_t, (end - self.cut) as libc::off_t);
        // SAFETY: a plain system call on an open descriptor.
        if unsafe { libc::fallocate(self.file.as_raw_fd(), mode, from, length) } == 0 {
            self.cut = end;
            return Ok(());
        }
        // A disk that knows no holes: the server goes on behind the beginning, and the end is lost.
        self.file.set_len(HEAD)?;
        writeln!(&*self.file, "{}", left_out(end + TAIL - HEAD))
    }

    /// Puts beginning and end together: nothing writes to it any more.
    pub(crate) fn close(mut self) -> io::Result<()> {
        self.trim()?;
        if self.cut == HEAD {
            return Ok(());
        }
        // This descriptor only appends.
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let size = file.metadata()?.len();
        let from = size.saturating_sub(TAIL).max(self.cut);
        let mut end = vec![0; (size - from) as usize];
        file.read_exact_at(&mut end, from)?;
        let line = format!("\n{}\n", left_out(from - HEAD));
        let kept = [line.as_bytes(), &end].concat();
        file.write_all_at(&kept, HEAD)?;
        file.set_len(HEAD + kept.len() as u64)
    }
}

fn left_out(bytes: u64) -> String {
    format!(
        "[prony left out {bytes} bytes here: of what a server prints, the first {} KiB and the last {} \
         KiB are kept]",
        HEAD >> 10,
        TAIL >> 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;

    /// Space that a file takes on its disk, in bytes.
    fn space(path: &Path) -> u64 {
        fs::metadata(path).unwrap().blocks() * 512
    }

    fn log(path: &Path) -> ServerLog {
        let file = ManuallyDrop::new(create(path).unwrap());
        ServerLog { file, cut: HEAD }
    }

    #[test]
    fn a_short_log_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = log(&path);
        writeln!(&*log.file, "listening").unwrap();
        log.trim().unwrap();
        log.close().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "listening\n");
    }

    #[test]
    fn of_a_long_one_beginning_and_end_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let mut log = log(&path);
        writeln!(&*log.file, "listening").unwrap();
        let line = format!("{}\n", "x".repeat(99));
        let mut printed = 10;
        for _ in 0..40 {
            (&*log.file)
                .write_all(line.repeat(10_000).as_bytes())
                .unwrap();
            printed += 1_000_000;
            log.trim().unwrap();
            let taken = space(&path);
            assert!(taken < HEAD + 4 * TAIL, "{taken} of {printed} bytes");
        }
        writeln!(&*log.file, "out of memory").unwrap();
        printed += 14;
        log.close().unwrap();
        let kept = fs::read_to_string(&path).unwrap();
        assert!(kept.starts_with("listening\nxxx") && kept.ends_with("x\nout of memory\n"));
        let missing = printed - HEAD - TAIL;
        assert!(kept.contains(&left_out(missing)), "{missing}");
        assert!((kept.len() as u64) < HEAD + TAIL + 200 && !kept.contains('\0'));
    }
}
