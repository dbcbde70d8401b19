//! Progress on standard error while something is measured: a live view on a terminal, lines elsewhere.
//!
//! The measurement reports events; a [`Frame`] is what is known at a moment, [`render`] makes
//! lines of it, [`area`] makes of lines what is to be written, and the thread of [`screen`] writes it.

mod area;
pub mod frame;
mod render;
mod screen;
mod spark;

pub use screen::{interrupted, say};

use crate::args::DisplayArgs;
use frame::Frame;
use prony_record::Window;
use render::TerminalStyle;
use screen::Screen;
use std::io::IsTerminal;

/// Display of a measurement's progress. A live view disappears when it is dropped.
#[derive(Debug)]
pub struct Live {
    way: DisplayMode,
}

#[derive(Debug)]
enum DisplayMode {
    Nothing,
    Lines,
    Screen(Screen),
}

impl Live {
    /// Begins to show something that is called so, by a thread on these CPUs.
    pub fn begin(title: String, shown: &DisplayArgs, cpus: &[usize]) -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let way = if shown.quiet {
            DisplayMode::Nothing
        } else if shown.plain
            || !std::io::stderr().is_terminal()
            || set("TERM").is_none_or(|term| term == "dumb")
        {
            DisplayMode::Lines
        } else {
            let look = TerminalStyle {
                unicode: crate::locale::terminal_is_utf8(),
                colour: console::colors_enabled_stderr(),
            };
            let frame = Frame {
                title,
                ..Frame::default()
            };
            DisplayMode::Screen(Screen::begin(frame, look, cpus))
        };
        Self { way }
    }

    /// Changes what a live view shows.
    pub fn change(&self, change: impl FnOnce(&mut Frame) + Send + 'static) {
        if let DisplayMode::Screen(screen) = &self.way {
            screen.change(change);
        }
    }

    /// A window has ended.
    pub fn window(&self, window: &Window, server: Option<f64>) {
        if let DisplayMode::Screen(screen) = &self.way {
            let window = window.clone();
            screen.change(move |frame| {
                frame.load.add(window);
                if server.is_some() {
                    frame.load.server = server;
                }
            });
        }
    }

    /// A line, where there is no live view to show what it says.
    pub fn line(&self, text: impl FnOnce() -> String) {
        if let DisplayMode::Lines = self.way {
            eprintln!("{}", text());
        }
    }

    /// Returns a function that writes a line, if progress is shown as lines.
    pub fn lines(&self) -> Option<fn(&str)> {
        matches!(self.way, DisplayMode::Lines).then_some(|text: &str| eprintln!("{text}"))
    }

    /// A line that stays, whatever way.
    pub fn say(&self, text: &str) {
        match self.way {
            DisplayMode::Nothing => {}
            DisplayMode::Lines | DisplayMode::Screen(_) => say(text),
        }
    }
}
