//! The lines at the end of what a terminal shows that change while something goes on.
//!
//! What is to be written is computed here, and written elsewhere. Between two drawings the cursor stands
//! at the beginning of the line below the area, visible: nothing has to be put back when prony ends,
//! whatever way it does.

use console::measure_text_width;
use std::fmt::Write;

/// Lines that the area shows now.
#[derive(Debug, Default)]
pub struct Area {
    shown: Vec<String>,
    width: usize,
}

impl Area {
    /// Returns the text to write so that the terminal shows `lines` below what is `said` for good.
    /// The terminal has `width` columns, and each line is narrower than that. Empty when all of it is there already.
    pub fn draw(&mut self, said: &[String], lines: Vec<String>, width: usize) -> String {
        let mut out = String::new();
        let anew = !said.is_empty() || width != self.width || lines.len() < self.shown.len();
        let kept = if anew { 0 } else { self.shown.len() };
        if anew {
            self.wipe(&mut out, width);
            for line in said {
                let _ = write!(out, "\r{line}\x1b[K\n\r");
            }
        }
        let same = |(i, line): (usize, &String)| i < kept && self.shown[i] == *line;
        let first = lines.iter().enumerate().position(|at| !same(at));
        if let Some(first) = first {
            if kept > first {
                let _ = write!(out, "\x1b[{}A", kept - first);
            }
            for at in lines.iter().enumerate().skip(first) {
                if !same(at) {
                    let _ = write!(out, "\r{}\x1b[K", at.1);
                }
                out.push('\n');
            }
            out.push('\r');
        }
        self.shown = lines;
        self.width = width;
        out
    }

    fn wipe(&self, out: &mut String, width: usize) {
        // A terminal that has become narrower has wrapped what it shows.
        let rows = |line: &String| measure_text_width(line).div_ceil(width.max(1)).max(1);
        let rows: usize = self.shown.iter().map(rows).sum();
        if rows > 0 {
            let _ = write!(out, "\r\x1b[{rows}A\x1b[J");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZero;

    /// A terminal of 20 columns and 6 rows that shows what an area writes.
    struct TestTerminal {
        area: Area,
        terminal: vt100::Parser,
    }

    impl TestTerminal {
        fn new() -> Self {
            let (rows, columns) = (NonZero::new(6).unwrap(), NonZero::new(20).unwrap());
            Self {
                area: Area::default(),
                terminal: vt100::Parser::new(rows, columns, 100),
            }
        }

        fn draw(&mut self, said: &[&str], lines: &[&str]) -> String {
            let owned = |all: &[&str]| all.iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
            let written = self.area.draw(&owned(said), owned(lines), 20);
            self.terminal.process(written.as_bytes());
            written
        }

        fn is(&self, lines: &[&str]) {
            let screen = self.terminal.screen();
            assert_eq!(screen.contents().trim_end(), lines.join("\n").trim_end());
            assert!(!screen.hide_cursor());
            // At the beginning of the line below.
            assert_eq!(screen.cursor_position(), (lines.len() as u16, 0));
        }
    }

    #[test]
    fn only_lines_that_changed_are_written() {
        let mut shown = TestTerminal::new();
        shown.draw(&[], &["one", "two", "three"]);
        shown.is(&["one", "two", "three"]);
        let written = shown.draw(&[], &["one", "2", "three"]);
        shown.is(&["one", "2", "three"]);
        assert_eq!(written, "\x1b[2A\r2\x1b[K\n\n\r");
        assert_eq!(shown.draw(&[], &["one", "2", "three"]), "");
        shown.draw(&[], &["one", "2", "three", "four"]);
        shown.is(&["one", "2", "three", "four"]);
        shown.draw(&[], &["one"]);
        shown.is(&["one"]);
    }

    #[test]
    fn what_is_said_stays_above() {
        let mut shown = TestTerminal::new();
        shown.draw(&[], &["a", "b"]);
        shown.draw(&["said"], &["a", "b"]);
        shown.is(&["said", "a", "b"]);
        shown.draw(&["and", "so on"], &["c"]);
        shown.is(&["said", "and", "so on", "c"]);
        shown.draw(&[], &[]);
        shown.is(&["said", "and", "so on"]);
        assert_eq!(shown.draw(&[], &[]), "");
    }

    #[test]
    fn at_the_end_of_the_screen_it_scrolls() {
        let mut shown = TestTerminal::new();
        for i in 0..8 {
            shown.draw(&[&format!("said {i}")], &["a", "b"]);
        }
        let said = ["said 5", "said 6", "said 7", "a", "b"];
        shown.is(&said);
        shown.draw(&[], &["a", "c"]);
        shown.is(&["said 5", "said 6", "said 7", "a", "c"]);
    }

    #[test]
    fn what_a_user_types_in_between_goes_away() {
        let mut shown = TestTerminal::new();
        shown.draw(&[], &["a", "b"]);
        shown.terminal.process(b"^C");
        shown.draw(&["interrupted"], &["a", "b"]);
        shown.is(&["interrupted", "a", "b"]);
        shown.terminal.process(b"^C");
        shown.draw(&[], &[]);
        shown.is(&["interrupted"]);
    }

    #[test]
    fn a_narrower_terminal_has_wrapped_the_lines() {
        let mut area = Area::default();
        area.draw(&[], vec!["x".repeat(30), "y".into()], 40);
        let written = area.draw(&[], vec!["x".into(), "y".into()], 20);
        assert!(written.starts_with("\r\x1b[3A\x1b[J"), "{written:?}");
    }
}
