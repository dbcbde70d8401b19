//! Roles that a line has for the lines below it: a name, a prompt, a figure, or nothing.

use crate::command::Command;
use crate::text::lines::{is_fence, without_markup};
use crate::text::number;

/// Does a line say something: is it neither a command, nor a mark, nor a name?
pub(super) fn is_sentence(line: &str) -> bool {
    let line = line.trim();
    line.split_whitespace().count() >= 3 && matches!(label(line), Label::Other)
}

/// Returns the text behind a shell's prompt.
pub(super) fn prompt(line: &str) -> Option<&str> {
    let line = line.trim_start();
    for mark in ["$ ", "# ", "% ", "> ", "➜ ", "❯ ", "λ "] {
        let Some((before, rest)) = line.split_once(mark) else {
            continue;
        };
        let before = before.trim();
        // `user@host:~/x`, `[root@host ~]`, `PS C:\>`, `~/x`, or nothing.
        let known = before.is_empty() && !matches!(mark, "# " | "> " | "% ")
            || before.contains('@') && before.split_whitespace().count() <= 3
            || before.starts_with("PS ")
            || before.starts_with(['~', '['])
            || before.len() == 2 && before.ends_with(':')
            || before.get(1..3) == Some(":\\");
        if known {
            return Some(rest.trim_start());
        }
    }
    // A prompt that waits: `user@host:~$`
    let waits = line.ends_with(['$', '#']) && line.contains('@') && !line.contains(' ');
    waits.then_some("")
}

/// A line above an output that ends with a colon.
const ANNOUNCED: usize = 75;

/// A label is no sentence: it has no more characters than this.
const LABEL: usize = 60;

/// Role that a line has for the lines below it.
pub(super) enum Label {
    /// Names what follows.
    Named(String),
    /// Only announces that something follows.
    Generic,
    /// Anything else.
    Other,
}

pub(super) fn label(line: &str) -> Label {
    let picture = line.trim_start().starts_with("![");
    if picture || is_fence(line) || Command::find(line, 0).is_some() {
        return Label::Generic;
    }
    let plain = without_ids(without_markup(line));
    // `benchmarking alpha...` announces what follows, as `alpha:` does.
    let text = plain.trim_end_matches([':', '…']).trim();
    let text = text.strip_suffix("...").unwrap_or(text).trim_end();
    // A prompt with a command that is no server's names nothing.
    let text = match prompt(line) {
        Some(rest) if rest.starts_with("./") => rest,
        Some(_) if !line.trim_start().starts_with("$ ") => return Label::Generic,
        Some(rest) => rest,
        None => text,
    };
    let first = text.split_whitespace().next().unwrap_or("");
    // `Starting test for alpha`, `Cmd: ./alpha`
    if first == "Starting"
        && let Some((_, name)) = text.split_once(" for ")
    {
        return Label::Named(name.to_owned());
    }
    if matches!(first, "Cmd:" | "CMD:" | "Command:" | "command:") {
        return Label::Generic;
    }
    let says = ["result", "results", "output", "server", "client"];
    if says.iter().any(|word| text.eq_ignore_ascii_case(word))
        || matches!(
            first,
            "" | "sh"
                | "bash"
                | "cd"
                | "curl"
                | "time"
                | "sudo"
                | "ls"
                | "cat"
                | "cargo"
                | "npm"
                | "yarn"
                | "make"
                | "mvn"
                | "gradle"
                | "docker"
        )
        || is_generic_label(text)
    {
        return Label::Generic;
    }
    // What announces an output may be longer.
    let longest = if plain.ends_with(':') {
        ANNOUNCED
    } else {
        LABEL
    };
    if text.ends_with(['.', ',', ';', '?', '!']) || text.chars().count() > longest {
        return Label::Other;
    }
    Label::Named(text.to_owned())
}

/// Without what only containers, commits and the like are called: 32 hexadecimal digits or more.
fn without_ids(text: String) -> String {
    let is_id = |word: &str| word.len() >= 32 && word.bytes().all(|b| b.is_ascii_hexdigit());
    if !text.split_whitespace().any(is_id) {
        return text;
    }
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !is_id(word))
        .collect();
    let text = words.join(" ");
    text.trim_end_matches(" with").to_owned()
}

/// Lines that tools and shells print, and that name nothing.
fn is_generic_label(text: &str) -> bool {
    const BEGINNINGS: [&str; 11] = [
        "All virtual users",
        "Completed ",
        "Finished ",
        "real ",
        "user ",
        "sys ",
        "Starting",
        "Initialised",
        "Initialized",
        "Warming",
        "Last login",
    ];
    /// Where a link leads that stands alone.
    const LINKS: [&str; 4] = ["link", "source", "source code", "code"];
    BEGINNINGS.iter().any(|beginning| text.starts_with(beginning))
        || LINKS.contains(&text.to_lowercase().as_str())
        // When it was measured is no name of what was.
        || text.to_lowercase().starts_with("date:")
        // ab's own line; a script's may say what follows.
        || text.starts_with("Benchmarking ") && text.contains("(be patient)")
        // k6's checks and the titles of its summary.
        || text.starts_with(['✓', '✗', '█', '↳'])
        // A shell's prompt: its arrow, or the time of day.
        || text.starts_with(['→', '➜', '❯', 'λ'])
        || is_clock(text)
        || is_quantity(text)
        || text.contains("://")
        || text.chars().all(|c| !c.is_alphabetic()) && !is_pair(text)
}

/// `Number of Errors: 0`: a figure with its name, which is no load.
pub(super) fn is_quantity(text: &str) -> bool {
    let Some((name, value)) = text.split_once(": ") else {
        return false;
    };
    // With a unit, or without.
    let bare = number::leading(value.trim())
        .is_some_and(|(_, rest)| rest.len() <= 4 && !rest.contains(char::is_whitespace));
    let several = name.split_whitespace().count() > 1;
    bare && several && crate::load::Load::parse(text).is_none()
}

/// `08:03:50 …`
fn is_clock(text: &str) -> bool {
    let time = text.split_whitespace().next().unwrap_or("");
    time.len() == 8
        && time.char_indices().all(|(at, c)| match at {
            2 | 5 => c == ':',
            _ => c.is_ascii_digit(),
        })
}

/// `0.5-500`: two numbers that name a configuration.
fn is_pair(text: &str) -> bool {
    let number = |n: &str| n.parse::<f64>().is_ok_and(|n| n > 0.0);
    text.split_once('-')
        .is_some_and(|(a, b)| number(a) && number(b))
}
