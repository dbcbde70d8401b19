//! The command line as it was typed, for the notebook.

use crate::args::{Cli, Command};

/// Returns the command line as typed, quoted so that a shell reads the same words again.
/// The password of `--user` is left out, and user and password in `--proxy`.
pub fn command_line() -> String {
    let line = std::env::args_os();
    let words = line.map(|word| word.to_string_lossy().replace('\0', ""));
    let words = hidden(words.collect());
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

/// Replaces secrets in these words with three asterisks.
fn hidden(words: Vec<String>) -> Vec<String> {
    let (login, connect) = match Cli::read(&words).map(|cli| cli.command) {
        Ok(Command::Load(args)) => (args.request.login, args.connect),
        Ok(Command::Duel(args)) => (args.request.login, args.connect),
        Ok(Command::Capacity(args)) => (args.request.login, args.connect),
        Ok(Command::Why(args)) => (args.request.login, args.connect),
        _ => return words,
    };
    let user = login.user.and_then(|user| {
        let kept = format!("{}:***", user.split_once(':')?.0);
        Some((user, kept))
    });
    let proxy = connect.proxy.and_then(|proxy| {
        let kept = proxy.without_login()?;
        Some((proxy.0, kept))
    });
    let secrets: Vec<(String, String)> = user.into_iter().chain(proxy).collect();
    let hide = |word: String| {
        secrets
            .iter()
            .find_map(|(secret, kept)| match word.strip_suffix(secret.as_str()) {
                // `NAME:PASSWORD`, or in one word with its option: `-uNAME:PASSWORD`, `--user=NAME:PASSWORD`.
                Some(option) if option.is_empty() || option.starts_with('-') => {
                    Some(format!("{option}{kept}"))
                }
                _ => None,
            })
            .unwrap_or(word)
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
            (
                "load --proxy http://a:se@cret@p:1/ x",
                "load --proxy http://***@p:1/ x",
            ),
            ("duel -xa:secret@p:1 x y", "duel -x***@p:1 x y"),
            ("load --proxy=socks5://p:1 x", "load --proxy=socks5://p:1 x"),
            (
                "load -u a:b -x http://c:d@p:1 x",
                "load -u a:*** -x http://***@p:1 x",
            ),
            ("runs", "runs"),
        ] {
            let words = std::iter::once("prony").chain(typed.split(' '));
            let words = hidden(words.map(str::to_owned).collect());
            assert_eq!(words[1..].join(" "), kept);
        }
    }
}
