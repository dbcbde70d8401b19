//! What is shown on standard error while something is measured: a live view on a terminal, lines
//! elsewhere.
//!
//! The measurement reports events; a [`Frame`] is what is known at a moment, [`render`] makes
//! lines of it, [`area`] makes of lines what is to be written, and the thread of [`screen`] writes it.

mod area;
pub mod frame;
mod render;
mod screen;
mod spark;

pub use screen::{interrupted, say};

use crate::args::Shown;
use frame::Frame;
use prony_record::Window;
use render::Look;
use screen::Screen;
use std::io::IsTerminal;

/// What shows how it goes. When it is dropped a live view goes away.
#[derive(Debug)]
pub struct Live {
    way: Way,
}

#[derive(Debug)]
enum Way {
    Nothing,
    Lines,
    Screen(Screen),
}

impl Live {
    /// Begins to show something that is called so, by a thread on these CPUs.
    pub fn begin(title: String, shown: Shown, cpus: &[usize]) -> Self {
        let set = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let way = if shown.quiet {
            Way::Nothing
        } else if shown.plain
            || !std::io::stderr().is_terminal()
            || set("TERM").is_none_or(|term| term == "dumb")
        {
            Way::Lines
        } else {
            let look = Look {
                unicode: is_utf8(set),
                colour: set("NO_COLOR").is_none() && console::colors_enabled_stderr(),
            };
            let frame = Frame {
                title,
                ..Frame::default()
            };
            Way::Screen(Screen::begin(frame, look, cpus))
        };
        Self { way }
    }

    /// Changes what a live view shows.
    pub fn change(&self, change: impl FnOnce(&mut Frame) + Send + 'static) {
        if let Way::Screen(screen) = &self.way {
            screen.change(change);
        }
    }

    /// A window has ended.
    pub fn window(&self, window: &Window, server: Option<f64>) {
        if let Way::Screen(screen) = &self.way {
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
        if let Way::Lines = self.way {
            eprintln!("{}", text());
        }
    }

    /// What writes lines, where lines are the way.
    pub fn lines(&self) -> Option<fn(&str)> {
        matches!(self.way, Way::Lines).then_some(|text: &str| eprintln!("{text}"))
    }

    /// A line that stays, whatever way.
    pub fn say(&self, text: &str) {
        match self.way {
            Way::Nothing => {}
            Way::Lines | Way::Screen(_) => say(text),
        }
    }
}

/// Is what is written to the terminal taken for UTF-8? As the C library decides: the first of these
/// that is set.
fn is_utf8(set: impl Fn(&str) -> Option<String>) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(set);
    locale.is_some_and(|locale| {
        let locale = locale.to_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_locale_says_what_a_terminal_shows() {
        let of = |pairs: &[(&str, &str)]| {
            is_utf8(|name| {
                let found = pairs.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(of(&[("LANG", "de_DE.UTF-8")]) && of(&[("LC_CTYPE", "C.utf8")]));
        assert!(!of(&[]) && !of(&[("LANG", "de_DE.ISO-8859-1")]));
        assert!(!of(&[("LC_ALL", "C"), ("LANG", "C.UTF-8")]));
    }
}
