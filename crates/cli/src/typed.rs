//! The command line as it was typed, for the notebook.

use crate::args::{Cli, Command};

/// Returns the command line as typed, quoted so that a shell reads the same words again.
/// The password of `--user` is left out.
pub fn command_line() -> String {
    let line = std::env::args_os();
    let words = line.map(|word| word.to_string_lossy().replace('\0', ""));
    let words = hidden(words.collect());
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// Replaces the password in these words with three asterisks.
fn hidden(words: Vec<String>) -> Vec<String> {
    let user = match Cli::read(&words).map(|cli| cli.command) {
        Ok(Command::Load(args)) => args.request.login.user,
        Ok(Command::Duel(args)) => args.request.login.user,
        Ok(Command::Capacity(args)) => args.request.login.user,
        Ok(Command::Why(args)) => args.request.login.user,
        _ => None,
    };
    let Some((user, name)) = user
        .as_ref()
        .and_then(|user| Some((user, user.split_once(':')?.0)))
    else {
        return words;
    };
    let hide = |word: String| match word.strip_suffix(user) {
        // `NAME:PASSWORD`, or in one word with its option: `-uNAME:PASSWORD`, `--user=NAME:PASSWORD`.
        Some(option) if option.is_empty() || option.starts_with('-') => {
            format!("{option}{name}:***")
        }
        _ => word,
    };
    words.into_iter().map(hide).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_left_out() {
        for (typed, kept) in [
            ("load -u ada:se:cret x", "load -u ada:*** x"),
            ("load -qu ada:secret x", "load -qu ada:*** x"),
            ("load -uada:secret x", "load -uada:*** x"),
            ("duel --user=:secret x y", "duel --user=:*** x y"),
            ("why x -u ada:secret", "why x -u ada:***"),
            ("capacity x --user ada:", "capacity x --user ada:***"),
            ("load -H x:secret x", "load -H x:secret x"),
            ("runs", "runs"),
        ] {
            let words = std::iter::once("prony").chain(typed.split(' '));
            let words = hidden(words.map(str::to_owned).collect());
            assert_eq!(words[1..].join(" "), kept);
        }
    }
}
