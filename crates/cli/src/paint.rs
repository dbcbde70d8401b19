//! Colours in reports: verdicts and the severity of checks, where they are looked for.

use clap::ValueEnum;
use console::{Color, style};
use std::sync::OnceLock;

/// Time to use colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum When {
    /// On a terminal, unless NO_COLOR or CLICOLOR=0 is set
    #[default]
    Auto,
    Always,
    Never,
}

impl From<When> for clap::ColorChoice {
    fn from(when: When) -> Self {
        match when {
            When::Auto => Self::Auto,
            When::Always => Self::Always,
            When::Never => Self::Never,
        }
    }
}

/// Verdicts at the end of a table's row.
const VERDICTS: [(&str, Color); 6] = [
    ("faster", Color::Green),
    ("cheaper", Color::Green),
    ("slower", Color::Red),
    ("more expensive", Color::Red),
    ("no difference", Color::Cyan),
    ("inconclusive", Color::Yellow),
];

/// Severities at the beginning of a line.
const SEVERITIES: [(&str, Color); 2] = [("serious", Color::Red), ("warning", Color::Yellow)];

/// Colours for the whole program, if they were chosen.
static FORCED: OnceLock<bool> = OnceLock::new();

/// Colours were chosen, whatever standard output is.
pub fn forced() -> Option<bool> {
    FORCED.get().copied()
}

/// Settles, for the whole program, whether there are colours.
pub fn choose(when: When) {
    let forced = match when {
        When::Auto => return,
        When::Always => true,
        When::Never => false,
    };
    let forced = *FORCED.get_or_init(|| forced);
    console::set_colors_enabled(forced);
    console::set_colors_enabled_stderr(forced);
}

/// Reads `--color` before the command line is parsed, for what the parser itself prints. A value that the parser will
/// refuse counts as `auto`.
pub fn asked_for(line: &[std::ffi::OsString]) -> When {
    let mut words = line.iter().filter_map(|word| word.to_str()).skip(1);
    while let Some(word) = words.next() {
        let value = match word {
            "--" => break,
            "--color" => words.next(),
            _ => word.strip_prefix("--color="),
        };
        if let Some(value) = value {
            return When::from_str(value, false).unwrap_or_default();
        }
    }
    When::Auto
}

/// A report's text with colours, if standard output has them.
pub fn report(text: &str) -> String {
    match console::colors_enabled() {
        true => text.split_inclusive('\n').map(line).collect(),
        false => text.to_owned(),
    }
}

fn line(line: &str) -> String {
    for (word, color) in SEVERITIES {
        if let Some(rest) = line.strip_prefix(word).filter(|rest| rest.starts_with(':')) {
            return format!("{}{rest}", style(word).fg(color).bold());
        }
    }
    // Cells have two spaces between them at least.
    let cell = line.rfind("  ").map_or(0, |at| at + 2);
    let (before, last) = line.split_at(cell);
    for (word, color) in VERDICTS {
        if let Some(rest) = last.strip_prefix(word).filter(|_| cell > 2) {
            return format!("{before}{}{rest}", style(word).fg(color));
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_and_severities_are_painted_and_nothing_else_changes() {
        console::set_colors_enabled(true);
        let text = "new is slower than old: 30.0% fewer requests/s\n\n\
                    new vs old   change  95% CI            verdict\n\
                    requests/s   -30.0%  -31.7% to -28.3%  slower\n\
                    p99 latency  +23.3%  -7.3% to +63.8%   inconclusive (needs 44.8%)\n\
                    warning: noisy-host: other processes\n";
        let painted = report(text);
        assert_eq!(console::strip_ansi_codes(&painted), text);
        assert!(painted.contains("\x1b[31mslower\x1b[0m\n"), "{painted:?}");
        assert!(painted.contains("\x1b[33minconclusive\x1b[0m (needs"));
        assert!(painted.contains("warning\x1b[0m: noisy-host"));
        assert_eq!(painted.matches("\x1b[0m").count(), 3, "{painted:?}");
    }

    #[test]
    fn the_option_is_found_before_the_line_is_parsed() {
        let when = |line: &[&str]| {
            let line: Vec<_> = ["prony"].iter().chain(line).map(Into::into).collect();
            asked_for(&line)
        };
        assert_eq!(when(&["load", "--color", "never", ":80"]), When::Never);
        assert_eq!(when(&["load", "--color=always", ":80"]), When::Always);
        assert_eq!(when(&["duel", "--", "--color=always"]), When::Auto);
        assert_eq!(when(&["--color", "pink"]), When::Auto);
        assert_eq!(when(&["load"]), When::Auto);
    }
}
