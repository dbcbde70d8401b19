//! The thread that draws.

use super::area::Area;
use super::frame::Frame;
use super::render::{TerminalStyle, clean, render};
use crate::locale::ascii;
use console::Term;
use prony_lab::placement::bind;
use std::io::Write;
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Between two drawings.
const PERIOD: Duration = Duration::from_millis(200);
/// Rows and columns of a terminal that does not report its size.
const SIZE: (u16, u16) = (24, 80);

type Change = Box<dyn FnOnce(&mut Frame) + Send>;

/// Orders to the thread that draws.
enum ScreenCommand {
    Change(Change),
    Say(String),
    End,
}

/// The screen that is drawn, for code that prints something meanwhile: there is one terminal.
static CURRENT: Mutex<Option<Sender<ScreenCommand>>> = Mutex::new(None);

/// A live view on standard error.
///
/// The measuring thread only sends to it, which takes neither a lock nor a system call: the thread is not
/// woken, but looks for itself, a few times a second. So a terminal that is slow, or stopped with
/// Ctrl-S, delays nothing.
#[derive(Debug)]
pub struct Screen {
    orders: Sender<ScreenCommand>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    /// Begins to draw, on these CPUs (wherever there is room, if there are none).
    pub fn begin(frame: Frame, look: TerminalStyle, cpus: &[usize]) -> Self {
        let (orders, inbox) = mpsc::channel();
        let cpus = cpus.to_vec();
        let thread = thread::spawn(move || {
            settle(&cpus);
            draw(frame, look, &inbox);
        });
        *current() = Some(orders.clone());
        Self {
            orders,
            thread: Some(thread),
        }
    }

    /// Changes what is shown, soon.
    pub fn change(&self, change: impl FnOnce(&mut Frame) + Send + 'static) {
        let _ = self.orders.send(ScreenCommand::Change(Box::new(change)));
    }
}

impl Drop for Screen {
    /// Takes the live area away; what was said stays.
    fn drop(&mut self) {
        *current() = None;
        if thread::panicking() {
            // What the panic has said stands where the live view was: it is left alone.
            return;
        }
        let _ = self.orders.send(ScreenCommand::End);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It has nothing to give, and a panic in it has been told.
            let _ = thread.join();
        }
    }
}

/// Says something for good: above the live area, if there is one.
pub fn say(text: &str) {
    match current().as_ref() {
        Some(orders) => {
            let _ = orders.send(ScreenCommand::Say(text.to_owned()));
        }
        None => eprintln!("{text}"),
    }
}

/// Shows that the user has had enough; false when there is no live view to show it.
pub fn interrupted() -> bool {
    let told = |frame: &mut Frame| frame.interrupted = true;
    current()
        .as_ref()
        .is_some_and(|orders| orders.send(ScreenCommand::Change(Box::new(told))).is_ok())
}

fn current() -> std::sync::MutexGuard<'static, Option<Sender<ScreenCommand>>> {
    CURRENT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Out of the way: on the CPUs that nothing is measured on, if there are any, and behind
/// every other thread on whatever CPU it is. Where server and generator leave no CPU free, these are the
/// generator's: what the generator loses is seen by its own checks, and what the server lost would pass
/// for the server being slow.
fn settle(cpus: &[usize]) {
    if !cpus.is_empty() {
        // Elsewhere it is in the way a little more, and that is all.
        let _ = bind(cpus);
    }
    // SAFETY: a plain system call; 0 is the calling thread, and a niceness always may grow.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
}

fn draw(mut frame: Frame, look: TerminalStyle, inbox: &Receiver<ScreenCommand>) {
    let begun = Instant::now();
    let terminal = Term::stderr();
    let mut area = Area::default();
    loop {
        let (mut said, mut end) = (Vec::new(), false);
        for order in inbox.try_iter() {
            match order {
                ScreenCommand::Change(change) => change(&mut frame),
                ScreenCommand::Say(text) => said.extend(text.lines().map(|line| plain(line, look))),
                ScreenCommand::End => end = true,
            }
        }
        let (rows, columns) = terminal.size_checked().unwrap_or(SIZE);
        let width = usize::from(columns);
        let mut lines = Vec::new();
        if !end {
            lines = render(&frame, begun, Instant::now(), width, look);
            // The cursor stands on the line below.
            lines.truncate(usize::from(rows).saturating_sub(1));
        }
        let text = area.draw(&said, lines, width);
        // A terminal that is gone is no reason to end a measurement.
        let _ = std::io::stderr().write_all(text.as_bytes());
        if end {
            return;
        }
        thread::park_timeout(PERIOD);
    }
}

/// Replaces the characters of a line that a terminal would take for commands.
/// The result is ASCII if the terminal shows nothing else.
fn plain(line: &str, look: TerminalStyle) -> String {
    let line = clean(line);
    if look.unicode { line } else { ascii(&line) }
}
