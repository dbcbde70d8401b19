//! The two helps of a command: `-h` has the options that are used most, on one screen; `--help` has all of them.

use super::shape::with_defaults;
use clap::{Arg, Command};

/// Columns of every help: examples can be copied from the narrowest usual terminal.
pub const WIDTH: usize = 80;

/// Examples in `-h`.
const EXAMPLES: usize = 3;

/// The options in `-h`, by command; other commands show all.
const SHOWN: [(&str, &[&str]); 7] = [
    (
        "serve",
        &[
            "listen", "model", "workers", "protocol", "cert", "key", "contract", "delay", "stall",
        ],
    ),
    (
        "duel",
        &[
            "name",
            "path",
            "headers",
            "body",
            "file",
            "contract",
            "expect_status",
            "rev",
            "build",
            "image",
            "only",
            "rounds",
            "precision",
            "max_time",
            "connections",
            "rate",
            "why",
            "fail_if",
            "html",
            "json",
        ],
    ),
    (
        "load",
        &[
            "connections",
            "threads",
            "duration",
            "requests",
            "warmup",
            "rate",
            "method",
            "headers",
            "body",
            "file",
            "replay",
            "expect_status",
            "timeout",
            "insecure",
            "protocol",
            "client_host",
            "fail_if",
            "json",
        ],
    ),
    (
        "capacity",
        &[
            "path",
            "headers",
            "body",
            "file",
            "contract",
            "p50",
            "p90",
            "p99",
            "errors",
            "starts",
            "max_time",
            "duration",
            "max_connections",
            "beyond",
            "server_cpu",
            "server_memory",
            "fail_if",
            "json",
        ],
    ),
    (
        "why",
        &[
            "pid",
            "path",
            "headers",
            "body",
            "file",
            "contract",
            "connections",
            "rate",
            "rounds",
            "server_cpu",
            "server_memory",
            "html",
            "folded",
            "json",
        ],
    ),
    (
        "run",
        &[
            "rounds",
            "only",
            "from",
            "load",
            "quick",
            "as_published",
            "warmup",
            "protocol",
            "why",
            "server_host",
            "client_host",
            "shard_rounds",
            "fail_if",
            "markdown",
            "json",
        ],
    ),
    (
        "verify",
        &["timeout", "seed", "protocol", "user", "ca", "insecure"],
    ),
];

/// The command line with both helps, for all verbs.
pub fn with_both(command: Command) -> Command {
    let names: Vec<String> = command
        .get_subcommands()
        .map(|inner| inner.get_name().to_owned())
        .collect();
    let command = names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, with_both)
    });
    let command = with_defaults(command);
    let shown = SHOWN.iter().find(|(name, _)| *name == command.get_name());
    let Some((_, shown)) = shown else {
        return command;
    };
    let place = |arg: &Arg| shown.iter().position(|id| arg.get_id() == id);
    let options = command.get_opts().count() + flags(&command);
    let long = command
        .get_after_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let short: Vec<&str> = long.lines().take(1 + EXAMPLES).collect();
    let short = format!(
        "{}\n\n`prony {} --help` has all {options} options and more examples.",
        short.join("\n"),
        command.get_name()
    );
    command
        .mut_args(|arg| match place(&arg) {
            _ if arg.is_positional() => arg,
            // The same order and no groups in `-h`; in `--help` these stand before the groups.
            Some(place) => arg.help_heading(None).display_order(place),
            None => arg.hide_short_help(true),
        })
        .after_help(short)
        .after_long_help(long)
}

/// Options without a value.
fn flags(command: &Command) -> usize {
    let all = command.get_arguments();
    all.filter(|arg| !arg.is_positional() && !arg.get_action().takes_values())
        .count()
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    /// The commands that are shown, with their names.
    fn each(command: &Command, visit: &mut dyn FnMut(&Command)) {
        visit(command);
        for inner in command.get_subcommands() {
            // Other tools' command lines have their own helps.
            let foreign = inner.is_disable_help_flag_set() || inner.is_hide_set();
            if !foreign && inner.get_name() != "help" {
                each(inner, visit);
            }
        }
    }

    #[test]
    fn a_short_help_fits_a_screen() {
        let mut command = command();
        command.build();
        let mut wrong = String::new();
        each(&command, &mut |command| {
            let help = command.clone().render_help().to_string();
            let rows = help.lines().count();
            let widest = help.lines().map(|line| line.chars().count()).max();
            if rows > 40 || widest > Some(WIDTH) {
                wrong += &format!("{rows} lines, {widest:?} columns\n{help}\n");
            }
        });
        assert!(wrong.is_empty(), "{wrong}");
    }

    #[test]
    fn an_option_has_one_line_in_the_short_help() {
        let mut command = command();
        command.build();
        let mut wrong = String::new();
        each(&command, &mut |command| {
            let help = command.clone().render_help().to_string();
            let options = help.lines().skip_while(|line| !line.ends_with(':'));
            let options: Vec<&str> = options.take_while(|line| *line != "Examples:").collect();
            let mut broken = Vec::new();
            let mut listed = false;
            for line in options {
                let goes_on = line.starts_with("          ");
                // Names that a value may have are a list, which is as long as it is.
                listed = line.contains("[possible values") || (listed && goes_on);
                if goes_on && !listed {
                    broken.push(line);
                }
            }
            if !broken.is_empty() {
                wrong += &format!("{}\n{}\n{help}\n", command.get_name(), broken.join("\n"));
            }
        });
        assert!(wrong.is_empty(), "{wrong}");
    }

    #[test]
    fn all_of_the_help_fits_the_width() {
        let mut command = command();
        command.build();
        let mut wrong = String::new();
        each(&command, &mut |command| {
            let help = command.clone().render_long_help().to_string();
            for line in help.lines().filter(|line| line.chars().count() > WIDTH) {
                wrong += &format!("{}: {line}\n", command.get_name());
            }
        });
        assert!(wrong.is_empty(), "{wrong}");
    }

    #[test]
    fn every_command_has_examples_and_plain_words() {
        const PHRASES: &str = include_str!("../../tests/cli/phrases.txt");
        let mut command = command();
        command.build();
        let (mut wrong, mut seen) = (String::new(), 0);
        each(&command, &mut |command| {
            let help = command.clone().render_long_help().to_string();
            let words: Vec<&str> = help.split_whitespace().collect();
            let flat = words.join(" ").to_lowercase();
            let phrase = PHRASES.lines().find(|phrase| flat.contains(phrase));
            let examples = help.contains("Examples:\n  prony ");
            if phrase.is_some() || !examples || help.contains("supervisor") {
                wrong += &format!("{}: examples: {examples}, {phrase:?}\n", command.get_name());
            }
            seen += 1;
        });
        assert!(wrong.is_empty(), "{wrong}");
        assert!(seen > 25, "{seen} commands");
    }

    #[test]
    fn what_is_shown_exists() {
        for (name, shown) in SHOWN {
            let command = command();
            let command = command.find_subcommand(name).expect(name);
            for id in shown {
                assert!(
                    command.get_arguments().any(|arg| arg.get_id() == id),
                    "{name}: {id}"
                );
            }
        }
    }
}
