//! A terminal that a command runs in, and what it shows.

use crate::support::{Done, until};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

/// Rows: more than any result here has.
const ROWS: u16 = 120;

/// A command in a terminal of its own. Dropping it kills the command.
pub struct Terminal {
    child: Child,
    controller: OwnedFd,
    shown: Arc<Mutex<Shown>>,
    reader: Option<JoinHandle<()>>,
}

/// Output that the terminal has received, and its screen.
struct Shown {
    raw: Vec<u8>,
    parser: vt100::Parser,
}

fn size(columns: u16) -> Winsize {
    Winsize {
        ws_row: ROWS,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

fn cells(n: u16) -> NonZero<u16> {
    NonZero::new(n).unwrap()
}

impl Terminal {
    /// Starts a command with both its outputs in a terminal of the given number of columns.
    pub fn start(command: &mut Command, columns: u16) -> Self {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags).unwrap();
        grantpt(&controller).unwrap();
        unlockpt(&controller).unwrap();
        let user = ioctl_tiocgptpeer(&controller, flags).unwrap();
        tcsetwinsize(&user, size(columns)).unwrap();
        for (name, value) in [("TERM", "xterm-256color"), ("LANG", "C.UTF-8")] {
            if command.get_envs().all(|(known, _)| known != name) {
                command.env(name, value);
            }
        }
        for name in [
            "LC_ALL",
            "LC_CTYPE",
            "NO_COLOR",
            "CLICOLOR",
            "CLICOLOR_FORCE",
        ] {
            if command.get_envs().all(|(known, _)| known != name) {
                command.env_remove(name);
            }
        }
        let child = command
            .stdin(Stdio::null())
            .stdout(user.try_clone().unwrap())
            .stderr(user)
            .spawn()
            .unwrap();
        // The command holds the other end too: without this the terminal never ends.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let shown = Arc::new(Mutex::new(Shown {
            raw: Vec::new(),
            parser: vt100::Parser::new(cells(ROWS), cells(columns), 0),
        }));
        let (mut from, into) = (File::from(controller.try_clone().unwrap()), shown.clone());
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            // Reading a terminal that has no writer left is an error.
            while let Ok(n @ 1..) = from.read(&mut buffer) {
                let mut shown = into.lock().unwrap();
                shown.raw.extend(&buffer[..n]);
                shown.parser.process(&buffer[..n]);
            }
        });
        Self {
            child,
            controller,
            shown,
            reader: Some(reader),
        }
    }

    /// Returns the text on the screen now.
    pub fn text(&self) -> String {
        self.shown.lock().unwrap().parser.screen().contents()
    }

    /// Everything that was written to it.
    pub fn raw(&self) -> String {
        String::from_utf8(self.shown.lock().unwrap().raw.clone()).unwrap()
    }

    /// Waits until it shows all of these.
    #[track_caller]
    pub fn shows(&self, words: &[&str]) -> String {
        let mut text = String::new();
        until(&format!("{words:?}"), || {
            text = self.text();
            words.iter().all(|word| text.contains(word))
        });
        text
    }

    /// Makes it this wide.
    pub fn resize(&self, columns: u16) {
        let mut shown = self.shown.lock().unwrap();
        let screen = shown.parser.screen_mut();
        screen.set_size(cells(ROWS), cells(columns));
        tcsetwinsize(&self.controller, size(columns)).unwrap();
    }

    /// Sends the command a signal.
    pub fn signal(&self, signal: i32) {
        let pid = self.child.id().cast_signed();
        // SAFETY: a plain system call; the child has not been reaped, so the number is its own.
        assert_eq!(unsafe { libc::kill(pid, signal) }, 0);
    }

    /// Waits for the command's end: what the terminal shows is its standard output. The cursor must be
    /// visible, below what is shown, and the screen the one that there was.
    #[track_caller]
    pub fn end(&mut self) -> Done {
        let mut status: Option<ExitStatus> = None;
        until("the end of prony", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        self.reader.take().unwrap().join().unwrap();
        let shown = self.shown.lock().unwrap();
        let screen = shown.parser.screen();
        assert!(!screen.hide_cursor() && !screen.alternate_screen());
        let text = screen.contents();
        let rows: Vec<String> = screen.rows(0, u16::MAX).collect();
        let used = rows.iter().rposition(|row| !row.trim().is_empty());
        let below = (used.map_or(0, |last| last as u16 + 1), 0);
        assert_eq!(screen.cursor_position(), below, "{text}");
        Done {
            code: status.unwrap().code(),
            stdout: text,
            stderr: String::new(),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
